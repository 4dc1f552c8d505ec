//! The elements `query_log`, `metric_log` and their kin: which log tables there are, and how each is kept.

use std::time::Duration;

use squall_types::Result;

use super::element::Element;
use crate::logger::Level;
use crate::system_log::Retention;

/// ClickHouse's defaults.
const FLUSH_INTERVAL_DEFAULT: Duration = Duration::from_millis(7_500);
const COLLECT_INTERVAL_DEFAULT: Duration = Duration::from_secs(1);
/// Rows that may wait; those of a query log of ClickHouse's size (1,048,576) would hold half a gigabyte.
const MAX_SIZE_ROWS_DEFAULT: usize = 262_144;
/// Without any configuration file: what an incident of last month needs.
const AGE_DEFAULT: Duration = Duration::from_secs(30 * 24 * 3600);
/// Bytes on disk of one log.
const MAX_TABLE_BYTES_DEFAULT: u64 = 1 << 30;

/// The logs that are tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum LogKind {
    QueryLog,
    QueryThreadLog,
    MetricLog,
    AsynchronousMetricLog,
    TraceLog,
    TextLog,
    SchedulerLog,
    PartLog,
}

impl LogKind {
    /// Every log.
    pub const ALL: [Self; 8] = [
        Self::QueryLog,
        Self::QueryThreadLog,
        Self::MetricLog,
        Self::AsynchronousMetricLog,
        Self::TraceLog,
        Self::TextLog,
        Self::SchedulerLog,
        Self::PartLog,
    ];

    /// The element's name, and the table's where none is given.
    pub fn name(self) -> &'static str {
        match self {
            Self::QueryLog => "query_log",
            Self::QueryThreadLog => "query_thread_log",
            Self::MetricLog => "metric_log",
            Self::AsynchronousMetricLog => "asynchronous_metric_log",
            Self::TraceLog => "trace_log",
            Self::TextLog => "text_log",
            Self::SchedulerLog => "scheduler_log",
            Self::PartLog => "part_log",
        }
    }
}

/// How one log is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SystemLogConfig {
    /// `table`, in the database `system`.
    pub table: String,
    /// `partition_by`, in SQL.
    pub partition_by: String,
    /// `order_by`, in SQL.
    pub order_by: String,
    /// `ttl`, and the bound in bytes.
    pub retention: Retention,
    /// `flush_interval_milliseconds`.
    pub flush_interval: Duration,
    /// `max_size_rows`: rows that may wait to be written; further ones are dropped and counted.
    pub max_size_rows: usize,
    /// `buffer_size_rows_flush_threshold`: rows that are written before the interval is over.
    pub flush_threshold_rows: usize,
    /// `collect_interval_milliseconds`, of logs that take samples.
    pub collect_interval: Duration,
    /// `level`, of `text_log`.
    pub level: Level,
}

impl SystemLogConfig {
    fn new(kind: LogKind) -> Self {
        Self {
            table: kind.name().to_owned(),
            partition_by: "toYYYYMM(event_date)".to_owned(),
            order_by: match kind {
                LogKind::AsynchronousMetricLog => "metric, event_date, event_time",
                _ => "event_date, event_time",
            }
            .to_owned(),
            retention: Retention { age_max: None, bytes_max: MAX_TABLE_BYTES_DEFAULT },
            flush_interval: FLUSH_INTERVAL_DEFAULT,
            max_size_rows: MAX_SIZE_ROWS_DEFAULT,
            flush_threshold_rows: MAX_SIZE_ROWS_DEFAULT / 2,
            collect_interval: COLLECT_INTERVAL_DEFAULT,
            level: Level::Trace,
        }
    }

