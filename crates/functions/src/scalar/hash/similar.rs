//! Hashes by which like texts are found: SimHash (Charikar, *Similarity estimation techniques from rounding algorithms*, 2002) and
//! MinHash (Broder, *On the resemblance and containment of documents*, 1997) of runs of characters (`ngram…`) or of words
//! (`wordShingle…`).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use super::city;
use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, StringsBuilder, primitive_column};
use crate::scalar::tuple::from_elements;

type Bound = Result<Arc<dyn BoundFunction>>;

/// Shorter words do not count.
const WORD_BYTES_MIN: usize = 4;

/// The greatest number that the second and the third argument may be.
const SIZE_MAX: u64 = 25;

/// How a function makes runs.
#[derive(Clone, Copy)]
struct Kind {
    of_words: bool,
    in_characters: bool,
    in_any_case: bool,
    /// Characters or words of a run.
    size: usize,
}

impl Kind {
    fn of(call: &Call<'_>) -> Result<Self> {
        Ok(Self {
            of_words: call.name.starts_with("wordShingle"),
            in_characters: call.name.ends_with("UTF8"),
            in_any_case: call.name.contains("CaseInsensitive"),
            size: size(call, 1, 3)?,
        })
    }

    /// CRC-32C without the last step, of these pieces of a text one after the other.
    fn hash<'a>(self, pieces: impl Iterator<Item = &'a [u8]>) -> u64 {
        // In any case of letters as far as a bit goes: other bytes change too.
        let case = if self.in_any_case { 0x20 } else { 0 };
        // Without a byte all 64 bits are as they began.
        pieces.flatten().fold(u64::MAX, |sum, byte| {
            let sum = sum as u32;
            u64::from(sum >> 8 ^ CRC[(sum as u8 ^ (byte | case)) as usize])
        })
    }

    /// The hash of each run, and where the run is.
    fn for_each(self, text: &[u8], mut visit: impl FnMut(u64, Range<usize>)) {
        let piece = |at: &Range<usize>| text.get(at.clone()).unwrap_or_default();
        if self.of_words {
            // The last words, the oldest at `oldest` once there are enough of them.
            let mut words: Vec<Range<usize>> = Vec::with_capacity(self.size);
            let mut oldest = 0;
            let mut rest = words_of(text).filter(|word| word.len() >= WORD_BYTES_MIN);
            words.extend(rest.by_ref().take(self.size));
            let (Some(first), Some(last)) = (words.first(), words.last()) else { return };
            visit(self.hash(words.iter().map(piece)), first.start..last.end);
            for word in rest {
                let end = word.end;
                words[oldest] = word;
                oldest = (oldest + 1) % self.size;
                let (before, from) = words.split_at(oldest);
                let start = words[oldest].start;
                visit(self.hash(from.iter().chain(before).map(piece)), start..end);
            }
            return;
        }
        let whole = 0..text.len();
        if !self.in_characters {
            if text.len() < self.size {
                visit(self.hash([text].into_iter()), whole);
            }
            for (at, run) in text.windows(self.size).enumerate() {
                visit(self.hash([run].into_iter()), at..at + self.size);
            }
            return;
        }
        let (mut start, mut end) = (0, 0);
        for _ in 0..self.size {
            if end >= text.len() {
                visit(self.hash([text].into_iter()), whole);
                return;
            }
            end = after_character(text, end);
        }
        // The first run does not count.
        while end < text.len() {
            start = after_character(text, start);
            end = after_character(text, end);
            visit(self.hash([piece(&(start..end))].into_iter()), start..end);
        }
    }
}

/// The place after the character at `at`, by what its first byte says.
fn after_character(text: &[u8], at: usize) -> usize {
    let length = match text.get(at) {
        Some(0xC0..0xE0) => 2,
        Some(0xE0..0xF0) => 3,
        Some(0xF0..0xF8) => 4,
        _ => 1,
    };
    text.len().min(at + length)
}

/// Runs of letters, digits and whatever is not ASCII.
fn words_of(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let is_separator = |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric();
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text.get(at..)?.iter().position(|byte| !is_separator(byte))?;
        let rest = text.get(start..)?;
        at = start + rest.iter().position(is_separator).unwrap_or(rest.len());
        Some(start..at)
    })
}

/// The remainders of all bytes by Castagnoli's polynomial.
const CRC: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0x82F6_3B78 } else { sum >> 1 };
            bit += 1;
        }
        table[byte] = sum;
        byte += 1;
    }
    table
};

/// An argument that says how many.
fn size(call: &Call<'_>, at: usize, default: usize) -> Result<usize> {
    let what = if at == 1 { "shingle size" } else { "num hashes" };
    if call.arguments.len() <= at {
        return Ok(default);
    }
    call.each([at], DataType::is_unsigned_integer)?;
    let size = call.constant(at).and_then(Value::as_u64).ok_or_else(|| call.illegal(at))?;
    let wrong = match size {
        0 => "be zero",
        1..=SIZE_MAX => return Ok(size as usize),
        _ => "be greater then 25",
    };
    let place = if at == 1 { "Second" } else { "Third" };
    Err(Error::new(
        ErrorCode::ARGUMENT_OUT_OF_BOUND,
        format!("{place} argument ({what}) of function {} cannot {wrong}", call.name),
    ))
}

