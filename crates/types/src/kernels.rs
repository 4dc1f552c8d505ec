//! Rows of arrays copied: taken by position, filtered, put one after the other. Arrow does it; what comes out is reserved before, and
//! what Arrow's 32-bit offsets cannot hold is refused before.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray, UInt32Array};
use arrow_schema::DataType as Arrow;

use crate::checkpoint::checkpoint;
use crate::{Error, ErrorCode, Result, match_primitive, reserve};

/// What rows take.
#[derive(Clone, Copy, Default)]
struct Size {
    bytes: usize,
    /// The longest buffer that 32-bit offsets point into; for tuples at most the sum of those of the elements.
    longest: usize,
}

impl Size {
    fn add(self, other: Self) -> Self {
        Self { bytes: self.bytes.saturating_add(other.bytes), longest: self.longest.saturating_add(other.longest) }
    }

    fn times(self, rows: usize) -> Self {
        Self { bytes: self.bytes.saturating_mul(rows), longest: self.longest.saturating_mul(rows) }
    }

    /// Of these rows of an array.
    fn of(array: &dyn Array, start: usize, end: usize) -> Self {
        if let Some(width) = fixed_width(array.data_type()) {
            return Self { bytes: (end - start) * width, longest: 0 };
        }
        match array.data_type() {
            Arrow::Binary => {
                let offsets = array.as_binary::<i32>().value_offsets();
                let bytes = (offsets[end] - offsets[start]) as usize;
                Self { bytes: bytes + 4 * (end - start), longest: bytes }
            }
            Arrow::List(_) => {
                let list = array.as_list::<i32>();
                let (first, last) = (list.value_offsets()[start] as usize, list.value_offsets()[end] as usize);
                let items = Self::of(&**list.values(), first, last);
                Self { bytes: items.bytes + 4 * (end - start), longest: items.longest.max(last - first) }
            }
            Arrow::Struct(_) => {
                let columns = array.as_struct().columns().iter();
                columns.fold(Self::default(), |size, column| size.add(Self::of(&**column, start, end)))
            }
            _ => Self::default(),
        }
    }

    /// Of single rows, each by array and row.
    fn of_rows(arrays: &[&dyn Array], rows: impl Iterator<Item = (usize, usize)>) -> Self {
        let offsets = arrays.iter().map(|array| Some(array.as_binary_opt::<i32>()?.value_offsets()));
        let Some(offsets) = offsets.collect::<Option<Vec<&[i32]>>>() else {
            return rows.fold(Self::default(), |size, (array, row)| size.add(Self::of(arrays[array], row, row + 1)));
        };
        let (mut count, mut bytes) = (0, 0);
        for (array, row) in rows {
            bytes += (offsets[array][row + 1] - offsets[array][row]) as usize;
            count += 1;
        }
        Self { bytes: bytes + 4 * count, longest: bytes }
    }

    fn of_all(array: &dyn Array) -> Self {
        Self::of(array, 0, array.len())
    }

    /// Reserves it.
    fn take(self) -> Result<()> {
        if self.longest > i32::MAX as usize {
            let message = "More than 2 GiB of strings or 2^31 items of arrays in one block";
            return Err(Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, message));
        }
        checkpoint(self.bytes / 4)?;
        reserve(self.bytes)
    }
}

/// Reserves so many strings of so many bytes together.
///
/// # Errors
/// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`.
pub(crate) fn reserve_strings(bytes: usize, strings: usize) -> Result<()> {
    Size { bytes: bytes.saturating_add(strings.saturating_mul(4)), longest: bytes }.take()
}

/// Bytes of a row of this type, where all have as many.
fn fixed_width(data_type: &Arrow) -> Option<usize> {
    match data_type {
        Arrow::Null | Arrow::Boolean => Some(0),
        Arrow::FixedSizeBinary(width) => Some(usize::try_from(*width).unwrap_or(0)),
        Arrow::Dictionary(key, _) => key.primitive_width(),
        other => other.primitive_width(),
    }
}

/// More rows than this are copied with checkpoints in between: they are items of long arrays.
const LONG_ROWS: usize = 1 << 20;

/// Rows between two checkpoints, where a row is a number.
const NUMBERS_AT_ONCE: usize = 1 << 14;

/// Rows between two checkpoints, where what is copied then is put together.
const ROWS_AT_ONCE: usize = 1 << 16;

/// The rows at these positions; NULL at those that are NULL.
///
/// # Errors
/// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`.
pub fn take(array: &dyn Array, positions: &UInt32Array) -> Result<ArrayRef> {
    let rows = positions.len();
    if rows > LONG_ROWS {
        if array.null_count() == 0 && positions.null_count() == 0 {
            match_primitive!(array.data_type(), T => {
                let values = array.as_primitive::<T>().values();
                return long::<T, _>(positions.values(), |at| values[*at as usize]);
            }, _ => {});
        }
        return in_pieces(rows, |at, count| take(array, &positions.slice(at, count)));
    }
    let size = match fixed_width(array.data_type()) {
        Some(width) => Size { bytes: width.saturating_mul(rows), longest: 0 },
        None if positions.null_count() > 0 => {
            Size::of_rows(&[array], positions.iter().flatten().map(|at| (0, at as usize)))
        }
        None => Size::of_rows(&[array], positions.values().iter().map(|at| (0, *at as usize))),
    };
    size.take()?;
    Ok(arrow_select::take::take(array, positions, None)?)
}

/// Numbers of many rows, by where each lies.
fn long<T: ArrowPrimitiveType, P>(places: &[P], value: impl Fn(&P) -> T::Native) -> Result<ArrayRef> {
    reserve(places.len().saturating_mul(size_of::<T::Native>()))?;
    let mut taken = Vec::with_capacity(places.len());
    for some in places.chunks(NUMBERS_AT_ONCE) {
        checkpoint(2 * some.len())?;
        taken.extend(some.iter().map(&value));
    }
    Ok(Arc::new(PrimitiveArray::<T>::new(taken.into(), None)))
}

