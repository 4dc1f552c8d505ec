//! Conversion of columns and values from one type to another: `CAST`, `toX`, `accurateCast`, inserts, and literals beside columns.
//! Numbers wrap, texts are read by [`text`](crate::text), times know their zones; what has no conversion is an error with
//! ClickHouse's code. Which of two types a comparison or an array takes is `supertype`'s business.

mod address;
mod alternatives;
mod clock;
mod decimal;
pub(crate) mod nested;
mod number;
mod text;
mod time;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type};
use arrow_array::{Array, ArrayRef, BinaryArray, DictionaryArray, new_null_array};
use arrow_buffer::NullBuffer;

pub(crate) use self::number::integer_range;
use self::number::{numbers, refuse_not_finite, to_bool, to_enum, unsafe_value};
pub use self::text::uuid_memory;
use self::text::{from_text, to_fixed_string, to_text, without_padding};
use self::time::{ticks_to_number, to_time, zone_of};
use crate::calendar::TimeZone;
use crate::column::Column;
use crate::data_type::{DataType, EnumValues, IntervalKind};
use crate::error::{Error, ErrorCode, Result};
use crate::text::TextOptions;
use crate::value::Value;
use crate::wrappers::{denulled, encode_dictionary, with_validity};
use crate::{checkpoint, kernels, reserve};

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
    /// Whether a text becomes the alternative of a `Variant` that reads it (`cast_string_to_variant_use_inference`).
    pub infers_variant: bool,
    /// Whether a text becomes a `Dynamic` of the type that it suggests (`cast_string_to_dynamic_use_inference`).
    pub infers_dynamic: bool,
    /// Whether a `FixedString` keeps as a `String` the zeros that fill it up.
    pub keeps_padding: bool,
}

impl CastOptions {
    /// A mode in a session's time zone.
    pub fn new(mode: CastMode, time_zone: TimeZone) -> Self {
        Self {
            mode,
            text: TextOptions::in_zone(time_zone),
            cuts_dates: false,
            infers_variant: true,
            infers_dynamic: false,
            keeps_padding: false,
        }
    }

