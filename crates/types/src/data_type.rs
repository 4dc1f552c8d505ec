//! ClickHouse's data types, and which Arrow array holds each. How names are read is in `type_name`, layouts are in `physical`, supertypes
//! in `supertype`, casts in `cast`.
//!
//! | ClickHouse | Arrow array |
//! | --- | --- |
//! | `UInt8`…`UInt64`, `Int8`…`Int64`, `Float32`, `Float64` | the primitive array of that width |
//! | `UInt128`, `Int128`, `UInt256`, `Int256` | `FixedSizeBinaryArray` of 16 or 32 bytes, least first |
//! | `BFloat16` | `Float32Array` of numbers that 16 bits hold |
//! | `Decimal(P, S)` | as the integer of its width (32, 64, 128, 256 bits for P up to 9, 18, 38, 76): its value times 10^S |
//! | `Bool` | `UInt8Array` of 0 and 1 |
//! | `String` | `BinaryArray` (any bytes, 32-bit offsets) |
//! | `FixedString(N)`, `UUID`, `IPv6` | `FixedSizeBinaryArray` of N, 16, 16 bytes |
//! | `Date`, `Date32` | `UInt16Array`, `Int32Array`: days since 1970-01-01 |
//! | `DateTime`, `DateTime64(s)` | `UInt32Array` of seconds, `Int64Array` of ticks of 10^-s seconds, both since the epoch, UTC |
//! | `Time`, `Time64(s)` | `Int32Array` of seconds, `Int64Array` of ticks of 10^-s seconds |
//! | `IPv4` | `UInt32Array` |
//! | `Enum8`, `Enum16` | `Int8Array`, `Int16Array` of the declared numbers |
//! | `IntervalX` | `Int64Array` |
//! | `Nullable(T)` | the array of T with a validity buffer |
//! | `LowCardinality(T)` | `DictionaryArray` of `UInt32` keys over the array of T; the keys carry the validity |
//! | `Array(T)` | `ListArray` of T |
//! | `Map(K, V)` | `ListArray` of `StructArray` (`keys`, `values`) |
//! | `Tuple(…)` | `StructArray`, fields named `1`, `2`, … where they have no name |
//! | `Variant(T1, …)` | `StructArray` of the alternatives' numbers and one array for each (`alternatives.rs`) |
//! | `Dynamic` | `BinaryArray` of types and values in binary (`alternatives.rs`) |
//! | `JSON` | `StructArray` of one array for each typed path and a map of the others to `Dynamic` |
//! | `AggregateFunction(…)` | `BinaryArray` of states |
//! | `SimpleAggregateFunction(f, T)` | the array of T |
//! | `Point`, `Ring`, …, `QBit` | the array of what they name (`named_type.rs`) |
//! | `Nothing` | `NullArray` |

use std::fmt;
use std::sync::Arc;

use arrow_schema::{Field, Fields};

