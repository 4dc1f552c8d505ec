//! A single value outside any column: a literal of a query, a constant, a minimum or maximum of a part.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::data_type::{DataType, decimal_digits};
use crate::integer::{I256, Integer, U256, compare_scaled};

/// One value. The variant does not tell the whole type: a `Date` is its days in `UInt64`, an `Enum8` its number in `Int64`, a
/// `IPv6` or `FixedString` its bytes in `String`; the [`DataType`] beside it does.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// SQL's NULL.
    Null,
    /// `Bool`.
    Bool(bool),
    /// Unsigned integers, `Date`, `DateTime`, `IPv4`.
    UInt64(u64),
    /// Signed integers, `Date32`, `DateTime64`, enums, intervals.
    Int64(i64),
    /// `Int128` and `Int256`.
    Int256(Box<I256>),
    /// `UInt128` and `UInt256`.
    UInt256(Box<U256>),
    /// `Decimal`: the value times ten to the power of the number of digits after the point, and that number.
    Decimal(Box<I256>, u8),
    /// Floats.
    Float64(f64),
    /// Bytes: `String`, `FixedString`, `IPv6`.
    String(Arc<[u8]>),
    /// `UUID`: its bytes as its text has them.
    Uuid([u8; 16]),
    /// `Array`.
    Array(Arc<[Value]>),
    /// `Tuple`.
    Tuple(Arc<[Value]>),
    /// `Map`, in insertion order.
    Map(Arc<[(Value, Value)]>),
    /// A value of `Variant` or `Dynamic` with its type. `JSON` is the tuple of its columns.
    Typed(Arc<(DataType, Value)>),
}

impl Value {
    /// A string value.
    pub fn string(bytes: impl AsRef<[u8]>) -> Self {
        Self::String(bytes.as_ref().into())
    }

