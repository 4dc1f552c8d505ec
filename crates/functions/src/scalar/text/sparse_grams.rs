//! `sparseGrams`: the parts of a text whose first and last short runs have greater hashes than all runs between them, and their hashes.

use std::fmt;
use std::sync::Arc;

use arrow_array::types::UInt32Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint, grow};

use crate::function::BoundFunction;
use crate::scalar::array::list_column;
use crate::scalar::hash::checksum::crc32c;
use crate::scalar::simple::{Call, Strings, StringsBuilder};

/// How long parts may be, in bytes or characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lengths {
    least: usize,
    most: usize,
    /// Shorter parts are left out.
    shown: usize,
}

impl Lengths {
    /// From the shortest to the longest; shorter parts than `shown` are left out, unless it is 0.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS`.
    pub fn new(least: usize, most: usize, shown: usize) -> Result<Self> {
        let wrong = |what: &str| Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Argument {what}")));
        if least < 3 {
            return wrong("'min_ngram_length' must be greater or equal to 3");
        }
        if most < least {
            return wrong("'max_ngram_length' must be greater or equal to 'min_ngram_length'");
        }
        if shown != 0 && !(least..=most).contains(&shown) {
            return wrong("'min_cutoff_length' must be between 'min_ngram_length' and 'max_ngram_length'");
        }
        Ok(Self { least, most, shown })
    }
}

impl fmt::Display for Lengths {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, {}, {}", self.least, self.most, self.shown)
    }
}

/// A run that no later run has a greater hash than.
struct Run {
    begin: usize,
    symbol: usize,
    hash: u32,
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=4)?;
    call.each([0], |data_type| *data_type == DataType::String)?;
    call.integers([1, 2, 3])?;
    let length = |at: usize, default: u64| match (call.arguments.get(at), call.constant(at)) {
        (None, _) => Ok(default as usize),
        (Some(_), Some(value)) => Ok(value.as_u64().unwrap_or(0) as usize),
        (Some(_), None) => Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("Argument {} of function {} must be constant", at + 1, call.name),
        )),
    };
    let lengths = Lengths::new(length(1, 3)?, length(2, 100)?, length(3, 0)?)?;
    let is_utf8 = call.name.ends_with("UTF8");
    if call.name.contains("Hashes") {
        return call.bind(DataType::array(DataType::UInt32), move |arguments, rows| {
            let texts = Strings::of(arguments, 0)?;
            let (mut hashes, mut ends) = (Vec::new(), vec![0]);
            for row in 0..rows {
                each(texts.get(row), is_utf8, lengths, &mut |part| {
                    grow(&mut hashes, 1)?;
                    hashes.push(hash(part));
                    Ok(())
                })?;
                ends.push(end_of(hashes.len())?);
            }
            let hashes = Column::from_primitive::<UInt32Type>(DataType::UInt32, hashes);
            list_column(&DataType::UInt32, ends, hashes.array().clone())
        });
    }
    call.bind(DataType::array(DataType::String), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let mut parts = StringsBuilder::new(rows, texts.bytes(rows))?;
        let (mut count, mut ends) = (0, vec![0]);
        for row in 0..rows {
            each(texts.get(row), is_utf8, lengths, &mut |part| {
                count += 1;
                grow(&mut parts.bytes, part.len())?;
                parts.bytes.extend_from_slice(part);
                parts.end_row()
            })?;
            ends.push(end_of(count)?);
        }
        list_column(&DataType::String, ends, parts.finish()?.array().clone())
    })
}

fn end_of(count: usize) -> Result<i32> {
    i32::try_from(count).map_err(|_| Error::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, "Too many parts of a text"))
}

/// Calls `found` for each part. Runs have one symbol less than the shortest part.
pub(super) fn each<'a>(
    text: &'a [u8],
    is_utf8: bool,
    lengths: Lengths,
    found: &mut dyn FnMut(&'a [u8]) -> Result<()>,
) -> Result<()> {
    let next = |at: usize| {
        let width = match text.get(at) {
            Some(0xC0..0xE0) if is_utf8 => 2,
            Some(0xE0..0xF0) if is_utf8 => 3,
            Some(0xF0..) if is_utf8 => 4,
            _ => 1,
        };
        (at + width).min(text.len())
    };
    let mut hull: Vec<Run> = Vec::new();
    let (mut left, mut right) = (0, 0);
    for _ in 0..lengths.least - 2 {
        if right >= text.len() {
            return Ok(());
        }
        right = next(right);
    }
    let mut symbol = lengths.least - 2;
    let mut emit = |run: &Run, symbol: usize, end: usize| -> Result<bool> {
        let length = symbol - run.symbol + lengths.least - 1;
        if length > lengths.most {
            return Ok(false);
        }
        if length >= lengths.shown {
            checkpoint(8 + (end - run.begin))?;
            found(text.get(run.begin..end).unwrap_or_default())?;
        }
        Ok(true)
    };
    while right < text.len() {
        checkpoint(lengths.least)?;
        let end = next(right);
        let own = hash(text.get(left..end).unwrap_or_default());
        while let Some(run) = hull.pop_if(|run| run.hash < own) {
            if !emit(&run, symbol, end)? {
                hull.clear();
            }
        }
        if let Some(run) = hull.last() {
            emit(run, symbol, end)?;
        }
        while hull.pop_if(|run| run.hash == own).is_some() {}
        hull.push(Run { begin: left, symbol, hash: own });
        right = end;
        left = next(left);
        symbol += 1;
    }
    Ok(())
}

/// CRC-32C of the words, the last of which carries its number of bytes.
fn hash(bytes: &[u8]) -> u32 {
    let add = |crc: u32, word: u64| crc32c(crc, word);
    let (words, rest) = bytes.as_chunks::<8>();
    if words.is_empty() {
        let word = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        return add(0, word | (rest.len() as u64) << 56);
    }
    let crc = words.iter().fold(0, |crc, word| add(crc, u64::from_le_bytes(*word)));
    if rest.is_empty() {
        return crc;
    }
    let word = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    add(crc, word << (8 * (8 - rest.len())) | rest.len() as u64)
}
