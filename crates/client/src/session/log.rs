//! A line of a server's log as it comes with a statement's answer.

use std::fmt;

use squall_types::{Block, Value};

/// A line of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogLine {
    /// The server that wrote it.
    pub host_name: String,
    /// When, as `2026-11-23 12:00:00.123456` in the server's zone.
    pub time: String,
    /// The thread.
    pub thread_id: u64,
    /// The statement.
    pub query_id: String,
    /// `Error`, `Debug` and so on.
    pub level: &'static str,
    /// The part of the server.
    pub source: String,
    /// What it says.
    pub text: String,
}

/// ClickHouse's levels by their priority, from 1.
const LEVELS: [&str; 9] = ["Fatal", "Critical", "Error", "Warning", "Notice", "Information", "Debug", "Trace", "Test"];

impl LogLine {
    /// The lines of a packet. `date_time` says what a number of seconds is in the server's time zone.
    pub(super) fn of_block(block: &Block, date_time: impl Fn(i64) -> String) -> Vec<Self> {
        let value = |name: &str, row: usize| {
            let position = block.schema().position(name);
            position.map_or(Value::Null, |position| block.column(position).value(row))
        };
        let text = |name: &str, row: usize| super::plain(&value(name, row));
        let number = |name: &str, row: usize| value(name, row).as_u64().unwrap_or(0);
        (0..block.rows())
            .map(|row| {
                let seconds = i64::try_from(number("event_time", row)).unwrap_or(0);
                let priority = usize::try_from(number("priority", row)).unwrap_or(0);
                LogLine {
                    host_name: text("host_name", row),
                    time: format!("{}.{:06}", date_time(seconds), number("event_time_microseconds", row)),
                    thread_id: number("thread_id", row).max(number("thread_number", row)),
                    query_id: text("query_id", row),
                    level: priority.checked_sub(1).and_then(|at| LEVELS.get(at)).copied().unwrap_or("Unknown"),
                    source: text("source", row),
                    text: text("text", row),
                }
            })
            .collect()
    }
}

impl fmt::Display for LogLine {
    /// As clickhouse-client writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.host_name.is_empty() {
            write!(f, "[{}] ", self.host_name)?;
        }
        write!(f, "{} [ {} ] ", self.time, self.thread_id)?;
        if !self.query_id.is_empty() {
            write!(f, "{{{}}} ", self.query_id)?;
        }
        write!(f, "<{}> {}: {}", self.level, self.source, self.text)
    }
}
