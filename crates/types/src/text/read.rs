//! Builds a column from values in text. A reader is a tree that mirrors the type, with a typed vector at each leaf; nothing is
//! allocated for a value.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, FixedSizeBinaryArray, ListArray, NullArray, PrimitiveArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use hashbrown::HashMap;

use super::TextOptions;
use super::date_time::{Moment, read_date, read_date_time};
use super::decimal::{read_any_integer, read_decimal};
use super::escape::{read_json_string, read_quoted, unescape};
use super::number::{IntegerError, read_float32, read_float64, read_integer};
use super::time::read_time;
use crate::calendar::{DATE32_MAX, DATE32_MIN, TimeZone, ZoneCursor};
use crate::column::{Column, default_value};
use crate::data_type::{DataType, EnumValues};
use crate::error::{Error, ErrorCode, Result};
use crate::integer::{I256, Integer, U256};
use crate::wrappers::with_validity;

/// Builds a column of one type from text, value by value.
///
/// Every `read_…` appends one row, or leaves the number of rows as it is and fails. After a failure inside a nested value call
/// [`truncate`](Self::truncate) before going on.
#[derive(Debug)]
pub struct ValueReader {
    data_type: DataType,
    node: Node,
    /// Contents of strings with escapes.
    scratch: Vec<u8>,
}

#[derive(Debug)]
enum Node {
    Nothing(usize),
    Bool(Vec<u8>),
    UInt8(Vec<u8>),
    UInt16(Vec<u16>),
    UInt32(Vec<u32>),
    UInt64(Vec<u64>),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    UInt128(Vec<u128>),
    UInt256(Vec<U256>),
    Int128(Vec<i128>),
    Int256(Vec<I256>),
    /// With the numbers of digits, all and after the point.
    Decimal32(Vec<i32>, u8, u8),
    Decimal64(Vec<i64>, u8, u8),
    Decimal128(Vec<i128>, u8, u8),
    Decimal256(Vec<I256>, u8, u8),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    String(Vec<i32>, Vec<u8>),
    FixedString(usize, Vec<u8>),
    Uuid(Vec<u8>),
    Ipv4(Vec<u32>),
    Ipv6(Vec<u8>),
    Date(Vec<u16>),
    Date32(Vec<i32>),
    DateTime(Vec<u32>, ZoneCursor),
    DateTime64(Vec<i64>, u8, ZoneCursor),
    Time(Vec<i32>),
    Time64(Vec<i64>, u8),
    Enum8(Vec<i8>, Names),
    Enum16(Vec<i16>, Names),
    Nullable(Box<Node>, Vec<bool>),
    LowCardinality(Box<Node>),
    Array(Vec<i32>, Box<Node>),
    Map(Vec<i32>, Box<Node>, Box<Node>),
    Tuple(Vec<(Arc<str>, Node)>, usize),
}

/// An enum's names with their numbers.
#[derive(Debug)]
struct Names {
    numbers: HashMap<Box<[u8]>, i16>,
    values: Arc<EnumValues>,
}

impl Names {
    fn new(values: &Arc<EnumValues>) -> Self {
        Self {
            numbers: values.iter().map(|(name, number)| (name.as_bytes().into(), number)).collect(),
            values: values.clone(),
        }
    }

    /// The number of a name, or of a number in decimal that is one of the enum's.
    fn find(&self, text: &[u8]) -> Result<i16> {
        if let Some(number) = self.numbers.get(text) {
            return Ok(*number);
        }
        let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        number.filter(|number| self.values.name(*number).is_some()).ok_or_else(|| {
            Error::new(ErrorCode::UNKNOWN_ELEMENT_OF_ENUM, format!("Unknown element '{}' for enum", shown(text)))
        })
    }
}

/// Text under way: a position that moves forward.
struct Input<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.eat(byte) {
            return Ok(());
        }
        let place = match self.peek() {
            None => "at end of stream".to_owned(),
            Some(_) => format!("before: '{}'", shown(self.rest().get(..20).unwrap_or(self.rest()))),
        };
        Err(Error::new(
            ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
            format!("Cannot parse input: expected '{}' {place}", char::from(byte)),
        ))
    }

    fn eat_word(&mut self, word: &[u8]) -> bool {
        let found = self.rest().get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
            && !self.rest().get(word.len()).is_some_and(u8::is_ascii_alphanumeric);
        if found {
            self.at += word.len();
        }
        found
    }

    /// Items between brackets: `[1, 2]`, `{…}`. `item` reads one.
    fn list(&mut self, open: u8, close: u8, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        if open == b'[' && self.peek() != Some(open) {
            return Err(Error::new(ErrorCode::CANNOT_READ_ARRAY_FROM_TEXT, "Array does not start with '[' character"));
        }
        self.expect(open)?;
        self.skip_spaces();
        if self.eat(close) {
            return Ok(());
        }
        loop {
            self.skip_spaces();
            item(self)?;
            self.skip_spaces();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(found) if open == b'[' && found != close => {
                    return Err(Error::new(
                        ErrorCode::CANNOT_READ_ARRAY_FROM_TEXT,
                        format!(
                            "Cannot read array from text, expected comma or end of array, found '{}'",
                            char::from(found)
                        ),
                    ));
                }
                _ => return self.expect(close),
            }
        }
    }
}

fn shown(text: &[u8]) -> std::borrow::Cow<'_, str> {
    const SHOWN_BYTES_MAX: usize = 256;
    String::from_utf8_lossy(text.get(..SHOWN_BYTES_MAX).unwrap_or(text))
}

