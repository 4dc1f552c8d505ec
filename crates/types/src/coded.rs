//! Strings of which few are different: each row is the code of one of them ([`Coder`](crate::Coder) makes them). A column of such rows
//! ([`Column::coded`]) costs four bytes a row, and work for each value where others cost it for each row; whoever asks for an array of all
//! rows gets one that is made then, once.
//!
//! [`Column::coded`]: crate::Column::coded

use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, DictionaryArray, UInt32Array};
use arrow_buffer::{NullBuffer, OffsetBuffer};

use crate::error::Result;
use crate::kernels;
use crate::prefetch::prefetch;
use crate::rows::Rows;
use crate::shared_strings::SharedStrings;

/// More values are not few, where columns of tables are coded: a dictionary stays in the cache of a core. In debug builds there may be less, so
/// that tests meet dictionaries of many.
pub(crate) const VALUES_MAX: usize = if cfg!(debug_assertions) { 1 << 8 } else { 1 << 14 };

/// Rows between two of the ends of strings that slices know.
const ENDS_EVERY: usize = if cfg!(debug_assertions) { 64 } else { 1024 };

/// Of many values there may be so many for each row: what is done for values is kept for other rows, of which there are more in other blocks.
const MANY_PER_ROW_MAX: usize = if cfg!(debug_assertions) { 8 } else { 64 };

/// Rows that take more when they are written out are so at once, where that can be refused.
const WHOLE_BYTES_MAX: usize = 16 << 20;

/// Rows that are codes of values. Cheap to clone and to slice. A row may be NULL, a value may not.
#[derive(Clone, Debug)]
pub struct Coded {
    codes: DictionaryArray<UInt32Type>,
    lengths: Lengths,
    /// Whether other rows are of the same values, so that there may be more of them.
    are_shared: bool,
    /// Which values stand for NULL, where a row is NULL for no other reason.
    null_values: Option<Arc<NullBuffer>>,
    /// Bytes of the strings before every so many rows of what these rows are cut from, and which of its rows is the first.
    string_ends: Option<(Arc<[usize]>, usize)>,
    asked: Arc<Asked>,
}

/// Bytes of the shortest and of the longest value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    shortest: usize,
    longest: usize,
}

impl Lengths {
    /// Those of an array.
    pub(crate) fn of(strings: &BinaryArray) -> Self {
        let lengths = strings.value_offsets().windows(2).map(|ends| (ends[1] - ends[0]) as usize);
        let (shortest, longest) =
            lengths.fold((usize::MAX, 0), |(low, high), length| (low.min(length), high.max(length)));
        Self { shortest, longest }
    }
}

/// What is known of rows once somebody asked.
#[derive(Debug, Default)]
struct Asked {
    /// All rows.
    whole: OnceLock<ArrayRef>,
    /// Bytes of their strings.
    string_bytes: OnceLock<usize>,
}

impl Coded {
    /// Rows of a dictionary of strings; `None` where a value is NULL or no string.
    pub(crate) fn of(codes: DictionaryArray<UInt32Type>) -> Option<Self> {
        let values = codes.values().as_binary_opt::<i32>().filter(|values| values.null_count() == 0)?;
        let lengths = Lengths::of(values);
        Some(Self { codes, lengths, are_shared: false, null_values: None, string_ends: None, asked: Arc::default() })
    }

    /// Rows of a dictionary with such values that other rows have, too, as codes where that is worth it. `null_values` says which values stand
    /// for NULL, where rows are NULL for no other reason.
    ///
    /// # Errors
    /// As those of [`to_array`](Self::to_array).
    pub(crate) fn of_shared(
        codes: DictionaryArray<UInt32Type>,
        lengths: Lengths,
        null_values: Option<Arc<NullBuffer>>,
    ) -> Result<Rows> {
        Self { codes, lengths, are_shared: true, null_values, string_ends: None, asked: Arc::default() }.held()
    }

    /// The rows of a dictionary, as codes where that is worth it; `None` where a value is NULL or no string.
    ///
    /// # Errors
    /// As those of [`to_array`](Self::to_array).
    pub fn rows_of(codes: DictionaryArray<UInt32Type>) -> Result<Option<Rows>> {
        Self::of(codes).map(Self::held).transpose()
    }

