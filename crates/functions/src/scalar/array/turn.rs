//! Arrays whose items move: rotated, shifted, shuffled, cut into overlapping pieces, transposed.

use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint, default_value};

use super::{Lists, Positions, item_type, list_column};
use crate::function::BoundFunction;
use crate::scalar::random::Generator;
use crate::scalar::simple::{Call, argument, integers};

type Bound = Result<Arc<dyn BoundFunction>>;

/// Positions of a rotation by so many to the left.
fn rotated(length: usize, by: i64) -> usize {
    if length == 0 { 0 } else { by.rem_euclid(length as i64) as usize }
}

/// `arrayRotateLeft(array, n)`, `arrayRotateRight(array, n)`.
pub(super) fn rotate(call: &Call<'_>, to_left: bool) -> Bound {
    call.arguments(2..=2)?;
    item_type(call, 0)?;
    call.integers([1])?;
    call.bind(call.type_of(0).clone(), move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let steps = integers(arguments, 1, rows)?;
        let mut positions = Positions::new(rows);
        for (row, by) in steps.into_iter().enumerate() {
            let range = lists.range(row);
            let middle = range.start + rotated(range.len(), if to_left { by } else { by.wrapping_neg() });
            positions.extend(middle..range.end)?;
            positions.extend(range.start..middle)?;
            positions.end_row()?;
        }
        positions.take(&lists.items)
    })
}

/// `arrayShiftLeft(array, n[, default])`, `arrayShiftRight(array, n[, default])`.
pub(super) fn shift(call: &Call<'_>, to_left: bool) -> Bound {
    call.arguments(2..=3)?;
    let item = item_type(call, 0)?.clone();
    call.integers([1])?;
    let filler_type = call.arguments.get(2).map(|argument| &argument.data_type);
    if let Some(other) = filler_type
        && other.remove_nullable() != item.remove_nullable()
    {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Illegal type {other} of argument of function {}, expected {item}", call.name),
        ));
    }
    call.bind(call.type_of(0).clone(), move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let steps = integers(arguments, 1, rows)?;
        let filler = match arguments.get(2) {
            Some(filler) => squall_types::cast(filler, &item, &Default::default())?.materialize()?,
            None => Column::constant(item.clone(), &default_value(&item), 1)?.materialize()?,
        };
        let first_filler = lists.items.rows();
        let all = Column::concat(&[lists.items.clone(), filler.clone()])?;
        let mut positions = Positions::new(rows);
        for (row, by) in steps.into_iter().enumerate() {
            let range = lists.range(row);
            let by = if to_left { by } else { by.wrapping_neg() };
            let gap = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX).min(range.len());
            let filled = std::iter::repeat_n(first_filler + if filler.rows() == 1 { 0 } else { row }, gap);
            if by >= 0 {
                positions.extend(range.start + gap..range.end)?;
                positions.extend(filled)?;
            } else {
                positions.extend(filled)?;
                positions.extend(range.start..range.end - gap)?;
            }
            positions.end_row()?;
        }
        positions.take(&all)
    })
}

/// `arrayShuffle(array[, seed])`, `arrayPartialShuffle(array[, limit[, seed]])`: a random order of all items, or at the front as many
/// random items as the limit says.
pub(super) fn shuffle(call: &Call<'_>, is_partial: bool) -> Bound {
    call.arguments(1..=if is_partial { 3 } else { 2 })?;
    item_type(call, 0)?;
    call.integers(1..call.arguments.len())?;
    let start_at = if is_partial { 2 } else { 1 };
    let start = call.constant(start_at).and_then(|value| value.as_u64());
    call.bind(call.type_of(0).clone(), move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let limits = if is_partial && arguments.len() > 1 { Some(integers(arguments, 1, rows)?) } else { None };
        let mut generator = start.map_or_else(Generator::of_thread, Generator::from_number);
        let mut positions = Positions::new(rows);
        for row in 0..rows {
            let from = positions.items.len();
            positions.extend(lists.range(row))?;
            let items = positions.items.get_mut(from..).unwrap_or_default();
            let limit = limits.as_ref().and_then(|limits| usize::try_from(limits[row]).ok()).unwrap_or(0);
            let count = if limit == 0 { items.len() } else { limit.min(items.len()) };
            for at in 0..count {
                let other = at + generator.below((items.len() - at) as u64) as usize;
                items.swap(at, other);
            }
            positions.end_row()?;
        }
        positions.take(&lists.items)
    })
}

