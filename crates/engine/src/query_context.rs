//! One query's life as every part of the engine sees it: limits, cancellation, progress, memory, counters. Data moves one way
//! through pipelines; control moves the other way through this.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use squall_planner::QueryUses;
use squall_runtime::current_metrics::MetricGuard;
use squall_runtime::memory::{AttachGuard, MemoryLevel, MemoryProfile, attach};
use squall_runtime::profile_events::{self, GLOBAL};
use squall_runtime::profiler::Periods;
use squall_runtime::thread_pool::CountFor;
use squall_runtime::thread_usage::thread_id;
use squall_runtime::{Counters, CurrentMetric, MemoryTracker, ProfileEvent};
use squall_scheduler::{CpuShare, TaskOptions, Weight};
use squall_storage::{InsertLimits, Insertion, Table};
use squall_types::checkpoint::{Supervisor, SupervisorGuard, supervise};
use squall_types::dictionary_results::DictionaryResults;
use squall_types::memory::memory_limit_exceeded;
use squall_types::text::readable::readable_bytes;
use squall_types::{Error, ErrorCode, Result, Settings};

use crate::spill::Temporary;
use crate::thread_work::{Stretch, ThreadWork};

/// Rows and bytes, counted while the query runs.
#[derive(Debug, Default)]
pub struct Progress {
    /// Rows read from tables.
    pub read_rows: AtomicU64,
    /// Bytes read from tables.
    pub read_bytes: AtomicU64,
    /// Rows that tables are expected to give, as far as known.
    pub total_rows_to_read: AtomicU64,
    /// Rows written to tables.
    pub written_rows: AtomicU64,
    /// Bytes written to tables.
    pub written_bytes: AtomicU64,
    /// Rows of the result.
    pub result_rows: AtomicU64,
    /// Bytes of the result.
    pub result_bytes: AtomicU64,
    /// Rows that the last LIMIT chose from, and one more; 0 where there is none.
    before_limit: AtomicU64,
}

impl Progress {
    /// Forgets what work counted that is done anew.
    pub(crate) fn forget(&self) {
        let read = [&self.read_rows, &self.read_bytes, &self.total_rows_to_read];
        for count in read.into_iter().chain([&self.result_rows, &self.result_bytes, &self.before_limit]) {
            count.store(0, Ordering::Relaxed);
        }
    }

    /// The rows that the query's LIMIT chose from, as far as they were computed; `None` without one.
    pub fn rows_before_limit(&self) -> Option<u64> {
        self.before_limit.load(Ordering::Relaxed).checked_sub(1)
    }

    /// The query has a LIMIT.
    pub(crate) fn begin_before_limit(&self) {
        self.before_limit.store(1, Ordering::Relaxed);
    }

    pub(crate) fn count_before_limit(&self, rows: u64) {
        self.before_limit.fetch_add(rows, Ordering::Relaxed);
    }
}

/// What a worker is to do after a look at the limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Check {
    /// Go on.
    Go,
    /// Take no memory now: a limit that several queries share is passed, and one of them is being stopped. The query is woken.
    WaitForMemory,
    /// Read no more now: the query has read as much as it may until now. It is woken.
    WaitForSpeed,
}

/// A limit that is kept outside of the engine, such as what a user may use in an hour.
pub trait OutsideLimit: Send + Sync + std::fmt::Debug {
    /// Looks at what a query has used by now; called between morsels, by several threads.
    ///
    /// # Errors
    /// Where that is more than may be: the query ends with it.
    fn check(&self, context: &QueryContext) -> Result<()>;
}

