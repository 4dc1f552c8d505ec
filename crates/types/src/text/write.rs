//! Prints values of a column. A writer is a tree that mirrors the type; it holds the column's buffers and, for times, the offset of
//! the zone, so that a value costs one match and no allocation.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BinaryArray, FixedSizeBinaryArray, UInt32Array};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use std::net::Ipv6Addr;
use std::sync::Arc;

use super::date_time::{MomentText, append_date, append_date_time, append_date_time64};
use super::decimal::{append_any_integer, append_decimal};
use super::escape::{append_csv, append_escaped, append_json, append_quoted};
use super::number::{FloatText, append_float64, append_integer};
use super::span::{append_span, check_spans, nanoseconds};
use super::time::append_time;
use super::{TextOptions, TextStyle};
use crate::alternatives::Alternatives;
use crate::calendar::{TimeZone, ZoneCursor};
use crate::cast::nested::list_parts;
use crate::column::Column;
use crate::data_type::{DataType, EnumValues};
use crate::error::{Error, ErrorCode, Result};
use crate::integer::{I256, Integer, U256};
use crate::json_type::JsonType;

/// Prints rows of one column in one style.
#[derive(Debug)]
pub struct ValueWriter {
    node: Node,
    style: TextStyle,
    is_constant: bool,
    json: JsonOptions,
    /// For values that are printed bare first and escaped afterwards.
    scratch: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct JsonOptions {
    quote_64bit_integers: bool,
    quote_64bit_floats: bool,
    quote_decimals: bool,
    quote_denormals: bool,
    escape_slashes: bool,
    tuples_as_objects: bool,
    skip_nulls: bool,
    maps_as_arrays: bool,
}

/// How moments of so many decimal digits of a second look.
#[derive(Clone, Copy, Debug)]
struct Moments {
    digits: u8,
    text: MomentText,
    /// The fraction ends with its last digit that is none, in groups of three.
    without_zeros: bool,
}

impl Moments {
    fn append(self, out: &mut Vec<u8>, ticks: i64, zone: &mut ZoneCursor) {
        const DATE_BYTES: usize = "2020-01-02".len();
        if self.text == MomentText::UnixTimestamp {
            return append_decimal(out, ticks, self.digits, true);
        }
        let start = out.len();
        append_date_time64(out, ticks, self.digits, zone);
        if self.without_zeros {
            cut_zeros(out, self.digits.into());
        }
        if self.text == MomentText::Iso {
            if let Some(between) = out.get_mut(start + DATE_BYTES) {
                *between = b'T';
            }
            out.push(b'Z');
        }
    }
}

#[derive(Debug)]
struct Node {
    values: Values,
    nulls: Option<NullBuffer>,
    /// Whether quotes inside quotes are doubled and backslashes stand for themselves.
    doubles_quotes: bool,
}

#[derive(Debug)]
enum Values {
    Nothing,
    Bool(ScalarBuffer<u8>),
    UInt8(ScalarBuffer<u8>),
    UInt16(ScalarBuffer<u16>),
    UInt32(ScalarBuffer<u32>),
    UInt64(ScalarBuffer<u64>),
    Int8(ScalarBuffer<i8>),
    Int16(ScalarBuffer<i16>),
    Int32(ScalarBuffer<i32>),
    Int64(ScalarBuffer<i64>),
    Int128(Vec<i128>),
    Int256(Vec<I256>),
    UInt128(Vec<u128>),
    UInt256(Vec<U256>),
    Decimal(Decimals),
    Float32(ScalarBuffer<f32>, FloatText),
    Float64(ScalarBuffer<f64>, FloatText),
    String(BinaryArray),
    /// With whether the zeros at the end are left out.
    FixedString(FixedSizeBinaryArray, bool),
    /// Intervals of so many nanoseconds.
    Span(ScalarBuffer<i64>, i64),
    Uuid(FixedSizeBinaryArray),
    Ipv4(ScalarBuffer<u32>),
    Ipv6(FixedSizeBinaryArray),
    Date(ScalarBuffer<u16>),
    Date32(ScalarBuffer<i32>),
    DateTime(ScalarBuffer<u32>, ZoneCursor, MomentText),
    /// With whether zeros at the end of the fraction are left out, by threes.
    DateTime64(ScalarBuffer<i64>, Moments, ZoneCursor),
    Time(ScalarBuffer<i32>),
    Time64(ScalarBuffer<i64>, u8),
    Enum8(ScalarBuffer<i8>, Arc<EnumValues>),
    Enum16(ScalarBuffer<i16>, Arc<EnumValues>),
    /// Values of several types, each in a node of its own.
    Alternatives(Vec<Node>, Vec<Option<(u32, u32)>>),
    Object(Box<Objects>),
    Dictionary(UInt32Array, Box<Node>),
    Array(OffsetBuffer<i32>, Box<Node>),
    Map(OffsetBuffer<i32>, Box<Node>, Box<Node>),
    /// Elements with their names; the names are all there or all empty.
    Tuple(Vec<(Arc<str>, Node)>, bool),
}

/// Decimals, whose digits after the point are known for all of them.
#[derive(Debug)]
struct Decimals {
    values: DecimalValues,
    scale: u8,
    with_zeros: bool,
    with_point: bool,
}

#[derive(Debug)]
enum DecimalValues {
    Of32(Vec<i32>),
    Of64(Vec<i64>),
    Of128(Vec<i128>),
    Of256(Vec<I256>),
}

impl Decimals {
    fn new(array: &ArrayRef, precision: u8, scale: u8, options: &TextOptions) -> Self {
        let values = match precision {
            ..=9 => DecimalValues::Of32(Integer::values(array).into_owned()),
            10..=18 => DecimalValues::Of64(Integer::values(array).into_owned()),
            19..=38 => DecimalValues::Of128(Integer::values(array).into_owned()),
            _ => DecimalValues::Of256(Integer::values(array).into_owned()),
        };
        let (with_zeros, with_point) = (options.decimal_trailing_zeros, options.decimal_point);
        Self { values, scale, with_zeros, with_point }
    }

