//! Questions to arrays: whether, where and how often something is in them, and what two of them share.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, UInt32Type, UInt64Type};
use arrow_schema::DataType as ArrowType;
use squall_types::cast::{CastMode, CastOptions, cast};
use squall_types::text::{TextOptions, TextStyle, ValueWriter};
use squall_types::{
    Column, DataType, Error, ErrorCode, Result, checkpoint, convert_value, largest_subtype, least_supertype,
};

use super::{Lists, Positions, extend, item_type, list_column};
use crate::function::{Argument, BoundFunction};
use crate::registry::resolve_scalar;
use crate::scalar::kernel::{bytes_column, truth};
use crate::scalar::order::row_order;
use crate::scalar::set::item_numbers;
use crate::scalar::simple::{Call, Strings, argument, string_column};

type Bound = Result<Arc<dyn BoundFunction>>;

/// What is asked of the items that equal a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Whether there is one.
    Any,
    /// The index of the first, 0 for none.
    Position,
    /// How many there are.
    Count,
}

/// `has(array, value)`, `indexOf`, `countEqual`. NULL equals NULL.
pub(super) fn find(call: &Call<'_>, found: Found) -> Bound {
    call.arguments(2..=2)?;
    if found == Found::Any && matches!(call.type_of(0), DataType::Map(..)) {
        return super::super::map::contains_key(call);
    }
    let item = item_type(call, 0)?;
    let result = if found == Found::Any { DataType::UInt8 } else { DataType::UInt64 };
    let is_always_null = call.type_of(1).inner() == &DataType::Nothing;
    let never = {
        let result = result.clone();
        move |_: &[Column], rows: usize| Column::default_values(result.clone(), rows)
    };
    let plain = item.remove_low_cardinality().clone();
    let is_never_null = !call.type_of(1).remove_low_cardinality().is_nullable();
    if is_always_null && !plain.is_nullable() || plain.inner() == &DataType::Nothing && is_never_null {
        return call.bind(result, never);
    }
    // A constant that is no item of the array is never found.
    let zone = call.session_zone()?;
    let value_type = call.type_of(1).remove_low_cardinality().clone();
    let are_numbers = value_type.inner().is_number() && plain.inner().is_number();
    let (common, mode) = match call.constant(1) {
        Some(value) if !value.is_null() && are_numbers => {
            if convert_value(value, plain.inner()).is_err() {
                return call.bind(result, never);
            }
            (plain.to_nullable(), CastMode::Plain)
        }
        _ => match least_supertype(&[plain.clone(), value_type]) {
            Ok(common) => (common, CastMode::Plain),
            // A number that the items' type does not have becomes NULL, which no item is.
            Err(_) if are_numbers && !plain.is_nullable() => (plain.to_nullable(), CastMode::OrNull),
            Err(error) => return Err(error),
        },
    };
    let options = CastOptions::new(mode, zone);
    call.bind(result, move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let items = cast(&lists.items, &common, &options)?;
        let value = cast(argument(arguments, 1)?, &common, &options)?;
        let order = row_order(&items, &value)?;
        let is_constant = value.is_constant();
        // NaN is no item, not even where it is one.
        let nans = nans(&value);
        let equals = |at: usize, row: usize| {
            let row = if is_constant { 0 } else { row };
            order(at, row).is_eq() && nans.get(row) != Some(&true)
        };
        Ok(match found {
            Found::Any => {
                let any = |row: usize| Ok(u8::from(items_of(&lists, row)?.any(|at| equals(at, row))));
                bytes_column((0..rows).map(any).collect::<Result<_>>()?)
            }
            Found::Position => {
                let index = |row: usize| {
                    Ok(items_of(&lists, row)?.position(|at| equals(at, row)).map_or(0, |index| index as u64 + 1))
                };
                Column::from_primitive::<UInt64Type>(DataType::UInt64, (0..rows).map(index).collect::<Result<_>>()?)
            }
            Found::Count => {
                let count = |row: usize| Ok(items_of(&lists, row)?.filter(|at| equals(*at, row)).count() as u64);
                Column::from_primitive::<UInt64Type>(DataType::UInt64, (0..rows).map(count).collect::<Result<_>>()?)
            }
        })
    })
}

