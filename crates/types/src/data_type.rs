//! ClickHouse's data types: their names, how names are read, and which Arrow array holds each. Supertypes are in `supertype`,
//! casts in `cast`.
//!
//! | ClickHouse | Arrow array |
//! | --- | --- |
//! | `UInt8`…`UInt64`, `Int8`…`Int64`, `Float32`, `Float64` | the primitive array of that width |
//! | `Bool` | `UInt8Array` of 0 and 1 |
//! | `String` | `BinaryArray` (any bytes, 32-bit offsets) |
//! | `FixedString(N)`, `UUID`, `IPv6` | `FixedSizeBinaryArray` of N, 16, 16 bytes |
//! | `Date`, `Date32` | `UInt16Array`, `Int32Array`: days since 1970-01-01 |
//! | `DateTime`, `DateTime64(s)` | `UInt32Array` of seconds, `Int64Array` of ticks of 10^-s seconds, both since the epoch, UTC |
//! | `IPv4` | `UInt32Array` |
//! | `Enum8`, `Enum16` | `Int8Array`, `Int16Array` of the declared numbers |
//! | `IntervalX` | `Int64Array` |
//! | `Nullable(T)` | the array of T with a validity buffer |
//! | `LowCardinality(T)` | `DictionaryArray` of `UInt32` keys over the array of T; the keys carry the validity |
//! | `Array(T)` | `ListArray` of T |
//! | `Map(K, V)` | `ListArray` of `StructArray` (`keys`, `values`) |
//! | `Tuple(…)` | `StructArray`, fields named `1`, `2`, … where they have no name |
//! | `Nothing` | `NullArray` |

use std::fmt;
use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field, Fields};

use crate::error::{Error, ErrorCode, Result};

/// How deep type names may nest.
const DEPTH_MAX: usize = 100;

/// A ClickHouse data type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)] // The variants are ClickHouse's own names.
pub enum DataType {
    Nothing,
    Bool,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Int8,
    Int16,
    Int32,
    Int64,
    Float32,
    Float64,
    String,
    /// Bytes of exactly this length.
    FixedString(usize),
    UUID,
    IPv4,
    IPv6,
    Date,
    Date32,
    /// The time zone where the type names one; otherwise the session's.
    DateTime(Option<Arc<str>>),
    /// The number of decimal digits of a second (0 to 9), and the time zone.
    DateTime64(u8, Option<Arc<str>>),
    Enum8(Arc<EnumValues>),
    Enum16(Arc<EnumValues>),
    Interval(IntervalKind),
    Nullable(Arc<DataType>),
    LowCardinality(Arc<DataType>),
    Array(Arc<DataType>),
    Map(Arc<DataType>, Arc<DataType>),
    Tuple(Arc<[TupleElement]>),
}

/// One element of a `Tuple`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TupleElement {
    /// The name, where the tuple is a named one.
    pub name: Option<Arc<str>>,
    /// The element's type.
    pub data_type: DataType,
}

/// The names and numbers of an `Enum8` or `Enum16`, ordered by number.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct EnumValues(Vec<(Arc<str>, i16)>);

impl EnumValues {
    /// Checks that names and numbers are unique, and orders them by number.
    pub fn new(mut values: Vec<(Arc<str>, i16)>) -> Result<Self> {
        values.sort_by_key(|(_, number)| *number);
        let mut names: Vec<&str> = values.iter().map(|(name, _)| &**name).collect();
        names.sort_unstable();
        if values.is_empty()
            || values.windows(2).any(|pair| pair[0].1 == pair[1].1)
            || names.windows(2).any(|pair| pair[0] == pair[1])
        {
            return Err(Error::new(ErrorCode::SYNTAX_ERROR, "Enum needs values with unique names and numbers"));
        }
        Ok(Self(values))
    }

    /// The pairs of name and number, ascending by number.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i16)> {
        self.0.iter().map(|(name, number)| (&**name, *number))
    }

    /// The name of a number.
    pub fn name(&self, number: i16) -> Option<&str> {
        self.0.binary_search_by_key(&number, |(_, number)| *number).ok().map(|at| &*self.0[at].0)
    }

    /// The number of a name.
    pub fn number(&self, name: &[u8]) -> Option<i16> {
        self.0.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, number)| *number)
    }
}

/// The unit of an interval.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum IntervalKind {
    Nanosecond,
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

