//! Conversion functions: `toX` with its `OrZero`, `OrNull` and `OrDefault`, `CAST` and its accurate relatives, and
//! `reinterpretAsX`. What converts to what, and how, is `squall_types::cast`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BinaryArray, FixedSizeBinaryArray, PrimitiveArray};
use arrow_buffer::NullBuffer;
use squall_types::calendar::TimeZone;
use squall_types::cast::{CastMode, CastOptions, cast, uuid_memory};
use squall_types::text::{MomentForm, TextOptions, basic_date_time, basic_date_time64};
use squall_types::{Column, DataType, Error, ErrorCode, IntervalKind, Result, Value, default_value};

use super::array::{Lists, list_column};
use super::conditional::select;
use super::date_time::{by_zone, has_zones};
use super::simple::{Call, Function, Strings, argument, string_column};
use crate::function::{BoundFunction, ScalarFunction};

type Bound = Result<Arc<dyn BoundFunction>>;

macro_rules! conversions {
    ($($name:literal => $data_type:expr),* $(,)?) => {
        &[
            $(&Function::new(concat!("to", $name), |call| convert(call, $data_type)).with_null_values(),
            &Function::new(concat!("to", $name, "OrZero"), |call| parse(call, $data_type, Failed::Zero)).never_throws(),
            &Function::new(concat!("to", $name, "OrNull"), |call| parse(call, $data_type, Failed::Null)).never_throws(),
            &Function::new(concat!("to", $name, "OrDefault"), |call| or_default(call, $data_type)).with_nulls(),)*
        ]
    };
}

/// `toX`, `toXOrZero`, `toXOrNull` and `toXOrDefault` of types without arguments of their own.
pub(crate) const CONVERSIONS: &[&dyn ScalarFunction] = conversions!(
    "UInt8" => DataType::UInt8,
    "UInt16" => DataType::UInt16,
    "UInt32" => DataType::UInt32,
    "UInt64" => DataType::UInt64,
    "Int8" => DataType::Int8,
    "Int16" => DataType::Int16,
    "Int32" => DataType::Int32,
    "Int64" => DataType::Int64,
    "UInt128" => DataType::UInt128,
    "UInt256" => DataType::UInt256,
    "Int128" => DataType::Int128,
    "Int256" => DataType::Int256,
    "BFloat16" => DataType::BFloat16,
    "Float32" => DataType::Float32,
    "Float64" => DataType::Float64,
    "UUID" => DataType::UUID,
    "IPv4" => DataType::IPv4,
    "IPv6" => DataType::IPv6,
    "Date" => DataType::Date,
    "Date32" => DataType::Date32,
    "Time" => DataType::Time,
);

macro_rules! intervals {
    ($($kind:ident),*) => {
        &[$(&Function::new(concat!("toInterval", stringify!($kind)), |call| convert(call, DataType::Interval(IntervalKind::$kind))).with_nulls()),*]
    };
}

/// `toIntervalX`.
pub(crate) const INTERVALS: &[&dyn ScalarFunction] =
    intervals!(Nanosecond, Microsecond, Millisecond, Second, Minute, Hour, Day, Week, Month, Quarter, Year);

macro_rules! reinterpretations {
    ($($name:literal => $data_type:expr),* $(,)?) => {
        &[$(&Function::new(concat!("reinterpretAs", $name), |call| reinterpret_as(call, $data_type)).with_halves()),*]
    };
}

/// `reinterpretAsX`.
pub(crate) const REINTERPRETATIONS: &[&dyn ScalarFunction] = reinterpretations!(
    "UInt8" => DataType::UInt8,
    "UInt16" => DataType::UInt16,
    "UInt32" => DataType::UInt32,
    "UInt64" => DataType::UInt64,
    "Int8" => DataType::Int8,
    "Int16" => DataType::Int16,
    "Int32" => DataType::Int32,
    "Int64" => DataType::Int64,
    "UInt128" => DataType::UInt128,
    "UInt256" => DataType::UInt256,
    "Int128" => DataType::Int128,
    "Int256" => DataType::Int256,
    "Float32" => DataType::Float32,
    "Float64" => DataType::Float64,
    "UUID" => DataType::UUID,
    "Date" => DataType::Date,
    "DateTime" => DataType::DateTime(None),
    "String" => DataType::String,
);

