//! What queries in Kusto's language are made of: arithmetic whose rules differ from SQL's.

use std::sync::Arc;

use squall_types::cast::{CastMode, CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, IntervalKind, Result, Value};

use super::simple::{Call, Function, argument, value_column};
use crate::function::{Argument, BoundFunction, ScalarFunction};
use crate::registry::resolve_scalar;

type Bound = Result<Arc<dyn BoundFunction>>;

/// Every function of this module.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("kqlBin", bin),
    &Function::new("kqlBinAt", bin),
    &Function::new("kqlDateTimeBinAt", bin),
    &Function::new("kqlDivide", divide),
    &Function::new("kqlMultiply", multiply),
    &Function::new("kqlParameterCast", parameter),
    &Function::new("kqlRangeCount", range_count),
    &Function::new("kqlToTimespan", to_timespan),
];

/// Decimal digits of a second of Kusto's times.
const DIGITS: u8 = 7;

/// Nanoseconds of one tick.
const TICK_NS: i128 = 100;

/// The nanoseconds of an interval's unit; `None` for months and years.
fn unit_ns(kind: IntervalKind) -> Option<i128> {
    Some(match kind {
        IntervalKind::Nanosecond => 1,
        IntervalKind::Microsecond => 1_000,
        IntervalKind::Millisecond => 1_000_000,
        IntervalKind::Second => 1_000_000_000,
        IntervalKind::Minute => 60_000_000_000,
        IntervalKind::Hour => 3_600_000_000_000,
        IntervalKind::Day => 86_400_000_000_000,
        IntervalKind::Week => 7 * 86_400_000_000_000,
        IntervalKind::Month | IntervalKind::Quarter | IntervalKind::Year => return None,
    })
}

fn division_by_zero() -> Error {
    Error::new(ErrorCode::ILLEGAL_DIVISION, "Division by zero")
}

fn integer(arguments: &[Column], at: usize, row: usize) -> Result<i128> {
    Ok(argument(arguments, at)?.value(row).as_i64().unwrap_or(0).into())
}

fn float(arguments: &[Column], at: usize, row: usize) -> Result<f64> {
    Ok(argument(arguments, at)?.value(row).as_f64().unwrap_or(f64::NAN))
}

/// `kqlBin(value, size)` and `kqlBinAt(value, size, point)`: the greatest multiple of `size` from `point` on that is not above.
fn bin(call: &Call<'_>) -> Bound {
    let has_point = call.name != "kqlBin";
    let count = if has_point { 3 } else { 2 };
    call.arguments(count..=count)?;
    let small = |value: i128| Value::Int64(i64::try_from(value).unwrap_or(0));
    match (call.type_of(0), call.type_of(1)) {
        (value, size) if value.is_integer() && size.is_integer() => {
            let divide =
                resolve_scalar("multiply", &[Argument::of(value.clone()), Argument::of(size.clone())], call.context)?;
            let result = if has_point { DataType::Int64 } else { divide.return_type().clone() };
            call.bind(result.clone(), move |arguments, rows| {
                value_column(&result, rows, |row| {
                    let point = if has_point { integer(arguments, 2, row)? } else { 0 };
                    let (value, size) = (integer(arguments, 0, row)?, integer(arguments, 1, row)?);
                    if size == 0 {
                        return Err(division_by_zero());
                    }
                    Ok(small(point + (value - point).div_euclid(size) * size))
                })
            })
        }
        (value, size) if value.is_number() && size.is_number() => {
            call.bind(DataType::Float64, move |arguments, rows| {
                value_column(&DataType::Float64, rows, |row| {
                    let point = if has_point { float(arguments, 2, row)? } else { 0.0 };
                    let (value, size) = (float(arguments, 0, row)?, float(arguments, 1, row)?);
                    Ok(Value::Float64(point + ((value - point) / size).floor() * size))
                })
            })
        }
        (DataType::Interval(kind), DataType::Interval(other)) => {
            let (Some(unit), Some(other)) = (unit_ns(*kind), unit_ns(*other)) else { return Err(call.illegal(0)) };
            let result = call.type_of(0).to_nullable();
            call.bind(result.clone(), move |arguments, rows| {
                value_column(&result, rows, |row| {
                    let size = integer(arguments, 1, row)? * other;
                    if size == 0 {
                        return Ok(Value::Null);
                    }
                    let point = if has_point { integer(arguments, 2, row)? * unit } else { 0 };
                    let value = integer(arguments, 0, row)? * unit;
                    Ok(small((point + (value - point).div_euclid(size) * size) / unit))
                })
            })
        }
        (DataType::DateTime64(digits, zone), DataType::Interval(kind)) => {
            let Some(unit) = unit_ns(*kind) else { return Err(call.illegal(1)) };
            let to_ticks = 10_i128.pow(u32::from(DIGITS.saturating_sub(*digits)));
            let result = DataType::DateTime64(DIGITS, zone.clone()).to_nullable();
            call.bind(result.clone(), move |arguments, rows| {
                value_column(&result, rows, |row| {
                    let size = integer(arguments, 1, row)? * unit / TICK_NS;
                    if size == 0 {
                        return Ok(Value::Null);
                    }
                    let value = integer(arguments, 0, row)? * to_ticks;
                    let point = if has_point { integer(arguments, 2, row)? * to_ticks } else { 0 };
                    Ok(small(point + (value - point).div_euclid(size) * size))
                })
            })
        }
        (value, size) => Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Function {} expects a number rounded by a number, a timespan rounded by a timespan, or a datetime rounded by a timespan, got {value} and {size}",
                call.name
            ),
        )),
    }
}

