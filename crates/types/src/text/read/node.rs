//! The tree of a reader: typed vectors at the leaves, ends of lists and validity above them.

use std::sync::Arc;

use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, FixedSizeBinaryArray, ListArray, NullArray, PrimitiveArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use hashbrown::HashMap;

use super::alternatives::{DynamicReader, VariantReader};
use super::input::shown;
use super::object::ObjectReader;
use crate::calendar::{TimeZone, ZoneCursor};
use crate::column::default_value;
use crate::data_type::{DataType, EnumValues};
use crate::error::{Error, ErrorCode, Result};
use crate::integer::{I256, Integer, U256};
use crate::text::{MomentForm, TextOptions};
use crate::wrappers::with_validity;

#[derive(Debug)]
pub(super) enum Node {
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
    BFloat16(Vec<f32>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    String(Vec<i32>, Vec<u8>),
    FixedString(usize, Vec<u8>),
    Uuid(Vec<u8>),
    Ipv4(Vec<u32>),
    Ipv6(Vec<u8>),
    Date(Vec<u16>),
    Date32(Vec<i32>),
    DateTime(Vec<u32>, MomentForm, ZoneCursor),
    DateTime64(Vec<i64>, u8, MomentForm, ZoneCursor),
    Time(Vec<i32>),
    Time64(Vec<i64>, u8),
    Enum8(Vec<i8>, Names),
    Enum16(Vec<i16>, Names),
    Variant(Box<VariantReader>),
    Dynamic(Box<DynamicReader>),
    Object(Box<ObjectReader>),
    Nullable(Box<Node>, Vec<bool>),
    LowCardinality(Box<Node>),
    Array(Vec<i32>, Box<Node>),
    Map(Vec<i32>, Box<Node>, Box<Node>),
    Tuple(Vec<(Arc<str>, Node)>, usize),
}

/// An enum's names with their numbers.
#[derive(Debug)]
pub(super) struct Names {
    numbers: HashMap<Box<[u8]>, i16>,
    values: Arc<EnumValues>,
}

impl Names {
    pub fn new(values: &Arc<EnumValues>) -> Self {
        Self {
            numbers: values.iter().map(|(name, number)| (name.as_bytes().into(), number)).collect(),
            values: values.clone(),
        }
    }

