//! `system.query_log`: a row for the start and a row for the end of every query.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use smallvec::SmallVec;
use squall_engine::QueryContext;
use squall_planner::QueryUses;
use squall_runtime::ProfileEvent;
use squall_types::{Error, Settings, Value};

use super::log::LogEntry;
use super::table::LogTable;
use super::{LogContext, microseconds};
use crate::masking::mask;
use crate::process::{Process, ProcessInfo};
use crate::session::ClientInfo;
use crate::system::value::{map, no_items, number, text};
use crate::version::{REVISION, VERSION};

const SETTINGS: &str = "Map(LowCardinality(String), LowCardinality(String))";
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
    // The default, of nearly every query.
    if name == "QUERY_START" {
        return EventType::QueryStart as u8;
    }
    let named = [
        ("QUERY_START", EventType::QueryStart),
        ("QUERY_FINISH", EventType::QueryFinish),
        ("EXCEPTION_BEFORE_START", EventType::ExceptionBeforeStart),
        ("EXCEPTION_WHILE_PROCESSING", EventType::ExceptionWhileProcessing),
    ];
    named.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map_or(EventType::QueryStart, |(_, event)| *event)
        as u8
}

/// One query, as far as it is logged. A storm adds one for every request and lets many wait: it is small, shares what the process had,
/// and its numbers become columns only on the thread that writes.
#[derive(Debug)]
pub struct QueryLogEntry {
    events: LoggedEvents,
    info: Arc<ProcessInfo>,
    query_id: Arc<str>,
    settings: Arc<Settings>,
    /// What it uses by name, where it was planned.
    uses: Option<Arc<QueryUses>>,
    /// The format of its result or data; empty where it has none.
    format: &'static str,
    /// What most queries have not.
    rare: Option<Box<Rare>>,
    /// [`Numbers`], packed; empty for a query that only began.
    numbers: PackedNumbers,
}

#[derive(Debug, Default)]
struct Rare {
    /// `log_formatted_queries`.
    formatted: String,
    exception: Option<Failure>,
}

/// An error in words.
#[derive(Debug)]
struct Failure {
    code: i32,
    text: String,
}

impl QueryLogEntry {
    /// The entry of a query that runs or has just ended.
    pub fn of_process(process: &Process, events: LoggedEvents, exception: Option<&Error>) -> Self {
        let context = &process.context;
        let mut entry =
            Self::new(events, process.info.clone(), context.query_id.clone(), context.settings.clone(), exception);
        entry.uses = context.uses();
        if events != LoggedEvents::Start {
            entry.numbers = PackedNumbers::of(context);
        }
        entry
    }

    /// The entry of a query that failed before it began.
    pub fn before_start(
        info: Arc<ProcessInfo>,
        query_id: Arc<str>,
        settings: Arc<Settings>,
        exception: &Error,
    ) -> Self {
        Self::new(LoggedEvents::FailureBeforeStart, info, query_id, settings, Some(exception))
    }

    /// Adds the name of the format of its result or data.
    #[must_use]
    pub fn with_format(mut self, format: &'static str) -> Self {
        self.format = format;
        self
    }

    /// Adds the query in its canonical form.
    #[must_use]
    pub fn with_formatted(mut self, formatted: String) -> Self {
        self.rare.get_or_insert_default().formatted = mask(&formatted).into_owned();
        self
    }

    fn new(
        events: LoggedEvents,
        info: Arc<ProcessInfo>,
        query_id: Arc<str>,
        settings: Arc<Settings>,
        exception: Option<&Error>,
    ) -> Self {
        let failure = |error: &Error| Failure { code: error.code.0, text: mask(&error.text()).into_owned() };
        let rare = exception.map(|error| Box::new(Rare { exception: Some(failure(error)), ..Rare::default() }));
        Self { events, info, query_id, settings, uses: None, format: "", rare, numbers: PackedNumbers::default() }
    }

    /// The text, no longer than the query wanted it logged.
    fn query(&self) -> &str {
        let text = &*self.info.query;
        match usize::try_from(self.settings.log_queries_cut_to_length) {
            Ok(length_max) if text.len() > length_max => {
                text.get(..text.floor_char_boundary(length_max)).unwrap_or_default()
            }
            _ => text,
        }
    }
}

/// What is counted of a query until its end.
#[derive(Default, Debug)]
struct Numbers {
    duration: Duration,
    read_rows: u64,
    read_bytes: u64,
    written_rows: u64,
    written_bytes: u64,
    result_rows: u64,
    result_bytes: u64,
    memory_usage: u64,
    peak_threads: u64,
    thread_ids: Box<[u64]>,
    counters: Box<[(ProfileEvent, u64)]>,
}

