//! Times rounded down: to hours, minutes and their multiples, to any interval, to a unit by name.

use std::sync::Arc;

use arrow_array::types::{Int32Type, Int64Type, UInt16Type, UInt32Type};
use squall_types::calendar::{DAY_SECONDS, civil_from_days, days_from_civil};
use squall_types::{Column, DataType, Error, ErrorCode, IntervalKind, Result, Value};

use crate::function::BoundFunction;
use crate::properties::Monotonic;
use crate::scalar::simple::Call;

use super::field::{clock, month_start, quarter_start, year_start};
use super::origin;
use super::time::{Instant, Kind, Time, date, date_time, zone_argument};
use super::unit;
use super::week::monday;

/// A rounded time as seconds: of an instant before the epoch, the epoch.
fn rounded(seconds: i64) -> u32 {
    date_time(seconds)
}

/// `toStartOfHour`, `toStartOfFiveMinutes` and the like: by the local clock.
pub(super) fn resolve_fixed(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    let time = clock(call, Some(1))?;
    let seconds = match call.name {
        "toStartOfHour" => 3600,
        "timeSlot" => 1800,
        "toStartOfFifteenMinutes" => 900,
        "toStartOfTenMinutes" => 600,
        "toStartOfFiveMinutes" => 300,
        _ => 60,
    };
    let return_type = time.seconds_type(time.digits());
    call.bind(return_type.clone(), move |arguments, _| {
        time.map_seconds(arguments, &return_type, |instant| instant.utc - instant.local.rem_euclid(seconds))
    })
}

/// `toStartOfDay`.
pub(super) fn resolve_day(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    let time = Time::of(call, 0, Some(1))?;
    let return_type = time.seconds_type(time.digits());
    call.bind(return_type.clone(), move |arguments, _| {
        time.map_seconds(arguments, &return_type, |instant| midnight(&time, instant.day()))
    })
}

/// The instant at which a day of the zone begins.
fn midnight(time: &Time, days: i32) -> i64 {
    time.zone.to_utc(i64::from(days) * DAY_SECONDS)
}

/// `toStartOfSecond` and smaller units, of `DateTime64` only.
pub(super) fn resolve_fraction(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    let time = Time::of(call, 0, Some(1))?;
    let Kind::DateTime64 { digits, ticks } = time.kind else { return Err(call.illegal(0)) };
    let unit_digits = match call.name {
        "toStartOfSecond" => 0,
        "toStartOfMillisecond" => 3,
        "toStartOfMicrosecond" => 6,
        _ => 9,
    };
    let result_digits = digits.max(unit_digits);
    let widen = 10_i64.pow(u32::from(result_digits - digits));
    let step = 10_i64.pow(u32::from(digits.saturating_sub(unit_digits)));
    let return_type = time.date_time64(result_digits);
    let call = &call.monotonic((widen == 1).then_some((i64::MIN, i64::MAX)));
    call.bind(return_type.clone(), move |arguments, _| {
        time.map::<Int64Type>(arguments, 0, &return_type, |instant| {
            let value = instant.utc.wrapping_mul(ticks).wrapping_add(instant.fraction);
            (value - value.rem_euclid(step)).wrapping_mul(widen)
        })
    })
}

