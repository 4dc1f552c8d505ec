//! Functions of queries as text: formatted, with their literals taken out, and cut into tokens.

use std::sync::Arc;

use arrow_array::types::UInt64Type;
use squall_sql::{ParserLimits, SPELLED_KINDS, SpelledToken, format, format_one_line, parse, spelled_tokens};
use squall_types::{DataType, EnumValues, Error, ErrorCode, Result, TupleElement, Value, checkpoint};

use super::hash::sip;
use super::simple::{Call, Function, Strings, primitive_column, string_column, value_column};
use crate::function::{BoundFunction, ScalarFunction};

type Bound = Result<Arc<dyn BoundFunction>>;

/// Every function of this module.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("formatQuery", resolve_format),
    &Function::new("formatQueryOrNull", resolve_format).never_throws(),
    &Function::new("formatQuerySingleLine", resolve_format),
    &Function::new("formatQuerySingleLineOrNull", resolve_format).never_throws(),
    &Function::new("highlightQuery", resolve_highlight).never_throws(),
    &Function::new("normalizeQuery", resolve_normal).never_throws(),
    &Function::new("normalizeQueryKeepNames", resolve_normal).never_throws(),
    &Function::new("normalizedQueryHash", resolve_hash).never_throws(),
    &Function::new("normalizedQueryHashKeepNames", resolve_hash).never_throws(),
    &Function::new("tokenizeQuery", resolve_tokens).never_throws(),
];

fn resolve_format(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let or_null = call.name.ends_with("OrNull");
    let write = if call.name.contains("SingleLine") { format_one_line } else { format };
    let result = if or_null { DataType::String.to_nullable() } else { DataType::String };
    call.bind(result.clone(), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        value_column(&result, rows, |row| {
            let text = texts.get(row);
            checkpoint(500 * text.len())?;
            match parse(text, &ParserLimits::default()) {
                Ok(statement) => Ok(Value::string(write(&statement))),
                Err(_) if or_null => Ok(Value::Null),
                Err(error) => Err(Error::new(ErrorCode(error.code.into()), error.message)),
            }
        })
    })
}

/// Whether a name looks as if a program had made it.
fn is_complex(name: &[u8]) -> bool {
    name.len() >= 36
        || name.iter().any(u8::is_ascii_whitespace)
        || name.iter().filter(|byte| byte.is_ascii_digit()).count() > 2
}

fn is_literal(token: &SpelledToken) -> bool {
    matches!(token.kind, "Number" | "StringLiteral" | "HereDoc")
}

/// Whether a token is a name that may be replaced: words before a parenthesis are functions.
fn is_name(token: &SpelledToken, text: &[u8]) -> bool {
    token.kind == "QuotedIdentifier" || (token.kind == "BareWord" && text.get(token.end) != Some(&b'('))
}

/// The list of literals that a text is in.
#[derive(Default)]
struct List {
    literals: usize,
    ends_with_comma: bool,
}

fn put_normal(text: &[u8], keeps_names: bool, out: &mut Vec<u8>) {
    let mut list = List::default();
    let (mut was_blank, mut owes_blank) = (false, false);
    for token in spelled_tokens(text) {
        if !token.is_significant() {
            if !was_blank && list.literals > 0 {
                owes_blank = true;
            } else if !was_blank && token.start > 0 {
                out.push(b' ');
            }
            was_blank = true;
            continue;
        }
        was_blank = false;
        if is_literal(&token) {
            if list.literals == 0 {
                out.push(b'?');
            }
            list = List { literals: list.literals + 1, ends_with_comma: false };
            owes_blank = false;
            continue;
        }
        match token.kind {
            "Comma" if list.literals > 0 => {
                list.ends_with_comma = true;
                continue;
            }
            "Comma" => {}
            // A sign belongs to the number after it.
            "Plus" | "Minus" if list.ends_with_comma => continue,
            _ => end_list(&mut list, &mut owes_blank, out),
        }
        if token.kind.starts_with("Error") {
            return;
        }
        let own = text.get(token.start..token.end).unwrap_or_default();
        let is_hidden = is_name(&token, text) && !keeps_names && is_complex(own);
        out.extend_from_slice(if is_hidden { b"`?`" } else { own });
    }
    end_list(&mut list, &mut owes_blank, out);
}

fn end_list(list: &mut List, owes_blank: &mut bool, out: &mut Vec<u8>) {
    if list.literals > 1 {
        out.extend_from_slice(b"..");
    }
    if list.ends_with_comma {
        out.push(b',');
    }
    if *owes_blank {
        out.push(b' ');
    }
    *list = List::default();
    *owes_blank = false;
}

fn resolve_normal(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let keeps_names = call.name.ends_with("KeepNames");
    call.bind(DataType::String, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        string_column(rows, texts.bytes(rows), |out, row| {
            checkpoint(8 * texts.get(row).len())?;
            put_normal(texts.get(row), keeps_names, out);
            Ok(())
        })
    })
}