/// `notHas(array, value)`.
pub(super) fn lacks(call: &Call<'_>) -> Bound {
    let has = find(call, Found::Any)?;
    call.bind(DataType::UInt8, move |arguments, rows| {
        let found = has.execute(arguments, rows)?;
        Ok(bytes_column(truth(&found, rows)?.into_iter().map(|found| 1 - found).collect()))
    })
}

/// A function of one array that takes several as the array of their tuples.
fn of_several(call: &Call<'_>) -> Option<Bound> {
    (call.arguments.len() > 1).then(|| {
        let zip = resolve_scalar("arrayZip", call.arguments, call.context)?;
        let zipped = Argument::of(zip.return_type().clone());
        let function = resolve_scalar(call.name, &[zipped], call.context)?;
        call.bind(function.return_type().clone(), move |arguments, rows| {
            function.execute(&[zip.execute(arguments, rows)?], rows)
        })
    })
}

/// The positions of a row's items, all of which may be looked at: the array of every row may be the same long one.
fn items_of(lists: &Lists, row: usize) -> Result<std::ops::Range<usize>> {
    let range = lists.range(row);
    checkpoint(4 * range.len())?;
    Ok(range)
}

/// Which values are NaN; empty where none is.
fn nans(column: &Column) -> Vec<bool> {
    let array = column.array();
    let nans: Vec<bool> = match array.data_type() {
        ArrowType::Float32 => array.as_primitive::<Float32Type>().values().iter().map(|value| value.is_nan()).collect(),
        ArrowType::Float64 => array.as_primitive::<Float64Type>().values().iter().map(|value| value.is_nan()).collect(),
        _ => Vec::new(),
    };
    if nans.contains(&true) { nans } else { Vec::new() }
}

/// How one array may contain another.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Contains {
    /// Some item of it.
    Any,
    /// Every item of it.
    All,
    /// It as a whole, in a row.
    Run,
}

/// Numbers for the items of several lists, equal for equal items of any of them.
pub(super) fn shared_numbers(lists: &[Lists], text: &TextOptions) -> Result<(Vec<Vec<u32>>, usize)> {
    let columns: Vec<Column> = lists.iter().map(|lists| lists.items.clone()).collect();
    let (numbers, count) = item_numbers(&Column::concat(&columns)?, text)?;
    let mut rest = numbers.as_slice();
    let parts = columns
        .iter()
        .map(|column| {
            let (part, after) = rest.split_at(column.rows().min(rest.len()));
            rest = after;
            part.to_vec()
        })
        .collect();
    Ok((parts, count))
}

/// The arguments, all of them arrays, as arrays of one item type.
pub(super) fn common_arrays(call: &Call<'_>) -> Result<(DataType, CastOptions)> {
    let items = items_without_dictionaries(call)?;
    Ok((DataType::array(least_supertype(&items)?), CastOptions::new(CastMode::Plain, call.session_zone()?)))
}

/// The types of the items of all arguments, which are arrays.
fn items_without_dictionaries(call: &Call<'_>) -> Result<Vec<DataType>> {
    (0..call.arguments.len()).map(|at| item_type(call, at).map(|item| item.remove_low_cardinality().clone())).collect()
}

/// `hasAny(a, b)`, `hasAll(a, b)`, `hasSubstr(a, b)`.
pub(super) fn compare(call: &Call<'_>, contains: Contains) -> Bound {
    call.arguments(2..=2)?;
    let (common, options) = common_arrays(call)?;
    call.bind(DataType::UInt8, move |arguments, rows| {
        let lists = arguments
            .iter()
            .map(|column| Lists::of_column(&cast(column, &common, &options)?))
            .collect::<Result<Vec<_>>>()?;
        let (numbers, count) = shared_numbers(&lists, &options.text)?;
        let ([whole, part], [whole_numbers, part_numbers]) = (lists.as_slice(), numbers.as_slice()) else {
            return Err(Error::logical("two arrays expected"));
        };
        let mut seen = vec![0usize; count];
        let answers = (0..rows).map(|row| {
            let whole = whole_numbers.get(whole.range(row)).unwrap_or_default();
            let part = part_numbers.get(part.range(row)).unwrap_or_default();
            checkpoint(4 * (whole.len() + part.len()))?;
            if contains == Contains::Run {
                if part.is_empty() {
                    return Ok(1);
                }
                for window in whole.windows(part.len()) {
                    checkpoint(1 + part.len() / 8)?;
                    if window == part {
                        return Ok(1);
                    }
                }
                return Ok(0);
            }
            for number in whole {
                if let Some(last) = seen.get_mut(*number as usize) {
                    *last = row + 1;
                }
            }
            let mut is_there = part.iter().map(|number| seen.get(*number as usize) == Some(&(row + 1)));
            let is_any = contains == Contains::Any;
            Ok(u8::from(if is_any { is_there.any(|found| found) } else { is_there.all(|found| found) }))
        });
        Ok(bytes_column(answers.collect::<Result<_>>()?))
    })
}