    /// The number of a name, or of a number in decimal that is one of the enum's.
    pub fn find(&self, text: &[u8]) -> Result<i16> {
        if let Some(number) = self.numbers.get(text) {
            return Ok(*number);
        }
        let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        number.filter(|number| self.values.name(*number).is_some()).ok_or_else(|| {
            Error::new(ErrorCode::UNKNOWN_ELEMENT_OF_ENUM, format!("Unknown element '{}' for enum", shown(text)))
        })
    }
}

/// Runs `$body` with `$values` as the vector of whichever flat node this is.
macro_rules! each_flat {
    ($node:expr, $values:ident => $body:expr, $($rest:tt)*) => {
        match $node {
            Node::Bool($values) | Node::UInt8($values) => $body,
            Node::UInt16($values) | Node::Date($values) => $body,
            Node::UInt32($values) | Node::Ipv4($values) | Node::DateTime($values, ..) => $body,
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
            Node::BFloat16($values) | Node::Float32($values) => $body,
            Node::Float64($values) => $body,
            $($rest)*
        }
    };
}

impl Node {
    pub fn new(data_type: &DataType, options: &TextOptions) -> Result<Self> {
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
            DataType::BFloat16 => Self::BFloat16(Vec::new()),
            DataType::Float32 => Self::Float32(Vec::new()),
            DataType::Float64 => Self::Float64(Vec::new()),
            DataType::String | DataType::AggregateFunction(_) => Self::String(vec![0], Vec::new()),
            DataType::FixedString(width) => Self::FixedString(*width, Vec::new()),
            DataType::UUID => Self::Uuid(Vec::new()),
            DataType::IPv4 => Self::Ipv4(Vec::new()),
            DataType::IPv6 => Self::Ipv6(Vec::new()),
            DataType::Date => Self::Date(Vec::new()),
            DataType::Date32 => Self::Date32(Vec::new()),
            DataType::DateTime(name) => Self::DateTime(Vec::new(), options.moment_form, zone(name)?),
            DataType::DateTime64(digits, name) => {
                Self::DateTime64(Vec::new(), *digits, options.moment_form, zone(name)?)
            }
            DataType::Time => Self::Time(Vec::new()),
            DataType::Time64(digits) => Self::Time64(Vec::new(), *digits),
            DataType::Enum8(values) => Self::Enum8(Vec::new(), Names::new(values)),
            DataType::Enum16(values) => Self::Enum16(Vec::new(), Names::new(values)),
            DataType::Variant(alternatives) => Self::Variant(Box::new(VariantReader::new(alternatives, options)?)),
            DataType::Dynamic(_) => Self::Dynamic(Box::new(DynamicReader::new(options))),
            DataType::Json(json) => Self::Object(Box::new(ObjectReader::new(json, options)?)),
            DataType::SimpleAggregateFunction(simple) => Self::new(simple.values(), options)?,
            DataType::Named(named) => Self::new(named.values(), options)?,
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

    pub fn rows(&self) -> usize {
        each_flat!(self, values => values.len(),
            Self::Nothing(rows) | Self::Tuple(_, rows) => *rows,
            Self::String(offsets, _) | Self::Array(offsets, _) | Self::Map(offsets, ..) => offsets.len() - 1,
            Self::FixedString(width, bytes) => bytes.len() / width,
            Self::Uuid(bytes) | Self::Ipv6(bytes) => bytes.len() / 16,
            Self::Variant(reader) => reader.rows(),
            Self::Dynamic(reader) => reader.rows(),
            Self::Object(reader) => reader.rows(),
            Self::Nullable(_, valid) => valid.len(),
            Self::LowCardinality(inner) => inner.rows(),
        )
    }

    pub fn truncate(&mut self, rows: usize) {
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
            Self::Variant(reader) => reader.truncate(rows),
            Self::Dynamic(reader) => reader.truncate(rows),
            Self::Object(reader) => reader.truncate(rows),
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

    pub fn append_default(&mut self) {
        each_flat!(self, values => values.push(Default::default()),
            Self::Nothing(rows) => *rows += 1,
            Self::String(offsets, _) | Self::Array(offsets, _) | Self::Map(offsets, ..) => {
                offsets.push(offsets.last().copied().unwrap_or(0));
            }
            Self::FixedString(width, bytes) => bytes.extend(std::iter::repeat_n(0, *width)),
            Self::Uuid(bytes) | Self::Ipv6(bytes) => bytes.extend_from_slice(&[0; 16]),
            Self::Variant(reader) => reader.append_null(),
            Self::Dynamic(reader) => reader.append_null(),
            Self::Object(reader) => reader.append_default(),
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
    pub fn is_nested(&self) -> bool {
        matches!(self, Self::Array(..) | Self::Map(..) | Self::Tuple(..))
    }

    /// Whether values are those of a [`value_node`](Self::value_node).
    #[inline]
    pub fn is_around_values(&self) -> bool {
        matches!(self, Self::Nullable(..) | Self::LowCardinality(_))
    }

    /// Whether NULL is one of the values.
    pub fn has_null(&self) -> bool {
        match self {
            Self::Nullable(..) | Self::Variant(_) | Self::Dynamic(_) | Self::Nothing(_) => true,
            Self::LowCardinality(inner) => inner.has_null(),
            _ => false,
        }
    }

    /// The node of the values inside `Nullable` and `LowCardinality`.
    pub fn value_node(&mut self) -> &mut Self {
        match self {
            Self::Nullable(inner, _) | Self::LowCardinality(inner) => inner.value_node(),
            other => other,
        }
    }

    /// Marks the last value of a `Nullable` as there, after its [`value_node`](Self::value_node) has been appended to.
    pub fn set_valid(&mut self) {
        match self {
            Self::Nullable(_, valid) => valid.push(true),
            Self::LowCardinality(inner) => inner.set_valid(),
            _ => {}
        }
    }

    /// The name of the type, for messages.
    pub fn type_name(&self) -> std::borrow::Cow<'static, str> {
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
            Self::BFloat16(_) => "BFloat16",
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
            Self::Variant(_) => "Variant",
            Self::Dynamic(_) => "Dynamic",
            Self::Object(_) => "JSON",
            Self::Nullable(..) => "Nullable",
            Self::LowCardinality(_) => "LowCardinality",
            Self::Array(..) => "Array",
            Self::Map(..) => "Map",
            Self::Tuple(..) => "Tuple",
        };
        name.into()
    }

    pub fn is_number(&self) -> bool {
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
                | Self::BFloat16(_)
                | Self::Float32(_)
                | Self::Float64(_)
        )
    }

    pub fn finish(&mut self) -> Result<ArrayRef> {
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
            Self::UInt32(values) | Self::Ipv4(values) | Self::DateTime(values, ..) => primitive::<UInt32Type>(values),
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
            Self::BFloat16(values) | Self::Float32(values) => primitive::<Float32Type>(values),
            Self::Float64(values) => primitive::<Float64Type>(values),
            Self::String(ends, bytes) => {
                Arc::new(BinaryArray::try_new(offsets(ends), std::mem::take(bytes).into(), None)?)
            }
            Self::FixedString(width, bytes) => fixed(*width, bytes)?,
            Self::Uuid(bytes) | Self::Ipv6(bytes) => fixed(16, bytes)?,
            Self::Variant(reader) => reader.finish()?,
            Self::Dynamic(reader) => reader.finish()?,
            Self::Object(reader) => reader.finish()?,
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
pub(super) fn push_end(offsets: &mut Vec<i32>, end: usize) -> Result<()> {
    let end = i32::try_from(end).map_err(|_| {
        Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of strings or 2^31 items in one block")
    })?;
    offsets.push(end);
    Ok(())
}