/// Many rows: `copied` from a row on so many at a time, then put together.
fn in_pieces(rows: usize, copied: impl Fn(usize, usize) -> Result<ArrayRef>) -> Result<ArrayRef> {
    let starts = (0..rows).step_by(ROWS_AT_ONCE);
    let pieces = starts.map(|at| copied(at, ROWS_AT_ONCE.min(rows - at))).collect::<Result<Vec<_>>>()?;
    concat(&pieces.iter().map(|piece| &**piece).collect::<Vec<_>>())
}

/// `rows` times the only row of `one`.
///
/// # Errors
/// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`.
pub fn repeat(one: &dyn Array, rows: usize) -> Result<ArrayRef> {
    Size::of_all(one).times(rows).take()?;
    Ok(arrow_select::take::take(one, &UInt32Array::from(vec![0; rows]), None)?)
}

/// The rows whose mask is true.
///
/// # Errors
/// `MEMORY_LIMIT_EXCEEDED`.
pub fn filter(array: &dyn Array, mask: &BooleanArray) -> Result<ArrayRef> {
    // No more than there is; counted where that is much.
    let mut size = Size::of_all(array);
    if size.bytes > 1 << 20 {
        let chosen = mask.values().set_slices();
        size = chosen.fold(Size::default(), |size, (start, end)| size.add(Size::of(array, start, end)));
    }
    size.take()?;
    Ok(arrow_select::filter::filter(array, mask)?)
}

/// Arrays one after the other.
///
/// # Errors
/// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`.
pub fn concat(arrays: &[&dyn Array]) -> Result<ArrayRef> {
    arrays.iter().fold(Size::default(), |size, array| size.add(Size::of_all(*array))).take()?;
    Ok(arrow_select::concat::concat(arrays)?)
}

/// Rows of several arrays, each by array and row.
///
/// # Errors
/// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`.
pub fn interleave(arrays: &[&dyn Array], places: &[(usize, usize)]) -> Result<ArrayRef> {
    if places.len() > LONG_ROWS {
        if let Some(first) = arrays.first()
            && arrays.iter().all(|array| array.null_count() == 0)
        {
            match_primitive!(first.data_type(), T => {
                let values: Vec<&[_]> = arrays.iter().map(|array| &**array.as_primitive::<T>().values()).collect();
                return long::<T, _>(places, |(array, row)| values[*array][*row]);
            }, _ => {});
        }
        return in_pieces(places.len(), |at, count| interleave(arrays, &places[at..at + count]));
    }
    let size = match arrays.first().and_then(|array| fixed_width(array.data_type())) {
        Some(width) => Size { bytes: width.saturating_mul(places.len()), longest: 0 },
        None => Size::of_rows(arrays, places.iter().copied()),
    };
    size.take()?;
    Ok(arrow_select::interleave::interleave(arrays, places)?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::BinaryArray;
    use squall_runtime::MemoryTracker;

    use super::*;

    #[test]
    fn what_is_copied_is_reserved() {
        let large = BinaryArray::from_iter_values([vec![b'x'; 1 << 20], Vec::new()]);
        let tracker = Arc::new(MemoryTracker::query(8 << 20, None));
        let _attached = squall_runtime::memory::attach(tracker);
        let positions = |count: usize| UInt32Array::from(vec![0; count]);
        assert_eq!(take(&large, &positions(4)).unwrap().len(), 4);
        let code = |result: Result<ArrayRef>| result.unwrap_err().code;
        assert_eq!(code(take(&large, &positions(9))), ErrorCode::MEMORY_LIMIT_EXCEEDED);
        assert_eq!(code(take(&large, &positions(2_048))), ErrorCode::TOO_LARGE_STRING_SIZE);
        assert_eq!(code(repeat(&large.slice(0, 1), 9)), ErrorCode::MEMORY_LIMIT_EXCEEDED);
        assert_eq!(repeat(&large.slice(1, 1), 9).unwrap().len(), 9);
        assert_eq!(code(concat(&[&large as &dyn Array; 9])), ErrorCode::MEMORY_LIMIT_EXCEEDED);
        assert_eq!(code(interleave(&[&large], &[(0, 0); 9])), ErrorCode::MEMORY_LIMIT_EXCEEDED);
        let mask = BooleanArray::from(vec![true, false]);
        assert_eq!(filter(&large, &mask).unwrap().len(), 1);
    }

    #[test]
    fn many_rows_are_copied_as_few_are() {
        let count = LONG_ROWS + 3;
        let numbers = UInt32Array::from_iter_values(0..1000);
        let some_null = UInt32Array::from_iter((0..1000).map(|at| (at % 7 > 0).then_some(at)));
        let strings = BinaryArray::from_iter_values((0..1000).map(|at| at.to_string()));
        let positions = UInt32Array::from_iter_values((0..count).map(|at| (at * 17 % 1000) as u32));
        let arrays: [&dyn Array; 3] = [&numbers, &some_null, &strings];
        for array in arrays {
            let taken = take(array, &positions).unwrap();
            assert_eq!(&taken, &arrow_select::take::take(array, &positions, None).unwrap());
            let reversed = take(array, &UInt32Array::from_iter_values((0..1000).rev())).unwrap();
            let places: Vec<_> = (0..count).map(|at| (at % 2, at * 13 % 1000)).collect();
            let interleaved = interleave(&[array, &*reversed], &places).unwrap();
            assert_eq!(&interleaved, &arrow_select::interleave::interleave(&[array, &*reversed], &places).unwrap());
        }
    }
}
