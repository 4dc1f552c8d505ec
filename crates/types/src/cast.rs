//! Conversion of columns and values from one type to another: `CAST`, `toX`, `accurateCast`, inserts, and literals beside columns.
//! Numbers wrap, texts are read by [`text`](crate::text), times know their zones; what has no conversion is an error with
//! ClickHouse's code. Which of two types a comparison or an array takes is `supertype`'s business.

mod clock;
mod decimal;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, DictionaryArray, FixedSizeBinaryArray, ListArray, PrimitiveArray,
    StructArray, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType as ArrowType;

use crate::calendar::{DATE32_MAX, DATE32_MIN, DAY_SECONDS, TimeZone, ZoneCursor};
use crate::column::Column;
use crate::data_type::{DataType, EnumValues};
use crate::error::{Error, ErrorCode, Result};
use crate::text::{TextOptions, TextStyle, ValueReader, ValueWriter, append_integer, whole_integer};
use crate::value::Value;
use crate::wrappers::{encode_dictionary, with_validity};
use crate::{Integer, checkpoint, grow, kernels, match_integer, match_primitive, reserve};

/// What happens to values that the target cannot hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CastMode {
    /// Numbers wrap or are cut, bad text is an error: `CAST`, `toX`.
    Plain,
    /// Any loss is an error: `accurateCast`.
    Accurate,
    /// Any loss, and bad text, is NULL: `accurateCastOrNull`, `toXOrNull`. Under the NULL lies the type's default.
    OrNull,
}

/// How to convert.
#[derive(Clone, Debug)]
pub struct CastOptions {
    /// What to do about values that do not fit.
    pub mode: CastMode,
    /// The session's time zone, and how texts look.
    pub text: TextOptions,
    /// Whether a date past `DateTime`'s range is cut to it; otherwise it wraps.
    pub cuts_dates: bool,
    /// Whether a `FixedString` keeps as a `String` the zeros that fill it up.
    pub keeps_padding: bool,
}

impl CastOptions {
    /// A mode in a session's time zone.
    pub fn new(mode: CastMode, time_zone: TimeZone) -> Self {
        Self { mode, text: TextOptions::in_zone(time_zone), cuts_dates: false, keeps_padding: false }
    }

    /// Values of several types to their [`least_supertype`](crate::least_supertype).
    pub fn to_common(time_zone: TimeZone) -> Self {
        Self { cuts_dates: true, ..Self::new(CastMode::Plain, time_zone) }
    }
}

impl Default for CastOptions {
    /// [`CastMode::Plain`] in UTC.
    fn default() -> Self {
        Self::new(CastMode::Plain, TimeZone::utc())
    }
}

/// The column as `to`; in mode [`CastMode::OrNull`] as `to` made nullable. A constant stays a constant.
///
/// # Errors
/// `CANNOT_CONVERT_TYPE`, `TYPE_MISMATCH`, `NOT_IMPLEMENTED`, `ILLEGAL_TYPE_OF_ARGUMENT` where there is no such conversion (which of
/// them is ClickHouse's choice for the pair); `CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN`; those of [`ValueReader`] for texts.
pub fn cast(column: &Column, to: &DataType, options: &CastOptions) -> Result<Column> {
    let result_type = match options.mode {
        CastMode::OrNull => to.to_nullable(),
        _ => to.clone(),
    };
    if *column.data_type() == result_type {
        return Ok(column.clone());
    }
    let array = cast_array(column.data_type(), column.array(), &result_type, options)?;
    Ok(column.like(result_type, array))
}

/// The value of a literal as one of `to`, for `VALUES`, `IN` and index ranges. `from` is the value's type.
///
/// # Errors
/// As [`cast`].
pub fn cast_value(value: &Value, from: &DataType, to: &DataType, options: &CastOptions) -> Result<Value> {
    let column = Column::constant(from.clone(), value, 1)?;
    Ok(cast(&column, to, options)?.value(0))
}

/// The value of a literal as one of `to`, exactly: NULL only where `to` has it, numbers only where they fit, strings read as text.
/// The type of the literal is taken from the value itself.
///
/// # Errors
/// `CANNOT_CONVERT_TYPE`, `TYPE_MISMATCH`, `CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN`, and those of reading text.
pub fn convert_value(value: &Value, to: &DataType) -> Result<Value> {
    let inner = to.inner();
    match value {
        Value::Null if to.is_nullable() => Ok(Value::Null),
        // Items are converted one by one, since those of one array may differ in type.
        Value::Array(items) if matches!(inner, DataType::Array(_)) => {
            let DataType::Array(item) = inner else { return Err(mismatch(&value.literal_type(), to)) };
            Ok(Value::Array(items.iter().map(|value| convert_value(value, item)).collect::<Result<_>>()?))
        }
        Value::Tuple(items) => match inner {
            DataType::Tuple(elements) if elements.len() == items.len() => {
                let converted =
                    items.iter().zip(elements.iter()).map(|(value, element)| convert_value(value, &element.data_type));
                Ok(Value::Tuple(converted.collect::<Result<_>>()?))
            }
            _ => Err(mismatch(&value.literal_type(), to)),
        },
        Value::Map(entries) => match inner {
            DataType::Map(key_type, value_type) => {
                let converted = entries
                    .iter()
                    .map(|(key, value)| Ok((convert_value(key, key_type)?, convert_value(value, value_type)?)));
                Ok(Value::Map(converted.collect::<Result<_>>()?))
            }
            _ => Err(mismatch(&value.literal_type(), to)),
        },
        _ => {
            let is_plain = inner.is_float() || inner.is_decimal();
            let mode = if is_plain { CastMode::Plain } else { CastMode::Accurate };
            cast_value(value, &value.literal_type(), to, &CastOptions::new(mode, TimeZone::utc()))
        }
    }
}

fn mismatch(from: &DataType, to: &DataType) -> Error {
    Error::new(ErrorCode::TYPE_MISMATCH, format!("Type mismatch: cannot convert {from} to {to}"))
}

/// The error for a pair of types without a conversion.
fn no_conversion(from: &DataType, to: &DataType) -> Error {
    let is_nested = matches!(from, DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..));
    let code = match to {
        DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..) => ErrorCode::TYPE_MISMATCH,
        DataType::Enum8(_) | DataType::Enum16(_) | DataType::DateTime64(..) | DataType::Time | DataType::Time64(_) => {
            ErrorCode::CANNOT_CONVERT_TYPE
        }
        DataType::FixedString(_) => ErrorCode::NOT_IMPLEMENTED,
        DataType::Interval(_) if matches!(from, DataType::DateTime64(..)) => ErrorCode::CANNOT_CONVERT_TYPE,
        _ if is_nested => ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
        _ => ErrorCode::NOT_IMPLEMENTED,
    };
    Error::new(code, format!("Conversion from {from} to {to} is not supported"))
}

