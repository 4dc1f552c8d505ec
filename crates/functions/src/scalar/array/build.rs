//! Arrays made of values and of other arrays.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::types::Int64Type;
use squall_types::cast::{CastOptions, cast};
use squall_types::{
    Column, DataType, Error, ErrorCode, Result, Value, common_type, default_value, kernels, least_supertype,
};

use super::{Lists, Positions, extend, item_type, list_column, of_null};
use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument, integers};
use crate::scalar::tuple::from_elements;

type Bound = Result<Arc<dyn BoundFunction>>;

/// Items that one block of `arrayResize` or `arrayWithConstant` may make.
const ITEMS_MAX: usize = 500_000_000;

fn too_many() -> Error {
    Error::new(
        ErrorCode::ARGUMENT_OUT_OF_BOUND,
        format!("A call would produce more than {ITEMS_MAX} array elements in one block"),
    )
}

pub(super) fn array(call: &Call<'_>) -> Bound {
    let types: Vec<DataType> = call.arguments.iter().map(|argument| argument.data_type.clone()).collect();
    let item = common_type(&types, call.context.settings.use_variant_as_common_type)?;
    let options = CastOptions::to_common(call.session_zone()?);
    let count = types.len();
    call.bind(DataType::array(item.clone()), move |arguments, rows| {
        if item == DataType::Nothing {
            return Column::default_values(DataType::array(item.clone()), rows);
        }
        squall_types::reserve(rows.saturating_mul(count).saturating_mul(size_of::<(usize, usize)>()))?;
        let ends =
            (0..=rows).map(|row| i32::try_from(row * count).map_err(|_| too_many())).collect::<Result<Vec<i32>>>()?;
        let columns = arguments.iter().map(|column| cast(column, &item, &options)).collect::<Result<Vec<_>>>()?;
        let items = interleave(&columns, (0..rows).flat_map(|row| (0..count).map(move |at| (at, row))))?;
        list_column(&item, ends, items)
    })
}

/// Values of columns of one type, each by column and row; of a constant its one value.
fn interleave(columns: &[Column], choice: impl Iterator<Item = (usize, usize)>) -> Result<arrow_array::ArrayRef> {
    let is_constant: Vec<bool> = columns.iter().map(Column::is_constant).collect();
    let mut indices = Vec::new();
    extend(&mut indices, choice.map(|(at, row)| (at, if is_constant[at] { 0 } else { row })))?;
    let arrays: Vec<&dyn Array> = columns.iter().map(|column| &**column.array()).collect();
    if columns.first().is_some_and(|column| column.data_type().inner() == &DataType::Nothing) {
        return Ok(arrow_array::new_null_array(&arrow_schema::DataType::Null, indices.len()));
    }
    kernels::interleave(&arrays, &indices)
}

