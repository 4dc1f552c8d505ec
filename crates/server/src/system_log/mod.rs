//! Logs that are tables: what queries were, what metrics were. Entries wait in memory, a thread of its own writes them as parts of
//! ordinary MergeTree tables of the database `system`, old parts go. Each log's columns are in a file of its own; what they share is
//! here.

mod asynchronous_metric_log;
mod local_days;
mod log;
mod metric_log;
mod pace;
mod part_log;
mod query_log;
mod query_thread_log;
mod queue;
mod retention;
mod scheduler_log;
mod store;
mod table;
mod text_log;
mod trace_log;

use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::{Condvar, Mutex};
use squall_engine::Engine;
use squall_functions::FunctionContext;
use squall_runtime::{ProfileEvent, profile_events, profiler};
use squall_storage::PartEvent;
use squall_types::{Error, ErrorCode, Result};

use crate::config::{LogKind, SystemLogsConfig};
use crate::logger::{Level, LogLine, keep_text_lines, take_text_lines};
use crate::process::{Process, ProcessList};
use crate::server::Server;
use asynchronous_metric_log::AsynchronousMetric;
use local_days::LocalDays;
use log::{Log, SystemLog};
use metric_log::{MetricCollector, MetricEntry};
use pace::{Haste, Pace, Work};
pub use query_log::{LoggedEvents, QueryLogEntry};
pub use query_thread_log::QueryThreadEntry;
pub use retention::Retention;
use scheduler_log::{SchedulerCollector, SchedulerEntry};
use store::LogStore;
use trace_log::TraceEntry;

/// What every row of every log says, or needs to be made.
#[derive(Clone)]
pub(crate) struct LogContext {
    /// The machine's name.
    pub(crate) host_name: Arc<str>,
    /// The server's time zone.
    pub(crate) days: Arc<LocalDays>,
}

impl LogContext {
    /// For a server of this name in this time zone.
    pub(crate) fn new(host_name: Arc<str>, time_zone: chrono_tz::Tz) -> Self {
        Self { host_name, days: Arc::new(LocalDays::new(time_zone)) }
    }
}

/// All logs of a server.
pub struct SystemLogs {
    query_log: Option<Arc<SystemLog<QueryLogEntry>>>,
    query_thread_log: Option<Arc<SystemLog<QueryThreadEntry>>>,
    metric_log: Option<(Arc<SystemLog<MetricEntry>>, Duration)>,
    asynchronous_metric_log: Option<Arc<SystemLog<AsynchronousMetric>>>,
    trace_log: Option<Arc<SystemLog<TraceEntry>>>,
    text_log: Option<(Arc<SystemLog<LogLine>>, Level)>,
    scheduler_log: Option<(Arc<SystemLog<SchedulerEntry>>, Mutex<SchedulerCollector>)>,
    part_log: Option<Arc<SystemLog<PartEvent>>>,
    all: Vec<Arc<dyn Log>>,
    functions: FunctionContext,
    processes: Arc<ProcessList>,
    store: OnceLock<LogStore>,
    hurry: Arc<Hurry>,
}

/// Tells the flushing thread to come before its time.
#[derive(Default)]
struct Hurry {
    is_wanted: Mutex<bool>,
    wanted: Condvar,
}

impl Hurry {
    fn want(&self) {
        let mut is_wanted = self.is_wanted.lock();
        if !*is_wanted {
            *is_wanted = true;
            self.wanted.notify_one();
        }
    }

    /// Waits, not longer than this; whether haste is wanted.
    fn wait(&self, at_most: Duration) -> bool {
        let mut is_wanted = self.is_wanted.lock();
        if !*is_wanted {
            self.wanted.wait_for(&mut is_wanted, at_most);
        }
        std::mem::take(&mut *is_wanted)
    }
}

impl std::fmt::Debug for SystemLogs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.all.iter().map(|log| log.name())).finish()
    }
}

