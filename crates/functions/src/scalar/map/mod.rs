//! Maps: making them, and their keys and values as arrays. A map is an array of entries; `map[key]` is `arrayElement`.

mod arithmetic;

use std::sync::Arc;

use arrow_array::{Array, UInt32Array};
use squall_types::cast::{CastMode, CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Result, common_type, least_supertype};

use super::array::{Lists, Positions, list_column};
use super::higher_order::without_dictionaries;
use super::kernel::{bytes_column, truth};
use super::order::row_order;
use super::simple::{Call, Function, argument};
use crate::function::{Argument, BoundFunction, ScalarFunction};
use crate::registry::resolve_scalar;

type Bound = Result<Arc<dyn BoundFunction>>;

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("map", map).with_nulls().with_dictionaries().of_any_type(),
    &Function::new("mapFromArrays", from_arrays).with_dictionaries(),
    &Function::new("mapKeys", |call| part(call, Part::Key)).never_throws(),
    &Function::new("mapValues", |call| part(call, Part::Value)).never_throws(),
    &Function::new("mapContainsKey", |call| contains(call, Part::Key)).never_throws(),
    &Function::new("mapContainsValue", |call| contains(call, Part::Value)).never_throws(),
    &Function::new("mapContainsKeyLike", |call| contains_like(call, Part::Key)),
    &Function::new("mapContainsValueLike", |call| contains_like(call, Part::Value)),
    &Function::new("mapExtractKeyLike", |call| extract_like(call, Part::Key)),
    &Function::new("mapExtractValueLike", |call| extract_like(call, Part::Value)),
    &Function::new("mapAdd", |call| arithmetic::combine(call, false)),
    &Function::new("mapPopulateSeries", arithmetic::populate),
    &Function::new("mapSubtract", |call| arithmetic::combine(call, true)),
    &Function::new("mapUpdate", arithmetic::update).never_throws(),
    &Function::new("mapConcat", |call| of_entries(call, "arrayConcat", 0)).with_dictionaries(),
    &Function::new("mapSort", |call| of_entries(call, "arraySort", 0)).with_dictionaries(),
    &Function::new("mapReverseSort", |call| of_entries(call, "arrayReverseSort", 0)).with_dictionaries(),
    &Function::new("mapPartialSort", |call| of_entries(call, "arrayPartialSort", 1)).with_dictionaries(),
    &Function::new("mapPartialReverseSort", |call| of_entries(call, "arrayPartialReverseSort", 1)).with_dictionaries(),
];

/// A map column of keys and values of which each row has those up to its end.
fn from_parts(result: &DataType, keys: &Column, values: &Column, ends: Vec<i32>) -> Result<Column> {
    let entry = result.map_entry_type();
    let entries = super::tuple::from_elements(&entry, &[keys.clone(), values.clone()], keys.rows())?;
    Ok(list_column(&entry, ends, entries.to_array()?)?.with_type(result.clone()))
}

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
    // The arrays' function takes dictionaries off; a map keeps them.
    let own = call.type_of(maps_from);
    let are_alike = call.arguments[maps_from..].iter().all(|argument| argument.data_type == *own);
    let kept = if are_alike && own.without_dictionaries() == result { own.clone() } else { result.clone() };
    call.bind(kept.clone(), move |columns, rows| {
        let columns = columns.iter().zip(&arguments).map(|(column, argument)| {
            if argument.data_type == *column.data_type() {
                column.clone()
            } else {
                column.clone().with_type(argument.data_type.clone())
            }
        });
        let entries = function.execute(&columns.collect::<Vec<_>>(), rows)?.with_type(result.clone());
        cast(&entries, &kept, &CastOptions::default())
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
        Ok((arguments, common_type(&types, call.context.settings.use_variant_as_common_type)?))
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
    // A map counts as the array of its entries.
    let list = |at: usize| match call.type_of(at) {
        DataType::Array(item) => Ok(item.clone()),
        map @ DataType::Map(..) => Ok(Arc::new(map.map_entry_type())),
        _ => Err(call.illegal(at)),
    };
    let (key, value) = (Arc::new(without_null(&*list(0)?)), list(1)?);
    let name = call.name.to_owned();
    let result = DataType::Map(key.clone(), value.clone());
    let options = CastOptions::new(CastMode::Plain, call.session_zone()?);
    call.bind(result.clone(), move |arguments, rows| {
        if Lists::of(arguments, 0)?.has_null_items() {
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("The keys of function {name} must not be NULL")));
        }
        let keys = cast(argument(arguments, 0)?, &DataType::Array(key.clone()), &options)?;
        let values = cast(argument(arguments, 1)?, &DataType::Array(value.clone()), &options)?;
        let message = || format!("Two arguments of function {name} must have equal sizes");
        Lists::of_column(&keys)?.check_lengths(&Lists::of_column(&values)?, rows, message)?;
        together(&result, &keys, &values, rows)
    })
}

/// The type without NULL, also of a dictionary.
fn without_null(data_type: &DataType) -> DataType {
    match data_type {
        DataType::LowCardinality(inner) => DataType::LowCardinality(Arc::new(inner.remove_nullable())),
        other => other.remove_nullable(),
    }
}

/// Which part of a map's entries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Key,
    Value,
}

impl Part {
    fn of<T>(self, key: T, value: T) -> T {
        match self {
            Self::Key => key,
            Self::Value => value,
        }
    }

