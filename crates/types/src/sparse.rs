//! Rows most of which have one value: where the others are, and what they are. A column of such rows ([`Column::sparse`]) costs memory and
//! work for the few; whoever asks for an array of all rows gets one that is made then, once.
//!
//! [`Column::sparse`]: crate::Column::sparse

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, FixedSizeBinaryArray, PrimitiveArray, UInt32Array,
    new_empty_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType as ArrowType;

use crate::checkpoint::checkpoint;
use crate::error::{Error, Result};
use crate::{grow, kernels, match_primitive, reserve};

/// Rows that are `default` but at some positions. Cheap to clone and to slice. Holds numbers, strings and bytes of a fixed width without
/// NULLs; a row that is listed may have the default too.
#[derive(Clone, Debug)]
pub struct Sparse {
    /// Ascending; each is `first` more than its row.
    positions: ScalarBuffer<u32>,
    first: u32,
    /// One for each position.
    values: ArrayRef,
    /// One row. Empty where rows are strings.
    default: ArrayRef,
    rows: usize,
    /// All rows, once somebody asked.
    whole: Arc<OnceLock<ArrayRef>>,
}

impl Sparse {
    /// `rows` rows: the values at these ascending positions, and the only row of `default` elsewhere. `None` where rows of this layout are
    /// not kept so.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` for positions that are not ascending, or not of `rows` rows, or not as many as values.
    pub fn new(positions: Vec<u32>, values: ArrayRef, default: ArrayRef, rows: usize) -> Result<Option<Self>> {
        let is_ascending = positions.windows(2).all(|pair| pair[0] < pair[1]);
        if !is_ascending
            || positions.len() != values.len()
            || positions.last().is_some_and(|last| *last as usize >= rows)
        {
            return Err(Error::logical("positions of sparse rows that are none"));
        }
        Ok(Self::trusted(positions.into(), 0, values, default, rows))
    }

    /// The same of positions that are known to be right.
    fn trusted(
        positions: ScalarBuffer<u32>,
        first: u32,
        values: ArrayRef,
        default: ArrayRef,
        rows: usize,
    ) -> Option<Self> {
        let is_plain = |array: &ArrayRef| array.logical_null_count() == 0;
        let can_hold = default.len() == 1
            && values.data_type() == default.data_type()
            && is_plain(&values)
            && is_plain(&default)
            && match default.data_type() {
                ArrowType::Binary => default.as_binary::<i32>().value(0).is_empty(),
                ArrowType::FixedSizeBinary(_) => true,
                other => match_primitive!(other, _T => true, _ => false),
            };
        can_hold.then(|| Self { positions, first, values, default, rows, whole: Arc::default() })
    }