/// Converts an array, whatever wraps the types.
fn cast_array(from: &DataType, array: &ArrayRef, to: &DataType, options: &CastOptions) -> Result<ArrayRef> {
    if from == to {
        return Ok(array.clone());
    }
    checkpoint(array.len())?;
    reserve(array.len().saturating_mul(to.inner().fixed_width_bytes().unwrap_or(1)))?;
    if let DataType::LowCardinality(entry_type) = from {
        let dictionary = array.as_dictionary::<UInt32Type>();
        // Entry by entry, unless an entry that perhaps no row uses is refused.
        if let DataType::LowCardinality(to_entry) = to
            && (to_entry.is_nullable() || !entry_type.is_nullable())
            && let Ok(values) =
                cast_array(&entry_type.remove_nullable(), dictionary.values(), &to_entry.remove_nullable(), options)
            && values.null_count() == 0
        {
            return Ok(Arc::new(DictionaryArray::try_new(dictionary.keys().clone(), values)?));
        }
        let expanded = kernels::take(&**dictionary.values(), dictionary.keys())?;
        return cast_array(entry_type, &expanded, to, options);
    }
    if let DataType::LowCardinality(entry_type) = to {
        return encode_dictionary(&cast_array(from, array, entry_type, options)?);
    }
    let inner_from = from.remove_nullable();
    let inner_to = to.remove_nullable();
    if !to.is_nullable() && array.null_count() > 0 && inner_from != DataType::Nothing {
        return Err(Error::new(
            ErrorCode::CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN,
            "Cannot convert NULL value to non-Nullable type",
        ));
    }
    if inner_from == DataType::Nothing {
        if !to.is_nullable() && !array.is_empty() {
            return Err(Error::new(ErrorCode::CANNOT_CONVERT_TYPE, "Cannot convert NULL to a non-nullable type"));
        }
        return Ok(new_null_array(&to.arrow_type(), array.len()));
    }
    let result = if inner_from == inner_to {
        array.clone()
    } else if inner_from.is_string_or_fixed_string() && !inner_to.is_string_or_fixed_string() {
        return from_text(&inner_from, array, to, options);
    } else {
        convert(&inner_from, array, &inner_to, options)?
    };
    if !to.is_nullable() {
        return Ok(result);
    }
    let nulls = NullBuffer::union(array.nulls(), result.nulls());
    with_validity(&result, nulls.filter(|nulls| nulls.null_count() > 0))
}

/// Reads texts. NULL rows are not read.
fn from_text(from: &DataType, array: &ArrayRef, to: &DataType, options: &CastOptions) -> Result<ArrayRef> {
    if matches!(to, DataType::Map(..)) || to.array_like() && !matches!(from, DataType::String) {
        return Err(Error::new(
            ErrorCode::TYPE_MISMATCH,
            format!("Unsupported types to CAST AS {}. Left type: {from}, right type: {to}", to.family()),
        ));
    }
    let mut reader = ValueReader::new(to, &options.text)?;
    // Text that is no value of the type is NULL where the target has it, except for types whose values have names.
    let has_names = matches!(to.inner(), DataType::Enum8(_) | DataType::Enum16(_));
    let is_lenient = !has_names
        && (options.mode == CastMode::OrNull || matches!(to, DataType::Nullable(inner) if **inner != DataType::Bool));
    let is_strict = is_lenient || options.mode != CastMode::Plain;
    let mut read = |row: usize, field: &[u8]| -> Result<()> {
        checkpoint(field.len())?;
        if array.is_null(row) {
            reader.append_default();
            return Ok(());
        }
        let result = if is_strict && !fits(field, to.inner()) {
            Err(Error::new(ErrorCode::CANNOT_PARSE_TEXT, format!("Cannot parse string to type {to}")))
        } else {
            reader.read_whole(field)
        };
        if result.is_err() && is_lenient {
            reader.truncate(row);
            reader.append_default();
            return Ok(());
        }
        result
    };
    match array.data_type() {
        ArrowType::Binary => {
            let strings = array.as_binary::<i32>();
            (0..strings.len()).try_for_each(|row| read(row, strings.value(row)))?;
        }
        _ => {
            let strings = array.as_fixed_size_binary();
            // Addresses and identifiers may be given as their bytes.
            let width = strings.value_length() as usize;
            let is_raw = matches!((to.inner(), width), (DataType::UUID | DataType::IPv6, 16));
            if is_raw {
                let turned = *to.inner() == DataType::UUID;
                let array: ArrayRef = if turned { uuid_memory(strings)? } else { array.clone() };
                return with_validity(&array, strings.nulls().cloned());
            }
            (0..strings.len()).try_for_each(|row| read(row, without_padding(strings.value(row))))?;
        }
    }
    Ok(reader.finish()?.array().clone())
}

/// The bytes of UUIDs as ClickHouse has them in memory, which are two numbers: each half turned round. And the other way.
///
/// # Errors
/// `LOGICAL_ERROR` for values that are not 16 bytes wide.
pub fn uuid_memory(values: &FixedSizeBinaryArray) -> Result<ArrayRef> {
    let mut bytes: Vec<u8> = (0..values.len()).flat_map(|row| values.value(row).iter().copied()).collect();
    bytes.chunks_mut(8).for_each(<[u8]>::reverse);
    Ok(Arc::new(FixedSizeBinaryArray::try_new(16, bytes.into(), values.nulls().cloned())?))
}

impl DataType {
    fn array_like(&self) -> bool {
        matches!(self, Self::Array(_) | Self::Tuple(_))
    }

    /// The name without arguments.
    fn family(&self) -> String {
        let name = self.to_string();
        name.split_once('(').map_or(name.clone(), |(family, _)| family.to_owned())
    }
}

/// The bytes of a `FixedString` without the zeros that fill it up.
fn without_padding(bytes: &[u8]) -> &[u8] {
    let length = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.get(..length).unwrap_or_default()
}

/// Whether a text that is an integer as a whole is one of the type's; texts that are none are left to the reader.
fn fits(field: &[u8], to: &DataType) -> bool {
    if to.is_wide_integer() {
        let Some(number) = whole_integer(field) else { return field.len() < 76 };
        return match_integer!(to, T => T::fit_large(number).is_some(), _ => true);
    }
    let Some((least, most)) = integer_range(to) else { return true };
    match std::str::from_utf8(field).ok().and_then(|text| text.parse::<i128>().ok()) {
        Some(number) => (least..=most).contains(&number),
        None => field.len() < 30,
    }
}

/// The least and the greatest value of an integer type.
pub(crate) fn integer_range(data_type: &DataType) -> Option<(i128, i128)> {
    Some(match data_type {
        DataType::UInt8 => (0, u8::MAX.into()),
        DataType::UInt16 => (0, u16::MAX.into()),
        DataType::UInt32 => (0, u32::MAX.into()),
        DataType::UInt64 => (0, u64::MAX.into()),
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => (i64::MIN.into(), i64::MAX.into()),
        _ => return None,
    })
}

