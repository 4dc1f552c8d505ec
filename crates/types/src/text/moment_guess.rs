//! Which texts are dates and times for certain, where nothing says that they are: in inferred columns and in JSON.

use super::date_time::{MomentForm, read_certain_date_time};
use crate::calendar::{ZoneCursor, days_from_civil, days_of_month};

/// What a text is taken for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GuessedMoment {
    /// A day that `Date` holds.
    Date,
    /// Whole seconds that `DateTime` holds.
    DateTime,
    /// Any other moment that `DateTime64(9)` holds.
    DateTime64,
}

/// What may be taken for dates and times.
#[derive(Clone, Copy, Debug)]
pub struct MomentGuess {
    /// Dates are.
    pub dates: bool,
    /// Moments are.
    pub datetimes: bool,
    /// Moments are in any form that is certain, `1/2/2024 10:00` and `2 Jan 2024`, or in that of ISO 8601 only, which is the basic one.
    pub form: MomentForm,
}

impl Default for MomentGuess {
    fn default() -> Self {
        Self { dates: true, datetimes: true, form: MomentForm::default() }
    }
}

/// Texts outside of these lengths are not looked at.
const LENGTHS: std::ops::RangeInclusive<usize> = 6..=64;

impl MomentGuess {
    /// What the whole text is, if anything.
    pub fn of(self, text: &[u8], zone: &mut ZoneCursor) -> Option<GuessedMoment> {
        if !LENGTHS.contains(&text.len()) || !text.iter().any(u8::is_ascii_digit) {
            return None;
        }
        // As in ClickHouse, what Date does not hold is a moment.
        if self.dates && date(text).is_some_and(|days| u16::try_from(days).is_ok()) {
            return Some(GuessedMoment::Date);
        }
        if !self.datetimes || (self.form == MomentForm::Basic && !is_plain(text)) {
            return None;
        }
        let moment = read_certain_date_time(text, zone, self.form.style())?;
        if u32::try_from(moment.seconds).is_ok() && !text.contains(&b'.') {
            return Some(GuessedMoment::DateTime);
        }
        moment.checked_ticks(9).map(|_| GuessedMoment::DateTime64)
    }
}

/// The day that the whole text is: `2024-01-02`, `2024/1/2`, `2024:01:02`.
fn date(text: &[u8]) -> Option<i32> {
    let (year, rest) = text.split_at_checked(4)?;
    let mut parts = rest.split(|byte| matches!(byte, b'-' | b'/' | b':'));
    let (Some([]), Some(month), Some(day), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return None;
    };
    let number = |digits: &[u8]| {
        let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        is_number.then(|| digits.iter().fold(0u32, |number, digit| number * 10 + u32::from(digit - b'0')))
    };
    if month.len() > 2 || day.len() > 2 {
        return None;
    }
    let (year, month, day) = (number(year)?.cast_signed(), number(month)?, number(day)?);
    let is_day = (1..=12).contains(&month) && (1..=days_of_month(year, month)).contains(&day);
    is_day.then(|| days_from_civil(year, month, day))
}

/// Whether a text has the form `2024-01-02 03:04:05`, with a fraction or without.
fn is_plain(text: &[u8]) -> bool {
    let Some((moment, fraction)) = text.split_at_checked(19) else { return false };
    let matches = |(byte, form): (&u8, &u8)| match form {
        b'd' => byte.is_ascii_digit(),
        b' ' => matches!(byte, b' ' | b'T'),
        _ => byte == form,
    };
    let is_fraction = match fraction {
        [] => true,
        [b'.', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    is_fraction && moment.iter().zip(b"dddd-dd-dd dd:dd:dd").all(matches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::TimeZone;

    #[test]
    fn certain_texts_only() {
        use GuessedMoment::{Date, DateTime, DateTime64};
        let iso = MomentGuess { form: MomentForm::Basic, ..MomentGuess::default() };
        for (text, any_form, iso_only) in [
            ("2024-02-29", Some(Date), Some(Date)),
            ("2024/2/9", Some(Date), Some(Date)),
            ("2023-02-29", None, None),
            ("1900-01-01", Some(DateTime64), None),
            ("3000-01-01", None, None),
            ("2024-02-29 10:00:00", Some(DateTime), Some(DateTime)),
            ("2024-02-29T10:00:00.5", Some(DateTime64), Some(DateTime64)),
            ("2024-02-29T10:00:00Z", Some(DateTime), None),
            ("2024-02-29 10:00", Some(DateTime), None),
            ("9/2/2024", Some(DateTime), None),
            ("2/29/2024 5pm", Some(DateTime), None),
            ("29 Feb 2024 10:00:00.5 +0100", Some(DateTime64), None),
            ("29.02.2024", None, None),
            ("2024.02.09", None, None),
            ("20240229T100000", None, None),
            ("1709200800", None, None),
            ("29 Feb", None, None),
            ("10:00:00", None, None),
            ("2024-02", None, None),
            ("2024-Feb-29", None, None),
            ("29 Feb 2024 or so", None, None),
        ] {
            let zone = || TimeZone::utc().cursor();
            assert_eq!(MomentGuess::default().of(text.as_bytes(), &mut zone()), any_form, "{text}");
            assert_eq!(iso.of(text.as_bytes(), &mut zone()), iso_only, "{text}");
        }
        let no_dates = MomentGuess { dates: false, ..MomentGuess::default() };
        assert_eq!(no_dates.of(b"2024-02-29", &mut TimeZone::utc().cursor()), Some(DateTime));
    }
}
