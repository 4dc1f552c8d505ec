//! `naiveBayesNgrams`: a text cut into the n-grams by which a naive Bayes classifier knows it.

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, Value, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::array::list_column;
use crate::scalar::simple::{Call, Strings, StringsBuilder, too_large};

/// The longest n-gram, in bytes, characters or words.
const SIZE_MAX: u64 = 1024;

/// What n-grams are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unit {
    Byte,
    Character,
    Word,
}

impl Unit {
    fn of(name: &str) -> Result<Self> {
        match name {
            "byte" => Ok(Self::Byte),
            "codepoint" => Ok(Self::Character),
            "token" => Ok(Self::Word),
            other => Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("NaiveBayes: mode must be 'byte', 'codepoint', or 'token', got '{other}'"),
            )),
        }
    }

    /// What stands for the edge of a text: a number of a byte or a character, or a word; nothing for an empty name.
    fn edge(self, which: &str, name: &[u8]) -> Result<Option<Vec<u8>>> {
        if name.is_empty() {
            return Ok(None);
        }
        let (mode, most) = match self {
            Self::Word => return Ok(Some(name.to_vec())),
            Self::Byte => ("byte", u32::from(u8::MAX)),
            Self::Character => ("codepoint", u32::from(char::MAX)),
        };
        let text = String::from_utf8_lossy(name);
        let number = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => text.parse(),
        };
        let number = number.ok().filter(|number| *number <= most);
        let edge = number.and_then(|number| match self {
            Self::Byte => Some(vec![number as u8]),
            _ => char::from_u32(number).map(|character| character.to_string().into_bytes()),
        });
        edge.map(Some).ok_or_else(|| {
            Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!(
                    "NaiveBayes: {which} for '{mode}' mode must be an integer between 0 and {most} (decimal or 0x hex), got '{text}'"
                ),
            )
        })
    }

    fn split(self, text: &[u8]) -> Vec<&[u8]> {
        match self {
            Self::Byte => text.chunks(1).collect(),
            Self::Character => text.chunk_by(|_, next| next & 0xC0 == 0x80).collect(),
            Self::Word => text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect(),
        }
    }
}

/// `naiveBayesNgrams(text, n, mode[, start, end])`.
pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(3..=5)?;
    call.strings([0, 2, 3, 4])?;
    call.integers([1])?;
    let size = call.constant(1).ok_or_else(|| call.illegal(1))?;
    let size = size.as_u64().filter(|size| (1..=SIZE_MAX).contains(size)).ok_or_else(|| {
        let message = format!("Function {}: n must be in range [1, {SIZE_MAX}], got {size}", call.name);
        Error::new(ErrorCode::BAD_ARGUMENTS, message)
    })? as usize;
    let unit = Unit::of(call.constant(2).and_then(Value::as_str).ok_or_else(|| call.illegal(2))?)?;
    let edge = |at: usize, which| match call.arguments.get(at) {
        Some(_) => unit.edge(which, call.constant_bytes(at)?),
        None => Ok(None),
    };
    let (before, after) = (edge(3, "start_token")?, edge(4, "end_token")?);
    call.bind(DataType::array(DataType::String), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let mut grams = StringsBuilder::new(rows, texts.bytes(rows))?;
        let (mut count, mut ends) = (0_i32, vec![0_i32]);
        for row in 0..rows {
            let text = texts.get(row);
            checkpoint(16 * text.len() * size)?;
            let padding = |edge: &'_ Option<Vec<u8>>| edge.as_ref().map_or(0, |_| size - 1);
            let own = unit.split(text).into_iter();
            let units = std::iter::repeat_n(before.as_deref().unwrap_or_default(), padding(&before))
                .chain(own)
                .chain(std::iter::repeat_n(after.as_deref().unwrap_or_default(), padding(&after)));
            let units: Vec<&[u8]> = units.collect();
            for gram in units.windows(size) {
                let joined = if unit == Unit::Word { gram.join(&b' ') } else { gram.concat() };
                grams.push(&joined)?;
                count = count.checked_add(1).ok_or_else(too_large)?;
            }
            ends.push(count);
        }
        list_column(&DataType::String, ends, grams.finish()?.array().clone())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_numbers_or_words() {
        assert_eq!(Unit::Byte.edge("start_token", b"0xFF").unwrap(), Some(vec![0xFF]));
        assert_eq!(Unit::Character.edge("end_token", b"66").unwrap(), Some(b"B".to_vec()));
        assert_eq!(Unit::Word.edge("end_token", b"</s>").unwrap(), Some(b"</s>".to_vec()));
        assert!(Unit::Byte.edge("start_token", b"256").is_err());
        assert!(Unit::Character.edge("start_token", b"0x110000").is_err());
    }
}
