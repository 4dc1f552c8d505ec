//! How lines look: ClickHouse's text, or JSON for collectors of logs.

use std::fmt::Write as _;
use std::time::SystemTime;

use chrono::{DateTime, Local};
use chrono_tz::Tz;
use squall_types::Result;

use super::line::LogLine;
use crate::config::Element;

/// The fields of a line in JSON, in their order, under the names that `formatting/names` knows.
const FIELDS: [&str; 9] = [
    "date_time",
    "thread_name",
    "thread_id",
    "level",
    "query_id",
    "logger_name",
    "message",
    "source_file",
    "source_line",
];

/// How a line is laid out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Layout {
    /// `2026.11.20 12:00:00.000000 [ 17 ] {query} <Information> component: message`.
    #[default]
    Text,
    /// An object a line; each field with the key that it is written under, or none.
    Json(Box<[Option<String>; FIELDS.len()]>),
}

impl Layout {
    /// Reads `formatting`: its `type`, and the keys in `names`, of which those that are not named are left out.
    ///
    /// # Errors
    /// `CANNOT_PARSE_TEXT` for a type that is not there.
    pub(super) fn read(element: &Element, warnings: &mut Vec<String>) -> Result<Self> {
        match element.child("type") {
            Some(kind) if kind.trimmed().eq_ignore_ascii_case("json") => {}
            Some(kind) if kind.trimmed().eq_ignore_ascii_case("text") => return Ok(Self::Text),
            Some(kind) => return Err(kind.bad_value("a type of formatting: text or json")),
            None => return Ok(Self::Text),
        }
        let Some(names) = element.child("names") else {
            return Ok(Self::Json(Box::new(FIELDS.map(|name| Some(name.to_owned())))));
        };
        for child in &names.children {
            if !FIELDS.contains(&child.name.as_str()) {
                let name = &child.name;
                warnings.push(format!("{}: unknown element <logger/formatting/names/{name}> is ignored", child.origin));
            }
        }
        let key =
            |field: &str| names.child(field).map(|child| child.trimmed().to_owned()).filter(|key| !key.is_empty());
        Ok(Self::Json(Box::new(FIELDS.map(key))))
    }

    /// Appends a line and its end.
    pub(super) fn append(&self, line: &LogLine, time_zone: Option<Tz>, out: &mut String) {
        match self {
            Self::Text => append_text(line, time_zone, out),
            Self::Json(keys) => append_json(line, keys, out),
        }
    }
}

fn append_text(line: &LogLine, time_zone: Option<Tz>, out: &mut String) {
    const LAYOUT: &str = "%Y.%m.%d %H:%M:%S%.6f";
    // Writing to a String does not fail.
    let _ = match time_zone {
        Some(time_zone) => {
            write!(out, "{}", DateTime::<chrono::Utc>::from(line.time).with_timezone(&time_zone).format(LAYOUT))
        }
        None => write!(out, "{}", DateTime::<Local>::from(line.time).format(LAYOUT)),
    };
    let LogLine { thread_id, query_id, component, message, .. } = line;
    let _ = writeln!(out, " [ {thread_id} ] {{{query_id}}} <{}> {component}: {message}", line.level.name());
}

/// Every value is a string, as in ClickHouse; the time is in seconds since 1970.
fn append_json(line: &LogLine, keys: &[Option<String>; FIELDS.len()], out: &mut String) {
    let since = line.time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let time = format!("{}.{:06}", since.as_secs(), since.subsec_micros());
    let (thread_id, source_line) = (line.thread_id.to_string(), line.source_line.to_string());
    let values: [&str; FIELDS.len()] = [
        &time,
        &line.thread_name,
        &thread_id,
        line.level.name(),
        &line.query_id,
        line.component,
        &line.message,
        line.source_file,
        &source_line,
    ];
    let mut separator = '{';
    for (key, value) in keys.iter().zip(values) {
        let Some(key) = key else { continue };
        out.push(separator);
        separator = ',';
        append_json_string(key, out);
        out.push(':');
        append_json_string(value, out);
    }
    if separator == '{' {
        out.push('{');
    }
    out.push_str("}\n");
}

fn append_json_string(text: &str, out: &mut String) {
    // A string can always be written.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::level::Level;
    use super::*;

    fn line() -> LogLine {
        LogLine {
            time: SystemTime::UNIX_EPOCH + Duration::from_micros(1_795_176_000_123_456),
            thread_id: 17,
            thread_name: "IO".into(),
            query_id: "abc".to_owned(),
            message: "say \"hello\"\nworld".to_owned(),
            ..LogLine::new(Level::Information, "executeQuery", "a.rs", 7)
        }
    }

    fn read(text: &str) -> (Result<Layout>, Vec<String>) {
        let mut warnings = Vec::new();
        (Layout::read(&Element::parse("config.xml", text).unwrap(), &mut warnings), warnings)
    }

    #[test]
    fn text_has_clickhouses_layout() {
        let mut out = String::new();
        Layout::Text.append(&line(), Some(chrono_tz::UTC), &mut out);
        let expected = "2026.11.20 12:00:00.123456 [ 17 ] {abc} <Information> executeQuery: say \"hello\"\nworld\n";
        assert_eq!(out, expected);
    }

    #[test]
    fn json_has_clickhouses_fields() {
        let mut out = String::new();
        let (layout, warnings) = read("<formatting><type>json</type></formatting>");
        layout.unwrap().append(&line(), None, &mut out);
        assert_eq!(
            out,
            "{\"date_time\":\"1795176000.123456\",\"thread_name\":\"IO\",\"thread_id\":\"17\",\"level\":\"Information\",\
             \"query_id\":\"abc\",\"logger_name\":\"executeQuery\",\"message\":\"say \\\"hello\\\"\\nworld\",\
             \"source_file\":\"a.rs\",\"source_line\":\"7\"}\n"
        );
        assert!(warnings.is_empty());
    }

    #[test]
    fn only_named_fields_are_written() {
        let mut out = String::new();
        let (layout, warnings) = read(
            "<formatting><type>JSON</type><names><message>msg</message><level>lvl</level><colour>c</colour></names></formatting>",
        );
        layout.unwrap().append(&line(), None, &mut out);
        assert_eq!(out, "{\"lvl\":\"Information\",\"msg\":\"say \\\"hello\\\"\\nworld\"}\n");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(read("<formatting><type>yaml</type></formatting>").0.unwrap_err().message.contains("text or json"));
    }
}
