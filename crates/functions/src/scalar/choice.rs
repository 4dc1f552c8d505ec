//! `transform`: values replaced by the list, as `CASE` would; `clamp` and `firstNonDefault`.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::UInt32Array;
use hashbrown::HashMap;
use squall_types::cast::{CastMode, CastOptions, cast};
use squall_types::text::TextOptions;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint, default_value, least_supertype};

use super::conditional::select;
use super::order::row_order;
use super::set::item_numbers;
use super::simple::{Call, Function, argument};
use crate::function::{BoundFunction, ScalarFunction};

type Bound = Result<Arc<dyn BoundFunction>>;

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("clamp", clamp),
    &Function::new("firstNonDefault", first_non_default).with_nulls().with_dictionaries(),
    &Function::new("transform", transform).with_nulls(),
];

fn signature() -> Error {
    Error::new(
        ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
        "Function transform has signature: transform(T, Array(T), Array(U), U) -> U; or transform(T, Array(T), \
         Array(T)) -> T; where T and U are types",
    )
}

fn constant_array<'a>(call: &Call<'a>, at: usize) -> Result<&'a [Value]> {
    match call.constant(at) {
        Some(Value::Array(items)) => Ok(items),
        _ => Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("Argument at index {at} for function {} must be constant", call.name),
        )),
    }
}

/// `transform(value, [from, …], [to, …][, otherwise])`.
fn transform(call: &Call<'_>) -> Bound {
    call.arguments(3..=4)?;
    let value_type = call.type_of(0).clone();
    let (DataType::Array(from_type), DataType::Array(to_type)) = (call.type_of(1), call.type_of(2)) else {
        return Err(signature());
    };
    let has_otherwise = call.arguments.len() == 4;
    if value_type.inner() == &DataType::Nothing {
        // NULL is in no list of values that are not NULL.
        if !has_otherwise {
            return call.bind(value_type.clone(), move |arguments, _| Ok(argument(arguments, 0)?.clone()));
        }
    }
    let result = match has_otherwise {
        true => least_supertype(&[(**to_type).clone(), call.type_of(3).clone()]).map_err(|_| signature())?,
        false => {
            let common = least_supertype(&[value_type.clone(), (**from_type).clone()]);
            if common.is_err() {
                return Err(signature());
            }
            // What is not in the list stays as it is, so the list has values of its type.
            if **to_type == DataType::Nothing || to_type.is_nullable() && !value_type.is_nullable() {
                return Err(signature());
            }
            least_supertype(&[value_type.clone(), (**to_type).clone()]).map_err(|_| signature())?
        }
    };
    if result.inner().is_nested() || result.inner().is_decimal() && result.inner().precision() > 18 {
        return Err(Error::not_implemented(format!("Unexpected type {result} in function 'transform'")));
    }
    let (from, to) = (constant_array(call, 1)?, constant_array(call, 2)?);
    if from.len() != to.len() {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            "Second and third arguments of function transform must be arrays of same size",
        ));
    }
    if from.iter().any(Value::is_null) && !value_type.is_nullable() {
        let is_only_null = from_type.inner() == &DataType::Nothing;
        return Err(Error::new(
            if is_only_null {
                ErrorCode::CANNOT_CONVERT_TYPE
            } else {
                ErrorCode::CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN
            },
            "Cannot convert NULL to a non-nullable type",
        ));
    }
    let options = CastOptions::new(CastMode::Plain, call.session_zone()?);
    let own = if value_type.inner() == &DataType::Nothing { (**from_type).clone() } else { value_type };
    let wanted = Wanted::new(call, from, from_type, &own, &options)?;
    let to_column = cast(&whole(call.type_of(2), &Value::Array(to.into()))?, &result, &options)?.materialize()?;
    let text = call.text_options()?;
    call.bind(result.clone(), move |arguments, rows| {
        let values = argument(arguments, 0)?;
        let count = values.array().len();
        checkpoint(16 * count)?;
        let column = cast(
            &Column::new(values.data_type().clone(), values.array().clone()),
            wanted.values.data_type(),
            &options,
        )?;
        let found = wanted.places(&column, &text)?;
        let otherwise = match arguments.get(3) {
            Some(otherwise) => cast(otherwise, &result, &options)?,
            None => cast(values, &result, &options)?,
        };
        if values.is_constant() {
            return Ok(match found.first().copied().flatten() {
                Some(at) => Column::repeat(&to_column.slice(at as usize, 1), rows),
                None => otherwise,
            });
        }
        let otherwise = if otherwise.is_constant() { otherwise.slice(0, 1) } else { otherwise }.materialize()?;
        let listed = to_column.rows() as u32;
        let is_one = otherwise.rows() == 1 && rows != 1;
        let positions =
            found.iter().enumerate().map(|(row, place)| place.unwrap_or(listed + if is_one { 0 } else { row as u32 }));
        Column::concat(&[to_column.clone(), otherwise])?.take(&UInt32Array::from_iter_values(positions))
    })
}