impl ValueReader {
    /// A reader without rows.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for a time zone that does not exist.
    pub fn new(data_type: &DataType, options: &TextOptions) -> Result<Self> {
        Ok(Self { data_type: data_type.clone(), node: Node::new(data_type, options)?, scratch: Vec::new() })
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
    #[inline]
    pub fn read_escaped(&mut self, field: &[u8]) -> Result<()> {
        if field == b"\\N" && self.data_type.is_nullable() {
            self.node.append_default();
            return Ok(());
        }
        if self.node.is_nested() {
            return self.node.read_whole(field, &mut self.scratch);
        }
        let field = unescape(field)?;
        self.node.value_node().read_whole(&field, &mut self.scratch)?;
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

/// Runs `$body` with `$values` as the vector of whichever flat node this is.
macro_rules! each_flat {
    ($node:expr, $values:ident => $body:expr, $($rest:tt)*) => {
        match $node {
            Node::Bool($values) | Node::UInt8($values) => $body,
            Node::UInt16($values) | Node::Date($values) => $body,
            Node::UInt32($values) | Node::Ipv4($values) | Node::DateTime($values, _) => $body,
            Node::UInt64($values) => $body,
            Node::Int8($values) | Node::Enum8($values, _) => $body,
            Node::Int16($values) | Node::Enum16($values, _) => $body,
            Node::Int32($values) | Node::Date32($values) | Node::Time($values) | Node::Decimal32($values, ..) => $body,
            Node::Int64($values) | Node::DateTime64($values, ..) | Node::Decimal64($values, ..) => $body,
            Node::Time64($values, _) => $body,
            Node::UInt128($values) => $body,
            Node::UInt256($values) => $body,
            Node::Int128($values) | Node::Decimal128($values, ..) => $body,
            Node::Int256($values) | Node::Decimal256($values, ..) => $body,
            Node::Float32($values) => $body,
            Node::Float64($values) => $body,
            $($rest)*
        }
    };
}

impl Node {
    fn new(data_type: &DataType, options: &TextOptions) -> Result<Self> {
        let zone = |name: &Option<Arc<str>>| -> Result<ZoneCursor> {
            Ok(match name {
                Some(name) => TimeZone::named(name)?.cursor(),
                None => options.time_zone.cursor(),
            })
        };
        Ok(match data_type {
            DataType::Nothing => Self::Nothing(0),
            DataType::Bool => Self::Bool(Vec::new()),
            DataType::UInt8 => Self::UInt8(Vec::new()),
            DataType::UInt16 => Self::UInt16(Vec::new()),
            DataType::UInt32 => Self::UInt32(Vec::new()),
            DataType::UInt64 => Self::UInt64(Vec::new()),
            DataType::Int8 => Self::Int8(Vec::new()),
            DataType::Int16 => Self::Int16(Vec::new()),
            DataType::Int32 => Self::Int32(Vec::new()),
            DataType::Int64 | DataType::Interval(_) => Self::Int64(Vec::new()),
            DataType::UInt128 => Self::UInt128(Vec::new()),
            DataType::UInt256 => Self::UInt256(Vec::new()),
            DataType::Int128 => Self::Int128(Vec::new()),
            DataType::Int256 => Self::Int256(Vec::new()),
            DataType::Decimal(precision @ ..=9, scale) => Self::Decimal32(Vec::new(), *precision, *scale),
            DataType::Decimal(precision @ 10..=18, scale) => Self::Decimal64(Vec::new(), *precision, *scale),
            DataType::Decimal(precision @ 19..=38, scale) => Self::Decimal128(Vec::new(), *precision, *scale),
            DataType::Decimal(precision, scale) => Self::Decimal256(Vec::new(), *precision, *scale),
            DataType::Float32 => Self::Float32(Vec::new()),
            DataType::Float64 => Self::Float64(Vec::new()),
            DataType::String | DataType::AggregateFunction(_) => Self::String(vec![0], Vec::new()),
            DataType::FixedString(width) => Self::FixedString(*width, Vec::new()),
            DataType::UUID => Self::Uuid(Vec::new()),
            DataType::IPv4 => Self::Ipv4(Vec::new()),
            DataType::IPv6 => Self::Ipv6(Vec::new()),
            DataType::Date => Self::Date(Vec::new()),
            DataType::Date32 => Self::Date32(Vec::new()),
            DataType::DateTime(name) => Self::DateTime(Vec::new(), zone(name)?),
            DataType::DateTime64(digits, name) => Self::DateTime64(Vec::new(), *digits, zone(name)?),
            DataType::Time => Self::Time(Vec::new()),
            DataType::Time64(digits) => Self::Time64(Vec::new(), *digits),
            DataType::Enum8(values) => Self::Enum8(Vec::new(), Names::new(values)),
            DataType::Enum16(values) => Self::Enum16(Vec::new(), Names::new(values)),
            DataType::Nullable(inner) => Self::Nullable(Box::new(Self::new(inner, options)?), Vec::new()),
            DataType::LowCardinality(inner) => Self::LowCardinality(Box::new(Self::new(inner, options)?)),
            DataType::Array(item) => Self::Array(vec![0], Box::new(Self::new(item, options)?)),
            DataType::Map(key, value) => {
                Self::Map(vec![0], Box::new(Self::new(key, options)?), Box::new(Self::new(value, options)?))
            }
            DataType::Tuple(elements) => {
                let nodes = elements
                    .iter()
                    .enumerate()
                    .map(|(at, element)| {
                        let name = element.name.clone().unwrap_or_else(|| (at + 1).to_string().into());
                        Ok((name, Self::new(&element.data_type, options)?))
                    })
                    .collect::<Result<_>>()?;
                Self::Tuple(nodes, 0)
            }
        })
    }

    fn rows(&self) -> usize {
        each_flat!(self, values => values.len(),
            Self::Nothing(rows) | Self::Tuple(_, rows) => *rows,
            Self::String(offsets, _) | Self::Array(offsets, _) | Self::Map(offsets, ..) => offsets.len() - 1,
            Self::FixedString(width, bytes) => bytes.len() / width,
            Self::Uuid(bytes) | Self::Ipv6(bytes) => bytes.len() / 16,
            Self::Nullable(_, valid) => valid.len(),
            Self::LowCardinality(inner) => inner.rows(),
        )
    }

    fn truncate(&mut self, rows: usize) {
        each_flat!(self, values => values.truncate(rows),
            Self::Nothing(count) => *count = rows.min(*count),
            Self::String(offsets, bytes) => {
                offsets.truncate(rows + 1);
                bytes.truncate(offsets.last().map_or(0, |end| *end as usize));
            }
            Self::Array(offsets, items) => {
                offsets.truncate(rows + 1);
                items.truncate(offsets.last().map_or(0, |end| *end as usize));
            }
            Self::Map(offsets, keys, values) => {
                offsets.truncate(rows + 1);
                let end = offsets.last().map_or(0, |end| *end as usize);
                keys.truncate(end);
                values.truncate(end);
            }
            Self::FixedString(width, bytes) => bytes.truncate(rows * *width),
            Self::Uuid(bytes) | Self::Ipv6(bytes) => bytes.truncate(rows * 16),
            Self::Nullable(inner, valid) => {
                inner.truncate(rows);
                valid.truncate(rows);
            }
            Self::LowCardinality(inner) => inner.truncate(rows),
            Self::Tuple(elements, count) => {
                elements.iter_mut().for_each(|(_, element)| element.truncate(rows));
                *count = rows.min(*count);
            }
        );
    }

    fn append_default(&mut self) {
        each_flat!(self, values => values.push(Default::default()),
            Self::Nothing(rows) => *rows += 1,
            Self::String(offsets, _) | Self::Array(offsets, _) | Self::Map(offsets, ..) => {
                offsets.push(offsets.last().copied().unwrap_or(0));
            }
            Self::FixedString(width, bytes) => bytes.extend(std::iter::repeat_n(0, *width)),
            Self::Uuid(bytes) | Self::Ipv6(bytes) => bytes.extend_from_slice(&[0; 16]),
            Self::Nullable(inner, valid) => {
                inner.append_default();
                valid.push(false);
            }
            Self::LowCardinality(inner) => inner.append_default(),
            Self::Tuple(elements, rows) => {
                elements.iter_mut().for_each(|(_, element)| element.append_default());
                *rows += 1;
            }
        );
        // An enum's default is its first number, which need not be 0.
        let first = |names: &Names| match default_value(&DataType::Enum16(names.values.clone())) {
            crate::value::Value::Int64(number) => number as i16,
            _ => 0,
        };
        match self {
            Self::Enum8(values, names) => {
                values.pop();
                values.push(first(names) as i8);
            }
            Self::Enum16(values, names) => {
                values.pop();
                values.push(first(names));
            }
            _ => {}
        }
    }

    /// Whether values are written with brackets.
    fn is_nested(&self) -> bool {
        matches!(self, Self::Array(..) | Self::Map(..) | Self::Tuple(..))
    }

    /// The node of the values inside `Nullable` and `LowCardinality`.
    fn value_node(&mut self) -> &mut Self {
        match self {
            Self::Nullable(inner, _) | Self::LowCardinality(inner) => inner.value_node(),
            other => other,
        }
    }

    /// Marks the last value of a `Nullable` as there, after its [`value_node`](Self::value_node) has been appended to.
    fn set_valid(&mut self) {
        match self {
            Self::Nullable(_, valid) => valid.push(true),
            Self::LowCardinality(inner) => inner.set_valid(),
            _ => {}
        }
    }

    /// The name of the type, for messages.
    fn type_name(&self) -> std::borrow::Cow<'static, str> {
        let name = match self {
            Self::Decimal32(_, precision, scale)
            | Self::Decimal64(_, precision, scale)
            | Self::Decimal128(_, precision, scale)
            | Self::Decimal256(_, precision, scale) => return format!("Decimal({precision}, {scale})").into(),
            Self::UInt128(_) => "UInt128",
            Self::UInt256(_) => "UInt256",
            Self::Int128(_) => "Int128",
            Self::Int256(_) => "Int256",
            Self::Nothing(_) => "Nothing",
            Self::Bool(_) => "Bool",
            Self::UInt8(_) => "UInt8",
            Self::UInt16(_) => "UInt16",
            Self::UInt32(_) => "UInt32",
            Self::UInt64(_) => "UInt64",
            Self::Int8(_) => "Int8",
            Self::Int16(_) => "Int16",
            Self::Int32(_) => "Int32",
            Self::Int64(_) => "Int64",
            Self::Float32(_) => "Float32",
            Self::Float64(_) => "Float64",
            Self::String(..) => "String",
            Self::FixedString(..) => "FixedString",
            Self::Uuid(_) => "UUID",
            Self::Ipv4(_) => "IPv4",
            Self::Ipv6(_) => "IPv6",
            Self::Date(_) => "Date",
            Self::Date32(_) => "Date32",
            Self::DateTime(..) => "DateTime",
            Self::DateTime64(..) => "DateTime64",
            Self::Time(_) => "Time",
            Self::Time64(..) => "Time64",
            Self::Enum8(..) => "Enum8",
            Self::Enum16(..) => "Enum16",
            Self::Nullable(..) => "Nullable",
            Self::LowCardinality(_) => "LowCardinality",
            Self::Array(..) => "Array",
            Self::Map(..) => "Map",
            Self::Tuple(..) => "Tuple",
        };
        name.into()
    }

    fn read_whole(&mut self, field: &[u8], scratch: &mut Vec<u8>) -> Result<()> {
        let read = match self {
            Self::Nullable(inner, valid) => {
                if matches!(field, b"NULL" | b"\\N") && !matches!(**inner, Self::String(..) | Self::FixedString(..)) {
                    self.append_default();
                    return Ok(());
                }
                inner.read_whole(field, scratch)?;
                valid.push(true);
                return Ok(());
            }
            Self::LowCardinality(inner) => return inner.read_whole(field, scratch),
            Self::Array(..) | Self::Map(..) | Self::Tuple(..) => {
                let rows = self.rows();
                let mut input = Input { text: field, at: 0 };
                input.skip_spaces();
                self.read_quoted(&mut input, scratch)?;
                input.skip_spaces();
                if input.at == field.len() {
                    return Ok(());
                }
                self.truncate(rows);
                return Err(Error::new(
                    ErrorCode::UNEXPECTED_DATA_AFTER_PARSED_VALUE,
                    format!(
                        "Unexpected data '{}' after parsed {} value '{}'",
                        shown(input.rest()),
                        self.type_name(),
                        shown(field.get(..input.at).unwrap_or_default())
                    ),
                ));
            }
            _ => self.read_bare(field)?,
        };
        if read == field.len() {
            return Ok(());
        }
        self.truncate(self.rows() - 1);
        Err(self.incomplete(field, read))
    }

    /// The error for a field of which only a part is a value.
    #[cold]
    fn incomplete(&self, field: &[u8], read: usize) -> Error {
        let name = self.type_name();
        let place = match field.get(..read) {
            Some([]) | None => "at begin of string".to_owned(),
            Some(parsed) => format!("at position {read} (parsed just '{}')", shown(parsed)),
        };
        let note = match self {
            Self::Date(_)
            | Self::Date32(_)
            | Self::DateTime(..)
            | Self::DateTime64(..)
            | Self::Bool(_)
            | Self::Time(_)
            | Self::Time64(..)
            | Self::Decimal32(..)
            | Self::Decimal64(..)
            | Self::Decimal128(..)
            | Self::Decimal256(..) => String::new(),
            _ => format!(
                ". Note: there are to{name}OrZero and to{name}OrNull functions, which returns zero/NULL instead of throwing exception"
            ),
        };
        Error::new(
            ErrorCode::CANNOT_PARSE_TEXT,
            format!("Cannot parse string '{}' as {name}: syntax error {place}{note}", shown(field)),
        )
    }

    /// Appends a value that is not nested from the front of bare text and returns the bytes read; strings, enums and addresses
    /// take all of it.
    #[inline]
    fn read_bare(&mut self, text: &[u8]) -> Result<usize> {
        macro_rules! integer {
            ($values:ident, $t:ty, $signed:literal) => {{
                let (value, read) = read_integer(text, $signed).map_err(|error| self.bad_integer(error))?;
                let Self::$values(values) = self else { return Ok(0) };
                values.push(value as $t);
                Ok(read)
            }};
        }
        macro_rules! wide {
            ($values:ident) => {{
                let (value, read) = read_any_integer(text).map_err(|error| self.bad_integer(error))?;
                let Self::$values(values) = self else { return Ok(0) };
                values.push(value);
                Ok(read)
            }};
        }
        macro_rules! decimal {
            ($values:ident, $precision:ident, $scale:ident) => {{
                let (value, read) = read_decimal(text, *$precision, *$scale)?;
                $values.push(value);
                Ok(read)
            }};
        }
        match self {
            Self::UInt8(_) => integer!(UInt8, u8, false),
            Self::UInt16(_) => integer!(UInt16, u16, false),
            Self::UInt32(_) => integer!(UInt32, u32, false),
            Self::UInt64(_) => integer!(UInt64, u64, false),
            Self::Int8(_) => integer!(Int8, i8, true),
            Self::Int16(_) => integer!(Int16, i16, true),
            Self::Int32(_) => integer!(Int32, i32, true),
            Self::Int64(_) => integer!(Int64, i64, true),
            Self::UInt128(_) => wide!(UInt128),
            Self::UInt256(_) => wide!(UInt256),
            Self::Int128(_) => wide!(Int128),
            Self::Int256(_) => wide!(Int256),
            Self::Decimal32(values, precision, scale) => decimal!(values, precision, scale),
            Self::Decimal64(values, precision, scale) => decimal!(values, precision, scale),
            Self::Decimal128(values, precision, scale) => decimal!(values, precision, scale),
            Self::Decimal256(values, precision, scale) => decimal!(values, precision, scale),
            Self::Float32(values) => {
                let (value, read) = read_float32(text).ok_or_else(|| bad_float(text))?;
                values.push(value);
                Ok(read)
            }
            Self::Float64(values) => {
                let (value, read) = read_float64(text).ok_or_else(|| bad_float(text))?;
                values.push(value);
                Ok(read)
            }
            Self::String(offsets, bytes) => {
                bytes.extend_from_slice(text);
                push_end(offsets, bytes.len())?;
                Ok(text.len())
            }
            Self::FixedString(width, bytes) => {
                if text.len() > *width {
                    return Err(Error::new(
                        ErrorCode::TOO_LARGE_STRING_SIZE,
                        format!("String too long for type FixedString({width})"),
                    ));
                }
                bytes.extend_from_slice(text);
                bytes.extend(std::iter::repeat_n(0, *width - text.len()));
                Ok(text.len())
            }
            Self::Bool(values) => {
                values.push(read_bool(text)?.into());
                Ok(text.len())
            }
            Self::Date(values) => {
                let (days, read) = read_date(text)?;
                values.push(days.clamp(0, u16::MAX.into()) as u16);
                Ok(read + time_after_date(text, read))
            }
            Self::Date32(values) => {
                let (days, read) = read_date(text)?;
                values.push(days.clamp(DATE32_MIN, DATE32_MAX));
                Ok(read + time_after_date(text, read))
            }
            Self::DateTime(values, zone) => {
                let (moment, read) = read_date_time(text, zone)?;
                values.push(moment.seconds.clamp(0, u32::MAX.into()) as u32);
                Ok(read)
            }
            Self::DateTime64(values, digits, zone) => {
                let (moment, read) = read_date_time(text, zone)?;
                let smallest = i64::from(DATE32_MIN) * crate::calendar::DAY_SECONDS;
                let largest = (i64::from(DATE32_MAX) + 1) * crate::calendar::DAY_SECONDS - 1;
                let moment = Moment { seconds: moment.seconds.clamp(smallest, largest), ..moment };
                values.push(moment.checked_ticks(*digits).ok_or_else(|| {
                    Error::new(
                        ErrorCode::DECIMAL_OVERFLOW,
                        format!("Decimal math overflow: {} as DateTime64", shown(text)),
                    )
                })?);
                Ok(read)
            }
            Self::Time(values) => {
                let (seconds, read) = read_time(text, 0)?;
                values.push(seconds as i32);
                Ok(read)
            }
            Self::Time64(values, digits) => {
                let (ticks, read) = read_time(text, *digits)?;
                values.push(ticks);
                Ok(read)
            }
            Self::Enum8(values, names) => {
                // The numbers of an Enum8 fit.
                values.push(names.find(text)? as i8);
                Ok(text.len())
            }
            Self::Enum16(values, names) => {
                values.push(names.find(text)?);
                Ok(text.len())
            }
            Self::Uuid(bytes) => {
                bytes.extend_from_slice(&read_uuid(text).ok_or_else(|| {
                    Error::new(ErrorCode::CANNOT_PARSE_UUID, format!("Cannot parse uuid {}", shown(text)))
                })?);
                Ok(text.len())
            }
            Self::Ipv4(values) => {
                let address = std::str::from_utf8(text).ok().and_then(|text| text.parse::<Ipv4Addr>().ok());
                values.push(
                    address.ok_or_else(|| Error::new(ErrorCode::CANNOT_PARSE_IPV4, "Invalid IPv4 value"))?.to_bits(),
                );
                Ok(text.len())
            }
            Self::Ipv6(bytes) => {
                let address = std::str::from_utf8(text).ok().and_then(|text| {
                    text.parse::<Ipv6Addr>().or_else(|_| text.parse::<Ipv4Addr>().map(|v4| v4.to_ipv6_mapped())).ok()
                });
                let address = address.ok_or_else(|| Error::new(ErrorCode::CANNOT_PARSE_IPV6, "Invalid IPv6 value"))?;
                bytes.extend_from_slice(&address.octets());
                Ok(text.len())
            }
            Self::Nothing(_) => Err(Error::new(ErrorCode::CANNOT_PARSE_TEXT, "Type Nothing has no values")),
            Self::Nullable(..) | Self::LowCardinality(_) | Self::Array(..) | Self::Map(..) | Self::Tuple(..) => {
                Err(Error::logical(format!("{} is not a bare value", self.type_name())))
            }
        }
    }

    #[cold]
    fn bad_integer(&self, error: IntegerError) -> Error {
        let name = self.type_name();
        match error {
            IntegerError::Empty => Error::new(
                ErrorCode::ATTEMPT_TO_READ_AFTER_EOF,
                format!("Attempt to read after eof: Cannot parse {name} from String, because value is too short"),
            ),
            IntegerError::NoDigits => Error::new(
                ErrorCode::CANNOT_PARSE_NUMBER,
                format!("Cannot parse number without any digits: Cannot parse {name} from String"),
            ),
            IntegerError::Minus => Error::new(
                ErrorCode::CANNOT_PARSE_NUMBER,
                format!("Unsigned type must not contain '-' symbol: Cannot parse {name} from String"),
            ),
        }
    }

    fn is_number(&self) -> bool {
        matches!(
            self,
            Self::UInt8(_)
                | Self::UInt16(_)
                | Self::UInt32(_)
                | Self::UInt64(_)
                | Self::Int8(_)
                | Self::Int16(_)
                | Self::Int32(_)
                | Self::Int64(_)
                | Self::UInt128(_)
                | Self::UInt256(_)
                | Self::Int128(_)
                | Self::Int256(_)
                | Self::Decimal32(..)
                | Self::Decimal64(..)
                | Self::Decimal128(..)
                | Self::Decimal256(..)
                | Self::Float32(_)
                | Self::Float64(_)
        )
    }

    fn read_quoted(&mut self, input: &mut Input<'_>, scratch: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Nullable(inner, valid) => {
                if input.eat_word(b"NULL") {
                    self.append_default();
                    return Ok(());
                }
                inner.read_quoted(input, scratch)?;
                valid.push(true);
                Ok(())
            }
            Self::LowCardinality(inner) => inner.read_quoted(input, scratch),
            Self::Nothing(rows) => {
                if !input.eat_word(b"NULL") {
                    return Err(Error::new(ErrorCode::CANNOT_PARSE_TEXT, "Type Nothing has no values"));
                }
                *rows += 1;
                Ok(())
            }
            Self::Array(offsets, items) => {
                input.list(b'[', b']', |input| items.read_quoted(input, scratch))?;
                push_end(offsets, items.rows())
            }
            Self::Map(offsets, keys, values) => {
                input.list(b'{', b'}', |input| {
                    keys.read_quoted(input, scratch)?;
                    input.skip_spaces();
                    input.expect(b':')?;
                    input.skip_spaces();
                    values.read_quoted(input, scratch)
                })?;
                push_end(offsets, keys.rows())
            }
            Self::Tuple(elements, rows) => {
                input.expect(b'(')?;
                for (at, (_, element)) in elements.iter_mut().enumerate() {
                    input.skip_spaces();
                    if at > 0 {
                        input.expect(b',')?;
                        input.skip_spaces();
                    }
                    element.read_quoted(input, scratch)?;
                }
                input.skip_spaces();
                // `(1,)` is a tuple of one.
                if elements.len() == 1 && input.eat(b',') {
                    input.skip_spaces();
                }
                input.expect(b')')?;
                *rows += 1;
                Ok(())
            }
            Self::Bool(values) if input.peek() != Some(b'\'') => {
                let value = match () {
                    () if input.eat_word(b"true") || input.eat(b'1') => 1,
                    () if input.eat_word(b"false") || input.eat(b'0') => 0,
                    () => return Err(read_bool(input.rest()).err().unwrap_or_else(|| Error::logical("bool"))),
                };
                values.push(value);
                Ok(())
            }
            _ if input.peek() != Some(b'\'') && !matches!(self, Self::String(..) | Self::FixedString(..)) => {
                self.read_unquoted(input)
            }
            _ => {
                scratch.clear();
                let text = input.rest();
                match plain_string(text, b'\'') {
                    // Without escapes the bytes are taken from where they are.
                    Some(contents) => {
                        input.at += contents.len() + 2;
                        self.read_whole(contents, scratch)
                    }
                    None => {
                        input.at += read_quoted(scratch, text)?;
                        let contents = std::mem::take(scratch);
                        let result = self.read_whole(&contents, scratch);
                        *scratch = contents;
                        result
                    }
                }
            }
        }
    }