/// `toTimeWithFixedDate`: the clock's time on 1970-01-02.
pub(super) fn resolve_fixed_date(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    let time = clock(call, Some(1))?;
    let return_type = time.date_time();
    call.bind(return_type.clone(), move |arguments, _| {
        time.map::<UInt32Type>(arguments, 0, &return_type, |instant| {
            rounded(time.zone.to_utc(DAY_SECONDS + instant.second_of_day()))
        })
    })
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=4)?;
    let DataType::Interval(kind) = *call.type_of(1) else { return Err(call.illegal(1)) };
    let Some(count) = call.constant(1).and_then(Value::as_i64) else {
        return Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("The interval of function {} must be constant", call.name),
        ));
    };
    if count <= 0 {
        return Err(Error::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Interval value must be positive"));
    }
    if call.type_of(2).is_date_or_time() {
        return origin::resolve(call, kind, count);
    }
    call.arguments(2..=3)?;
    let time = Time::of(call, 0, Some(2))?;
    let call = &call.monotonic(grows_by(&time, kind, count).then_some((i64::MIN, i64::MAX)));
    if kind >= IntervalKind::Week && time.extends {
        return call.bind(time.days_type(), move |arguments, _| {
            time.map_days(arguments, |days| start_of_days(kind, count, days))
        });
    }
    if kind >= IntervalKind::Week {
        return call.bind(DataType::Date, move |arguments, _| {
            time.map::<UInt16Type>(arguments, 0, &DataType::Date, |instant| {
                let days = start_of_days(kind, count, instant.day());
                // A `Date32` before the epoch wraps around; a time before it is the epoch.
                if time.has_clock() { date(days) } else { days as u16 }
            })
        });
    }
    if kind == IntervalKind::Day {
        let return_type = time.seconds_type(0);
        if time.extends {
            return call.bind(return_type.clone(), move |arguments, _| {
                time.map_seconds(arguments, &return_type, |instant| {
                    let day = i64::from(instant.day());
                    midnight(&time, (day - day.rem_euclid(count)) as i32)
                })
            });
        }
        return call.bind(return_type.clone(), move |arguments, _| {
            time.map::<UInt32Type>(arguments, 0, &return_type, |instant| {
                let day = i64::from(instant.day());
                let start = midnight(&time, (day - day.rem_euclid(count)) as i32);
                if time.has_clock() { rounded(start) } else { start as u32 }
            })
        });
    }
    if !time.has_clock() {
        return Err(call.illegal(0));
    }
    match (unit::digits(kind), time.kind) {
        (None, _) => {
            let return_type = time.seconds_type(0);
            call.bind(return_type.clone(), move |arguments, _| {
                time.map_seconds(arguments, &return_type, |instant| start_of_seconds(kind, count, instant))
            })
        }
        (Some(unit_digits), Kind::DateTime64 { ticks, .. }) => {
            let scale = 10_i128.pow(u32::from(unit_digits));
            let return_type = time.date_time64(unit_digits);
            call.bind(return_type.clone(), move |arguments, _| {
                time.map::<Int64Type>(arguments, 0, &return_type, |instant| {
                    let fraction = i128::from(instant.fraction) * scale / i128::from(ticks);
                    let value = i128::from(instant.utc) * scale + fraction;
                    (value - value.rem_euclid(i128::from(count))) as i64
                })
            })
        }
        _ => Err(call.illegal(0)),
    }
}

/// Whether a later time never begins an earlier interval. Dates before the epoch wrap around, and hours are counted by clocks that are set
/// forward.
fn grows_by(time: &Time, kind: IntervalKind, count: i64) -> bool {
    match kind {
        _ if matches!(time.kind, Kind::Date32) || unit::digits(kind).is_some() => false,
        IntervalKind::Hour => count == 1 || &**time.zone.name() == "UTC",
        _ => true,
    }
}

/// The day at which an interval of weeks, months, quarters or years begins that a day is in.
fn start_of_days(kind: IntervalKind, count: i64, days: i32) -> i32 {
    let months = match kind {
        IntervalKind::Week => {
            if count == 1 {
                return monday(days);
            }
            // Weeks are counted from the first Monday after the epoch.
            let length = count.saturating_mul(7);
            let days = i64::from(days) - 4;
            return (days - days.rem_euclid(length) + 4) as i32;
        }
        IntervalKind::Month => count,
        IntervalKind::Quarter => count.saturating_mul(3),
        _ => {
            let year = i64::from(civil_from_days(days).0);
            return days_from_civil((year - year.rem_euclid(count)) as i32, 1, 1);
        }
    };
    // Months are counted from January 1900.
    let (year, month, _) = civil_from_days(days);
    let index = (i64::from(year) - 1900) * 12 + i64::from(month) - 1;
    let start = index - index.rem_euclid(months);
    days_from_civil(1900 + start.div_euclid(12) as i32, start.rem_euclid(12) as u32 + 1, 1)
}

