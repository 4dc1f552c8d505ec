//! Functions about NULL.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use squall_types::cast::{CastOptions, cast};
use squall_types::variant_type::NULL_ALTERNATIVE;
use squall_types::{Column, DataType, Error, ErrorCode, Result, common_type};

use super::conditional::{condition, select};
use super::kernel::{bytes_column, truth};
use super::simple::{Call, Function, argument};
use crate::function::{BoundFunction, ScalarFunction};
use crate::registry::resolve_scalar;

type Bound = Result<Arc<dyn BoundFunction>>;

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("isNull", |call| is_null(call, true)).with_nulls().with_dictionaries().never_throws().of_any_type(),
    &Function::new("isNotNull", |call| is_null(call, false))
        .with_nulls()
        .with_dictionaries()
        .never_throws()
        .of_any_type(),
    &Function::new("isNullable", is_nullable).with_nulls().with_dictionaries().never_throws().of_any_type(),
    &Function::new("isZeroOrNull", is_zero_or_null).with_nulls().without_dictionary().never_throws(),
    &Function::new("toNullable", to_nullable).with_nulls().with_dictionaries().never_throws().of_any_type(),
    &Function::new("assumeNotNull", assume_not_null).with_nulls().never_throws().of_any_type(),
    &Function::new("ifNull", if_null).with_nulls().without_dictionary().never_throws().of_any_type(),
    &Function::new("nullIf", null_if).with_nulls().without_dictionary().never_throws(),
    &Function::new("coalesce", coalesce).with_nulls().without_dictionary().never_throws().of_any_type(),
];

/// For each row 1 where it is NULL.
fn null_rows(column: &Column, rows: usize) -> Vec<u8> {
    if column.data_type().inner() == &DataType::Nothing {
        return vec![1; rows];
    }
    let mixed = match column.data_type() {
        DataType::Variant(_) => {
            let numbers = squall_types::alternatives::variant_numbers(column.array());
            numbers.iter().map(|number| u8::from(*number == NULL_ALTERNATIVE)).collect::<Vec<u8>>()
        }
        DataType::Dynamic(_) => {
            let ends = column.array().as_binary::<i32>().value_offsets();
            ends.windows(2).map(|pair| u8::from(pair[0] == pair[1])).collect()
        }
        _ => Vec::new(),
    };
    if let Some(first) = mixed.first().filter(|_| column.data_type().is_of_alternatives()) {
        return if column.is_constant() { vec![*first; rows] } else { mixed };
    }
    match column.nulls() {
        None => vec![0; rows],
        Some(_) if column.is_constant() => vec![1; rows],
        Some(nulls) => nulls.iter().map(|is_valid| u8::from(!is_valid)).collect(),
    }
}

fn is_null(call: &Call<'_>, wanted: bool) -> Bound {
    call.arguments(1..=1)?;
    call.bind(DataType::UInt8, move |arguments, rows| {
        let mut values = null_rows(argument(arguments, 0)?, rows);
        if !wanted {
            values.iter_mut().for_each(|value| *value ^= 1);
        }
        Ok(bytes_column(values))
    })
}

fn is_nullable(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let answer = u64::from(call.type_of(0).is_nullable());
    call.bind(DataType::UInt8, move |_, rows| Column::constant(DataType::UInt8, &answer.into(), rows))
}

fn is_zero_or_null(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let inner = call.type_of(0).inner();
    if !inner.is_number() && !matches!(inner, DataType::Bool | DataType::Nothing) {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("The argument of function {} must have simple numeric type", call.name),
        ));
    }
    call.bind(DataType::UInt8, move |arguments, rows| {
        let column = argument(arguments, 0)?;
        let (mut values, is_true) = (null_rows(column, rows), truth(column, rows)?);
        values.iter_mut().zip(&is_true).for_each(|(value, is_true)| *value |= is_true ^ 1);
        Ok(bytes_column(values))
    })
}

fn to_nullable(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let result = call.type_of(0).to_nullable();
    if !result.is_nullable() {
        return Err(call.illegal(0));
    }
    call.bind(result.clone(), move |arguments, _| {
        let column = argument(arguments, 0)?;
        if matches!(result, DataType::LowCardinality(_)) {
            return Ok(column.clone().with_type(result.clone()));
        }
        column.to_nullable(column.array().nulls().cloned())
    })
}

fn assume_not_null(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let result = call.type_of(0).remove_nullable();
    call.bind(result.clone(), move |arguments, rows| {
        let column = argument(arguments, 0)?;
        if matches!(result, DataType::LowCardinality(_)) {
            return column.without_low_cardinality()?.without_nulls()?.into_low_cardinality();
        }
        if result == DataType::Nothing {
            return Column::constant(result.clone(), &squall_types::Value::Null, rows);
        }
        column.without_nulls()
    })
}

fn if_null(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    coalesce(call)
}

/// The first argument that is not NULL.
fn coalesce(call: &Call<'_>) -> Bound {
    // Arguments that are always NULL are passed over, those after the first that never is are not reached.
    let mut used: Vec<usize> = Vec::new();
    for at in 0..call.arguments.len() {
        let data_type = call.type_of(at);
        if data_type.is_nullable() && data_type.inner() == &DataType::Nothing {
            continue;
        }
        used.push(at);
        if !data_type.is_nullable() && !data_type.is_of_alternatives() {
            break;
        }
    }
    let Some(last) = used.last().copied() else {
        let nothing = DataType::Nothing.to_nullable();
        return call
            .bind(nothing.clone(), move |_, rows| Column::constant(nothing.clone(), &squall_types::Value::Null, rows));
    };
    let types: Vec<DataType> = used
        .iter()
        .map(|at| if *at == last { call.type_of(*at).clone() } else { call.type_of(*at).remove_nullable() })
        .collect();
    let result = common_type(&types, call.context.settings.use_variant_as_common_type)?;
    let options = CastOptions { keeps_padding: true, ..CastOptions::to_common(call.session_zone()?) };
    call.bind(result.clone(), move |arguments, rows| {
        let nullable = result.to_nullable();
        let mut value = cast(argument(arguments, last)?, &result, &options)?;
        for at in used.iter().rev().skip(1) {
            let column = argument(arguments, *at)?;
            let is_there: Vec<u8> = null_rows(column, rows).iter().map(|is_null| is_null ^ 1).collect();
            // What lies under NULLs is not converted; the NULLs go away row by row.
            let column = cast(column, &nullable, &options)?;
            let column = if result.is_nullable() { column } else { column.without_nulls()? };
            value = select(&is_there, &column, &value)?;
        }
        Ok(value)
    })
}

fn null_if(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let equals = resolve_scalar("equals", call.arguments, call.context)?;
    let result = call.type_of(0).to_nullable();
    if !result.is_nullable() {
        return Err(call.illegal(0));
    }
    call.bind(result.clone(), move |arguments, rows| {
        let column = argument(arguments, 0)?;
        let is_equal = condition(&equals.execute(arguments, rows)?.without_low_cardinality()?, rows)?;
        let value =
            column.materialize()?.to_nullable(None)?.to_nullable(column.materialize()?.array().nulls().cloned())?;
        if value.data_type().inner() == &DataType::Nothing {
            return Column::constant(result.clone(), &squall_types::Value::Null, rows);
        }
        let null = Column::constant(result.clone(), &squall_types::Value::Null, rows)?;
        select(&is_equal, &null, &value)
    })
}