/// The bytes whose SipHash is the hash of a query without its literals.
fn put_hashed(text: &[u8], keeps_names: bool, out: &mut Vec<u8>) {
    let mut list = List::default();
    let end_list = |list: &mut List, out: &mut Vec<u8>| {
        if list.literals > 1 {
            out.push(0);
        }
        if list.ends_with_comma {
            out.push(b',');
        }
        *list = List::default();
    };
    for token in spelled_tokens(text).into_iter().filter(SpelledToken::is_significant) {
        if is_literal(&token) {
            if list.literals == 0 {
                out.push(0);
            }
            list = List { literals: list.literals + 1, ends_with_comma: false };
            continue;
        }
        match token.kind {
            "Comma" if list.literals > 0 => {
                list.ends_with_comma = true;
                continue;
            }
            "Comma" => {}
            _ => end_list(&mut list, out),
        }
        if token.kind.starts_with("Error") {
            return;
        }
        let own = text.get(token.start..token.end).unwrap_or_default();
        let is_hidden = is_name(&token, text) && !keeps_names && is_complex(own);
        out.extend_from_slice(if is_hidden { &[1] } else { own });
    }
    end_list(&mut list, out);
}

fn resolve_hash(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let keeps_names = call.name.ends_with("KeepNames");
    call.bind(DataType::UInt64, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let mut bytes = Vec::new();
        Ok(primitive_column::<UInt64Type>(DataType::UInt64, rows, |row| {
            bytes.clear();
            put_hashed(texts.get(row), keeps_names, &mut bytes);
            sip::hash(&bytes).0
        }))
    })
}

/// `Array(Tuple(begin UInt64, end UInt64, type Enum8(…)))`.
fn ranges_type(kinds: &[&str]) -> Result<DataType> {
    let names = kinds.iter().enumerate().map(|(at, name)| (Arc::from(*name), at as i16)).collect();
    let kind = DataType::Enum8(Arc::new(EnumValues::new(names)?));
    let element = |name: &str, data_type| TupleElement { name: Some(name.into()), data_type };
    let elements = [element("begin", DataType::UInt64), element("end", DataType::UInt64), element("type", kind)];
    Ok(DataType::array(DataType::Tuple(elements.into())))
}

/// Ranges of bytes with their kinds, by number.
fn ranges(
    call: &Call<'_>,
    kinds: &[&str],
    find: impl Fn(&[u8]) -> Vec<(usize, usize, usize)> + Send + Sync + 'static,
) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let result = ranges_type(kinds)?;
    call.bind(result.clone(), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        value_column(&result, rows, |row| {
            checkpoint(16 * texts.get(row).len())?;
            let range = |(begin, end, kind): (usize, usize, usize)| {
                let values = [Value::UInt64(begin as u64), Value::UInt64(end as u64), Value::Int64(kind as i64)];
                Value::Tuple(values.into())
            };
            Ok(Value::Array(find(texts.get(row)).into_iter().map(range).collect()))
        })
    })
}

fn resolve_tokens(call: &Call<'_>) -> Bound {
    ranges(call, SPELLED_KINDS, |text| {
        let number = |token: &SpelledToken| SPELLED_KINDS.iter().position(|kind| *kind == token.kind).unwrap_or(0);
        spelled_tokens(text).iter().map(|token| (token.start, token.end, number(token))).collect()
    })
}

/// What parts of a query are to a reader, in the order of their numbers.
const HIGHLIGHTS: &[&str] = &[
    "none",
    "keyword",
    "identifier",
    "function",
    "alias",
    "substitution",
    "number",
    "string",
    "string_escape",
    "string_metacharacter",
];

fn resolve_highlight(call: &Call<'_>) -> Bound {
    ranges(call, HIGHLIGHTS, |text| {
        let number = |name: &str| HIGHLIGHTS.iter().position(|known| *known == name).unwrap_or(0);
        let tokens: Vec<SpelledToken> = spelled_tokens(text).into_iter().filter(SpelledToken::is_significant).collect();
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let own = text.get(token.start..token.end).unwrap_or_default();
            let before = at.checked_sub(1).and_then(|before| tokens.get(before));
            let is_alias = before.is_some_and(|before| {
                text.get(before.start..before.end).is_some_and(|word| word.eq_ignore_ascii_case(b"AS"))
            });
            let kind = match token.kind {
                "Number" => "number",
                "StringLiteral" | "HereDoc" => "string",
                "OpeningCurlyBrace" => {
                    let close = tokens[at..].iter().position(|token| token.kind == "ClosingCurlyBrace");
                    if let Some(close) = close {
                        found.push((token.start, tokens[at + close].end, number("substitution")));
                        at += close + 1;
                        continue;
                    }
                    "none"
                }
                "BareWord" | "QuotedIdentifier" if is_alias => "alias",
                "BareWord" if tokens.get(at + 1).is_some_and(|next| next.kind == "OpeningRoundBracket") => {
                    let is_operator = token.is_keyword && own.iter().all(u8::is_ascii_uppercase);
                    if is_operator { "keyword" } else { "function" }
                }
                "BareWord" if token.is_keyword => "keyword",
                "BareWord" | "QuotedIdentifier" => "identifier",
                _ => "none",
            };
            if kind != "none" {
                found.push((token.start, token.end, number(kind)));
            }
            at += 1;
        }
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_without_literals() {
        let cases = [
            ("SELECT 1, 2, x, 'abc' FROM t WHERE a IN (1,2,3) -- c", "SELECT ?.., x, ? FROM t WHERE a IN (?..) "),
            ("[1, 2, 3, x]", "[?.., x]"),
            ("SELECT `a`, \"b\" FROM t12345678 LIMIT 1, 2", "SELECT `a`, \"b\" FROM `?` LIMIT ?.."),
        ];
        for (text, expected) in cases {
            let mut out = Vec::new();
            put_normal(text.as_bytes(), false, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected);
        }
    }
}
