//! Names of units of time.

use squall_types::IntervalKind;

/// The unit of a singular or plural name or of an abbreviation, in any case of letters.
pub(super) fn parse(name: &str) -> Option<IntervalKind> {
    let name = name.to_ascii_lowercase();
    Some(match name.as_str() {
        "nanosecond" | "nanoseconds" | "ns" => IntervalKind::Nanosecond,
        "microsecond" | "microseconds" | "us" | "u" => IntervalKind::Microsecond,
        "millisecond" | "milliseconds" | "ms" => IntervalKind::Millisecond,
        "second" | "seconds" | "ss" | "s" => IntervalKind::Second,
        "minute" | "minutes" | "mi" | "n" => IntervalKind::Minute,
        "hour" | "hours" | "hh" | "h" => IntervalKind::Hour,
        "day" | "days" | "dd" | "d" => IntervalKind::Day,
        "week" | "weeks" | "wk" | "ww" => IntervalKind::Week,
        "month" | "months" | "mm" | "m" => IntervalKind::Month,
        "quarter" | "quarters" | "qq" | "q" => IntervalKind::Quarter,
        "year" | "years" | "yyyy" | "yy" => IntervalKind::Year,
        _ => return None,
    })
}

/// The unit at the end of a function's name, in the plural: `addDays`.
pub(super) fn of_function(name: &str) -> Option<IntervalKind> {
    IntervalKind::ALL.into_iter().find(|kind| name.ends_with(&format!("{kind}s")))
}

/// Seconds of a unit that always has as many.
pub(super) fn seconds(kind: IntervalKind) -> Option<i64> {
    match kind {
        IntervalKind::Second => Some(1),
        IntervalKind::Minute => Some(60),
        IntervalKind::Hour => Some(3600),
        _ => None,
    }
}

/// Digits of a second that a unit below it needs.
pub(super) fn digits(kind: IntervalKind) -> Option<u8> {
    match kind {
        IntervalKind::Millisecond => Some(3),
        IntervalKind::Microsecond => Some(6),
        IntervalKind::Nanosecond => Some(9),
        _ => None,
    }
}