/// The rest of this family.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("toDateTime", to_date_time).with_null_values(),
    &Function::new("toDateTime32", to_date_time).with_null_values(),
    &Function::new("toDateTimeOrZero", |call| parse(call, zoned(call, 1)?, Failed::Zero)).never_throws(),
    &Function::new("toDateTimeOrNull", |call| parse(call, zoned(call, 1)?, Failed::Null)).never_throws(),
    &Function::new("toDateTimeOrDefault", |call| or_default(call, zoned(call, 1)?)).with_nulls(),
    &Function::new("toDateTime64", |call| convert_to(call, scaled(call)?)).with_null_values(),
    &Function::new("toDateTime64OrZero", |call| parse(call, scaled_or_milliseconds(call)?, Failed::Zero))
        .never_throws(),
    &Function::new("toDateTime64OrNull", |call| parse(call, scaled_or_milliseconds(call)?, Failed::Null))
        .never_throws(),
    &Function::new("toDateTime64OrDefault", |call| or_default(call, scaled_or_milliseconds(call)?)).with_nulls(),
    &Function::new("toDecimal32", |call| convert_to(call, decimal(call, 9)?)).with_null_values(),
    &Function::new("toDecimal64", |call| convert_to(call, decimal(call, 18)?)).with_null_values(),
    &Function::new("toDecimal128", |call| convert_to(call, decimal(call, 38)?)).with_null_values(),
    &Function::new("toDecimal256", |call| convert_to(call, decimal(call, 76)?)).with_null_values(),
    &Function::new("toDecimal32OrZero", |call| parse(call, decimal(call, 9)?, Failed::Zero)).never_throws(),
    &Function::new("toDecimal64OrZero", |call| parse(call, decimal(call, 18)?, Failed::Zero)).never_throws(),
    &Function::new("toDecimal128OrZero", |call| parse(call, decimal(call, 38)?, Failed::Zero)).never_throws(),
    &Function::new("toDecimal256OrZero", |call| parse(call, decimal(call, 76)?, Failed::Zero)).never_throws(),
    &Function::new("toDecimal32OrNull", |call| parse(call, decimal(call, 9)?, Failed::Null)).never_throws(),
    &Function::new("toDecimal64OrNull", |call| parse(call, decimal(call, 18)?, Failed::Null)).never_throws(),
    &Function::new("toDecimal128OrNull", |call| parse(call, decimal(call, 38)?, Failed::Null)).never_throws(),
    &Function::new("toDecimal256OrNull", |call| parse(call, decimal(call, 76)?, Failed::Null)).never_throws(),
    &Function::new("toDecimal32OrDefault", |call| or_default(call, decimal(call, 9)?)).with_nulls(),
    &Function::new("toDecimal64OrDefault", |call| or_default(call, decimal(call, 18)?)).with_nulls(),
    &Function::new("toDecimal128OrDefault", |call| or_default(call, decimal(call, 38)?)).with_nulls(),
    &Function::new("toDecimal256OrDefault", |call| or_default(call, decimal(call, 76)?)).with_nulls(),
    &Function::new("toTime64", |call| convert_to(call, time64(call)?)).with_null_values(),
    &Function::new("toTime64OrZero", |call| parse(call, time64(call)?, Failed::Zero)).never_throws(),
    &Function::new("toTime64OrNull", |call| parse(call, time64(call)?, Failed::Null)).never_throws(),
    &Function::new("toTime64OrDefault", |call| or_default(call, time64(call)?)).with_nulls(),
    &Function::new("toBool", |call| convert(call, DataType::Bool)).with_nulls(),
    &Function::new("toString", to_string).never_throws().of_any_type(),
    &Function::new("toFixedString", to_fixed_string),
    &Function::new("CAST", |call| cast_as(call, CastMode::Plain)).with_nulls().with_dictionaries().of_any_type(),
    &Function::new("_CAST", |call| cast_as(call, CastMode::Plain)).with_nulls().with_dictionaries().of_any_type(),
    &Function::new("accurateCast", |call| cast_as(call, CastMode::Accurate))
        .with_nulls()
        .with_dictionaries()
        .of_any_type(),
    &Function::new("accurateCastOrNull", |call| cast_as(call, CastMode::OrNull))
        .with_nulls()
        .with_dictionaries()
        .never_throws()
        .of_any_type(),
    &Function::new("accurateCastOrDefault", accurate_cast_or_default).with_nulls().with_dictionaries().of_any_type(),
    &Function::new("reinterpret", reinterpret_to).with_halves(),
    &Function::new("reinterpretAsFixedString", reinterpret_as_fixed_string).with_halves(),
    &Function::new("toLowCardinality", to_low_cardinality)
        .with_nulls()
        .with_dictionaries()
        .never_throws()
        .of_any_type(),
    &Function::new("toTypeName", to_type_name).with_nulls().with_dictionaries().never_throws().of_types().of_any_type(),
    &Function::new("materialize", materialize)
        .with_nulls()
        .with_dictionaries()
        .with_constants()
        .never_throws()
        .not_folded()
        .of_any_type(),
    &Function::new("identity", identity).with_nulls().with_dictionaries().never_throws().of_any_type(),
    &Function::new("ignore", ignore).with_nulls().with_dictionaries().never_throws().of_any_type(),
    &Function::new("defaultValueOfArgumentType", default_of_argument).with_nulls().with_dictionaries().of_any_type(),
    &Function::new("defaultValueOfTypeName", default_of_type_name),
];

fn options(call: &Call<'_>, mode: CastMode) -> Result<CastOptions> {
    let settings = &call.context.settings;
    let moment_form = MomentForm::of_setting(&settings.cast_string_to_date_time_mode);
    let mut text = TextOptions { moment_form, ..TextOptions::of(settings, call.session_zone()?) };
    if call.arguments.first().is_some_and(|first| !is_nested(first.data_type.inner())) {
        // A number keeps its own text, whatever formats make of numbers; one inside another value is as they have it.
        text = TextOptions {
            date_time64_without_zeros: text.date_time64_without_zeros,
            nulls_are_defaults: text.nulls_are_defaults,
            moment_form,
            ..TextOptions::in_zone(text.time_zone)
        };
    }
    Ok(CastOptions { text, ..CastOptions::new(mode, call.session_zone()?) })
}

/// Whether values of a type hold other values.
fn is_nested(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Array(_) | DataType::Map(..) | DataType::Tuple(_))
}

