//! Arrays of arrays and arrays beside each other: enumerations by rank, lengths in depth, arrays of unequal lengths zipped; and searches
//! in sorted arrays.

use std::sync::Arc;

use arrow_array::types::{UInt32Type, UInt64Type};
use squall_types::cast::{CastMode, CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint, least_supertype};

use super::{Lists, Positions, item_type, list_column, take_or_default};
use crate::function::BoundFunction;
use crate::scalar::order::{ItemOrder, row_order};
use crate::scalar::set::item_numbers;
use crate::scalar::simple::{Call, argument, integers};
use crate::scalar::tuple::from_elements;

type Bound = Result<Arc<dyn BoundFunction>>;

/// `arrayFlattenedLength(array)`: the items of arrays in arrays, counted.
pub(super) fn flattened_length(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let mut item = item_type(call, 0)?;
    let mut depth = 0;
    while let DataType::Array(inner) = item {
        item = inner;
        depth += 1;
    }
    call.bind(DataType::UInt64, move |arguments, rows| {
        let mut lists = Lists::of(arguments, 0)?;
        let mut ranges: Vec<_> = (0..rows).map(|row| lists.range(row)).collect();
        for _ in 0..depth {
            lists = Lists::of_column(&lists.items)?;
            for range in ranges.iter_mut().filter(|range| range.start < range.end) {
                *range = lists.range(range.start).start..lists.range(range.end - 1).end;
            }
        }
        let lengths = ranges.iter().map(|range| range.len() as u64).collect();
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, lengths))
    })
}

/// `arrayZipUnaligned(a, b, …)`: NULL where an array is shorter than another.
pub(super) fn zip_unaligned(call: &Call<'_>) -> Bound {
    let items = (0..call.arguments.len()).map(|at| item_type(call, at).map(DataType::to_nullable));
    let items = items.collect::<Result<Vec<_>>>()?;
    let item = DataType::tuple(items.iter().cloned());
    let result = DataType::array(item.clone());
    if items.is_empty() {
        return call.bind(result.clone(), move |_, rows| Column::default_values(result.clone(), rows));
    }
    call.bind(result, move |arguments, rows| {
        let lists = arguments.iter().map(Lists::of_column).collect::<Result<Vec<_>>>()?;
        let mut positions: Vec<Vec<Option<u32>>> = vec![Vec::new(); lists.len()];
        let (mut ends, mut count) = (vec![0], 0);
        for row in 0..rows {
            let longest = lists.iter().map(|lists| lists.range(row).len()).max().unwrap_or(0);
            checkpoint(longest)?;
            for (lists, positions) in lists.iter().zip(&mut positions) {
                let range = lists.range(row);
                let missing = longest - range.len();
                positions.extend(range.map(|at| Some(at as u32)).chain(std::iter::repeat_n(None, missing)));
            }
            count += longest;
            ends.push(i32::try_from(count).map_err(|_| Error::logical("too many items"))?);
        }
        let columns = lists.iter().zip(&positions).zip(&items).map(|((lists, positions), data_type)| {
            take_or_default(&cast(&lists.items, data_type, &CastOptions::default())?, positions)
        });
        let tuples = from_elements(&item, &columns.collect::<Result<Vec<_>>>()?, count)?;
        list_column(&item, ends, tuples.to_array()?)
    })
}

/// `indexOfAssumeSorted(array, value)`.
pub(super) fn index_of_sorted(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let common = least_supertype(&[
        item_type(call, 0)?.remove_low_cardinality().clone(),
        call.type_of(1).remove_low_cardinality().clone(),
    ])?;
    let options = CastOptions::new(CastMode::Plain, call.session_zone()?);
    call.bind(DataType::UInt64, move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let items = cast(&lists.items, &common, &options)?;
        let value = cast(argument(arguments, 1)?, &common, &options)?;
        let order = row_order(&items, &value)?;
        let index = |row: usize| {
            let wanted = if value.is_constant() { 0 } else { row };
            let range = lists.range(row);
            let (mut low, mut high) = (range.start, range.end);
            while low < high {
                let middle = low.midpoint(high);
                if order(middle, wanted).is_lt() { low = middle + 1 } else { high = middle }
            }
            if low < range.end && order(low, wanted).is_eq() { (low - range.start) as u64 + 1 } else { 0 }
        };
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, (0..rows).map(index).collect()))
    })
}