use crate::aggregate_type::AggregateType;
use crate::error::{Error, ErrorCode, Result};
use crate::json_type::JsonType;
use crate::named_type::NamedType;
use crate::simple_aggregate_type::SimpleAggregateType;
use crate::variant_type::DYNAMIC_TYPES;

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
    UInt128,
    UInt256,
    Int8,
    Int16,
    Int32,
    Int64,
    Int128,
    Int256,
    /// The upper half of a `Float32`.
    BFloat16,
    Float32,
    Float64,
    /// The number of decimal digits (1 to 76), and how many of them come after the point. By the first it is what ClickHouse calls
    /// `Decimal32` (up to 9), `Decimal64` (18), `Decimal128` (38) or `Decimal256`.
    Decimal(u8, u8),
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
    /// Seconds of a clock that counts up to 999 hours, also below zero.
    Time,
    /// The same, with this number of decimal digits of a second (0 to 9).
    Time64(u8),
    Enum8(Arc<EnumValues>),
    Enum16(Arc<EnumValues>),
    Interval(IntervalKind),
    Nullable(Arc<DataType>),
    LowCardinality(Arc<DataType>),
    Array(Arc<DataType>),
    Map(Arc<DataType>, Arc<DataType>),
    Tuple(Arc<[TupleElement]>),
    /// Values of one of several types, which are in the order of their names.
    Variant(Arc<[DataType]>),
    /// Values of any type; the number is of the types that ClickHouse keeps apart.
    Dynamic(u8),
    Json(Arc<JsonType>),
    AggregateFunction(Arc<AggregateType>),
    /// Values of another type, inside its wrappers.
    SimpleAggregateFunction(Arc<SimpleAggregateType>),
    /// Values of another type under a name of their own.
    Named(Arc<NamedType>),
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

    /// How long one is where units are converted into each other: a month has four weeks then.
    pub fn nanoseconds(self) -> i64 {
        match self {
            Self::Nanosecond => 1,
            Self::Microsecond => 1_000,
            Self::Millisecond => 1_000_000,
            Self::Second => 1_000_000_000,
            Self::Minute => 60 * Self::Second.nanoseconds(),
            Self::Hour => 60 * Self::Minute.nanoseconds(),
            Self::Day => 24 * Self::Hour.nanoseconds(),
            Self::Week => 7 * Self::Day.nanoseconds(),
            Self::Month => 4 * Self::Week.nanoseconds(),
            Self::Quarter => 3 * Self::Month.nanoseconds(),
            Self::Year => 4 * Self::Quarter.nanoseconds(),
        }
    }
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

    /// Whether it is `LowCardinality`, or an array, a tuple or a map with one inside.
    pub fn has_dictionary(&self) -> bool {
        match self {
            Self::LowCardinality(_) => true,
            Self::Array(item) => item.has_dictionary(),
            Self::Map(key, value) => key.has_dictionary() || value.has_dictionary(),
            Self::Tuple(elements) => elements.iter().any(|element| element.data_type.has_dictionary()),
            _ => false,
        }
    }

    /// The type without any `LowCardinality`, also inside arrays, tuples and maps.
    pub fn without_dictionaries(&self) -> Self {
        match self {
            Self::LowCardinality(inner) => (**inner).clone(),
            Self::Array(item) => Self::array(item.without_dictionaries()),
            Self::Map(key, value) => {
                Self::Map(Arc::new(key.without_dictionaries()), Arc::new(value.without_dictionaries()))
            }
            Self::Tuple(elements) => Self::Tuple(
                elements
                    .iter()
                    .map(|element| TupleElement {
                        name: element.name.clone(),
                        data_type: element.data_type.without_dictionaries(),
                    })
                    .collect(),
            ),
            other => other.clone(),
        }
    }

    /// The type inside `LowCardinality` and `Nullable`, and under the name of `SimpleAggregateFunction`.
    pub fn inner(&self) -> &Self {
        match self {
            Self::Nullable(inner) | Self::LowCardinality(inner) => inner.inner(),
            Self::SimpleAggregateFunction(simple) => simple.values(),
            Self::Named(named) => named.values(),
            other => other,
        }
    }

    /// Whether it has an array of validity: NULL is a value of `Variant` and `Dynamic`, too.
    pub fn is_nullable(&self) -> bool {
        match self {
            Self::Nullable(_) => true,
            Self::LowCardinality(inner) => inner.is_nullable(),
            _ => false,
        }
    }

    /// Whether `Nullable(self)` exists.
    pub fn can_be_inside_nullable(&self) -> bool {
        match self {
            Self::SimpleAggregateFunction(simple) => return simple.values().can_be_inside_nullable(),
            Self::Named(named) => return named.values().can_be_inside_nullable(),
            _ => {}
        }
        !matches!(
            self,
            Self::Nullable(_)
                | Self::LowCardinality(_)
                | Self::Array(_)
                | Self::Map(..)
                | Self::Variant(_)
                | Self::Dynamic(_)
                | Self::AggregateFunction(_)
        )
    }

    /// `UInt8`…`UInt64`, which machines count with.
    pub fn is_unsigned_integer(&self) -> bool {
        matches!(self, Self::UInt8 | Self::UInt16 | Self::UInt32 | Self::UInt64)
    }

    /// `Int8`…`Int64`, which machines count with.
    pub fn is_signed_integer(&self) -> bool {
        matches!(self, Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64)
    }

    /// An integer of up to 64 bits; not `Bool`.
    pub fn is_integer(&self) -> bool {
        self.is_unsigned_integer() || self.is_signed_integer()
    }

    /// `BFloat16`, `Float32` or `Float64`.
    pub fn is_any_float(&self) -> bool {
        self.is_float() || *self == Self::BFloat16
    }

    /// `Float32` or `Float64`.
    pub fn is_float(&self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }

    /// An integer of up to 64 bits or a float; not `Bool`.
    pub fn is_number(&self) -> bool {
        self.is_integer() || self.is_float()
    }

    /// `Int128`, `Int256`, `UInt128` or `UInt256`.
    pub fn is_wide_integer(&self) -> bool {
        matches!(self, Self::Int128 | Self::Int256 | Self::UInt128 | Self::UInt256)
    }

    /// An integer of any width; not `Bool`.
    pub fn is_any_integer(&self) -> bool {
        self.is_integer() || self.is_wide_integer()
    }

    /// An integer of any width with a sign.
    pub fn is_any_signed_integer(&self) -> bool {
        self.is_signed_integer() || matches!(self, Self::Int128 | Self::Int256)
    }

    /// `Decimal(P, S)`.
    pub fn is_decimal(&self) -> bool {
        matches!(self, Self::Decimal(..))
    }

    /// A number of any kind: an integer, a float, a decimal; not `Bool`.
    pub fn is_any_number(&self) -> bool {
        self.is_number() || self.is_wide_integer() || self.is_decimal()
    }

    /// All digits of a decimal; none of anything else.
    pub fn precision(&self) -> u8 {
        match self {
            Self::Decimal(precision, _) => *precision,
            _ => 0,
        }
    }

    /// Digits after the point: those of a decimal, none of anything else.
    pub fn scale(&self) -> u8 {
        match self {
            Self::Decimal(_, scale) => *scale,
            _ => 0,
        }
    }

    /// Digits of a second after the point: those of a `DateTime64` or a `Time64`, none of anything else.
    pub fn time_digits(&self) -> u8 {
        match self {
            Self::DateTime64(digits, _) | Self::Time64(digits) => *digits,
            _ => 0,
        }
    }

    /// The decimal of a scale with as many digits as one of at most `bytes` bytes has.
    pub fn decimal_of_width(bytes: usize, scale: u8) -> Self {
        Self::Decimal(decimal_digits(bytes), scale)
    }

    /// `String` or `FixedString`.
    pub fn is_string_or_fixed_string(&self) -> bool {
        matches!(self, Self::String | Self::FixedString(_))
    }

    /// `Date`, `Date32`, `DateTime` or `DateTime64`.
    pub fn is_date_or_time(&self) -> bool {
        matches!(self, Self::Date | Self::Date32 | Self::DateTime(_) | Self::DateTime64(..))
    }

    /// The field of a `ListArray` that holds items of this type.
    pub fn arrow_list_item(&self) -> Arc<Field> {
        Arc::new(Field::new("item", self.arrow_type(), true))
    }

    /// The fields of the `StructArray` that holds this type; empty for types that no struct holds.
    pub fn arrow_fields(&self) -> Fields {
        let parts = self.struct_parts();
        parts.into_iter().map(|(name, data_type)| Field::new(name, data_type.arrow_type(), true)).collect()
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
}