/// A text as an address where the settings say that one that cannot be read is the default, or NULL where the type has it.
fn address_or_default(call: &Call<'_>, to: &DataType) -> Option<Bound> {
    let settings = &call.context.settings;
    let is_cast = call.name == "CAST" || call.name == "_CAST";
    let is_wanted = settings.cast_ipv4_ipv6_default_on_conversion_error
        || match to.inner() {
            DataType::IPv4 => is_cast && settings.input_format_ipv4_default_on_conversion_error,
            DataType::IPv6 => is_cast && settings.input_format_ipv6_default_on_conversion_error,
            _ => false,
        };
    let is_address = matches!(to.inner(), DataType::IPv4 | DataType::IPv6);
    if !is_wanted || !is_address || !call.type_of(0).inner().is_string_or_fixed_string() {
        return None;
    }
    let bind = || {
        let options = options(call, CastMode::OrNull)?;
        let to = to.clone();
        call.bind(to.clone(), move |arguments, rows| {
            let read = cast(argument(arguments, 0)?, &to, &options)?;
            if to.is_nullable() { Ok(read) } else { or_value(&read, &default_value(&to), rows) }
        })
    };
    Some(bind())
}

/// `toX(value)` or, for dates, `toX(value, zone)`.
fn convert(call: &Call<'_>, to: DataType) -> Bound {
    call.arguments(1..=2)?;
    if *call.type_of(0) == DataType::Nothing {
        return identity_of_first(call);
    }
    if call.arguments.len() == 2 {
        if !matches!(to, DataType::Date | DataType::Date32) {
            call.arguments(1..=1)?;
        }
        return convert_in_zone(call, to);
    }
    convert_to(call, to)
}

/// NULL stays NULL, and a text that cannot be read beside NULLs becomes one.
fn convert_to(call: &Call<'_>, to: DataType) -> Bound {
    if call.type_of(0).inner() == &DataType::Nothing {
        return identity_of_first(call);
    }
    let to = if call.type_of(0).is_nullable() { to.to_nullable() } else { to };
    check_conversion(call, &to, CastMode::Plain)?;
    if let Some(bound) = address_or_default(call, &to) {
        return bound;
    }
    let options = options(call, CastMode::Plain)?;
    described(call, &to).bind(to.clone(), move |arguments, _| cast(argument(arguments, 0)?, &to, &options))
}

/// The call with what its conversion is for these types: whether it has a value for every value, and where it keeps the order.
fn described<'a>(call: &Call<'a>, to: &DataType) -> Call<'a> {
    let from = call.type_of(0);
    let mut call = *call;
    if (to.is_nullable() || !from.is_nullable()) && has_all_values(from.inner(), to.inner()) {
        call = call.never_throws();
    }
    call.monotonic(grows_within(from.inner(), to.inner()))
}

/// Whether no value of a type is refused as one of another. What does not fit wraps or is cut.
fn has_all_values(from: &DataType, to: &DataType) -> bool {
    let is_whole = |data_type: &DataType| data_type.is_integer() || *data_type == DataType::Bool;
    match (from, to) {
        (_, DataType::String) => true,
        (from, to) if is_whole(from) || from.is_float() && to.is_float() => to.is_number() || is_whole(to),
        (DataType::Date | DataType::Date32 | DataType::DateTime(_), to) => {
            to.is_integer() || matches!(to, DataType::Date | DataType::Date32 | DataType::DateTime(_))
        }
        _ => false,
    }
}

/// The values of a date or a time between which a conversion to another one keeps the order; beyond, it may wrap.
fn grows_within(from: &DataType, to: &DataType) -> Option<(i64, i64)> {
    const EVERYWHERE: (i64, i64) = (i64::MIN, i64::MAX);
    // Days that DateTime has in every time zone.
    const DAYS: (i64, i64) = (1, 49_708);
    let ticks = |seconds: i64, digits: u8| (0, seconds * 10_i64.pow(digits.into()));
    match (from, to) {
        (DataType::Date | DataType::DateTime(_), DataType::Date)
        | (DataType::Date | DataType::Date32 | DataType::DateTime(_) | DataType::DateTime64(..), DataType::Date32)
        | (DataType::DateTime(_), DataType::DateTime(_)) => Some(EVERYWHERE),
        (DataType::Date32, DataType::Date) => Some((0, u16::MAX.into())),
        (DataType::Date | DataType::Date32, DataType::DateTime(_)) => Some(DAYS),
        (DataType::DateTime64(digits, _), DataType::Date | DataType::DateTime(_)) if *digits <= 9 => {
            Some(ticks(u32::MAX.into(), *digits))
        }
        (from, to) if (from.is_integer() || *from == DataType::Bool || from.is_decimal()) && to.is_float() => {
            Some(EVERYWHERE)
        }
        (from, to) if from.is_float() && to.is_float() => Some(EVERYWHERE),
        (DataType::Bool | DataType::Date | DataType::DateTime(_), to) if to.is_integer() => {
            let bytes = from.fixed_width_bytes()?;
            let is_wider =
                to.fixed_width_bytes().is_some_and(|own| own > bytes || own == bytes && !to.is_signed_integer());
            is_wider.then_some(EVERYWHERE)
        }
        (from, to) if from.is_integer() && to.is_integer() => {
            // Signed ones of 64 bits have no greater ones, and others are wrapped at the ends of the narrower type.
            let (first, last) = (integer_end(to, false)?, integer_end(to, true)?);
            let (own_first, own_last) = (integer_end(from, false)?, integer_end(from, true)?);
            let first = if own_first >= first { i64::MIN } else { i64::try_from(first).ok()?.max(i64::MIN + 1) };
            let last =
                if own_last <= last { i64::MAX } else { i64::try_from(last).unwrap_or(i64::MAX).min(i64::MAX - 1) };
            Some((first, last))
        }
        _ => None,
    }
}

