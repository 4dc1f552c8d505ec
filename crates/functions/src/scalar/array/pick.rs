//! Arrays and items picked out of arrays: by index, as a slice, in another order, without repetitions.

use std::cmp::Ordering;
use std::sync::Arc;

use squall_types::cast::{CastMode, CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use super::{Lists, Positions, extend, item_type, of_null, take_or_default};
use crate::function::BoundFunction;
use crate::scalar::order::{ItemOrder, row_order};
use crate::scalar::set::item_numbers;
use crate::scalar::simple::{Call, argument, integers, is_integer_of_any_width};

type Bound = Result<Arc<dyn BoundFunction>>;

/// `array[index]` and `map[key]`; indices begin at 1, negative ones count from the end.
pub(super) fn element(call: &Call<'_>) -> Bound {
    pick(call, false)
}

/// The same with NULL for what is not there.
pub(super) fn element_or_null(call: &Call<'_>) -> Bound {
    pick(call, true)
}

fn pick(call: &Call<'_>, or_null: bool) -> Bound {
    call.arguments(2..=2)?;
    if let DataType::Map(key, value) = call.type_of(0) {
        return of_map(call, key, value, or_null);
    }
    let item = match call.type_of(0) {
        DataType::Array(item) => item,
        other => {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("First argument for function '{}' must be array, got '{other}' instead", call.name),
            ));
        }
    };
    if !call.type_of(1).is_integer() && *call.type_of(1) != DataType::Bool {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Second argument for function '{}' must be integer, got '{}' instead", call.name, call.type_of(1)),
        ));
    }
    // Of a constant array there is nothing at 0, as there is nothing behind its end.
    if call.constant(1).and_then(Value::as_i64) == Some(0) && call.constant(0).is_none() {
        return Err(Error::new(ErrorCode::ZERO_ARRAY_OR_TUPLE_INDEX, "Array indices are 1-based"));
    }
    let result = if or_null { item.to_nullable() } else { (**item).clone() };
    call.bind(result.clone(), move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let indices = integers(arguments, 1, rows)?;
        let positions: Vec<Option<u32>> = indices
            .iter()
            .enumerate()
            .map(|(row, index)| {
                let range = lists.range(row);
                let distance = usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX);
                match index.cmp(&0) {
                    Ordering::Greater if distance <= range.len() => Some((range.start + distance - 1) as u32),
                    Ordering::Less if distance <= range.len() => Some((range.end - distance) as u32),
                    _ => None,
                }
            })
            .collect();
        finish(&lists.items, &positions, &result)
    })
}

fn finish(items: &Column, positions: &[Option<u32>], result: &DataType) -> Result<Column> {
    let items = if items.data_type() == result { items.clone() } else { cast(items, result, &CastOptions::default())? };
    take_or_default(&items, positions)
}

/// The value of a key of a map, the last one where there are several.
fn of_map(call: &Call<'_>, key: &DataType, value: &DataType, or_null: bool) -> Bound {
    let result = if or_null { value.to_nullable() } else { value.clone() };
    let mut key = key.remove_low_cardinality().clone();
    let mut options = CastOptions::new(CastMode::Plain, call.session_zone()?);
    if key != *call.type_of(1) && key.is_string_or_fixed_string() && call.type_of(1).is_string_or_fixed_string() {
        // Texts of other lengths are compared as they are.
        key = DataType::String;
        options.keeps_padding = true;
    }
    if let Some(wanted) = call.constant(1) {
        // A key of another type must be one of the map's.
        squall_types::cast_value(wanted, call.type_of(1), &key, &options)?;
    }
    call.bind(result.clone(), move |arguments, rows| {
        let entries = Lists::of(arguments, 0)?;
        let parts = crate::scalar::tuple::elements(&entries.items)?;
        let [keys, values] = parts.as_slice() else { return Err(Error::logical("map without entries")) };
        let keys = cast(keys, &key, &options)?;
        let wanted = cast(argument(arguments, 1)?, &key, &options)?;
        let order = row_order(&keys, &wanted)?;
        let positions: Vec<Option<u32>> = (0..rows)
            .map(|row| {
                let wanted_row = if wanted.is_constant() { 0 } else { row };
                entries.range(row).find(|at| order(*at, wanted_row).is_eq()).map(|at| at as u32)
            })
            .collect();
        finish(values, &positions, &result)
    })
}

/// Binds a function whose result has for each row some of the row's items, in some order.
fn bind_positions(
    call: &Call<'_>,
    choose: impl Fn(&Lists, usize, &mut Vec<u32>) -> Result<()> + Send + Sync + 'static,
) -> Bound {
    item_type(call, 0)?;
    call.bind(call.type_of(0).clone(), move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let mut positions = Positions::new(rows);
        for row in 0..rows {
            choose(&lists, row, &mut positions.items)?;
            positions.end_row()?;
        }
        positions.take(&lists.items)
    })
}

pub(super) fn reverse(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    bind_positions(call, |lists, row, chosen| extend(chosen, lists.range(row).rev().map(|at| at as u32)))
}

pub(super) fn pop(call: &Call<'_>, at_back: bool) -> Bound {
    call.arguments(1..=1)?;
    bind_positions(call, move |lists, row, chosen| {
        let mut range = lists.range(row);
        if at_back {
            range.next_back();
        } else {
            range.next();
        }
        extend(chosen, range.map(|at| at as u32))
    })
}

