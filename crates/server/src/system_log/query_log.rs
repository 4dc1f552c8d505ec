//! `system.query_log`: a row for the start and a row for the end of every query.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use squall_runtime::ProfileEvent;
use squall_types::{Error, Settings, Value};

use super::log::LogEntry;
use super::table::LogTable;
use super::{LogContext, microseconds, seconds};
use crate::process::{Process, ProcessInfo};
use crate::system::value::{flag, map, no_items, number, text};
use crate::version::{REVISION, VERSION};

const TYPE: &str =
    "Enum8('QueryStart' = 1, 'QueryFinish' = 2, 'ExceptionBeforeStart' = 3, 'ExceptionWhileProcessing' = 4)";
pub(super) const INTERFACE: &str = "Enum8('Unknown' = 0, 'TCP' = 1, 'HTTP' = 2, 'gRPC' = 3, 'MySQL' = 4, 'PostgreSQL' = 5, \
    'Local' = 6, 'TCP_Interserver' = 7, 'Prometheus' = 8, 'Background' = 9, 'ArrowFlight' = 10)";
pub(super) const HTTP_METHOD: &str =
    "Enum8('UNKNOWN' = 0, 'GET' = 1, 'POST' = 2, 'OPTIONS' = 3, 'PUT' = 4, 'DELETE' = 5, 'HEAD' = 6)";

/// What of a query is logged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoggedEvents {
    /// That it began.
    Start,
    /// That it ended; its start is logged already, or not wanted.
    End,
    /// That it began and ended.
    StartAndEnd,
    /// That it failed before it began.
    FailureBeforeStart,
}

impl LoggedEvents {
    /// Whether a query's start is wanted, as far as is known when it begins. `log_queries_probability` is the caller's to roll.
    pub fn wants_start(settings: &Settings) -> bool {
        settings.log_queries
            && settings.log_queries_min_query_duration_ms.is_zero()
            && event_number(&settings.log_queries_min_type) <= EventType::QueryStart as u8
    }

    /// Whether a query's end is wanted.
    pub fn wants_end(settings: &Settings, duration: Duration, has_failed: bool) -> bool {
        let event = if has_failed { EventType::ExceptionWhileProcessing } else { EventType::QueryFinish };
        settings.log_queries
            && duration >= settings.log_queries_min_query_duration_ms
            && event_number(&settings.log_queries_min_type) <= event as u8
    }

    /// Whether a query's failure before its start is wanted.
    pub fn wants_failure(settings: &Settings) -> bool {
        settings.log_queries
            && settings.log_queries_min_query_duration_ms.is_zero()
            && event_number(&settings.log_queries_min_type) <= EventType::ExceptionBeforeStart as u8
    }
}

/// The number of an event in `log_queries_min_type`.
fn event_number(name: &str) -> u8 {
    match name.to_ascii_uppercase().as_str() {
        "QUERY_FINISH" => EventType::QueryFinish as u8,
        "EXCEPTION_BEFORE_START" => EventType::ExceptionBeforeStart as u8,
        "EXCEPTION_WHILE_PROCESSING" => EventType::ExceptionWhileProcessing as u8,
        _ => EventType::QueryStart as u8,
    }
}

/// One query, as far as it is logged.
#[derive(Debug)]
pub struct QueryLogEntry {
    events: LoggedEvents,
    info: ProcessInfo,
    query_id: Arc<str>,
    settings: Arc<Settings>,
    /// `log_formatted_queries`.
    formatted: Option<Box<str>>,
    duration: Duration,
    exception: Option<Box<Failure>>,
    read_rows: u64,
    read_bytes: u64,
    written_rows: u64,
    written_bytes: u64,
    result_rows: u64,
    result_bytes: u64,
    memory_usage: u64,
    thread_ids: Box<[u64]>,
    peak_threads: u64,
    counters: Box<[(ProfileEvent, u64)]>,
}

/// An error in words.
#[derive(Debug)]
struct Failure {
    code: i32,
    text: String,
}

impl Failure {
    fn new(error: &Error) -> Box<Self> {
        Box::new(Self { code: error.code.0, text: error.to_string() })
    }
}