    /// The rows of a dictionary where it is worth it that they are codes.
    pub fn new(codes: DictionaryArray<UInt32Type>) -> Option<Self> {
        Self::of(codes).filter(Self::is_worth_it)
    }

    /// The rows of an array at these positions, where each of its values is there several times on average: the positions are their codes, and
    /// no string is copied. `None` where an array is better made.
    ///
    /// # Errors
    /// As those of [`to_array`](Self::to_array).
    pub fn of_repeated(array: &ArrayRef, positions: &UInt32Array) -> Result<Option<Rows>> {
        /// A string is there so often on average.
        const TIMES_MIN: usize = 3;
        if array.len() * TIMES_MIN > positions.len() || positions.null_count() > 0 {
            return Ok(None);
        }
        SharedStrings::of(array).map(|strings| strings.take(positions)).transpose()
    }

    /// Whether the values are more than stay in the cache of a core: what is done for each of them should be done once for all rows that have
    /// them, and for none that no row has.
    pub fn has_many_values(&self) -> bool {
        self.values().len() > VALUES_MAX
    }

    /// Whether there are not too few rows for the values, for each of which something may be done, and they can be written out any time.
    fn is_worth_it(&self) -> bool {
        let values_max = if self.has_many_values() { MANY_PER_ROW_MAX * self.rows() } else { self.rows() };
        (self.are_shared || self.values().len() <= values_max)
            && (self.lengths.longest.saturating_mul(self.rows()) <= WHOLE_BYTES_MAX
                || self.string_bytes() <= WHOLE_BYTES_MAX)
    }

    /// As codes where that is worth it, or written out.
    fn held(self) -> Result<Rows> {
        if self.is_worth_it() { Ok(Rows::Coded(self)) } else { self.to_array().map(Rows::Whole) }
    }

    fn with_codes(&self, codes: DictionaryArray<UInt32Type>) -> Self {
        Self { codes, string_ends: None, asked: Arc::default(), ..self.clone() }
    }

    /// The same rows, ready to be cut into slices that know the bytes of their strings.
    #[must_use]
    pub(crate) fn with_string_ends(mut self) -> Self {
        let mut ends = Vec::with_capacity(self.rows() / ENDS_EVERY + 2);
        ends.push(0);
        for first in (0..self.rows()).step_by(ENDS_EVERY) {
            let rows = ENDS_EVERY.min(self.rows() - first);
            ends.push(ends.last().copied().unwrap_or(0) + self.count_string_bytes(first, rows));
        }
        self.string_ends = Some((ends.into(), 0));
        self
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.codes.len()
    }

    /// The code of each row, NULL where the row is.
    pub fn codes(&self) -> &UInt32Array {
        self.codes.keys()
    }

    /// The values by their codes; some may be of no row.
    pub fn values(&self) -> &ArrayRef {
        self.codes.values()
    }

    /// Codes and values.
    pub fn dictionary(&self) -> &DictionaryArray<UInt32Type> {
        &self.codes
    }

    /// Which rows are NULL.
    pub fn nulls(&self) -> Option<&NullBuffer> {
        self.codes.keys().nulls().filter(|nulls| nulls.null_count() > 0)
    }

    /// Which values stand for NULL, where a row is NULL if its value is one of these and for no other reason.
    pub fn null_values(&self) -> Option<&NullBuffer> {
        self.null_values.as_deref()
    }

    /// The same rows with other NULLs; what was NULL before is the empty string.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` where there are not as many, `MEMORY_LIMIT_EXCEEDED`.
    pub fn with_nulls(&self, nulls: Option<NullBuffer>) -> Result<Self> {
        let (codes, values) = match self.nulls() {
            None => (self.codes().values().clone(), self.values().clone()),
            Some(_) => {
                let (empty, values) = self.values_with_empty()?;
                (self.codes().iter().map(|code| code.unwrap_or(empty)).collect(), values)
            }
        };
        let mut rows = self.with_codes(DictionaryArray::try_new(UInt32Array::try_new(codes, nulls)?, values)?);
        if self.nulls().is_some() {
            rows.lengths.shortest = 0;
        }
        rows.null_values = None;
        Ok(rows)
    }