impl SystemLogs {
    /// The configured logs, over the queries that run.
    pub(crate) fn new(
        config: &SystemLogsConfig,
        context: &LogContext,
        functions: FunctionContext,
        processes: Arc<ProcessList>,
    ) -> Self {
        let mut all: Vec<Arc<dyn Log>> = Vec::new();
        let query_log = config
            .get(LogKind::QueryLog)
            .map(|config| Arc::new(SystemLog::new(config.clone(), query_log::table(context))));
        let query_thread_log = config
            .get(LogKind::QueryThreadLog)
            .map(|config| Arc::new(SystemLog::new(config.clone(), query_thread_log::table(context))));
        let metric_log = config.get(LogKind::MetricLog).map(|config| {
            (Arc::new(SystemLog::new(config.clone(), metric_log::table(context))), config.collect_interval)
        });
        let asynchronous_metric_log = config
            .get(LogKind::AsynchronousMetricLog)
            .map(|config| Arc::new(SystemLog::new(config.clone(), asynchronous_metric_log::table(context))));
        let trace_log = config
            .get(LogKind::TraceLog)
            .map(|config| Arc::new(SystemLog::new(config.clone(), trace_log::table(context))));
        let text_log = config
            .get(LogKind::TextLog)
            .map(|config| (Arc::new(SystemLog::new(config.clone(), text_log::table(context))), config.level));
        let scheduler_log = config
            .get(LogKind::SchedulerLog)
            .map(|config| (Arc::new(SystemLog::new(config.clone(), scheduler_log::table(context))), Mutex::default()));
        let part_log = config
            .get(LogKind::PartLog)
            .map(|config| Arc::new(SystemLog::new(config.clone(), part_log::table(context))));
        all.extend(part_log.clone().map(|log| log as Arc<dyn Log>));
        all.extend(scheduler_log.as_ref().map(|(log, _)| log.clone() as Arc<dyn Log>));
        all.extend(query_thread_log.clone().map(|log| log as Arc<dyn Log>));
        all.extend(metric_log.clone().map(|(log, _)| log as Arc<dyn Log>));
        all.extend(asynchronous_metric_log.clone().map(|log| log as Arc<dyn Log>));
        all.extend(trace_log.clone().map(|log| log as Arc<dyn Log>));
        all.extend(text_log.clone().map(|(log, _)| log as Arc<dyn Log>));
        // Last, as the others are small and must not wait for it in a storm.
        all.extend(query_log.clone().map(|log| log as Arc<dyn Log>));
        Self {
            text_log,
            scheduler_log,
            part_log,
            trace_log,
            query_log,
            query_thread_log,
            metric_log,
            asynchronous_metric_log,
            all,
            functions,
            processes,
            store: OnceLock::new(),
            hurry: Arc::default(),
        }
    }

    /// Makes the tables that are missing, and starts the threads that collect and write.
    ///
    /// # Errors
    /// Where a table cannot be made or a thread cannot be started.
    pub(crate) fn start(server: &Arc<Server>) -> Result<()> {
        let logs = &server.system_logs;
        let store = logs.store.get_or_init(|| {
            let (databases, engine) = (server.databases.clone(), server.engine.clone());
            LogStore::new(databases, logs.functions.clone(), engine, server.background_share.clone())
        });
        for log in &logs.all {
            log.prepare(store).map_err(|error| error.context(format!("system.{}", log.name())))?;
        }
        let start = |name: &str, run: fn(&Weak<Server>)| {
            let server = Arc::downgrade(server);
            std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || run(&server))
                .map(drop)
                .map_err(|error| Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, format!("Thread {name}: {error}")))
        };
        if logs.trace_log.is_some() {
            let cannot = |error| Error::new(ErrorCode::CANNOT_SET_SIGNAL_HANDLER, format!("Query profiler: {error}"));
            profiler::enable().map_err(cannot)?;
        }
        if let Some((_, level)) = &logs.text_log {
            keep_text_lines(*level);
        }
        if !logs.all.is_empty() {
            start("SystemLogs", keep_flushing)?;
        }
        start("Metrics", keep_collecting)
    }

    /// Whether a table of the database `system` is a log's.
    pub fn has_table(&self, table: &str) -> bool {
        self.all.iter().any(|log| log.name() == table)
    }

    /// Whether queries are logged.
    pub fn has_query_log(&self) -> bool {
        self.query_log.is_some()
    }

    /// Whether a query's end is worth an entry: there is a log, and room in it. Where there is none, the entry counts as dropped.
    pub fn takes_query(&self) -> bool {
        self.query_log.as_ref().is_some_and(|log| log.takes())
    }

    /// Logs what has happened to a part. Never waits.
    pub fn add_part(&self, event: PartEvent) {
        // What is written of the log's own parts would be one more.
        if let Some(log) = &self.part_log
            && (&*event.database != store::DATABASE || *event.table != *log.name())
        {
            log.add(event, self);
        }
    }

    /// Logs a query. Never waits.
    pub fn add_query(&self, entry: QueryLogEntry) {
        if let Some(log) = &self.query_log {
            log.add(entry, self);
        }
    }

    /// Logs the threads of a query that has ended. Never waits.
    pub fn add_query_threads(&self, process: &Process) {
        if let Some(log) = &self.query_thread_log {
            QueryThreadEntry::of_process(process).for_each(|entry| log.add(entry, self));
        }
    }

    /// Writes everything that was logged so far; `SYSTEM FLUSH LOGS`. Waits for the disk.
    ///
    /// # Errors
    /// Where rows cannot be written.
    pub fn flush(&self) -> Result<()> {
        self.add_running_queries(Duration::ZERO);
        self.add_traces();
        self.add_text_lines();
        let Some(store) = self.store.get() else { return Ok(()) };
        self.add_steps(&store.engine);
        let mut result = Ok(());
        for log in &self.all {
            result = result.and(log.flush(store, Haste::Urgent, &mut Work::begin()).map(drop));
        }
        result
    }

    /// Writes what is left before the server ends; waits for the disk.
    pub fn flush_last(&self) {
        if let Err(error) = self.flush() {
            tracing::error!(target: "SystemLog", "Cannot flush the last entries: {error}");
        }
    }

    /// The flushing thread is to come before its time.
    fn hurry(&self) {
        self.hurry.want();
    }

    /// Logs the starts of queries that have run for so long and are not logged yet.
    fn add_running_queries(&self, age_min: Duration) {
        if self.query_log.is_some() {
            for process in self.processes.all() {
                if process.context.started.elapsed() >= age_min && process.take_unlogged_start() {
                    self.add_query(QueryLogEntry::of_process(&process, LoggedEvents::Start, None));
                }
            }
        }
    }

    /// Logs the traces that threads took.
    fn add_traces(&self) {
        if let Some(log) = &self.trace_log {
            profiler::take_traces(|trace| log.add(TraceEntry::new(trace), self));
        }
    }

    /// Logs what the scheduler's workers did.
    fn add_steps(&self, engine: &Engine) {
        if let Some((log, collector)) = &self.scheduler_log {
            collector.lock().collect(engine.scheduler()).into_iter().for_each(|entry| log.add(entry, self));
        }
    }

    /// Logs the lines that were written.
    fn add_text_lines(&self) {
        if let Some((log, _)) = &self.text_log {
            take_text_lines().into_iter().for_each(|line| log.add(line, self));
        }
    }

    /// Flushes the next log whose time has come; whether there was one.
    fn flush_next(&self, due: &mut [Instant], is_hurried: bool, haste: Haste, work: &mut Work) -> bool {
        let Some(store) = self.store.get() else { return false };
        let now = Instant::now();
        let mut logs = self.all.iter().zip(due.iter_mut());
        let Some((log, due)) = logs.find(|(log, due)| now >= **due || is_hurried && log.is_pressing()) else {
            return false;
        };
        *due = now + log.flush_interval();
        match log.flush(store, haste, work) {
            Ok(true) => {}
            Ok(false) => *due = now,
            Err(error) => {
                profile_events::GLOBAL.add(ProfileEvent::SystemLogErrorOnFlush, 1);
                tracing::error!(target: "SystemLog", "Cannot flush system.{}: {error}", log.name());
            }
        }
        true
    }
}