    /// Takes what the element says.
    fn read(&mut self, element: &Element, warnings: &mut Vec<String>) -> Result<()> {
        let milliseconds = |element: &Element| -> Result<Duration> {
            let milliseconds: u64 = element.value("a number of milliseconds")?;
            Ok(Duration::from_millis(milliseconds.max(1)))
        };
        let rows = |element: &Element| -> Result<usize> { Ok(element.value::<usize>("a number of rows")?.max(1)) };
        let mut threshold = None;
        for child in &element.children {
            match child.name.as_str() {
                "database" if child.trimmed() == "system" => {}
                "database" => return Err(child.bad_value("system: logs are in no other database")),
                "table" if child.trimmed().is_empty() => return Err(child.error("is empty")),
                "table" => self.table = child.trimmed().to_owned(),
                "partition_by" => self.partition_by = child.trimmed().to_owned(),
                "order_by" => self.order_by = child.trimmed().to_owned(),
                "ttl" => {
                    let age = age(child.trimmed());
                    self.retention.age_max =
                        Some(age.ok_or_else(|| child.bad_value("of the form event_date + INTERVAL 30 DAY"))?);
                }
                "engine" => self.read_engine(child)?,
                "max_table_size" => self.retention.bytes_max = child.bytes()?,
                "flush_interval_milliseconds" => self.flush_interval = milliseconds(child)?,
                "collect_interval_milliseconds" => self.collect_interval = milliseconds(child)?,
                "max_size_rows" => self.max_size_rows = rows(child)?,
                "buffer_size_rows_flush_threshold" => threshold = Some(rows(child)?),
                "level" => {
                    self.level = Level::parse(child.trimmed()).ok_or_else(|| child.bad_value("a level"))?;
                }
                "reserved_size_rows" | "flush_on_crash" | "settings" | "storage_policy" | "symbolize" => {}
                name => {
                    warnings.push(format!("{}: unknown element <{}/{name}> is ignored", child.origin, element.name));
                }
            }
        }
        self.flush_threshold_rows = threshold.unwrap_or(self.max_size_rows / 2).clamp(1, self.max_size_rows);
        Ok(())
    }

    /// `engine`: a whole clause instead of its parts.
    fn read_engine(&mut self, element: &Element) -> Result<()> {
        let text = element.trimmed();
        if !text.to_ascii_lowercase().contains("mergetree") {
            return Err(element.bad_value("an engine that logs can have: MergeTree"));
        }
        if let Some(partition_by) = clause(text, "PARTITION BY") {
            self.partition_by = partition_by.to_owned();
        }
        if let Some(order_by) = clause(text, "ORDER BY") {
            self.order_by = order_by.to_owned();
        }
        if let Some(ttl) = clause(text, "TTL") {
            let age = age(ttl);
            self.retention.age_max =
                Some(age.ok_or_else(|| element.error("TTL must be of the form event_date + INTERVAL 30 DAY"))?);
        }
        Ok(())
    }
}

/// What follows a keyword, up to the next one.
fn clause<'a>(text: &'a str, keyword: &str) -> Option<&'a str> {
    const KEYWORDS: [&str; 6] = ["PARTITION BY", "PRIMARY KEY", "ORDER BY", "SAMPLE BY", "TTL", "SETTINGS"];
    let upper = text.to_ascii_uppercase();
    let start = upper.find(keyword)? + keyword.len();
    let end =
        KEYWORDS.iter().filter_map(|next| upper.get(start..)?.find(next)).min().map_or(text.len(), |at| start + at);
    let found = text.get(start..end)?.trim();
    Some(found.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(found))
}

/// The age in `event_date + INTERVAL 30 DAY DELETE`.
fn age(ttl: &str) -> Option<Duration> {
    const DAY: u64 = 24 * 3600;
    let upper = ttl.to_ascii_uppercase();
    let mut words = upper.split_once("INTERVAL")?.1.split_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    let seconds = match words.next()?.trim_end_matches('S') {
        "SECOND" => 1,
        "MINUTE" => 60,
        "HOUR" => 3600,
        "DAY" => DAY,
        "WEEK" => 7 * DAY,
        "MONTH" => 30 * DAY,
        "QUARTER" => 91 * DAY,
        "YEAR" => 365 * DAY,
        _ => return None,
    };
    matches!(words.next(), None | Some("DELETE")).then(|| number.checked_mul(seconds).map(Duration::from_secs))?
}