/// Items that are in every one of the arrays, each once, in the order of the first array. They are compared in a type that holds those
/// of all arrays, and given in one that is part of each array's type.
pub(super) fn intersect(call: &Call<'_>) -> Bound {
    call.arguments(1..=usize::MAX)?;
    let items = items_without_dictionaries(call)?;
    let is_empty = items.contains(&DataType::Nothing);
    let result = DataType::array(if is_empty { DataType::Nothing } else { largest_subtype(&items)? });
    if is_empty {
        return call.bind(result.clone(), move |_, rows| Column::default_values(result.clone(), rows));
    }
    let are_all = |of: fn(&DataType) -> bool| items.iter().all(|item| of(&item.remove_nullable()));
    let common = if are_all(DataType::is_any_integer) {
        // Integers of either sign have no common type of 64 bits.
        least_supertype(&items).unwrap_or(DataType::Int256.to_nullable())
    } else if are_all(|item| item.is_number() || item.is_decimal()) {
        // What other numbers have beyond the narrowest type does not count.
        largest_subtype(&items)?.to_nullable()
    } else {
        least_supertype(&items)?
    };
    let (common, options) = (DataType::array(common), CastOptions::new(CastMode::Plain, call.session_zone()?));
    call.bind(result.clone(), move |arguments, rows| {
        let lists = arguments
            .iter()
            .map(|column| Lists::of_column(&cast(column, &common, &options)?))
            .collect::<Result<Vec<_>>>()?;
        let (numbers, count) = shared_numbers(&lists, &options.text)?;
        let (Some(first), Some(first_numbers)) = (lists.first(), numbers.first()) else {
            return Err(Error::logical("an array expected"));
        };
        let mut positions = Positions::new(rows);
        // How many arrays of a row have had each number, counted on only by the next array; with the row.
        let mut had = vec![(0usize, 0usize); count];
        for row in 0..rows {
            for (at, (lists, numbers)) in lists.iter().zip(&numbers).enumerate() {
                for number in numbers.get(items_of(lists, row)?).unwrap_or_default() {
                    if let Some(had) = had.get_mut(*number as usize) {
                        if at == 0 {
                            *had = (row, 1);
                        } else if *had == (row, at) {
                            had.1 = at + 1;
                        }
                    }
                }
            }
            for at in first.range(row) {
                if let Some(had) = first_numbers.get(at).and_then(|number| had.get_mut(*number as usize))
                    && *had == (row, lists.len())
                {
                    had.1 = 0;
                    positions.extend(std::iter::once(at))?;
                }
            }
            positions.end_row()?;
        }
        cast(&positions.take(&first.items)?, &result, &options)
    })
}

/// How many different items each array has; NULLs count as one.
pub(super) fn uniq(call: &Call<'_>) -> Bound {
    if let Some(bound) = of_several(call) {
        return bound;
    }
    call.arguments(1..=1)?;
    item_type(call, 0)?;
    let text = call.text_options()?;
    call.bind(DataType::UInt32, move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let (numbers, count) = item_numbers(&lists.items, &text)?;
        let mut seen = vec![0usize; count];
        let different = |row: usize| {
            let numbers = numbers.get(lists.range(row)).unwrap_or_default();
            numbers
                .iter()
                .filter(|number| {
                    seen.get_mut(**number as usize).is_some_and(|last| std::mem::replace(last, row + 1) != row + 1)
                })
                .count() as u32
        };
        Ok(Column::from_primitive::<UInt32Type>(DataType::UInt32, (0..rows).map(different).collect()))
    })
}

