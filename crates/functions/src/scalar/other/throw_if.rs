//! `throwIf`: an error where a condition holds in any row.

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, floats};

use super::block::zeros;

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    if !call.type_of(0).is_number() && *call.type_of(0) != DataType::Bool {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("First argument of function throwIf must be a number (passed: {})", call.type_of(0)),
        ));
    }
    let message = match call.constant(1).and_then(Value::as_str) {
        Some(message) => message.to_owned(),
        None if call.arguments.len() > 1 => {
            return Err(Error::new(
                ErrorCode::ILLEGAL_COLUMN,
                "Second argument of function throwIf must be a constant string",
            ));
        }
        None => "Value passed to 'throwIf' function is non-zero".to_owned(),
    };
    call.bind(DataType::UInt8, move |arguments, rows| {
        let any = floats(arguments, 0, rows)?.into_iter().any(|value| value != 0.0);
        if any {
            return Err(Error::new(ErrorCode::FUNCTION_THROW_IF_VALUE_IS_NON_ZERO, message.clone()));
        }
        Ok(zeros(rows))
    })
}
