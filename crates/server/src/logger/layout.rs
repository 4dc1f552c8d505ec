//! How lines look: ClickHouse's text, or JSON for collectors of logs.

use std::time::SystemTime;

use chrono::{DateTime, Local, Utc};
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
    pub(super) fn append(&self, line: &LogLine<&str>, time: &mut TimeText, out: &mut Vec<u8>) {
        match self {
            Self::Text => append_text(line, time, out),
            Self::Json(keys) => append_json(line, keys, out),
        }
    }
}

/// Times as text. Lines come many a second: what is the same for all of a second is laid out once.
#[derive(Debug)]
pub(super) struct TimeText {
    /// The machine's own where there is none.
    time_zone: Option<Tz>,
    second: Option<u64>,
    text: String,
}

impl TimeText {
    pub(super) fn new(time_zone: Option<Tz>) -> Self {
        Self { time_zone, second: None, text: String::new() }
    }

    /// Appends `2026.11.20 12:00:00.000000`.
    fn append(&mut self, time: SystemTime, out: &mut Vec<u8>) {
        const LAYOUT: &str = "%Y.%m.%d %H:%M:%S.";
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        if self.second != Some(since.as_secs()) {
            self.second = Some(since.as_secs());
            self.text = match self.time_zone {
                Some(time_zone) => DateTime::<Utc>::from(time).with_timezone(&time_zone).format(LAYOUT).to_string(),
                None => DateTime::<Local>::from(time).format(LAYOUT).to_string(),
            };
        }
        out.extend_from_slice(self.text.as_bytes());
        let mut digits = *b"000000";
        let mut left = since.subsec_micros();
        for digit in digits.iter_mut().rev() {
            *digit += (left % 10) as u8;
            left /= 10;
        }
        out.extend_from_slice(&digits);
    }
}

fn append_text(line: &LogLine<&str>, time: &mut TimeText, out: &mut Vec<u8>) {
    time.append(line.time, out);
    let mut number = itoa::Buffer::new();
    for part in [" [ ", number.format(line.thread_id), " ] {"] {
        out.extend_from_slice(part.as_bytes());
    }
    append_printable(line.query_id, out);
    for part in ["} <", line.level.name(), "> ", line.component, ": "] {
        out.extend_from_slice(part.as_bytes());
    }
    // What the process says of itself at its end has lines: a panic with its stack.
    if line.component == "Application" {
        out.extend_from_slice(line.message.as_bytes());
    } else {
        append_printable(line.message, out);
    }
    out.push(b'\n');
}

/// Appends a text in which a client may have had a part: what would begin a line or move a terminal's cursor is escaped.
fn append_printable(text: &str, out: &mut Vec<u8>) {
    let is_control = |byte: &u8| *byte < b' ' || *byte == 0x7F;
    // U+0080 to U+009F begin with this byte.
    if !text.as_bytes().iter().any(|byte| is_control(byte) || *byte == 0xC2) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    let mut bytes = [0; 4];
    for letter in text.chars() {
        if letter.is_control() {
            out.extend(letter.escape_default().map(|letter| letter as u8));
        } else {
            out.extend_from_slice(letter.encode_utf8(&mut bytes).as_bytes());
        }
    }
}

/// Every value is a string, as in ClickHouse; the time is in seconds since 1970.
fn append_json(line: &LogLine<&str>, keys: &[Option<String>; FIELDS.len()], out: &mut Vec<u8>) {
    let since = line.time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let time = format!("{}.{:06}", since.as_secs(), since.subsec_micros());
    let (mut thread_id, mut source_line) = (itoa::Buffer::new(), itoa::Buffer::new());
    let values: [&str; FIELDS.len()] = [
        &time,
        line.thread_name,
        thread_id.format(line.thread_id),
        line.level.name(),
        line.query_id,
        line.component,
        line.message,
        line.source_file,
        source_line.format(line.source_line),
    ];
    let mut separator = b'{';
    for (key, value) in keys.iter().zip(values) {
        let Some(key) = key else { continue };
        out.push(separator);
        separator = b',';
        append_json_string(key, out);
        out.push(b':');
        append_json_string(value, out);
    }
    if separator == b'{' {
        out.push(b'{');
    }
    out.extend_from_slice(b"}\n");
}

fn append_json_string(text: &str, out: &mut Vec<u8>) {
    // A string can always be written.
    let _ = serde_json::to_writer(out, text);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::level::Level;
    use super::*;

    #[test]
    fn clients_begin_no_lines() {
        let mut out = Vec::new();
        append_printable("a\n2026.01.01 <Error>\u{1b}[2J\u{9b}\u{e4}\t\u{7f}", &mut out);
        let expected = "a\\n2026.01.01 <Error>\\u{1b}[2J\\u{9b}\u{e4}\\t\\u{7f}";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    fn line() -> LogLine<&'static str> {
        LogLine {
            time: SystemTime::UNIX_EPOCH + Duration::from_micros(1_795_176_000_023_456),
            thread_id: 17,
            thread_name: "IO",
            query_id: "abc",
            message: "say \"hello\"\nworld",
            ..LogLine::new(Level::Information, "executeQuery", "a.rs", 7)
        }
    }

    fn laid_out(layout: &Layout) -> String {
        let mut out = Vec::new();
        layout.append(&line(), &mut TimeText::new(Some(chrono_tz::UTC)), &mut out);
        String::from_utf8(out).unwrap()
    }

    fn read(text: &str) -> (Result<Layout>, Vec<String>) {
        let mut warnings = Vec::new();
        (Layout::read(&Element::parse("config.xml", text).unwrap(), &mut warnings), warnings)
    }

    #[test]
    fn text_has_clickhouses_layout() {
        let expected = "2026.11.20 12:00:00.023456 [ 17 ] {abc} <Information> executeQuery: say \"hello\"\\nworld\n";
        assert_eq!(laid_out(&Layout::Text), expected);
    }

    #[test]
    fn json_has_clickhouses_fields() {
        let (layout, warnings) = read("<formatting><type>json</type></formatting>");
        assert_eq!(
            laid_out(&layout.unwrap()),
            "{\"date_time\":\"1795176000.023456\",\"thread_name\":\"IO\",\"thread_id\":\"17\",\"level\":\"Information\",\
             \"query_id\":\"abc\",\"logger_name\":\"executeQuery\",\"message\":\"say \\\"hello\\\"\\nworld\",\
             \"source_file\":\"a.rs\",\"source_line\":\"7\"}\n"
        );
        assert!(warnings.is_empty());
    }

    #[test]
    fn only_named_fields_are_written() {
        let (layout, warnings) = read(
            "<formatting><type>JSON</type><names><message>msg</message><level>lvl</level><colour>c</colour></names></formatting>",
        );
        assert_eq!(laid_out(&layout.unwrap()), "{\"lvl\":\"Information\",\"msg\":\"say \\\"hello\\\"\\nworld\"}\n");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(read("<formatting><type>yaml</type></formatting>").0.unwrap_err().message.contains("text or json"));
    }
}
