//! `changeYear`, `changeHour` and the like: a time with one field replaced. A value out of a field's range makes the type's first time; a
//! day that a month has not runs into the next one.

use std::sync::Arc;

use arrow_array::types::{Int32Type, Int64Type, UInt16Type, UInt32Type};
use squall_types::calendar::{DAY_SECONDS, civil_from_days, days_from_civil};
use squall_types::{Column, DataType, Result};

use super::time::{Kind, Time, date, date_time};
use crate::function::BoundFunction;
use crate::scalar::simple::{Call, integers};

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    let time = Time::of(call, 0, None)?;
    call.integers([1])?;
    let field = call.name;
    let is_clock = matches!(field, "changeHour" | "changeMinute" | "changeSecond");
    let result = match (time.kind, is_clock) {
        (Kind::Date, false) => DataType::Date,
        (Kind::Date32, false) => DataType::Date32,
        (Kind::Date | Kind::DateTime, _) => time.date_time(),
        (Kind::Date32, true) => time.date_time64(3),
        (Kind::DateTime64 { digits, .. }, _) => time.date_time64(digits),
    };
    call.bind(result.clone(), move |arguments, rows| {
        let (instants, values) = (time.instants(arguments, 0, rows)?, integers(arguments, 1, rows)?);
        let mut cursor = time.zone.cursor();
        // Local days and seconds of the day; nothing where the value is none of the field.
        let changed = |row: usize| {
            let (instant, value) = (instants[row], values[row]);
            let (year, month, day) = civil_from_days(instant.day());
            let clock = instant.second_of_day();
            let days =
                |year: i64, month: i64, day: i64| i64::from(days_from_civil(year as i32, month as u32, 1)) + day - 1;
            let (year, month, day) = (i64::from(year), i64::from(month), i64::from(day));
            let in_range = |from: i64, to: i64| (from..=to).contains(&value);
            Some(match field {
                "changeYear" => {
                    let value = value.clamp(0, 9999);
                    (days(value, month, day), clock)
                }
                "changeMonth" => in_range(1, 12).then(|| (days(year, value, day), clock))?,
                "changeDay" => in_range(1, 31).then(|| (days(year, month, value), clock))?,
                "changeHour" => in_range(0, 23).then(|| (instant.day().into(), clock % 3600 + value * 3600))?,
                "changeMinute" => {
                    in_range(0, 59).then(|| (instant.day().into(), clock / 3600 * 3600 + value * 60 + clock % 60))?
                }
                _ => in_range(0, 59).then(|| (instant.day().into(), clock / 60 * 60 + value))?,
            })
        };
        Ok(match result {
            DataType::Date => {
                let days = (0..rows).map(|row| changed(row).map_or(0, |(days, _)| date(days as i32)));
                Column::from_primitive::<UInt16Type>(result.clone(), days.collect())
            }
            DataType::Date32 => {
                let days = (0..rows).map(|row| {
                    let first = squall_types::calendar::DATE32_MIN;
                    changed(row).map_or(first, |(days, _)| (days as i32).max(first))
                });
                Column::from_primitive::<Int32Type>(result.clone(), days.collect())
            }
            DataType::DateTime64(digits, _) => {
                let ticks = 10_i64.pow(digits.into());
                let values = (0..rows).map(|row| match changed(row) {
                    Some((days, clock)) => cursor
                        .to_utc(days * DAY_SECONDS + clock)
                        .saturating_mul(ticks)
                        .saturating_add(instants[row].fraction),
                    None => i64::from(squall_types::calendar::DATE32_MIN) * DAY_SECONDS * ticks,
                });
                Column::from_primitive::<Int64Type>(result.clone(), values.collect())
            }
            _ => {
                let seconds = (0..rows).map(|row| {
                    changed(row).map_or(0, |(days, clock)| date_time(cursor.to_utc(days * DAY_SECONDS + clock)))
                });
                Column::from_primitive::<UInt32Type>(result.clone(), seconds.collect())
            }
        })
    })
}
