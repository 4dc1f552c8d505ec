//! Conversions that the analyzer inserts: to the supertype of a UNION's branches, of an array literal's items, of a set's
//! values.

use squall_functions::{Argument, FunctionContext, resolve_scalar};
use squall_types::calendar::TimeZone;
use squall_types::{CastMode, CastOptions, DataType, Error, ErrorCode, Result, Value};

use crate::expression::Expression;

/// The least type that holds every value of all `types`.
///
/// # Errors
/// `NO_COMMON_TYPE`.
pub(crate) fn supertype(types: &[DataType]) -> Result<DataType> {
    squall_types::least_supertype(types)
}

/// The same, or a `Variant` where there is none and the session allows it (`use_variant_as_common_type`).
///
/// # Errors
/// `NO_COMMON_TYPE`.
pub(crate) fn common_type(types: &[DataType], context: &FunctionContext) -> Result<DataType> {
    squall_types::common_type(types, context.settings.use_variant_as_common_type)
}

/// A value of type `from` as one of type `to`, texts of times read in the session's time zone.
///
/// # Errors
/// `TYPE_MISMATCH` and the like where there is none.
pub(crate) fn convert(value: &Value, from: &DataType, to: &DataType, context: &FunctionContext) -> Result<Value> {
    if from == to {
        return Ok(value.clone());
    }
    if value.is_null() && to.is_nullable() {
        return Ok(Value::Null);
    }
    squall_types::cast_value(value, from, to, &options(context))
}

/// How constants are converted: as CAST does, texts of times read in the session's time zone.
pub(crate) fn options(context: &FunctionContext) -> CastOptions {
    let zone = TimeZone::named(&context.time_zone).unwrap_or_else(|_| TimeZone::utc());
    CastOptions::new(CastMode::Plain, zone)
}

/// `CAST(input, 'to')`; the input itself where it has the type already.
///
/// # Errors
/// Where there is no such conversion.
pub(crate) fn cast(input: Expression, to: &DataType, context: &FunctionContext) -> Result<Expression> {
    if input.data_type() == to {
        return Ok(input);
    }
    if let Expression::Constant { value, data_type } = &input
        && let Ok(value) = convert(value, data_type, to, context)
    {
        return Ok(Expression::Constant { value, data_type: to.clone() });
    }
    let name = Value::string(to.to_string());
    let arguments = [
        Argument::of(input.data_type().clone()),
        Argument { data_type: DataType::String, constant: Some(name.clone()) },
    ];
    let function = resolve_scalar("CAST", &arguments, context)?;
    if function.return_type() != to {
        return Err(Error::new(
            ErrorCode::CANNOT_CONVERT_TYPE,
            format!("Cannot convert {} to {to}", input.data_type()),
        ));
    }
    let type_name = Expression::Constant { value: name, data_type: DataType::String };
    Ok(Expression::Function { name: "CAST".into(), function, arguments: vec![input, type_name] })
}
