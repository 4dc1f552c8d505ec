//! Days and seconds to calendar fields and back, and time zones with their offsets. Knows no text and no columns.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use chrono::{DateTime, Offset, TimeZone as _};

use crate::error::{Error, ErrorCode, Result};

/// Seconds of a day.
pub const DAY_SECONDS: i64 = 86_400;

/// 0000-01-01, the first day of `Date32` and `DateTime64`, in days since 1970-01-01.
pub const DATE32_MIN: i32 = -719_528;

/// 9999-12-31, the last day of `Date32` and `DateTime64`, in days since 1970-01-01.
pub const DATE32_MAX: i32 = 2_932_896;

/// Days since 1970-01-01 of a date of the proleptic Gregorian calendar. A day past its month's end runs into the next month.
pub fn days_from_civil(year: i32, month: u32, day: u32) -> i32 {
    // Years begin in March here, so that the leap day comes last.
    let year = i64::from(year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (i64::from(month) + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era - 719_468) as i32
}

/// Year, month (1 to 12) and day (1 to 31) of days since 1970-01-01. Days more than 30,000 years away are cut to that.
///
/// Multiplications stand for divisions, after Neri and Schneider, *Euclidean affine functions and their application to calendar
/// algorithms*, 2022.
#[inline]
pub fn civil_from_days(days: i32) -> (i32, u32, u32) {
    const ERAS: u32 = 82;
    const DAYS_MAX: i32 = 30_000 * 365;
    // Days since the first of March of a year far enough before any date.
    let day = (days.clamp(-DAYS_MAX, DAYS_MAX) + 719_468 + 146_097 * ERAS as i32) as u32;
    let quarters = 4 * day + 3;
    let (century, day_of_century) = (quarters / 146_097, quarters % 146_097 / 4);
    let product = 2_939_745 * u64::from(4 * day_of_century + 3);
    let (year_of_century, day_of_year) = ((product >> 32) as u32, product as u32 / 2_939_745 / 4);
    let parts = 2_141 * day_of_year + 197_913;
    let (month, day) = (parts >> 16, (parts & 0xFFFF) / 2_141);
    // January and February end the year that began in March.
    let is_next_year = day_of_year >= 306;
    let year = (100 * century + year_of_century) as i32 - 400 * ERAS as i32 + i32::from(is_next_year);
    (year, if is_next_year { month - 12 } else { month }, day + 1)
}

/// Whether the year has a 29th of February.
pub fn is_leap_year(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// The number of days of a month (1 to 12).
pub fn days_of_month(year: i32, month: u32) -> u32 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The date so many months later (earlier where negative); the day is cut to the month's last.
pub fn add_months(days: i32, months: i64) -> i32 {
    let (year, month, day) = civil_from_days(days);
    let index = (i64::from(year) * 12 + i64::from(month) - 1).saturating_add(months).clamp(-120_000, 240_000);
    let (year, month) = (index.div_euclid(12) as i32, index.rem_euclid(12) as u32 + 1);
    days_from_civil(year, month, day.min(days_of_month(year, month)))
}

/// A time zone: its name and from when on which offset holds. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TimeZone(Arc<Zone>);

#[derive(Debug)]
struct Zone {
    name: Arc<str>,
    /// When each offset begins, in seconds since the epoch, ascending; the first holds from the beginning of time.
    starts: Vec<i64>,
    /// Seconds that local time is ahead of UTC, one for each start.
    offsets: Vec<i32>,
    /// The positions among `starts` of the beginnings of spans of [`SPAN_SECONDS`], from [`FIRST_SPAN`] on.
    firsts: Vec<u16>,
}

/// Clocks change at most a few times within so many seconds, seven weeks.
const SPAN_SECONDS: i64 = 1 << 22;
/// Of all moments that `DateTime` has, and as many before.
const FIRST_SPAN: i64 = -(1 << 10);
const LAST_SPAN: i64 = 1 << 10;

impl PartialEq for TimeZone {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for TimeZone {}

impl TimeZone {
    /// UTC.
    pub fn utc() -> Self {
        static UTC: LazyLock<TimeZone> =
            LazyLock::new(|| TimeZone(Arc::new(Zone::new("UTC", vec![i64::MIN], vec![0]))));
        UTC.clone()
    }

    /// A zone of the tz database by name. Read once per process and zone.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for a name that is not there.
    pub fn named(name: &str) -> Result<Self> {
        static ZONES: RwLock<Option<HashMap<String, TimeZone>>> = RwLock::new(None);
        if let Some(zones) = &*ZONES.read().unwrap_or_else(PoisonError::into_inner)
            && let Some(zone) = zones.get(name)
        {
            return Ok(zone.clone());
        }
        let found: chrono_tz::Tz =
            name.parse().map_err(|_| Error::new(ErrorCode::BAD_ARGUMENTS, format!("Invalid time zone: {name}")))?;
        let zone = Self(Arc::new(Zone::read(name, found)));
        let mut zones = ZONES.write().unwrap_or_else(PoisonError::into_inner);
        // Names come from a fixed list, so the map is bounded.
        zones.get_or_insert_with(HashMap::new).insert(name.to_owned(), zone.clone());
        Ok(zone)
    }

    /// The name.
    pub fn name(&self) -> &Arc<str> {
        &self.0.name
    }

    /// A reader of offsets that is quick for times near each other.
    pub fn cursor(&self) -> ZoneCursor {
        let mut cursor = ZoneCursor { zone: self.clone(), from: 0, until: 0, offset: 0 };
        cursor.seek(0);
        cursor
    }

    /// Seconds that local time is ahead of UTC at `utc` seconds since the epoch.
    pub fn offset_at(&self, utc: i64) -> i32 {
        self.0.offsets.get(self.0.position(utc)).copied().unwrap_or(0)
    }

    /// Seconds since the epoch of a local time, itself given as seconds since 1970-01-01 00:00:00 local. A time that comes twice
    /// is the first of the two; a time that a clock skips is counted on from before the gap.
    pub fn to_utc(&self, local: i64) -> i64 {
        let zone = &*self.0;
        let near = zone.position(local);
        for at in near.saturating_sub(1)..zone.offsets.len() {
            let utc = local.saturating_sub(i64::from(zone.offsets.get(at).copied().unwrap_or(0)));
            if zone.starts.get(at + 1).is_none_or(|next| utc < *next) {
                return utc;
            }
        }
        local
    }
}

impl Zone {
    /// Finds every change of offset from 1850 to 2150 by asking the database every two weeks and then halving.
    fn read(name: &str, database: chrono_tz::Tz) -> Self {
        const STEP_SECONDS: i64 = 14 * DAY_SECONDS;
        let offset_at = |utc: i64| {
            let time = DateTime::from_timestamp(utc, 0).unwrap_or_default().naive_utc();
            database.offset_from_utc_datetime(&time).fix().local_minus_utc()
        };
        let mut before = i64::from(days_from_civil(1850, 1, 1)) * DAY_SECONDS;
        let end = i64::from(days_from_civil(2150, 1, 1)) * DAY_SECONDS;
        let (mut starts, mut offsets) = (vec![i64::MIN], vec![offset_at(before)]);
        while before < end {
            let after = before + STEP_SECONDS;
            let mut offset = offset_at(before);
            // Two changes within one step are found one after the other.
            while offset != offset_at(after) {
                let (mut low, mut high) = (before, after);
                while high - low > 1 {
                    let middle = i64::midpoint(low, high);
                    if offset_at(middle) == offset { low = middle } else { high = middle }
                }
                offset = offset_at(high);
                starts.push(high);
                offsets.push(offset);
                before = high;
            }
            before = after;
        }
        Self::new(name, starts, offsets)
    }

    fn new(name: &str, starts: Vec<i64>, offsets: Vec<i32>) -> Self {
        let position = |span: i64| starts.partition_point(|start| *start <= span * SPAN_SECONDS).saturating_sub(1);
        let firsts = (FIRST_SPAN..LAST_SPAN).map(|span| position(span) as u16).collect();
        Self { name: name.into(), starts, offsets, firsts }
    }

    /// Where the last start is that is not behind a moment.
    fn position(&self, utc: i64) -> usize {
        let span = usize::try_from(utc.div_euclid(SPAN_SECONDS) - FIRST_SPAN);
        let Some(first) = span.ok().and_then(|span| self.firsts.get(span)) else {
            return self.starts.partition_point(|start| *start <= utc).saturating_sub(1);
        };
        let first = usize::from(*first);
        let later = self.starts.get(first + 1..).unwrap_or_default();
        first + later.iter().take_while(|start| **start <= utc).count()
    }
}

/// Reads offsets of one zone and remembers the last one: a column's times mostly lie within one half of a year.
#[derive(Clone, Debug)]
pub struct ZoneCursor {
    zone: TimeZone,
    from: i64,
    until: i64,
    offset: i32,
}

impl ZoneCursor {
    /// Seconds that local time is ahead of UTC at `utc`.
    #[inline]
    pub fn offset_at(&mut self, utc: i64) -> i32 {
        if utc < self.from || utc >= self.until {
            self.seek(utc);
        }
        self.offset
    }

    /// Local seconds since 1970-01-01 00:00:00 of `utc`.
    #[inline]
    pub fn to_local(&mut self, utc: i64) -> i64 {
        utc.saturating_add(i64::from(self.offset_at(utc)))
    }

    /// [`TimeZone::to_utc`].
    #[inline]
    pub fn to_utc(&mut self, local: i64) -> i64 {
        // Well inside a span, where no other offset can be meant.
        let utc = local.saturating_sub(i64::from(self.offset));
        if utc >= self.from.saturating_add(2 * DAY_SECONDS) && utc < self.until {
            return utc;
        }
        let utc = self.zone.to_utc(local);
        self.seek(utc);
        utc
    }

    /// The zone.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    fn seek(&mut self, utc: i64) {
        let zone = &*self.zone.0;
        let at = zone.position(utc);
        self.from = zone.starts.get(at).copied().unwrap_or(i64::MIN);
        self.until = zone.starts.get(at + 1).copied().unwrap_or(i64::MAX);
        self.offset = zone.offsets.get(at).copied().unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_agree() {
        assert_eq!(days_from_civil(1970, 1, 1), 0);
        assert_eq!(days_from_civil(0, 1, 1), DATE32_MIN);
        assert_eq!(days_from_civil(9999, 12, 31), DATE32_MAX);
        for days in DATE32_MIN..=DATE32_MAX {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
            assert!((1..=12).contains(&month) && day >= 1 && day <= days_of_month(year, month));
        }
    }

    #[test]
    fn spans_find_what_a_search_finds() {
        for name in ["UTC", "Europe/Berlin", "America/New_York", "Africa/Casablanca", "Asia/Kathmandu"] {
            let zone = TimeZone::named(name).unwrap();
            let zone = &*zone.0;
            let around =
                zone.starts.iter().flat_map(|start| [start.saturating_sub(1), *start, start.saturating_add(1)]);
            let spread = (-5_000_i64..5_000).map(|number| number * 1_234_567);
            for utc in around.chain(spread).chain([i64::MIN, i64::MAX, SPAN_SECONDS * LAST_SPAN]) {
                let expected = zone.starts.partition_point(|start| *start <= utc).saturating_sub(1);
                assert_eq!(zone.position(utc), expected, "{name} {utc}");
            }
        }
    }

    #[test]
    fn months_are_cut_to_their_length() {
        let day = |y, m, d| days_from_civil(y, m, d);
        assert_eq!(add_months(day(2020, 1, 31), 1), day(2020, 2, 29));
        assert_eq!(add_months(day(2020, 3, 31), -13), day(2019, 2, 28));
    }

    #[test]
    fn zones_change_their_offset() {
        let berlin = TimeZone::named("Europe/Berlin").unwrap();
        let local = |y, m, d, h: i64, min: i64| i64::from(days_from_civil(y, m, d)) * DAY_SECONDS + h * 3600 + min * 60;
        // 02:30 does not exist on this day and is counted on from before the gap: 01:30 UTC less an hour.
        assert_eq!(berlin.to_utc(local(2021, 3, 28, 2, 30)), local(2021, 3, 28, 0, 30));
        // 02:30 comes twice on this day; the first is summer time.
        assert_eq!(berlin.to_utc(local(2021, 10, 31, 2, 30)), local(2021, 10, 31, 0, 30));
        assert_eq!(berlin.to_utc(local(2021, 10, 31, 3, 30)), local(2021, 10, 31, 2, 30));
        let mut cursor = berlin.cursor();
        for hours in 0..24 * 366 {
            let utc = local(2021, 1, 1, 0, 0) + hours * 3600;
            assert_eq!(cursor.offset_at(utc), berlin.offset_at(utc));
            let there = cursor.to_local(utc);
            assert_eq!(cursor.to_utc(there), berlin.to_utc(there));
        }
        assert_eq!(TimeZone::named("Mars/Base").unwrap_err().code, ErrorCode::BAD_ARGUMENTS);
    }
}