/// Converts between types without wrappers. Rows that are NULL in `array` hold anything in the result.
fn convert(from: &DataType, array: &ArrayRef, to: &DataType, options: &CastOptions) -> Result<ArrayRef> {
    use DataType as T;
    if from == to {
        return Ok(array.clone());
    }
    match (from, to) {
        (T::FixedString(_), T::String) => {
            let strings = array.as_fixed_size_binary();
            let values = (0..strings.len()).map(|row| match options.keeps_padding {
                true => strings.value(row),
                false => without_padding(strings.value(row)),
            });
            Ok(Arc::new(BinaryArray::from_iter_values(values)))
        }
        (T::String | T::FixedString(_), T::FixedString(width)) => to_fixed_string(array, *width),
        (_, T::String) => to_text(from, array, options),
        (T::Enum8(_) | T::Enum16(_) | T::Bool, T::FixedString(width)) => {
            to_fixed_string(&to_text(from, array, options)?, *width)
        }
        (T::Array(item), T::Array(to_item)) => {
            let (offsets, items) = list_parts(array);
            let items = cast_array(item, &items, to_item, &strictly(options))?;
            list(offsets, items)
        }
        (T::Map(..), T::Map(..)) => {
            let (offsets, entries) = list_parts(array);
            let entries = cast_array(&from.map_entry_type(), &entries, &to.map_entry_type(), &strictly(options))?;
            list(offsets, entries)
        }
        (T::Map(..), T::Array(item)) => {
            let (offsets, entries) = list_parts(array);
            // By position: the names of a map's entries are not the tuple's.
            let entry_type = match from.map_entry_type() {
                T::Tuple(elements) => T::tuple(elements.iter().map(|element| element.data_type.clone())),
                other => other,
            };
            list(offsets, cast_array(&entry_type, &entries, item, &strictly(options))?)
        }
        (T::Array(item), T::Map(..)) if matches!(&**item, T::Tuple(elements) if elements.len() == 2) => {
            let (offsets, items) = list_parts(array);
            let entry_type = match to.map_entry_type() {
                T::Tuple(elements) => T::tuple(elements.iter().map(|element| element.data_type.clone())),
                other => other,
            };
            list(offsets, cast_array(item, &items, &entry_type, &strictly(options))?)
        }
        (T::Tuple(elements), T::Map(key, value)) => match &**elements {
            [keys, values] => map_of_arrays(array, (&keys.data_type, key), (&values.data_type, value), options),
            _ => Err(no_conversion(from, to)),
        },
        (T::Tuple(elements), T::Tuple(to_elements)) => {
            if elements.len() != to_elements.len() {
                return Err(Error::new(
                    ErrorCode::TYPE_MISMATCH,
                    format!(
                        "CAST AS Tuple can be performed only between tuples with the same number of elements. Left type: {from}, right type: {to}"
                    ),
                ));
            }
            let tuple = array.as_struct();
            let by_name = elements.iter().chain(to_elements.iter()).all(|element| element.name.is_some())
                && to_elements.iter().all(|to| elements.iter().any(|from| from.name == to.name));
            let columns = to_elements
                .iter()
                .enumerate()
                .map(|(at, to)| {
                    let at =
                        if by_name { elements.iter().position(|from| from.name == to.name).unwrap_or(at) } else { at };
                    let (Some(from), Some(column)) = (elements.get(at), tuple.columns().get(at)) else {
                        return Err(Error::logical("tuple without an element"));
                    };
                    cast_array(&from.data_type, column, &to.data_type, &strictly(options))
                })
                .collect::<Result<Vec<_>>>()?;
            let fields = to
                .arrow_fields()
                .iter()
                .zip(&columns)
                .map(|(field, column)| arrow_schema::Field::new(field.name(), column.data_type().clone(), true))
                .collect();
            Ok(Arc::new(StructArray::try_new_with_length(fields, columns, array.nulls().cloned(), array.len())?))
        }
        (T::String, T::AggregateFunction(_)) => Ok(array.clone()),
        (T::AggregateFunction(_), T::AggregateFunction(_)) => Err(no_conversion(from, to)),
        (T::Array(_) | T::Tuple(_) | T::Map(..), _) | (_, T::Array(_) | T::Tuple(_) | T::Map(..)) => {
            Err(no_conversion(from, to))
        }
        (T::Time64(digits), T::Decimal(..)) => decimal::convert(&T::Decimal(18, *digits), array, to, options),
        (T::Time, T::Decimal(..)) | (T::Decimal(..), T::Time) => {
            Err(Error::new(ErrorCode::ILLEGAL_COLUMN, format!("Illegal column {from} of {to}")))
        }
        _ if decimal::concerns(from, to) => decimal::convert(from, array, to, options),
        (T::Enum8(names) | T::Enum16(names), T::Enum8(to_names) | T::Enum16(to_names)) => {
            to_enum(array, to, to_names, true, |number| {
                let name = names.name(i16::try_from(number).ok()?)?;
                to_names.number(name.as_bytes())
            })
        }
        (_, T::Enum8(names) | T::Enum16(names)) if from.is_number() || *from == T::Bool => {
            to_enum(array, to, names, false, |number| {
                i16::try_from(number).ok().filter(|number| names.name(*number).is_some())
            })
        }
        (T::IPv4, T::IPv6) => {
            let values = array.as_primitive::<UInt32Type>();
            let bytes: Vec<u8> = values
                .values()
                .iter()
                .flat_map(|bits| std::net::Ipv4Addr::from_bits(*bits).to_ipv6_mapped().octets())
                .collect();
            Ok(Arc::new(FixedSizeBinaryArray::try_new(16, bytes.into(), None)?))
        }
        (T::IPv6, T::IPv4) => {
            let values = array.as_fixed_size_binary();
            let read = |row: usize| {
                let octets: [u8; 16] = values.value(row).try_into().unwrap_or_default();
                std::net::Ipv6Addr::from(octets).to_ipv4_mapped().map(std::net::Ipv4Addr::to_bits)
            };
            collect_valid::<UInt32Type>(array, options, read, |_| {
                Error::new(ErrorCode::CANNOT_CONVERT_TYPE, "IPv6 address is not an IPv4 address mapped to IPv6")
            })
        }
        (T::IPv4, T::UInt32 | T::UInt64) => numbers(array, to, options, from),
        (T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64 | T::Bool, T::IPv4) if options.mode == CastMode::Plain => {
            numbers(array, to, options, from)
        }
        // A number is never accurately an address or an identifier.
        (_, T::UUID | T::IPv4 | T::IPv6) if from.is_number() && options.mode == CastMode::OrNull => {
            Ok(new_null_array(&to.arrow_type(), array.len()))
        }
        (_, T::UUID | T::IPv4 | T::IPv6) if from.is_number() && options.mode == CastMode::Accurate => {
            Err(unsafe_value(from, to))
        }
        (T::UUID | T::IPv6, T::Bool) => {
            let bytes = array.as_fixed_size_binary();
            let is_true = |row: usize| u8::from(bytes.value(row).iter().any(|byte| *byte != 0));
            Ok(Arc::new(PrimitiveArray::<UInt8Type>::new(
                (0..bytes.len()).map(is_true).collect::<Vec<u8>>().into(),
                None,
            )))
        }
        (T::IPv4, T::Bool) => to_bool(array),
        (T::UUID | T::IPv4 | T::IPv6, _) | (_, T::UUID | T::IPv4 | T::IPv6) => Err(no_conversion(from, to)),
        (_, T::Bool) => to_bool(array),
        (_, T::Time | T::Time64(_)) | (T::Time | T::Time64(_), _) => clock::convert(from, array, to, options),
        (_, T::Date | T::Date32 | T::DateTime(_) | T::DateTime64(..)) => to_time(from, array, to, options),
        (T::DateTime64(digits, _), _) if to.is_number() => ticks_to_number(array, *digits, to, options),
        (T::DateTime64(..), _) => Err(no_conversion(from, to)),
        (_, T::Interval(_)) => numbers(array, to, options, from),
        _ if to.is_number() => numbers(array, to, options, from),
        _ => Err(no_conversion(from, to)),
    }
}