pub(super) fn resolve_sim(call: &Call<'_>) -> Bound {
    call.arguments(1..=2)?;
    call.each([0], |data_type| *data_type == DataType::String)?;
    let kind = Kind::of(call)?;
    call.bind(DataType::UInt64, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let mut hashes = Vec::with_capacity(rows);
        for row in 0..rows {
            let text = texts.get(row);
            checkpoint(64 * text.len())?;
            // For each bit, how many runs more have it than have it not.
            let mut bits = [0_i64; 64];
            let mut only = None;
            kind.for_each(text, |hash, at| {
                // A text that is shorter than a run is its own hash.
                only = (!kind.of_words && at == (0..text.len()) && is_short(kind, text)).then_some(hash);
                bits.iter_mut().enumerate().for_each(|(bit, more)| *more += if hash >> bit & 1 == 1 { 1 } else { -1 });
            });
            let set = bits.iter().enumerate().filter(|(_, more)| **more > 0);
            hashes.push(only.unwrap_or_else(|| set.fold(0, |hash, (bit, _)| hash | 1 << bit)));
        }
        Ok(primitive_column::<arrow_array::types::UInt64Type>(DataType::UInt64, rows, |row| hashes[row]))
    })
}

/// Whether a text has fewer characters than a run.
fn is_short(kind: Kind, text: &[u8]) -> bool {
    if !kind.in_characters {
        return text.len() < kind.size;
    }
    let mut at = 0;
    for _ in 0..kind.size {
        if at >= text.len() {
            return true;
        }
        at = after_character(text, at);
    }
    false
}

/// The runs with the least hashes, and with the greatest.
#[derive(Default)]
struct Extremes {
    least: BTreeMap<u64, Range<usize>>,
    greatest: BTreeMap<u64, Range<usize>>,
}

impl Extremes {
    fn of(kind: Kind, count: usize, text: &[u8]) -> Result<Self> {
        checkpoint(64 * text.len())?;
        let mut extremes = Self::default();
        kind.for_each(text, |hash, at| {
            extremes.least.entry(hash).or_insert_with(|| at.clone());
            if extremes.least.len() > count {
                extremes.least.pop_last();
            }
            extremes.greatest.entry(hash).or_insert(at);
            if extremes.greatest.len() > count {
                extremes.greatest.pop_first();
            }
        });
        Ok(extremes)
    }
}

pub(super) fn resolve_min(call: &Call<'_>) -> Bound {
    call.arguments(1..=3)?;
    call.each([0], |data_type| *data_type == DataType::String)?;
    let kind = Kind::of(call)?;
    let count = size(call, 2, 6)?;
    let result = DataType::tuple([DataType::UInt64, DataType::UInt64]);
    call.bind(result.clone(), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let (mut least, mut greatest) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        for row in 0..rows {
            let extremes = Extremes::of(kind, count, texts.get(row))?;
            least.push(extremes.least.keys().rev().fold(0, |sum, hash| city::combine(sum, *hash)));
            greatest.push(extremes.greatest.keys().fold(0, |sum, hash| city::combine(sum, *hash)));
        }
        let columns = [least, greatest]
            .map(|hashes| Column::from_primitive::<arrow_array::types::UInt64Type>(DataType::UInt64, hashes));
        from_elements(&result, &columns, rows)
    })
}

pub(super) fn resolve_arg(call: &Call<'_>) -> Bound {
    call.arguments(1..=3)?;
    call.each([0], |data_type| *data_type == DataType::String)?;
    let kind = Kind::of(call)?;
    let count = size(call, 2, 6)?;
    let side = DataType::tuple(vec![DataType::String; count]);
    let result = DataType::tuple([side.clone(), side.clone()]);
    call.bind(result.clone(), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let builders = || (0..count).map(|_| StringsBuilder::new(rows, 8 * rows)).collect::<Result<Vec<_>>>();
        let mut sides = [builders()?, builders()?];
        for row in 0..rows {
            let text = texts.get(row);
            let extremes = Extremes::of(kind, count, text)?;
            let ordered: [Vec<&Range<usize>>; 2] =
                [extremes.least.values().rev().collect(), extremes.greatest.values().collect()];
            for (builders, runs) in sides.iter_mut().zip(ordered) {
                for (at, builder) in builders.iter_mut().enumerate() {
                    let run = runs.get(at).and_then(|run| text.get((*run).clone()));
                    builder.push(run.unwrap_or_default())?;
                }
            }
        }
        let columns = sides.into_iter().map(|builders| {
            let strings = builders.into_iter().map(StringsBuilder::finish).collect::<Result<Vec<_>>>()?;
            from_elements(&side, &strings, rows)
        });
        from_elements(&result, &columns.collect::<Result<Vec<_>>>()?, rows)
    })
}