/// `arraySlice(array, offset[, length])`; a negative length leaves so many items at the end.
pub(super) fn slice(call: &Call<'_>) -> Bound {
    call.arguments(2..=3)?;
    if let Some(null) = of_null(call) {
        return null;
    }
    item_type(call, 0)?;
    for at in 1..call.arguments.len() {
        let inner = call.type_of(at).inner();
        if !is_integer_of_any_width(inner) && *inner != DataType::Nothing {
            return Err(call.illegal(at));
        }
    }
    call.bind(call.type_of(0).clone(), |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        // NULL stands for the beginning and for the rest.
        let bounds = |at: usize| -> Result<Vec<Option<i64>>> {
            let Some(column) = arguments.get(at) else { return Ok(vec![None; rows]) };
            if *column.data_type().inner() == DataType::Nothing {
                return Ok(vec![None; rows]);
            }
            let values = integers(&[column.without_nulls()?], 0, rows)?;
            let column = column.materialize()?;
            Ok(values
                .into_iter()
                .enumerate()
                .map(|(row, value)| column.nulls().is_none_or(|nulls| nulls.is_valid(row)).then_some(value))
                .collect())
        };
        let (offsets, lengths) = (bounds(1)?, bounds(2)?);
        let mut positions = Positions::new(rows);
        for (row, (offset, length)) in offsets.iter().zip(&lengths).enumerate() {
            let range = lists.range(row);
            let count = range.len() as i64;
            let start = match offset.unwrap_or(1) {
                0 => count,
                offset @ 1.. => offset - 1,
                offset => count.saturating_add(offset),
            };
            let end = match length {
                None => count,
                Some(length @ 0..) => start.saturating_add(*length).min(count),
                Some(length) => count.saturating_add(*length),
            };
            let start = start.max(0);
            let first = range.start + start as usize;
            positions.extend(first..first + (end - start).max(0) as usize)?;
            positions.end_row()?;
        }
        positions.take(&lists.items)
    })
}

/// Items ascending (descending where reversed), NaN and NULL at the end. A partial sort has how many items must be in order before
/// the array: here all are.
pub(super) fn sort(call: &Call<'_>, is_reversed: bool, is_partial: bool) -> Bound {
    let at = usize::from(is_partial);
    if call.arguments.len() <= at {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!("Function {} needs at least {} arguments, passed {}", call.name, at + 1, call.arguments.len()),
        ));
    }
    if is_partial && !call.type_of(0).is_integer() {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Illegal type {} of limit argument of function {} (must be UInt or Int)",
                call.type_of(0),
                call.name
            ),
        ));
    }
    call.arguments(at + 1..=at + 1)?;
    item_type(call, at)?;
    call.bind(call.type_of(at).clone(), move |arguments, rows| {
        let lists = Lists::of(arguments, at)?;
        let order = ItemOrder::new(&lists.items, is_reversed)?;
        let limits = if is_partial { Some(integers(arguments, 0, rows)?) } else { None };
        let mut positions = Positions::new(rows);
        for row in 0..rows {
            let from = positions.items.len();
            positions.extend(lists.range(row))?;
            if let Some(items) = positions.items.get_mut(from..) {
                match limits.as_ref().and_then(|limits| usize::try_from(limits[row]).ok()).filter(|limit| *limit > 0) {
                    Some(limit) => order.sort_first(items, limit)?,
                    None => order.sort(items)?,
                }
            }
            positions.end_row()?;
        }
        positions.take(&lists.items)
    })
}

/// Each item once, in the order of first appearance, without NULL.
pub(super) fn distinct(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let item = item_type(call, 0)?;
    let text = call.text_options()?;
    let result =
        DataType::array(if item.inner() == &DataType::Nothing { item.clone() } else { item.remove_nullable() });
    call.bind(result.clone(), move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let (numbers, count) = item_numbers(&lists.items, &text)?;
        // In which row a number was last seen, counted from 1.
        let mut seen = vec![0usize; count];
        let mut positions = Positions::new(rows);
        for row in 0..rows {
            for at in lists.range(row) {
                if lists.items.array().is_null(at) || lists.items.data_type().inner() == &DataType::Nothing {
                    continue;
                }
                if let Some(last) = numbers.get(at).and_then(|number| seen.get_mut(*number as usize))
                    && std::mem::replace(last, row + 1) != row + 1
                {
                    positions.extend(std::iter::once(at))?;
                }
            }
            positions.end_row()?;
        }
        let arrays = positions.take(&lists.items)?;
        if arrays.data_type() == &result { Ok(arrays) } else { cast(&arrays, &result, &CastOptions::default()) }
    })
}

/// Without items that equal the one before.
pub(super) fn compact(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    item_type(call, 0)?;
    let text = call.text_options()?;
    call.bind(call.type_of(0).clone(), move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let (numbers, _) = item_numbers(&lists.items, &text)?;
        let mut positions = Positions::new(rows);
        for row in 0..rows {
            let range = lists.range(row);
            let start = range.start;
            positions.extend(range.filter(|at| *at == start || numbers.get(*at) != numbers.get(at - 1)))?;
            positions.end_row()?;
        }
        positions.take(&lists.items)
    })
}