/// One query, shared by everything that works for it.
#[derive(Debug)]
pub struct QueryContext {
    /// The query's id.
    pub query_id: Arc<str>,
    /// What it runs under.
    pub settings: Arc<Settings>,
    /// What it has done so far.
    pub progress: Progress,
    /// What it has used.
    pub counters: Counters,
    /// Memory charged to it.
    pub memory: Arc<MemoryTracker>,
    /// When it began.
    pub started: Instant,
    is_cancelled: AtomicBool,
    is_counted: AtomicBool,
    /// The query was chosen to free memory for others.
    is_memory_victim: AtomicBool,
    is_waiting_for_memory: AtomicBool,
    /// Since when it waits for memory.
    memory_wait: Mutex<Option<(Instant, MetricGuard)>>,
    /// Wakes what runs for it now.
    waker: Mutex<Option<Waker>>,
    /// Wakes who sends its result, once it is asked to end.
    sender: Mutex<Option<Waker>>,
    /// Reading was ended early by an overflow mode `break`: what was read is processed to the end.
    is_reading_stopped: AtomicBool,
    threads: Mutex<BTreeSet<u64>>,
    threads_now: AtomicUsize,
    threads_peak: AtomicUsize,
    /// The thread that the query came to.
    pub master_thread_id: u64,
    /// What each thread did, by its number, where `log_query_threads` wants it.
    thread_works: Mutex<BTreeMap<u64, ThreadWork>>,
    /// The share of the CPU that it is part of.
    cpu_share: OnceLock<Arc<CpuShare>>,
    /// What it uses by name, once it is planned; shared with others of the same plan.
    uses: Mutex<Option<Arc<QueryUses>>>,
    /// Where temporary data go; of the engine that runs it.
    temporary: OnceLock<Temporary>,
    outside_limit: OnceLock<Arc<dyn OutsideLimit>>,
    /// What its functions make of the values of large dictionaries.
    dictionary_results: DictionaryResults,
}

impl CountFor for QueryContext {
    fn counters(&self) -> &Counters {
        if self.is_counted.load(Ordering::Relaxed) { &GLOBAL } else { &self.counters }
    }
}

impl QueryContext {
    /// A query that begins now and belongs to nobody.
    pub fn new(query_id: Arc<str>, settings: Arc<Settings>) -> Arc<Self> {
        Self::of_user(query_id, settings, None)
    }

    /// A query that begins now; its memory counts for `user_memory` too.
    pub fn of_user(query_id: Arc<str>, settings: Arc<Settings>, user_memory: Option<Arc<MemoryTracker>>) -> Arc<Self> {
        let memory = Arc::new(MemoryTracker::query(settings.max_memory_usage, user_memory));
        let profile = MemoryProfile {
            step_bytes: settings.memory_profiler_step,
            sample_probability: settings.memory_profiler_sample_probability,
            sample_min_bytes: settings.memory_profiler_sample_min_allocation_size,
            sample_max_bytes: settings.memory_profiler_sample_max_allocation_size,
        };
        memory.profile(profile, settings.max_untracked_memory);
        Arc::new(Self {
            query_id,
            settings,
            progress: Progress::default(),
            counters: Counters::new(),
            memory,
            started: Instant::now(),
            is_cancelled: AtomicBool::new(false),
            is_counted: AtomicBool::new(false),
            is_memory_victim: AtomicBool::new(false),
            is_waiting_for_memory: AtomicBool::new(false),
            memory_wait: Mutex::default(),
            waker: Mutex::default(),
            sender: Mutex::default(),
            is_reading_stopped: AtomicBool::new(false),
            threads: Mutex::default(),
            threads_now: AtomicUsize::new(0),
            threads_peak: AtomicUsize::new(0),
            dictionary_results: DictionaryResults::default(),
            master_thread_id: thread_id(),
            thread_works: Mutex::default(),
            cpu_share: OnceLock::new(),
            uses: Mutex::default(),
            temporary: OnceLock::new(),
            outside_limit: OnceLock::new(),
        })
    }

    /// Makes the query part of a share of the CPU, before it is started.
    pub fn set_cpu_share(&self, share: Arc<CpuShare>) {
        let _ = self.cpu_share.set(share);
    }

    /// Has a limit looked at while the query runs, from before it is started.
    pub fn set_outside_limit(&self, limit: Arc<dyn OutsideLimit>) {
        let _ = self.outside_limit.set(limit);
    }

    pub(crate) fn set_temporary(&self, temporary: &Temporary) {
        // A query is executed once.
        let _ = self.temporary.set(temporary.clone());
    }

    /// Where its temporary data go.
    pub(crate) fn temporary(&self) -> &Temporary {
        self.temporary.get_or_init(Temporary::default)
    }

    /// What the scheduler gives it beside others.
    pub(crate) fn weight(&self) -> Weight {
        let own = TaskOptions::weight_of_priority(self.settings.priority);
        self.cpu_share.get().map_or(own.into(), |share| Weight::within(share.clone(), own))
    }