/// The least or the greatest value of an integer of up to 64 bits.
fn integer_end(data_type: &DataType, is_greatest: bool) -> Option<i128> {
    let bits = 8 * u32::try_from(data_type.fixed_width_bytes().filter(|bytes| *bytes <= 8)?).ok()?;
    Some(match (data_type.is_signed_integer(), is_greatest) {
        (true, false) => -(1_i128 << (bits - 1)),
        (true, true) => (1_i128 << (bits - 1)) - 1,
        (false, false) => 0,
        (false, true) => (1_i128 << bits) - 1,
    })
}

/// Pairs of types without a conversion are refused before any row comes.
fn check_conversion(call: &Call<'_>, to: &DataType, mode: CastMode) -> Result<()> {
    cast(&Column::empty(call.type_of(0).clone()), to, &CastOptions::new(mode, TimeZone::utc())).map(|_| ())
}

/// The time zone that an argument names.
fn zone(call: &Call<'_>, at: usize) -> Result<Option<Arc<str>>> {
    if at >= call.arguments.len() {
        return Ok(None);
    }
    let name = String::from_utf8_lossy(call.constant_bytes(at)?);
    TimeZone::named(&name).map(|zone| Some(zone.name().clone()))
}

/// `toDate(value, zone)`: the date in that zone.
fn convert_in_zone(call: &Call<'_>, to: DataType) -> Bound {
    let name = zone(call, 1)?;
    let is_nullable = call.type_of(0).is_nullable();
    let from = match call.type_of(0).inner() {
        DataType::DateTime(_) => DataType::DateTime(name.clone()),
        DataType::DateTime64(digits, _) => DataType::DateTime64(*digits, name.clone()),
        other => other.clone(),
    };
    let (from, to) = if is_nullable { (from.to_nullable(), to.to_nullable()) } else { (from, to) };
    check_conversion(call, &to, CastMode::Plain)?;
    let mut options = options(call, CastMode::Plain)?;
    if let Some(name) = name {
        options.text.time_zone = TimeZone::named(&name)?;
    }
    described(call, &to).bind(to.clone(), move |arguments, _| {
        cast(&argument(arguments, 0)?.clone().with_type(from.clone()), &to, &options)
    })
}

/// `DateTime`, with the zone of an argument.
fn zoned(call: &Call<'_>, at: usize) -> Result<DataType> {
    Ok(DataType::DateTime(zone(call, at)?))
}

fn to_date_time(call: &Call<'_>) -> Bound {
    // A number behind the value is the scale of a `DateTime64`, and 0 that of a `DateTime`.
    if call.arguments.len() > 1 && call.type_of(1).is_integer() {
        let to = match scaled(call)? {
            DataType::DateTime64(0, zone) => DataType::DateTime(zone),
            scaled => scaled,
        };
        return convert_to(call, to);
    }
    call.arguments(1..=2)?;
    // A time keeps its zone.
    let to = match (call.type_of(0).inner(), zone(call, 1)?) {
        (DataType::DateTime(name) | DataType::DateTime64(_, name), None) => DataType::DateTime(name.clone()),
        (_, name) => DataType::DateTime(name),
    };
    convert_to(call, to)
}

/// `Time64(argument 1)`, of milliseconds where there is none.
fn time64(call: &Call<'_>) -> Result<DataType> {
    call.arguments(1..=if call.name == "toTime64" { 2 } else { 3 })?;
    let Some(_) = call.arguments.get(1) else { return Ok(DataType::Time64(3)) };
    let digits = call.constant(1).and_then(Value::as_u64).ok_or_else(|| call.illegal(1))?;
    let digits = u8::try_from(digits).ok().filter(|digits| *digits <= 9).ok_or_else(|| {
        Error::new(ErrorCode::BAD_ARGUMENTS, format!("DataTypeTime64 scale {digits} is too large, maximum is 9"))
    })?;
    Ok(DataType::Time64(digits))
}

/// The decimal of so many digits whose scale is argument 1.
fn decimal(call: &Call<'_>, precision: u8) -> Result<DataType> {
    call.arguments(2..=3)?;
    let scale = call.constant(1).and_then(Value::as_u64).ok_or_else(|| call.illegal(1))?;
    let scale = u8::try_from(scale).ok().filter(|scale| *scale <= precision).ok_or_else(|| {
        Error::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, format!("Scale {scale} is out of bounds (max scale: {precision})"))
    })?;
    Ok(DataType::Decimal(precision, scale))
}

/// `DateTime64(argument 1[, argument 2])`.
fn scaled(call: &Call<'_>) -> Result<DataType> {
    call.arguments(2..=3)?;
    let digits = call.constant(1).and_then(Value::as_u64).ok_or_else(|| call.illegal(1))?;
    let digits = u8::try_from(digits).ok().filter(|digits| *digits <= 9).ok_or_else(|| {
        Error::new(
            ErrorCode::ARGUMENT_OUT_OF_BOUND,
            format!("Scale {digits} is too large for DateTime64. Maximum is up to nanoseconds (9)"),
        )
    })?;
    let own_zone = match call.type_of(0).inner() {
        DataType::DateTime(name) | DataType::DateTime64(_, name) => name.clone(),
        _ => None,
    };
    Ok(DataType::DateTime64(digits, zone(call, 2)?.or(own_zone)))
}