    fn write(&self, out: &mut Vec<u8>, row: usize) {
        match &self.values {
            DecimalValues::Of32(values) => append_decimal(out, values[row], self.scale, self.with_zeros),
            DecimalValues::Of64(values) => append_decimal(out, values[row], self.scale, self.with_zeros),
            DecimalValues::Of128(values) => append_decimal(out, values[row], self.scale, self.with_zeros),
            DecimalValues::Of256(values) => append_decimal(out, values[row], self.scale, self.with_zeros),
        }
    }
}

impl ValueWriter {
    /// A writer of a column's rows.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for a time zone that does not exist.
    pub fn new(column: &Column, style: TextStyle, options: &TextOptions) -> Result<Self> {
        Ok(Self {
            node: Node::new(column.data_type(), column.array(), options)?,
            style,
            is_constant: column.is_constant(),
            json: JsonOptions {
                quote_64bit_integers: options.json_quote_64bit_integers,
                quote_64bit_floats: options.json_quote_64bit_floats,
                quote_decimals: options.json_quote_decimals,
                quote_denormals: options.json_quote_denormals,
                escape_slashes: options.json_escape_forward_slashes,
                tuples_as_objects: options.json_named_tuples_as_objects,
                skip_nulls: options.json_skip_nulls_in_named_tuples,
                maps_as_arrays: options.json_map_as_array_of_tuples,
            },
            scratch: Vec::new(),
        })
    }

