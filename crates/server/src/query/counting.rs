//! The events of a query's beginning and end.

use std::sync::atomic::Ordering;
use std::time::Duration;

use squall_engine::QueryContext;
use squall_runtime::ProfileEvent;
use squall_runtime::histogram::{INSERT_DURATION, OTHER_DURATION, SELECT_DURATION};
use squall_runtime::profile_events::Counters;
use squall_types::{Error, ErrorCode};

use crate::process::QueryKind;

/// A query begins.
pub(super) fn count_start(context: &QueryContext, kind: QueryKind) {
    context.counters.add(ProfileEvent::Query, 1);
    // There are no queries that other servers have begun.
    context.counters.add(ProfileEvent::InitialQuery, 1);
    match kind {
        QueryKind::Select => {
            context.counters.add(ProfileEvent::SelectQuery, 1);
            context.counters.add(ProfileEvent::InitialSelectQuery, 1);
        }
        QueryKind::Insert => context.counters.add(ProfileEvent::InsertQuery, 1),
        _ => {}
    }
}

/// A query has failed.
pub(super) fn count_failure(counters: &Counters, kind: QueryKind, error: &Error) {
    if error.code == ErrorCode::MEMORY_LIMIT_EXCEEDED {
        counters.add(ProfileEvent::QueryMemoryLimitExceeded, 1);
    }
    counters.add(ProfileEvent::FailedQuery, 1);
    counters.add(ProfileEvent::FailedInitialQuery, 1);
    match kind {
        QueryKind::Select => {
            counters.add(ProfileEvent::FailedSelectQuery, 1);
            counters.add(ProfileEvent::FailedInitialSelectQuery, 1);
        }
        QueryKind::Insert => counters.add(ProfileEvent::FailedInsertQuery, 1),
        _ => {}
    }
}

/// A query has ended: how long it took, and the rows and bytes that it has read and written.
pub(super) fn count_end(context: &QueryContext, kind: QueryKind, elapsed: Duration) {
    let (counters, elapsed_us) = (&context.counters, elapsed.as_micros() as u64);
    counters.add(ProfileEvent::QueryTimeMicroseconds, elapsed_us);
    let (of_kind, histogram) = match kind {
        QueryKind::Select => (ProfileEvent::SelectQueryTimeMicroseconds, &SELECT_DURATION),
        QueryKind::Insert => (ProfileEvent::InsertQueryTimeMicroseconds, &INSERT_DURATION),
        _ => (ProfileEvent::OtherQueryTimeMicroseconds, &OTHER_DURATION),
    };
    counters.add(of_kind, elapsed_us);
    histogram.observe(elapsed);
    // Its rows are those of INSERTs, which count them.
    if kind == QueryKind::AsyncInsertFlush {
        return;
    }
    let progress = &context.progress;
    for (event, amount) in [
        (ProfileEvent::SelectedRows, &progress.read_rows),
        (ProfileEvent::SelectedBytes, &progress.read_bytes),
        (ProfileEvent::InsertedRows, &progress.written_rows),
        (ProfileEvent::InsertedBytes, &progress.written_bytes),
    ] {
        let amount = amount.load(Ordering::Relaxed);
        if amount > 0 {
            context.counters.add(event, amount);
        }
    }
}