/// `arrayRandomSample(array, count)`.
pub(super) fn sample(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    item_type(call, 0)?;
    call.integers([1])?;
    call.bind(call.type_of(0).clone(), move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let counts = integers(arguments, 1, rows)?;
        let mut generator = Generator::of_thread();
        let mut positions = Positions::new(rows);
        for (row, count) in counts.into_iter().enumerate() {
            let range = lists.range(row);
            let wanted = usize::try_from(count).unwrap_or(0).min(range.len());
            // Each item is taken with the chance that is left: the sample keeps the array's order.
            let (mut left, mut missing) = (range.len(), wanted);
            for at in range {
                if (generator.below(left as u64) as usize) < missing {
                    positions.extend(std::iter::once(at))?;
                    missing -= 1;
                }
                left -= 1;
            }
            positions.end_row()?;
        }
        positions.take(&lists.items)
    })
}

/// `arrayShingles(array, length)`: every run of so many items.
pub(super) fn shingles(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    item_type(call, 0)?;
    call.integers([1])?;
    let inner = call.type_of(0).clone();
    let name = call.name;
    call.bind(DataType::array(inner.clone()), move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let lengths = integers(arguments, 1, rows)?;
        let (mut ends, mut pieces, mut count) = (vec![0], Positions::new(rows), 0);
        for (row, length) in lengths.into_iter().enumerate() {
            let range = lists.range(row);
            let refused = |why: &str| {
                Error::new(ErrorCode::BAD_ARGUMENTS, format!("Shingle argument of function {name} must {why}"))
            };
            let length = usize::try_from(length).ok().filter(|length| *length > 0);
            let length = length.ok_or_else(|| refused("be a positive integer"))?;
            if length > range.len() {
                return Err(refused("less or equal than the array length"));
            }
            for start in range.start..=range.end - length {
                pieces.extend(start..start + length)?;
                pieces.end_row()?;
                count += 1;
            }
            ends.push(count);
        }
        let pieces = pieces.take(&lists.items)?;
        list_column(&inner, ends, pieces.array().clone())
    })
}

/// `arrayTranspose(array of arrays)`.
pub(super) fn transpose(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let inner = item_type(call, 0)?.clone();
    if !matches!(inner, DataType::Array(_)) {
        return Err(call.illegal(0));
    }
    let name = call.name;
    call.bind(call.type_of(0).clone(), move |arguments, rows| {
        let outer = Lists::of(arguments, 0)?;
        let lists = Lists::of_column(&outer.items)?;
        let (mut ends, mut pieces, mut count) = (vec![0], Positions::new(rows), 0);
        for row in 0..rows {
            let range = outer.range(row);
            let width = if range.is_empty() { 0 } else { lists.range(range.start).len() };
            if let Some(other) = range.clone().map(|at| lists.range(at).len()).find(|length| *length != width) {
                return Err(Error::new(
                    ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                    format!(
                        "All inner arrays in argument of function {name} must have equal sizes, but row {row} has \
                         inner arrays of size {width} and {other}"
                    ),
                ));
            }
            for column in 0..width {
                pieces.extend(range.clone().map(|at| lists.range(at).start + column))?;
                pieces.end_row()?;
                count += 1;
            }
            ends.push(count);
        }
        let pieces = pieces.take(&lists.items)?;
        list_column(&inner, ends, pieces.array().clone())
    })
}

/// `replicate(value, array[, …])`: the value once for each item of the first array.
pub(super) fn replicate(call: &Call<'_>) -> Bound {
    call.arguments(2..=usize::MAX)?;
    (1..call.arguments.len()).try_for_each(|at| item_type(call, at).map(|_| ()))?;
    let item = call.type_of(0).clone();
    call.bind(DataType::array(item.clone()), move |arguments, rows| {
        let lists = Lists::of(arguments, 1)?;
        let value = argument(arguments, 0)?;
        let mut positions = Positions::new(rows);
        for row in 0..rows {
            let count = lists.range(row).len();
            checkpoint(count)?;
            positions.extend(std::iter::repeat_n(if value.is_constant() { 0 } else { row }, count))?;
            positions.end_row()?;
        }
        positions.take(&Column::new(item.clone(), value.array().clone()))
    })
}