    /// Appends the text of a row.
    #[inline]
    pub fn write(&mut self, out: &mut Vec<u8>, row: usize) {
        let row = if self.is_constant { 0 } else { row };
        if self.node.is_null(row) {
            out.extend_from_slice(match self.style {
                TextStyle::Plain => "ᴺᵁᴸᴸ".as_bytes(),
                TextStyle::Escaped | TextStyle::Csv => b"\\N",
                TextStyle::Quoted => b"NULL",
                TextStyle::Json => b"null",
            });
            return;
        }
        match self.style {
            TextStyle::Plain => self.node.write_plain(out, row),
            TextStyle::Escaped => self.node.write_escaped(out, row),
            TextStyle::Quoted => self.node.write_quoted(out, row),
            TextStyle::Json => self.node.write_json(out, row, self.json),
            TextStyle::Csv => match self.node.string(row) {
                Some(bytes) => append_csv(out, bytes),
                None if self.node.is_bare(row) => self.node.write_plain(out, row),
                None => {
                    self.scratch.clear();
                    self.node.write_plain(&mut self.scratch, row);
                    append_csv(out, &self.scratch);
                }
            },
        }
    }
}

impl Node {
    fn new(data_type: &DataType, array: &ArrayRef, options: &TextOptions) -> Result<Self> {
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        let zone = |name: &Option<Arc<str>>| -> Result<ZoneCursor> {
            Ok(match name {
                _ if options.moments == MomentText::Iso => TimeZone::utc().cursor(),
                Some(name) => TimeZone::named(name)?.cursor(),
                None => options.time_zone.cursor(),
            })
        };
        macro_rules! values {
            ($t:ty) => {
                array.as_primitive::<$t>().values().clone()
            };
        }
        let values = match data_type {
            DataType::Nullable(inner) => {
                return Self::new(inner, array, options)
                    .map(|node| Self { nulls: nulls.or(node.nulls.clone()), ..node });
            }
            DataType::Nothing => {
                let nulls = Some(NullBuffer::new_null(array.len()));
                return Ok(Self { values: Values::Nothing, nulls, doubles_quotes: false });
            }
            DataType::Bool => Values::Bool(values!(UInt8Type)),
            DataType::UInt8 => Values::UInt8(values!(UInt8Type)),
            DataType::UInt16 => Values::UInt16(values!(UInt16Type)),
            DataType::UInt32 => Values::UInt32(values!(UInt32Type)),
            DataType::UInt64 => Values::UInt64(values!(UInt64Type)),
            DataType::Int8 => Values::Int8(values!(Int8Type)),
            DataType::Int16 => Values::Int16(values!(Int16Type)),
            DataType::Int32 => Values::Int32(values!(Int32Type)),
            DataType::Interval(unit) if options.intervals_are_spans => {
                let (values, unit) = (values!(Int64Type), nanoseconds(*unit)?);
                check_spans(&values, unit)?;
                Values::Span(values, unit)
            }
            DataType::Int64 | DataType::Interval(_) => Values::Int64(values!(Int64Type)),
            DataType::Int128 => Values::Int128(Integer::values(array).into_owned()),
            DataType::Int256 => Values::Int256(Integer::values(array).into_owned()),
            DataType::UInt128 => Values::UInt128(Integer::values(array).into_owned()),
            DataType::UInt256 => Values::UInt256(Integer::values(array).into_owned()),
            DataType::Decimal(precision, scale) => Values::Decimal(Decimals::new(array, *precision, *scale, options)),
            DataType::Variant(_) | DataType::Dynamic(_) => {
                let Alternatives { columns, rows } = Alternatives::of_array(data_type, array)?;
                let nodes = columns.iter().map(|column| Self::new(column.data_type(), &column.to_array()?, options));
                Values::Alternatives(nodes.collect::<Result<_>>()?, rows)
            }
            DataType::Json(json) => Values::Object(Box::new(Objects::new(json, array, options)?)),
            DataType::SimpleAggregateFunction(simple) => return Self::new(simple.values(), array, options),
            DataType::Named(named) => return Self::new(named.values(), array, options),
            DataType::BFloat16 | DataType::Float32 => Values::Float32(values!(Float32Type), floats(options)?),
            DataType::Float64 => Values::Float64(values!(Float64Type), floats(options)?),
            DataType::String | DataType::AggregateFunction(_) => Values::String(array.as_binary().clone()),
            DataType::FixedString(_) => {
                Values::FixedString(array.as_fixed_size_binary().clone(), options.trim_fixed_string)
            }
            DataType::UUID => Values::Uuid(array.as_fixed_size_binary().clone()),
            DataType::IPv4 => Values::Ipv4(values!(UInt32Type)),
            DataType::IPv6 => Values::Ipv6(array.as_fixed_size_binary().clone()),
            DataType::Date => Values::Date(values!(UInt16Type)),
            DataType::Date32 => Values::Date32(values!(Int32Type)),
            DataType::DateTime(name) => Values::DateTime(values!(UInt32Type), zone(name)?, options.moments),
            DataType::DateTime64(digits, name) => {
                let without_zeros = options.date_time64_without_zeros;
                let moments = Moments { digits: *digits, text: options.moments, without_zeros };
                Values::DateTime64(values!(Int64Type), moments, zone(name)?)
            }
            DataType::Time => Values::Time(values!(Int32Type)),
            DataType::Time64(digits) => Values::Time64(values!(Int64Type), *digits),
            DataType::Enum8(names) => Values::Enum8(values!(Int8Type), names.clone()),
            DataType::Enum16(names) => Values::Enum16(values!(Int16Type), names.clone()),
            DataType::LowCardinality(inner) => {
                let dictionary = array.as_dictionary::<UInt32Type>();
                let entries = Self::new(inner, dictionary.values(), options)?;
                Values::Dictionary(dictionary.keys().clone(), Box::new(entries))
            }
            DataType::Array(item) => {
                let (offsets, items) = list_parts(array);
                Values::Array(offsets, Box::new(Self::new(item, &items, options)?))
            }
            DataType::Map(key, value) => {
                let (offsets, entries) = list_parts(array);
                let entries = entries.as_struct();
                let key = Self::new(key, entries.column(0), options)?;
                let value = Self::new(value, entries.column(1), options)?;
                Values::Map(offsets, Box::new(key), Box::new(value))
            }
            DataType::Tuple(elements) => {
                let is_named = elements.iter().all(|element| element.name.is_some());
                let nodes = elements
                    .iter()
                    .zip(array.as_struct().columns())
                    .map(|(element, column)| {
                        let name = element.name.clone().unwrap_or_else(|| "".into());
                        Ok((name, Self::new(&element.data_type, column, options)?))
                    })
                    .collect::<Result<_>>()?;
                Values::Tuple(nodes, is_named)
            }
        };
        Ok(Self { values, nulls, doubles_quotes: options.quotes_are_doubled })
    }

