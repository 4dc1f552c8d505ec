//! Builds a column from values in text. A reader is a tree that mirrors the type, with a typed vector at each leaf; nothing is
//! allocated for a value.

mod alternatives;
mod bare;
mod input;
mod json;
mod node;
mod object;
mod quoted;

use std::sync::Arc;

use self::input::Input;
pub use self::input::json_value_length;
use self::node::Node;
use super::escape::unescape;
use super::{JsonRules, TextOptions};
use crate::column::Column;
use crate::data_type::DataType;
use crate::error::Result;

/// Builds a column of one type from text, value by value.
///
/// Every `read_…` appends one row, or leaves the number of rows as it is and fails. After a failure inside a nested value call
/// [`truncate`](Self::truncate) before going on.
#[derive(Debug)]
pub struct ValueReader {
    data_type: DataType,
    node: Node,
    scratch: Scratch,
}

/// What the reading of one value hands to that of the values inside.
#[derive(Debug)]
struct Scratch {
    /// Contents of strings with escapes.
    bytes: Vec<u8>,
    /// Whether a NULL among items of a type without it is the type's default.
    nulls_are_defaults: bool,
    /// Words for false and true beside the usual ones.
    bool_words: Option<[Arc<[u8]>; 2]>,
    json: JsonRules,
}

impl Scratch {
    fn new(options: &TextOptions) -> Self {
        let TextOptions { nulls_are_defaults, bool_words, json_rules, .. } = options;
        Self {
            bytes: Vec::new(),
            nulls_are_defaults: *nulls_are_defaults,
            bool_words: bool_words.clone(),
            json: *json_rules,
        }
    }

    /// What a word stands for, where it is one of those.
    fn truth(&self, word: &[u8]) -> Option<bool> {
        let [no, yes] = self.bool_words.as_ref()?;
        (word == &**no || word == &**yes).then_some(word == &**yes)
    }
}

impl ValueReader {
    /// A reader without rows.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for a time zone that does not exist.
    pub fn new(data_type: &DataType, options: &TextOptions) -> Result<Self> {
        Ok(Self { data_type: data_type.clone(), node: Node::new(data_type, options)?, scratch: Scratch::new(options) })
    }

    /// The type of the column.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// The rows so far.
    pub fn rows(&self) -> usize {
        self.node.rows()
    }

    /// Appends the value that `field` is as a whole, bare (CSV after its quotes are off, casts from strings). A `Nullable` takes
    /// `NULL` and `\N` for NULL, except where it holds strings.
    ///
    /// # Errors
    /// `CANNOT_PARSE_TEXT`, `CANNOT_PARSE_NUMBER`, `CANNOT_PARSE_DATE`, … as ClickHouse has them.
    #[inline]
    pub fn read_whole(&mut self, field: &[u8]) -> Result<()> {
        self.node.read_whole(field, &mut self.scratch)
    }

    /// Appends the value that a field of TabSeparated is: `\N` is NULL, strings have their escapes.
    ///
    /// # Errors
    /// As [`read_whole`](Self::read_whole), and `CANNOT_PARSE_ESCAPE_SEQUENCE`.
    pub fn read_escaped(&mut self, field: &[u8]) -> Result<()> {
        if field == b"\\N" && (self.data_type.is_nullable() || self.data_type.is_of_alternatives()) {
            self.node.append_default();
            return Ok(());
        }
        if self.node.is_nested() {
            return self.node.read_whole(field, &mut self.scratch);
        }
        self.read_unescaped(&unescape(field)?)
    }

    /// The same for a field in which nothing is escaped.
    ///
    /// # Errors
    /// As [`read_whole`](Self::read_whole).
    #[inline]
    pub fn read_unescaped(&mut self, field: &[u8]) -> Result<()> {
        if !self.node.is_around_values() {
            return self.node.read_whole(field, &mut self.scratch);
        }
        self.node.value_node().read_whole(field, &mut self.scratch)?;
        self.node.set_valid();
        Ok(())
    }

