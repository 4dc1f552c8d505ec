//! Times moved: between UTC and a zone, to the slots of half an hour that a span touches, by several intervals; and intervals by name.

use std::sync::Arc;

use arrow_array::types::{Int64Type, UInt32Type};
use squall_types::cast::{CastMode, CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Integer, IntervalKind, Result, Value, checkpoint};

use super::time::{date_time, zone_argument};
use super::unit;
use crate::function::{Argument, BoundFunction};
use crate::registry::resolve_scalar;
use crate::scalar::array::list_column;
use crate::scalar::simple::{Call, argument, integers};
use crate::scalar::tuple::elements;

type Bound = Result<Arc<dyn BoundFunction>>;

/// `toUTCTimestamp(time, zone)`: what clocks show in UTC when those of the zone show this time; `fromUTCTimestamp` the other way round.
pub(super) fn resolve_zone(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let to_utc = call.name.starts_with("to");
    let text = *call.type_of(0) == DataType::String;
    let digits = match call.type_of(0) {
        DataType::DateTime64(digits, _) => Some(*digits),
        DataType::String => Some(3),
        DataType::DateTime(_) => None,
        _ => return Err(call.illegal(0)),
    };
    let name = zone_argument(call, 1)?.ok_or_else(|| call.illegal(1))?;
    let zone = squall_types::calendar::TimeZone::named(&name)?;
    let result = digits.map_or(DataType::DateTime(None), |digits| DataType::DateTime64(digits, None));
    let options = CastOptions::new(CastMode::Plain, call.session_zone()?);
    call.bind(result.clone(), move |arguments, rows| {
        let first = argument(arguments, 0)?;
        let first = if text { cast(first, &result, &options)? } else { first.clone() };
        let values = integers(std::slice::from_ref(&first), 0, rows)?;
        let mut cursor = zone.cursor();
        let ticks = 10_i64.pow(digits.unwrap_or(0).into());
        let moved = values.into_iter().map(|value| {
            let (seconds, rest) = (value.div_euclid(ticks), value.rem_euclid(ticks));
            let seconds = if to_utc { cursor.to_utc(seconds) } else { cursor.to_local(seconds) };
            seconds.saturating_mul(ticks).saturating_add(rest)
        });
        Ok(match digits {
            Some(_) => Column::from_primitive::<Int64Type>(result.clone(), moved.collect()),
            None => Column::from_primitive::<UInt32Type>(result.clone(), moved.map(date_time).collect()),
        })
    })
}

/// `UTCTimestamp()`.
pub(super) fn resolve_now(call: &Call<'_>) -> Bound {
    call.arguments(0..=0)?;
    let now = date_time(call.context.moment.query_start_ns().div_euclid(1_000_000_000));
    let result = DataType::DateTime(Some("UTC".into()));
    call.bind(result.clone(), move |_, rows| Column::constant(result.clone(), &Value::UInt64(now.into()), rows))
}

/// The slots' length where nothing is said.
const SLOT_SECONDS: i64 = 1800;

/// `timeSlots(start, seconds[, slot])`: the slots that the span touches.
pub(super) fn resolve_slots(call: &Call<'_>) -> Bound {
    call.arguments(2..=3)?;
    if let DataType::DateTime64(digits, zone) = call.type_of(0) {
        return resolve_slots64(call, *digits, zone);
    }
    if !matches!(call.type_of(0), DataType::DateTime(_)) {
        return Err(call.illegal(0));
    }
    if *call.type_of(1) != DataType::UInt32 {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "A value of illegal type was provided as 2nd argument 'duration' to function '{}'. Expected: UInt32, \
                 got: {}",
                call.name,
                call.type_of(1)
            ),
        ));
    }
    call.integers([2])?;
    let slot = match call.constant(2) {
        None if call.arguments.len() == 2 => SLOT_SECONDS,
        Some(slot) => slot.as_i64().filter(|slot| *slot > 0).ok_or_else(|| {
            Error::new(ErrorCode::ILLEGAL_COLUMN, "Third argument for function timeSlots must be greater than zero")
        })?,
        None => return Err(call.illegal(2)),
    };
    let item = call.type_of(0).clone();
    call.bind(DataType::array(item.clone()), move |arguments, rows| {
        let (starts, spans) = (integers(arguments, 0, rows)?, integers(arguments, 1, rows)?);
        let (mut values, mut ends) = (Vec::new(), vec![0]);
        for row in 0..rows {
            for number in starts[row] / slot..=(starts[row] + spans[row]) / slot {
                checkpoint(4)?;
                values.push(date_time(number * slot));
            }
            ends.push(i32::try_from(values.len()).map_err(|_| Error::logical("too many slots"))?);
        }
        let items = Column::from_primitive::<UInt32Type>(item.clone(), values);
        list_column(&item, ends, items.array().clone())
    })
}

