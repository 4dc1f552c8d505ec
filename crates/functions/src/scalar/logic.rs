//! `and`, `or`, `xor`, `not` over numbers as conditions, with NULL as the third value.

use std::sync::Arc;

use arrow_array::types::UInt8Type;
use arrow_buffer::NullBuffer;
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use super::kernel::{bytes_column, nullable_column, truth};
use super::simple::{Call, Function, argument};
use crate::function::{BoundFunction, ScalarFunction};
use crate::properties::Lazy;

type Bound = Result<Arc<dyn BoundFunction>>;

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("and", |call| combine(call, Operation::And))
        .with_nulls()
        .without_dictionary()
        .never_throws()
        .lazy(Lazy::And),
    &Function::new("or", |call| combine(call, Operation::Or))
        .with_nulls()
        .without_dictionary()
        .never_throws()
        .lazy(Lazy::Or),
    &Function::new("xor", |call| combine(call, Operation::Xor)).with_nulls().without_dictionary().never_throws(),
    &Function::new("not", not).never_throws(),
];

#[derive(Clone, Copy)]
enum Operation {
    And,
    Or,
    Xor,
}

fn is_condition(data_type: &DataType) -> bool {
    data_type.is_number() || *data_type == DataType::Bool
}

/// False, NULL and true as numbers in this order: `and` is the least, `or` the greatest.
const FALSE: u8 = 0;
const UNKNOWN: u8 = 1;
const TRUE: u8 = 2;

fn combine(call: &Call<'_>, operation: Operation) -> Bound {
    call.arguments(2..=usize::MAX)
        .map_err(|error| Error::new(ErrorCode::TOO_FEW_ARGUMENTS_FOR_FUNCTION, error.message))?;
    for at in 0..call.arguments.len() {
        let inner = call.type_of(at).inner();
        if !is_condition(inner) && *inner != DataType::Nothing {
            return Err(call.illegal(at));
        }
    }
    let has_null = call.arguments.iter().any(|argument| argument.data_type.is_nullable());
    let has_bool = call.arguments.iter().any(|argument| *argument.data_type.inner() == DataType::Bool);
    let plain = if has_bool { DataType::Bool } else { DataType::UInt8 };
    if !has_null {
        let result = plain.clone();
        return call.bind(plain, move |arguments, rows| {
            let mut all = truth(argument(arguments, 0)?, rows)?;
            for column in arguments.iter().skip(1) {
                let other = truth(column, rows)?;
                match operation {
                    Operation::And => all.iter_mut().zip(&other).for_each(|(all, other)| *all &= other),
                    Operation::Or => all.iter_mut().zip(&other).for_each(|(all, other)| *all |= other),
                    Operation::Xor => all.iter_mut().zip(&other).for_each(|(all, other)| *all ^= other),
                }
            }
            Ok(bytes_column(all).with_type(result.clone()))
        });
    }
    let result = plain.to_nullable();
    call.bind(result.clone(), move |arguments, rows| {
        let mut all = ternary(argument(arguments, 0)?, rows)?;
        for column in arguments.iter().skip(1) {
            let other = ternary(column, rows)?;
            let pairs = all.iter_mut().zip(&other);
            match operation {
                Operation::And => pairs.for_each(|(all, other)| *all = (*all).min(*other)),
                Operation::Or => pairs.for_each(|(all, other)| *all = (*all).max(*other)),
                Operation::Xor => pairs.for_each(|(all, other)| {
                    *all = if *all == UNKNOWN || *other == UNKNOWN { UNKNOWN } else { *all ^ *other };
                }),
            }
        }
        let valid: Vec<bool> = all.iter().map(|value| *value != UNKNOWN).collect();
        let values = all.iter().map(|value| u8::from(*value == TRUE)).collect();
        let nulls = Some(NullBuffer::from(valid)).filter(|nulls| nulls.null_count() > 0);
        nullable_column::<UInt8Type>(result.clone(), values, nulls)
    })
}

/// Each row as false, unknown or true.
fn ternary(column: &Column, rows: usize) -> Result<Vec<u8>> {
    if *column.data_type().inner() == DataType::Nothing {
        return Ok(vec![UNKNOWN; rows]);
    }
    let mut values = truth(column, rows)?;
    values.iter_mut().for_each(|value| *value *= TRUE);
    match column.nulls() {
        Some(_) if column.is_constant() => values.fill(UNKNOWN),
        Some(nulls) => {
            for (value, is_valid) in values.iter_mut().zip(nulls) {
                if !is_valid {
                    *value = UNKNOWN;
                }
            }
        }
        None => {}
    }
    debug_assert!(values.iter().all(|value| matches!(*value, FALSE | UNKNOWN | TRUE)));
    Ok(values)
}

fn not(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    if !is_condition(call.type_of(0)) {
        return Err(call.illegal(0));
    }
    let result = if *call.type_of(0) == DataType::Bool { DataType::Bool } else { DataType::UInt8 };
    call.bind(result.clone(), move |arguments, rows| {
        let mut values = truth(argument(arguments, 0)?, rows)?;
        values.iter_mut().for_each(|value| *value ^= 1);
        Ok(bytes_column(values).with_type(result.clone()))
    })
}