/// Inside arrays, maps and tuples a loss cannot become NULL.
fn strictly(options: &CastOptions) -> CastOptions {
    let mode = if options.mode == CastMode::OrNull { CastMode::Accurate } else { options.mode };
    CastOptions { mode, ..options.clone() }
}

fn to_text(from: &DataType, array: &ArrayRef, options: &CastOptions) -> Result<ArrayRef> {
    // Most texts are made of integers, whose digits take less time than asking for the type in each row.
    macro_rules! integers {
        ($($data_type:ident as $arrow:ty),*) => {
            match from {
                $(DataType::$data_type if array.null_count() == 0 => {
                    let values = array.as_primitive::<$arrow>().values();
                    texts(values.len(), |bytes, row| append_integer(bytes, values[row]))
                })*
                _ => {
                    let column = Column::new(from.clone(), array.clone());
                    let mut writer = ValueWriter::new(&column, TextStyle::Plain, &options.text)?;
                    texts(array.len(), |bytes, row| writer.write(bytes, row))
                }
            }
        };
    }
    integers!(
        UInt8 as UInt8Type,
        UInt16 as UInt16Type,
        UInt32 as UInt32Type,
        UInt64 as UInt64Type,
        Int8 as Int8Type,
        Int16 as Int16Type,
        Int32 as Int32Type,
        Int64 as Int64Type
    )
}

/// Values that are written between two checkpoints.
const TEXTS_AT_ONCE: usize = 1024;

/// Strings of rows, each appended by `write`.
#[inline]
fn texts(rows: usize, mut write: impl FnMut(&mut Vec<u8>, usize)) -> Result<ArrayRef> {
    reserve(rows.saturating_mul(12))?;
    let mut bytes = Vec::with_capacity(rows * 8);
    let mut ends = Vec::with_capacity(rows + 1);
    ends.push(0);
    for row in 0..rows {
        if row % TEXTS_AT_ONCE == 0 {
            checkpoint(16 * TEXTS_AT_ONCE)?;
        }
        if bytes.capacity() - bytes.len() < bytes.len() / 8 {
            let more = bytes.len() / 2;
            checkpoint(more)?;
            grow(&mut bytes, more)?;
        }
        write(&mut bytes, row);
        let end = i32::try_from(bytes.len())
            .map_err(|_| Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of strings in one block"))?;
        ends.push(end);
    }
    Ok(Arc::new(BinaryArray::try_new(OffsetBuffer::new(ends.into()), bytes.into(), None)?))
}

fn to_fixed_string(array: &ArrayRef, width: usize) -> Result<ArrayRef> {
    let rows = array.len();
    let mut bytes = Vec::new();
    grow(&mut bytes, rows.saturating_mul(width))?;
    for row in 0..rows {
        let value = match array.as_binary_opt::<i32>() {
            Some(strings) => strings.value(row),
            None => array.as_fixed_size_binary().value(row),
        };
        let value = if array.is_null(row) { &[] } else { value };
        if value.len() > width {
            return Err(Error::new(
                ErrorCode::TOO_LARGE_STRING_SIZE,
                format!("String too long for type FixedString({width})"),
            ));
        }
        checkpoint(width / 16)?;
        bytes.extend_from_slice(value);
        bytes.resize((row + 1) * width, 0);
    }
    Ok(Arc::new(FixedSizeBinaryArray::try_new(i32::try_from(width).unwrap_or(i32::MAX), bytes.into(), None)?))
}

/// Offsets from 0 and the items that they cover: a sliced list drops what lies outside.
fn list_parts(array: &ArrayRef) -> (OffsetBuffer<i32>, ArrayRef) {
    let list = array.as_list::<i32>();
    let offsets = list.offsets();
    let (first, last) = (offsets.first(), offsets.last());
    if first == 0 && last as usize == list.values().len() {
        return (offsets.clone(), list.values().clone());
    }
    let rebased: Vec<i32> = offsets.iter().map(|offset| offset - first).collect();
    (OffsetBuffer::new(rebased.into()), list.values().slice(first as usize, (last - first) as usize))
}

fn list(offsets: OffsetBuffer<i32>, items: ArrayRef) -> Result<ArrayRef> {
    let field = Arc::new(arrow_schema::Field::new("item", items.data_type().clone(), true));
    Ok(Arc::new(ListArray::try_new(field, offsets, items, None)?))
}

/// `(keys, values)` of arrays as a map; each pair is the type that is there and the type that is wanted.
fn map_of_arrays(
    array: &ArrayRef,
    keys: (&DataType, &Arc<DataType>),
    values: (&DataType, &Arc<DataType>),
    options: &CastOptions,
) -> Result<ArrayRef> {
    let tuple = array.as_struct();
    let part = |at: usize, (from, to): (&DataType, &Arc<DataType>)| -> Result<(OffsetBuffer<i32>, ArrayRef)> {
        let to = DataType::Array(to.clone());
        let Some(column) = tuple.columns().get(at).filter(|_| matches!(from, DataType::Array(_))) else {
            return Err(Error::new(ErrorCode::TYPE_MISMATCH, "CAST AS Map from tuple needs two arrays"));
        };
        Ok(list_parts(&cast_array(from, column, &to, &strictly(options))?))
    };
    let (offsets, keys) = part(0, keys)?;
    let (value_offsets, values) = part(1, values)?;
    if offsets != value_offsets {
        return Err(Error::new(
            ErrorCode::TYPE_MISMATCH,
            "CAST AS Map from tuple: arrays of keys and of values must have equal lengths",
        ));
    }
    let fields = [("keys", &keys), ("values", &values)]
        .into_iter()
        .map(|(name, column)| arrow_schema::Field::new(name, column.data_type().clone(), true))
        .collect();
    list(offsets, Arc::new(StructArray::try_new(fields, vec![keys, values], None)?))
}

/// An array of what `read` gives for each row that is not NULL; `None` is NULL in mode `OrNull`, otherwise `error`.
fn collect_valid<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    options: &CastOptions,
    read: impl Fn(usize) -> Option<T::Native>,
    error: impl Fn(usize) -> Error,
) -> Result<ArrayRef> {
    let mut values = Vec::with_capacity(array.len());
    let mut valid = Vec::new();
    for row in 0..array.len() {
        let value = if array.is_null(row) { Some(T::Native::default()) } else { read(row) };
        if value.is_none() {
            if options.mode != CastMode::OrNull {
                return Err(error(row));
            }
            valid.resize(row, true);
            valid.push(false);
        }
        values.push(value.unwrap_or_default());
    }
    let nulls = (!valid.is_empty()).then(|| {
        valid.resize(array.len(), true);
        NullBuffer::from(valid)
    });
    Ok(Arc::new(PrimitiveArray::<T>::try_new(values.into(), nulls)?))
}