impl IntervalKind {
    /// Every kind, shortest first.
    pub const ALL: [Self; 11] = [
        Self::Nanosecond,
        Self::Microsecond,
        Self::Millisecond,
        Self::Second,
        Self::Minute,
        Self::Hour,
        Self::Day,
        Self::Week,
        Self::Month,
        Self::Quarter,
        Self::Year,
    ];
}

impl fmt::Display for IntervalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl DataType {
    /// `Nullable(self)`; a type that is nullable already stays, `LowCardinality(T)` becomes `LowCardinality(Nullable(T))`.
    #[must_use]
    pub fn to_nullable(&self) -> Self {
        match self {
            Self::Nullable(_) => self.clone(),
            Self::LowCardinality(inner) => Self::LowCardinality(Arc::new(inner.to_nullable())),
            other if other.can_be_inside_nullable() => Self::Nullable(Arc::new(other.clone())),
            other => other.clone(),
        }
    }

    /// The type without `Nullable`, also inside `LowCardinality`.
    #[must_use]
    pub fn remove_nullable(&self) -> Self {
        match self {
            Self::Nullable(inner) => (**inner).clone(),
            Self::LowCardinality(inner) => Self::LowCardinality(Arc::new(inner.remove_nullable())),
            other => other.clone(),
        }
    }

    /// The type without an outer `LowCardinality`.
    pub fn remove_low_cardinality(&self) -> &Self {
        match self {
            Self::LowCardinality(inner) => inner,
            other => other,
        }
    }

    /// The type inside `LowCardinality` and `Nullable`.
    pub fn inner(&self) -> &Self {
        match self {
            Self::Nullable(inner) | Self::LowCardinality(inner) => inner.inner(),
            other => other,
        }
    }

    /// Whether NULL is one of its values.
    pub fn is_nullable(&self) -> bool {
        match self {
            Self::Nullable(_) => true,
            Self::LowCardinality(inner) => inner.is_nullable(),
            _ => false,
        }
    }

    /// Whether `Nullable(self)` exists.
    pub fn can_be_inside_nullable(&self) -> bool {
        !matches!(self, Self::Nullable(_) | Self::LowCardinality(_) | Self::Array(_) | Self::Map(..) | Self::Tuple(_))
    }

    /// `UInt8`…`UInt64`.
    pub fn is_unsigned_integer(&self) -> bool {
        matches!(self, Self::UInt8 | Self::UInt16 | Self::UInt32 | Self::UInt64)
    }

    /// `Int8`…`Int64`.
    pub fn is_signed_integer(&self) -> bool {
        matches!(self, Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64)
    }

    /// Any integer; not `Bool`.
    pub fn is_integer(&self) -> bool {
        self.is_unsigned_integer() || self.is_signed_integer()
    }

    /// `Float32` or `Float64`.
    pub fn is_float(&self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }

    /// An integer or a float; not `Bool`.
    pub fn is_number(&self) -> bool {
        self.is_integer() || self.is_float()
    }

    /// `String` or `FixedString`.
    pub fn is_string_or_fixed_string(&self) -> bool {
        matches!(self, Self::String | Self::FixedString(_))
    }

    /// `Date`, `Date32`, `DateTime` or `DateTime64`.
    pub fn is_date_or_time(&self) -> bool {
        matches!(self, Self::Date | Self::Date32 | Self::DateTime(_) | Self::DateTime64(..))
    }

    /// Bytes of one value where all values have the same length in memory.
    pub fn fixed_width_bytes(&self) -> Option<usize> {
        Some(match self {
            Self::Bool | Self::UInt8 | Self::Int8 | Self::Enum8(_) => 1,
            Self::UInt16 | Self::Int16 | Self::Enum16(_) | Self::Date => 2,
            Self::UInt32 | Self::Int32 | Self::Float32 | Self::Date32 | Self::DateTime(_) | Self::IPv4 => 4,
            Self::UInt64 | Self::Int64 | Self::Float64 | Self::DateTime64(..) | Self::Interval(_) => 8,
            Self::UUID | Self::IPv6 => 16,
            Self::FixedString(length) => *length,
            _ => return None,
        })
    }