fn scaled_or_milliseconds(call: &Call<'_>) -> Result<DataType> {
    if call.arguments.len() == 1 { Ok(DataType::DateTime64(3, None)) } else { scaled(call) }
}

/// What a text becomes that cannot be read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Failed {
    Zero,
    Null,
}

/// How many arguments say more of a type than the function's name does: digits, a time zone.
fn parameters(to: &DataType) -> usize {
    match to {
        DataType::DateTime64(..) => 2,
        DataType::DateTime(_) | DataType::Decimal(..) | DataType::Time64(_) => 1,
        _ => 0,
    }
}

/// `toXOrZero(text)`, `toXOrNull(text)`.
fn parse(call: &Call<'_>, to: DataType, failed: Failed) -> Bound {
    call.arguments(1..=1 + parameters(&to))?;
    let is_time = matches!(to, DataType::Date | DataType::DateTime(_));
    if failed == Failed::Null && is_time && (call.type_of(0).is_integer() || *call.type_of(0) == DataType::Bool) {
        check_conversion(call, &to, CastMode::OrNull)?;
        let options = options(call, CastMode::OrNull)?;
        return call.bind(to.to_nullable(), move |arguments, _| cast(argument(arguments, 0)?, &to, &options));
    }
    if !call.type_of(0).is_string_or_fixed_string() {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Illegal type {} of first argument of function {}. Conversion functions with postfix 'OrZero' or 'OrNull' should take String argument",
                call.type_of(0),
                call.name
            ),
        ));
    }
    let options = options(call, CastMode::OrNull)?;
    let result = if failed == Failed::Null { to.to_nullable() } else { to.clone() };
    let zone = match &to {
        DataType::DateTime(Some(name)) | DataType::DateTime64(_, Some(name)) => TimeZone::named(name)?,
        _ => call.session_zone()?,
    };
    call.bind(result, move |arguments, rows| {
        let text = argument(arguments, 0)?;
        let read = match &to {
            DataType::DateTime(_) => {
                let mut zone = zone.cursor();
                basic_times::<UInt32Type>(text, &to, |text| basic_date_time(text, &mut zone))?
            }
            DataType::DateTime64(scale, _) => {
                let mut zone = zone.cursor();
                basic_times::<Int64Type>(text, &to, |text| basic_date_time64(text, *scale, &mut zone))?
            }
            _ => cast(text, &to, &options)?,
        };
        match failed {
            Failed::Null => Ok(read),
            Failed::Zero => or_value(&read, &zero(&to), rows),
        }
    })
}

/// Texts as times that do without the many ways of writing one that `toDateTime` reads; NULL for those that are none.
fn basic_times<T: ArrowPrimitiveType>(
    text: &Column,
    to: &DataType,
    mut read: impl FnMut(&[u8]) -> Option<T::Native>,
) -> Result<Column> {
    let texts = [text.clone()];
    let strings = Strings::of(&texts, 0)?;
    let is_fixed = !matches!(text.data_type(), DataType::String);
    let rows = if text.is_constant() { text.rows().min(1) } else { text.rows() };
    let values = (0..rows).map(|row| {
        let mut text = strings.get(row);
        while let (true, [rest @ .., 0]) = (is_fixed, text) {
            text = rest;
        }
        read(text)
    });
    let array: PrimitiveArray<T> = values.collect();
    let column = Column::new(to.to_nullable(), Arc::new(array));
    Ok(if text.is_constant() { Column::repeat(&column, text.rows()) } else { column })
}

/// What `OrZero` gives: the type's default, but the first day of the old range for `Date32`.
fn zero(to: &DataType) -> Value {
    const DATE32_OLD_MIN: i64 = -25_567;
    if *to == DataType::Date32 { Value::Int64(DATE32_OLD_MIN) } else { default_value(to) }
}

/// A nullable column with a value in place of its NULLs.
fn or_value(column: &Column, value: &Value, rows: usize) -> Result<Column> {
    let plain = column.without_nulls()?;
    let Some(nulls) = column.nulls() else { return Ok(plain) };
    let fallback = Column::constant(plain.data_type().clone(), value, rows)?;
    if column.is_constant() {
        return Ok(fallback);
    }
    let is_there: Vec<u8> = nulls.iter().map(u8::from).collect();
    select(&is_there, &plain, &fallback)
}

/// `toXOrDefault(value[, default])`.
fn or_default(call: &Call<'_>, to: DataType) -> Bound {
    call.arguments(1..=2 + parameters(&to))?;
    let keeps_nulls = call.context.settings.cast_keep_nullable && call.type_of(0).is_nullable();
    let to = if keeps_nulls { to.to_nullable() } else { to };
    let options = options(call, CastMode::OrNull)?;
    let default_at = Some(call.arguments.len() - 1).filter(|at| *at > 0 && call.type_of(*at) == &to);
    let has_more = matches!(to, DataType::DateTime(_) | DataType::Decimal(..) | DataType::Time64(_));
    if call.arguments.len() == 2 && default_at.is_none() && !has_more {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Default value type should be same as cast type. Expected {to}. Actual {}", call.type_of(1)),
        ));
    }
    call.bind(to.clone(), move |arguments, rows| {
        let value = argument(arguments, 0)?;
        let read = cast(value, &to, &options)?;
        let read = match default_at {
            Some(at) => or_column(&read, argument(arguments, at)?, rows)?,
            None => or_value(&read, &zero(&to.remove_nullable()), rows)?,
        };
        if !keeps_nulls {
            return Ok(read);
        }
        // NULL stays NULL; the default is for what cannot be converted.
        let read = cast(&read, &to, &CastOptions::default())?;
        match value.nulls() {
            None => Ok(read),
            Some(nulls) => select(&validity(value, nulls, rows), &read, &Column::default_values(to.clone(), rows)?),
        }
    })
}

