//! Maps: making them, and their keys and values as arrays. A map is an array of entries; `map[key]` is `arrayElement`.

use std::sync::Arc;

use arrow_array::Array;
use squall_types::cast::{CastMode, CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Result, least_supertype};

use super::array::{Lists, list_column};
use super::higher_order::without_dictionaries;
use super::kernel::bytes_column;
use super::order::row_order;
use super::simple::{Call, Function, argument};
use crate::function::{Argument, BoundFunction, ScalarFunction};
use crate::registry::resolve_scalar;

type Bound = Result<Arc<dyn BoundFunction>>;

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("map", map).with_nulls().with_dictionaries(),
    &Function::new("mapFromArrays", from_arrays),
    &Function::new("mapKeys", |call| part(call, 0)),
    &Function::new("mapValues", |call| part(call, 1)),
    &Function::new("mapContainsKey", contains_key),
    &Function::new("mapConcat", |call| of_entries(call, "arrayConcat", 0)),
    &Function::new("mapSort", |call| of_entries(call, "arraySort", 0)),
    &Function::new("mapReverseSort", |call| of_entries(call, "arrayReverseSort", 0)),
    &Function::new("mapPartialSort", |call| of_entries(call, "arrayPartialSort", 1)),
    &Function::new("mapPartialReverseSort", |call| of_entries(call, "arrayPartialReverseSort", 1)),
];

/// A function that is one of arrays over the maps' entries: all arguments from `maps_from` on are maps.
fn of_entries(call: &Call<'_>, of_arrays: &str, maps_from: usize) -> Bound {
    if call.arguments.len() <= maps_from {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!("Function {} requires at least one argument, passed {}", call.name, call.arguments.len()),
        ));
    }
    let mut arguments = call.arguments.to_vec();
    for argument in &mut arguments[maps_from..] {
        if !matches!(argument.data_type, DataType::Map(..)) {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("Function {} requires at least one argument of type Map", call.name),
            ));
        }
        *argument = Argument::of(DataType::array(argument.data_type.map_entry_type()));
    }
    let function = resolve_scalar(of_arrays, &arguments, call.context)?;
    let result = match function.return_type() {
        DataType::Array(entry) => match &**entry {
            DataType::Tuple(parts) if parts.len() == 2 => {
                DataType::Map(Arc::new(parts[0].data_type.clone()), Arc::new(parts[1].data_type.clone()))
            }
            other => return Err(Error::logical(format!("{other} is no entry of a map"))),
        },
        other => return Err(Error::logical(format!("{other} is no array of entries"))),
    };
    call.bind(result.clone(), move |columns, rows| {
        let columns = columns.iter().zip(&arguments).map(|(column, argument)| {
            if argument.data_type == *column.data_type() {
                column.clone()
            } else {
                column.clone().with_type(argument.data_type.clone())
            }
        });
        Ok(function.execute(&columns.collect::<Vec<_>>(), rows)?.with_type(result.clone()))
    })
}

/// `map(key, value, …)`: arrays of the keys and of the values, put together.
fn map(call: &Call<'_>) -> Bound {
    let count = call.arguments.len();
    if !count.is_multiple_of(2) {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!("Function {} requires even number of arguments, but {count} given", call.name),
        ));
    }
    let side = |odd: usize| -> Result<(Vec<Argument>, DataType)> {
        let arguments: Vec<Argument> = call.arguments.iter().skip(odd).step_by(2).cloned().collect();
        let types: Vec<DataType> = arguments.iter().map(|argument| argument.data_type.clone()).collect();
        Ok((arguments, least_supertype(&types)?))
    };
    let ((keys, key), (values, value)) = (side(0)?, side(1)?);
    if key.is_nullable() {
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Map cannot have a key of type {key}")));
    }
    let (make_keys, make_values) =
        (resolve_scalar("array", &keys, call.context)?, resolve_scalar("array", &values, call.context)?);
    let result = DataType::Map(Arc::new(key), Arc::new(value));
    call.bind(result.clone(), move |arguments, rows| {
        let side = |odd: usize| -> Vec<Column> { arguments.iter().skip(odd).step_by(2).cloned().collect() };
        let (keys, values) = (make_keys.execute(&side(0), rows)?, make_values.execute(&side(1), rows)?);
        together(&result, &keys, &values, rows)
    })
}

/// A map column of arrays of keys and values of the map's types.
fn together(result: &DataType, keys: &Column, values: &Column, rows: usize) -> Result<Column> {
    let arrays = DataType::tuple([keys.data_type().clone(), values.data_type().clone()]);
    let pair = super::tuple::from_elements(&arrays, &[keys.clone(), values.clone()], rows)?;
    cast(&pair, result, &CastOptions::default())
}

/// `mapFromArrays(keys, values)`.
fn from_arrays(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let (DataType::Array(key), DataType::Array(value)) = (call.type_of(0), call.type_of(1)) else {
        return Err(call.illegal(0));
    };
    let result = DataType::Map(key.clone(), value.clone());
    call.bind(result.clone(), move |arguments, rows| {
        together(&result, argument(arguments, 0)?, argument(arguments, 1)?, rows)
    })
}

/// The keys or the values of a map.
fn part(call: &Call<'_>, at: usize) -> Bound {
    call.arguments(1..=1)?;
    let DataType::Map(key, value) = call.type_of(0) else { return Err(call.illegal(0)) };
    let own = if at == 0 { (**key).clone() } else { (**value).clone() };
    let result = DataType::array(without_dictionaries(&own));
    call.bind(result.clone(), move |arguments, rows| {
        let column = argument(arguments, 0)?.materialize()?;
        let entries = Lists::of_column(&column)?;
        let parts = super::tuple::elements(&entries.items)?;
        let part = parts.get(at).ok_or_else(|| Error::logical("map without entries"))?;
        let ends = (0..rows).map(|row| entries.range(row).end as i32);
        let ends: Vec<i32> = std::iter::once(entries_start(&entries, rows)).chain(ends).collect();
        let parts = list_column(&own, ends, part.array().clone())?;
        if *parts.data_type() == result { Ok(parts) } else { cast(&parts, &result, &CastOptions::default()) }
    })
}

fn entries_start(entries: &Lists, rows: usize) -> i32 {
    if rows == 0 { 0 } else { entries.range(0).start as i32 }
}

/// `mapContainsKey(map, key)`, which is `has` of a map too.
pub(super) fn contains_key(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let DataType::Map(key, _) = call.type_of(0) else { return Err(call.illegal(0)) };
    let wanted = call.type_of(1).remove_low_cardinality().clone();
    let common = least_supertype(&[key.remove_low_cardinality().clone(), wanted]).map_err(|_| call.illegal(1))?;
    let options = CastOptions::new(CastMode::Plain, call.session_zone()?);
    call.bind(DataType::UInt8, move |arguments, rows| {
        let entries = Lists::of(arguments, 0)?;
        let parts = super::tuple::elements(&entries.items)?;
        let keys = parts.first().ok_or_else(|| Error::logical("map without entries"))?;
        let (keys, wanted) = (cast(keys, &common, &options)?, cast(argument(arguments, 1)?, &common, &options)?);
        debug_assert!(keys.array().len() == entries.items.array().len());
        let order = row_order(keys.array(), wanted.array())?;
        let is_there = |row: usize| {
            let wanted_row = if wanted.is_constant() { 0 } else { row };
            u8::from(entries.range(row).any(|at| order(at, wanted_row).is_eq()))
        };
        Ok(bytes_column((0..rows).map(is_there).collect()))
    })
}