    /// A number, or a date, time or enum written without quotes as a number.
    fn read_unquoted(&mut self, input: &mut Input<'_>) -> Result<()> {
        let rest = input.rest();
        let read = if self.is_number() {
            self.read_bare(rest)?
        } else {
            let end = rest
                .iter()
                .position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.' | b':')));
            let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            if text.is_empty() || !text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.' || *byte == b'-') {
                return input.expect(b'\'');
            }
            match self {
                // A number is days or seconds here, not a date's digits.
                Self::Date(values) => {
                    let (days, read) = read_integer(text, false).unwrap_or((0, 0));
                    values.push(days as u16);
                    read
                }
                Self::Date32(values) => {
                    let (days, read) = read_integer(text, true).unwrap_or((0, 0));
                    values.push(days as i32);
                    read
                }
                Self::DateTime(values, _) => {
                    let (seconds, read) = read_integer(text, false).unwrap_or((0, 0));
                    values.push(seconds as u32);
                    read
                }
                Self::Time(values) => {
                    let (seconds, read) = read_integer(text, true).unwrap_or((0, 0));
                    values.push(seconds as i32);
                    read
                }
                Self::DateTime64(values, digits, _) | Self::Time64(values, digits) => {
                    let (seconds, mut read) = read_integer(text, true).unwrap_or((0, 0));
                    let mut ticks = (seconds as i64).saturating_mul(10i64.pow((*digits).into()));
                    if let Some((fraction, length)) =
                        text.get(read..).filter(|rest| rest.starts_with(b".")).and_then(read_float64)
                    {
                        let fraction = (fraction * 10f64.powi((*digits).into())) as i64;
                        ticks += if text.starts_with(b"-") { -fraction } else { fraction };
                        read += length;
                    }
                    values.push(ticks);
                    read
                }
                _ => self.read_bare(text)?,
            }
        };
        if read == 0 {
            self.truncate(self.rows() - 1);
            return Err(self.incomplete(rest, 0));
        }
        input.at += read;
        Ok(())
    }

    fn read_json(&mut self, input: &mut Input<'_>, scratch: &mut Vec<u8>) -> Result<()> {
        input.skip_spaces();
        if input.peek() == Some(b'n') && input.eat_word(b"null") {
            self.append_default();
            return Ok(());
        }
        match self {
            Self::Nullable(inner, valid) => {
                inner.read_json(input, scratch)?;
                valid.push(true);
                Ok(())
            }
            Self::LowCardinality(inner) => inner.read_json(input, scratch),
            Self::Array(offsets, items) => {
                input.list(b'[', b']', |input| items.read_json(input, scratch))?;
                push_end(offsets, items.rows())
            }
            Self::Map(offsets, keys, values) => {
                input.list(b'{', b'}', |input| {
                    keys.read_json(input, scratch)?;
                    input.skip_spaces();
                    input.expect(b':')?;
                    values.read_json(input, scratch)
                })?;
                push_end(offsets, keys.rows())
            }
            Self::Tuple(elements, rows) if input.peek() == Some(b'{') => {
                let before = *rows;
                input.list(b'{', b'}', |input| {
                    scratch.clear();
                    input.at += read_json_string(scratch, input.rest())?;
                    let name = std::mem::take(scratch);
                    let found = elements
                        .iter_mut()
                        .find(|(known, element)| known.as_bytes() == name && element.rows() == before);
                    let Some((_, element)) = found else {
                        return Err(Error::new(
                            ErrorCode::INCORRECT_DATA,
                            format!("Unexpected or repeated element \"{}\" of a tuple", shown(&name)),
                        ));
                    };
                    input.skip_spaces();
                    input.expect(b':')?;
                    element.read_json(input, scratch)
                })?;
                for (_, element) in elements.iter_mut().filter(|(_, element)| element.rows() == before) {
                    element.append_default();
                }
                *rows += 1;
                Ok(())
            }
            Self::Tuple(elements, rows) => {
                input.expect(b'[')?;
                for (at, (_, element)) in elements.iter_mut().enumerate() {
                    if at > 0 {
                        input.skip_spaces();
                        input.expect(b',')?;
                    }
                    element.read_json(input, scratch)?;
                }
                input.skip_spaces();
                input.expect(b']')?;
                *rows += 1;
                Ok(())
            }
            _ if input.peek() == Some(b'"') => {
                let text = input.rest();
                match plain_string(text, b'"') {
                    Some(contents) => {
                        input.at += contents.len() + 2;
                        self.read_whole(contents, scratch)
                    }
                    None => {
                        scratch.clear();
                        input.at += read_json_string(scratch, text)?;
                        let contents = std::mem::take(scratch);
                        let result = self.read_whole(&contents, scratch);
                        *scratch = contents;
                        result
                    }
                }
            }
            Self::Bool(values) => {
                let value = match () {
                    () if input.eat_word(b"true") || input.eat(b'1') => 1,
                    () if input.eat_word(b"false") || input.eat(b'0') => 0,
                    () => return Err(read_bool(input.rest()).err().unwrap_or_else(|| Error::logical("bool"))),
                };
                values.push(value);
                Ok(())
            }
            // A string takes a bare number or word as it is written.
            Self::String(..) | Self::FixedString(..) => {
                let rest = input.rest();
                let end = rest
                    .iter()
                    .position(|byte| matches!(byte, b',' | b'}' | b']' | b':') || byte.is_ascii_whitespace());
                let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
                if text.is_empty() || matches!(text.first(), Some(b'{' | b'[')) {
                    return input.expect(b'"');
                }
                input.at += self.read_bare(text)?;
                Ok(())
            }
            _ if self.is_number() => {
                let word = if input.eat_word(b"true") {
                    &b"1"[..]
                } else if input.eat_word(b"false") {
                    b"0"
                } else {
                    return self.read_unquoted(input);
                };
                self.read_bare(word).map(|_| ())
            }
            _ => self.read_unquoted(input),
        }
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        fn primitive<T: ArrowPrimitiveType>(values: &mut Vec<T::Native>) -> ArrayRef {
            Arc::new(PrimitiveArray::<T>::new(std::mem::take(values).into(), None))
        }
        fn offsets(offsets: &mut Vec<i32>) -> OffsetBuffer<i32> {
            OffsetBuffer::new(std::mem::replace(offsets, vec![0]).into())
        }
        fn fixed(width: usize, bytes: &mut Vec<u8>) -> Result<ArrayRef> {
            let width = i32::try_from(width).unwrap_or(i32::MAX);
            Ok(Arc::new(FixedSizeBinaryArray::try_new(width, std::mem::take(bytes).into(), None)?))
        }
        Ok(match self {
            Self::Nothing(rows) => Arc::new(NullArray::new(std::mem::take(rows))),
            Self::Bool(values) | Self::UInt8(values) => primitive::<UInt8Type>(values),
            Self::UInt16(values) | Self::Date(values) => primitive::<UInt16Type>(values),
            Self::UInt32(values) | Self::Ipv4(values) | Self::DateTime(values, _) => primitive::<UInt32Type>(values),
            Self::UInt64(values) => primitive::<UInt64Type>(values),
            Self::Int8(values) | Self::Enum8(values, _) => primitive::<Int8Type>(values),
            Self::Int16(values) | Self::Enum16(values, _) => primitive::<Int16Type>(values),
            Self::Int32(values) | Self::Date32(values) | Self::Time(values) | Self::Decimal32(values, ..) => {
                primitive::<Int32Type>(values)
            }
            Self::Int64(values)
            | Self::DateTime64(values, ..)
            | Self::Time64(values, _)
            | Self::Decimal64(values, ..) => primitive::<Int64Type>(values),
            Self::UInt128(values) => Integer::array(std::mem::take(values), None)?,
            Self::UInt256(values) => Integer::array(std::mem::take(values), None)?,
            Self::Int128(values) | Self::Decimal128(values, ..) => Integer::array(std::mem::take(values), None)?,
            Self::Int256(values) | Self::Decimal256(values, ..) => Integer::array(std::mem::take(values), None)?,
            Self::Float32(values) => primitive::<Float32Type>(values),
            Self::Float64(values) => primitive::<Float64Type>(values),
            Self::String(ends, bytes) => {
                Arc::new(BinaryArray::try_new(offsets(ends), std::mem::take(bytes).into(), None)?)
            }
            Self::FixedString(width, bytes) => fixed(*width, bytes)?,
            Self::Uuid(bytes) | Self::Ipv6(bytes) => fixed(16, bytes)?,
            Self::Nullable(inner, valid) => {
                let nulls = NullBuffer::from(std::mem::take(valid));
                with_validity(&inner.finish()?, Some(nulls).filter(|nulls| nulls.null_count() > 0))?
            }
            Self::LowCardinality(inner) => {
                let array = inner.finish()?;
                crate::wrappers::encode_dictionary(&array)?
            }
            Self::Array(ends, items) => {
                let items = items.finish()?;
                Arc::new(ListArray::try_new(list_item(&items), offsets(ends), items, None)?)
            }
            Self::Map(ends, keys, values) => {
                let (keys, values) = (keys.finish()?, values.finish()?);
                let entries: ArrayRef =
                    Arc::new(struct_array(vec![("keys".into(), keys), ("values".into(), values)], None)?);
                Arc::new(ListArray::try_new(list_item(&entries), offsets(ends), entries, None)?)
            }
            Self::Tuple(elements, rows) => {
                let columns = elements
                    .iter_mut()
                    .map(|(name, element)| Ok((name.to_string(), element.finish()?)))
                    .collect::<Result<Vec<_>>>()?;
                Arc::new(struct_array(columns, Some(std::mem::take(rows)))?)
            }
        })
    }
}

