//! When a view is to be refreshed, as its REFRESH clause says it: computed from times alone. Times are seconds since 1970, in UTC.

use chrono::{DateTime, Datelike, Months, NaiveDate};
use squall_sql::ast::{IntervalUnit, RefreshStrategy, TimeUnitAmount};
use squall_types::{Error, ErrorCode, Result};

const DAY_S: i64 = 86_400;
/// The first Monday: weeks begin on one.
const FIRST_MONDAY_S: i64 = 4 * DAY_S;
const WEEK_S: i64 = 7 * DAY_S;
/// The longest period.
const YEARS_MAX: u64 = 1000;

/// A span of time: months, or seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Span {
    months: u32,
    seconds: i64,
}

/// When a view is refreshed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Schedule {
    /// The time from the end of a refresh to the next, rather than points in time.
    is_after: bool,
    period: Span,
    offset: Span,
    /// Seconds around a time that the refresh is spread over.
    spread_s: i64,
}

impl Span {
    fn of(amounts: &[TimeUnitAmount]) -> Result<Self> {
        let bad = |message: &str| Error::new(ErrorCode::BAD_ARGUMENTS, message);
        let (mut months, mut seconds) = (0u64, 0u64);
        for TimeUnitAmount { amount, unit } in amounts {
            let (total, each) = match unit {
                IntervalUnit::Nanosecond | IntervalUnit::Microsecond | IntervalUnit::Millisecond => {
                    return Err(bad("Sub-second intervals are not supported"));
                }
                IntervalUnit::Second => (&mut seconds, 1),
                IntervalUnit::Minute => (&mut seconds, 60),
                IntervalUnit::Hour => (&mut seconds, 3600),
                IntervalUnit::Day => (&mut seconds, DAY_S as u64),
                IntervalUnit::Week => (&mut seconds, WEEK_S as u64),
                IntervalUnit::Month => (&mut months, 1),
                IntervalUnit::Quarter => (&mut months, 3),
                IntervalUnit::Year => (&mut months, 12),
            };
            *total = total.saturating_add(amount.saturating_mul(each));
        }
        if months > YEARS_MAX * 12 || seconds > YEARS_MAX * 366 * DAY_S as u64 {
            return Err(bad("Interval is too long"));
        }
        if months > 0 && seconds > 0 {
            let message = "Interval shouldn't contain both calendar units and clock units (e.g. months and days)";
            return Err(bad(message));
        }
        Ok(Self { months: months as u32, seconds: seconds as i64 })
    }

    fn is_zero(self) -> bool {
        self == Self::default()
    }

    /// At least so many seconds.
    fn least_s(self) -> i64 {
        self.seconds + i64::from(self.months) * 28 * DAY_S
    }

    /// At most so many seconds.
    fn most_s(self) -> i64 {
        self.seconds + i64::from(self.months) * 31 * DAY_S
    }

    /// The time that is so much later.
    fn after(self, time: i64) -> i64 {
        match self.months {
            0 => time.saturating_add(self.seconds),
            months => {
                let moved = DateTime::from_timestamp(time, 0).and_then(|at| at.checked_add_months(Months::new(months)));
                moved.map_or(i64::MAX, |at| at.timestamp())
            }
        }
    }

    /// The last multiple that is not later: of months since 1970, of weeks since a Monday, of other spans since 1970.
    fn floor(self, time: i64) -> i64 {
        if self.months == 0 {
            let seconds = self.seconds.max(1);
            let origin = if seconds % WEEK_S == 0 { FIRST_MONDAY_S } else { 0 };
            return (time - origin).div_euclid(seconds) * seconds + origin;
        }
        let Some(at) = DateTime::from_timestamp(time, 0) else { return time };
        let months = i64::from(at.year() - 1970) * 12 + i64::from(at.month0());
        let first = months.div_euclid(i64::from(self.months)) * i64::from(self.months);
        let date = NaiveDate::from_ymd_opt((1970 + first.div_euclid(12)) as i32, first.rem_euclid(12) as u32 + 1, 1);
        date.and_then(|date| date.and_hms_opt(0, 0, 0)).map_or(time, |at| at.and_utc().timestamp())
    }
}

impl Schedule {
    /// What a clause says.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where it makes no sense.
    pub(crate) fn of(strategy: &RefreshStrategy) -> Result<Self> {
        let bad = |message: &str| Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        let (period, offset) = (Span::of(&strategy.period)?, Span::of(&strategy.offset)?);
        if period.is_zero() {
            return bad("Interval must be positive");
        }
        if strategy.after && !strategy.offset.is_empty() {
            return bad("OFFSET is for REFRESH EVERY alone");
        }
        if offset.months > 0 && period.months == 0 || offset.most_s() >= period.least_s() {
            return bad("OFFSET must be less than the period");
        }
        let spread_s = Span::of(&strategy.randomize)?.most_s();
        Ok(Self { is_after: strategy.after, period, offset, spread_s })
    }

    /// The point in time that one falls to.
    fn slot(&self, time: i64) -> i64 {
        let offset = |slot: i64| self.offset.after(slot);
        let slot = self.period.floor(time);
        if offset(slot) <= time { offset(slot) } else { offset(self.period.floor(slot - 1)) }
    }