    /// The part of all entries.
    fn items(self, entries: &Lists) -> Result<Column> {
        let mut parts = super::tuple::elements(&entries.items)?.into_iter();
        let (key, value) = (parts.next(), parts.next());
        self.of(key, value).ok_or_else(|| Error::logical("map without entries"))
    }
}

/// The keys or the values of a map.
fn part(call: &Call<'_>, part: Part) -> Bound {
    call.arguments(1..=1)?;
    let DataType::Map(key, value) = call.type_of(0) else { return Err(call.illegal(0)) };
    let own = (**part.of(key, value)).clone();
    let result = DataType::array(without_dictionaries(&own));
    call.bind(result.clone(), move |arguments, rows| {
        let column = argument(arguments, 0)?.materialize()?;
        let entries = Lists::of_column(&column)?;
        let items = part.items(&entries)?;
        let ends = (0..rows).map(|row| entries.range(row).end as i32);
        let ends: Vec<i32> = std::iter::once(entries_start(&entries, rows)).chain(ends).collect();
        let parts = list_column(&own, ends, items.array().clone())?;
        if *parts.data_type() == result { Ok(parts) } else { cast(&parts, &result, &CastOptions::default()) }
    })
}

fn entries_start(entries: &Lists, rows: usize) -> i32 {
    if rows == 0 { 0 } else { entries.range(0).start as i32 }
}

/// `mapContainsKey(map, key)`, which is `has` of a map too.
pub(super) fn contains_key(call: &Call<'_>) -> Bound {
    contains(call, Part::Key)
}

/// Whether a map has a key, or a value.
fn contains(call: &Call<'_>, part: Part) -> Bound {
    call.arguments(2..=2)?;
    let DataType::Map(key, value) = call.type_of(0) else { return Err(call.illegal(0)) };
    let wanted = call.type_of(1).remove_low_cardinality().clone();
    let own = part.of(key, value).remove_low_cardinality().clone();
    let common = least_supertype(&[own, wanted])?;
    let options = CastOptions::new(CastMode::Plain, call.session_zone()?);
    call.bind(DataType::UInt8, move |arguments, rows| {
        let entries = Lists::of(arguments, 0)?;
        let (items, wanted) =
            (cast(&part.items(&entries)?, &common, &options)?, cast(argument(arguments, 1)?, &common, &options)?);
        debug_assert!(items.array().len() == entries.items.array().len());
        let order = row_order(&items, &wanted)?;
        let is_there = |row: usize| {
            let wanted_row = if wanted.is_constant() { 0 } else { row };
            u8::from(entries.range(row).any(|at| order(at, wanted_row).is_eq()))
        };
        Ok(bytes_column((0..rows).map(is_there).collect()))
    })
}

/// Tells of each entry whether a part of it is like a pattern.
struct Likeness {
    part: Part,
    plain: DataType,
    like: Arc<dyn BoundFunction>,
}

impl Likeness {
    fn of(call: &Call<'_>, part: Part) -> Result<Self> {
        call.arguments(2..=2)?;
        let DataType::Map(key, value) = call.type_of(0) else {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("Function {} requires at least one argument of type Map", call.name),
            ));
        };
        let plain = part.of(key, value).remove_low_cardinality().clone();
        if !plain.is_string_or_fixed_string() {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!(
                    "{} type of map for function {} must be String or FixedString",
                    part.of("Key", "Value"),
                    call.name
                ),
            ));
        }
        call.strings([1])?;
        let pattern = call.arguments.get(1).cloned().ok_or_else(|| call.illegal(1))?;
        let like = resolve_scalar("like", &[Argument::of(plain.clone()), pattern], call.context)?;
        Ok(Self { part, plain, like })
    }

    /// 1 for each entry whose part is like its row's pattern.
    fn holds(&self, entries: &Lists, pattern: &Column, rows: usize) -> Result<Vec<u8>> {
        let items = cast(&self.part.items(entries)?, &self.plain, &CastOptions::default())?.materialize()?;
        let count = items.rows();
        let pattern = if pattern.is_constant() {
            pattern.slice(0, count)
        } else {
            let mut row_of = vec![0u32; count];
            (0..rows).for_each(|row| row_of[entries.range(row)].fill(row as u32));
            pattern.take(&UInt32Array::from(row_of))?
        };
        truth(&self.like.execute(&[items, pattern], count)?, count)
    }
}

/// `mapContainsKeyLike(map, pattern)`, `mapContainsValueLike(map, pattern)`.
fn contains_like(call: &Call<'_>, part: Part) -> Bound {
    let likeness = Likeness::of(call, part)?;
    call.bind(DataType::UInt8, move |arguments, rows| {
        let entries = Lists::of(arguments, 0)?;
        let holds = likeness.holds(&entries, argument(arguments, 1)?, rows)?;
        Ok(bytes_column((0..rows).map(|row| u8::from(holds[entries.range(row)].contains(&1))).collect()))
    })
}

/// `mapExtractKeyLike(map, pattern)`, `mapExtractValueLike(map, pattern)`: the entries that are like it.
fn extract_like(call: &Call<'_>, part: Part) -> Bound {
    let likeness = Likeness::of(call, part)?;
    let result = call.type_of(0).clone();
    call.bind(result.clone(), move |arguments, rows| {
        let entries = Lists::of(arguments, 0)?;
        let holds = likeness.holds(&entries, argument(arguments, 1)?, rows)?;
        let mut positions = Positions::new(rows);
        for row in 0..rows {
            positions.extend(entries.range(row).filter(|at| holds[*at] == 1))?;
            positions.end_row()?;
        }
        Ok(positions.take(&entries.items)?.with_type(result.clone()))
    })
}