    #[inline]
    fn is_null(&self, row: usize) -> bool {
        match &self.nulls {
            Some(nulls) => nulls.is_null(row),
            // Arrow's null arrays have no validity buffer.
            None => match &self.values {
                Values::Nothing => true,
                Values::Alternatives(_, rows) => rows.get(row).is_none_or(Option::is_none),
                _ => false,
            },
        }
    }

    /// The bytes of a value that is a string as it stands.
    #[inline]
    fn string(&self, row: usize) -> Option<&[u8]> {
        match &self.values {
            Values::String(strings) => Some(strings.value(row)),
            Values::FixedString(strings, false) => Some(strings.value(row)),
            Values::FixedString(strings, true) => Some(without_padding(strings.value(row))),
            Values::Enum8(numbers, names) => names.name(numbers[row].into()).map(str::as_bytes),
            Values::Enum16(numbers, names) => names.name(numbers[row]).map(str::as_bytes),
            Values::Dictionary(keys, entries) => entries.string(keys.value(row) as usize),
            Values::Alternatives(nodes, rows) => {
                let (at, position) = (*rows.get(row)?)?;
                nodes.get(at as usize)?.string(position as usize)
            }
            _ => None,
        }
    }

    /// Whether values have no quotes in any style: numbers.
    fn is_bare(&self, row: usize) -> bool {
        match &self.values {
            Values::Dictionary(keys, entries) => entries.is_bare(keys.value(row) as usize),
            Values::Alternatives(nodes, rows) => {
                let place = rows.get(row).copied().flatten();
                place.is_none_or(|(at, at_row)| nodes.get(at as usize).is_none_or(|node| node.is_bare(at_row as usize)))
            }
            Values::Nothing
            | Values::Bool(_)
            | Values::UInt8(_)
            | Values::UInt16(_)
            | Values::UInt32(_)
            | Values::UInt64(_)
            | Values::Int8(_)
            | Values::Int16(_)
            | Values::Int32(_)
            | Values::Int64(_)
            | Values::Int128(_)
            | Values::Int256(_)
            | Values::UInt128(_)
            | Values::UInt256(_)
            | Values::Decimal(_)
            | Values::Float32(..)
            | Values::Float64(..) => true,
            _ => false,
        }
    }