/// `range(end)`, `range(start, end[, step])`.
pub(super) fn range(call: &Call<'_>) -> Bound {
    call.arguments(1..=3)?;
    call.each(0..call.arguments.len(), |data_type| {
        data_type.is_integer() || matches!(data_type, DataType::Bool | DataType::IPv4)
    })?;
    // An address counts as its number.
    let number = |data_type: &DataType| match data_type {
        DataType::IPv4 => DataType::UInt32,
        other => other.clone(),
    };
    let types: Vec<DataType> = call.arguments.iter().map(|argument| number(&argument.data_type)).collect();
    let item = least_supertype(&types)?;
    let count = call.arguments.len();
    let items_max = usize::try_from(call.context.settings.function_range_max_elements_in_block).unwrap_or(usize::MAX);
    call.bind(DataType::array(item.clone()), move |arguments, rows| {
        let numbers = arguments.iter().map(|argument| argument.clone().with_type(number(argument.data_type())));
        let arguments = &*numbers.collect::<Vec<_>>();
        let (starts, ends, steps) = match count {
            1 => {
                let ends = integers(arguments, 0, rows)?;
                if ends.iter().any(|end| *end < 0) {
                    return Err(Error::new(
                        ErrorCode::ARGUMENT_OUT_OF_BOUND,
                        "A call to function range must not have a negative end",
                    ));
                }
                (vec![0; rows], ends, vec![1; rows])
            }
            2 => (integers(arguments, 0, rows)?, integers(arguments, 1, rows)?, vec![1; rows]),
            _ => (integers(arguments, 0, rows)?, integers(arguments, 1, rows)?, integers(arguments, 2, rows)?),
        };
        let mut values: Vec<i64> = Vec::new();
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        for row in 0..rows {
            let (start, end, step) = (i128::from(starts[row]), i128::from(ends[row]), i128::from(steps[row]));
            if step == 0 {
                return Err(Error::new(
                    ErrorCode::ARGUMENT_OUT_OF_BOUND,
                    "A call to function range overflows, the 3rd argument step can't be zero",
                ));
            }
            let distance = if step > 0 { end - start } else { start - end };
            let length = usize::try_from((distance + step.abs() - 1).max(0) / step.abs()).unwrap_or(usize::MAX);
            if length > items_max.saturating_sub(values.len()) {
                let total = values.len().saturating_add(length);
                let message = format!(
                    "A call to function range would produce {total} array elements, which is greater than the allowed maximum of {items_max}"
                );
                return Err(Error::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message));
            }
            extend(&mut values, (0..length).map(|at| starts[row].wrapping_add((at as i64).wrapping_mul(steps[row]))))?;
            offsets.push(i32::try_from(values.len()).map_err(|_| too_many())?);
        }
        let items =
            cast(&Column::from_primitive::<Int64Type>(DataType::Int64, values), &item, &CastOptions::default())?;
        list_column(&item, offsets, items.array().clone())
    })
}

/// `arrayWithConstant(length, value)`.
pub(super) fn with_constant(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    call.integers([0])?;
    let item = call.type_of(1).clone();
    call.bind(DataType::array(item.clone()), move |arguments, rows| {
        let lengths = integers(arguments, 0, rows)?;
        let value = argument(arguments, 1)?;
        let mut positions = Positions::new(rows);
        for (row, length) in lengths.iter().enumerate() {
            let length = usize::try_from(*length)
                .map_err(|_| Error::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, "Array size must not be negative"))?;
            if positions.items.len().saturating_add(length) > ITEMS_MAX {
                return Err(too_many());
            }
            positions.extend(std::iter::repeat_n(if value.is_constant() { 0 } else { row }, length))?;
            positions.end_row()?;
        }
        positions.take(&Column::new(item.clone(), value.array().clone()))
    })
}

pub(super) fn concat(call: &Call<'_>) -> Bound {
    call.arguments(1..=usize::MAX)?;
    let items = (0..call.arguments.len()).map(|at| item_type(call, at).cloned()).collect::<Result<Vec<_>>>()?;
    let item = least_supertype(&items)?;
    let result = DataType::array(item.clone());
    let options = CastOptions::to_common(call.session_zone()?);
    call.bind(result.clone(), move |arguments, rows| {
        let columns = arguments.iter().map(|column| cast(column, &result, &options)).collect::<Result<Vec<_>>>()?;
        let lists = columns.iter().map(Lists::of_column).collect::<Result<Vec<_>>>()?;
        let mut ends = Vec::with_capacity(rows + 1);
        ends.push(0);
        let mut choice = Vec::new();
        for row in 0..rows {
            for (at, lists) in lists.iter().enumerate() {
                extend(&mut choice, lists.range(row).map(|position| (at, position)))?;
            }
            ends.push(i32::try_from(choice.len()).map_err(|_| too_many())?);
        }
        let items: Vec<Column> = lists.into_iter().map(|lists| lists.items).collect();
        list_column(&item, ends, interleave(&items, choice.into_iter())?)
    })
}