    /// What counts as done of a view that is there from a time on and was not refreshed then.
    pub(crate) fn at_first(&self, time: i64) -> i64 {
        if self.is_after { time } else { self.slot(time) }
    }

    /// What counts as done after a refresh that went from the one time to the other; one out of the schedule does not move points in time.
    pub(crate) fn completed(&self, before: Option<i64>, began: i64, ended: i64, is_out_of_schedule: bool) -> i64 {
        if self.is_after {
            return ended;
        }
        match before {
            Some(before) if is_out_of_schedule => before,
            // Those that were missed meanwhile are not made up for.
            Some(before) => self.slot(began).max(self.next(before)),
            None => self.slot(began),
        }
    }

    /// When the next refresh is due after what counts as done.
    pub(crate) fn next(&self, completed: i64) -> i64 {
        if self.is_after {
            return self.period.after(completed);
        }
        let begin = self.period.floor(self.slot(completed));
        self.offset.after(self.period.after(begin))
    }

    /// The same moved as RANDOMIZE FOR says, by a number from 0 to 1.
    pub(crate) fn spread(&self, time: i64, chance: f64) -> i64 {
        time.saturating_add((self.spread_s as f64 * (chance - 0.5)) as i64)
    }

    /// Whether it names points in time.
    pub(crate) fn has_points(&self) -> bool {
        !self.is_after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(text: &str) -> Result<Schedule> {
        let strategy = squall_sql::parse_refresh(text, &squall_sql::ParserLimits::default()).unwrap();
        Schedule::of(&strategy)
    }

    fn time(text: &str) -> i64 {
        chrono::NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").unwrap().and_utc().timestamp()
    }

    #[test]
    fn points_in_time_are_those_of_the_calendar() {
        for (clause, now, slot, next) in [
            ("EVERY 1 HOUR", "2026-11-25 23:41:49", "2026-11-25 23:00:00", "2026-11-26 00:00:00"),
            ("EVERY 1 DAY OFFSET 2 HOUR", "2026-11-25 01:00:00", "2026-11-24 02:00:00", "2026-11-25 02:00:00"),
            ("EVERY 1 DAY OFFSET 2 HOUR", "2026-11-25 02:00:00", "2026-11-25 02:00:00", "2026-11-26 02:00:00"),
            ("EVERY 1 WEEK", "2026-11-25 12:00:00", "2026-11-23 00:00:00", "2026-11-30 00:00:00"),
            ("EVERY 1 MONTH OFFSET 5 DAY 2 HOUR", "2026-03-01 00:00:00", "2026-02-06 02:00:00", "2026-03-06 02:00:00"),
            ("EVERY 1 QUARTER", "2026-02-28 00:00:00", "2026-01-01 00:00:00", "2026-04-01 00:00:00"),
            ("EVERY 1 YEAR", "2026-11-25 00:00:00", "2026-01-01 00:00:00", "2027-01-01 00:00:00"),
            ("EVERY 10 MINUTE", "1969-12-31 23:59:00", "1969-12-31 23:50:00", "1970-01-01 00:00:00"),
        ] {
            let schedule = schedule(clause).unwrap();
            let done = schedule.at_first(time(now));
            assert_eq!((done, schedule.next(done)), (time(slot), time(next)), "{clause}");
            assert_eq!(schedule.slot(time(next)), time(next), "{clause}");
        }
        let after = schedule("AFTER 1 MONTH").unwrap();
        assert_eq!(after.next(time("2026-01-31 10:00:00")), time("2026-02-28 10:00:00"));
    }

    #[test]
    fn what_is_missed_is_not_made_up_for() {
        let hourly = schedule("EVERY 1 HOUR").unwrap();
        let [ten, eleven] = [10, 11].map(|hour| hour * 3600);
        assert_eq!(hourly.completed(Some(ten), eleven + 5, eleven + 9, false), eleven);
        // It took until two.
        assert_eq!(hourly.next(hourly.completed(Some(ten), eleven + 5, 14 * 3600 + 1, false)), 12 * 3600);
        assert_eq!(hourly.completed(Some(ten), 20 * 3600 + 7, 20 * 3600 + 8, false), 20 * 3600);
        // One more in between moves nothing.
        assert_eq!(hourly.completed(Some(ten), ten + 600, ten + 700, true), ten);
        // One that began a little early, as it is spread, was that of the next point.
        assert_eq!(hourly.completed(Some(ten), eleven - 60, eleven, false), eleven);
        let after = schedule("AFTER 10 MINUTE").unwrap();
        assert_eq!(after.next(after.completed(Some(0), 600, 650, true)), 1250);
    }

    #[test]
    fn clauses_that_make_no_sense_are_refused() {
        for clause in ["EVERY 0 HOUR", "EVERY 1 MONTH 2 DAY", "EVERY 1 HOUR OFFSET 2 HOUR", "EVERY 5 MILLISECOND"] {
            assert_eq!(schedule(clause).unwrap_err().code, ErrorCode::BAD_ARGUMENTS, "{clause}");
        }
        let spread = schedule("EVERY 1 DAY RANDOMIZE FOR 1 HOUR").unwrap();
        assert_eq!([0.0, 0.5, 1.0].map(|chance| spread.spread(7200, chance)), [5400, 7200, 9000]);
    }
}