/// [`Numbers`] one after the other, each in as many bytes as it needs: seven bits of it in each, the lowest first.
#[derive(Default, Debug)]
struct PackedNumbers(SmallVec<[u8; 80]>);

/// Packs numbers; those of most queries fit into its own bytes.
struct Packer {
    bytes: [u8; 256],
    length: usize,
    packed: SmallVec<[u8; 80]>,
}

impl Packer {
    fn new() -> Self {
        Self { bytes: [0; 256], length: 0, packed: SmallVec::new() }
    }

    #[inline]
    fn push(&mut self, mut number: u64) {
        /// Bytes that a number takes at most.
        const NUMBER_BYTES_MAX: usize = 10;
        if self.length > self.bytes.len() - NUMBER_BYTES_MAX {
            self.spill();
        }
        while number >= 0x80 {
            self.put(number as u8 | 0x80);
            number >>= 7;
        }
        self.put(number as u8);
    }

    #[inline]
    fn put(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }

    fn spill(&mut self) {
        self.packed.extend_from_slice(self.bytes.get(..self.length).unwrap_or_default());
        self.length = 0;
    }

    fn finish(mut self) -> PackedNumbers {
        self.spill();
        PackedNumbers(self.packed)
    }
}

impl PackedNumbers {
    fn of(context: &QueryContext) -> Self {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let progress = &context.progress;
        let mut packer = Packer::new();
        packer.push(context.started.elapsed().as_micros() as u64);
        packer.push(load(&progress.read_rows));
        packer.push(load(&progress.read_bytes));
        packer.push(load(&progress.written_rows));
        packer.push(load(&progress.written_bytes));
        packer.push(load(&progress.result_rows));
        packer.push(load(&progress.result_bytes));
        packer.push(context.memory.peak_bytes().unsigned_abs());
        packer.push(context.peak_threads() as u64);
        context.with_thread_ids(|ids| {
            packer.push(ids.len() as u64);
            ids.iter().for_each(|id| packer.push(*id));
        });
        if context.settings.log_profile_events {
            context.counters.for_each(|event, value| {
                packer.push(event as u64);
                packer.push(value);
            });
        }
        packer.finish()
    }

    fn unpack(&self) -> Numbers {
        let mut bytes = self.0.iter();
        let mut next = || {
            let (mut number, mut shift) = (0, 0);
            loop {
                let byte = *bytes.next()?;
                number |= u64::from(byte & 0x7F) << shift;
                if byte < 0x80 {
                    return Some(number);
                }
                shift += 7;
            }
        };
        let mut number = || next().unwrap_or(0);
        let mut numbers = Numbers {
            duration: Duration::from_micros(number()),
            read_rows: number(),
            read_bytes: number(),
            written_rows: number(),
            written_bytes: number(),
            result_rows: number(),
            result_bytes: number(),
            memory_usage: number(),
            peak_threads: number(),
            ..Numbers::default()
        };
        numbers.thread_ids = (0..number()).map_while(|_| next()).collect();
        let pair = || Some((*ProfileEvent::ALL.get(usize::try_from(next()?).ok()?)?, next()?));
        numbers.counters = std::iter::from_fn(pair).collect();
        numbers
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
    /// Microseconds since the epoch.
    started_us: u64,
    entry: Arc<(QueryLogEntry, Numbers)>,
}

impl LogEntry for QueryLogEntry {
    type Row = Row;
    const ROWS_MAX: usize = 2;

    fn rows(entries: &mut Vec<Self>, rows: &mut Vec<Row>) {
        rows.reserve(2 * entries.len());
        for entry in entries.drain(..) {
            let end = match entry.rare.as_ref().and_then(|rare| rare.exception.as_ref()) {
                Some(_) => EventType::ExceptionWhileProcessing,
                None => EventType::QueryFinish,
            };
            let (first, second) = match entry.events {
                LoggedEvents::Start => (EventType::QueryStart, None),
                LoggedEvents::End => (end, None),
                LoggedEvents::StartAndEnd => (EventType::QueryStart, Some(end)),
                LoggedEvents::FailureBeforeStart => (EventType::ExceptionBeforeStart, None),
            };
            let started_us = microseconds(entry.info.started_at);
            let numbers = entry.numbers.unpack();
            let entry = Arc::new((entry, numbers));
            rows.push(Row { event: first, started_us, entry: entry.clone() });
            if let Some(event) = second {
                rows.push(Row { event, started_us, entry });
            }
        }
    }

    fn second(row: &Row) -> u64 {
        row.time_us() / 1_000_000
    }

