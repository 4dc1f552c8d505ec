//! `dateDiff`, which counts the borders of a unit between two times, and `age`, which counts the whole units that have passed.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::types::Int64Type;
use squall_types::calendar::civil_from_days;
use squall_types::{Column, DataType, Error, ErrorCode, IntervalKind, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::simple::Call;

use super::relative::number;
use super::time::{Instant, Kind, Time};
use super::unit;
use super::week::weekday;

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(3..=4)?;
    let Some(name) = call.constant(0).and_then(Value::as_str) else {
        return Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("The unit of function {} must be a constant string", call.name),
        ));
    };
    let kind = unit::parse(name).ok_or_else(|| {
        Error::new(ErrorCode::BAD_ARGUMENTS, format!("Function {} does not support '{name}' unit", call.name))
    })?;
    let (from, to) = (Time::of(call, 1, Some(3))?, Time::of(call, 2, Some(3))?);
    let ages = call.name == "age";
    // Hours and what is shorter are counted from a date's midnight in the zone.
    let moments = |time: &Time, instants: Vec<Instant>| -> Vec<Instant> {
        if time.has_clock() {
            return instants;
        }
        instants.into_iter().map(|instant| Instant { utc: time.zone.to_utc(instant.local), ..instant }).collect()
    };
    let borders_of = move |instant: Instant, time: &Time| {
        let utc = if time.has_clock() { instant.utc } else { time.zone.to_utc(instant.local) };
        number(kind, Instant { utc, ..instant }, i64::from(time.zone.offset_at(0)))
    };
    call.bind(DataType::Int64, move |arguments, rows| {
        let one = |time: &Time, at: usize| -> Result<Option<i64>> {
            let is_constant = arguments.get(at).is_some_and(Column::is_constant) && rows > 1;
            let whole = is_constant && !ages && unit::digits(kind).is_none();
            let instants = if whole { time.instants(arguments, at, 1)? } else { Vec::new() };
            Ok(instants.first().map(|instant| borders_of(*instant, time)))
        };
        if let Some(end) = one(&to, 2)? {
            let difference = |instant| end - borders_of(instant, &from);
            return from.map::<Int64Type>(arguments, 1, &DataType::Int64, difference);
        }
        if let Some(start) = one(&from, 1)? {
            return to.map::<Int64Type>(arguments, 2, &DataType::Int64, |instant| borders_of(instant, &to) - start);
        }
        let starts = moments(&from, from.instants(arguments, 1, rows)?);
        let ends = moments(&to, to.instants(arguments, 2, rows)?);
        let difference = |(start, end): (&Instant, &Instant)| {
            if let Some(digits) = unit::digits(kind) {
                return between_ticks((*start, &from), (*end, &to), digits, ages);
            }
            let of = |instant: &Instant, time: &Time| match kind {
                // Ages count whole weeks before the epoch, too.
                IntervalKind::Week if ages => i64::from((instant.day() + 3).div_euclid(7)),
                _ => number(kind, *instant, i64::from(time.zone.offset_at(0))),
            };
            let borders = of(end, &to) - of(start, &from);
            if !ages {
                return borders;
            }
            let (start, end) = ((*start, ticks(&from)), (*end, ticks(&to)));
            match instant_order(start, end) {
                // ClickHouse does not turn the days of the week round, only the clock.
                Ordering::Greater if kind == IntervalKind::Week => {
                    let weekday = |of: (Instant, i64)| weekday(of.0.day());
                    let clock = |of: (Instant, i64)| (of.0.second_of_day(), nanoseconds(of));
                    borders + i64::from((weekday(start), clock(end)) > (weekday(end), clock(start)))
                }
                Ordering::Greater => borders + i64::from(is_incomplete(kind, end, start)),
                _ => borders - i64::from(is_incomplete(kind, start, end)),
            }
        };
        let values = starts.iter().zip(&ends).map(difference).collect();
        Ok(Column::from_primitive::<Int64Type>(DataType::Int64, values))
    })
}

/// Ticks of a second.
fn ticks(time: &Time) -> i64 {
    match time.kind {
        Kind::DateTime64 { ticks, .. } => ticks,
        _ => 1,
    }
}

/// The fraction of a second as nanoseconds.
fn nanoseconds((instant, ticks): (Instant, i64)) -> i64 {
    (i128::from(instant.fraction) * 1_000_000_000 / i128::from(ticks)) as i64
}

fn instant_order(left: (Instant, i64), right: (Instant, i64)) -> Ordering {
    (left.0.utc, nanoseconds(left)).cmp(&(right.0.utc, nanoseconds(right)))
}

/// The difference in ticks of so many digits: of the ticks that either moment lies in or, as an age, of those that have passed.
fn between_ticks((start, from): (Instant, &Time), (end, to): (Instant, &Time), digits: u8, ages: bool) -> i64 {
    let scale = 10_i128.pow(if ages { 9 } else { u32::from(digits) });
    let of = |instant: Instant, time: &Time| {
        i128::from(instant.utc) * scale + i128::from(instant.fraction) * scale / i128::from(ticks(time))
    };
    let difference = of(end, to) - of(start, from);
    (if ages { difference / 10_i128.pow(9 - u32::from(digits)) } else { difference }) as i64
}

/// Whether the last unit before `end`, which is not before `start`, is not over yet.
fn is_incomplete(kind: IntervalKind, start: (Instant, i64), end: (Instant, i64)) -> bool {
    // What is left within the unit, the largest part first.
    let rest = |of: (Instant, i64)| {
        let instant = of.0;
        let (_, month, day) = civil_from_days(instant.day());
        let (month, day) = (i64::from(month), i64::from(day));
        let clock = instant.second_of_day();
        match kind {
            IntervalKind::Year => (month, day, clock, nanoseconds(of)),
            IntervalKind::Quarter => ((month - 1) % 3, day, clock, nanoseconds(of)),
            IntervalKind::Month => (0, day, clock, nanoseconds(of)),
            IntervalKind::Week => (0, i64::from(weekday(instant.day())), clock, nanoseconds(of)),
            IntervalKind::Day => (0, 0, clock, nanoseconds(of)),
            IntervalKind::Hour => (0, 0, clock % 3600, nanoseconds(of)),
            IntervalKind::Minute => (0, 0, clock % 60, nanoseconds(of)),
            _ => (0, 0, 0, nanoseconds(of)),
        }
    };
    rest(start) > rest(end)
}

/// `timeDiff`: seconds between two times.
pub(super) fn resolve_seconds(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    let (from, to) = (Time::of(call, 0, None)?, Time::of(call, 1, None)?);
    call.bind(DataType::Int64, move |arguments, rows| {
        let (starts, ends) = (from.instants(arguments, 0, rows)?, to.instants(arguments, 1, rows)?);
        let values = starts.iter().zip(&ends).map(|(start, end)| end.utc - start.utc).collect();
        Ok(Column::from_primitive::<Int64Type>(DataType::Int64, values))
    })
}