    /// Appends the value at the front of `input`, as Values and nested values write it (`'a'`, `[1,'a']`, `NULL`); returns the
    /// bytes read.
    ///
    /// # Errors
    /// As [`read_whole`](Self::read_whole), and `CANNOT_PARSE_QUOTED_STRING`, `CANNOT_PARSE_INPUT_ASSERTION_FAILED`.
    pub fn read_quoted(&mut self, input: &[u8]) -> Result<usize> {
        let mut input = Input { text: input, at: 0 };
        self.node.read_quoted(&mut input, &mut self.scratch)?;
        Ok(input.at)
    }

    /// Appends the JSON value at the front of `input`; returns the bytes read. Numbers may be in quotes, `null` is the default of
    /// a type without NULL, a named tuple is an object or an array, a map is an object.
    ///
    /// # Errors
    /// As [`read_quoted`](Self::read_quoted).
    pub fn read_json(&mut self, input: &[u8]) -> Result<usize> {
        let mut input = Input { text: input, at: 0 };
        self.node.read_json(&mut input, &mut self.scratch)?;
        Ok(input.at)
    }

    /// Appends NULL where the type has it, otherwise 0 or an empty value.
    pub fn append_default(&mut self) {
        self.node.append_default();
    }

    /// Drops the rows from `rows` on, and what a failed value has left behind.
    pub fn truncate(&mut self, rows: usize) {
        self.node.truncate(rows);
    }