/// A `DateTime`.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A `DateTime64(6)`.
fn microseconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// How long threads sleep at most before they look whether the server is still there.
const SLEEP_MAX: Duration = Duration::from_millis(500);

/// The life of the flushing thread. It holds the server only while it flushes.
fn keep_flushing(server: &Weak<Server>) {
    let Some(hurry) = server.upgrade().map(|server| server.system_logs.hurry.clone()) else { return };
    let mut due = Vec::new();
    let mut pace = Pace::begin();
    let mut rest_until = Instant::now();
    loop {
        let now = Instant::now();
        let is_hurried = if now < rest_until {
            // Whoever hurries a thread that rests is heard after the rest.
            std::thread::sleep((rest_until - now).min(SLEEP_MAX));
            if pace.look() == Haste::Free {
                rest_until = Instant::now();
            }
            false
        } else {
            let next = due.iter().min().map_or(SLEEP_MAX, |due: &Instant| due.saturating_duration_since(now));
            hurry.wait(next.clamp(Duration::from_millis(1), SLEEP_MAX))
        };
        let Some(server) = server.upgrade().filter(|server| !server.is_shutting_down()) else { return };
        if Instant::now() < rest_until {
            continue;
        }
        let logs = &server.system_logs;
        if due.is_empty() {
            due.extend(logs.all.iter().map(|log| Instant::now() + log.flush_interval()));
        }
        if let Some(log) = &logs.query_log {
            logs.add_running_queries(log.flush_interval());
        }
        let (haste, mut work) = (pace.look(), Work::begin());
        if logs.flush_next(&mut due, is_hurried, haste, &mut work) {
            rest_until = Instant::now() + pace.rest(work.ran());
        }
    }
}

/// The life of the thread that looks at metrics.
fn keep_collecting(server: &Weak<Server>) {
    let mut collector = MetricCollector::default();
    let mut next_metrics = Instant::now();
    let mut next_asynchronous = Instant::now();
    loop {
        let Some(strong) = server.upgrade() else { return };
        if strong.is_shutting_down() {
            return;
        }
        let logs = &strong.system_logs;
        logs.add_traces();
        logs.add_text_lines();
        logs.add_steps(&strong.engine);
        let now = Instant::now();
        if now >= next_asynchronous {
            let period = Duration::from_secs(strong.config.load().server.asynchronous_metrics_update_period_s.max(1));
            next_asynchronous = next_after(next_asynchronous, period, now);
            let values = strong.asynchronous_metrics.update(&strong);
            if let Some(log) = &logs.asynchronous_metric_log {
                asynchronous_metric_log::entries(&values).for_each(|entry| log.add(entry, logs));
            }
        }
        if let Some((log, interval)) = &logs.metric_log
            && now >= next_metrics
        {
            next_metrics = next_after(next_metrics, *interval, now);
            log.add(collector.collect(), logs);
        }
        let mut next = next_asynchronous.min(now + SLEEP_MAX);
        if logs.metric_log.is_some() {
            next = next.min(next_metrics);
        }
        drop(strong);
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

/// The next time on a grid, without catching up on missed ones.
fn next_after(planned: Instant, period: Duration, now: Instant) -> Instant {
    let next = planned + period;
    if next > now { next } else { now + period }
}
