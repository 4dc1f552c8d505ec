//! `toStartOfInterval(time, interval, origin)`: intervals are counted from an origin instead of the epoch, and keep its type.

use std::sync::Arc;

use arrow_array::types::{Int32Type, Int64Type, UInt16Type, UInt32Type};
use squall_types::calendar::{DAY_SECONDS, add_months};
use squall_types::{Column, DataType, Error, ErrorCode, IntervalKind, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument};

use super::time::{Kind, Time, date, date_time};
use super::unit;

/// Nanoseconds of a second.
const SECOND_NS: i128 = 1_000_000_000;

/// How long an interval is.
#[derive(Clone, Copy)]
enum Length {
    Nanoseconds(i128),
    Months(i64),
}

impl Length {
    fn of(kind: IntervalKind, count: i64) -> Self {
        let seconds = |seconds: i128| Self::Nanoseconds(seconds * SECOND_NS * i128::from(count));
        match kind {
            IntervalKind::Second => seconds(1),
            IntervalKind::Minute => seconds(60),
            IntervalKind::Hour => seconds(3600),
            IntervalKind::Day => seconds(DAY_SECONDS.into()),
            IntervalKind::Week => seconds(i128::from(DAY_SECONDS) * 7),
            IntervalKind::Month => Self::Months(count),
            IntervalKind::Quarter => Self::Months(count.saturating_mul(3)),
            IntervalKind::Year => Self::Months(count.saturating_mul(12)),
            fraction => {
                let digits = unit::digits(fraction).unwrap_or(9);
                Self::Nanoseconds(10_i128.pow(9 - u32::from(digits)) * i128::from(count))
            }
        }
    }

    /// The beginning of the interval from `origin` that `time` is in, both as nanoseconds of local time.
    fn start(self, time: i128, origin: i128) -> i128 {
        match self {
            Self::Nanoseconds(length) => origin + (time - origin).div_euclid(length) * length,
            Self::Months(months) => {
                let day_ns = i128::from(DAY_SECONDS) * SECOND_NS;
                let (day, clock) = (origin.div_euclid(day_ns) as i32, origin.rem_euclid(day_ns));
                let at = |steps: i64| i128::from(add_months(day, steps.saturating_mul(months))) * day_ns + clock;
                // No month is shorter than 28 days: this many steps are not too few, and not many too many.
                let mut steps = ((time - origin) / (day_ns * 28 * i128::from(months))) as i64;
                while steps > 0 && at(steps) > time {
                    steps -= 1;
                }
                at(steps)
            }
        }
    }
}

/// The function with its third argument, an origin, and perhaps a fourth, a time zone.
pub(super) fn resolve(call: &Call<'_>, kind: IntervalKind, count: i64) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(3..=4)?;
    let time = Time::of(call, 0, Some(3))?;
    let same_type = matches!(
        (call.type_of(0), call.type_of(2)),
        (DataType::Date, DataType::Date)
            | (DataType::Date32, DataType::Date32)
            | (DataType::DateTime(_), DataType::DateTime(_))
            | (DataType::DateTime64(..), DataType::DateTime64(..))
    );
    if !same_type {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Datetime argument and origin argument for function {} must have the same type", call.name),
        ));
    }
    if kind < IntervalKind::Day && !time.has_clock() {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Illegal interval kind for argument data type {}", call.type_of(0)),
        ));
    }
    let origin_time = Time { kind: Time::of(call, 2, None)?.kind, ..time.clone() };
    if call.constant(2).is_none_or(Value::is_null) {
        return Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("Argument at index 2 for function {} must be constant", call.name),
        ));
    }
    let length = Length::of(kind, count);
    let return_type = match time.kind {
        Kind::Date => DataType::Date,
        Kind::Date32 => DataType::Date32,
        Kind::DateTime => time.date_time(),
        Kind::DateTime64 { digits, .. } => time.date_time64(digits),
    };
    call.bind(return_type.clone(), move |arguments, rows| {
        let local_ns = |time: &Time, column: &Column| -> Result<Vec<i128>> {
            let tick_ns = match time.kind {
                Kind::DateTime64 { ticks, .. } => SECOND_NS / i128::from(ticks),
                _ => SECOND_NS,
            };
            let mut all = Vec::with_capacity(column.array().len());
            time.for_each(column, |instant| {
                all.push(i128::from(instant.local) * SECOND_NS + i128::from(instant.fraction) * tick_ns);
            })?;
            Ok(all)
        };
        let column = argument(arguments, 0)?;
        let origin = local_ns(&origin_time, argument(arguments, 2)?)?;
        let Some(origin) = origin.first().copied() else { return Ok(Column::empty(return_type.clone())) };
        let times = local_ns(&time, column)?;
        if times.iter().any(|time| *time < origin) {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                "The origin must be before the end date / date with time",
            ));
        }
        let starts = times.iter().map(|time| length.start(*time, origin));
        let seconds = |start: i128| time.zone.to_utc(start.div_euclid(SECOND_NS) as i64);
        let day = |start: i128| start.div_euclid(i128::from(DAY_SECONDS) * SECOND_NS) as i32;
        let data_type = return_type.clone();
        let result = match time.kind {
            Kind::Date => {
                Column::from_primitive::<UInt16Type>(data_type, starts.map(|start| date(day(start))).collect())
            }
            Kind::Date32 => Column::from_primitive::<Int32Type>(data_type, starts.map(day).collect()),
            Kind::DateTime => {
                let values = starts.map(|start| date_time(seconds(start))).collect();
                Column::from_primitive::<UInt32Type>(data_type, values)
            }
            Kind::DateTime64 { ticks, .. } => {
                let fraction = |start: i128| (start.rem_euclid(SECOND_NS) / (SECOND_NS / i128::from(ticks))) as i64;
                let values = starts.map(|start| seconds(start).wrapping_mul(ticks).wrapping_add(fraction(start)));
                Column::from_primitive::<Int64Type>(data_type, values.collect())
            }
        };
        Ok(if column.is_constant() { Column::repeat(&result, rows) } else { result })
    })
}