/// What `transform` looks for, as values of the first argument's type; what that cannot be is never found.
struct Wanted {
    values: Column,
    has_null: bool,
    /// NaN equals nothing, itself included.
    is_nan: Vec<bool>,
}

impl Wanted {
    /// The values `from` of the second argument, whose type is `from_type`, as values of the type `own`.
    fn new(
        call: &Call<'_>,
        from: &[Value],
        from_type: &DataType,
        own: &DataType,
        options: &CastOptions,
    ) -> Result<Self> {
        let column = whole(call.type_of(1), &Value::Array(from.into()))?;
        let or_null = CastOptions::new(CastMode::OrNull, call.session_zone()?);
        let values =
            cast(&column, &own.to_nullable(), &or_null).or_else(|_| cast(&column, &own.to_nullable(), options))?;
        if from_type.inner().is_string_or_fixed_string() && !own.inner().is_string_or_fixed_string() {
            // A text that is no value of the type is an error, not a value that is never there.
            cast(&column, own, options)?;
        }
        let is_nan = |value: &Value| matches!(value, Value::Float64(number) if number.is_nan());
        Ok(Self { values, has_null: from.iter().any(Value::is_null), is_nan: from.iter().map(is_nan).collect() })
    }

    /// Where in the list the values of a column are first; nothing for those that are not in it.
    fn places(&self, column: &Column, text: &TextOptions) -> Result<Vec<Option<u32>>> {
        // Equal values have equal numbers, in the list and in the rows.
        let (numbers, _) = item_numbers(&Column::concat(&[self.values.clone(), column.clone()])?, text)?;
        let (listed, rest) = numbers.split_at(self.values.rows().min(numbers.len()));
        let mut places: HashMap<u32, u32> = HashMap::new();
        let nulls = self.values.nulls().cloned();
        for (at, (number, is_nan)) in listed.iter().zip(&self.is_nan).enumerate() {
            let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(at));
            if (!is_null || self.has_null) && !is_nan {
                places.entry(*number).or_insert(at as u32);
            }
        }
        Ok(rest.iter().map(|number| places.get(number).copied()).collect())
    }
}

/// The items of a constant array as a column.
fn whole(array_type: &DataType, value: &Value) -> Result<Column> {
    let one = Column::constant(array_type.clone(), value, 1)?.materialize()?;
    Ok(super::array::Lists::of_column(&one)?.items)
}

/// `clamp(value, least, most)`.
fn clamp(call: &Call<'_>) -> Bound {
    call.arguments(3..=3)?;
    let types: Vec<DataType> = call.arguments.iter().map(|argument| argument.data_type.clone()).collect();
    let result = least_supertype(&types)?;
    let options = CastOptions::to_common(call.session_zone()?);
    call.bind(result.clone(), move |arguments, rows| {
        let columns = arguments.iter().map(|column| cast(column, &result, &options)?.materialize());
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let [value, least, most] = &columns[..] else { return Err(Error::logical("clamp has three arguments")) };
        let (bounds, to_least, to_most) = (row_order(least, most)?, row_order(value, least)?, row_order(value, most)?);
        let mut positions = Vec::with_capacity(rows);
        for row in 0..rows {
            if bounds(row, row) == Ordering::Greater {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    "The minimum value cannot be greater than the maximum value",
                ));
            }
            let column = match (to_least(row, row), to_most(row, row)) {
                (Ordering::Less, _) => 1,
                (_, Ordering::Greater) => 2,
                _ => 0,
            };
            positions.push((column * rows + row) as u32);
        }
        Column::concat(&columns)?.take(&UInt32Array::from(positions))
    })
}

/// `firstNonDefault(a, b, …)`: the first value that is neither NULL nor its type's default; the last one where there is none.
fn first_non_default(call: &Call<'_>) -> Bound {
    call.arguments(1..=usize::MAX)?;
    let types: Vec<DataType> = call.arguments.iter().map(|argument| argument.data_type.clone()).collect();
    let common = least_supertype(&types)?;
    let options = CastOptions::to_common(call.session_zone()?);
    // The default of a type that has NULL is NULL.
    let may_be_null: Vec<bool> = types.iter().map(DataType::is_nullable).collect();
    call.bind(common.clone(), move |arguments, rows| {
        let columns = arguments.iter().map(|column| cast(column, &common, &options));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let Some((last, before)) = columns.split_last() else { return Err(Error::logical("no arguments")) };
        let default = Column::constant(common.remove_nullable(), &default_value(&common.remove_nullable()), 1)?;
        let default = cast(&default, &common, &options)?.materialize()?;
        let mut chosen = last.clone();
        for (column, may_be_null) in before.iter().zip(&may_be_null).rev() {
            let whole = column.materialize()?;
            let order = row_order(&whole, &default)?;
            let counts = (0..rows).map(|row| {
                let is_null = whole.nulls().is_some_and(|nulls| nulls.is_null(row));
                u8::from(!is_null && (*may_be_null || order(row, 0).is_ne()))
            });
            chosen = select(&counts.collect::<Vec<_>>(), &whole, &chosen.materialize()?)?;
        }
        Ok(chosen)
    })
}