    /// An array whose zeros and empty strings are left out, where their share is above `ratio`. None is at a ratio of 1.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub fn of_mostly_zeros(array: &ArrayRef, ratio: f64) -> Result<Option<Self>> {
        let rows = array.len();
        if ratio >= 1.0 || rows == 0 || array.null_count() > 0 || u32::try_from(rows).is_err() {
            return Ok(None);
        }
        let is_enough = |zeros: usize| zeros as f64 / rows as f64 > ratio && zeros > 0;
        let Some(positions) = nonzero_positions(array, is_enough)? else { return Ok(None) };
        let Some(default) = zero_of(array.data_type())? else { return Ok(None) };
        let positions = UInt32Array::from(positions);
        let values = kernels::take(&**array, &positions)?;
        Ok(Self::trusted(positions.values().clone(), 0, values, default, rows))
    }

    /// `rows` rows: the values at these ascending positions, and zeros or empty strings elsewhere. `None` as in [`new`](Self::new).
    ///
    /// # Errors
    /// As those of [`new`](Self::new).
    pub fn of_nonzeros(positions: Vec<u32>, values: ArrayRef, rows: usize) -> Result<Option<Self>> {
        match zero_of(values.data_type())? {
            Some(zero) => Self::new(positions, values, zero, rows),
            None => Ok(None),
        }
    }

    /// The same rows where none is listed that is zero, as others are.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub fn without_listed_defaults(&self) -> Result<Self> {
        match nonzero_positions(&self.values, |_| true)? {
            Some(kept) if kept.len() < self.values.len() && self.is_default_zero() => {
                let kept = UInt32Array::from(kept);
                let positions = kept.values().iter().map(|at| self.positions[*at as usize]).collect::<Vec<_>>();
                let values = kernels::take(&*self.values, &kept)?;
                Ok(Self { positions: positions.into(), values, ..self.clone() })
            }
            _ => Ok(self.clone()),
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The rows that are listed, ascending.
    pub fn positions(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.positions.iter().map(|position| (position - self.first) as usize)
    }

    /// The value of each listed row.
    pub fn values(&self) -> &ArrayRef {
        &self.values
    }

    /// The one row that all others are.
    pub fn default_row(&self) -> &ArrayRef {
        &self.default
    }

    /// How many rows are not listed.
    pub fn defaults(&self) -> usize {
        self.rows - self.positions.len()
    }

    /// Whether the default is what ClickHouse takes for one in a column: zeros, or the empty string.
    pub fn is_default_zero(&self) -> bool {
        is_zero(&self.default)
    }

    /// Other values in the same places: what a function made of the values and of the default. `None` where these cannot be kept so.
    pub fn with_values(&self, values: ArrayRef, default: ArrayRef) -> Option<Self> {
        if values.len() != self.values.len() {
            return None;
        }
        Self::trusted(self.positions.clone(), self.first, values, default, self.rows)
    }

    /// Where the value of a row is among the listed ones.
    pub fn find(&self, row: usize) -> Option<usize> {
        self.positions.binary_search(&(self.first + row as u32)).ok()
    }

    /// Rows `offset..offset + rows`, without copying.
    #[must_use]
    pub fn slice(&self, offset: usize, rows: usize) -> Self {
        let first = self.first + offset as u32;
        let start = self.positions.partition_point(|position| *position < first);
        let rest = &self.positions[start..];
        let listed = rest.partition_point(|position| ((position - first) as usize) < rows);
        Self {
            positions: self.positions.slice(start, listed),
            first,
            values: self.values.slice(start, listed),
            default: self.default.clone(),
            rows,
            whole: Arc::default(),
        }
    }

    /// The rows whose mask is true; NULL counts as false. `selected` is the number of them.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub fn filter(&self, mask: &BooleanArray, selected: usize) -> Result<Self> {
        let bits = match mask.nulls() {
            Some(nulls) => mask.values() & nulls.inner(),
            None => mask.values().clone(),
        };
        // What asks for other than the default selects what is listed, and nothing else.
        if selected == self.values.len() && self.positions().all(|row| bits.value(row)) {
            let (positions, values) = ((0..selected as u32).collect(), self.values.clone());
            let (first, default) = (0, self.default.clone());
            return Ok(Self { positions, first, values, default, rows: selected, whole: Arc::default() });
        }
        let mut ranks = Ranks::new(&bits);
        let (mut positions, mut kept) = (Vec::new(), Vec::new());
        grow(&mut positions, self.positions.len().min(selected))?;
        grow(&mut kept, self.positions.len().min(selected))?;
        for (at, row) in self.positions().enumerate() {
            if let Some(rank) = ranks.of(row) {
                positions.push(rank);
                kept.push(at as u32);
            }
        }
        let values = match kept.len() == self.values.len() {
            true => self.values.clone(),
            false => kernels::take(&*self.values, &UInt32Array::from(kept))?,
        };
        let (first, default) = (0, self.default.clone());
        Ok(Self { positions: positions.into(), first, values, default, rows: selected, whole: Arc::default() })
    }

    /// The rows at these positions, none of which is NULL, as an array.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`.
    pub fn take(&self, positions: &UInt32Array) -> Result<ArrayRef> {
        /// Looking a row up costs as much as writing so many out.
        const ROWS_PER_SEARCH: usize = 16;
        if self.whole.get().is_some() || positions.len().saturating_mul(ROWS_PER_SEARCH) > self.rows {
            return kernels::take(&*self.to_array()?, positions);
        }
        let place = |row: &u32| self.find(*row as usize).map_or((1, 0), |at| (0, at));
        let places: Vec<(usize, usize)> = positions.values().iter().map(place).collect();
        kernels::interleave(&[&*self.values, &*self.default], &places)
    }

    /// Rows one after the other, where all have one default and are not so many that writing them out would be felt.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`.
    pub fn concat(all: &[&Self]) -> Result<Option<Self>> {
        let Some(first) = all.first() else { return Ok(None) };
        /// More are written out where memory can be refused.
        const ROWS_MAX: usize = 1 << 17;
        let rows = all.iter().map(|sparse| sparse.rows).sum::<usize>();
        if rows > ROWS_MAX || all.iter().any(|sparse| *sparse.default != *first.default) {
            return Ok(None);
        }
        let mut positions = Vec::new();
        grow(&mut positions, all.iter().map(|sparse| sparse.positions.len()).sum())?;
        let mut before = 0;
        for sparse in all {
            positions.extend(sparse.positions().map(|row| (before + row) as u32));
            before += sparse.rows;
        }
        let values: Vec<&dyn Array> = all.iter().map(|sparse| &*sparse.values).collect();
        Ok(Self::trusted(positions.into(), 0, kernels::concat(&values)?, first.default.clone(), rows))
    }

    /// All rows; kept, so that it is made once.
    pub fn whole(&self) -> &ArrayRef {
        self.whole.get_or_init(|| self.write_out())
    }

    /// All rows, reserved before they are made.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub fn to_array(&self) -> Result<ArrayRef> {
        if let Some(whole) = self.whole.get() {
            return Ok(whole.clone());
        }
        let bytes = self.whole_bytes();
        checkpoint(bytes / 4)?;
        reserve(bytes)?;
        Ok(self.whole().clone())
    }

    /// Bytes of the array of all rows.
    fn whole_bytes(&self) -> usize {
        match self.values.data_type() {
            ArrowType::FixedSizeBinary(width) => usize::try_from(*width).unwrap_or(0).saturating_mul(self.rows),
            ArrowType::Binary => {
                let offsets = self.values.as_binary::<i32>().value_offsets();
                (offsets[offsets.len() - 1] - offsets[0]) as usize + 4 * (self.rows + 1)
            }
            other => other.primitive_width().unwrap_or(0) * self.rows,
        }
    }

    fn write_out(&self) -> ArrayRef {
        match_primitive!(self.values.data_type(), T => {
            let mut all = vec![self.default.as_primitive::<T>().value(0); self.rows];
            for (row, value) in self.positions().zip(self.values.as_primitive::<T>().values()) {
                all[row] = *value;
            }
            Arc::new(PrimitiveArray::<T>::new(all.into(), None))
        }, _ => match self.values.data_type() {
            ArrowType::Binary => self.write_out_strings(),
            ArrowType::FixedSizeBinary(width) => self.write_out_bytes(*width),
            // Nothing else is taken in.
            other => new_empty_array(other),
        })
    }

    fn write_out_strings(&self) -> ArrayRef {
        let values = self.values.as_binary::<i32>();
        let own = values.value_offsets();
        let start = own[0];
        let mut offsets = Vec::with_capacity(self.rows + 1);
        for (row, offset) in self.positions().zip(own) {
            offsets.resize(row + 1, offset - start);
        }
        let end = own[own.len() - 1];
        offsets.resize(self.rows + 1, end - start);
        let bytes = values.values().slice_with_length(start as usize, (end - start) as usize);
        Arc::new(BinaryArray::new(OffsetBuffer::new(offsets.into()), bytes, None))
    }

    fn write_out_bytes(&self, width: i32) -> ArrayRef {
        let (values, default) = (self.values.as_fixed_size_binary(), self.default.as_fixed_size_binary().value(0));
        let bytes = default.len();
        let mut all = MutableBuffer::from_len_zeroed(self.rows * bytes);
        if !self.is_default_zero() {
            all.as_slice_mut().chunks_exact_mut(bytes).for_each(|row| row.copy_from_slice(default));
        }
        for (at, row) in self.positions().enumerate() {
            all.as_slice_mut()[row * bytes..][..bytes].copy_from_slice(values.value(at));
        }
        Arc::new(FixedSizeBinaryArray::new(width, all.into(), None))
    }

    /// Bytes held in memory, shared buffers counted in full.
    pub fn memory_bytes(&self) -> usize {
        let whole = self.whole.get().map_or(0, |whole| whole.get_array_memory_size());
        whole + self.positions.inner().capacity() + self.values.get_array_memory_size()
    }

    /// One bit for each row: whether `holds` of its value. `of_values` says it of the listed ones.
    pub fn bits(&self, of_values: &BooleanBuffer, of_default: bool) -> BooleanBuffer {
        let mut bytes = MutableBuffer::new(self.rows.div_ceil(64) * 8);
        bytes.resize(self.rows.div_ceil(64) * 8, if of_default { 0xFF } else { 0 });
        let slots = bytes.as_slice_mut();
        for (row, holds) in self.positions().zip(of_values) {
            if holds != of_default {
                slots[row / 8] ^= 1 << (row % 8);
            }
        }
        BooleanBuffer::new(Buffer::from(bytes), 0, self.rows)
    }
}