/// `arrayPushBack`, `arrayPushFront`.
pub(super) fn push(call: &Call<'_>, at_back: bool) -> Bound {
    call.arguments(2..=2)?;
    if let Some(null) = of_null(call) {
        return null;
    }
    let item = least_supertype(&[item_type(call, 0)?.clone(), call.type_of(1).clone()])?;
    let result = DataType::array(item.clone());
    let options = CastOptions::to_common(call.session_zone()?);
    call.bind(result.clone(), move |arguments, rows| {
        let lists = Lists::of_column(&cast(argument(arguments, 0)?, &result, &options)?)?;
        let value = cast(argument(arguments, 1)?, &item, &options)?;
        let mut ends = Vec::with_capacity(rows + 1);
        ends.push(0);
        let mut choice = Vec::new();
        for row in 0..rows {
            if !at_back {
                choice.push((1, row));
            }
            extend(&mut choice, lists.range(row).map(|position| (0, position)))?;
            if at_back {
                choice.push((1, row));
            }
            ends.push(i32::try_from(choice.len()).map_err(|_| too_many())?);
        }
        list_column(&item, ends, interleave(&[lists.items, value], choice.into_iter())?)
    })
}

/// Items that `arrayResize` makes of one array.
const SIZE_MAX: usize = 1 << 30;

/// `arrayResize(array, size[, filler])`: a negative size fills at the front.
pub(super) fn resize(call: &Call<'_>) -> Bound {
    call.arguments(2..=3)?;
    call.integers_of_any_width([1])?;
    let own = item_type(call, 0)?;
    let item = match call.arguments.get(2) {
        Some(filler) => least_supertype(&[own.clone(), filler.data_type.clone()])?,
        None => own.clone(),
    };
    let result = DataType::array(item.clone());
    let options = CastOptions::to_common(call.session_zone()?);
    call.bind(result.clone(), move |arguments, rows| {
        let lists = Lists::of_column(&cast(argument(arguments, 0)?, &result, &options)?)?;
        let filler = match arguments.get(2) {
            Some(column) => cast(column, &item, &options)?,
            None => Column::constant(item.clone(), &default_value(&item), rows)?,
        };
        let sizes = integers(arguments, 1, rows)?;
        let mut ends = Vec::with_capacity(rows + 1);
        ends.push(0);
        let mut choice = Vec::new();
        for (row, size) in sizes.iter().enumerate() {
            let range = lists.range(row);
            let wanted = usize::try_from(size.unsigned_abs()).unwrap_or(usize::MAX);
            if wanted > SIZE_MAX {
                return Err(Error::new(
                    ErrorCode::TOO_LARGE_ARRAY_SIZE,
                    format!("Too large array size: {wanted}, maximum: {SIZE_MAX}"),
                ));
            }
            if choice.len().saturating_add(wanted) > ITEMS_MAX {
                return Err(too_many());
            }
            let kept = range.len().min(wanted);
            let fillers = std::iter::repeat_n((1, row), wanted - kept);
            if *size >= 0 {
                extend(&mut choice, range.take(kept).map(|position| (0, position)))?;
                extend(&mut choice, fillers)?;
            } else {
                extend(&mut choice, fillers)?;
                extend(&mut choice, (range.end - kept..range.end).map(|position| (0, position)))?;
            }
            ends.push(i32::try_from(choice.len()).map_err(|_| too_many())?);
        }
        list_column(&item, ends, interleave(&[lists.items, filler], choice.into_iter())?)
    })
}

/// Arrays of arrays, at any depth, as one array.
pub(super) fn flatten(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let mut item = item_type(call, 0)?;
    let mut depth = 0;
    while let DataType::Array(inner) = item {
        item = inner;
        depth += 1;
    }
    let item = item.clone();
    call.bind(DataType::array(item.clone()), move |arguments, rows| {
        let mut lists = Lists::of(arguments, 0)?;
        let mut ranges: Vec<std::ops::Range<usize>> = (0..rows).map(|row| lists.range(row)).collect();
        for _ in 0..depth {
            lists = Lists::of_column(&lists.items)?;
            for range in &mut ranges {
                // The items of neighbouring arrays are neighbours.
                *range = match range.start == range.end {
                    true => 0..0,
                    false => lists.range(range.start).start..lists.range(range.end - 1).end,
                };
            }
        }
        let mut positions = Positions::new(rows);
        for range in ranges {
            positions.extend(range)?;
            positions.end_row()?;
        }
        positions.take(&lists.items)
    })
}

