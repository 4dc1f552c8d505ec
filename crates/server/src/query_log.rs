//! What queries were: the entries of `system.query_log`, in memory, the oldest forgotten. A query's end puts its entry into a
//! lock-free queue; now and then, or at SYSTEM FLUSH LOGS, the queue goes into the ring that the table reads.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use crossbeam_queue::ArrayQueue;
use parking_lot::Mutex;
use squall_runtime::ProfileEvent;
use squall_types::{Error, Settings};

use crate::process::{Process, ProcessInfo};

/// Entries that wait for the ring.
const PENDING_MAX: usize = 16_384;

/// One query that ended, or failed before it began.
#[derive(Debug)]
pub struct QueryLogEntry {
    /// What was known from its start.
    pub info: ProcessInfo,
    /// Its id.
    pub query_id: Arc<str>,
    /// What it ran under.
    pub settings: Arc<Settings>,
    /// How long it took.
    pub duration: Duration,
    /// What went wrong, if anything.
    pub exception: Option<Box<Error>>,
    /// Whether it failed before it began.
    pub failed_before_start: bool,
    /// Rows read from tables.
    pub read_rows: u64,
    /// Bytes read from tables.
    pub read_bytes: u64,
    /// Rows written to tables.
    pub written_rows: u64,
    /// Bytes written to tables.
    pub written_bytes: u64,
    /// Rows of the result.
    pub result_rows: u64,
    /// Bytes of the result.
    pub result_bytes: u64,
    /// The most memory that it held, in bytes.
    pub memory_usage: u64,
    /// The threads that worked for it.
    pub thread_ids: Box<[u64]>,
    /// The most threads at once.
    pub peak_threads: u64,
    /// Its counters that are not zero.
    pub events: Box<[(ProfileEvent, u64)]>,
}

impl QueryLogEntry {
    /// The entry of a query that ended.
    pub fn of_process(process: &Process, exception: Option<Error>) -> Self {
        let context = &process.context;
        let progress = &context.progress;
        let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        Self {
            info: process.info.clone(),
            query_id: context.query_id.clone(),
            settings: context.settings.clone(),
            duration: context.started.elapsed(),
            exception: exception.map(Box::new),
            failed_before_start: false,
            read_rows: load(&progress.read_rows),
            read_bytes: load(&progress.read_bytes),
            written_rows: load(&progress.written_rows),
            written_bytes: load(&progress.written_bytes),
            result_rows: load(&progress.result_rows),
            result_bytes: load(&progress.result_bytes),
            memory_usage: context.memory.peak_bytes().unsigned_abs(),
            thread_ids: context.thread_ids().into(),
            peak_threads: context.peak_threads() as u64,
            events: context.counters.non_zero().collect(),
        }
    }

    /// The entry of a query that failed before it began.
    pub fn before_start(info: ProcessInfo, query_id: Arc<str>, settings: Arc<Settings>, exception: Error) -> Self {
        Self {
            info,
            query_id,
            settings,
            duration: Duration::ZERO,
            exception: Some(Box::new(exception)),
            failed_before_start: true,
            read_rows: 0,
            read_bytes: 0,
            written_rows: 0,
            written_bytes: 0,
            result_rows: 0,
            result_bytes: 0,
            memory_usage: 0,
            thread_ids: Box::default(),
            peak_threads: 0,
            events: Box::default(),
        }
    }

    /// When it ended.
    pub fn ended_at(&self) -> SystemTime {
        self.info.started_at + self.duration
    }
}

/// The log of queries.
#[derive(Debug)]
pub struct QueryLog {
    pending: ArrayQueue<Arc<QueryLogEntry>>,
    entries: Mutex<VecDeque<Arc<QueryLogEntry>>>,
    entries_max: usize,
}

impl QueryLog {
    /// A log that keeps so many entries.
    pub fn new(entries_max: usize) -> Self {
        Self { pending: ArrayQueue::new(PENDING_MAX), entries: Mutex::default(), entries_max }
    }

    /// Adds an entry; it is visible after the next [`flush`](Self::flush).
    pub fn add(&self, entry: QueryLogEntry) {
        let mut entry = Arc::new(entry);
        while let Err(back) = self.pending.push(entry) {
            entry = back;
            match self.entries.try_lock() {
                Some(mut entries) => self.take_pending(&mut entries),
                // Somebody else empties the queue right now.
                None => std::thread::yield_now(),
            }
        }
    }

    /// Makes everything that was added so far visible.
    pub fn flush(&self) {
        self.take_pending(&mut self.entries.lock());
    }

    /// The visible entries, the oldest first.
    pub fn entries(&self) -> Vec<Arc<QueryLogEntry>> {
        self.entries.lock().iter().cloned().collect()
    }

    fn take_pending(&self, entries: &mut VecDeque<Arc<QueryLogEntry>>) {
        // Bounded by what waits now, so that a storm of queries cannot keep this going.
        for _ in 0..self.pending.len() {
            let Some(entry) = self.pending.pop() else { break };
            if entries.len() >= self.entries_max {
                entries.pop_front();
            }
            entries.push_back(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::QueryKind;

    #[test]
    fn the_oldest_entries_go_first() {
        let log = QueryLog::new(3);
        for number in 0..PENDING_MAX + 2 {
            let info = ProcessInfo {
                query: "SELECT".into(),
                normalized_query_hash: number as u64,
                kind: QueryKind::Select,
                user: "u".into(),
                client: Arc::default(),
                database: "d".into(),
                started_at: SystemTime::now(),
            };
            let error = Error::logical("x");
            log.add(QueryLogEntry::before_start(info, "id".into(), Arc::default(), error));
        }
        log.flush();
        let hashes: Vec<u64> = log.entries().iter().map(|entry| entry.info.normalized_query_hash).collect();
        let last = PENDING_MAX as u64 + 1;
        assert_eq!(hashes, [last - 2, last - 1, last]);
    }
}