    fn write_plain(&mut self, out: &mut Vec<u8>, row: usize) {
        match &mut self.values {
            Values::Nothing => {}
            Values::Bool(values) => out.extend_from_slice(if values[row] != 0 { b"true" } else { b"false" }),
            Values::UInt8(values) => append_integer(out, values[row]),
            Values::UInt16(values) => append_integer(out, values[row]),
            Values::UInt32(values) => append_integer(out, values[row]),
            Values::UInt64(values) => append_integer(out, values[row]),
            Values::Int8(values) => append_integer(out, values[row]),
            Values::Int16(values) => append_integer(out, values[row]),
            Values::Int32(values) => append_integer(out, values[row]),
            Values::Int64(values) => append_integer(out, values[row]),
            Values::Int128(values) => append_integer(out, values[row]),
            Values::UInt128(values) => append_integer(out, values[row]),
            Values::Int256(values) => append_any_integer(out, values[row]),
            Values::UInt256(values) => append_any_integer(out, values[row]),
            Values::Decimal(values) => {
                let from = out.len();
                values.write(out, row);
                if values.with_point && !out.get(from..).unwrap_or_default().contains(&b'.') {
                    out.push(b'.');
                }
            }
            Values::Float32(values, text) => text.append32(out, values[row]),
            Values::Float64(values, text) => text.append(out, values[row]),
            Values::String(strings) => out.extend_from_slice(strings.value(row)),
            Values::FixedString(strings, false) => out.extend_from_slice(strings.value(row)),
            Values::FixedString(strings, true) => out.extend_from_slice(without_padding(strings.value(row))),
            Values::Span(values, unit) => append_span(out, values[row], *unit),
            Values::Uuid(values) => append_uuid(out, values.value(row)),
            Values::Ipv4(values) => append_ipv4(out, values[row]),
            Values::Ipv6(values) => {
                let octets: [u8; 16] = values.value(row).try_into().unwrap_or_default();
                append_display(out, Ipv6Addr::from(octets));
            }
            Values::Date(values) => append_date(out, values[row].into()),
            Values::Date32(values) => append_date(out, values[row]),
            Values::DateTime(values, zone, MomentText::Simple) => append_date_time(out, values[row], zone),
            Values::DateTime(values, zone, text) => {
                Moments { digits: 0, text: *text, without_zeros: false }.append(out, values[row].into(), zone);
            }
            Values::DateTime64(values, moments, zone) => moments.append(out, values[row], zone),
            Values::Time(values) => append_time(out, values[row].into(), 0),
            Values::Time64(values, digits) => append_time(out, values[row], *digits),
            // A number that is not one of the enum's can only come from a damaged file: it is shown as it is.
            Values::Enum8(values, names) => match names.name(values[row].into()) {
                Some(name) => out.extend_from_slice(name.as_bytes()),
                None => append_integer(out, values[row]),
            },
            Values::Enum16(values, names) => match names.name(values[row]) {
                Some(name) => out.extend_from_slice(name.as_bytes()),
                None => append_integer(out, values[row]),
            },
            Values::Dictionary(keys, entries) => entries.write_plain(out, keys.value(row) as usize),
            Values::Alternatives(nodes, rows) => {
                if let Some((node, position)) = chosen(nodes, rows, row) {
                    node.write_plain(out, position);
                }
            }
            Values::Object(objects) => objects.write(out, row),
            Values::Array(offsets, items) => {
                out.push(b'[');
                for at in range(offsets, row) {
                    if at > offsets[row] as usize {
                        out.push(b',');
                    }
                    items.write_quoted(out, at);
                }
                out.push(b']');
            }
            Values::Map(offsets, keys, values) => {
                out.push(b'{');
                for at in range(offsets, row) {
                    if at > offsets[row] as usize {
                        out.push(b',');
                    }
                    keys.write_quoted(out, at);
                    out.push(b':');
                    values.write_quoted(out, at);
                }
                out.push(b'}');
            }
            Values::Tuple(elements, _) => {
                out.push(b'(');
                for (at, (_, element)) in elements.iter_mut().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    element.write_quoted(out, row);
                }
                out.push(b')');
            }
        }
    }