fn or_column(column: &Column, fallback: &Column, rows: usize) -> Result<Column> {
    let plain = column.without_nulls()?;
    let Some(nulls) = column.nulls() else { return Ok(plain) };
    let plain = cast(&plain, fallback.data_type(), &CastOptions::default())?;
    select(&validity(column, nulls, rows), &plain, fallback)
}

/// For each row 1 where it is not NULL.
fn validity(column: &Column, nulls: &NullBuffer, rows: usize) -> Vec<u8> {
    if column.is_constant() { vec![0; rows] } else { nulls.iter().map(u8::from).collect() }
}

fn to_string(call: &Call<'_>) -> Bound {
    call.arguments(1..=2)?;
    if has_zones(call, 1) {
        return by_zone(call, 1, to_string);
    }
    let name = zone(call, 1)?;
    let from = match (call.type_of(0), &name) {
        (DataType::DateTime(_), Some(_)) => DataType::DateTime(name.clone()),
        (DataType::DateTime64(digits, _), Some(_)) => DataType::DateTime64(*digits, name.clone()),
        (other, _) => other.clone(),
    };
    let options = options(call, CastMode::Plain)?;
    call.bind(DataType::String, move |arguments, _| {
        cast(&argument(arguments, 0)?.clone().with_type(from.clone()), &DataType::String, &options)
    })
}

/// The number of bytes that a constant argument asks for.
fn width(call: &Call<'_>, at: usize) -> Result<DataType> {
    let width = call.constant(at).and_then(Value::as_u64).ok_or_else(|| call.illegal(at))?;
    match usize::try_from(width) {
        Ok(width @ 1..=0xFF_FFFF) => Ok(DataType::FixedString(width)),
        _ => Err(Error::new(
            ErrorCode::ARGUMENT_OUT_OF_BOUND,
            format!("FixedString size must be from 1 to 16777215, not {width}"),
        )),
    }
}

fn to_fixed_string(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    if !call.type_of(0).is_string_or_fixed_string() {
        return Err(Error::new(
            ErrorCode::NOT_IMPLEMENTED,
            format!("{} is only implemented for types String and FixedString", call.name),
        ));
    }
    convert_to(call, width(call, 1)?)
}

/// The type that a constant argument names.
fn named_type(call: &Call<'_>, at: usize) -> Result<DataType> {
    let name = call.constant(at).and_then(Value::as_str).ok_or_else(|| {
        Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Second argument to {} must be a constant string describing type", call.name),
        )
    })?;
    DataType::parse(name)
}

fn cast_as(call: &Call<'_>, mode: CastMode) -> Bound {
    call.arguments(2..=2)?;
    let mut to = named_type(call, 1)?;
    let from = call.type_of(0);
    if call.context.settings.cast_keep_nullable && call.name == "CAST" && from.is_nullable() {
        to = to.to_nullable();
    }
    let settings = &call.context.settings;
    let options = CastOptions {
        infers_variant: settings.cast_string_to_variant_use_inference,
        infers_dynamic: settings.cast_string_to_dynamic_use_inference,
        ..options(call, mode)?
    };
    if !settings.allow_suspicious_variant_types {
        check_alternatives(&to)?;
    }
    let result = if mode == CastMode::OrNull {
        if !to.is_nullable() && !to.can_be_inside_nullable() && !to.is_of_alternatives() {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("Nested type {to} cannot be inside Nullable type"),
            ));
        }
        to.to_nullable()
    } else {
        to.clone()
    };
    check_conversion(call, &to, mode)?;
    if mode == CastMode::Plain
        && let Some(bound) = address_or_default(call, &to)
    {
        return bound;
    }
    let call = if mode == CastMode::Plain { described(call, &to) } else { *call };
    call.bind(result, move |arguments, _| cast(argument(arguments, 0)?, &to, &options))
}

/// Refuses a `Variant` of types that are easily taken for each other.
///
/// # Errors
/// `ILLEGAL_COLUMN`.
pub fn check_alternatives(data_type: &DataType) -> Result<()> {
    let Some((left, right)) = data_type.suspicious_alternatives() else { return Ok(()) };
    Err(Error::new(
        ErrorCode::ILLEGAL_COLUMN,
        format!(
            "Cannot create column with type '{data_type}' because variants '{left}' and '{right}' have similar types and working with \
             values of these types may lead to ambiguity. Consider using common single variant instead of these 2 variants or set setting \
             allow_suspicious_variant_types = 1 in order to allow it"
        ),
    ))
}