    /// The rows, written out where more of them than this share are NULL or the empty string: these are better held sparse.
    ///
    /// # Errors
    /// As those of [`to_array`](Self::to_array).
    pub fn unless_mostly_empty(&self, ratio_of_defaults: f64) -> Result<Rows> {
        let nulls = self.nulls().map_or(0, NullBuffer::null_count);
        let empty =
            self.empty_code().map_or(0, |empty| self.codes().iter().filter(|code| *code == Some(empty)).count());
        let is_sparse = (nulls + empty) as f64 > ratio_of_defaults * self.rows() as f64;
        if is_sparse { self.to_array().map(Rows::Whole) } else { Ok(Rows::Coded(self.clone().with_string_ends())) }
    }

    /// The code of the empty string, where it is among the values.
    fn empty_code(&self) -> Option<u32> {
        let mut ends = self.strings().value_offsets().windows(2);
        ends.position(|ends| ends[0] == ends[1]).map(|code| code as u32)
    }

    /// The values with the empty string among them, and its code.
    fn values_with_empty(&self) -> Result<(u32, ArrayRef)> {
        if let Some(code) = self.empty_code() {
            return Ok((code, self.values().clone()));
        }
        let empty = BinaryArray::from_iter_values([b""]);
        Ok((self.values().len() as u32, kernels::concat(&[self.values(), &empty])?))
    }

    /// Rows `offset..offset + rows`, without copying.
    #[must_use]
    pub fn slice(&self, offset: usize, rows: usize) -> Self {
        let mut slice = self.with_codes(self.codes.slice(offset, rows));
        slice.string_ends = self.string_ends.as_ref().map(|(ends, first)| (ends.clone(), first + offset));
        slice
    }

    /// The rows whose mask is true; NULL counts as false.
    ///
    /// # Errors
    /// As those of [`to_array`](Self::to_array).
    pub fn filter(&self, mask: &BooleanArray) -> Result<Rows> {
        let codes = kernels::filter(&self.codes, mask)?;
        self.with_codes(codes.as_dictionary::<UInt32Type>().clone()).held()
    }

    /// The rows at these positions, NULL at those that are NULL.
    ///
    /// # Errors
    /// As those of [`to_array`](Self::to_array).
    pub fn take(&self, positions: &UInt32Array) -> Result<Rows> {
        let codes = kernels::take(&self.codes, positions)?;
        let mut taken = self.with_codes(codes.as_dictionary::<UInt32Type>().clone());
        taken.null_values = taken.null_values.filter(|_| positions.null_count() == 0);
        taken.held()
    }

    /// Rows one after the other, where all have the same values.
    ///
    /// # Errors
    /// As those of [`to_array`](Self::to_array).
    pub fn concat(all: &[&Self]) -> Result<Option<Rows>> {
        let Some((first, others)) = all.split_first() else { return Ok(None) };
        if others.iter().any(|other| !Arc::ptr_eq(other.values(), first.values())) {
            return Ok(None);
        }
        let codes: Vec<&dyn Array> = all.iter().map(|coded| coded.codes() as &dyn Array).collect();
        let codes = kernels::concat(&codes)?.as_primitive::<UInt32Type>().clone();
        let mut rows = first.with_codes(DictionaryArray::try_new(codes, first.values().clone())?);
        // The others may be NULL for other reasons.
        rows.null_values = None;
        rows.held().map(Some)
    }

    /// All rows; kept, so that it is made once.
    pub fn whole(&self) -> &ArrayRef {
        self.asked.whole.get_or_init(|| self.write_out())
    }

    /// All rows, reserved before they are made.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`.
    pub fn to_array(&self) -> Result<ArrayRef> {
        if let Some(whole) = self.asked.whole.get() {
            return Ok(whole.clone());
        }
        kernels::reserve_strings(self.string_bytes(), self.rows())?;
        Ok(self.whole().clone())
    }