/// How many rows before an ascending row a mask lets through.
struct Ranks<'a> {
    words: Box<dyn Iterator<Item = u64> + 'a>,
    word: u64,
    /// The row of the word's first bit.
    start: usize,
    before: u32,
}

impl<'a> Ranks<'a> {
    fn new(bits: &'a BooleanBuffer) -> Self {
        let mut words = Box::new(bits.bit_chunks().iter_padded());
        Self { word: words.next().unwrap_or(0), words, start: 0, before: 0 }
    }

    /// Where a row is among those that are let through; `None` where it is not one of them.
    fn of(&mut self, row: usize) -> Option<u32> {
        while row >= self.start + 64 {
            self.before += self.word.count_ones();
            self.word = self.words.next()?;
            self.start += 64;
        }
        let bit = 1 << (row - self.start);
        (self.word & bit != 0).then(|| self.before + (self.word & (bit - 1)).count_ones())
    }
}

/// The one row of zeros, or the empty string.
fn zero_of(data_type: &ArrowType) -> Result<Option<ArrayRef>> {
    Ok(match_primitive!(data_type, T => {
        let zero = <T as ArrowPrimitiveType>::Native::default();
        Some(Arc::new(PrimitiveArray::<T>::new(vec![zero].into(), None)) as ArrayRef)
    }, _ => match data_type {
        ArrowType::Binary => Some(Arc::new(BinaryArray::from_iter_values([b""]))),
        ArrowType::FixedSizeBinary(width) => {
            let bytes = MutableBuffer::from_len_zeroed(usize::try_from(*width).unwrap_or(0));
            Some(Arc::new(FixedSizeBinaryArray::try_new(*width, bytes.into(), None)?))
        }
        _ => None,
    }))
}

