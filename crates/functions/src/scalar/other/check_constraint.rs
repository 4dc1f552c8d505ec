//! `__checkConstraint(condition, name, …)`: an INSERT calls it for each constraint of its table. An error where the condition does not hold.

use std::sync::Arc;

use arrow_array::Array;
use squall_types::{DataType, Error, ErrorCode, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, floats};

use super::block::zeros;

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    let data_type = call.type_of(0);
    let message = call.constant(1).and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_condition = matches!(data_type.inner(), DataType::UInt8 | DataType::Bool | DataType::Nothing);
    if !is_condition {
        let message = format!("{message} does not return a value of type UInt8 but {data_type}");
        return Err(Error::new(ErrorCode::UNSUPPORTED_METHOD, message));
    }
    let may_be_null = data_type.is_nullable();
    call.bind(DataType::UInt8, move |arguments, rows| {
        if may_be_null
            && let Some(condition) = arguments.first()
            && condition.to_array()?.logical_null_count() > 0
        {
            let message = format!("{message} is violated: its expression is NULL in a row");
            return Err(Error::new(ErrorCode::VIOLATED_CONSTRAINT, message));
        }
        match floats(arguments, 0, rows)?.into_iter().position(|value| value == 0.0) {
            Some(row) => {
                let message = format!("{message} is violated at row {}", row + 1);
                Err(Error::new(ErrorCode::VIOLATED_CONSTRAINT, message))
            }
            None => Ok(zeros(rows)),
        }
    })
}
