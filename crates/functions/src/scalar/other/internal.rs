//! Functions that ClickHouse's planner writes into queries, and that clients see in plans and stored definitions: the bit masks of which
//! truth values a condition may have, marks around values, and the check of arrays that belong together.

use std::sync::Arc;

use arrow_array::types::UInt8Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::array::Lists;
use crate::scalar::simple::{Call, Numbers, argument, primitive_column};

type Bound = Result<Arc<dyn BoundFunction>>;

/// The bit of a mask that says: the condition may be true.
const MAY_BE_TRUE: u8 = 1;
/// The bit that says: it may be false.
const MAY_BE_FALSE: u8 = 2;

/// `__bitBoolMaskAnd`, `__bitBoolMaskOr`, `__bitSwapLastTwo` (not), `__bitWrapperFunc` (of a value): what a condition may be.
pub(super) fn resolve_mask(call: &Call<'_>) -> Bound {
    let count = if call.name.starts_with("__bitBoolMask") { 2 } else { 1 };
    call.arguments(count..=count)?;
    if call.arguments.iter().any(|argument| !matches!(argument.data_type, DataType::UInt8 | DataType::Bool)) {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("It's a bug! Only UInt8 type is supported by {}", call.name),
        ));
    }
    let mask: fn(u8, u8) -> u8 = match call.name {
        "__bitBoolMaskAnd" => |left, right| left & right & MAY_BE_TRUE | (left | right) & MAY_BE_FALSE,
        "__bitBoolMaskOr" => |left, right| (left | right) & MAY_BE_TRUE | left & right & MAY_BE_FALSE,
        "__bitSwapLastTwo" => |mask, _| (mask & MAY_BE_TRUE) << 1 | (mask & MAY_BE_FALSE) >> 1,
        _ => |value, _| if value == 0 { MAY_BE_FALSE } else { MAY_BE_TRUE },
    };
    call.bind(DataType::UInt8, move |arguments, rows| {
        let left = Numbers::<UInt8Type>::of(arguments, 0)?;
        let right = if count == 2 { Numbers::<UInt8Type>::of(arguments, 1)? } else { Numbers::Constant(0) };
        Ok(primitive_column::<UInt8Type>(DataType::UInt8, rows, |row| mask(left.get(row), right.get(row))))
    })
}

/// `__scalarSubqueryResult`: the value as it is.
pub(super) fn resolve_as_it_is(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.bind(call.type_of(0).clone(), |arguments, _| argument(arguments, 0).cloned())
}

/// `__actionName`: no query may call it.
pub(super) fn resolve_refused(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    Err(Error::new(
        ErrorCode::BAD_ARGUMENTS,
        format!("Function {} is internal and should not be used directly", call.name),
    ))
}

/// `__getScalar(hash)`: a value that another server sent ahead. None is ever sent here: values of subqueries are in the plan itself.
pub(super) fn resolve_scalar(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    match call.constant(0).and_then(Value::as_str) {
        Some(hash) => Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Scalar {hash} doesn't exist (internal bug)"))),
        None => Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Function {} accepts one const string argument", call.name),
        )),
    }
}

/// `__applyFilter(name, value)`: whether the filter of a join lets a value pass. A filter that is not there lets all of them.
pub(super) fn resolve_filter(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    call.strings([0])?;
    call.bind(DataType::UInt8, |_, rows| Column::constant(DataType::UInt8, &Value::UInt64(1), rows))
}

/// `validateNestedArraySizes(condition, array, array, …)`: 1, or an error where the condition holds and the arrays of a row differ in
/// length.
pub(super) fn resolve_sizes(call: &Call<'_>) -> Bound {
    if call.arguments.len() < 3 {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!("Function {} needs more than two arguments; passed {}", call.name, call.arguments.len()),
        ));
    }
    call.each([0], |data_type| *data_type == DataType::UInt8)?;
    call.each(1..call.arguments.len(), |data_type| matches!(data_type, DataType::Array(_)))?;
    call.bind(DataType::UInt8, |arguments, rows| {
        let conditions = Numbers::<UInt8Type>::of(arguments, 0)?;
        let lists = (1..arguments.len()).map(|at| Lists::of(arguments, at)).collect::<Result<Vec<_>>>()?;
        for row in (0..rows).filter(|row| conditions.get(*row) != 0) {
            let mut lengths = lists.iter().map(|lists| lists.range(row).len());
            let first = lengths.next().unwrap_or(0);
            if let Some(other) = lengths.find(|length| *length != first) {
                return Err(Error::new(
                    ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                    format!(
                        "Elements of Nested data structure (Array columns) have different array sizes ({first} and {other} respectively) on row {row}"
                    ),
                ));
            }
        }
        Ok(Column::from_primitive::<UInt8Type>(DataType::UInt8, vec![1; rows]))
    })
}