/// `arrayZip(a, b, …)`: an array of tuples of arrays of one length.
pub(super) fn zip(call: &Call<'_>) -> Bound {
    call.arguments(1..=usize::MAX)?;
    let items = (0..call.arguments.len()).map(|at| item_type(call, at).cloned()).collect::<Result<Vec<_>>>()?;
    let item = DataType::tuple(items.iter().cloned());
    call.bind(DataType::array(item.clone()), move |arguments, rows| {
        let mut columns = Vec::new();
        let mut ends: Option<Vec<i32>> = None;
        for column in arguments {
            let lists = Lists::of_column(column)?;
            let mut positions = Positions::new(rows);
            for row in 0..rows {
                positions.extend(lists.range(row))?;
                positions.end_row()?;
            }
            if ends.get_or_insert_with(|| positions.ends.clone()) != &positions.ends {
                return Err(Error::new(
                    ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                    "The arguments of arrayZip must be arrays of equal lengths",
                ));
            }
            columns.push(lists.items.take(&positions.items.into())?);
        }
        let ends = ends.unwrap_or_else(|| vec![0; rows + 1]);
        let count = ends.last().map_or(0, |end| *end as usize);
        let tuples = from_elements(&item, &columns, count)?;
        list_column(&item, ends, tuples.array().clone())
    })
}

pub(super) fn empty(call: &Call<'_>, item: DataType) -> Bound {
    call.arguments(0..=0)?;
    let result = DataType::array(item);
    call.bind(result.clone(), move |_, rows| Column::default_values(result.clone(), rows))
}

/// Empty arrays get one default item.
pub(super) fn empty_to_single(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let item = item_type(call, 0)?.clone();
    if item == DataType::Nothing {
        return Err(Error::new(ErrorCode::NOT_IMPLEMENTED, "Cannot get value from Nothing"));
    }
    call.bind(DataType::array(item.clone()), move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let mut chosen = Vec::new();
        let mut ends = Vec::with_capacity(rows + 1);
        ends.push(0);
        for row in 0..rows {
            let range = lists.range(row);
            if range.is_empty() {
                chosen.push(None);
            }
            extend(&mut chosen, range.map(|position| Some(position as u32)))?;
            ends.push(i32::try_from(chosen.len()).map_err(|_| too_many())?);
        }
        list_column(&item, ends, super::take_or_default(&lists.items, &chosen)?.to_array()?)
    })
}

/// `nested([names], a, b, …)`: arrays of one length as an array of named tuples.
pub(super) fn nested(call: &Call<'_>) -> Bound {
    call.arguments(2..=usize::MAX)?;
    let Some(Value::Array(names)) = call.constant(0) else {
        return Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            "First argument for function nested must be constant column with array of strings",
        ));
    };
    let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
    if names.len() + 1 != call.arguments.len() {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!("Size of nested columns names {} does not match the number of arrays", names.len()),
        ));
    }
    let items = (1..call.arguments.len()).map(|at| item_type(call, at).cloned()).collect::<Result<Vec<_>>>()?;
    let tuple = DataType::named_tuple(names.into_iter().zip(items));
    call.bind(DataType::array(tuple.clone()), move |arguments, rows| {
        let lists = (1..arguments.len()).map(|at| Lists::of(arguments, at)).collect::<Result<Vec<_>>>()?;
        let mut columns = Vec::with_capacity(lists.len());
        let mut ends = vec![0_i32];
        for (at, list) in lists.iter().enumerate() {
            let mut positions = Vec::new();
            for row in 0..rows {
                let range = list.range(row);
                if lists.first().is_some_and(|first| first.range(row).len() != range.len()) {
                    return Err(Error::new(
                        ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                        format!(
                            "The argument 2 and argument {} of function nested have different array offsets",
                            at + 2
                        ),
                    ));
                }
                squall_types::grow(&mut positions, range.len())?;
                positions.extend(range.map(|position| position as u32));
                if at == 0 {
                    ends.push(i32::try_from(positions.len()).map_err(|_| {
                        Error::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, "More than 2^31 items of arrays in one block")
                    })?);
                }
            }
            columns.push(list.items.take(&arrow_array::UInt32Array::from(positions))?);
        }
        let count = ends.last().map_or(0, |end| *end as usize);
        list_column(&tuple, ends, from_elements(&tuple, &columns, count)?.to_array()?)
    })
}