    fn write_escaped(&mut self, out: &mut Vec<u8>, row: usize) {
        // Only strings hold bytes that need an escape; what is nested has escaped its strings already.
        match self.string(row) {
            Some(bytes) => append_escaped(out, bytes),
            None if matches!(self.values, Values::Object(_)) => {
                let mut text = Vec::new();
                self.write_plain(&mut text, row);
                append_escaped(out, &text);
            }
            None => self.write_plain(out, row),
        }
    }

    fn write_quoted(&mut self, out: &mut Vec<u8>, row: usize) {
        if self.is_null(row) {
            return out.extend_from_slice(b"NULL");
        }
        match &mut self.values {
            Values::Dictionary(keys, entries) => {
                if keys.is_null(row) {
                    return out.extend_from_slice(b"NULL");
                }
                entries.write_quoted(out, keys.value(row) as usize);
            }
            Values::Alternatives(nodes, rows) => {
                if let Some((node, position)) = chosen(nodes, rows, row) {
                    node.write_quoted(out, position);
                }
            }
            Values::Object(objects) => {
                let mut text = Vec::new();
                objects.write(&mut text, row);
                append_quoted(out, &text);
            }
            Values::Uuid(_)
            | Values::Ipv4(_)
            | Values::Ipv6(_)
            | Values::Date(_)
            | Values::Date32(_)
            | Values::DateTime(..)
            | Values::DateTime64(..)
            | Values::Time(_)
            | Values::Span(..)
            | Values::Time64(..) => {
                out.push(b'\'');
                self.write_plain(out, row);
                out.push(b'\'');
            }
            _ => match self.string(row) {
                Some(bytes) if self.doubles_quotes => append_with_double_quotes(out, bytes),
                Some(bytes) => append_quoted(out, bytes),
                None => self.write_plain(out, row),
            },
        }
    }

    fn write_json(&mut self, out: &mut Vec<u8>, row: usize, json: JsonOptions) {
        if self.is_null(row) {
            return out.extend_from_slice(b"null");
        }
        match &mut self.values {
            Values::Nothing => out.extend_from_slice(b"null"),
            Values::Alternatives(nodes, rows) => {
                if let Some((node, position)) = chosen(nodes, rows, row) {
                    node.write_json(out, position, json);
                }
            }
            Values::Object(objects) => objects.write_json(out, row, json),
            Values::UInt64(_)
            | Values::Int64(_)
            | Values::Int128(_)
            | Values::UInt128(_)
            | Values::Int256(_)
            | Values::UInt256(_)
                if json.quote_64bit_integers =>
            {
                out.push(b'"');
                self.write_plain(out, row);
                out.push(b'"');
            }
            Values::Decimal(_) if json.quote_decimals => {
                out.push(b'"');
                self.write_plain(out, row);
                out.push(b'"');
            }
            Values::Decimal(values) => values.write(out, row),
            Values::Float32(values, _) if !values[row].is_finite() => write_denormal(out, values[row].into(), json),
            Values::Float64(values, text) if json.quote_64bit_floats => {
                out.push(b'"');
                if values[row].is_finite() || json.quote_denormals {
                    FloatText { with_point: false, ..*text }.append(out, values[row]);
                } else {
                    out.extend_from_slice(b"null");
                }
                out.push(b'"');
            }
            Values::Float64(values, _) if !values[row].is_finite() => write_denormal(out, values[row], json),
            Values::Float32(values, text) => FloatText { with_point: false, ..*text }.append32(out, values[row]),
            Values::Float64(values, text) => FloatText { with_point: false, ..*text }.append(out, values[row]),
            Values::Dictionary(keys, entries) => entries.write_json(out, keys.value(row) as usize, json),
            Values::Array(offsets, items) => {
                out.push(b'[');
                for at in range(offsets, row) {
                    if at > offsets[row] as usize {
                        out.push(b',');
                    }
                    items.write_json(out, at, json);
                }
                out.push(b']');
            }
            Values::Map(offsets, keys, values) if json.maps_as_arrays => {
                out.push(b'[');
                for at in range(offsets, row) {
                    out.extend_from_slice(if at > offsets[row] as usize { b",{\"keys\":" } else { b"{\"keys\":" });
                    keys.write_json(out, at, json);
                    out.extend_from_slice(b",\"values\":");
                    values.write_json(out, at, json);
                    out.push(b'}');
                }
                out.push(b']');
            }
            Values::Map(offsets, keys, values) => {
                out.push(b'{');
                let mut key = Vec::new();
                for at in range(offsets, row) {
                    if at > offsets[row] as usize {
                        out.push(b',');
                    }
                    key.clear();
                    keys.write_plain(&mut key, at);
                    append_json(out, &key, json.escape_slashes);
                    out.push(b':');
                    values.write_json(out, at, json);
                }
                out.push(b'}');
            }
            Values::Tuple(elements, is_named) => {
                let as_object = *is_named && json.tuples_as_objects && !elements.is_empty();
                out.push(if as_object { b'{' } else { b'[' });
                let mut is_first = true;
                for (name, element) in elements.iter_mut() {
                    if as_object && json.skip_nulls && element.is_null(row) {
                        continue;
                    }
                    if !std::mem::take(&mut is_first) {
                        out.push(b',');
                    }
                    if as_object {
                        append_json(out, name.as_bytes(), json.escape_slashes);
                        out.push(b':');
                    }
                    element.write_json(out, row, json);
                }
                out.push(if as_object { b'}' } else { b']' });
            }
            _ => match self.string(row) {
                Some(bytes) => append_json(out, bytes, json.escape_slashes),
                None if self.is_bare(row) => self.write_plain(out, row),
                None => {
                    out.push(b'"');
                    self.write_plain(out, row);
                    out.push(b'"');
                }
            },
        }
    }
}