impl QueryLogEntry {
    /// The entry of a query that runs or has just ended.
    pub fn of_process(process: &Process, events: LoggedEvents, exception: Option<&Error>) -> Self {
        let context = &process.context;
        let progress = &context.progress;
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut entry =
            Self::new(events, process.info.clone(), context.query_id.clone(), context.settings.clone(), exception);
        if events == LoggedEvents::Start {
            return entry;
        }
        entry.duration = context.started.elapsed();
        entry.read_rows = load(&progress.read_rows);
        entry.read_bytes = load(&progress.read_bytes);
        entry.written_rows = load(&progress.written_rows);
        entry.written_bytes = load(&progress.written_bytes);
        entry.result_rows = load(&progress.result_rows);
        entry.result_bytes = load(&progress.result_bytes);
        entry.memory_usage = context.memory.peak_bytes().unsigned_abs();
        entry.thread_ids = context.thread_ids().into();
        entry.peak_threads = context.peak_threads() as u64;
        if context.settings.log_profile_events {
            entry.counters = context.counters.non_zero().collect();
        }
        entry
    }

    /// The entry of a query that failed before it began.
    pub fn before_start(info: ProcessInfo, query_id: Arc<str>, settings: Arc<Settings>, exception: &Error) -> Self {
        Self::new(LoggedEvents::FailureBeforeStart, info, query_id, settings, Some(exception))
    }

    /// Adds the query in its canonical form.
    #[must_use]
    pub fn with_formatted(mut self, formatted: String) -> Self {
        self.formatted = Some(formatted.into());
        self
    }