/// A number of any source wide enough to hold it.
#[derive(Clone, Copy)]
enum Wide {
    Integer(i128),
    Float(f64),
}

/// Reads numbers, or days and seconds as numbers, of any primitive array.
fn wide_values(array: &ArrayRef) -> Result<Vec<Wide>> {
    reserve(array.len().saturating_mul(size_of::<Wide>()))?;
    match_primitive!(array.data_type(), T => {
        Ok(array.as_primitive::<T>().values().iter().map(|value| value.into_wide()).collect())
    }, _ => Err(Error::logical("number expected")))
}

trait IntoWide {
    fn into_wide(self) -> Wide;
}

macro_rules! into_wide {
    ($variant:ident, $wide:ty, $($t:ty),*) => {
        $(impl IntoWide for $t {
            fn into_wide(self) -> Wide {
                Wide::$variant(<$wide>::from(self))
            }
        })*
    };
}

into_wide!(Integer, i128, u8, u16, u32, u64, i8, i16, i32, i64);
into_wide!(Float, f64, f32, f64);

/// Conversion of numbers as ClickHouse's machine code does it: integers wrap; floats out of range become what x86 makes of them, so
/// that answers agree.
trait CastNumber<T> {
    fn cast_number(self) -> T;
}

macro_rules! cast_with_as {
    ($($from:ty => [$($to:ty),*]),* $(,)?) => {
        $($(impl CastNumber<$to> for $from {
            #[inline(always)]
            fn cast_number(self) -> $to {
                self as $to
            }
        })*)*
    };
}

cast_with_as!(
    u8 => [u8, u16, u32, u64, i8, i16, i32, i64, f32, f64],
    u16 => [u8, u16, u32, u64, i8, i16, i32, i64, f32, f64],
    u32 => [u8, u16, u32, u64, i8, i16, i32, i64, f32, f64],
    u64 => [u8, u16, u32, u64, i8, i16, i32, i64, f32, f64],
    i8 => [u8, u16, u32, u64, i8, i16, i32, i64, f32, f64],
    i16 => [u8, u16, u32, u64, i8, i16, i32, i64, f32, f64],
    i32 => [u8, u16, u32, u64, i8, i16, i32, i64, f32, f64],
    i64 => [u8, u16, u32, u64, i8, i16, i32, i64, f32, f64],
    f32 => [f32, f64],
    f64 => [f32, f64],
);

#[inline(always)]
fn truncate32(value: f64) -> i32 {
    if value > -2_147_483_649.0 && value < 2_147_483_648.0 { value as i32 } else { i32::MIN }
}

#[inline(always)]
fn truncate64(value: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value) { value as i64 } else { i64::MIN }
}

macro_rules! cast_float {
    ($from:ty: $($to:ty = $through:expr),* $(,)?) => {
        $(impl CastNumber<$to> for $from {
            #[inline(always)]
            fn cast_number(self) -> $to {
                $through(f64::from(self)) as $to
            }
        })*
    };
}

fn truncate_unsigned64(value: f64) -> u64 {
    if value < 9_223_372_036_854_775_808.0 {
        truncate64(value) as u64
    } else if value < 18_446_744_073_709_551_616.0 {
        value as u64
    } else {
        1 << 63
    }
}

cast_float!(f32: u8 = truncate32, u16 = truncate32, u32 = truncate64, u64 = truncate_unsigned64,
    i8 = truncate32, i16 = truncate32, i32 = truncate32, i64 = truncate64);
cast_float!(f64: u8 = truncate32, u16 = truncate32, u32 = truncate64, u64 = truncate_unsigned64,
    i8 = truncate32, i16 = truncate32, i32 = truncate32, i64 = truncate64);

/// Converts a primitive array to the primitive array of `to`.
fn numbers(array: &ArrayRef, to: &DataType, options: &CastOptions, from: &DataType) -> Result<ArrayRef> {
    let to_arrow = to.arrow_type();
    if *array.data_type() == to_arrow {
        return with_validity(array, None);
    }
    let is_number = from.is_number() || *from == DataType::Bool;
    if options.mode != CastMode::Plain && is_number && to.is_number() {
        return exact_numbers(array, to, options, from);
    }
    if from.is_float() && !to.is_float() {
        refuse_not_finite(array)?;
    }
    match_primitive!(array.data_type(), F => {
        let values = array.as_primitive::<F>().values();
        match_primitive!(to_arrow, T => {
            let cast: Vec<<T as ArrowPrimitiveType>::Native> = values.iter().map(|value| value.cast_number()).collect();
            Ok(Arc::new(PrimitiveArray::<T>::new(cast.into(), None)))
        }, _ => Err(no_conversion(from, to)))
    }, _ => Err(no_conversion(from, to)))
}

fn refuse_not_finite(array: &ArrayRef) -> Result<()> {
    let is_finite = match_primitive!(array.data_type(), T => {
        let values = array.as_primitive::<T>();
        match values.nulls() {
            None => values.values().iter().all(|value| f64::from_wide(value.into_wide()).is_finite()),
            Some(_) => values.iter().flatten().all(|value| f64::from_wide(value.into_wide()).is_finite()),
        }
    }, _ => true);
    if is_finite {
        return Ok(());
    }
    Err(Error::new(ErrorCode::CANNOT_CONVERT_TYPE, "Unexpected inf or nan to integer conversion"))
}

trait FromWide {
    fn from_wide(wide: Wide) -> Self;
}

impl FromWide for f64 {
    fn from_wide(wide: Wide) -> Self {
        match wide {
            Wide::Integer(value) => value as Self,
            Wide::Float(value) => value,
        }
    }
}

fn unsafe_value(from: &DataType, to: &DataType) -> Error {
    Error::new(
        ErrorCode::CANNOT_CONVERT_TYPE,
        format!("Value in column {from} cannot be safely converted into type {to}"),
    )
}