/// The logs that there are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SystemLogsConfig([Option<SystemLogConfig>; LogKind::ALL.len()]);

impl SystemLogsConfig {
    /// The logs of a server with a configuration file: those that it names.
    pub(super) fn none() -> Self {
        Self(Default::default())
    }

    /// The logs of a server without one: all but the text log.
    pub(super) fn all() -> Self {
        Self(LogKind::ALL.map(|kind| {
            let mut config = SystemLogConfig::new(kind);
            config.retention.age_max = Some(AGE_DEFAULT);
            (kind != LogKind::TextLog).then_some(config)
        }))
    }

    /// How a log is kept; `None` where there is no such log.
    pub fn get(&self, kind: LogKind) -> Option<&SystemLogConfig> {
        self.0.get(kind as usize)?.as_ref()
    }

    /// Takes an element, if it is one of a log.
    pub(super) fn read(&mut self, element: &Element, warnings: &mut Vec<String>) -> Result<bool> {
        let Some(kind) = LogKind::ALL.into_iter().find(|kind| kind.name() == element.name) else { return Ok(false) };
        if let Some(config) = self.0.get_mut(kind as usize) {
            config.get_or_insert_with(|| SystemLogConfig::new(kind)).read(element, warnings)?;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(xml: &str) -> (Result<SystemLogsConfig>, Vec<String>) {
        let (mut logs, mut warnings) = (SystemLogsConfig::none(), Vec::new());
        let element = Element::parse("f.xml", xml).unwrap();
        (logs.read(&element, &mut warnings).map(|_| logs), warnings)
    }

    #[test]
    fn elements_are_read() {
        let (logs, warnings) = read(
            "<metric_log><database>system</database><table>m</table><ttl>event_date + INTERVAL 2 WEEK DELETE</ttl>\
             <flush_interval_milliseconds>10</flush_interval_milliseconds><max_size_rows>100</max_size_rows>\
             <collect_interval_milliseconds>20</collect_interval_milliseconds><colour/></metric_log>",
        );
        let logs = logs.unwrap();
        assert!(logs.get(LogKind::QueryLog).is_none());
        let log = logs.get(LogKind::MetricLog).unwrap();
        assert_eq!((log.table.as_str(), log.max_size_rows, log.flush_threshold_rows), ("m", 100, 50));
        assert_eq!(log.retention.age_max, Some(Duration::from_secs(14 * 24 * 3600)));
        assert_eq!((log.flush_interval.as_millis(), log.collect_interval.as_millis()), (10, 20));
        assert_eq!(warnings, ["f.xml:1: unknown element <metric_log/colour> is ignored"]);
    }

    #[test]
    fn an_engine_clause_has_its_parts() {
        let (logs, _) = read(
            "<query_log><engine>Engine = MergeTree PARTITION BY event_date ORDER BY (event_time) \
             TTL event_date + interval 30 day SETTINGS index_granularity = 1024</engine></query_log>",
        );
        let logs = logs.unwrap();
        let log = logs.get(LogKind::QueryLog).unwrap();
        assert_eq!((log.partition_by.as_str(), log.order_by.as_str()), ("event_date", "event_time"));
        assert_eq!(log.retention.age_max, Some(AGE_DEFAULT));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for xml in [
            "<query_log><database>other</database></query_log>",
            "<query_log><ttl>tomorrow</ttl></query_log>",
            "<query_log><engine>Log</engine></query_log>",
            "<query_log><max_size_rows>many</max_size_rows></query_log>",
        ] {
            assert!(read(xml).0.is_err(), "{xml}");
        }
    }
}