    /// The type of the Arrow array that holds this type: the table at the top of this file.
    pub fn arrow_type(&self) -> ArrowType {
        match self {
            Self::Nothing => ArrowType::Null,
            Self::Bool | Self::UInt8 => ArrowType::UInt8,
            Self::UInt16 | Self::Date => ArrowType::UInt16,
            Self::UInt32 | Self::DateTime(_) | Self::IPv4 => ArrowType::UInt32,
            Self::UInt64 => ArrowType::UInt64,
            Self::Int8 | Self::Enum8(_) => ArrowType::Int8,
            Self::Int16 | Self::Enum16(_) => ArrowType::Int16,
            Self::Int32 | Self::Date32 => ArrowType::Int32,
            Self::Int64 | Self::DateTime64(..) | Self::Interval(_) => ArrowType::Int64,
            Self::Float32 => ArrowType::Float32,
            Self::Float64 => ArrowType::Float64,
            Self::String => ArrowType::Binary,
            Self::FixedString(length) => ArrowType::FixedSizeBinary(i32::try_from(*length).unwrap_or(i32::MAX)),
            Self::UUID | Self::IPv6 => ArrowType::FixedSizeBinary(16),
            Self::Nullable(inner) => inner.arrow_type(),
            Self::LowCardinality(inner) => {
                ArrowType::Dictionary(Box::new(ArrowType::UInt32), Box::new(inner.arrow_type()))
            }
            Self::Array(item) => ArrowType::List(item.arrow_list_item()),
            Self::Map(..) => ArrowType::List(self.map_entry_type().arrow_list_item()),
            Self::Tuple(_) => ArrowType::Struct(self.arrow_fields()),
        }
    }

    /// The field of a `ListArray` that holds items of this type.
    pub fn arrow_list_item(&self) -> Arc<Field> {
        Arc::new(Field::new("item", self.arrow_type(), true))
    }

    /// The fields of the `StructArray` that holds this `Tuple`; empty for any other type.
    pub fn arrow_fields(&self) -> Fields {
        let Self::Tuple(elements) = self else { return Fields::empty() };
        elements
            .iter()
            .enumerate()
            .map(|(at, element)| {
                let name = element.name.as_deref().map_or_else(|| (at + 1).to_string(), str::to_owned);
                Field::new(name, element.data_type.arrow_type(), true)
            })
            .collect()
    }

    /// `Tuple(keys K, values V)`, the item type of a `Map(K, V)`'s list; the type itself for any other type.
    pub fn map_entry_type(&self) -> Self {
        let Self::Map(key, value) = self else { return self.clone() };
        Self::named_tuple([("keys", (**key).clone()), ("values", (**value).clone())])
    }

    /// `Array(item)`.
    pub fn array(item: Self) -> Self {
        Self::Array(Arc::new(item))
    }

    /// An unnamed tuple.
    pub fn tuple(elements: impl IntoIterator<Item = Self>) -> Self {
        Self::Tuple(elements.into_iter().map(|data_type| TupleElement { name: None, data_type }).collect())
    }

    /// A named tuple.
    pub fn named_tuple<'a>(elements: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        Self::Tuple(
            elements.into_iter().map(|(name, data_type)| TupleElement { name: Some(name.into()), data_type }).collect(),
        )
    }

    /// Reads a type's name, as `Display` writes it and with ClickHouse's aliases (`INT`, `TEXT`, `DOUBLE PRECISION`, …).
    ///
    /// # Errors
    /// `UNKNOWN_TYPE`, or `SYNTAX_ERROR` where the text is not a type at all.
    pub fn parse(text: &str) -> Result<Self> {
        let mut reader = NameReader { text, at: 0 };
        let data_type = reader.data_type(0)?;
        reader.spaces();
        if reader.at != text.len() {
            return Err(reader.error("end of the type's name"));
        }
        Ok(data_type)
    }
}

/// Writes `text` as a single-quoted literal.
pub(crate) fn write_quoted(f: &mut impl fmt::Write, text: &str) -> fmt::Result {
    f.write_char('\'')?;
    for character in text.chars() {
        match character {
            '\'' => f.write_str("\\'")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            '\r' => f.write_str("\\r")?,
            '\0' => f.write_str("\\0")?,
            other => f.write_char(other)?,
        }
    }
    f.write_char('\'')
}