fn list_item(items: &ArrayRef) -> Arc<arrow_schema::Field> {
    Arc::new(arrow_schema::Field::new("item", items.data_type().clone(), true))
}

fn struct_array(columns: Vec<(String, ArrayRef)>, rows: Option<usize>) -> Result<StructArray> {
    let rows = rows.or_else(|| columns.first().map(|(_, column)| column.len())).unwrap_or(0);
    let fields =
        columns.iter().map(|(name, column)| arrow_schema::Field::new(name, column.data_type().clone(), true)).collect();
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    Ok(StructArray::try_new_with_length(fields, columns, None, rows)?)
}

#[inline]
fn push_end(offsets: &mut Vec<i32>, end: usize) -> Result<()> {
    let end = i32::try_from(end).map_err(|_| {
        Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of strings or 2^31 items in one block")
    })?;
    offsets.push(end);
    Ok(())
}

/// The contents of a string at the front in these quotes, where nothing is escaped in it.
#[inline]
fn plain_string(text: &[u8], quote: u8) -> Option<&[u8]> {
    let contents = text.strip_prefix(&[quote])?;
    let end = contents.iter().position(|byte| *byte == quote || *byte == b'\\')?;
    let is_end = contents.get(end) == Some(&quote) && (quote == b'"' || contents.get(end + 1) != Some(&quote));
    if is_end { contents.get(..end) } else { None }
}

