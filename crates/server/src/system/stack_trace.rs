//! `system.stack_trace`: where every thread of the server is right now.

use std::sync::Arc;

use squall_runtime::profiler::{ThreadTrace, stacks};
use squall_runtime::symbols::to_offset;
use squall_storage::Table;
use squall_types::{Error, ErrorCode, Value};

use super::table::SystemTable;
use super::value::{number, text};

pub(super) fn stack_trace() -> Arc<dyn Table> {
    let gather = || {
        stacks().map_err(|error| Error::new(ErrorCode::STD_EXCEPTION, format!("Cannot look at the threads: {error}")))
    };
    let table = SystemTable::new("stack_trace", gather)
        .column("thread_name", "String", |row: &ThreadTrace| text(&row.name))
        .column("thread_id", "UInt64", |row| number(row.thread_id))
        .column("query_id", "String", |row| text(&row.query_id))
        .column("trace", "Array(UInt64)", |row| {
            Value::Array(row.frames.iter().map(|address| Value::UInt64(to_offset(*address))).collect())
        });
    Arc::new(table)
}