/// `arrayTopK(k, array)`, `arrayBottomK(k, array)`: the greatest or least items in order, without NULL.
pub(super) fn extremes(call: &Call<'_>, are_greatest: bool) -> Bound {
    call.arguments(2..=2)?;
    call.integers([0])?;
    let item = item_type(call, 1)?;
    let result = DataType::array(item.remove_nullable());
    call.bind(result.clone(), move |arguments, rows| {
        let lists = Lists::of(arguments, 1)?;
        let counts = integers(arguments, 0, rows)?;
        let order = ItemOrder::new(&lists.items, are_greatest)?;
        let nulls = lists.items.nulls().cloned();
        let mut positions = Positions::new(rows);
        for (row, count) in counts.into_iter().enumerate() {
            let mut items: Vec<u32> = lists.range(row).map(|at| at as u32).collect();
            items.retain(|at| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*at as usize)));
            order.sort(&mut items)?;
            items.truncate(usize::try_from(count).unwrap_or(0));
            positions.extend(items.into_iter().map(|at| at as usize))?;
            positions.end_row()?;
        }
        cast(&positions.take(&lists.items)?, &result, &CastOptions::default())
    })
}

/// `arrayEnumerateUniqRanked([clear_depth, ]array[, depth])` and `arrayEnumerateDenseRanked`: numbers for the items at a depth, which
/// begin anew with each array at the depth where they are cleared.
pub(super) fn enumerate_ranked(call: &Call<'_>, is_dense: bool) -> Bound {
    call.arguments(1..=3)?;
    let array_at = usize::from(call.type_of(0).is_integer());
    let depth_of = |at: usize| call.constant(at).and_then(|value| value.as_u64()).map(|depth| depth as usize);
    let mut levels = 0;
    let mut inner = call.type_of(array_at);
    while let DataType::Array(item) = inner {
        levels += 1;
        inner = item;
    }
    let cleared = if array_at == 1 { depth_of(0) } else { Some(1) };
    let depth = if call.arguments.len() > array_at + 1 { depth_of(array_at + 1) } else { Some(levels) };
    let (Some(cleared), Some(depth)) = (cleared, depth) else {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Depths of function {} must be constant positive integers", call.name),
        ));
    };
    if levels == 0 {
        return Err(call.illegal(array_at));
    }
    if cleared == 0 || depth == 0 || depth > levels || cleared > depth {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Incorrect arguments of function {}: depths must be from 1 to {levels}", call.name),
        ));
    }
    let text = call.text_options()?;
    let mut result = DataType::UInt32;
    (0..depth).for_each(|_| result = DataType::array(result.clone()));
    call.bind(result, move |arguments, rows| {
        let column = argument(arguments, array_at)?.materialize()?;
        let mut lists = vec![Lists::of_column(&column)?];
        while lists.len() < depth {
            let next = lists.last().map(|lists| Lists::of_column(&lists.items));
            lists.extend(next.transpose()?);
        }
        let Some(deepest) = lists.last() else { return Err(Error::logical("no arrays")) };
        let (numbers, count) = item_numbers(&deepest.items, &text)?;
        // Ranges of the deepest items that are numbered together.
        let mut ranges: Vec<_> = (0..rows).map(|row| row..row + 1).collect();
        for (level, lists) in lists.iter().enumerate() {
            if level > 0 && level < cleared {
                ranges = ranges.into_iter().flatten().map(|at| at..at + 1).collect();
            }
            for range in ranges.iter_mut().filter(|range| range.start < range.end) {
                *range = lists.range(range.start).start..lists.range(range.end - 1).end;
            }
        }
        let mut known = vec![(0usize, 0u32); count];
        let mut values = vec![0u32; numbers.len()];
        for (at, range) in ranges.into_iter().enumerate() {
            checkpoint(range.len())?;
            let mut distinct = 0;
            for item in range {
                let known = &mut known[numbers[item] as usize];
                if known.0 != at + 1 {
                    distinct += 1;
                    *known = (at + 1, if is_dense { distinct } else { 0 });
                }
                known.1 += u32::from(!is_dense);
                values[item] = known.1;
            }
        }
        let mut items = Column::from_primitive::<UInt32Type>(DataType::UInt32, values);
        for (level, lists) in lists.iter().enumerate().rev() {
            let count = if level == 0 { rows } else { lists.len() };
            let ends = std::iter::once(0).chain((0..count).map(|at| lists.range(at).end as i32)).collect();
            items = list_column(&items.data_type().clone(), ends, items.array().clone())?;
        }
        Ok(items)
    })
}