/// The same arguments under another function's name.
fn as_other(call: &Call<'_>, name: &str) -> Bound {
    resolve_scalar(name, call.arguments, call.context)
}

fn divide(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    match (call.type_of(0), call.type_of(1)) {
        (DataType::Interval(kind), DataType::Interval(other)) => {
            let (Some(unit), Some(other)) = (unit_ns(*kind), unit_ns(*other)) else { return Err(call.illegal(0)) };
            call.bind(DataType::Float64, move |arguments, rows| {
                value_column(&DataType::Float64, rows, |row| {
                    let (left, right) = (integer(arguments, 0, row)? * unit, integer(arguments, 1, row)? * other);
                    Ok(Value::Float64(left as f64 / right as f64))
                })
            })
        }
        (left, right) if left.is_integer() && right.is_integer() => as_other(call, "intDiv"),
        _ => as_other(call, "divide"),
    }
}

fn multiply(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let at = match (call.type_of(0), call.type_of(1)) {
        (DataType::Interval(_), other) if other.is_number() => 0,
        (other, DataType::Interval(_)) if other.is_number() => 1,
        _ => return as_other(call, "multiply"),
    };
    let result = call.type_of(at).clone();
    call.bind(result.clone(), move |arguments, rows| {
        value_column(&result, rows, |row| {
            let product = integer(arguments, at, row)? as f64 * float(arguments, 1 - at, row)?;
            Ok(Value::Int64(product as i64))
        })
    })
}

/// The types that Kusto's stand for.
fn carrier(name: &str) -> Option<DataType> {
    Some(match name {
        "bool" => DataType::Bool,
        "int" => DataType::Int32,
        "long" => DataType::Int64,
        "real" => DataType::Float64,
        "decimal" => DataType::Decimal(38, 20),
        "string" | "dynamic" => DataType::String,
        "guid" => DataType::UUID,
        "datetime" => DataType::DateTime64(DIGITS, Some("UTC".into())),
        "timespan" => DataType::Interval(IntervalKind::Nanosecond),
        _ => return None,
    })
}