/// The decimal digits that a decimal of so many bytes has.
pub fn decimal_digits(bytes: usize) -> u8 {
    match bytes {
        ..=4 => 9,
        5..=8 => 18,
        9..=16 => 38,
        _ => DECIMAL_DIGITS_MAX,
    }
}

/// The digits that the widest decimal has.
pub const DECIMAL_DIGITS_MAX: u8 = 76;

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
            Self::Decimal(precision, scale) => write!(f, "Decimal({precision}, {scale})"),
            Self::Time64(digits) => write!(f, "Time64({digits})"),
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
            // The name says the wrappers of its argument itself.
            Self::Nullable(inner) | Self::LowCardinality(inner)
                if inner.simple_aggregate().is_some_and(|simple| simple.is_wrapped_as(self)) =>
            {
                write!(f, "{inner}")
            }
            Self::Nullable(inner) => write!(f, "Nullable({inner})"),
            Self::LowCardinality(inner) => write!(f, "LowCardinality({inner})"),
            Self::SimpleAggregateFunction(simple) => write!(f, "{simple}"),
            Self::Named(named) => write!(f, "{named}"),
            Self::Array(item) => write!(f, "Array({item})"),
            Self::Map(key, value) => write!(f, "Map({key}, {value})"),
            Self::Variant(alternatives) => {
                f.write_str("Variant(")?;
                for (at, alternative) in alternatives.iter().enumerate() {
                    write!(f, "{}{alternative}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str(")")
            }
            Self::Dynamic(DYNAMIC_TYPES) => f.write_str("Dynamic"),
            Self::Dynamic(max_types) => write!(f, "Dynamic(max_types={max_types})"),
            Self::Json(json) => write!(f, "{json}"),
            Self::AggregateFunction(state) => write!(f, "{state}"),
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
            Self::Nothing
            | Self::Bool
            | Self::UInt8
            | Self::UInt16
            | Self::UInt32
            | Self::UInt64
            | Self::UInt128
            | Self::UInt256
            | Self::Int8
            | Self::Int16
            | Self::Int32
            | Self::Int64
            | Self::Int128
            | Self::Int256
            | Self::BFloat16
            | Self::Float32
            | Self::Float64
            | Self::String
            | Self::UUID
            | Self::IPv4
            | Self::IPv6
            | Self::Date
            | Self::Date32
            | Self::Time => write!(f, "{self:?}"),
        }
    }
}

fn is_identifier(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

pub(crate) fn write_identifier(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    if is_identifier(name) {
        return f.write_str(name);
    }
    write!(f, "`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}