fn accurate_cast_or_default(call: &Call<'_>) -> Bound {
    call.arguments(2..=3)?;
    let to = named_type(call, 1)?;
    let options = options(call, CastMode::OrNull)?;
    check_conversion(call, &to, CastMode::OrNull)?;
    let has_default = call.arguments.len() == 3;
    if has_default && call.type_of(2) != &to {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Default value type should be same as cast type. Expected {to}. Actual {}", call.type_of(2)),
        ));
    }
    call.bind(to.clone(), move |arguments, rows| {
        let read = cast(argument(arguments, 0)?, &to, &options)?;
        if has_default {
            or_column(&read, argument(arguments, 2)?, rows)
        } else {
            or_value(&read, &default_value(&to), rows)
        }
    })
}

fn to_low_cardinality(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let from = call.type_of(0);
    if matches!(from, DataType::LowCardinality(_)) {
        return identity(call);
    }
    if !from.inner().is_string_or_fixed_string() && !crate::defaults::can_be_inside_low_cardinality(from) {
        return Err(call.illegal(0));
    }
    let result = DataType::LowCardinality(Arc::new(from.clone()));
    call.bind(result, |arguments, _| argument(arguments, 0)?.clone().into_low_cardinality())
}

fn to_type_name(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let name = Value::string(call.type_of(0).name_in_lines());
    call.bind(DataType::String, move |_, rows| Column::constant(DataType::String, &name, rows))
}

fn materialize(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.bind(call.type_of(0).clone(), |arguments, _| argument(arguments, 0)?.materialize())
}

fn identity(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    identity_of_first(call)
}

fn identity_of_first(call: &Call<'_>) -> Bound {
    call.bind(call.type_of(0).clone(), |arguments, _| Ok(argument(arguments, 0)?.clone()))
}

fn ignore(call: &Call<'_>) -> Bound {
    call.bind(DataType::UInt8, |_, rows| Column::constant(DataType::UInt8, &Value::UInt64(0), rows))
}

fn default_of_argument(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let data_type = call.type_of(0).clone();
    call.bind(data_type.clone(), move |_, rows| Column::default_values(data_type.clone(), rows))
}

fn default_of_type_name(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    if call.constant(0).is_none() {
        return Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("The argument of function {} must be a constant string describing type", call.name),
        ));
    }
    let data_type = named_type(call, 0)?;
    call.bind(data_type.clone(), move |_, rows| Column::default_values(data_type.clone(), rows))
}

fn reinterpret_as(call: &Call<'_>, to: DataType) -> Bound {
    call.arguments(1..=1)?;
    bind_reinterpret(call, to)
}

fn reinterpret_to(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    bind_reinterpret(call, named_type(call, 1)?)
}

fn reinterpret_as_fixed_string(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    match memory_width(call.type_of(0)) {
        Some(width) => bind_reinterpret(call, DataType::FixedString(width)),
        None => Err(call.illegal(0)),
    }
}

/// How many bytes a value has in ClickHouse's memory.
fn memory_width(data_type: &DataType) -> Option<usize> {
    match data_type {
        DataType::BFloat16 => Some(2),
        other => other.fixed_width_bytes(),
    }
}

fn bind_reinterpret(call: &Call<'_>, to: DataType) -> Bound {
    let from = call.type_of(0);
    match (from, &to) {
        (DataType::Array(item), DataType::String | DataType::FixedString(_)) if memory_width(item).is_some() => {
            return reinterpret_array(call, item, to);
        }
        (DataType::String | DataType::FixedString(_), DataType::Array(item)) => {
            let item = (**item).clone();
            if let Some(width) = memory_width(&item) {
                return reinterpret_as_array(call, item, width);
            }
        }
        _ => {}
    }
    let has_bytes = |data_type: &DataType| {
        let has_names = matches!(data_type, DataType::Enum8(_) | DataType::Enum16(_) | DataType::Date32);
        !has_names && (data_type.fixed_width_bytes().is_some() || *data_type == DataType::String)
    };
    if !has_bytes(from) || !has_bytes(&to) {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Cannot reinterpret {from} as {to} because it is not contiguous in memory"),
        ));
    }
    call.bind(to.clone(), move |arguments, _| {
        let column = argument(arguments, 0)?;
        let turned = |column: Column| match column.array().as_fixed_size_binary_opt() {
            Some(values) if *column.data_type() == DataType::UUID => {
                let turned = Column::new(DataType::UUID, uuid_memory(values)?);
                Ok(if column.is_constant() { Column::repeat(&turned, column.rows()) } else { turned })
            }
            _ => Ok(column),
        };
        turned(reinterpret(&turned(column.clone())?, &to)?)
    })
}

/// The bytes of an array's items, one after the other, as a string.
fn reinterpret_array(call: &Call<'_>, item: &DataType, to: DataType) -> Bound {
    let item = item.clone();
    let width = memory_width(&item).unwrap_or(0);
    call.bind(to.clone(), move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let items = reinterpret(&lists.items.materialize()?, &DataType::FixedString(width))?;
        let items = items.array().as_fixed_size_binary_opt().cloned();
        let Some(items) = items else { return Err(Error::logical("items without bytes")) };
        let strings = string_column(rows, width * items.len(), |out, row| {
            lists.range(row).for_each(|at| out.extend_from_slice(items.value(at)));
            Ok(())
        })?;
        if to == DataType::String { Ok(strings) } else { reinterpret(&strings, &to) }
    })
}