/// Numbers without any loss.
fn exact_numbers(array: &ArrayRef, to: &DataType, options: &CastOptions, from: &DataType) -> Result<ArrayRef> {
    let values = wide_values(array)?;
    let error = |_| unsafe_value(from, to);
    // The value as an integer, where it is one.
    let integer = |row: usize| match values.get(row) {
        Some(Wide::Integer(value)) => Some(*value),
        Some(Wide::Float(value)) if value.trunc() == *value && value.abs() < 1e30 => Some(*value as i128),
        _ => None,
    };
    macro_rules! integers {
        ($t:ty) => {
            collect_valid::<$t>(array, options, |row| integer(row).and_then(|value| value.try_into().ok()), error)
        };
    }
    match to.arrow_type() {
        ArrowType::UInt8 => integers!(UInt8Type),
        ArrowType::UInt16 => integers!(UInt16Type),
        ArrowType::UInt32 => integers!(UInt32Type),
        ArrowType::UInt64 => integers!(UInt64Type),
        ArrowType::Int8 => integers!(Int8Type),
        ArrowType::Int16 => integers!(Int16Type),
        ArrowType::Int32 => integers!(Int32Type),
        ArrowType::Int64 => integers!(Int64Type),
        ArrowType::Float32 => collect_valid::<arrow_array::types::Float32Type>(
            array,
            options,
            |row| match values.get(row)? {
                Wide::Integer(value) => Some(*value as f32).filter(|float| *float as i128 == *value),
                Wide::Float(value) => Some(*value as f32).filter(|float| f64::from(*float) == *value || value.is_nan()),
            },
            error,
        ),
        ArrowType::Float64 => collect_valid::<Float64Type>(
            array,
            options,
            |row| match values.get(row)? {
                Wide::Integer(value) => Some(*value as f64).filter(|float| *float as i128 == *value),
                Wide::Float(value) => Some(*value),
            },
            error,
        ),
        _ => Err(no_conversion(from, to)),
    }
}

fn to_bool(array: &ArrayRef) -> Result<ArrayRef> {
    let values: Vec<u8> = match_primitive!(array.data_type(), T => {
        let zero = <T as ArrowPrimitiveType>::Native::default();
        array.as_primitive::<T>().values().iter().map(|value| u8::from(*value != zero)).collect()
    }, _ => return Err(Error::logical("number expected")));
    Ok(Arc::new(PrimitiveArray::<UInt8Type>::new(values.into(), None)))
}

/// Numbers of an enum of another one's numbers (or of plain numbers), by `map`.
fn to_enum(
    array: &ArrayRef,
    to: &DataType,
    names: &EnumValues,
    is_from_enum: bool,
    map: impl Fn(i64) -> Option<i16>,
) -> Result<ArrayRef> {
    let values = wide_values(array)?;
    let is_narrow = matches!(to, DataType::Enum8(_));
    let mut numbers: Vec<i16> = Vec::with_capacity(values.len());
    for (row, value) in values.iter().enumerate() {
        if array.is_null(row) {
            numbers.push(names.iter().next().map_or(0, |(_, number)| number));
            continue;
        }
        let number = match value {
            Wide::Integer(value) => i64::try_from(*value).ok(),
            Wide::Float(value) => Some(truncate64(*value)),
        };
        let in_range = number.filter(|number| {
            if is_narrow && !is_from_enum { i8::try_from(*number).is_ok() } else { i16::try_from(*number).is_ok() }
        });
        let Some(in_range) = in_range else {
            return Err(Error::new(
                ErrorCode::CANNOT_CONVERT_TYPE,
                format!("Unexpected value {} in enum", f64::from_wide(*value)),
            ));
        };
        numbers.push(map(in_range).ok_or_else(|| {
            Error::new(ErrorCode::UNKNOWN_ELEMENT_OF_ENUM, format!("Unexpected value {in_range} in enum"))
        })?);
    }
    Ok(if is_narrow {
        // The numbers of an Enum8 fit.
        Arc::new(numbers.into_iter().map(|number| Some(number as i8)).collect::<PrimitiveArray<Int8Type>>())
    } else {
        Arc::new(PrimitiveArray::<Int16Type>::new(numbers.into(), None))
    })
}

/// Whole seconds, or seconds with a fraction for floats, of a `DateTime64`.
fn ticks_to_number(array: &ArrayRef, digits: u8, to: &DataType, options: &CastOptions) -> Result<ArrayRef> {
    let ticks = array.as_primitive::<Int64Type>();
    let per_second = 10i64.pow(digits.into());
    if to.is_float() {
        let seconds: Vec<f64> = ticks.values().iter().map(|ticks| *ticks as f64 / per_second as f64).collect();
        let seconds: ArrayRef = Arc::new(PrimitiveArray::<Float64Type>::new(seconds.into(), None));
        return numbers(&seconds, to, &CastOptions { mode: CastMode::Plain, ..options.clone() }, &DataType::Float64);
    }
    let seconds: Vec<i64> = ticks.values().iter().map(|ticks| ticks / per_second).collect();
    if let Some((least, most)) = integer_range(to)
        && seconds
            .iter()
            .enumerate()
            .any(|(row, value)| !array.is_null(row) && !(least..=most).contains(&i128::from(*value)))
        && options.mode != CastMode::OrNull
    {
        return Err(Error::new(ErrorCode::DECIMAL_OVERFLOW, "Convert overflow"));
    }
    let seconds: ArrayRef = Arc::new(PrimitiveArray::<Int64Type>::try_new(seconds.into(), array.nulls().cloned())?);
    numbers(&seconds, to, options, &DataType::Int64)
}

/// What a value of a date or time type, or a number on its way to one, says.
enum Times {
    /// Days since 1970-01-01, local.
    Days(Vec<i64>),
    /// Seconds since the epoch.
    Seconds(Vec<i64>),
    /// Ticks of so many digits of a second since the epoch.
    Ticks(Vec<i64>, u8),
    /// Days or seconds, as their size says.
    Numbers(Vec<i64>),
    /// The same as floats, whose fraction counts for `DateTime64`.
    Floats(Vec<f64>),
}

fn read_times(from: &DataType, array: &ArrayRef) -> Result<Times> {
    fn wide<T: ArrowPrimitiveType>(array: &ArrayRef) -> Vec<i64>
    where
        T::Native: Into<i64>,
    {
        array.as_primitive::<T>().values().iter().map(|value| (*value).into()).collect()
    }
    Ok(match from {
        DataType::Date => Times::Days(wide::<UInt16Type>(array)),
        DataType::Date32 => Times::Days(wide::<Int32Type>(array)),
        DataType::DateTime(_) => Times::Seconds(wide::<UInt32Type>(array)),
        DataType::DateTime64(digits, _) => Times::Ticks(wide::<Int64Type>(array), *digits),
        DataType::Float32 | DataType::Float64 => {
            Times::Floats(wide_values(array)?.into_iter().map(f64::from_wide).collect())
        }
        DataType::Bool | DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => {
            let clamp = |wide| match wide {
                Wide::Integer(value) => value.min(i64::MAX.into()) as i64,
                Wide::Float(_) => 0,
            };
            Times::Numbers(wide_values(array)?.into_iter().map(clamp).collect())
        }
        DataType::Int8 => Times::Numbers(wide::<Int8Type>(array)),
        DataType::Int16 => Times::Numbers(wide::<Int16Type>(array)),
        DataType::Int32 => Times::Numbers(wide::<Int32Type>(array)),
        DataType::Int64 => Times::Numbers(wide::<Int64Type>(array)),
        // Enums are numbers for dates and times without a fraction.
        DataType::Enum8(_) => Times::Numbers(wide::<Int8Type>(array)),
        DataType::Enum16(_) => Times::Numbers(wide::<Int16Type>(array)),
        DataType::Interval(_) => Times::Numbers(wide::<Int64Type>(array)),
        other => return Err(Error::logical(format!("{other} is no time"))),
    })
}