/// The length of ` hh:mm:ss` or `Thh:mm:ss` (with an offset, a fraction) after a date, which a date drops.
fn time_after_date(text: &[u8], read: usize) -> usize {
    let rest = text.get(read..).unwrap_or_default();
    let [b' ' | b'T', time @ ..] = rest else { return 0 };
    let clock = time.first_chunk::<8>().is_some_and(|clock| {
        clock.iter().enumerate().all(|(at, byte)| if at % 3 == 2 { *byte == b':' } else { byte.is_ascii_digit() })
    });
    if clock { 9 } else { 0 }
}

#[cold]
fn bad_float(text: &[u8]) -> Error {
    Error::new(ErrorCode::CANNOT_PARSE_NUMBER, format!("Cannot read floating point value here: {}", shown(text)))
}

fn read_bool(text: &[u8]) -> Result<bool> {
    const TRUE: [&[u8]; 8] = [b"true", b"1", b"t", b"y", b"yes", b"on", b"enable", b"enabled"];
    const FALSE: [&[u8]; 8] = [b"false", b"0", b"f", b"n", b"no", b"off", b"disable", b"disabled"];
    let is_one_of = |words: [&[u8]; 8]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is_one_of(TRUE) {
        return Ok(true);
    }
    if is_one_of(FALSE) {
        return Ok(false);
    }
    Err(Error::new(
        ErrorCode::CANNOT_PARSE_BOOL,
        format!(
            "Cannot parse boolean value here: '{}', should be 'true' or 'false' controlled by setting bool_true_representation and \
             bool_false_representation or one of True/False/T/F/Y/N/Yes/No/On/Off/Enable/Disable/Enabled/Disabled/1/0",
            shown(text)
        ),
    ))
}

/// The bytes of a `UUID` written with dashes (36 characters) or without (32).
fn read_uuid(text: &[u8]) -> Option<[u8; 16]> {
    let mut digits = [0u8; 32];
    match text.len() {
        32 => digits.copy_from_slice(text),
        36 => {
            let mut at = 0;
            for (position, byte) in text.iter().enumerate() {
                if matches!(position, 8 | 13 | 18 | 23) {
                    if *byte != b'-' {
                        return None;
                    }
                } else {
                    *digits.get_mut(at)? = *byte;
                    at += 1;
                }
            }
        }
        _ => return None,
    }
    let mut bytes = [0u8; 16];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |at: usize| pair.get(at).and_then(|digit| char::from(*digit).to_digit(16));
        *byte = (digit(0)? * 16 + digit(1)?) as u8;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::{TextStyle, ValueWriter};
    use super::*;
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
