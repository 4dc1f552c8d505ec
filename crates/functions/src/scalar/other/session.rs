//! What a query knows of its server and session, as constants.

use std::sync::Arc;

use squall_types::{Column, DataType, ErrorCode, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, integers, string_column};

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(0..=0)?;
    let context = call.context;
    let text: &str = match call.name {
        "version" => &context.server_version,
        "currentDatabase" => &context.current_database,
        "displayName" => &context.display_name,
        "currentUser" => context.moment.user(),
        "authenticatedUser" => context.moment.authenticated_user(),
        "queryID" | "initialQueryID" | "currentQueryID" => context.moment.query_id(),
        "squallVersion" => env!("CARGO_PKG_VERSION"),
        _ => &context.host_name,
    };
    let value = Value::string(text);
    call.bind(DataType::String, move |_, rows| Column::constant(DataType::String, &value, rows))
}

pub(super) fn resolve_revision(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(0..=0)?;
    let value = Value::UInt64(call.context.server_revision.into());
    call.bind(DataType::UInt32, move |_, rows| Column::constant(DataType::UInt32, &value, rows))
}

pub(super) fn resolve_uptime(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(0..=0)?;
    let value = Value::UInt64(call.context.moment.uptime_seconds().into());
    call.bind(DataType::UInt32, move |_, rows| Column::constant(DataType::UInt32, &value, rows))
}

/// The name of an error code; empty for a number that is none.
pub(super) fn resolve_error_name(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.integers([0])?;
    let return_type = DataType::LowCardinality(Arc::new(DataType::String));
    call.bind(return_type, |arguments, rows| {
        let codes = integers(arguments, 0, rows)?;
        let names = string_column(rows, rows * 16, |out, row| {
            let known = i32::try_from(codes[row]).ok().map(ErrorCode);
            if let Some((_, name)) = ErrorCode::ALL.iter().find(|(code, _)| Some(*code) == known) {
                out.extend_from_slice(name.as_bytes());
            }
            Ok(())
        })?;
        names.into_low_cardinality()
    })
}
