//! Fields of dates and times (`toYear`, `toHour`, `toYYYYMM`) and the days at which months, quarters and years begin and end.

use std::sync::Arc;

use arrow_array::types::{UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use squall_types::calendar::{DATE32_MIN, civil_from_days, days_from_civil, days_of_month};
use squall_types::{DataType, Result};

use crate::function::BoundFunction;
use crate::scalar::simple::Call;

use super::time::{Kind, Time};
use super::week::{iso_year_start, monday};

/// Fields of the date.
pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    let time = Time::of(call, 0, Some(1))?;
    macro_rules! field {
        ($arrow:ty, $data_type:expr, |$days:ident| $value:expr) => {
            call.bind($data_type, move |arguments, _| {
                time.map::<$arrow>(arguments, 0, &$data_type, |instant| {
                    let $days = instant.day();
                    $value
                })
            })
        };
    }
    match call.name {
        "toYear" | "__toYearCalendarOnly" => {
            field!(UInt16Type, DataType::UInt16, |days| civil_from_days(days).0 as u16)
        }
        "toQuarter" => field!(UInt8Type, DataType::UInt8, |days| civil_from_days(days).1.div_ceil(3) as u8),
        "toMonth" => field!(UInt8Type, DataType::UInt8, |days| civil_from_days(days).1 as u8),
        "toDayOfMonth" => field!(UInt8Type, DataType::UInt8, |days| civil_from_days(days).2 as u8),
        "toDayOfYear" => field!(UInt16Type, DataType::UInt16, |days| day_of_year(days) as u16),
        "toDaysSinceYearZero" => field!(UInt32Type, DataType::UInt32, |days| (days - DATE32_MIN) as u32),
        "toYYYYMM" => field!(UInt32Type, DataType::UInt32, |days| {
            let (year, month, _) = civil_from_days(days);
            year as u32 * 100 + month
        }),
        _ => field!(UInt32Type, DataType::UInt32, |days| digits_of_date(days)),
    }
}

/// `20210829`.
fn digits_of_date(days: i32) -> u32 {
    let (year, month, day) = civil_from_days(days);
    year as u32 * 10_000 + month * 100 + day
}

/// 1 on the first of January.
pub(super) fn day_of_year(days: i32) -> i32 {
    days - days_from_civil(civil_from_days(days).0, 1, 1) + 1
}

/// Fields of the clock, which dates do not have.
pub(super) fn resolve_clock(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    let time = clock(call, Some(1))?;
    let field: fn(i64) -> i64 = match call.name {
        "toHour" => |second| second / 3600,
        "toMinute" => |second| second / 60 % 60,
        _ => |second| second % 60,
    };
    call.bind(DataType::UInt8, move |arguments, _| {
        time.map::<UInt8Type>(arguments, 0, &DataType::UInt8, |instant| field(instant.second_of_day()) as u8)
    })
}

/// The first argument as a time with a clock.
pub(super) fn clock(call: &Call<'_>, zone_at: Option<usize>) -> Result<Time> {
    let time = Time::of(call, 0, zone_at)?;
    if time.has_clock() { Ok(time) } else { Err(call.illegal(0)) }
}

pub(super) fn resolve_fraction(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    let time = clock(call, Some(1))?;
    let ticks = match time.kind {
        Kind::DateTime64 { ticks, .. } => ticks,
        _ => 1,
    };
    call.bind(DataType::UInt16, move |arguments, _| {
        time.map::<UInt16Type>(arguments, 0, &DataType::UInt16, |instant| {
            (i128::from(instant.fraction) * 1000 / i128::from(ticks)) as u16
        })
    })
}

/// `20210829133753`.
pub(super) fn resolve_digits(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    let time = Time::of(call, 0, Some(1))?;
    // Where clocks are turned back, the digits of the local time are.
    let always_grows = !time.has_clock() || &**time.zone.name() == "UTC";
    let call = call.monotonic(always_grows.then_some((i64::MIN, i64::MAX)));
    call.bind(DataType::UInt64, move |arguments, _| {
        time.map::<UInt64Type>(arguments, 0, &DataType::UInt64, |instant| {
            let second = instant.second_of_day() as u64;
            let clock = second / 3600 * 10_000 + second / 60 % 60 * 100 + second % 60;
            u64::from(digits_of_date(instant.day())) * 1_000_000 + clock
        })
    })
}

/// The `Date` at which a month, quarter, year or week begins or ends.
pub(super) fn resolve_start(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    let time = Time::of(call, 0, Some(1))?;
    let start: fn(i32) -> i32 = match call.name {
        "toStartOfYear" => year_start,
        "toStartOfQuarter" => quarter_start,
        "toStartOfMonth" => month_start,
        "toLastDayOfMonth" => |days| {
            let (year, month, _) = civil_from_days(days);
            days_from_civil(year, month, days_of_month(year, month))
        },
        "toStartOfISOYear" => iso_year_start,
        _ => monday,
    };
    call.bind(time.days_type(), move |arguments, _| time.map_days(arguments, start))
}

pub(super) fn year_start(days: i32) -> i32 {
    days_from_civil(civil_from_days(days).0, 1, 1)
}

pub(super) fn quarter_start(days: i32) -> i32 {
    let (year, month, _) = civil_from_days(days);
    days_from_civil(year, (month - 1) / 3 * 3 + 1, 1)
}

pub(super) fn month_start(days: i32) -> i32 {
    let (year, month, _) = civil_from_days(days);
    days_from_civil(year, month, 1)
}