    /// Adds what the query has used to the process's counters, at its end. What its threads count later is the process's alone.
    pub fn count_for_process(&self) {
        if !self.is_counted.swap(true, Ordering::Relaxed) {
            GLOBAL.add_all(&self.counters);
        }
    }

    /// Asks the query to end; it does within one morsel, with `QUERY_WAS_CANCELLED`.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::SeqCst);
        self.stop();
    }

    /// Chooses the query to free memory for others; it ends within one morsel, with `MEMORY_LIMIT_EXCEEDED`.
    pub fn stop_for_memory(&self) {
        self.is_memory_victim.store(true, Ordering::SeqCst);
        self.stop();
    }

    fn stop(&self) {
        self.wake();
        let sender = self.sender.lock().take();
        if let Some(sender) = sender {
            sender.wake();
        }
    }

    /// Whether somebody asked the query to end, whatever the reason: for who sends its result, and may be waiting for a client that takes nothing.
    pub fn poll_stopped(&self, task: &Context<'_>) -> Poll<()> {
        let is_stopped = || self.is_cancelled.load(Ordering::SeqCst) || self.is_memory_victim.load(Ordering::SeqCst);
        if is_stopped() {
            return Poll::Ready(());
        }
        *self.sender.lock() = Some(task.waker().clone());
        // It may have been asked between the two.
        if is_stopped() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Whether it was chosen to free memory.
    pub fn is_memory_victim(&self) -> bool {
        self.is_memory_victim.load(Ordering::Relaxed)
    }

    /// Whether it waits for memory that others are to free.
    pub fn is_waiting_for_memory(&self) -> bool {
        self.is_waiting_for_memory.load(Ordering::Relaxed)
    }

    /// Has a worker look at the query again.
    pub fn wake(&self) {
        let waker = self.waker.lock().clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn set_waker(&self, waker: Waker) {
        // Those of subqueries come first, while it is planned.
        *self.waker.lock() = Some(waker);
    }

    /// Whether somebody asked the query to end.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// # Errors
    /// `QUERY_WAS_CANCELLED` once somebody has asked the query to end.
    pub fn check_cancelled(&self) -> Result<()> {
        match self.is_cancelled() {
            true => Err(Error::new(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled")),
            false => Ok(()),
        }
    }

    /// Whether no more rows are to be read, though nothing failed.
    pub fn is_reading_stopped(&self) -> bool {
        self.is_reading_stopped.load(Ordering::Relaxed)
    }

    /// Checks every limit; called between morsels.
    ///
    /// # Errors
    /// `QUERY_WAS_CANCELLED`, `TIMEOUT_EXCEEDED`, `MEMORY_LIMIT_EXCEEDED`, `TOO_MANY_ROWS`, `TOO_MANY_BYTES`, `TOO_SLOW`, and those of a
    /// limit from outside.
    pub fn check(&self) -> Result<Check> {
        self.check_cancelled()?;
        let settings = &self.settings;
        if !settings.max_execution_time.is_zero() {
            let elapsed = self.started.elapsed();
            if elapsed > settings.max_execution_time {
                self.overflow(&settings.timeout_overflow_mode, || {
                    timeout_exceeded(elapsed, settings.max_execution_time)
                })?;
            }
        }
        let limit = |limit: u64, used: &AtomicU64, code: ErrorCode, what: &str| {
            let used = used.load(Ordering::Relaxed);
            if limit == 0 || used <= limit {
                return Ok(());
            }
            self.overflow(&settings.read_overflow_mode, || {
                Error::new(code, format!("Limit for {what} to read exceeded: {used} {what} read, maximum: {limit}"))
            })
        };
        limit(settings.max_rows_to_read, &self.progress.read_rows, ErrorCode::TOO_MANY_ROWS, "rows")?;
        limit(settings.max_bytes_to_read, &self.progress.read_bytes, ErrorCode::TOO_MANY_BYTES, "bytes")?;
        if let Some(limit) = self.outside_limit.get() {
            limit.check(self)?;
        }
        match self.check_speed()? {
            Check::Go => self.check_memory(),
            wait => Ok(wait),
        }
    }

    /// Compares what was read in a second with what may be, and what must.
    fn check_speed(&self) -> Result<Check> {
        let settings = &self.settings;
        let limits = [
            ("rows", &self.progress.read_rows, settings.min_execution_speed, settings.max_execution_speed),
            (
                "bytes",
                &self.progress.read_bytes,
                settings.min_execution_speed_bytes,
                settings.max_execution_speed_bytes,
            ),
        ];
        if limits.iter().all(|(.., min, max)| (*min, *max) == (0, 0)) {
            return Ok(Check::Go);
        }
        let elapsed = self.started.elapsed();
        let mut check = Check::Go;
        if elapsed > settings.timeout_before_checking_execution_speed {
            let has_read = self.progress.read_rows.load(Ordering::Relaxed) > 0;
            for (what, read, min, max) in limits {
                let read = read.load(Ordering::Relaxed);
                let speed = (read as f64 / elapsed.as_secs_f64()) as u64;
                if has_read && speed < min {
                    let message = format!("Query is executing too slow: {speed} {what}/sec., minimum: {min}");
                    return Err(Error::new(ErrorCode::TOO_SLOW, message));
                }
                if max > 0 && speed > max {
                    check = Check::WaitForSpeed;
                }
            }
        }
        Ok(check)
    }

    fn check_memory(&self) -> Result<Check> {
        if self.is_memory_victim() {
            self.end_memory_wait();
            return Err(self.stopped_for_memory());
        }
        let Err(exceeded) = self.memory.check() else {
            if self.is_waiting_for_memory() {
                self.end_memory_wait();
            }
            return Ok(Check::Go);
        };
        let wait_max = Duration::from_micros(self.settings.memory_usage_overcommit_max_wait_microseconds);
        if exceeded.level == MemoryLevel::Query || wait_max.is_zero() {
            return Err(memory_limit_exceeded(&exceeded, ""));
        }
        // Somebody's limit above this query's own: another may have to go, and until then nobody takes more.
        let mut wait = self.memory_wait.lock();
        let (since, _) = wait.get_or_insert_with(|| (Instant::now(), CurrentMetric::QueriesWaitingForMemory.hold(1)));
        let waited = since.elapsed();
        drop(wait);
        self.is_waiting_for_memory.store(true, Ordering::Relaxed);
        if waited > wait_max {
            self.end_memory_wait();
            return Err(memory_limit_exceeded(&exceeded, ". Memory overcommit has not freed enough memory"));
        }
        Ok(Check::WaitForMemory)
    }

    fn stopped_for_memory(&self) -> Error {
        Error::new(
            ErrorCode::MEMORY_LIMIT_EXCEEDED,
            format!(
                "Memory limit exceeded: the query holds {} and was selected to stop by OvercommitTracker",
                readable_bytes(self.memory.bytes())
            ),
        )
    }

    fn end_memory_wait(&self) {
        self.is_waiting_for_memory.store(false, Ordering::Relaxed);
        if let Some((since, _)) = self.memory_wait.lock().take() {
            let waited_us = since.elapsed().as_micros() as u64;
            self.counters.add(ProfileEvent::MemoryOvercommitWaitTimeMicroseconds, waited_us);
        }
    }

    /// A limit is passed: `break` ends reading, anything else is the error.
    fn overflow(&self, mode: &str, error: impl FnOnce() -> Error) -> Result<()> {
        if mode == "break" {
            // Counted once for a query, however many workers find out.
            if !self.is_reading_stopped.swap(true, Ordering::Relaxed) {
                self.counters.add(ProfileEvent::OverflowBreak, 1);
            }
            return Ok(());
        }
        self.counters.add(ProfileEvent::OverflowThrow, 1);
        Err(error())
    }

    /// The calling thread works for this query until the guard is dropped: its allocations, its number and what it does are the query's.
    pub fn enter(self: &Arc<Self>) -> ThreadGuard<'_> {
        let now = self.threads_now.fetch_add(1, Ordering::Relaxed) + 1;
        self.threads_peak.fetch_max(now, Ordering::Relaxed);
        self.threads.lock().insert(thread_id());
        let profiler = squall_runtime::profiler::attach(&self.query_id, self.profiler_periods());
        let memory = attach(self.memory.clone());
        ThreadGuard {
            context: self,
            stretch: if self.settings.log_query_threads { Stretch::begin() } else { None },
            _metric: CurrentMetric::QueryThread.hold(1),
            _profiler: profiler,
            _counting: profile_events::attach(self.clone()),
            _memory: memory,
            _supervisor: supervise(self.clone()),
        }
    }

    /// Begins an INSERT into a table on this query's account: a thread that the table has write for it knows when the query ends.
    ///
    /// # Errors
    /// Where the table takes no rows.
    pub fn begin_insert(self: &Arc<Self>, table: &dyn Table, limits: InsertLimits) -> Result<Arc<dyn Insertion>> {
        let _memory = attach(self.memory.clone());
        let _counting = profile_events::attach(self.clone());
        let _supervisor = supervise(self.clone());
        table.insert_within(limits)
    }

    /// What each thread did, by its number.
    pub fn take_thread_works(&self) -> BTreeMap<u64, ThreadWork> {
        std::mem::take(&mut *self.thread_works.lock())
    }

    /// Says what the query uses by name.
    pub fn set_uses(&self, uses: Arc<QueryUses>) {
        *self.uses.lock() = Some(uses);
    }

    /// Takes note of more that the query uses.
    pub fn note_uses(&self, note: impl FnOnce(&mut QueryUses)) {
        note(Arc::make_mut(self.uses.lock().get_or_insert_default()));
    }

    /// What the query uses by name, as far as it is planned.
    pub fn uses(&self) -> Option<Arc<QueryUses>> {
        self.uses.lock().clone()
    }

    /// Whether it may wait for a dictionary's source while it runs.
    pub(crate) fn asks_sources(&self) -> bool {
        self.uses.lock().as_ref().is_some_and(|uses| uses.asks_sources)
    }

    fn profiler_periods(&self) -> Periods {
        Periods {
            real_ns: self.settings.query_profiler_real_time_period_ns,
            cpu_ns: self.settings.query_profiler_cpu_time_period_ns,
        }
    }

    /// Ids of all threads that have worked for the query, ascending.
    pub fn thread_ids(&self) -> Vec<u64> {
        self.threads.lock().iter().copied().collect()
    }

    /// The same without copying them.
    pub fn with_thread_ids(&self, each: impl FnOnce(&BTreeSet<u64>)) {
        each(&self.threads.lock());
    }

    /// The most threads that worked for the query at once.
    pub fn peak_threads(&self) -> usize {
        self.threads_peak.load(Ordering::Relaxed)
    }

    /// Notes that the query holds this many threads from its start, as `fixed_at_start` grants them.
    pub fn note_threads(&self, threads: usize) {
        self.threads_peak.fetch_max(threads, Ordering::Relaxed);
    }
}

fn timeout_exceeded(elapsed: Duration, maximum: Duration) -> Error {
    let milliseconds = |time: Duration| time.as_secs_f64() * 1_000.0;
    Error::new(
        ErrorCode::TIMEOUT_EXCEEDED,
        format!("Timeout exceeded: elapsed {:.3} ms, maximum: {} ms", milliseconds(elapsed), milliseconds(maximum)),
    )
}

/// Within a morsel: what is over at once. Limits that several queries share are looked at between morsels, where one can wait.
impl Supervisor for QueryContext {
    fn check(&self) -> Result<()> {
        self.check_cancelled()?;
        let maximum = self.settings.max_execution_time;
        let elapsed = self.started.elapsed();
        if !maximum.is_zero() && elapsed > maximum && self.settings.timeout_overflow_mode != "break" {
            return Err(timeout_exceeded(elapsed, maximum));
        }
        if self.is_memory_victim() {
            return Err(self.stopped_for_memory());
        }
        match self.memory.check() {
            Err(exceeded) if exceeded.level == MemoryLevel::Query => Err(memory_limit_exceeded(&exceeded, "")),
            _ => Ok(()),
        }
    }

    fn dictionary_results(&self) -> Option<&DictionaryResults> {
        Some(&self.dictionary_results)
    }
}

/// Ends [`QueryContext::enter`] when dropped.
pub struct ThreadGuard<'a> {
    context: &'a QueryContext,
    stretch: Option<Stretch>,
    _metric: MetricGuard,
    _counting: profile_events::AttachGuard,
    _profiler: squall_runtime::profiler::AttachGuard,
    _memory: AttachGuard,
    _supervisor: SupervisorGuard,
}

impl Drop for ThreadGuard<'_> {
    fn drop(&mut self) {
        self.context.threads_now.fetch_sub(1, Ordering::Relaxed);
        if let Some(stretch) = &self.stretch {
            stretch.end(&mut self.context.thread_works.lock(), self.context.started);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(changes: &[(&str, &str)]) -> Arc<QueryContext> {
        let mut settings = Settings::default();
        for (name, value) in changes {
            settings.set(name, value).unwrap();
        }
        QueryContext::new("id".into(), settings.into())
    }

    #[test]
    fn limits_are_errors_or_breaks() {
        let throwing = context(&[("max_rows_to_read", "10")]);
        assert!(throwing.check().is_ok());
        throwing.progress.read_rows.store(11, Ordering::Relaxed);
        assert_eq!(throwing.check().unwrap_err().code, ErrorCode::TOO_MANY_ROWS);
        let breaking = context(&[("max_rows_to_read", "10"), ("read_overflow_mode", "break")]);
        breaking.progress.read_rows.store(11, Ordering::Relaxed);
        assert_eq!(breaking.check(), Ok(Check::Go));
        assert!(breaking.is_reading_stopped());
        let speed = |name: &str| {
            let limited = context(&[(name, "1000000000"), ("timeout_before_checking_execution_speed", "0")]);
            limited.progress.read_rows.store(if name.starts_with("min") { 1 } else { u64::MAX }, Ordering::Relaxed);
            limited.check().map_err(|error| error.code)
        };
        assert_eq!(speed("min_execution_speed"), Err(ErrorCode::TOO_SLOW));
        assert_eq!(speed("min_execution_speed_bytes"), Err(ErrorCode::TOO_SLOW));
        assert_eq!(speed("max_execution_speed"), Ok(Check::WaitForSpeed));
        let cancelled = context(&[]);
        cancelled.cancel();
        assert_eq!(cancelled.check().unwrap_err().code, ErrorCode::QUERY_WAS_CANCELLED);
    }

    #[test]
    fn a_limit_shared_with_others_is_waited_for() {
        let user = Arc::new(MemoryTracker::user());
        user.set_limit(100);
        let query = |changes: &[(&str, &str)]| {
            let mut settings = Settings::default();
            changes.iter().for_each(|(name, value)| settings.set(name, value).unwrap());
            QueryContext::of_user("id".into(), settings.into(), Some(user.clone()))
        };
        let (large, small) = (query(&[]), query(&[]));
        large.memory.add(90);
        small.memory.add(20);
        assert_eq!((large.check(), small.check()), (Ok(Check::WaitForMemory), Ok(Check::WaitForMemory)));
        assert!(small.is_waiting_for_memory());
        large.stop_for_memory();
        let error = large.check().unwrap_err();
        assert_eq!(error.code, ErrorCode::MEMORY_LIMIT_EXCEEDED);
        assert!(error.message.contains("selected to stop by OvercommitTracker"), "{error}");
        large.memory.add(-90);
        assert_eq!(small.check(), Ok(Check::Go));
        assert!(!small.is_waiting_for_memory());
        // Who would not wait is told at once, who has waited in vain after that time.
        user.add(100);
        let impatient = query(&[("memory_usage_overcommit_max_wait_microseconds", "0")]);
        assert!(impatient.check().unwrap_err().message.starts_with("User memory limit exceeded: would use 120.00 B"));
        let waiting = query(&[("memory_usage_overcommit_max_wait_microseconds", "1")]);
        assert_eq!(waiting.check(), Ok(Check::WaitForMemory));
        std::thread::sleep(Duration::from_millis(1));
        assert!(waiting.check().unwrap_err().message.contains("Memory overcommit has not freed enough memory"));
        // A query that passes its own limit has nobody to wait for.
        let own = query(&[("max_memory_usage", "5")]);
        own.memory.add(6);
        assert!(own.check().unwrap_err().message.starts_with("Query memory limit exceeded: would use 6.00 B"));
    }
}