/// The indices of each array, from 1.
pub(super) fn enumerate(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    item_type(call, 0)?;
    call.bind(DataType::array(DataType::UInt32), |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        numbered(&lists, rows, |_, index| index + 1)
    })
}

/// For each item how often it has come up to there.
pub(super) fn enumerate_uniq(call: &Call<'_>) -> Bound {
    if let Some(bound) = of_several(call) {
        return bound;
    }
    call.arguments(1..=1)?;
    item_type(call, 0)?;
    let text = call.text_options()?;
    call.bind(DataType::array(DataType::UInt32), move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let (numbers, count) = item_numbers(&lists.items, &text)?;
        // By item: in which array it was last seen, counted from 1, and how often.
        let mut seen = vec![(0u32, 0u32); count];
        let mut array = 0;
        numbered(&lists, rows, |at, index| {
            array += u32::from(index == 0);
            let Some(seen) = numbers.get(at).and_then(|number| seen.get_mut(*number as usize)) else { return 0 };
            *seen = (array, if seen.0 == array { seen.1 + 1 } else { 1 });
            seen.1
        })
    })
}

/// For each item which of the array's distinct items it is, from 1, in the order of first appearance.
pub(super) fn enumerate_dense(call: &Call<'_>) -> Bound {
    if let Some(bound) = of_several(call) {
        return bound;
    }
    call.arguments(1..=1)?;
    item_type(call, 0)?;
    let text = call.text_options()?;
    call.bind(DataType::array(DataType::UInt32), move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let (numbers, count) = item_numbers(&lists.items, &text)?;
        // By item: in which array it was last seen, counted from 1, and its number there.
        let mut known = vec![(0u32, 0u32); count];
        let (mut array, mut distinct) = (0, 0);
        numbered(&lists, rows, |at, index| {
            if index == 0 {
                (array, distinct) = (array + 1, 0);
            }
            let Some(known) = numbers.get(at).and_then(|number| known.get_mut(*number as usize)) else { return 0 };
            if known.0 != array {
                distinct += 1;
                *known = (array, distinct);
            }
            known.1
        })
    })
}

/// Arrays of a `UInt32` for each item, made of its position and its index in the array.
fn numbered(lists: &Lists, rows: usize, mut number: impl FnMut(usize, u32) -> u32) -> Result<Column> {
    let mut values = Vec::new();
    let mut ends = Vec::with_capacity(rows + 1);
    ends.push(0);
    for row in 0..rows {
        extend(&mut values, lists.range(row).zip(0..).map(|(at, index)| number(at, index)))?;
        ends.push(
            i32::try_from(values.len()).map_err(|_| Error::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, "Too many items"))?,
        );
    }
    let items = Column::from_primitive::<UInt32Type>(DataType::UInt32, values);
    list_column(&DataType::UInt32, ends, items.array().clone())
}

/// `arrayStringConcat(array[, separator])`; NULLs are left out.
pub(super) fn string_concat(call: &Call<'_>) -> Bound {
    call.arguments(1..=2)?;
    item_type(call, 0)?;
    if call.arguments.len() == 2 {
        call.strings([1])?;
        call.constant_bytes(1)?;
    }
    let text = call.text_options()?;
    call.bind(DataType::String, move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let separators = if arguments.len() > 1 { Strings::of(arguments, 1)? } else { Strings::Constant(b"") };
        let mut writer = ValueWriter::new(&lists.items, TextStyle::Plain, &text)?;
        let is_null =
            |at: usize| lists.items.array().is_null(at) || lists.items.data_type().inner() == &DataType::Nothing;
        string_column(rows, 0, |bytes, row| {
            let mut is_first = true;
            for at in lists.range(row).filter(|at| !is_null(*at)) {
                checkpoint(16)?;
                if !std::mem::take(&mut is_first) {
                    bytes.extend_from_slice(separators.get(row));
                }
                writer.write(bytes, at);
            }
            Ok(())
        })
    })
}