/// The same of a `DateTime64`: the span and the slot are decimals of 64 bits, and the slots have the digits of the longest fraction.
fn resolve_slots64(call: &Call<'_>, digits: u8, zone: &Option<Arc<str>>) -> Bound {
    let mut scales = vec![digits];
    for (at, name) in [(1, "2nd argument 'duration'"), (2, "3rd argument 'size'")] {
        match call.type_of(at) {
            DataType::Decimal(10..=18, scale) => scales.push(*scale),
            _ if at >= call.arguments.len() => {}
            other => {
                return Err(Error::new(
                    ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    format!(
                        "A value of illegal type was provided as {name} to function '{}'. Expected: Decimal64, got: {other}",
                        call.name
                    ),
                ));
            }
        }
    }
    let digits = scales.iter().copied().max().unwrap_or(digits);
    let ticks = |scale: u8| 10_i64.pow(u32::from(digits.saturating_sub(scale).min(18)));
    let slot = match call.constant(2) {
        None if call.arguments.len() == 2 => SLOT_SECONDS.saturating_mul(ticks(0)),
        Some(Value::Decimal(slot, scale)) => i64::wrap_large(**slot).saturating_mul(ticks(*scale)),
        _ => return Err(call.illegal(2)),
    };
    if slot <= 0 {
        return Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            "Third argument for function timeSlots must be greater than zero",
        ));
    }
    let factors: Vec<i64> = scales.iter().map(|scale| ticks(*scale)).collect();
    let item = DataType::DateTime64(digits, zone.clone());
    call.bind(DataType::array(item.clone()), move |arguments, rows| {
        let [starts, spans] = [0, 1].map(|at| {
            let column = argument(arguments, at)?;
            let factor = factors.get(at).copied().unwrap_or(1);
            let numbers = i64::values(&**column.array());
            let at = |row: usize| if column.is_constant() { 0 } else { row };
            Ok((0..rows).map(|row| numbers.get(at(row)).map_or(0, |number| number.saturating_mul(factor))).collect())
        });
        let (starts, spans): (Result<Vec<i64>>, Result<Vec<i64>>) = (starts, spans);
        let (mut values, mut ends) = (Vec::new(), vec![0]);
        for (start, span) in starts?.into_iter().zip(spans?) {
            for number in start / slot..=start.saturating_add(span) / slot {
                checkpoint(4)?;
                values.push(number.saturating_mul(slot));
            }
            ends.push(i32::try_from(values.len()).map_err(|_| Error::logical("too many slots"))?);
        }
        let items = Column::from_primitive::<Int64Type>(item.clone(), values);
        list_column(&item, ends, items.array().clone())
    })
}

/// `addTupleOfIntervals(time, (interval, …))`, `subtractTupleOfIntervals`.
pub(super) fn resolve_tuple(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    if !call.type_of(0).is_date_or_time() {
        return Err(call.illegal(0));
    }
    let DataType::Tuple(intervals) = call.type_of(1) else { return Err(call.illegal(1)) };
    let operation = if call.name.starts_with("add") { "plus" } else { "minus" };
    let mut own = call.type_of(0).clone();
    let mut steps = Vec::new();
    for interval in intervals.iter() {
        let sides = [Argument::of(own), Argument::of(interval.data_type.clone())];
        let step = resolve_scalar(operation, &sides, call.context)?;
        own = step.return_type().clone();
        steps.push(step);
    }
    call.bind(own, move |arguments, rows| {
        let intervals = elements(argument(arguments, 1)?)?;
        let first = argument(arguments, 0)?.clone();
        steps.iter().zip(intervals).try_fold(first, |time, (step, interval)| step.execute(&[time, interval], rows))
    })
}

/// `toInterval(number, 'unit')`.
pub(super) fn resolve_interval(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    call.each([0], |data_type| data_type.is_number() || matches!(data_type, DataType::String | DataType::Date))?;
    let name = call.constant(1).and_then(Value::as_str).ok_or_else(|| call.illegal(1))?;
    // In the singular only.
    let parsed = unit::parse(name).filter(|kind: &IntervalKind| kind.to_string().eq_ignore_ascii_case(name));
    let kind = parsed.ok_or_else(|| {
        Error::new(ErrorCode::BAD_ARGUMENTS, format!("{name} doesn't look like an interval unit in {}", call.name))
    })?;
    let result = DataType::Interval(kind);
    call.bind(result.clone(), move |arguments, _| {
        let options = CastOptions::default();
        let numbers = cast(argument(arguments, 0)?, &DataType::Int64, &options)?;
        cast(&numbers, &result, &options)
    })
}