fn write_enum(f: &mut fmt::Formatter<'_>, name: &str, values: &EnumValues) -> fmt::Result {
    f.write_str(name)?;
    for (at, (name, number)) in values.iter().enumerate() {
        f.write_str(if at == 0 { "(" } else { ", " })?;
        write_quoted(f, name)?;
        write!(f, " = {number}")?;
    }
    f.write_str(")")
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FixedString(length) => write!(f, "FixedString({length})"),
            Self::DateTime(None) => f.write_str("DateTime"),
            Self::DateTime(Some(zone)) => {
                f.write_str("DateTime(")?;
                write_quoted(f, zone)?;
                f.write_str(")")
            }
            Self::DateTime64(digits, None) => write!(f, "DateTime64({digits})"),
            Self::DateTime64(digits, Some(zone)) => {
                write!(f, "DateTime64({digits}, ")?;
                write_quoted(f, zone)?;
                f.write_str(")")
            }
            Self::Enum8(values) => write_enum(f, "Enum8", values),
            Self::Enum16(values) => write_enum(f, "Enum16", values),
            Self::Interval(kind) => write!(f, "Interval{kind}"),
            Self::Nullable(inner) => write!(f, "Nullable({inner})"),
            Self::LowCardinality(inner) => write!(f, "LowCardinality({inner})"),
            Self::Array(item) => write!(f, "Array({item})"),
            Self::Map(key, value) => write!(f, "Map({key}, {value})"),
            Self::Tuple(elements) => {
                f.write_str("Tuple(")?;
                for (at, element) in elements.iter().enumerate() {
                    if at > 0 {
                        f.write_str(", ")?;
                    }
                    if let Some(name) = &element.name {
                        write_identifier(f, name)?;
                        f.write_str(" ")?;
                    }
                    write!(f, "{}", element.data_type)?;
                }
                f.write_str(")")
            }
            simple => write!(f, "{simple:?}"),
        }
    }
}

