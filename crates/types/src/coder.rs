//! Rows of strings become [`Coded`] ones, batch after batch, as long as few of them are different, or their dictionary takes far less than they.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, BinaryArray, DictionaryArray, UInt32Array};
use arrow_buffer::{NullBuffer, NullBufferBuilder};
use squall_runtime::Pieces;

use crate::coded::{Coded, VALUES_MAX};
use crate::error::{Error, Result};
use crate::grow;
use crate::rows::Rows;
use crate::string_dictionary::StringDictionary;

/// Fewer rows are not worth a dictionary. In debug builds they are, so that tests of few rows meet codes too.
const ROWS_MIN: usize = if cfg!(debug_assertions) { 8 } else { 4096 };

/// There are so many rows of a value at least, on average.
const ROWS_PER_VALUE_MIN: usize = if cfg!(debug_assertions) { 2 } else { 16 };

/// Few values are no longer than this: then a morsel's rows can be written out any time.
const VALUE_BYTES_MAX: usize = 256;

/// After so many rows a dictionary of many values has to pay: rows that come later have more of the same.
const JUDGED_AT: usize = if cfg!(debug_assertions) { 64 } else { 16_384 };

/// Rows of many values take no more than this when they are written out.
const STRING_BYTES_MAX: usize = 64 << 20;

/// Rows between two looks at whether the values are still few.
const ROWS_AT_ONCE: usize = 1024;

/// Rows that have codes of their own, on their way to a [`Coder`]: which codes are known there.
pub(crate) struct CodesElsewhere<'a> {
    rows: &'a Coded,
    known: Vec<Option<u32>>,
}

impl<'a> CodesElsewhere<'a> {
    pub(crate) fn of(rows: &'a Coded) -> Self {
        Self { rows, known: vec![None; rows.values().len()] }
    }
}

/// Makes rows of strings [`Coded`], batch after batch, as long as their values are few.
#[derive(Debug)]
pub struct Coder {
    values: StringDictionary,
    codes: Vec<u32>,
    nulls: NullBufferBuilder,
    /// There will be so many rows in all.
    rows: usize,
    /// Bytes of the strings of the rows so far.
    string_bytes: usize,
}

/// Whether rows of strings are better held as codes of their values: where these are few, or where they take far less than the rows.
/// `string_bytes` are those of the rows so far, of `all_rows` in the end.
fn pays(values: usize, value_bytes: usize, longest: usize, rows: usize, string_bytes: usize, all_rows: usize) -> bool {
    let are_few = values <= VALUES_MAX.min(all_rows / ROWS_PER_VALUE_MIN) && longest <= VALUE_BYTES_MAX;
    let ends = size_of::<i32>();
    // Two thirds: less is not worth the detour by the codes.
    let takes_less = || 3 * (value_bytes + ends * (values + rows)) <= 2 * (string_bytes + ends * rows);
    are_few || rows >= JUDGED_AT && string_bytes <= STRING_BYTES_MAX && takes_less()
}

/// Whether so many rows of these values, of so many bytes in all, are better held as codes: a [`Coder`] would hold them so.
pub fn dictionary_pays(values: &BinaryArray, rows: usize, string_bytes: usize) -> bool {
    let longest = values.value_offsets().windows(2).map(|ends| (ends[1] - ends[0]) as usize).max().unwrap_or(0);
    rows >= ROWS_MIN && pays(values.len(), values.value_data().len(), longest, rows, string_bytes, rows)
}

/// The rows of a dictionary for which [it pays](dictionary_pays), as [`Coded::unless_mostly_empty`] holds them.
///
/// # Errors
/// `LOGICAL_ERROR` where a value is NULL or no string, `MEMORY_LIMIT_EXCEEDED`.
pub fn coded_rows(codes: DictionaryArray<UInt32Type>, ratio_of_defaults: f64) -> Result<Rows> {
    let coded = Coded::of(codes).ok_or_else(|| Error::logical("a dictionary of other values than strings"))?;
    coded.unless_mostly_empty(ratio_of_defaults)
}