    fn new(
        events: LoggedEvents,
        mut info: ProcessInfo,
        query_id: Arc<str>,
        settings: Arc<Settings>,
        exception: Option<&Error>,
    ) -> Self {
        let length_max = usize::try_from(settings.log_queries_cut_to_length).unwrap_or(usize::MAX);
        if info.query.len() > length_max {
            info.query = info.query.get(..info.query.floor_char_boundary(length_max)).unwrap_or_default().into();
        }
        Self {
            events,
            info,
            query_id,
            settings,
            formatted: None,
            duration: Duration::ZERO,
            exception: exception.map(Failure::new),
            read_rows: 0,
            read_bytes: 0,
            written_rows: 0,
            written_bytes: 0,
            result_rows: 0,
            result_bytes: 0,
            memory_usage: 0,
            thread_ids: Box::default(),
            peak_threads: 0,
            counters: Box::default(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EventType {
    QueryStart = 1,
    QueryFinish = 2,
    ExceptionBeforeStart = 3,
    ExceptionWhileProcessing = 4,
}

/// One event of one query.
pub(super) struct Row {
    event: EventType,
    entry: Arc<QueryLogEntry>,
}

impl LogEntry for QueryLogEntry {
    type Row = Row;
    const ROWS_MAX: usize = 2;

    fn rows(entries: &mut Vec<Self>) -> Vec<Row> {
        let mut rows = Vec::with_capacity(2 * entries.len());
        for entry in entries.drain(..) {
            let entry = Arc::new(entry);
            let end = match entry.exception {
                Some(_) => EventType::ExceptionWhileProcessing,
                None => EventType::QueryFinish,
            };
            let mut row = |event| rows.push(Row { event, entry: entry.clone() });
            match entry.events {
                LoggedEvents::Start => row(EventType::QueryStart),
                LoggedEvents::End => row(end),
                LoggedEvents::StartAndEnd => {
                    row(EventType::QueryStart);
                    row(end);
                }
                LoggedEvents::FailureBeforeStart => row(EventType::ExceptionBeforeStart),
            }
        }
        rows
    }
}

impl Row {
    fn is_start(&self) -> bool {
        self.event == EventType::QueryStart
    }

    fn time(&self) -> SystemTime {
        let started_at = self.entry.info.started_at;
        if self.is_start() { started_at } else { started_at + self.entry.duration }
    }

    /// A number that is known only at the end.
    fn at_end(&self, value: u64) -> u64 {
        if self.is_start() { 0 } else { value }
    }

    fn failure(&self) -> Option<&Failure> {
        if self.is_start() { None } else { self.entry.exception.as_deref() }
    }
}

/// The first that is not empty.
pub(super) fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

/// The columns.
pub(super) fn table(context: &LogContext) -> LogTable<Row> {
    let low = "LowCardinality(String)";
    let names = "Array(LowCardinality(String))";
    let days = context.days.clone();
    let mut table = LogTable::new()
        .constant("hostname", low, text(&context.host_name))
        .constant("clickhouse_version", low, text(VERSION))
        .constant("system_processor", low, text(std::env::consts::ARCH))
        .number("type", TYPE, |row: &Row| row.event as u64)
        .number("event_date", "Date", move |row| days.day(row.time()))
        .number("event_time", "DateTime", |row| seconds(row.time()))
        .number("event_time_microseconds", "DateTime64(6)", |row| microseconds(row.time()))
        .number("query_start_time", "DateTime", |row| seconds(row.entry.info.started_at))
        .number("query_start_time_microseconds", "DateTime64(6)", |row| microseconds(row.entry.info.started_at))
        .number("query_duration_ms", "UInt64", |row| row.at_end(row.entry.duration.as_millis() as u64))
        .number("read_rows", "UInt64", |row| row.at_end(row.entry.read_rows))
        .number("read_bytes", "UInt64", |row| row.at_end(row.entry.read_bytes))
        .number("written_rows", "UInt64", |row| row.at_end(row.entry.written_rows))
        .number("written_bytes", "UInt64", |row| row.at_end(row.entry.written_bytes))
        .number("result_rows", "UInt64", |row| row.at_end(row.entry.result_rows))
        .number("result_bytes", "UInt64", |row| row.at_end(row.entry.result_bytes))
        .number("memory_usage", "UInt64", |row| row.at_end(row.entry.memory_usage))
        .text("current_database", low, |row| &row.entry.info.database)
        .text("query", "String", |row| &row.entry.info.query)
        .text("formatted_query", "String", |row| row.entry.formatted.as_deref().unwrap_or_default())
        .number("normalized_query_hash", "UInt64", |row| row.entry.info.normalized_query_hash)
        .text("query_kind", low, |row| row.entry.info.kind.name());
    for name in ["databases", "tables", "columns", "partitions", "projections", "views"] {
        table = table.constant(name, names, no_items());
    }
    table = table
        .number("exception_code", "Int32", |row| row.failure().map_or(0, |failure| failure.code as u64))
        .text("exception", "String", |row| row.failure().map_or("", |failure| &failure.text))
        .constant("stack_trace", "String", text(""))
        .constant("is_initial_query", "UInt8", flag(true))
        .address("connection_address", |row| row.entry.info.client.address_v6().octets())
        .number("connection_port", "UInt16", |row| row.entry.info.client.address.port().into())
        .text("user", low, |row| &row.entry.info.user)
        .text("query_id", "String", |row| &row.entry.query_id)
        .address("address", |row| row.entry.info.client.address_v6().octets())
        .number("port", "UInt16", |row| row.entry.info.client.address.port().into())
        .text("initial_user", low, |row| or(&row.entry.info.client.initial_user, &row.entry.info.user))
        .text("initial_query_id", "String", |row| or(&row.entry.info.client.initial_query_id, &row.entry.query_id))
        .address("initial_address", |row| row.entry.info.client.address_v6().octets())
        .number("initial_port", "UInt16", |row| row.entry.info.client.address.port().into())
        .number("initial_query_start_time", "DateTime", |row| seconds(row.entry.info.started_at))
        .number("initial_query_start_time_microseconds", "DateTime64(6)", |row| microseconds(row.entry.info.started_at))
        .text("authenticated_user", low, |row| &row.entry.info.user)
        .number("interface", INTERFACE, |row| row.entry.info.client.interface as u64)
        .constant("is_secure", "UInt8", flag(false))
        .text("os_user", low, |row| &row.entry.info.client.os_user)
        .text("client_hostname", low, |row| &row.entry.info.client.client_hostname)
        .text("client_name", low, |row| &row.entry.info.client.client_name)
        .constant("client_agent", low, text(""))
        .number("client_revision", "UInt32", |row| row.entry.info.client.client_revision)
        .number("client_version_major", "UInt32", |row| row.entry.info.client.client_version.0)
        .number("client_version_minor", "UInt32", |row| row.entry.info.client.client_version.1)
        .number("client_version_patch", "UInt32", |row| row.entry.info.client.client_version.2)
        .constant("script_query_number", "UInt32", number(0_u64))
        .constant("script_line_number", "UInt32", number(0_u64))
        .number("http_method", HTTP_METHOD, |row| row.entry.info.client.http_method as u64)
        .text("http_user_agent", low, |row| &row.entry.info.client.http_user_agent)
        .text("http_referer", "String", |row| &row.entry.info.client.http_referer)
        .text("forwarded_for", "String", |row| &row.entry.info.client.forwarded_for)
        .text("quota_key", "String", |row| &row.entry.info.client.quota_key)
        .constant("distributed_depth", "UInt64", number(0_u64))
        .constant("revision", "UInt32", number(REVISION))
        .constant("http_handler_name", low, text(""))
        .constant("http_request_url", "String", text(""))
        .text("log_comment", "String", |row| &row.entry.settings.log_comment)
        .numbers("thread_ids", |row| if row.is_start() { &[] } else { &row.entry.thread_ids })
        .number("peak_threads_usage", "UInt64", |row| row.at_end(row.entry.peak_threads))
        .events("ProfileEvents", |row| if row.is_start() { &[] } else { &row.entry.counters })
        .value("Settings", "Map(LowCardinality(String), LowCardinality(String))", |row| {
            let settings = &row.entry.settings;
            let changes = settings.changes().filter(|_| settings.log_query_settings);
            map(changes.map(|(name, value)| (text(name), text(value))))
        });
    for name in [
        "used_aggregate_functions",
        "used_aggregate_function_combinators",
        "used_database_engines",
        "used_data_type_families",
        "used_dictionaries",
        "used_formats",
        "used_functions",
        "used_storages",
        "used_table_functions",
        "used_executable_user_defined_functions",
        "used_sql_user_defined_functions",
        "used_row_policies",
        "used_privileges",
        "missing_privileges",
    ] {
        table = table.constant(name, names, no_items());
    }
    let no_transaction = Value::Tuple([Value::UInt64(0), Value::UInt64(0), Value::string([0; 16])].into());
    table
        .constant("transaction_id", "Tuple(UInt64, UInt64, UUID)", no_transaction)
        .constant("query_cache_usage", "Enum8('Unknown' = 0, 'None' = 1, 'Write' = 2, 'Read' = 3)", Value::Int64(1))
        .constant("asynchronous_read_counters", "Map(LowCardinality(String), UInt64)", map([]))
        .constant("is_internal", "UInt8", flag(false))
        .alias("ProfileEvents.Names", "Array(String)", "mapKeys(ProfileEvents)")
        .alias("ProfileEvents.Values", "Array(UInt64)", "mapValues(ProfileEvents)")
        .alias("Settings.Names", "Array(String)", "mapKeys(Settings)")
        .alias("Settings.Values", "Array(String)", "mapValues(Settings)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(changes: &[(&str, &str)]) -> Settings {
        let mut settings = Settings::default();
        changes.iter().for_each(|(name, value)| settings.set(name, value).unwrap());
        settings
    }

    #[test]
    fn settings_say_what_is_logged() {
        let wants = |changes: &[(&str, &str)], milliseconds, has_failed| {
            let settings = settings(changes);
            let end = LoggedEvents::wants_end(&settings, Duration::from_millis(milliseconds), has_failed);
            (LoggedEvents::wants_start(&settings), end, LoggedEvents::wants_failure(&settings))
        };
        assert_eq!(wants(&[], 0, false), (true, true, true));
        assert_eq!(wants(&[("log_queries", "0")], 0, true), (false, false, false));
        assert_eq!(wants(&[("log_queries_min_type", "QUERY_FINISH")], 0, false), (false, true, true));
        assert_eq!(wants(&[("log_queries_min_type", "EXCEPTION_WHILE_PROCESSING")], 0, false), (false, false, false));
        assert_eq!(wants(&[("log_queries_min_type", "EXCEPTION_WHILE_PROCESSING")], 0, true), (false, true, false));
        assert_eq!(wants(&[("log_queries_min_query_duration_ms", "10")], 9, false), (false, false, false));
        assert_eq!(wants(&[("log_queries_min_query_duration_ms", "10")], 10, false), (false, true, false));
    }
}