fn is_identifier(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn write_identifier(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    if is_identifier(name) {
        return f.write_str(name);
    }
    write!(f, "`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}

/// Reads type names: identifiers, numbers, quoted strings, parentheses, commas.
struct NameReader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> NameReader<'a> {
    fn error(&self, expected: &str) -> Error {
        Error::new(
            ErrorCode::SYNTAX_ERROR,
            format!("Cannot parse data type '{}': expected {expected} at position {}", self.text, self.at + 1),
        )
    }

    fn spaces(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn eat(&mut self, symbol: char) -> bool {
        self.spaces();
        let found = self.text[self.at..].starts_with(symbol);
        if found {
            self.at += symbol.len_utf8();
        }
        found
    }

    fn expect(&mut self, symbol: char) -> Result<()> {
        if self.eat(symbol) { Ok(()) } else { Err(self.error(&format!("'{symbol}'"))) }
    }

    fn word(&mut self) -> &'a str {
        self.spaces();
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        self.spaces();
        let rest = &self.text[self.at..];
        let end = rest
            .char_indices()
            .find(|(at, c)| !(c.is_ascii_digit() || *at == 0 && *c == '-'))
            .map_or(rest.len(), |(at, _)| at);
        let number = rest[..end].parse().map_err(|_| self.error("a number"))?;
        self.at += end;
        Ok(number)
    }

    fn quoted(&mut self, quote: char) -> Result<Arc<str>> {
        self.expect(quote)?;
        let mut text = String::new();
        let mut characters = self.text[self.at..].char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => match characters.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, 'r')) => text.push('\r'),
                    Some((_, '0')) => text.push('\0'),
                    Some((_, other)) => text.push(other),
                    None => break,
                },
                end if end == quote => {
                    self.at += at + 1;
                    return Ok(text.into());
                }
                other => text.push(other),
            }
        }
        Err(self.error("the closing quote"))
    }

    fn time_zone(&mut self) -> Result<Arc<str>> {
        self.quoted('\'')
    }

    fn inner(&mut self, depth: usize) -> Result<DataType> {
        self.expect('(')?;
        let inner = self.data_type(depth + 1)?;
        self.expect(')')?;
        Ok(inner)
    }

    fn data_type(&mut self, depth: usize) -> Result<DataType> {
        if depth > DEPTH_MAX {
            return Err(Error::new(ErrorCode::TOO_DEEP_RECURSION, "Too deeply nested data type"));
        }
        let name = self.word();
        Ok(match name {
            "" => return Err(self.error("a data type")),
            "FixedString" => {
                self.expect('(')?;
                let length: usize = self.number()?;
                self.expect(')')?;
                if length == 0 || length > 0xFF_FFFF {
                    return Err(Error::new(
                        ErrorCode::ARGUMENT_OUT_OF_BOUND,
                        format!("FixedString size must be from 1 to 16777215, not {length}"),
                    ));
                }
                DataType::FixedString(length)
            }
            "DateTime" | "DateTime32" | "TIMESTAMP" => {
                let mut zone = None;
                if self.eat('(') {
                    self.spaces();
                    if !self.text[self.at..].starts_with('\'') {
                        let digits: u8 = self.number()?;
                        if self.eat(',') {
                            zone = Some(self.time_zone()?);
                        }
                        self.expect(')')?;
                        return Ok(DataType::DateTime64(self.digits(digits)?, zone));
                    }
                    zone = Some(self.time_zone()?);
                    self.expect(')')?;
                }
                DataType::DateTime(zone)
            }
            "DateTime64" => {
                let mut digits = 3;
                let mut zone = None;
                if self.eat('(') {
                    let number = self.number()?;
                    digits = self.digits(number)?;
                    if self.eat(',') {
                        zone = Some(self.time_zone()?);
                    }
                    self.expect(')')?;
                }
                DataType::DateTime64(digits, zone)
            }
            "Enum" | "Enum8" | "Enum16" | "ENUM" => self.enumeration(name)?,
            "Nullable" => {
                let inner = self.inner(depth)?;
                if !inner.can_be_inside_nullable() {
                    return Err(Error::new(
                        ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        format!("Nested type {inner} cannot be inside Nullable type"),
                    ));
                }
                DataType::Nullable(Arc::new(inner))
            }
            "LowCardinality" => {
                let inner = self.inner(depth)?;
                match inner.inner() {
                    DataType::Array(_) | DataType::Map(..) | DataType::Tuple(_) | DataType::LowCardinality(_) => {
                        return Err(Error::new(
                            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                            format!(
                                "DataTypeLowCardinality is supported only for numbers, strings, Date or DateTime, but got {inner}"
                            ),
                        ));
                    }
                    _ => DataType::LowCardinality(Arc::new(inner)),
                }
            }
            "Array" => DataType::Array(Arc::new(self.inner(depth)?)),
            "Map" => {
                self.expect('(')?;
                let key = self.data_type(depth + 1)?;
                self.expect(',')?;
                let value = self.data_type(depth + 1)?;
                self.expect(')')?;
                DataType::Map(Arc::new(key), Arc::new(value))
            }
            "Tuple" => self.tuple(depth)?,
            "DOUBLE" => {
                let before = self.at;
                if !self.word().eq_ignore_ascii_case("precision") {
                    self.at = before;
                }
                DataType::Float64
            }
            other => {
                let data_type = simple_type(other)
                    .ok_or_else(|| Error::new(ErrorCode::UNKNOWN_TYPE, format!("Unknown data type family: {other}")))?;
                // `VARCHAR(255)` and `INT(11)`: SQL's widths are read and forgotten, as ClickHouse does for its aliases.
                let is_alias = data_type.to_string() != other;
                if is_alias && self.eat('(') {
                    let _width: u64 = self.number()?;
                    self.expect(')')?;
                }
                data_type
            }
        })
    }

    fn digits(&self, digits: u8) -> Result<u8> {
        if digits > 9 {
            return Err(Error::new(
                ErrorCode::ARGUMENT_OUT_OF_BOUND,
                format!("Scale {digits} is too large for DateTime64. Maximum is up to nanoseconds (9)"),
            ));
        }
        Ok(digits)
    }

    fn enumeration(&mut self, family: &str) -> Result<DataType> {
        self.expect('(')?;
        let mut values: Vec<(Arc<str>, i16)> = Vec::new();
        loop {
            let name = self.quoted('\'')?;
            let number = if self.eat('=') {
                self.number()?
            } else {
                values.last().map_or(1, |(_, number)| number.wrapping_add(1))
            };
            values.push((name, number));
            if !self.eat(',') {
                break;
            }
        }
        self.expect(')')?;
        let fits = values.iter().all(|(_, number)| i8::try_from(*number).is_ok());
        if family == "Enum8" && !fits {
            return Err(Error::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Value for Enum8 is out of range"));
        }
        let is_wide = family == "Enum16" || !fits;
        let values = Arc::new(EnumValues::new(values)?);
        Ok(if is_wide { DataType::Enum16(values) } else { DataType::Enum8(values) })
    }

    fn tuple(&mut self, depth: usize) -> Result<DataType> {
        self.expect('(')?;
        let mut elements = Vec::new();
        if self.eat(')') {
            return Ok(DataType::Tuple(elements.into()));
        }
        loop {
            self.spaces();
            let start = self.at;
            // A name is an identifier that another type's name follows.
            let name = if self.text[self.at..].starts_with('`') {
                Some(self.quoted('`')?)
            } else {
                let word: Arc<str> = self.word().into();
                self.spaces();
                let next = self.text[self.at..].chars().next();
                if next.is_some_and(|c| c.is_ascii_alphabetic()) && &*word != "DOUBLE" {
                    Some(word)
                } else {
                    self.at = start;
                    None
                }
            };
            elements.push(TupleElement { name, data_type: self.data_type(depth + 1)? });
            if !self.eat(',') {
                break;
            }
        }
        self.expect(')')?;
        Ok(DataType::Tuple(elements.into()))
    }
}