fn parameter(call: &Call<'_>) -> Bound {
    call.arguments(3..=3)?;
    let wrong = |message: String| Err(Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
    let name = call.constant(1).and_then(Value::as_str).unwrap_or_default();
    let Some(result) = carrier(name) else {
        return wrong(format!("Function {} does not know the KQL type '{name}'", call.name));
    };
    let from = call.type_of(0);
    let is_numeric = from.is_number() || from.is_decimal() || from.is_wide_integer();
    let fits = match &result {
        DataType::Int32 | DataType::Int64 | DataType::Float64 | DataType::Decimal(..) => is_numeric,
        DataType::Bool => *from == DataType::Bool,
        DataType::String => from.is_string_or_fixed_string(),
        DataType::DateTime64(..) => from.is_date_or_time(),
        DataType::Interval(_) => matches!(from, DataType::Interval(_)),
        other => from == other,
    };
    if !fits {
        let what = call.constant(2).and_then(Value::as_str).unwrap_or("The parameter");
        return wrong(format!("{what} is declared '{name}', but the argument has type {from}"));
    }
    let options = CastOptions::new(CastMode::Plain, call.session_zone()?);
    call.bind(result.clone(), move |arguments, _| cast(argument(arguments, 0)?, &result, &options))
}

/// `kqlRangeCount(from, to, step)`.
fn range_count(call: &Call<'_>) -> Bound {
    call.arguments(3..=3)?;
    let times = match (call.type_of(0), call.type_of(1), call.type_of(2)) {
        (DataType::DateTime64(digits, _), DataType::DateTime64(other, _), DataType::Interval(kind)) => {
            let unit = unit_ns(*kind).ok_or_else(|| call.illegal(2))?;
            let ns = |digits: u8| 10_i128.pow(u32::from(9_u8.saturating_sub(digits)));
            Some([ns(*digits), ns(*other), unit])
        }
        (DataType::Interval(from), DataType::Interval(to), DataType::Interval(step)) => {
            let units = [from, to, step].map(|kind| unit_ns(*kind));
            let [Some(from), Some(to), Some(step)] = units else { return Err(call.illegal(0)) };
            Some([from, to, step])
        }
        _ => {
            call.each([0, 1, 2], DataType::is_number)?;
            None
        }
    };
    let zero = || Error::new(ErrorCode::BAD_ARGUMENTS, "The step of a 'range' must not be zero");
    call.bind(DataType::UInt64, move |arguments, rows| {
        value_column(&DataType::UInt64, rows, |row| {
            let [from, to, step] = match times {
                Some(units) => {
                    let mut parts = [0.0; 3];
                    for (at, unit) in units.into_iter().enumerate() {
                        parts[at] = (integer(arguments, at, row)? * unit) as f64;
                    }
                    parts
                }
                None => [float(arguments, 0, row)?, float(arguments, 1, row)?, float(arguments, 2, row)?],
            };
            if step == 0.0 {
                return Err(zero());
            }
            let steps = ((to - from) / step).floor();
            Ok(Value::UInt64(if steps < 0.0 { 0 } else { steps as u64 + 1 }))
        })
    })
}

/// A text `[-][d.]hh:mm:ss[.fffffff]` in nanoseconds.
fn timespan(text: &str) -> Option<i64> {
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |text| (-1, text));
    let parts: Vec<&str> = text.split(':').collect();
    let (days, hours, minutes, seconds) = match parts[..] {
        [hours, minutes, seconds] => {
            let (days, hours) = hours.split_once('.').unwrap_or(("0", hours));
            (days, hours, minutes, seconds)
        }
        [hours, minutes] => {
            let (days, hours) = hours.split_once('.').unwrap_or(("0", hours));
            (days, hours, minutes, "0")
        }
        _ => return None,
    };
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let number = |text: &str| text.parse::<u32>().ok().map(i64::from);
    let fraction_ns = format!("{fraction:0<9}").get(..9)?.parse::<i64>().ok()?;
    let total = ((number(days)? * 24 + number(hours)?) * 60 + number(minutes)?) * 60 + number(whole)?;
    total.checked_mul(1_000_000_000)?.checked_add(fraction_ns).map(|total| sign * total)
}

/// `kqlToTimespan(x)`: of a number, days.
fn to_timespan(call: &Call<'_>) -> Bound {
    const DAY_NS: f64 = 86_400e9;
    call.arguments(1..=1)?;
    let nanoseconds = DataType::Interval(IntervalKind::Nanosecond);
    match call.type_of(0) {
        DataType::Interval(kind) => {
            let unit = unit_ns(*kind).ok_or_else(|| call.illegal(0))?;
            call.bind(nanoseconds.clone(), move |arguments, rows| {
                value_column(&nanoseconds, rows, |row| {
                    Ok(Value::Int64(i64::try_from(integer(arguments, 0, row)? * unit).unwrap_or(0)))
                })
            })
        }
        number if number.is_number() => call.bind(nanoseconds.clone(), move |arguments, rows| {
            value_column(&nanoseconds, rows, |row| Ok(Value::Int64((float(arguments, 0, row)? * DAY_NS) as i64)))
        }),
        text if text.is_string_or_fixed_string() => {
            let result = nanoseconds.to_nullable();
            call.bind(result.clone(), move |arguments, rows| {
                value_column(&result, rows, |row| {
                    let value = argument(arguments, 0)?.value(row);
                    Ok(value.as_str().and_then(timespan).map_or(Value::Null, Value::Int64))
                })
            })
        }
        _ => Err(call.illegal(0)),
    }
}