impl Coder {
    /// For so many rows in all; `None` where they are too few for it to pay.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub fn new(rows: usize) -> Result<Option<Self>> {
        if rows < ROWS_MIN {
            return Ok(None);
        }
        let mut codes = Vec::new();
        grow(&mut codes, rows)?;
        Ok(Some(Self {
            values: StringDictionary::default(),
            codes,
            nulls: NullBufferBuilder::new(rows),
            rows,
            string_bytes: 0,
        }))
    }

    /// Whether there are more values than it pays to hold codes of, or longer ones, as far as can be told.
    fn has_many(&self) -> bool {
        let (values, rows) = (&self.values, self.codes.len());
        (rows >= JUDGED_AT.min(self.rows) || values.bytes() > STRING_BYTES_MAX)
            && !pays(values.len(), values.bytes(), values.longest(), rows, self.string_bytes, self.rows)
    }

    /// Adds rows. Whether the values are still few; where they are not, no more can be added.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub fn append(&mut self, strings: &BinaryArray) -> Result<bool> {
        self.append_nulls(strings.nulls(), strings.len());
        for from in (0..strings.len()).step_by(ROWS_AT_ONCE) {
            for row in from..strings.len().min(from + ROWS_AT_ONCE) {
                let string = if strings.is_null(row) { &[] } else { strings.value(row) };
                self.codes.push(self.values.code(string)?);
                self.string_bytes += string.len();
            }
            if self.has_many() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds some of the rows that are codes already: a string is looked up where its code is met for the first time. As [`append`](Self::append).
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub(crate) fn append_codes(&mut self, elsewhere: &mut CodesElsewhere, first: usize, rows: usize) -> Result<bool> {
        let some = elsewhere.rows.codes().slice(first, rows);
        self.append_nulls(some.nulls(), rows);
        let strings = elsewhere.rows.values().as_binary::<i32>();
        for code in &some {
            let own = match code {
                None => self.values.code(&[])?,
                Some(code) => match elsewhere.known.get_mut(code as usize) {
                    Some(Some(own)) => *own,
                    Some(unknown) => *unknown.insert(self.values.code(strings.value(code as usize))?),
                    None => return Err(Error::logical("a code without a value")),
                },
            };
            self.codes.push(own);
            self.string_bytes += code.map_or(0, |code| strings.value_length(code as usize) as usize);
        }
        Ok(!self.has_many())
    }

    fn append_nulls(&mut self, nulls: Option<&NullBuffer>, rows: usize) {
        match nulls {
            None => self.nulls.append_n_non_nulls(rows),
            Some(nulls) => self.nulls.append_buffer(nulls),
        }
    }

    /// How many rows there will be.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many rows were added.
    pub fn added(&self) -> usize {
        self.codes.len()
    }

    /// The rows that were added, as [`Coded::unless_mostly_empty`] holds them.
    ///
    /// # Errors
    /// `LOGICAL_ERROR`, `MEMORY_LIMIT_EXCEEDED`.
    pub fn into_rows(self, ratio_of_defaults: f64) -> Result<Rows> {
        self.finish()?.unless_mostly_empty(ratio_of_defaults)
    }

    /// The rows that were added.
    ///
    /// # Errors
    /// `LOGICAL_ERROR`.
    pub fn finish(self) -> Result<Coded> {
        let values = self.values.finish()?;
        coded(self.codes, self.nulls, values)
    }

    /// The same in pieces.
    ///
    /// # Errors
    /// `LOGICAL_ERROR`.
    pub async fn finish_in_pieces(self, pieces: &mut Pieces) -> Result<Coded> {
        let values = self.values.finish_in_pieces(pieces).await?;
        coded(self.codes, self.nulls, values)
    }
}

fn coded(codes: Vec<u32>, mut nulls: NullBufferBuilder, values: BinaryArray) -> Result<Coded> {
    // Where values were many, the last batch was left in its middle: its rows that are there are those of the others.
    let nulls = nulls.finish().map(|nulls| nulls.slice(0, codes.len()));
    let codes = DictionaryArray::try_new(UInt32Array::try_new(codes.into(), nulls)?, Arc::new(values))?;
    Coded::of(codes).ok_or_else(|| Error::logical("a value that is NULL"))
}