fn zone_of(data_type: &DataType, options: &CastOptions) -> Result<ZoneCursor> {
    match data_type {
        DataType::DateTime(Some(name)) | DataType::DateTime64(_, Some(name)) => Ok(TimeZone::named(name)?.cursor()),
        _ => Ok(options.text.time_zone.cursor()),
    }
}

/// The seconds of the first and the last moment of `DateTime64`.
const MOMENTS: std::ops::RangeInclusive<i64> =
    DATE32_MIN as i64 * DAY_SECONDS..=(DATE32_MAX as i64 + 1) * DAY_SECONDS - 1;

fn to_time(from: &DataType, array: &ArrayRef, to: &DataType, options: &CastOptions) -> Result<ArrayRef> {
    let is_enum_or_interval = matches!(from, DataType::Enum8(_) | DataType::Enum16(_) | DataType::Interval(_));
    if matches!(to, DataType::DateTime64(..)) && is_enum_or_interval {
        return Err(no_conversion(from, to));
    }
    let times = read_times(from, array)?;
    let is_plain = options.mode == CastMode::Plain;
    if is_plain && matches!(times, Times::Floats(_)) && *to != DataType::Date32 {
        refuse_not_finite(array).map_err(|error| match to {
            DataType::DateTime64(..) => Error::new(
                ErrorCode::DECIMAL_OVERFLOW,
                "DateTime64 convert overflow. Cannot convert infinity or NaN to decimal",
            ),
            _ => error,
        })?;
    }
    let refused = if is_plain { None } else { out_of_range(&times, to) };
    let Some(refused) = refused else { return times_as(times, from, to, options) };
    if options.mode == CastMode::Accurate {
        let is_refused = |row: usize| array.is_valid(row) && refused.get(row) == Some(&true);
        return if (0..array.len()).any(is_refused) {
            Err(unsafe_value(from, to))
        } else {
            times_as(times, from, to, options)
        };
    }
    let nulls = NullBuffer::from(refused.iter().map(|refused| !refused).collect::<Vec<bool>>());
    with_validity(&times_as(times, from, to, options)?, Some(nulls).filter(|nulls| nulls.null_count() > 0))
}

/// For each row whether its number lies outside the days and seconds of a type; `None` for values that are times already.
fn out_of_range(times: &Times, to: &DataType) -> Option<Vec<bool>> {
    let range = match to {
        DataType::Date | DataType::DateTime(_) => 0..=i64::from(u32::MAX),
        _ => i64::from(DATE32_MIN)..=*MOMENTS.end(),
    };
    match times {
        _ if matches!(to, DataType::DateTime64(..)) => None,
        Times::Numbers(numbers) => Some(numbers.iter().map(|number| !range.contains(number)).collect()),
        Times::Floats(numbers) => {
            Some(numbers.iter().map(|number| number.trunc() != *number || !range.contains(&(*number as i64))).collect())
        }
        Times::Days(_) | Times::Seconds(_) | Times::Ticks(..) => None,
    }
}