fn is_zero(one: &ArrayRef) -> bool {
    match one.data_type() {
        ArrowType::Binary => one.as_binary::<i32>().value(0).is_empty(),
        ArrowType::FixedSizeBinary(_) => one.as_fixed_size_binary().value(0).iter().all(|byte| *byte == 0),
        other => match_primitive!(other, T => {
            one.as_primitive::<T>().values().inner().as_slice().iter().all(|byte| *byte == 0)
        }, _ => false),
    }
}

/// The rows of an array that are neither zero nor empty, as long as the number of others may be enough.
fn nonzero_positions(array: &ArrayRef, is_enough: impl Fn(usize) -> bool) -> Result<Option<Vec<u32>>> {
    match_primitive!(array.data_type(), T => {
        // By their bytes: the zero with a sign is none.
        let bytes = array.as_primitive::<T>().values().inner().as_slice();
        match size_of::<<T as ArrowPrimitiveType>::Native>() {
            1 => nonzero_of(bytes.as_chunks::<1>().0, |value| *value == [0; 1], is_enough),
            2 => nonzero_of(bytes.as_chunks::<2>().0, |value| *value == [0; 2], is_enough),
            4 => nonzero_of(bytes.as_chunks::<4>().0, |value| *value == [0; 4], is_enough),
            _ => nonzero_of(bytes.as_chunks::<8>().0, |value| *value == [0; 8], is_enough),
        }
    }, _ => match array.data_type() {
        ArrowType::Binary => {
            let offsets = array.as_binary::<i32>().value_offsets();
            nonzero_rows(array.len(), |rows| {
                let pairs = offsets[rows.start..rows.end + 1].windows(2);
                pairs.filter(|pair| pair[0] == pair[1]).count()
            }, |row| offsets[row] == offsets[row + 1], is_enough)
        }
        ArrowType::FixedSizeBinary(_) => {
            let values = array.as_fixed_size_binary();
            let is_zero = |row: usize| values.value(row).iter().all(|byte| *byte == 0);
            nonzero_rows(array.len(), |rows| rows.filter(|row| is_zero(*row)).count(), is_zero, is_enough)
        }
        _ => Ok(None),
    })
}

fn nonzero_of<V>(
    values: &[V],
    is_zero: impl Fn(&V) -> bool + Copy,
    is_enough: impl Fn(usize) -> bool,
) -> Result<Option<Vec<u32>>> {
    let zeros = |rows: Range<usize>| values[rows].iter().filter(|value| is_zero(value)).count();
    nonzero_rows(values.len(), zeros, |row| is_zero(&values[row]), is_enough)
}

/// The rows that are not zero, of which `zeros_in` tells how many are; `None` as soon as too many are not.
fn nonzero_rows(
    rows: usize,
    zeros_in: impl Fn(Range<usize>) -> usize,
    is_zero: impl Fn(usize) -> bool,
    is_enough: impl Fn(usize) -> bool,
) -> Result<Option<Vec<u32>>> {
    /// Rows that are counted before they are looked at.
    const ROWS_AT_ONCE: usize = 256;
    let mut positions = Vec::new();
    for start in (0..rows).step_by(ROWS_AT_ONCE) {
        let some = start..rows.min(start + ROWS_AT_ONCE);
        let listed = some.len() - zeros_in(some.clone());
        if !is_enough(rows - positions.len() - listed) {
            return Ok(None);
        }
        if listed > 0 {
            grow(&mut positions, listed)?;
            positions.extend(some.filter(|row| !is_zero(*row)).map(|row| row as u32));
        }
    }
    Ok(Some(positions))
}
