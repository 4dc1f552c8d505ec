//! The day of a time in the server's time zone, as `event_date` has it. Most times that are asked for are of one quarter of an hour.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use chrono_tz::Tz;

/// Days of times in one time zone.
#[derive(Debug)]
pub(crate) struct LocalDays {
    zone: Tz,
    /// The last quarter of an hour above 16 bits of its day. Zones change by whole quarters.
    last: AtomicU64,
}

impl LocalDays {
    pub(crate) fn new(zone: Tz) -> Self {
        Self { zone, last: AtomicU64::new(u64::MAX) }
    }

    /// Days from 1970-01-01.
    pub(crate) fn day(&self, time: SystemTime) -> u64 {
        self.day_of_second(time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
    }

    /// The same of a second since the epoch.
    pub(crate) fn day_of_second(&self, second: u64) -> u64 {
        let quarter = second / 900;
        let last = self.last.load(Ordering::Relaxed);
        if last >> 16 == quarter {
            return last & 0xFFFF;
        }
        let time = chrono::DateTime::from_timestamp(i64::try_from(second).unwrap_or(0), 0).unwrap_or_default();
        let local = time.with_timezone(&self.zone).date_naive();
        let days = local.signed_duration_since(chrono::NaiveDate::default()).num_days();
        let day = u64::from(u16::try_from(days).unwrap_or(0));
        self.last.store(quarter << 16 | day, Ordering::Relaxed);
        day
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn days_begin_at_local_midnight() {
        let days = LocalDays::new(chrono_tz::Asia::Kathmandu);
        // The offset was 5:30 then.
        let at = |minutes: u64| days.day(UNIX_EPOCH + Duration::from_secs(minutes * 60));
        assert_eq!((at(18 * 60 + 29), at(18 * 60 + 30), at(18 * 60 + 29)), (0, 1, 0));
    }
}
