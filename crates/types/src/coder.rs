//! Rows of strings become [`Coded`] ones, batch after batch, as long as few of them are different.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BinaryArray, DictionaryArray, UInt32Array};
use arrow_buffer::{NullBuffer, NullBufferBuilder};

use crate::coded::{Coded, VALUES_MAX};
use crate::error::{Error, Result};
use crate::grow;
use crate::rows::Rows;
use crate::string_dictionary::StringDictionary;

/// Fewer rows are not worth a dictionary. In debug builds they are, so that tests of few rows meet codes too.
const ROWS_MIN: usize = if cfg!(debug_assertions) { 8 } else { 4096 };

/// There are so many rows of a value at least, on average.
const ROWS_PER_VALUE_MIN: usize = if cfg!(debug_assertions) { 2 } else { 16 };

/// A column with a longer value is not coded: then a morsel's rows can be written out any time.
const VALUE_BYTES_MAX: usize = 256;

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
        Ok(Some(Self { values: StringDictionary::default(), codes, nulls: NullBufferBuilder::new(rows), rows }))
    }

    /// Whether there are more values than all rows should have, or longer ones.
    fn has_many(&self) -> bool {
        self.values.len() > VALUES_MAX.min(self.rows / ROWS_PER_VALUE_MIN) || self.values.longest() > VALUE_BYTES_MAX
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
    pub fn finish(mut self) -> Result<Coded> {
        // Where values were many, the last batch was left in its middle: its rows that are there are those of the others.
        let nulls = self.nulls.finish().map(|nulls| nulls.slice(0, self.codes.len()));
        let codes = UInt32Array::try_new(self.codes.into(), nulls)?;
        let codes = DictionaryArray::try_new(codes, Arc::new(self.values.finish()))?;
        Coded::of(codes).ok_or_else(|| Error::logical("a value that is NULL"))
    }
}