/// A type without arguments: the exact name, or one of SQL's names for it in any case.
fn simple_type(name: &str) -> Option<DataType> {
    Some(match name {
        "Nothing" => DataType::Nothing,
        "UInt8" => DataType::UInt8,
        "UInt16" => DataType::UInt16,
        "UInt32" => DataType::UInt32,
        "UInt64" => DataType::UInt64,
        "Int8" => DataType::Int8,
        "Int16" => DataType::Int16,
        "Int32" => DataType::Int32,
        "Int64" => DataType::Int64,
        "Float32" => DataType::Float32,
        "Float64" => DataType::Float64,
        "String" => DataType::String,
        _ => match name.to_ascii_uppercase().as_str() {
            "BOOL" | "BOOLEAN" => DataType::Bool,
            "TINYINT" | "INT1" => DataType::Int8,
            "SMALLINT" => DataType::Int16,
            "INT" | "INTEGER" | "MEDIUMINT" => DataType::Int32,
            "BIGINT" | "SIGNED" => DataType::Int64,
            "UNSIGNED" | "BIT" => DataType::UInt64,
            "FLOAT" | "REAL" | "SINGLE" => DataType::Float32,
            "TEXT" | "TINYTEXT" | "MEDIUMTEXT" | "LONGTEXT" | "BLOB" | "TINYBLOB" | "MEDIUMBLOB" | "LONGBLOB"
            | "CHAR" | "VARCHAR" | "VARCHAR2" | "NCHAR" | "NVARCHAR" | "CHARACTER" | "BYTEA" | "CLOB" | "VARBINARY" => {
                DataType::String
            }
            "UUID" => DataType::UUID,
            "IPV4" | "INET4" => DataType::IPv4,
            "IPV6" | "INET6" => DataType::IPv6,
            "DATE" => DataType::Date,
            "DATE32" => DataType::Date32,
            "YEAR" => DataType::UInt16,
            _ => {
                let unit = name.strip_prefix("Interval")?;
                let kind = IntervalKind::ALL.into_iter().find(|kind| kind.to_string() == unit)?;
                DataType::Interval(kind)
            }
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for name in [
            "UInt8",
            "Array(Nullable(String))",
            "Tuple(UInt8, LowCardinality(Nullable(String)))",
            "Tuple(a UInt8, `b c` Array(Tuple(x Date, y DateTime('Europe/Berlin'))))",
            "Map(LowCardinality(String), UInt64)",
            "Enum8('a' = -1, 'b\\'c' = 2)",
            "DateTime64(6, 'UTC')",
            "FixedString(16)",
            "IntervalMonth",
            "Nullable(Nothing)",
        ] {
            assert_eq!(DataType::parse(name).unwrap().to_string(), name);
        }
    }

    #[test]
    fn aliases_are_resolved() {
        for (alias, name) in [
            ("BIGINT", "Int64"),
            ("varchar(255)", "String"),
            ("INT(11)", "Int32"),
            ("DOUBLE PRECISION", "Float64"),
            ("Enum('x', 'y')", "Enum8('x' = 1, 'y' = 2)"),
            ("bool", "Bool"),
        ] {
            assert_eq!(DataType::parse(alias).unwrap().to_string(), name);
        }
    }

    #[test]
    fn bad_names_are_refused() {
        for (name, code) in [
            ("", ErrorCode::SYNTAX_ERROR),
            ("Foo", ErrorCode::UNKNOWN_TYPE),
            ("Array(UInt8", ErrorCode::SYNTAX_ERROR),
            ("Nullable(Array(UInt8))", ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT),
            ("FixedString(0)", ErrorCode::ARGUMENT_OUT_OF_BOUND),
        ] {
            assert_eq!(DataType::parse(name).unwrap_err().code, code, "{name}");
        }
        let deep = format!("{}UInt8{}", "Array(".repeat(200), ")".repeat(200));
        assert_eq!(DataType::parse(&deep).unwrap_err().code, ErrorCode::TOO_DEEP_RECURSION);
    }
}
