//! Weeks: days of the week, ISO weeks, and MySQL's week modes, which say on which day a week begins, whether the days before the
//! year's first week are week 0 or belong to the last year, and which week is the first.

use std::sync::Arc;

use arrow_array::types::{UInt8Type, UInt16Type, UInt32Type};
use squall_types::calendar::{civil_from_days, days_from_civil};
use squall_types::{DataType, Error, ErrorCode, Result};

use crate::function::{Argument, BoundFunction};
use crate::registry::resolve_scalar;
use crate::scalar::simple::Call;

use super::time::Time;

/// 0 on Monday, 6 on Sunday.
pub(super) fn weekday(days: i32) -> i32 {
    // 1970-01-01 was a Thursday.
    (days + 3).rem_euclid(7)
}

/// The Monday on or before a day.
pub(super) fn monday(days: i32) -> i32 {
    days - weekday(days)
}

/// The Sunday on or before a day.
fn sunday(days: i32) -> i32 {
    days - (weekday(days) + 1) % 7
}

/// The ISO year of a day: that of its week's Thursday.
pub(super) fn iso_year(days: i32) -> i32 {
    civil_from_days(monday(days) + 3).0
}

/// The Monday of the first week of the ISO year that a day is in.
pub(super) fn iso_year_start(days: i32) -> i32 {
    // The fourth of January is always in the first week.
    monday(days_from_civil(iso_year(days), 1, 4))
}

/// The ISO week of a day, from 1.
pub(super) fn iso_week(days: i32) -> i32 {
    (monday(days) - iso_year_start(days)) / 7 + 1
}

/// The constant mode, where there is one; `default` otherwise.
fn mode(call: &Call<'_>, default: u8) -> Result<u8> {
    match call.constant(1) {
        _ if call.arguments.len() < 2 => Ok(default),
        _ if !call.type_of(1).is_integer() => Err(call.illegal(1)),
        Some(mode) => Ok(mode.as_i64().map_or(0, |mode| mode as u8)),
        None => {
            Err(Error::new(ErrorCode::ILLEGAL_COLUMN, format!("The mode of function {} must be a constant", call.name)))
        }
    }
}

/// A function of a time in text: of what `parseDateTimeBestEffort` makes of it.
fn of_text(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    let parse = resolve_scalar("parseDateTimeBestEffort", call.arguments.get(..1).unwrap_or_default(), call.context)?;
    let mut arguments = call.arguments.to_vec();
    if let Some(first) = arguments.first_mut() {
        *first = Argument::of(parse.return_type().clone());
    }
    let week = resolve_scalar(call.name, &arguments, call.context)?;
    call.bind(week.return_type().clone(), move |arguments, rows| {
        let mut arguments = arguments.to_vec();
        if let Some(first) = arguments.first_mut() {
            *first = parse.execute(std::slice::from_ref(first), rows)?;
        }
        week.execute(&arguments, rows)
    })
}

pub(super) fn resolve_day(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=3)?;
    if *call.type_of(0) == DataType::String {
        return of_text(call);
    }
    if call.arguments.len() > 1 && *call.type_of(1) != DataType::UInt8 {
        return Err(call.illegal(1));
    }
    let time = Time::of(call, 0, Some(2))?;
    let mode = mode(call, 0)? & 3;
    call.bind(DataType::UInt8, move |arguments, _| {
        time.map::<UInt8Type>(arguments, 0, &DataType::UInt8, |instant| {
            let from_monday = weekday(instant.day());
            let day = match mode {
                0 => from_monday + 1,
                1 => from_monday,
                2 => (from_monday + 1) % 7,
                _ => (from_monday + 1) % 7 + 1,
            };
            day as u8
        })
    })
}

pub(super) fn resolve_iso(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    let time = Time::of(call, 0, Some(1))?;
    if call.name == "toISOWeek" {
        return call.bind(DataType::UInt8, move |arguments, _| {
            time.map::<UInt8Type>(arguments, 0, &DataType::UInt8, |instant| iso_week(instant.day()) as u8)
        });
    }
    call.bind(DataType::UInt16, move |arguments, _| {
        time.map::<UInt16Type>(arguments, 0, &DataType::UInt16, |instant| iso_year(instant.day()) as u16)
    })
}

/// `toStartOfWeek` and `toLastDayOfWeek`: weeks begin on Sunday in even modes, on Monday in odd ones.
pub(super) fn resolve_start(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=3)?;
    let time = Time::of(call, 0, Some(2))?;
    let start: fn(i32) -> i32 = if mode(call, 0)? & 1 == 1 { monday } else { sunday };
    let offset = if call.name == "toStartOfWeek" { 0 } else { 6 };
    call.bind(time.days_type(), move |arguments, _| time.map_days(arguments, |days| start(days) + offset))
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=3)?;
    if *call.type_of(0) == DataType::String {
        return of_text(call);
    }
    let time = Time::of(call, 0, Some(2))?;
    let mode = mode(call, 0)?;
    if call.name == "toWeek" {
        return call.bind(DataType::UInt8, move |arguments, _| {
            time.map::<UInt8Type>(arguments, 0, &DataType::UInt8, |instant| year_and_week(instant.day(), mode).1 as u8)
        });
    }
    call.bind(DataType::UInt32, move |arguments, _| {
        time.map::<UInt32Type>(arguments, 0, &DataType::UInt32, |instant| {
            let (year, week) = year_and_week(instant.day(), mode | 2);
            (year * 100 + week) as u32
        })
    })
}

/// The year that a week belongs to and its number in it, in one of MySQL's modes, or, in modes 8 and 9, with the first week being
/// the one with the first of January in it.
fn year_and_week(days: i32, mode: u8) -> (i32, i32) {
    let monday_first = mode & 1 == 1;
    let year = civil_from_days(days).0;
    let day_in_week = |days: i32| if monday_first { weekday(days) } else { (weekday(days) + 1) % 7 };
    if mode & 8 != 0 {
        let start_of = |year: i32| {
            let first = days_from_civil(year, 1, 1);
            first - day_in_week(first)
        };
        return match days >= start_of(year + 1) {
            true => (year + 1, 1),
            false => (year, (days - start_of(year)) / 7 + 1),
        };
    }
    // Whether days before the first week count as weeks of the year before, instead of as week 0.
    let has_no_zero = mode & 2 != 0;
    // Whether the first week is the one that begins in the year, instead of the one with most of its days in it.
    let begins_in_year = (mode & 4 != 0) == monday_first;
    // The first day of the first week of a year.
    let start_of = |year: i32| {
        let first = days_from_civil(year, 1, 1);
        let offset = day_in_week(first);
        let is_first_week = if begins_in_year { offset == 0 } else { offset < 4 };
        if is_first_week { first - offset } else { first + 7 - offset }
    };
    let start = start_of(year);
    if days < start {
        if !has_no_zero {
            return (year, 0);
        }
        return (year - 1, (days - start_of(year - 1)) / 7 + 1);
    }
    if has_no_zero && days >= start_of(year + 1) {
        return (year + 1, 1);
    }
    (year, (days - start) / 7 + 1)
}