/// The node that a row's value is in, and where.
fn chosen<'a>(nodes: &'a mut [Node], rows: &[Option<(u32, u32)>], row: usize) -> Option<(&'a mut Node, usize)> {
    let (at, position) = (*rows.get(row)?)?;
    Some((nodes.get_mut(at as usize)?, position as usize))
}

/// Objects: columns of typed paths, and the other paths of each row.
#[derive(Debug)]
struct Objects {
    typed: Vec<(Arc<str>, Node)>,
    offsets: OffsetBuffer<i32>,
    paths: BinaryArray,
    values: Node,
}

impl Objects {
    fn new(json: &JsonType, array: &ArrayRef, options: &TextOptions) -> Result<Self> {
        let damaged = || Error::logical("a column of JSON over another array");
        let parts = array.as_struct_opt().ok_or_else(damaged)?.columns();
        let (others, typed) = parts.split_last().ok_or_else(damaged)?;
        // Values are taken apart, so those of other rows are left out first.
        others.as_list_opt::<i32>().ok_or_else(damaged)?;
        let (offsets, entries) = list_parts(others);
        let entries = entries.as_struct_opt().ok_or_else(damaged)?;
        let typed = json.typed.iter().zip(typed);
        Ok(Self {
            typed: typed
                .map(|((path, data_type), part)| Ok((path.clone(), Node::new(data_type, part, options)?)))
                .collect::<Result<_>>()?,
            offsets,
            paths: entries.column(0).as_binary_opt().ok_or_else(damaged)?.clone(),
            values: Node::new(&json.dynamic(), entries.column(1), options)?,
        })
    }

    /// Writes an object as a text of its own.
    fn write(&mut self, out: &mut Vec<u8>, row: usize) {
        let json = JsonOptions {
            quote_64bit_integers: false,
            quote_64bit_floats: false,
            quote_decimals: false,
            quote_denormals: false,
            escape_slashes: true,
            tuples_as_objects: true,
            skip_nulls: false,
            maps_as_arrays: false,
        };
        self.write_json(out, row, json);
    }

