//! Spans of time as text: `parseTimeDelta` and `parseISO8601Duration`, in seconds.

use std::sync::Arc;

use arrow_array::types::Float64Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings};

/// The seconds of a unit by its name.
fn unit_seconds(name: &str) -> Option<f64> {
    Some(match name {
        "years" | "year" | "yr" | "y" => 365.0 * 86_400.0,
        "months" | "month" | "mo" => 30.5 * 86_400.0,
        "weeks" | "week" | "w" => 7.0 * 86_400.0,
        "days" | "day" | "d" => 86_400.0,
        "hours" | "hour" | "hr" | "h" => 3_600.0,
        "minutes" | "minute" | "min" | "m" => 60.0,
        "seconds" | "second" | "sec" | "s" => 1.0,
        "milliseconds" | "millisecond" | "millisec" | "ms" => 1e-3,
        "microseconds" | "microsecond" | "microsec" | "μs" | "µs" | "us" => 1e-6,
        "nanoseconds" | "nanosecond" | "nanosec" | "ns" => 1e-9,
        _ => return None,
    })
}

fn wrong(name: &str, what: &str) -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, format!("Invalid argument of function {name}, {what}"))
}

/// The rest of a text after the bytes that fit.
fn skip(text: &str, fits: impl Fn(char) -> bool) -> &str {
    text.trim_start_matches(fits)
}

/// `1 min 35 sec`, `11s+22min`, `1yr2mo`.
fn time_delta(name: &str, text: &str) -> Result<f64> {
    let whole = || format!("str: \"{text}\"");
    let is_blank = |c: char| c == ' ';
    let mut rest = skip(text, is_blank);
    if rest.is_empty() {
        return Err(wrong(name, &format!("no valid characters, {}", whole())));
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let after_whole = skip(rest, |c| c.is_ascii_digit());
        if after_whole.len() == rest.len() {
            return Err(wrong(name, &whole()));
        }
        let mut after = after_whole;
        if let Some(fraction) = after_whole.strip_prefix('.') {
            after = skip(fraction, |c| c.is_ascii_digit());
            if after.len() == fraction.len() {
                return Err(wrong(name, &format!("number not found after '.', {}", whole())));
            }
        }
        let number: f64 = rest[..rest.len() - after.len()].parse().map_err(|_| wrong(name, &whole()))?;
        rest = skip(after, is_blank);
        let is_of_unit = |c: char| !c.is_ascii_digit() && !matches!(c, ' ' | ';' | ',' | ':' | '+' | '-');
        let after = skip(rest, is_of_unit);
        let unit = &rest[..rest.len() - after.len()];
        // A unit may end with a dot at the end of the text.
        let is_last = skip(after, is_blank).is_empty();
        let unit = if is_last { unit.trim_end_matches('.') } else { unit };
        if unit.is_empty() {
            let what = if rest.is_empty() { whole() } else { format!("time unit not found, {}", whole()) };
            return Err(wrong(name, &what));
        }
        let seconds = unit_seconds(unit).ok_or_else(|| wrong(name, &format!("can't parse the unit: \"{unit}\"")))?;
        total += number * seconds;
        rest = skip(after, is_blank);
        if let Some(after) = rest.strip_prefix([';', ',', ':', '+', '-']) {
            rest = skip(after, is_blank);
            if rest.is_empty() {
                return Err(wrong(name, &whole()));
            }
        }
    }
    Ok(total)
}

/// `P3DT4H5M6.5S`, `P2W`.
fn iso_duration(name: &str, text: &str) -> Result<f64> {
    let wrong = |what: &str| {
        Error::new(ErrorCode::BAD_ARGUMENTS, format!("Invalid argument of function {name}: {what}, str: \"{text}\""))
    };
    let mut rest = text.strip_prefix('P').ok_or_else(|| wrong("a duration must start with 'P'"))?;
    let mut total = 0.0;
    let mut is_time = false;
    let mut has_parts = false;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('T')
            && !is_time
        {
            (is_time, has_parts, rest) = (true, false, after);
            continue;
        }
        let after = skip(rest, |c| c.is_ascii_digit() || c == '.');
        let number = &rest[..rest.len() - after.len()];
        let mut letters = after.chars();
        let seconds = match (is_time, letters.next()) {
            (false, Some(letter @ ('Y' | 'M'))) => {
                let unit = if letter == 'Y' { "years" } else { "months" };
                return Err(wrong(&format!(
                    "the '{letter}' designator is not supported because {unit} have no fixed length in seconds; use weeks, days, hours, minutes or seconds, or resolve the duration against a date"
                )));
            }
            (false, Some('W')) => 7.0 * 86_400.0,
            (false, Some('D')) => 86_400.0,
            (true, Some('H')) => 3_600.0,
            (true, Some('M')) => 60.0,
            (true, Some('S')) => 1.0,
            _ => return Err(wrong("a component must be a number and a designator")),
        };
        total += number.parse::<f64>().map_err(|_| wrong("a component must begin with a number"))? * seconds;
        has_parts = true;
        rest = letters.as_str();
    }
    if has_parts { Ok(total) } else { Err(wrong("a duration must contain at least one component")) }
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let name = call.name;
    let read = if name == "parseTimeDelta" { time_delta } else { iso_duration };
    call.bind(DataType::Float64, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let mut seconds = Vec::with_capacity(rows);
        for row in 0..rows {
            checkpoint(8 * texts.get(row).len())?;
            seconds.push(read(name, &String::from_utf8_lossy(texts.get(row)))?);
        }
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, seconds))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        for (text, seconds) in [("1 min 35 sec", 95.0), ("11s+22min", 1331.0), ("1yr2mo", 36_806_400.0), ("0.5s", 0.5)]
        {
            assert_eq!(time_delta("parseTimeDelta", text).unwrap(), seconds, "{text}");
        }
        for text in ["", "1", "s1", "1ss", "1.s", "1yr-", "1s.2m", "1s1ss", "2;3m"] {
            assert!(time_delta("parseTimeDelta", text).is_err(), "{text}");
        }
        assert_eq!(iso_duration("f", "P1DT12H30M5.5S").unwrap(), 131_405.5);
        assert_eq!(iso_duration("f", "PT1H30M").unwrap(), 5_400.0);
        assert!(iso_duration("f", "P1Y").is_err());
        assert!(iso_duration("f", "P").is_err());
    }
}