/// The second at which an interval of hours, minutes or seconds begins: hours are counted from local midnight, the others from
/// the epoch; but minutes from local midnight, too, where the local clock is not whole minutes away from UTC.
fn start_of_seconds(kind: IntervalKind, count: i64, instant: Instant) -> i64 {
    match kind {
        IntervalKind::Hour => instant.utc - instant.second_of_day() % count.saturating_mul(3600),
        IntervalKind::Second if count % 60 == 0 => start_of_seconds(IntervalKind::Minute, count / 60, instant),
        IntervalKind::Minute if (instant.local - instant.utc) % 60 != 0 => {
            instant.utc - instant.second_of_day() % count.saturating_mul(60)
        }
        IntervalKind::Minute => instant.utc - instant.utc.rem_euclid(count.saturating_mul(60)),
        _ => instant.utc - instant.utc.rem_euclid(count),
    }
}

pub(super) fn resolve_truncate(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=3)?;
    let Some(name) = call.constant(0).and_then(Value::as_str) else {
        return Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("The unit of function {} must be a constant string", call.name),
        ));
    };
    // Full names in the singular only.
    let lower = name.to_ascii_lowercase();
    let kind = IntervalKind::ALL.into_iter().find(|kind| kind.to_string().to_ascii_lowercase() == lower);
    let kind = kind.ok_or_else(|| {
        Error::new(ErrorCode::BAD_ARGUMENTS, format!("{name} doesn't look like datepart name in {}", call.name))
    })?;
    zone_argument(call, 2)?;
    let time = Time::of(call, 1, Some(2))?;
    let grows = unit::digits(kind).is_none();
    let call = &call.monotonic_as(grows.then_some(Monotonic { argument: 1, ..Monotonic::GROWS }));
    let wide = matches!(time.kind, Kind::Date32 | Kind::DateTime64 { .. });
    if kind >= IntervalKind::Week {
        let start: fn(i32) -> i32 = match kind {
            IntervalKind::Week => monday,
            IntervalKind::Month => month_start,
            IntervalKind::Quarter => quarter_start,
            _ => year_start,
        };
        if wide {
            return call.bind(DataType::Date32, move |arguments, _| {
                time.map::<Int32Type>(arguments, 1, &DataType::Date32, |instant| start(instant.day()))
            });
        }
        return call.bind(DataType::Date, move |arguments, _| {
            time.map::<UInt16Type>(arguments, 1, &DataType::Date, |instant| date(start(instant.day())))
        });
    }
    if kind < IntervalKind::Day && !time.has_clock() {
        return Err(call.illegal(1));
    }
    if let Some(unit_digits) = unit::digits(kind) {
        let Kind::DateTime64 { ticks, .. } = time.kind else { return Err(call.illegal(1)) };
        let scale = 10_i128.pow(u32::from(unit_digits));
        let return_type = time.date_time64(unit_digits);
        return call.bind(return_type.clone(), move |arguments, _| {
            time.map::<Int64Type>(arguments, 1, &return_type, |instant| {
                (i128::from(instant.utc) * scale + i128::from(instant.fraction) * scale / i128::from(ticks)) as i64
            })
        });
    }
    let start = move |time: &Time, instant: Instant| match kind {
        IntervalKind::Day => midnight(time, instant.day()),
        IntervalKind::Hour => instant.utc - instant.local.rem_euclid(3600),
        IntervalKind::Minute => instant.utc - instant.local.rem_euclid(60),
        _ => instant.utc,
    };
    if wide {
        let return_type = time.date_time64(0);
        return call.bind(return_type.clone(), move |arguments, _| {
            time.map::<Int64Type>(arguments, 1, &return_type, |instant| start(&time, instant))
        });
    }
    let return_type = time.date_time();
    call.bind(return_type.clone(), move |arguments, _| -> Result<Column> {
        time.map::<UInt32Type>(arguments, 1, &return_type, |instant| rounded(start(&time, instant)))
    })
}