    /// A value with its type; NULL has none.
    pub fn typed(data_type: DataType, value: Self) -> Self {
        if value.is_null() { Self::Null } else { Self::Typed(Arc::new((data_type, value))) }
    }

    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The number as `u64` where it is an integer (or Bool) that fits.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Bool(value) => Some(u64::from(*value)),
            Self::UInt64(value) => Some(*value),
            Self::Int64(value) => u64::try_from(*value).ok(),
            Self::Int256(value) => u64::fit_large(**value),
            Self::UInt256(value) => u64::try_from(**value).ok(),
            Self::Null
            | Self::Decimal(..)
            | Self::Float64(_)
            | Self::String(_)
            | Self::Uuid(_)
            | Self::Array(_)
            | Self::Tuple(_)
            | Self::Map(_)
            | Self::Typed(_) => None,
        }
    }

    /// The number as `i64` where it is an integer (or Bool) that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Bool(value) => Some(i64::from(*value)),
            Self::UInt64(value) => i64::try_from(*value).ok(),
            Self::Int64(value) => Some(*value),
            Self::Int256(value) => i64::fit_large(**value),
            Self::UInt256(value) => i64::try_from(**value).ok(),
            Self::Null
            | Self::Decimal(..)
            | Self::Float64(_)
            | Self::String(_)
            | Self::Uuid(_)
            | Self::Array(_)
            | Self::Tuple(_)
            | Self::Map(_)
            | Self::Typed(_) => None,
        }
    }

    /// An integer (or Bool), or a decimal, as its value times ten to the power of the number of digits after the point, and that
    /// number. `None` for an integer past the greatest of 256 bits with a sign.
    pub fn as_decimal(&self) -> Option<(I256, u8)> {
        match self {
            Self::Bool(value) => Some((I256::from(*value), 0)),
            Self::UInt64(value) => Some((I256::from(*value), 0)),
            Self::Int64(value) => Some((I256::from(*value), 0)),
            Self::Int256(value) => Some((**value, 0)),
            Self::UInt256(value) => Some((I256::try_from(**value).ok()?, 0)),
            Self::Decimal(value, scale) => Some((**value, *scale)),
            Self::Null
            | Self::Float64(_)
            | Self::String(_)
            | Self::Uuid(_)
            | Self::Array(_)
            | Self::Tuple(_)
            | Self::Map(_)
            | Self::Typed(_) => None,
        }
    }

    /// The number as `f64` where it is a number.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Bool(value) => Some(f64::from(u8::from(*value))),
            Self::UInt64(value) => Some(*value as f64),
            Self::Int64(value) => Some(*value as f64),
            Self::Float64(value) => Some(*value),
            Self::Int256(value) => Some(value.as_float()),
            Self::UInt256(value) => Some(value.as_float()),
            Self::Decimal(value, scale) => Some(value.as_float() / 10f64.powi((*scale).into())),
            Self::Null
            | Self::String(_)
            | Self::Uuid(_)
            | Self::Array(_)
            | Self::Tuple(_)
            | Self::Map(_)
            | Self::Typed(_) => None,
        }
    }

    /// The bytes where it is a string or a UUID.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::String(bytes) => Some(bytes),
            Self::Uuid(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The text where it is a string in UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        self.as_bytes().and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    /// The type that ClickHouse gives to this value as a literal: the narrowest integer, `Float64`, `String`,
    /// `Nullable(Nothing)`; arrays of mixed items get `Nothing` here and their supertype from the planner.
    pub fn literal_type(&self) -> DataType {
        match self {
            Self::Null => DataType::Nullable(Arc::new(DataType::Nothing)),
            Self::Bool(_) => DataType::Bool,
            Self::UInt64(value) => match value {
                0..=0xFF => DataType::UInt8,
                0x100..=0xFFFF => DataType::UInt16,
                0x1_0000..=0xFFFF_FFFF => DataType::UInt32,
                _ => DataType::UInt64,
            },
            Self::Int64(value) => match value {
                -0x80..=0x7F => DataType::Int8,
                -0x8000..=0x7FFF => DataType::Int16,
                -0x8000_0000..=0x7FFF_FFFF => DataType::Int32,
                _ => DataType::Int64,
            },
            Self::Int256(value) if i128::fit_large(**value).is_some() => DataType::Int128,
            Self::Int256(_) => DataType::Int256,
            Self::UInt256(value) if u128::try_from(**value).is_ok() => DataType::UInt128,
            Self::UInt256(_) => DataType::UInt256,
            Self::Decimal(value, scale) => {
                let digits = value.unsigned_abs().to_string().len().max(usize::from(*scale));
                let widths = [4, 8, 16].into_iter().map(decimal_digits);
                let precision = widths.into_iter().find(|precision| digits <= usize::from(*precision));
                DataType::Decimal(precision.unwrap_or(decimal_digits(32)), *scale)
            }
            Self::Float64(_) => DataType::Float64,
            Self::String(_) => DataType::String,
            Self::Uuid(_) => DataType::UUID,
            Self::Typed(_) => DataType::dynamic(),
            Self::Array(items) => {
                let mut types = items.iter().map(Self::literal_type);
                let first = types.next().unwrap_or(DataType::Nothing);
                DataType::array(if types.all(|other| other == first) { first } else { DataType::Nothing })
            }
            Self::Tuple(items) => DataType::tuple(items.iter().map(Self::literal_type)),
            Self::Map(entries) => {
                let (key, value) = entries.first().map_or((DataType::Nothing, DataType::Nothing), |(key, value)| {
                    (key.literal_type(), value.literal_type())
                });
                DataType::Map(Arc::new(key), Arc::new(value))
            }
        }
    }

    /// The order of two values of one type: numbers across variants by value, strings by bytes, UUIDs by [`uuid_rank`], NaN after every number, NULL
    /// after everything.
    pub fn compare(&self, other: &Self) -> Ordering {
        self.compare_with(other, Ordering::Greater)
    }

    /// [`compare`](Self::compare) where NULL and NaN, also inside arrays and tuples, compare with anything else as `unknown`: before
    /// everything with `Less`, so that neither the least nor the greatest value is one of them.
    pub fn compare_with(&self, other: &Self, unknown: Ordering) -> Ordering {
        match (self, other) {
            (Self::Null, Self::Null) => Ordering::Equal,
            (Self::Null, _) => unknown,
            (_, Self::Null) => unknown.reverse(),
            (Self::Typed(left), Self::Typed(right)) => match left.0 == right.0 {
                true => left.1.compare_with(&right.1, unknown),
                false => left.0.to_string().cmp(&right.0.to_string()),
            },
            (Self::String(left), Self::String(right)) => left.cmp(right),
            (Self::Uuid(left), Self::Uuid(right)) => uuid_rank(left).cmp(&uuid_rank(right)),
            (Self::Array(left), Self::Array(right)) | (Self::Tuple(left), Self::Tuple(right)) => {
                let mut items = left.iter().zip(right.iter()).map(|(l, r)| l.compare_with(r, unknown));
                items.find(|order| order.is_ne()).unwrap_or_else(|| left.len().cmp(&right.len()))
            }
            (Self::Map(left), Self::Map(right)) => {
                let mut entries = left
                    .iter()
                    .zip(right.iter())
                    .map(|(l, r)| l.0.compare_with(&r.0, unknown).then_with(|| l.1.compare_with(&r.1, unknown)));
                entries.find(|order| order.is_ne()).unwrap_or_else(|| left.len().cmp(&right.len()))
            }
            (Self::Float64(_), _) | (_, Self::Float64(_)) => match (self.as_f64(), other.as_f64()) {
                (Some(left), Some(right)) => left.partial_cmp(&right).unwrap_or_else(|| {
                    let order = left.is_nan().cmp(&right.is_nan());
                    if unknown.is_lt() { order.reverse() } else { order }
                }),
                _ => Ordering::Equal,
            },
            (Self::Int256(_) | Self::UInt256(_) | Self::Decimal(..), _)
            | (_, Self::Int256(_) | Self::UInt256(_) | Self::Decimal(..)) => compare_large(self, other),
            _ => match (self.as_i64(), other.as_i64()) {
                (Some(left), Some(right)) => left.cmp(&right),
                // Only a `u64` past `i64::MAX` has no `i64`.
                (left, right) => match (self.as_u64(), other.as_u64()) {
                    (Some(left), Some(right)) => left.cmp(&right),
                    _ => left.is_none().cmp(&right.is_none()),
                },
            },
        }
    }
}

