//! Time zones: whose a time is, its offset, and another zone's view of it.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use squall_types::calendar::TimeZone;
use squall_types::{Column, DataType, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument};

use super::field::clock;
use super::time::zone_argument;

pub(super) fn resolve_session(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(0..=0)?;
    let name = Value::string(&*call.context.time_zone);
    call.bind(DataType::String, move |_, rows| Column::constant(DataType::String, &name, rows))
}

pub(super) fn resolve_of(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    let zone = match call.type_of(0).inner() {
        DataType::DateTime(zone) | DataType::DateTime64(_, zone) => zone.as_ref().unwrap_or(&call.context.time_zone),
        _ => return Err(call.illegal(0)),
    };
    let name = Value::string(&**zone);
    call.bind(DataType::String, move |_, rows| Column::constant(DataType::String, &name, rows))
}

pub(super) fn resolve_offset(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    let time = clock(call, None)?;
    call.bind(DataType::Int32, move |arguments, _| {
        time.map::<Int32Type>(arguments, 0, &DataType::Int32, |instant| (instant.local - instant.utc) as i32)
    })
}

pub(super) fn resolve_to(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    // The empty name is the session's zone.
    let name = zone_argument(call, 1)?;
    if let Some(name) = &name {
        TimeZone::named(name)?;
    }
    let return_type = match call.type_of(0) {
        DataType::DateTime(_) => DataType::DateTime(name),
        DataType::DateTime64(digits, _) => DataType::DateTime64(*digits, name),
        _ => return Err(call.illegal(0)),
    };
    call.bind(return_type.clone(), move |arguments, _| {
        Ok(argument(arguments, 0)?.clone().with_type(return_type.clone()))
    })
}
