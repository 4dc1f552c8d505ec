//! `system.errors`: which errors have happened, how often and when last.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::SystemTime;

use parking_lot::Mutex;
use squall_storage::Table;
use squall_types::{Error, ErrorCode};

use super::table::SystemTable;
use super::upgrade;
use super::value::{date_time, flag, no_items, number, signed, text};
use crate::masking::mask;
use crate::server::Server;

/// The errors since the server began.
#[derive(Debug, Default)]
pub struct ErrorCounts(Mutex<BTreeMap<ErrorCode, ErrorCount>>);

/// One error's history.
#[derive(Clone, Debug)]
struct ErrorCount {
    count: u64,
    last: SystemTime,
    last_message: String,
    last_query_id: Arc<str>,
}

impl ErrorCounts {
    /// Counts an error that a client was told.
    pub fn add(&self, error: &Error, query_id: &Arc<str>) {
        let mut counts = self.0.lock();
        let count = counts.entry(error.code).or_insert_with(|| ErrorCount {
            count: 0,
            last: SystemTime::UNIX_EPOCH,
            last_message: String::new(),
            last_query_id: query_id.clone(),
        });
        count.count += 1;
        count.last = SystemTime::now();
        count.last_message = mask(&error.message).into_owned();
        count.last_query_id.clone_from(query_id);
    }

    /// How often each error happened.
    pub fn counts(&self) -> Vec<(ErrorCode, u64)> {
        self.0.lock().iter().map(|(code, count)| (*code, count.count)).collect()
    }

    fn all(&self) -> Vec<(ErrorCode, ErrorCount)> {
        self.0.lock().iter().map(|(code, count)| (*code, count.clone())).collect()
    }
}

pub(super) fn errors(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let table = SystemTable::new("errors", move || Ok(upgrade(&server)?.errors.all()))
        .column("name", "String", |(code, _): &(ErrorCode, ErrorCount)| text(code.name()))
        .column("code", "Int32", |(code, _)| signed(code.0))
        .column("value", "UInt64", |(_, count)| number(count.count))
        .column("last_error_time", "DateTime", |(_, count)| date_time(count.last))
        .column("last_error_message", "String", |(_, count)| text(&count.last_message))
        .constant("last_error_format_string", "String", text(""))
        .constant("last_error_trace", "Array(UInt64)", no_items())
        .constant("remote", "UInt8", flag(false))
        .column("query_id", "String", |(_, count)| text(&count.last_query_id));
    Arc::new(table)
}
