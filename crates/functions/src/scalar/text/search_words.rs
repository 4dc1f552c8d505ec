//! Words of texts: whether some or all of them are in a text, whether they follow each other, and texts with them marked.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::types::UInt8Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, argument, string_column};

use super::tokenizer::Tokenizer;

type Bound = Result<Arc<dyn BoundFunction>>;

/// The words that are looked for: those of a text, or an array of words.
fn needles(call: &Call<'_>, tokenizer: &Tokenizer) -> Result<Vec<Vec<u8>>> {
    Ok(match call.constant(1) {
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_bytes).map(<[u8]>::to_vec).collect(),
        Some(text) => {
            let text = text.as_bytes().ok_or_else(|| call.illegal(1))?;
            tokenizer.words(text)?.into_iter().map(<[u8]>::to_vec).collect()
        }
        None => {
            return Err(Error::new(
                ErrorCode::ILLEGAL_COLUMN,
                format!("The second argument of function {} must be constant", call.name),
            ));
        }
    })
}

/// Checks that an argument is a text, or several where that may be.
fn check_input(call: &Call<'_>) -> Result<()> {
    call.each([0], |data_type| match data_type {
        DataType::Array(item) => item.is_string_or_fixed_string() || **item == DataType::Nothing,
        other => other.is_string_or_fixed_string(),
    })
}

/// Answers of texts, or of arrays of them.
fn answers(call: &Call<'_>, holds: impl Fn(&[&[u8]]) -> Result<bool> + Send + Sync + 'static) -> Bound {
    check_input(call)?;
    let is_text = call.type_of(0).is_string_or_fixed_string();
    call.bind(DataType::UInt8, move |arguments, rows| {
        let mut found = Vec::with_capacity(rows);
        if is_text {
            let texts = Strings::of(arguments, 0)?;
            for row in 0..rows {
                checkpoint(16 * texts.get(row).len())?;
                found.push(u8::from(holds(&[texts.get(row)])?));
            }
        } else {
            let column = argument(arguments, 0)?;
            for row in 0..rows {
                let Value::Array(items) = column.value(row) else {
                    return Err(Error::logical("an array was expected"));
                };
                let texts: Vec<&[u8]> = items.iter().filter_map(Value::as_bytes).collect();
                checkpoint(64 + 16 * texts.iter().map(|text| text.len()).sum::<usize>())?;
                found.push(u8::from(holds(&texts)?));
            }
        }
        Ok(Column::from_primitive::<UInt8Type>(DataType::UInt8, found))
    })
}

/// `hasAnyTokens` and `hasAllTokens`.
pub(super) fn resolve_has(call: &Call<'_>) -> Bound {
    call.arguments(2..=3)?;
    let tokenizer = Tokenizer::of_description(call, 2)?;
    let needles = needles(call, &tokenizer)?;
    let is_all = call.name == "hasAllTokens";
    answers(call, move |texts| {
        let mut words: HashSet<&[u8]> = HashSet::new();
        for text in texts {
            words.extend(tokenizer.words(text)?);
        }
        let mut found = needles.iter().map(|needle| words.contains(&needle[..]));
        Ok(!needles.is_empty() && if is_all { found.all(|is| is) } else { found.any(|is| is) })
    })
}

/// `hasPhrase`: whether the words follow each other.
pub(super) fn resolve_phrase(call: &Call<'_>) -> Bound {
    call.arguments(2..=3)?;
    let tokenizer = Tokenizer::of_description(call, 2)?;
    let needles = needles(call, &tokenizer)?;
    answers(call, move |texts| {
        for text in texts.iter().filter(|_| !needles.is_empty()) {
            let words = tokenizer.words(text)?;
            if words.windows(needles.len()).any(|run| run.iter().zip(&needles).all(|(word, needle)| word == needle)) {
                return Ok(true);
            }
        }
        Ok(false)
    })
}

/// `highlight(text, words[, before, after])`: marks what is like a word in any case of ASCII letters.
pub(super) fn resolve_highlight(call: &Call<'_>) -> Bound {
    call.arguments(2..=4)?;
    call.strings([0])?;
    let Some(Value::Array(words)) = call.constant(1) else {
        return Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("The second argument of function {} must be a constant array", call.name),
        ));
    };
    let words: Vec<Vec<u8>> = words.iter().filter_map(Value::as_bytes).map(<[u8]>::to_ascii_lowercase).collect();
    let tag = |at: usize, otherwise: &[u8]| match call.arguments.len() > at {
        true => call.constant_bytes(at).map(<[u8]>::to_vec),
        false => Ok(otherwise.to_vec()),
    };
    let (before, after) = (tag(2, b"<em>")?, tag(3, b"</em>")?);
    call.bind(DataType::String, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        string_column(rows, 2 * texts.bytes(rows), |out, row| {
            let text = texts.get(row);
            checkpoint(16 * text.len())?;
            let lower = text.to_ascii_lowercase();
            let mut is_marked = vec![false; text.len()];
            for word in words.iter().filter(|word| !word.is_empty()) {
                for at in memchr::memmem::find_iter(&lower, word) {
                    is_marked[at..at + word.len()].fill(true);
                }
            }
            let mut at = 0;
            while at < text.len() {
                let run = is_marked[at..].iter().take_while(|marked| **marked == is_marked[at]).count();
                if is_marked[at] {
                    out.extend_from_slice(&before);
                }
                out.extend_from_slice(&text[at..at + run]);
                if is_marked[at] {
                    out.extend_from_slice(&after);
                }
                at += run;
            }
            Ok(())
        })
    })
}
