//! Intervals as spans of time, as Kusto writes them: `1.02:03:04.5000000`, days only where there are any, and the fraction in steps of
//! 100 ns only where there is one.

use super::number::append_integer;
use crate::data_type::IntervalKind;
use crate::error::{Error, ErrorCode, Result};

const SECOND: i128 = 1_000_000_000;
/// A step of the fraction, in nanoseconds.
const STEP: i128 = 100;

/// The nanoseconds of a unit.
///
/// # Errors
/// `BAD_ARGUMENTS` for units of the calendar, which have no fixed length.
pub(super) fn nanoseconds(unit: IntervalKind) -> Result<i64> {
    use IntervalKind::{Day, Hour, Microsecond, Millisecond, Minute, Month, Nanosecond, Quarter, Second, Week, Year};
    Ok(match unit {
        Nanosecond => 1,
        Microsecond => 1_000,
        Millisecond => 1_000_000,
        Second => 1_000_000_000,
        Minute => 60 * 1_000_000_000,
        Hour => 3_600 * 1_000_000_000,
        Day => 86_400 * 1_000_000_000,
        Week => 7 * 86_400 * 1_000_000_000,
        Month | Quarter | Year => {
            let message = "Cannot format a calendar interval in Kusto timespan format.";
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
    })
}

/// Checks that each of these spans is a whole number of steps.
///
/// # Errors
/// `BAD_ARGUMENTS`.
pub(super) fn check_spans(values: &[i64], unit: i64) -> Result<()> {
    if i128::from(unit) % STEP == 0 || values.iter().all(|value| i128::from(*value) % STEP == 0) {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::BAD_ARGUMENTS,
        "Cannot format an IntervalNanosecond that is not a multiple of 100 in Kusto timespan format.",
    ))
}

/// Appends a span of so many units of `unit` nanoseconds.
pub(super) fn append_span(out: &mut Vec<u8>, value: i64, unit: i64) {
    let total = i128::from(value) * i128::from(unit);
    if total < 0 {
        out.push(b'-');
    }
    let total = total.abs();
    let (seconds, fraction) = (total / SECOND, (total % SECOND) / STEP);
    let days = seconds / 86_400;
    if days > 0 {
        append_integer(out, days);
        out.push(b'.');
    }
    let (hours, minutes, seconds) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    out.extend_from_slice(format!("{hours:02}:{minutes:02}:{seconds:02}").as_bytes());
    if fraction > 0 {
        out.extend_from_slice(format!(".{fraction:07}").as_bytes());
    }
}