fn greatest(value: &Value) -> Option<U256> {
    match value {
        Value::UInt256(value) => Some(**value),
        _ => None,
    }
}

/// The order of two numbers of which one is wide or a decimal.
fn compare_large(left: &Value, right: &Value) -> Ordering {
    let (left, right) = match (left.as_decimal(), right.as_decimal()) {
        (Some(left), Some(right)) => (left, right),
        // Only a `UInt256` past the greatest `I256` has none.
        (None, None) => return greatest(left).cmp(&greatest(right)),
        (left, right) => return left.is_none().cmp(&right.is_none()),
    };
    compare_scaled(left, right)
}

/// A number that has the order of UUIDs, given by their 16 bytes as their text has them: ClickHouse compares the second half first.
#[inline]
pub fn uuid_rank(bytes: &[u8]) -> u128 {
    let bytes = bytes.try_into().unwrap_or([0; 16]);
    u128::from_be_bytes(bytes).rotate_left(64)
}

impl fmt::Display for Value {
    /// A literal that ClickHouse's parser reads back, as its own names of unnamed columns show it. Bytes that are not UTF-8 are
    /// shown as U+FFFD.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list<'a>(f: &mut fmt::Formatter<'_>, items: impl Iterator<Item = &'a Value>) -> fmt::Result {
            for (at, item) in items.enumerate() {
                if at > 0 {
                    f.write_str(", ")?;
                }
                write!(f, "{item}")?;
            }
            Ok(())
        }
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::UInt64(value) => write!(f, "{value}"),
            Self::Int64(value) => write!(f, "{value}"),
            Self::Int256(value) => write!(f, "{value}"),
            Self::UInt256(value) => write!(f, "{value}"),
            Self::Decimal(value, scale) => {
                let mut text = Vec::new();
                crate::text::append_decimal(&mut text, **value, *scale, false);
                f.write_str(&String::from_utf8_lossy(&text))
            }
            Self::Float64(value) => crate::text::write_float64(f, *value),
            Self::String(bytes) => crate::data_type::write_quoted(f, &String::from_utf8_lossy(bytes)),
            Self::Uuid(bytes) => {
                let mut text = Vec::with_capacity(36);
                crate::text::append_uuid(&mut text, bytes);
                crate::data_type::write_quoted(f, &String::from_utf8_lossy(&text))
            }
            Self::Array(items) => {
                f.write_str("[")?;
                list(f, items.iter())?;
                f.write_str("]")
            }
            Self::Tuple(items) => {
                f.write_str("(")?;
                list(f, items.iter())?;
                f.write_str(if items.len() == 1 { ",)" } else { ")" })
            }
            Self::Typed(typed) => write!(f, "{}", typed.1),
            Self::Map(entries) => {
                f.write_str("map(")?;
                list(f, entries.iter().flat_map(|(key, value)| [key, value]))?;
                f.write_str(")")
            }
        }
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::UInt64(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int64(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::string(value)
    }
}
