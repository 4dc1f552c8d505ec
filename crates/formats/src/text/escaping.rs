//! Escaping rules: how a field is written where a format leaves that to settings, and how it is read up to what stands behind it.

use squall_types::text::{TextStyle, ValueReader, read_json_string};
use squall_types::{Error, ErrorCode, Result};

use crate::input::Rows;
use crate::text::scan::{Until, scan};
use crate::wire::{Cursor, Stop};

/// How a field is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Escaping {
    Escaped,
    Quoted,
    Csv,
    Json,
    Raw,
}

impl Escaping {
    /// The rule of a name.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS`.
    pub fn named(name: &str) -> Result<Self> {
        Ok(match name {
            "Escaped" => Self::Escaped,
            "Quoted" => Self::Quoted,
            "CSV" => Self::Csv,
            "JSON" => Self::Json,
            "Raw" => Self::Raw,
            other => {
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Unknown escaping rule \"{other}\"")));
            }
        })
    }

    /// How values are written by it.
    pub fn style(self) -> TextStyle {
        match self {
            Self::Escaped => TextStyle::Escaped,
            Self::Quoted => TextStyle::Quoted,
            Self::Csv => TextStyle::Csv,
            Self::Json => TextStyle::Json,
            Self::Raw => TextStyle::Plain,
        }
    }

    /// Takes the text of a field that ends before one of these delimiters, the first that comes; before the end of the input without any.
    ///
    /// # Errors
    /// `Incomplete`, and where a quote is not closed.
    pub fn take<'a>(self, input: &mut Cursor<'a>, delimiters: &[&[u8]]) -> Result<&'a [u8], Stop> {
        let rest = input.rest();
        let length = match (self, rest.first()) {
            (Self::Csv, Some(quote @ (b'"' | b'\''))) => quoted_end(rest, *quote, input.is_last())?,
            (Self::Json, Some(b'"')) | (Self::Quoted, Some(b'\'')) => string_end(rest)?,
            (Self::Json | Self::Quoted, Some(b'[' | b'{' | b'(')) => scan(input, Until::Close, b"\"'")?,
            (Self::Json | Self::Quoted, _) => {
                let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-' | b'_');
                let length = rest.iter().take_while(|byte| is_of_word(byte)).count();
                if length == rest.len() && !input.is_last() {
                    return Err(Stop::Incomplete);
                }
                length
            }
            (Self::Escaped | Self::Csv | Self::Raw, _) => {
                plain_end(rest, delimiters, self == Self::Escaped, input.is_last())?
            }
        };
        input.take(length)
    }

    /// Appends a field's text to a column as a value.
    ///
    /// # Errors
    /// Where the text is no value of the column's type.
    pub fn read(self, field: &[u8], position: usize, rows: &mut Rows<ValueReader>) -> Result<()> {
        let null_as_default = rows.table.null_as_default;
        let reader = rows.column(position)?;
        let is_null = match self {
            Self::Escaped | Self::Csv => field == b"\\N",
            Self::Quoted => field.eq_ignore_ascii_case(b"NULL"),
            Self::Json => field == b"null",
            Self::Raw => false,
        };
        if is_null && reader.data_type().is_nullable() {
            reader.append_default();
            return Ok(());
        }
        if is_null && null_as_default {
            return rows.omit(position);
        }
        match self {
            Self::Escaped => reader.read_escaped(field),
            Self::Raw => reader.read_whole(field),
            Self::Csv => match field {
                [quote @ (b'"' | b'\''), inner @ .., _] => reader.read_whole(&without_doubles(inner, *quote)),
                plain => reader.read_whole(plain.trim_ascii_end()),
            },
            Self::Json => reader.read_json(field).map(drop),
            Self::Quoted => reader.read_quoted(field).map(drop),
        }
    }

    /// A field's text as a name.
    ///
    /// # Errors
    /// Where it is no string.
    pub fn name(self, field: &[u8]) -> Result<String> {
        let mut text = Vec::new();
        match (self, field) {
            (Self::Json, _) => drop(read_json_string(&mut text, field)?),
            (Self::Csv | Self::Quoted, [quote @ (b'"' | b'\''), inner @ .., _]) => {
                text = without_doubles(inner, *quote);
            }
            _ => text.extend_from_slice(field),
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

fn unclosed() -> Stop {
    Stop::Bad(Error::new(ErrorCode::CANNOT_PARSE_QUOTED_STRING, "Cannot parse quoted string: expected closing quote"))
}

/// Where a text in quotes ends in which two quotes stand for one.
fn quoted_end(text: &[u8], quote: u8, is_last: bool) -> Result<usize, Stop> {
    let mut at = 1;
    loop {
        let Some(found) = text.get(at..).and_then(|rest| memchr::memchr(quote, rest)) else {
            return Err(if is_last { unclosed() } else { Stop::Incomplete });
        };
        at += found + 1;
        match text.get(at) {
            Some(next) if *next == quote => at += 1,
            None if !is_last => return Err(Stop::Incomplete),
            _ => return Ok(at),
        }
    }
}

/// Where a text in quotes ends in which a backslash escapes.
fn string_end(text: &[u8]) -> Result<usize, Stop> {
    let quote = text.first().copied().unwrap_or(b'"');
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match *byte {
            b'\\' => at += 2,
            byte if byte == quote => return Ok(at + 1),
            _ => at += 1,
        }
    }
    Err(Stop::Incomplete)
}

fn plain_end(text: &[u8], delimiters: &[&[u8]], is_escaped: bool, is_last: bool) -> Result<usize, Stop> {
    let wanted: Vec<&[u8]> = delimiters.iter().copied().filter(|delimiter| !delimiter.is_empty()).collect();
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        if is_escaped && *byte == b'\\' {
            at += 2;
            continue;
        }
        if wanted.iter().any(|delimiter| text.get(at..).is_some_and(|rest| rest.starts_with(delimiter))) {
            return Ok(at);
        }
        at += 1;
    }
    if is_last { Ok(text.len()) } else { Err(Stop::Incomplete) }
}

fn without_doubles(text: &[u8], quote: u8) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        plain.push(*byte);
        at += if *byte == quote { 2 } else { 1 };
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_end_where_their_rule_says() {
        let cases: &[(Escaping, &[u8], &[u8])] = &[
            (Escaping::Csv, b"\"a|\"\"b\"|c", b"\"a|\"\"b\""),
            (Escaping::Csv, b"ab|c", b"ab"),
            (Escaping::Json, b"\"a\\\"|\"|c", b"\"a\\\"|\""),
            (Escaping::Json, b"[1,\"|\"]|c", b"[1,\"|\"]"),
            (Escaping::Quoted, b"'a\\'|'|c", b"'a\\'|'"),
            (Escaping::Escaped, b"a\\|b|c", b"a\\|b"),
            (Escaping::Raw, b"a\\|b|c", b"a\\"),
        ];
        for (rule, text, field) in cases {
            let mut input = Cursor::complete(text);
            assert_eq!(rule.take(&mut input, &[b"|"]).ok(), Some(*field), "{rule:?}");
        }
        assert!(matches!(Escaping::Raw.take(&mut Cursor::new(b"ab"), &[b"|"]), Err(Stop::Incomplete)));
    }
}