    /// Values of several types to their [`least_supertype`](crate::least_supertype).
    pub fn to_common(time_zone: TimeZone) -> Self {
        Self { cuts_dates: true, infers_variant: false, ..Self::new(CastMode::Plain, time_zone) }
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

/// Refuses enums in which a name has two numbers, as far as ClickHouse finds such names: it goes through both lists, which are in the order
/// of their numbers, as if they were in that of their names.
fn check_numbers(from: &EnumValues, to: &EnumValues) -> Result<()> {
    let (mut from, mut to) = (from.iter().peekable(), to.iter().peekable());
    while let (Some((old, before)), Some((new, number))) = (from.peek(), to.peek()) {
        match old.cmp(new) {
            std::cmp::Ordering::Less => drop(from.next()),
            std::cmp::Ordering::Greater => drop(to.next()),
            std::cmp::Ordering::Equal if before != number => {
                let message = format!("Enum conversion changes value for element '{new}' from {before} to {number}");
                return Err(Error::new(ErrorCode::CANNOT_CONVERT_TYPE, message));
            }
            std::cmp::Ordering::Equal => drop((from.next(), to.next())),
        }
    }
    Ok(())
}

/// The error for a pair of types without a conversion.
fn no_conversion(from: &DataType, to: &DataType) -> Error {
    let is_nested = matches!(from, DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..));
    let code = match to {
        DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..) => ErrorCode::TYPE_MISMATCH,
        DataType::Enum8(_) | DataType::Enum16(_) | DataType::DateTime64(..) | DataType::Time | DataType::Time64(_) => {
            ErrorCode::CANNOT_CONVERT_TYPE
        }
        DataType::AggregateFunction(_) | DataType::Nothing => ErrorCode::CANNOT_CONVERT_TYPE,
        DataType::FixedString(_) => ErrorCode::NOT_IMPLEMENTED,
        DataType::Interval(_) if matches!(from, DataType::DateTime64(..)) => ErrorCode::CANNOT_CONVERT_TYPE,
        DataType::Decimal(..) if matches!(from, DataType::Interval(_)) => ErrorCode::CANNOT_CONVERT_TYPE,
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
    if let Some(cast) = cast_names(from, array, to, options) {
        return cast;
    }
    if let DataType::LowCardinality(entry_type) = from {
        return cast_dictionary(entry_type, array, to, options);
    }
    if let DataType::LowCardinality(entry_type) = to {
        return encode_dictionary(&cast_array(from, array, entry_type, options)?);
    }
    let inner_from = from.remove_nullable();
    let inner_to = to.remove_nullable();
    // Under a NULL tuple an element may look like NULL though its type knows none.
    let own;
    let array = match array.nulls() {
        Some(_) if !from.is_nullable() && inner_from != DataType::Nothing => {
            own = denulled(from, array)?;
            &own
        }
        _ => array,
    };
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
        // Elements of a NULL tuple are values all the same.
        return match inner_to {
            DataType::Tuple(_) => Column::default_values(to.clone(), array.len())?.to_array(),
            _ => Ok(new_null_array(&to.arrow_type(), array.len())),
        };
    }
    if inner_to == DataType::Nothing {
        return match options.mode {
            CastMode::OrNull => Ok(new_null_array(&to.arrow_type(), array.len())),
            _ => Err(no_conversion(&inner_from, &inner_to)),
        };
    }
    let result = if inner_from == inner_to {
        array.clone()
    } else if inner_from.is_string_or_fixed_string() && !inner_to.is_string_or_fixed_string() {
        return from_text(&inner_from, array, to, options);
    } else if array.nulls().is_some() && matches!(inner_from, DataType::Tuple(_)) {
        convert(&inner_from, &denulled(&inner_from, array)?, &inner_to, options)?
    } else {
        convert(&inner_from, array, &inner_to, options)?
    };
    if !to.is_nullable() {
        return Ok(result);
    }
    let nulls = NullBuffer::union(array.nulls(), result.nulls());
    with_validity(&result, nulls.filter(|nulls| nulls.null_count() > 0))
}

/// The cast where one of the types is another under a name, or one of alternatives; none for other types.
fn cast_names(from: &DataType, array: &ArrayRef, to: &DataType, options: &CastOptions) -> Option<Result<ArrayRef>> {
    if from.simple_aggregate().or_else(|| to.simple_aggregate()).is_some() {
        return Some(cast_array(&from.without_names(), array, &to.without_names(), options));
    }
    if let Some(plain) = nullable_without_name(to) {
        return Some(cast_array(from, array, &plain, options));
    }
    if let DataType::Named(named) = to {
        // The name of `from` stays: a geometry keeps which shape each of its values is.
        return Some(cast_array(from, array, named.values(), options));
    }
    if alternatives::concerns(from, to) {
        return Some(alternatives::convert(from, array, to, options));
    }
    if let DataType::Named(named) = from {
        return Some(cast_array(named.values(), array, to, options));
    }
    nullable_without_name(from).map(|plain| cast_array(&plain, array, to, options))
}

/// Converts values of a dictionary: entry by entry, unless an entry that perhaps no row uses is refused.
fn cast_dictionary(entry_type: &DataType, array: &ArrayRef, to: &DataType, options: &CastOptions) -> Result<ArrayRef> {
    let dictionary = array.as_dictionary::<UInt32Type>();
    if let DataType::LowCardinality(to_entry) = to
        && (to_entry.is_nullable() || !entry_type.is_nullable())
        && let Ok(values) =
            cast_array(&entry_type.remove_nullable(), dictionary.values(), &to_entry.remove_nullable(), options)
        && values.null_count() == 0
    {
        return Ok(Arc::new(DictionaryArray::try_new(dictionary.keys().clone(), values)?));
    }
    let expanded = kernels::take(&**dictionary.values(), dictionary.keys())?;
    cast_array(entry_type, &expanded, to, options)
}

