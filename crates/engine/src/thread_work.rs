//! What one thread did for one query, for `system.query_thread_log`.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use squall_runtime::memory::ThreadBytes;
use squall_runtime::thread_usage::{ThreadUsage, thread_id};
use squall_runtime::{Counters, ProfileEvent, memory};

/// Rows and bytes that a thread read and wrote.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ThreadProgress {
    /// Rows read from tables.
    pub read_rows: u64,
    /// Bytes read from tables.
    pub read_bytes: u64,
    /// Rows written to tables.
    pub written_rows: u64,
    /// Bytes written to tables.
    pub written_bytes: u64,
}

thread_local! {
    /// What the thread did since a stretch of work began that is logged; of others nobody asks.
    static PROGRESS: Cell<ThreadProgress> = const {
        Cell::new(ThreadProgress { read_rows: 0, read_bytes: 0, written_rows: 0, written_bytes: 0 })
    };

    /// Whether the thread is in a stretch of work that is logged.
    static IS_LOGGED: Cell<bool> = const { Cell::new(false) };
}

/// The calling thread has read rows from a table.
pub(crate) fn count_read(rows: u64, bytes: u64) {
    let before = PROGRESS.get();
    PROGRESS.set(ThreadProgress {
        read_rows: before.read_rows + rows,
        read_bytes: before.read_bytes + bytes,
        ..before
    });
}

/// The calling thread has written rows to a table.
pub(crate) fn count_written(rows: u64, bytes: u64) {
    let before = PROGRESS.get();
    PROGRESS.set(ThreadProgress {
        written_rows: before.written_rows + rows,
        written_bytes: before.written_bytes + bytes,
        ..before
    });
}

/// What the calling thread has done since it was asked before.
fn take_thread_progress() -> (ThreadProgress, ThreadBytes) {
    (PROGRESS.take(), memory::take_thread_bytes())
}

/// A stretch of work of the calling thread that is logged. One that begins within another is part of it.
#[derive(Debug)]
pub(crate) struct Stretch {
    began: Instant,
    usage: ThreadUsage,
}

impl Stretch {
    /// Begins one, where none has begun.
    pub fn begin() -> Option<Self> {
        if IS_LOGGED.replace(true) {
            return None;
        }
        // What was before is not this query's.
        take_thread_progress();
        Some(Self { began: Instant::now(), usage: ThreadUsage::now() })
    }

    /// Ends it and adds it to what the thread has done for the query.
    pub fn end(&self, works: &mut BTreeMap<u64, ThreadWork>, query_started: Instant) {
        let work = works.entry(thread_id()).or_insert_with(|| ThreadWork::begin(query_started, self.began));
        self.usage.add_since(&work.counters);
        work.counters.add(ProfileEvent::RealTimeMicroseconds, self.began.elapsed().as_micros() as u64);
        work.end_stretch(query_started);
        IS_LOGGED.set(false);
    }
}

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
    /// Rows and bytes.
    pub progress: ThreadProgress,
    /// Memory: what it allocated and did not free, over all that it did for the query.
    pub memory: ThreadBytes,
}

impl ThreadWork {
    /// Of the calling thread, which has not worked for the query before.
    fn begin(query_started: Instant, began: Instant) -> Self {
        Self {
            thread_name: std::thread::current().name().unwrap_or_default().to_owned(),
            began_after: began.saturating_duration_since(query_started),
            ended_after: Duration::ZERO,
            counters: Counters::new(),
            progress: ThreadProgress::default(),
            memory: ThreadBytes::default(),
        }
    }

    fn end_stretch(&mut self, query_started: Instant) {
        self.ended_after = query_started.elapsed();
        let (progress, memory) = take_thread_progress();
        self.progress.read_rows += progress.read_rows;
        self.progress.read_bytes += progress.read_bytes;
        self.progress.written_rows += progress.written_rows;
        self.progress.written_bytes += progress.written_bytes;
        self.memory.peak_bytes = self.memory.peak_bytes.max(self.memory.bytes + memory.peak_bytes);
        self.memory.bytes += memory.bytes;
    }
}