    fn write_json(&mut self, out: &mut Vec<u8>, row: usize, json: JsonOptions) {
        out.push(b'{');
        // The keys of the objects that are open, and where the path of the next value goes on from them.
        let mut open: Vec<Vec<u8>> = Vec::new();
        let mut is_first = true;
        let mut typed = 0;
        let mut others = range(&self.offsets, row).peekable();
        loop {
            let path_of_typed = self.typed.get(typed).map(|(path, _)| path.clone());
            let path_of_other = others.peek().map(|at| self.paths.value(*at).to_vec());
            let is_typed = match (&path_of_typed, &path_of_other) {
                (Some(left), Some(right)) => left.as_bytes() <= right.as_slice(),
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => break,
            };
            let path = match (is_typed, path_of_typed, path_of_other) {
                (true, Some(path), _) => path.as_bytes().to_vec(),
                (_, _, path) => path.unwrap_or_default(),
            };
            let mut keys: Vec<&[u8]> = path.split(|byte| *byte == b'.').collect();
            let last = keys.pop().unwrap_or_default();
            let shared = open.iter().zip(&keys).take_while(|(open, key)| open.as_slice() == **key).count();
            if open.len() > shared {
                out.extend(std::iter::repeat_n(b'}', open.len() - shared));
                open.truncate(shared);
                is_first = false;
            }
            for key in keys.get(shared..).unwrap_or_default() {
                if !is_first {
                    out.push(b',');
                }
                append_json(out, key, json.escape_slashes);
                out.extend_from_slice(b":{");
                open.push(key.to_vec());
                is_first = true;
            }
            if !is_first {
                out.push(b',');
            }
            append_json(out, last, json.escape_slashes);
            out.push(b':');
            is_first = false;
            if is_typed {
                if let Some((_, node)) = self.typed.get_mut(typed) {
                    node.write_json(out, row, json);
                }
                typed += 1;
            } else if let Some(at) = others.next() {
                self.values.write_json(out, at, json);
            }
        }
        out.extend(std::iter::repeat_n(b'}', open.len() + 1));
    }
}

fn range(offsets: &OffsetBuffer<i32>, row: usize) -> std::ops::Range<usize> {
    offsets[row] as usize..offsets[row + 1] as usize
}

/// A `FixedString` without the zeros that fill it up.
fn without_padding(bytes: &[u8]) -> &[u8] {
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.get(..used).unwrap_or_default()
}

/// Makes a fraction of so many digits, at the end of `out`, as short as it can be in groups of three; none where it is zero.
fn cut_zeros(out: &mut Vec<u8>, digits: usize) {
    let start = out.len() - digits;
    let used = out.get(start..).and_then(|fraction| fraction.iter().rposition(|digit| *digit != b'0'));
    match used {
        Some(last) => out.resize(start + (last + 1).next_multiple_of(3), b'0'),
        None => out.truncate(start - usize::from(digits > 0)),
    }
}

/// Appends a literal in which quotes are doubled and backslashes stand for themselves.
fn append_with_double_quotes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'\'');
    for byte in bytes {
        match byte {
            b'\'' => out.extend_from_slice(b"''"),
            b'\\' => out.push(b'\\'),
            other => append_escaped(out, &[*other]),
        }
    }
    out.push(b'\'');
}

fn floats(options: &TextOptions) -> Result<FloatText> {
    if options.floats.digits > FloatText::DIGITS_MAX {
        let message = format!(
            "Too high precision requested for Float, must not be more than {}, got {}.",
            FloatText::DIGITS_MAX,
            options.floats.digits
        );
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    Ok(options.floats)
}

fn write_denormal(out: &mut Vec<u8>, value: f64, json: JsonOptions) {
    if !json.quote_denormals {
        return out.extend_from_slice(b"null");
    }
    out.push(b'"');
    append_float64(out, value);
    out.push(b'"');
}

fn append_display(out: &mut Vec<u8>, value: impl std::fmt::Display) {
    use std::io::Write;
    // Writing to a vector does not fail.
    let _ = write!(out, "{value}");
}

/// Appends the address that the bits of an `IPv4` are.
pub fn append_ipv4(out: &mut Vec<u8>, bits: u32) {
    let mut digits = itoa::Buffer::new();
    for (at, octet) in bits.to_be_bytes().into_iter().enumerate() {
        if at > 0 {
            out.push(b'.');
        }
        out.extend_from_slice(digits.format(octet).as_bytes());
    }
}

/// Appends the 16 bytes of a `UUID` in hexadecimal with its dashes.
pub(crate) fn append_uuid(out: &mut Vec<u8>, bytes: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.extend_from_slice(&[HEX[(byte >> 4) as usize], HEX[(byte & 15) as usize]]);
    }
}