/// `Nullable` of what a name stands around; `None` for other types.
fn nullable_without_name(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Nullable(inner) => match &**inner {
            DataType::Named(named) => Some(DataType::Nullable(Arc::new(named.values().clone()))),
            _ => None,
        },
        _ => None,
    }
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
        (T::BFloat16, _) => convert(&T::Float32, array, to, options),
        (_, T::BFloat16) => number::to_bfloat16(from, &convert(from, array, &T::Float32, options)?, options),
        (T::Array(_) | T::Map(..) | T::Tuple(_), T::Array(_) | T::Map(..) | T::Tuple(_)) => {
            nested::convert(from, array, to, options)
        }
        (T::String, T::AggregateFunction(_)) => Ok(array.clone()),
        (T::AggregateFunction(of), T::AggregateFunction(to_of)) if to_of.has_states_of(of) => Ok(array.clone()),
        (T::AggregateFunction(_), T::AggregateFunction(_)) => Err(no_conversion(from, to)),
        (T::Array(_) | T::Tuple(_) | T::Map(..), _) | (_, T::Array(_) | T::Tuple(_) | T::Map(..)) => {
            Err(no_conversion(from, to))
        }
        (T::Time64(digits), T::Decimal(..)) => decimal::convert(&T::Decimal(18, *digits), array, to, options),
        (T::Time, T::Decimal(..)) | (T::Decimal(..), T::Time) => {
            Err(Error::new(ErrorCode::ILLEGAL_COLUMN, format!("Illegal column {from} of {to}")))
        }
        (T::Interval(_), T::Decimal(..)) => Err(no_conversion(from, to)),
        _ if decimal::concerns(from, to) => decimal::convert(from, array, to, options),
        (T::Enum8(names) | T::Enum16(names), T::Enum8(to_names) | T::Enum16(to_names)) => {
            check_numbers(names, to_names)?;
            // A number stays, and has whatever name it has there.
            to_enum(array, to, to_names, true, |number| {
                i16::try_from(number).ok().filter(|number| to_names.name(*number).is_some())
            })
        }
        (_, T::Enum8(names) | T::Enum16(names)) if from.is_number() || *from == T::Bool => {
            to_enum(array, to, names, false, |number| {
                i16::try_from(number).ok().filter(|number| names.name(*number).is_some())
            })
        }
        (T::IPv4, T::IPv6) => address::to_ipv6(array),
        (T::IPv6, T::IPv4) => address::to_ipv4(array, options),
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
        (T::UUID | T::IPv6, T::Bool) => Ok(address::to_bool(array)),
        (T::IPv4, T::Bool) => to_bool(array),
        (T::UUID | T::IPv4 | T::IPv6, _) | (_, T::UUID | T::IPv4 | T::IPv6) => Err(no_conversion(from, to)),
        (_, T::Bool) => to_bool(array),
        (_, T::Time | T::Time64(_)) | (T::Time | T::Time64(_), _) => clock::convert(from, array, to, options),
        (_, T::Date | T::Date32 | T::DateTime(_) | T::DateTime64(..)) => to_time(from, array, to, options),
        (T::DateTime64(digits, _), _) if to.is_number() => ticks_to_number(array, *digits, to, options),
        (T::DateTime64(..), _) => Err(no_conversion(from, to)),
        (T::Interval(unit), T::Interval(to_unit)) if unit != to_unit => Ok(intervals(array, *unit, *to_unit)),
        (_, T::Interval(_)) => numbers(array, to, options, from),
        _ if to.is_number() => numbers(array, to, options, from),
        _ => Err(no_conversion(from, to)),
    }
}

/// Intervals in another unit, rounded towards zero.
fn intervals(array: &ArrayRef, unit: IntervalKind, to: IntervalKind) -> ArrayRef {
    let (size, to_size) = (unit.nanoseconds(), to.nanoseconds());
    let values = array.as_primitive::<Int64Type>();
    Arc::new(match size.checked_div(to_size) {
        Some(factor) if factor > 0 => values.unary::<_, Int64Type>(|value| value.wrapping_mul(factor)),
        _ => values.unary::<_, Int64Type>(|value| value / (to_size / size)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{TextStyle, ValueReader, ValueWriter};

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
