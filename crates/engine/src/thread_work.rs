//! What one thread did for one query, for `system.query_thread_log`.

use std::time::{Duration, Instant};

use squall_runtime::Counters;

/// A thread's share of a query.
#[derive(Debug)]
pub struct ThreadWork {
    /// The thread's name.
    pub thread_name: String,
    /// When it first worked for the query, counted from the query's beginning.
    pub began_after: Duration,
    /// When it last ended to.
    pub ended_after: Duration,
    /// What it used.
    pub counters: Counters,
}

impl ThreadWork {
    /// Of the calling thread, which has not worked for the query before.
    pub(crate) fn begin(query_started: Instant, began: Instant) -> Self {
        Self {
            thread_name: std::thread::current().name().unwrap_or_default().to_owned(),
            began_after: began.saturating_duration_since(query_started),
            ended_after: Duration::ZERO,
            counters: Counters::new(),
        }
    }
}