    /// Bytes of the strings of all rows.
    pub fn string_bytes(&self) -> usize {
        let count = || {
            let Some((ends, first)) = &self.string_ends else { return self.count_string_bytes(0, self.rows()) };
            // Whole stretches are known, and what there is before and behind them is counted.
            let (from, to) = (first.div_ceil(ENDS_EVERY), (first + self.rows()) / ENDS_EVERY);
            let Some((low, high)) = ends.get(from).zip(ends.get(to)).filter(|_| from < to) else {
                return self.count_string_bytes(0, self.rows());
            };
            let (before, behind) = (from * ENDS_EVERY - first, to * ENDS_EVERY - first);
            high - low + self.count_string_bytes(0, before) + self.count_string_bytes(behind, self.rows() - behind)
        };
        *self.asked.string_bytes.get_or_init(count)
    }

    /// Bytes of the strings of some rows.
    fn count_string_bytes(&self, first: usize, rows: usize) -> usize {
        let offsets = self.strings().value_offsets();
        let length = |code: u32| (offsets[code as usize + 1] - offsets[code as usize]) as usize;
        match self.nulls() {
            None if self.lengths.shortest == self.lengths.longest => rows * self.lengths.longest,
            None => self.codes().values()[first..first + rows].iter().map(|code| length(*code)).sum(),
            Some(_) => self.codes().slice(first, rows).iter().flatten().map(length).sum(),
        }
    }

    fn strings(&self) -> &BinaryArray {
        self.values().as_binary::<i32>()
    }

    fn write_out(&self) -> ArrayRef {
        /// Values of so many bytes are copied by as many at once.
        const SHORT: usize = 16;
        /// Rows between one that is copied and one whose value is fetched.
        const AHEAD: usize = 12;
        const CACHE_LINE: usize = 64;
        let (strings, codes, nulls) = (self.strings(), self.codes().values(), self.nulls().cloned());
        let ends = strings.value_offsets();
        let mut offsets = Vec::with_capacity(codes.len() + 1);
        let mut end = 0_i32;
        offsets.push(end);
        for (row, code) in codes.iter().enumerate() {
            if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
                end += ends[*code as usize + 1] - ends[*code as usize];
            }
            offsets.push(end);
        }
        let bytes = if self.lengths.longest <= SHORT && strings.len() <= codes.len() {
            let mut bytes = vec![0; end as usize + SHORT];
            let padded: Vec<[u8; SHORT]> = (0..strings.len())
                .map(|code| {
                    let mut padded = [0; SHORT];
                    let value = strings.value(code);
                    padded[..value.len()].copy_from_slice(value);
                    padded
                })
                .collect();
            // A row writes beyond its end, and the next one over that. What a NULL has is no byte long.
            for (code, start) in codes.iter().zip(&offsets) {
                if let Some((value, place)) =
                    padded.get(*code as usize).zip(bytes[*start as usize..].first_chunk_mut::<SHORT>())
                {
                    *place = *value;
                }
            }
            bytes.truncate(end as usize);
            bytes
        } else {
            let (data, mut bytes) = (strings.value_data(), Vec::with_capacity(end as usize));
            for (row, code) in codes.iter().enumerate() {
                // Of many values, the next ones are not in the cache.
                let ahead = codes.get(row + AHEAD).and_then(|code| ends.get(*code as usize));
                if let Some(start) = ahead {
                    prefetch(data, *start as usize);
                    prefetch(data, *start as usize + CACHE_LINE);
                }
                if offsets[row] < offsets[row + 1] {
                    bytes.extend_from_slice(&data[ends[*code as usize] as usize..ends[*code as usize + 1] as usize]);
                }
            }
            bytes
        };
        Arc::new(BinaryArray::new(OffsetBuffer::new(offsets.into()), bytes.into(), nulls))
    }

    /// Bytes held in memory, shared buffers counted in full.
    pub fn memory_bytes(&self) -> usize {
        let whole = self.asked.whole.get().map_or(0, |whole| whole.get_array_memory_size());
        whole + self.codes.get_array_memory_size()
    }
}
