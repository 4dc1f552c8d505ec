//! How many years, months, …, seconds have passed since some fixed beginning: numbers whose differences are `dateDiff`'s.

use std::sync::Arc;

use arrow_array::types::{UInt16Type, UInt32Type};
use squall_types::calendar::civil_from_days;
use squall_types::{DataType, IntervalKind, Result};

use crate::function::BoundFunction;
use crate::scalar::simple::Call;

use super::time::{Instant, Time};

/// The number of the unit that an instant of a zone lies in. `epoch_offset` is the zone's offset at the epoch.
pub(super) fn number(kind: IntervalKind, instant: Instant, epoch_offset: i64) -> i64 {
    let civil = || {
        let (year, month, _) = civil_from_days(instant.day());
        (i64::from(year), i64::from(month))
    };
    match kind {
        IntervalKind::Year => civil().0,
        IntervalKind::Quarter => {
            let (year, month) = civil();
            year * 4 + (month - 1) / 3
        }
        IntervalKind::Month => {
            let (year, month) = civil();
            year * 12 + month
        }
        // Weeks begin on Monday. ClickHouse's integer division rounds those before the epoch towards it.
        IntervalKind::Week => i64::from((instant.day() + 3) / 7),
        IntervalKind::Day => i64::from(instant.day()),
        // Hours of a zone begin where its hours began in 1970.
        IntervalKind::Hour => (instant.utc - epoch_offset).div_euclid(3600),
        IntervalKind::Minute => instant.utc.div_euclid(60),
        _ => instant.utc,
    }
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    let time = Time::of(call, 0, Some(1))?;
    let name = call.name.trim_start_matches("toRelative").trim_end_matches("Num");
    let kind = IntervalKind::ALL.into_iter().find(|kind| kind.to_string() == name).unwrap_or(IntervalKind::Second);
    if kind == IntervalKind::Year {
        return call.bind(DataType::UInt16, move |arguments, _| {
            time.map::<UInt16Type>(arguments, 0, &DataType::UInt16, |instant| number(kind, instant, 0) as u16)
        });
    }
    let epoch_offset = i64::from(time.zone.offset_at(0));
    // ClickHouse adds a day where the zone's hours are not those of UTC.
    let hour_offset = if epoch_offset % 3600 == 0 { 0 } else { epoch_offset - 86_400 };
    // Days are counted as `Date` counts them.
    let last = if kind == IntervalKind::Day { i64::from(u16::MAX) } else { i64::from(u32::MAX) };
    call.bind(DataType::UInt32, move |arguments, _| {
        time.map::<UInt32Type>(arguments, 0, &DataType::UInt32, |instant| {
            number(kind, instant, hour_offset).clamp(0, last) as u32
        })
    })
}