fn times_as(times: Times, from: &DataType, to: &DataType, options: &CastOptions) -> Result<ArrayRef> {
    match to {
        DataType::DateTime(_) => {
            let mut zone = zone_of(to, options)?;
            let seconds: Vec<u32> = match times {
                // Calendar types wrap into DateTime as their seconds do; plain numbers are cut to its range.
                Times::Days(days) if options.cuts_dates => {
                    // The last day that DateTime has for its whole length.
                    let last = i64::from(u32::MAX) / DAY_SECONDS - 1;
                    days.iter().map(|days| zone.to_utc(*days.min(&last) * DAY_SECONDS).max(0) as u32).collect()
                }
                Times::Days(days) => days.iter().map(|days| zone.to_utc(days * DAY_SECONDS) as u32).collect(),
                Times::Seconds(seconds) => seconds.iter().map(|seconds| *seconds as u32).collect(),
                Times::Ticks(ticks, digits) => {
                    let per_second = 10i64.pow(digits.into());
                    ticks.iter().map(|ticks| ticks.div_euclid(per_second) as u32).collect()
                }
                Times::Numbers(numbers) => {
                    numbers.iter().map(|number| (*number).clamp(0, u32::MAX.into()) as u32).collect()
                }
                Times::Floats(numbers) => numbers.iter().map(|number| *number as u32).collect(),
            };
            Ok(Arc::new(PrimitiveArray::<UInt32Type>::new(seconds.into(), None)))
        }
        DataType::DateTime64(digits, _) => {
            let mut zone = zone_of(to, options)?;
            let per_second = 10i64.pow((*digits).into());
            let ticks_of = |seconds: i64| seconds.saturating_mul(per_second);
            let (least, most) = (ticks_of(*MOMENTS.start()), ticks_of(*MOMENTS.end()).saturating_add(per_second - 1));
            let ticks: Vec<i64> = match times {
                Times::Days(days) => days.iter().map(|days| ticks_of(zone.to_utc(days * DAY_SECONDS))).collect(),
                Times::Seconds(seconds) => seconds.iter().map(|seconds| ticks_of(*seconds)).collect(),
                Times::Ticks(ticks, found) if found <= *digits => {
                    let factor = 10i64.pow((digits - found).into());
                    ticks.iter().map(|ticks| ticks.saturating_mul(factor)).collect()
                }
                Times::Ticks(ticks, found) => {
                    let divisor = 10i64.pow((found - digits).into());
                    ticks.iter().map(|ticks| ticks / divisor).collect()
                }
                Times::Numbers(numbers) => numbers.iter().map(|number| ticks_of(*number).clamp(least, most)).collect(),
                Times::Floats(numbers) => {
                    // The product is a number of the argument's type.
                    let is_narrow = *from == DataType::Float32;
                    let product = |number: f64| match is_narrow {
                        true => (number as f32 * per_second as f32) as i64,
                        false => (number * per_second as f64) as i64,
                    };
                    numbers.iter().map(|number| product(*number).clamp(least, most)).collect()
                }
            };
            Ok(Arc::new(PrimitiveArray::<Int64Type>::new(ticks.into(), None)))
        }
        _ => {
            // Moments become dates in their own type's zone, numbers in the session's.
            let mut zone = zone_of(from, options)?;
            let mut local_days = |seconds: i64| zone.to_local(seconds).div_euclid(DAY_SECONDS);
            let is_wide = *to == DataType::Date32;
            let mut day_of_number = |number: i64| match (is_wide, number) {
                (false, ..0) => 0,
                (false, 0..=0xFFFF) => number,
                (false, _) => local_days(number.min(u32::MAX.into())),
                (true, _) if number < DATE32_MIN.into() => DATE32_MIN.into(),
                (true, _) if number <= DATE32_MAX.into() => number,
                (true, _) => local_days(number.min(*MOMENTS.end())),
            };
            let days: Vec<i64> = match times {
                Times::Days(days) => days,
                Times::Numbers(numbers) => numbers.iter().map(|number| day_of_number(*number)).collect(),
                Times::Floats(numbers) => numbers
                    .iter()
                    .map(|number| if number.is_nan() { DATE32_MIN.into() } else { day_of_number(*number as i64) })
                    .collect(),
                Times::Seconds(seconds) => seconds.iter().map(|seconds| local_days(*seconds)).collect(),
                Times::Ticks(ticks, digits) => {
                    let per_second = 10i64.pow(digits.into());
                    ticks.iter().map(|ticks| local_days(ticks.div_euclid(per_second))).collect()
                }
            };
            Ok(if is_wide {
                let clamp = |day: i64| day.clamp(DATE32_MIN.into(), DATE32_MAX.into()) as i32;
                Arc::new(PrimitiveArray::<Int32Type>::new(
                    days.into_iter().map(clamp).collect::<Vec<i32>>().into(),
                    None,
                ))
            } else {
                Arc::new(PrimitiveArray::<UInt16Type>::new(
                    days.into_iter().map(|day| day as u16).collect::<Vec<u16>>().into(),
                    None,
                ))
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_texts(name: &str, texts: &[&str]) -> Column {
        let mut reader = ValueReader::new(&DataType::parse(name).unwrap(), &TextOptions::default()).unwrap();
        texts.iter().for_each(|text| reader.read_whole(text.as_bytes()).unwrap());
        reader.finish().unwrap()
    }

    fn texts(column: &Column) -> Vec<String> {
        let mut writer = ValueWriter::new(column, TextStyle::Quoted, &TextOptions::default()).unwrap();
        (0..column.rows())
            .map(|row| {
                let mut out = Vec::new();
                writer.write(&mut out, row);
                String::from_utf8(out).unwrap()
            })
            .collect()
    }

    fn converted(from: &str, values: &[&str], to: &str, mode: CastMode) -> Result<Vec<String>> {
        let options = CastOptions::new(mode, TimeZone::utc());
        let column = from_texts(from, values);
        let plain = cast(&column, &DataType::parse(to)?, &options)?;
        let constant = cast(&Column::repeat(&column.slice(0, 1), 2), &DataType::parse(to)?, &options)?;
        assert!(constant.is_constant() && constant.rows() == 2);
        assert_eq!(texts(&constant)[1], texts(&plain)[0]);
        Ok(texts(&plain))
    }

    #[test]
    fn modes_differ_on_what_does_not_fit() {
        let plain = |from, value, to| converted(from, &[value], to, CastMode::Plain).map(|mut texts| texts.remove(0));
        let accurate =
            |from, value, to| converted(from, &[value], to, CastMode::Accurate).map(|mut texts| texts.remove(0));
        let or_null =
            |from, value, to| converted(from, &[value], to, CastMode::OrNull).map(|mut texts| texts.remove(0));
        assert_eq!(plain("UInt16", "300", "UInt8").unwrap(), "44");
        assert_eq!(plain("String", "300", "UInt8").unwrap(), "44");
        assert_eq!(plain("Float64", "3e9", "Int32").unwrap(), "-2147483648");
        assert_eq!(plain("Float64", "nan", "Int32").unwrap_err().code, ErrorCode::CANNOT_CONVERT_TYPE);
        assert_eq!(accurate("UInt16", "300", "UInt8").unwrap_err().code, ErrorCode::CANNOT_CONVERT_TYPE);
        assert_eq!(accurate("String", "300", "UInt8").unwrap_err().code, ErrorCode::CANNOT_PARSE_TEXT);
        assert_eq!(or_null("UInt16", "300", "UInt8").unwrap(), "NULL");
        assert_eq!(or_null("Float64", "2", "UInt8").unwrap(), "2");
        assert_eq!(or_null("String", "abc", "UInt8").unwrap(), "NULL");
        assert_eq!(or_null("String", "12", "Nullable(UInt8)").unwrap(), "12");
    }

    #[test]
    fn nulls_and_dictionaries() {
        let mut reader =
            ValueReader::new(&DataType::parse("Nullable(String)").unwrap(), &TextOptions::default()).unwrap();
        reader.read_whole(b"7").unwrap();
        reader.append_default();
        let column = reader.finish().unwrap();
        let options = CastOptions::default();
        let to = |name: &str| cast(&column, &DataType::parse(name).unwrap(), &options);
        assert_eq!(texts(&to("Nullable(UInt8)").unwrap()), ["7", "NULL"]);
        assert_eq!(texts(&to("LowCardinality(Nullable(String))").unwrap()), ["'7'", "NULL"]);
        assert_eq!(to("UInt8").unwrap_err().code, ErrorCode::CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN);
        let low = to("LowCardinality(Nullable(String))").unwrap();
        assert_eq!(texts(&cast(&low, &DataType::parse("Nullable(Int8)").unwrap(), &options).unwrap()), ["7", "NULL"]);
    }

    #[test]
    fn nested_types_convert_inside() {
        let plain = |from, value, to| converted(from, &[value], to, CastMode::Plain).map(|mut texts| texts.remove(0));
        assert_eq!(plain("Array(UInt8)", "[1,2]", "Array(String)").unwrap(), "['1','2']");
        assert_eq!(plain("Tuple(a UInt8, b String)", "(1,'2')", "Tuple(b String, a UInt8)").unwrap(), "('2',1)");
        assert_eq!(plain("Array(Tuple(String, UInt8))", "[('k',1)]", "Map(String, UInt16)").unwrap(), "{'k':1}");
        assert_eq!(
            plain("Tuple(Array(String), Array(UInt8))", "(['k'],[1])", "Map(String, UInt16)").unwrap(),
            "{'k':1}"
        );
        assert_eq!(plain("Map(String, UInt8)", "{'k':1}", "Array(Tuple(String, UInt16))").unwrap(), "[('k',1)]");
        assert_eq!(plain("UInt8", "1", "Array(UInt8)").unwrap_err().code, ErrorCode::TYPE_MISMATCH);
        let sliced = from_texts("Array(UInt8)", &["[1]", "[2,3]", "[4]"]).slice(1, 1);
        let cast = cast(&sliced, &DataType::parse("Array(Int16)").unwrap(), &CastOptions::default()).unwrap();
        assert_eq!(texts(&cast), ["[2,3]"]);
    }

    #[test]
    fn literals_convert_exactly() {
        let convert = |value: Value, to: &str| convert_value(&value, &DataType::parse(to).unwrap());
        assert_eq!(convert(Value::UInt64(7), "Int8").unwrap(), Value::Int64(7));
        assert_eq!(convert(Value::UInt64(300), "UInt8").unwrap_err().code, ErrorCode::CANNOT_CONVERT_TYPE);
        assert_eq!(convert(Value::from("2020-01-01"), "Date").unwrap(), Value::UInt64(18_262));
        assert_eq!(convert(Value::Null, "Nullable(UInt8)").unwrap(), Value::Null);
        assert_eq!(convert(Value::Null, "UInt8").unwrap_err().code, ErrorCode::CANNOT_CONVERT_TYPE);
        let mixed = Value::Array([Value::UInt64(1), Value::Int64(-1)].into());
        assert_eq!(convert(mixed, "Array(Int16)").unwrap(), Value::Array([Value::Int64(1), Value::Int64(-1)].into()));
        assert_eq!(convert(Value::Float64(0.1), "Float32").unwrap(), Value::Float64(f64::from(0.1f32)));
    }
}
