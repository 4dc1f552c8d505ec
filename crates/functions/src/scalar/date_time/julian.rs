//! Days counted from other beginnings: modified Julian days as numbers and text, months and years since the epoch, days of months; and
//! fractions of seconds finer than milliseconds.

use std::sync::Arc;

use arrow_array::types::{Int32Type, UInt8Type, UInt16Type, UInt32Type};
use arrow_buffer::NullBuffer;
use squall_types::calendar::{civil_from_days, days_from_civil, days_of_month};
use squall_types::text::append_date;
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use super::field::clock;
use super::time::{Kind, Time};
use crate::function::BoundFunction;
use crate::scalar::kernel::nullable_column;
use crate::scalar::simple::{Call, Strings, StringsBuilder, integers};

type Bound = Result<Arc<dyn BoundFunction>>;

/// 1858-11-17 in days since the epoch.
const FIRST_DAY: i64 = -40_587;

/// The years of which days are given.
const YEARS: std::ops::RangeInclusive<i64> = 0..=9999;

/// `YYYY-MM-DD` at the front of a text, all of which it must be.
fn days(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let mut parts = text.splitn(3, '-');
    let mut part = |width: usize| {
        let part = parts.next()?;
        (part.len() == width && part.bytes().all(|byte| byte.is_ascii_digit())).then(|| part.parse::<i32>().ok())?
    };
    let (year, month, day) = (part(4)?, part(2)?, part(2)?);
    let is_date = (1..=12).contains(&month) && day >= 1 && day <= days_of_month(year, month as u32) as i32;
    is_date.then(|| i64::from(days_from_civil(year, month as u32, day as u32)) - FIRST_DAY)
}

/// `toModifiedJulianDay(text)`, `toModifiedJulianDayOrNull`.
pub(super) fn resolve_to(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let or_null = call.name.ends_with("OrNull");
    let result = if or_null { DataType::Int32.to_nullable() } else { DataType::Int32 };
    call.bind(result.clone(), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let found: Vec<Option<i64>> = (0..rows).map(|row| days(texts.get(row))).collect();
        let nulls: NullBuffer = found.iter().map(Option::is_some).collect::<Vec<_>>().into();
        if !or_null && nulls.null_count() > 0 {
            return Err(Error::new(
                ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
                "Cannot read input: expected a date like 2020-01-31 but got something else",
            ));
        }
        let values = found.into_iter().map(|days| days.unwrap_or(0) as i32).collect();
        nullable_column::<Int32Type>(result.clone(), values, or_null.then_some(nulls))
    })
}

/// `fromModifiedJulianDay(day)`, `fromModifiedJulianDayOrNull`.
pub(super) fn resolve_from(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.integers([0])?;
    let or_null = call.name.ends_with("OrNull");
    let result = if or_null { DataType::String.to_nullable() } else { DataType::String };
    call.bind(result, move |arguments, rows| {
        let numbers = integers(arguments, 0, rows)?;
        let mut valid = Vec::with_capacity(rows);
        let mut texts = StringsBuilder::new(rows, 10 * rows)?;
        for number in numbers {
            let days = i32::try_from(number.saturating_add(FIRST_DAY)).ok();
            let days = days.filter(|days| days.abs() < 5_000_000 && YEARS.contains(&civil_from_days(*days).0.into()));
            if days.is_none() && !or_null {
                return Err(Error::new(
                    ErrorCode::CANNOT_FORMAT_DATETIME,
                    "The input value is out of the range of days with years from 0 to 9999",
                ));
            }
            if let Some(days) = days {
                append_date(&mut texts.bytes, days);
            }
            valid.push(days.is_some());
            texts.end_row()?;
        }
        let texts: Column = texts.finish()?;
        if or_null { texts.to_nullable(Some(NullBuffer::from(valid))) } else { Ok(texts) }
    })
}

/// `toDaysInMonth`, `toMonthNumSinceEpoch`, `toYearNumSinceEpoch`.
pub(super) fn resolve_count(call: &Call<'_>) -> Bound {
    call.arguments(1..=2)?;
    let time = Time::of(call, 0, Some(1))?;
    match call.name {
        "toDaysInMonth" => call.bind(DataType::UInt8, move |arguments, _| {
            time.map::<UInt8Type>(arguments, 0, &DataType::UInt8, |instant| {
                let (year, month, _) = civil_from_days(instant.day());
                days_of_month(year, month) as u8
            })
        }),
        "toMonthNumSinceEpoch" => call.bind(DataType::UInt32, move |arguments, _| {
            time.map::<UInt32Type>(arguments, 0, &DataType::UInt32, |instant| {
                let (year, month, _) = civil_from_days(instant.day());
                ((year - 1970) * 12 + month as i32 - 1).max(0) as u32
            })
        }),
        _ => call.bind(DataType::UInt16, move |arguments, _| {
            time.map::<UInt16Type>(arguments, 0, &DataType::UInt16, |instant| {
                (civil_from_days(instant.day()).0 - 1970).max(0) as u16
            })
        }),
    }
}

/// `toMicrosecond`, `toNanosecond`.
pub(super) fn resolve_fraction(call: &Call<'_>) -> Bound {
    call.arguments(1..=2)?;
    let time = clock(call, Some(1))?;
    let ticks = match time.kind {
        Kind::DateTime64 { ticks, .. } => ticks,
        _ => 1,
    };
    let units = if call.name == "toMicrosecond" { 1_000_000 } else { 1_000_000_000 };
    call.bind(DataType::UInt32, move |arguments, _| {
        time.map::<UInt32Type>(arguments, 0, &DataType::UInt32, |instant| {
            (i128::from(instant.fraction) * units / i128::from(ticks)) as u32
        })
    })
}
