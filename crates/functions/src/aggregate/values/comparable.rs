//! Types whose values an extreme is taken of: those that have one order.

use squall_types::{DataType, Error, ErrorCode, Result};

/// Refuses values of several types, and states, also inside arrays, maps and tuples.
///
/// # Errors
/// `ILLEGAL_TYPE_OF_ARGUMENT`.
pub(in crate::aggregate) fn check(function: &str, data_type: &DataType) -> Result<()> {
    let why = if holds(data_type, |part| part.is_of_alternatives()) {
        "can contain values with different data types. Consider using typed subcolumns or cast column to a specific data type"
    } else if holds(data_type, |part| matches!(part, DataType::AggregateFunction(_))) {
        "are not comparable"
    } else {
        return Ok(());
    };
    Err(Error::new(
        ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
        format!(
            "Illegal type {data_type} of argument of aggregate function {function} because the values of that data type {why}"
        ),
    ))
}

/// Whether a type or one inside it is so.
fn holds(data_type: &DataType, is_so: fn(&DataType) -> bool) -> bool {
    is_so(data_type)
        || match data_type {
            DataType::Nullable(inner) | DataType::Array(inner) => holds(inner, is_so),
            DataType::Map(key, value) => holds(key, is_so) || holds(value, is_so),
            DataType::Tuple(elements) => elements.iter().any(|element| holds(&element.data_type, is_so)),
            _ => false,
        }
}