/// The bytes of a string as an array's items.
fn reinterpret_as_array(call: &Call<'_>, item: DataType, width: usize) -> Bound {
    let is_fixed = matches!(call.type_of(0), DataType::FixedString(_));
    call.bind(DataType::array(item.clone()), move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let mut bytes = Vec::new();
        let mut ends = vec![0_i32];
        for row in 0..rows {
            let string = strings.get(row);
            if string.len() % width != 0 {
                let code = if is_fixed { ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT } else { ErrorCode::BAD_ARGUMENTS };
                return Err(Error::new(code, format!("{} bytes are no whole number of {item}", string.len())));
            }
            squall_types::grow(&mut bytes, string.len())?;
            bytes.extend_from_slice(string);
            ends.push(i32::try_from(bytes.len() / width).map_err(|_| {
                Error::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, "More than 2^31 items of arrays in one block")
            })?);
        }
        let count = bytes.len() / width;
        let whole = FixedSizeBinaryArray::try_new_with_len(width as i32, bytes.into(), None, count)?;
        let items = reinterpret(&Column::new(DataType::FixedString(width), Arc::new(whole)), &item)?;
        list_column(&item, ends, items.to_array()?)
    })
}

/// The bytes of each value as values of another type: little endian, cut or filled up with zeros; a `String` made of a number has no
/// zeros at its end.
pub(super) fn reinterpret(column: &Column, to: &DataType) -> Result<Column> {
    let array = column.array();
    let rows = array.len();
    // The values' bytes one after the other, where they are of one width.
    let flat: Option<(Vec<u8>, usize)> = squall_types::match_primitive!(array.data_type(), T => {
        let values = array.as_primitive::<T>().values();
        let width = size_of::<<T as ArrowPrimitiveType>::Native>();
        Some((values.iter().flat_map(|value| value.to_le_bytes()).collect(), width))
    }, _ => array.as_fixed_size_binary_opt().map(|values| {
        let width = values.value_length() as usize;
        ((0..rows).flat_map(|row| values.value(row).iter().copied()).collect(), width)
    }));
    // A `BFloat16` is the upper half of the float that holds it.
    let flat = match flat {
        Some((bytes, _)) if *column.data_type() == DataType::BFloat16 => {
            let (floats, _) = bytes.as_chunks::<4>();
            Some((floats.iter().flat_map(|[_, _, low, high]| [*low, *high]).collect(), 2))
        }
        other => other,
    };
    let value = |row: usize| -> &[u8] {
        match (&flat, array.as_binary_opt::<i32>()) {
            (Some((bytes, width)), _) => bytes.get(row * width..(row + 1) * width).unwrap_or_default(),
            (None, Some(strings)) => strings.value(row),
            (None, None) => &[],
        }
    };
    let is_number = *column.data_type() != DataType::String;
    let result: ArrayRef = match (to, memory_width(to)) {
        (DataType::String, _) => {
            let trimmed = |bytes: &[u8]| -> usize {
                if is_number {
                    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
                } else {
                    bytes.len()
                }
            };
            Arc::new(BinaryArray::from_iter_values((0..rows).map(|row| {
                let bytes = value(row);
                bytes.get(..trimmed(bytes)).unwrap_or_default()
            })))
        }
        (_, Some(width)) => {
            let mut bytes = Vec::with_capacity(rows * width);
            for row in 0..rows {
                let value = value(row);
                bytes.extend_from_slice(value.get(..width).unwrap_or(value));
                bytes.resize((row + 1) * width, 0);
            }
            if *to == DataType::BFloat16 {
                let (halves, _) = bytes.as_chunks::<2>();
                let floats = halves.iter().flat_map(|[low, high]| [0, 0, *low, *high]).collect();
                fixed_width_array(to, 4, floats)?
            } else {
                fixed_width_array(to, width, bytes)?
            }
        }
        _ => return Err(Error::logical(format!("{to} has no bytes"))),
    };
    let result = Column::new(to.clone(), result);
    Ok(if column.is_constant() { Column::repeat(&result, column.rows()) } else { result })
}

fn fixed_width_array(to: &DataType, width: usize, bytes: Vec<u8>) -> Result<ArrayRef> {
    macro_rules! numbers {
        ($t:ty) => {{
            const WIDTH: usize = size_of::<<$t as ArrowPrimitiveType>::Native>();
            let (chunks, _) = bytes.as_chunks::<WIDTH>();
            let values: Vec<_> =
                chunks.iter().map(|chunk| <$t as ArrowPrimitiveType>::Native::from_le_bytes(*chunk)).collect();
            Arc::new(PrimitiveArray::<$t>::new(values.into(), None))
        }};
    }
    Ok(match to.arrow_type() {
        arrow_schema::DataType::UInt8 => numbers!(UInt8Type),
        arrow_schema::DataType::UInt16 => numbers!(UInt16Type),
        arrow_schema::DataType::UInt32 => numbers!(UInt32Type),
        arrow_schema::DataType::UInt64 => numbers!(UInt64Type),
        arrow_schema::DataType::Int8 => numbers!(Int8Type),
        arrow_schema::DataType::Int16 => numbers!(Int16Type),
        arrow_schema::DataType::Int32 => numbers!(Int32Type),
        arrow_schema::DataType::Int64 => numbers!(Int64Type),
        arrow_schema::DataType::Float32 => numbers!(Float32Type),
        arrow_schema::DataType::Float64 => numbers!(Float64Type),
        _ => Arc::new(FixedSizeBinaryArray::try_new(i32::try_from(width).unwrap_or(i32::MAX), bytes.into(), None)?),
    })
}