    fn text_bytes(row: &Row) -> usize {
        let rare = row.entry().rare.as_ref();
        let exception = rare.and_then(|rare| rare.exception.as_ref()).map_or(0, |failure| failure.text.len());
        row.entry().query().len() + rare.map_or(0, |rare| rare.formatted.len()) + exception
    }
}

impl Row {
    fn is_start(&self) -> bool {
        self.event == EventType::QueryStart
    }

    fn entry(&self) -> &QueryLogEntry {
        &self.entry.0
    }

    fn info(&self) -> &ProcessInfo {
        &self.entry.0.info
    }

    fn client(&self) -> &ClientInfo {
        &self.entry.0.info.client
    }

    fn time_us(&self) -> u64 {
        if self.is_start() { self.started_us } else { self.started_us + self.entry.1.duration.as_micros() as u64 }
    }

    /// Numbers that are known only at the end.
    fn at_end(&self) -> Option<&Numbers> {
        if self.is_start() { None } else { Some(&self.entry.1) }
    }

    fn number(&self, get: impl Fn(&Numbers) -> u64) -> u64 {
        self.at_end().map_or(0, get)
    }

    fn failure(&self) -> Option<&Failure> {
        if self.is_start() { None } else { self.entry().rare.as_ref()?.exception.as_ref() }
    }
}

/// The first that is not empty.
pub(super) fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

/// Adds a column of names that queries use.
fn used(table: LogTable<Row>, name: &str, get: fn(&QueryUses) -> &BTreeSet<String>) -> LogTable<Row> {
    let uses = |row: &Row| row.entry().uses.as_ref().map_or(0, |uses| Arc::as_ptr(uses).addr());
    table.shared(name, "Array(LowCardinality(String))", uses, move |row| match &row.entry().uses {
        Some(uses) => Value::Array(get(uses).iter().map(text).collect()),
        None => no_items(),
    })
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
        .number("event_date", "Date", move |row| days.day_of_second(row.time_us() / 1_000_000))
        .number("event_time", "DateTime", |row| row.time_us() / 1_000_000)
        .number("event_time_microseconds", "DateTime64(6)", |row| row.time_us())
        .number("query_start_time", "DateTime", |row| row.started_us / 1_000_000)
        .number("query_start_time_microseconds", "DateTime64(6)", |row| row.started_us)
        .number("query_duration_ms", "UInt64", |row| row.number(|end| end.duration.as_millis() as u64))
        .number("read_rows", "UInt64", |row| row.number(|end| end.read_rows))
        .number("read_bytes", "UInt64", |row| row.number(|end| end.read_bytes))
        .number("written_rows", "UInt64", |row| row.number(|end| end.written_rows))
        .number("written_bytes", "UInt64", |row| row.number(|end| end.written_bytes))
        .number("result_rows", "UInt64", |row| row.number(|end| end.result_rows))
        .number("result_bytes", "UInt64", |row| row.number(|end| end.result_bytes))
        .number("memory_usage", "UInt64", |row| row.number(|end| end.memory_usage))
        .text("current_database", low, |row| &row.info().database)
        .text("query", "String", |row| row.entry().query())
        .text("formatted_query", "String", |row| row.entry().rare.as_ref().map_or("", |rare| &rare.formatted))
        .number("normalized_query_hash", "UInt64", |row| row.info().normalized_query_hash)
        .text("query_kind", low, |row| row.info().kind.name());
    table = used(table, "databases", |uses| &uses.databases);
    table = used(table, "tables", |uses| &uses.tables);
    table = used(table, "columns", |uses| &uses.columns);
    table = table.constant("partitions", names, no_items());
    table = used(table, "projections", |uses| &uses.projections);
    table = used(table, "views", |uses| &uses.views);
    table = table
        .number("exception_code", "Int32", |row| row.failure().map_or(0, |failure| failure.code as u64))
        .text("exception", "String", |row| row.failure().map_or("", |failure| &failure.text))
        .constant("stack_trace", "String", text(""))
        .number("is_initial_query", "UInt8", |row| row.client().is_initial.into())
        .address("connection_address", |row| row.client().address_v6().octets())
        .number("connection_port", "UInt16", |row| row.client().address.port().into())
        .text("user", low, |row| &row.info().user)
        .text("query_id", "String", |row| &row.entry().query_id)
        .address("address", |row| row.client().address_v6().octets())
        .number("port", "UInt16", |row| row.client().address.port().into())
        .text("initial_user", low, |row| or(&row.client().initial_user, &row.info().user))
        .text("initial_query_id", "String", |row| or(&row.client().initial_query_id, &row.entry().query_id))
        .address("initial_address", |row| row.client().initial_address_v6().octets())
        .number("initial_port", "UInt16", |row| row.client().initial_address.port().into())
        .number("initial_query_start_time", "DateTime", |row| row.started_us / 1_000_000)
        .number("initial_query_start_time_microseconds", "DateTime64(6)", |row| row.started_us)
        .text("authenticated_user", low, |row| &row.info().authenticated_user)
        .number("interface", INTERFACE, |row| row.client().interface as u64)
        .number("is_secure", "UInt8", |row| row.client().is_secure.into())
        .text("os_user", low, |row| &row.client().os_user)
        .text("client_hostname", low, |row| &row.client().client_hostname)
        .text("client_name", low, |row| &row.client().client_name)
        .constant("client_agent", low, text(""))
        .number("client_revision", "UInt32", |row| row.client().client_revision)
        .number("client_version_major", "UInt32", |row| row.client().client_version.0)
        .number("client_version_minor", "UInt32", |row| row.client().client_version.1)
        .number("client_version_patch", "UInt32", |row| row.client().client_version.2)
        .constant("script_query_number", "UInt32", number(0_u64))
        .constant("script_line_number", "UInt32", number(0_u64))
        .number("http_method", HTTP_METHOD, |row| row.client().http_method as u64)
        .text("http_user_agent", low, |row| &row.client().http_user_agent)
        .text("http_referer", "String", |row| &row.client().http_referer)
        .text("forwarded_for", "String", |row| &row.client().forwarded_for)
        .text("quota_key", "String", |row| &row.client().quota_key)
        .constant("distributed_depth", "UInt64", number(0_u64))
        .constant("revision", "UInt32", number(REVISION))
        .constant("http_handler_name", low, text(""))
        .constant("http_request_url", "String", text(""))
        .text("log_comment", "String", |row| &row.entry().settings.log_comment)
        .numbers("thread_ids", |row| row.at_end().map_or(&[], |end| &end.thread_ids))
        .number("peak_threads_usage", "UInt64", |row| row.number(|end| end.peak_threads))
        .events("ProfileEvents", |row| row.at_end().map_or(&[], |end| &end.counters))
        .shared(
            "Settings",
            SETTINGS,
            |row| Arc::as_ptr(&row.entry().settings).addr(),
            |row| {
                let settings = &row.entry().settings;
                let changes = settings.changes().filter(|_| settings.log_query_settings);
                map(changes.map(|(name, value)| (text(name), text(value))))
            },
        );
    table = used(table, "used_aggregate_functions", |uses| &uses.aggregate_functions);
    table = used(table, "used_aggregate_function_combinators", |uses| &uses.aggregate_function_combinators);
    table = table.constant("used_database_engines", names, no_items());
    table = used(table, "used_data_type_families", |uses| &uses.data_type_families);
    table = table.constant("used_dictionaries", names, no_items());
    table = table.shared(
        "used_formats",
        names,
        |row| row.entry().format.as_ptr().addr(),
        |row| {
            Value::Array(Some(row.entry().format).filter(|format| !format.is_empty()).map(text).into_iter().collect())
        },
    );
    table = used(table, "used_functions", |uses| &uses.functions);
    table = used(table, "used_storages", |uses| &uses.storages);
    table = used(table, "used_table_functions", |uses| &uses.table_functions);
    for name in [
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
        .number("is_internal", "UInt8", |row| row.info().is_internal.into())
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
    fn numbers_are_packed_and_unpacked() {
        let mut packer = Packer::new();
        let numbers = [0, 1, 127, 128, 1 << 40, u64::MAX, 5, 6, 7];
        let ids: Vec<u64> = (1..=1000).map(|id| id * 1_000_003).collect();
        numbers.iter().chain(&[ids.len() as u64]).chain(&ids).for_each(|number| packer.push(*number));
        for (event, value) in [(ProfileEvent::Query, 1), (ProfileEvent::LogLinesDropped, 300)] {
            packer.push(event as u64);
            packer.push(value);
        }
        let unpacked = packer.finish().unpack();
        assert_eq!(unpacked.duration, Duration::ZERO);
        assert_eq!((unpacked.read_rows, unpacked.written_rows, unpacked.written_bytes), (1, 128, 1 << 40));
        assert_eq!((unpacked.result_rows, unpacked.peak_threads), (u64::MAX, 7));
        assert_eq!(*unpacked.thread_ids, *ids);
        assert_eq!(*unpacked.counters, [(ProfileEvent::Query, 1), (ProfileEvent::LogLinesDropped, 300)]);
        let nothing = PackedNumbers::default().unpack();
        assert!(nothing.thread_ids.is_empty() && nothing.counters.is_empty());
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