    /// The column of all rows; the reader is empty afterwards.
    ///
    /// # Errors
    /// `TOO_LARGE_STRING_SIZE` where a block has more than 2 GiB of strings.
    pub fn finish(&mut self) -> Result<Column> {
        let array = self.node.finish()?;
        Ok(Column::new(self.data_type.clone(), array))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{TextStyle, ValueWriter};
    use super::*;
    use crate::error::ErrorCode;
    use crate::value::Value;

    const SAMPLES: &[(&str, &[&str])] = &[
        ("UInt8", &["0", "255"]),
        ("Int64", &["-9223372036854775808", "42"]),
        ("Float64", &["1.5", "nan", "-inf"]),
        ("Bool", &["true", "false"]),
        ("String", &["", "it's \\ tab\there", "\"quoted\""]),
        ("FixedString(3)", &["abc"]),
        ("UUID", &["61f0c404-5cb3-11e7-907b-a6006ad3dba0"]),
        ("IPv4", &["127.0.0.1"]),
        ("IPv6", &["2001:db8::1", "::ffff:1.2.3.4"]),
        ("Date", &["2020-02-29", "1970-01-01"]),
        ("Date32", &["1900-01-01"]),
        ("DateTime('Europe/Berlin')", &["2020-06-01 12:00:00"]),
        ("DateTime64(3, 'UTC')", &["1960-06-01 12:00:00.123"]),
        ("Enum8('a' = -1, 'b' = 2)", &["a", "b"]),
        ("Nullable(UInt8)", &["7"]),
        ("LowCardinality(Nullable(String))", &["x", "x", "y"]),
        ("Array(Nullable(String))", &["['a','it\\'s',NULL]", "[]"]),
        ("Tuple(UInt8, Array(String))", &["(1,['a'])"]),
        ("Tuple(a UInt8, b String)", &["(1,'x')"]),
        ("Map(String, Array(UInt8))", &["{'k':[1,2],'l':[]}"]),
    ];

    #[test]
    fn every_type_comes_back_in_every_style() {
        let options = TextOptions::default();
        for (name, texts) in SAMPLES {
            let data_type = DataType::parse(name).unwrap();
            let mut reader = ValueReader::new(&data_type, &options).unwrap();
            texts.iter().for_each(|text| reader.read_whole(text.as_bytes()).unwrap());
            let nullable = data_type.is_nullable();
            if nullable {
                reader.append_default();
            }
            let column = reader.finish().unwrap();
            let mut plain = ValueWriter::new(&column, TextStyle::Plain, &options).unwrap();
            for (row, text) in texts.iter().enumerate() {
                let mut out = Vec::new();
                plain.write(&mut out, row);
                assert_eq!(String::from_utf8(out).unwrap(), **text, "{name}");
            }
            for style in [TextStyle::Escaped, TextStyle::Quoted, TextStyle::Json] {
                let mut writer = ValueWriter::new(&column, style, &options).unwrap();
                let mut reader = ValueReader::new(&data_type, &options).unwrap();
                for row in 0..column.rows() {
                    let mut out = Vec::new();
                    writer.write(&mut out, row);
                    match style {
                        TextStyle::Escaped => reader.read_escaped(&out).unwrap(),
                        TextStyle::Quoted => assert_eq!(reader.read_quoted(&out).unwrap(), out.len()),
                        _ => assert_eq!(reader.read_json(&out).unwrap(), out.len()),
                    }
                }
                let back = reader.finish().unwrap();
                for row in 0..column.rows() {
                    let (left, right) = (back.value(row), column.value(row));
                    let both_nan =
                        matches!((&left, &right), (Value::Float64(l), Value::Float64(r)) if l.is_nan() && r.is_nan());
                    let denormal = style == TextStyle::Json && *name == "Float64" && row > 0;
                    assert!(left == right || both_nan || denormal, "{name} {style:?} {row}: {left} {right}");
                }
            }
        }
    }

    #[test]
    fn bad_text_is_refused_and_leaves_no_row() {
        let refuse = |name: &str, text: &str, code: ErrorCode| {
            let mut reader = ValueReader::new(&DataType::parse(name).unwrap(), &TextOptions::default()).unwrap();
            let error = reader.read_whole(text.as_bytes()).unwrap_err();
            assert_eq!(error.code, code, "{name} {text}: {error}");
            reader.truncate(0);
            assert_eq!(reader.finish().unwrap().rows(), 0);
        };
        refuse("Int32", "", ErrorCode::ATTEMPT_TO_READ_AFTER_EOF);
        refuse("Int32", "12 ", ErrorCode::CANNOT_PARSE_TEXT);
        refuse("Int32", "abc", ErrorCode::CANNOT_PARSE_TEXT);
        refuse("Int32", "-", ErrorCode::CANNOT_PARSE_NUMBER);
        refuse("UInt8", "-5", ErrorCode::CANNOT_PARSE_NUMBER);
        refuse("Float64", "abc", ErrorCode::CANNOT_PARSE_NUMBER);
        refuse("Date", "abc", ErrorCode::CANNOT_PARSE_DATE);
        refuse("DateTime", "abc", ErrorCode::CANNOT_PARSE_DATETIME);
        refuse("Bool", "2", ErrorCode::CANNOT_PARSE_BOOL);
        refuse("Enum8('a' = 1)", "b", ErrorCode::UNKNOWN_ELEMENT_OF_ENUM);
        refuse("FixedString(2)", "abc", ErrorCode::TOO_LARGE_STRING_SIZE);
        refuse("Array(UInt8)", "[1,2", ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED);
        refuse("Array(UInt8)", "[1,2]x", ErrorCode::UNEXPECTED_DATA_AFTER_PARSED_VALUE);
        refuse("Array(String)", "[a]", ErrorCode::CANNOT_PARSE_QUOTED_STRING);
        refuse("IPv4", "1.2.3", ErrorCode::CANNOT_PARSE_IPV4);
        refuse("UUID", "a", ErrorCode::CANNOT_PARSE_UUID);
    }

    #[test]
    fn json_takes_what_clients_send() {
        let read = |name: &str, text: &str| {
            let mut reader = ValueReader::new(&DataType::parse(name).unwrap(), &TextOptions::default()).unwrap();
            reader.read_json(text.as_bytes()).unwrap();
            reader.finish().unwrap().value(0).to_string()
        };
        assert_eq!(read("UInt64", "\"12\""), "12");
        assert_eq!(read("UInt8", "true"), "1");
        assert_eq!(read("UInt8", "null"), "0");
        assert_eq!(read("Nullable(UInt8)", "null"), "NULL");
        assert_eq!(read("String", "12.50"), "'12.50'");
        assert_eq!(read("Tuple(a UInt8, b String)", "{\"b\": \"x\"}"), "(0, 'x')");
        assert_eq!(read("Tuple(a UInt8, b String)", "[3, \"y\"]"), "(3, 'y')");
        assert_eq!(read("Map(String, UInt8)", "{\"k\" : 1, \"l\":2}"), "map('k', 1, 'l', 2)");
        assert_eq!(read("Array(Float64)", "[1, 2.5]"), "[1, 2.5]");
    }
}
