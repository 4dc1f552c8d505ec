//! `formatDateTimeInJodaSyntax`: times as text by a pattern in Joda's letters, where repeating a letter widens a number or lengthens a name.

use std::sync::Arc;

use squall_types::calendar::civil_from_days;
use squall_types::text::{MONTHS, WEEKDAYS};
use squall_types::{DataType, Error, ErrorCode, Result};

use super::construct::{of_seconds, resolve_from_timestamp};
use super::field::day_of_year;
use super::format::digits;
use super::time::{Instant, Kind, Time};
use super::week::{iso_week, iso_year, weekday};
use crate::function::BoundFunction;
use crate::scalar::simple::{Call, string_column};

/// Digits of a fraction at most.
const FRACTION_DIGITS_MAX: usize = 9;

type Bound = Result<Arc<dyn BoundFunction>>;

enum Piece {
    Text(Vec<u8>),
    /// A letter and how often it is there.
    Field(u8, usize),
}

fn read(pattern: &[u8]) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut rest = pattern;
    while let Some(&letter) = rest.first() {
        if letter == b'\'' {
            let quoted = rest.get(1..).unwrap_or_default();
            if quoted.first() == Some(&b'\'') {
                pieces.push(Piece::Text(b"'".to_vec()));
                rest = quoted.get(1..).unwrap_or_default();
                continue;
            }
            let (mut text, mut at) = (Vec::new(), 0);
            loop {
                match (quoted.get(at), quoted.get(at + 1)) {
                    (Some(b'\''), Some(b'\'')) => {
                        text.push(b'\'');
                        at += 2;
                    }
                    (Some(b'\''), _) => break,
                    (Some(other), _) => {
                        text.push(*other);
                        at += 1;
                    }
                    (None, _) => {
                        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "No closing single quote for literal"));
                    }
                }
            }
            pieces.push(Piece::Text(text));
            rest = quoted.get(at + 1..).unwrap_or_default();
            continue;
        }
        let count = rest.iter().take_while(|byte| **byte == letter).count();
        rest = rest.get(count..).unwrap_or_default();
        if !letter.is_ascii_alphabetic() {
            pieces.push(Piece::Text(vec![letter; count]));
            continue;
        }
        let refused = |what: &str| Err(Error::new(ErrorCode::NOT_IMPLEMENTED, what.to_owned()));
        match letter {
            b'z' if count < 4 => return refused("Short name time zone is not yet supported"),
            b'Z' => return refused("format is not supported for TIMEZONE_OFFSET_ID"),
            letter if b"GCYxweEyDMdaKhHkmsSz".contains(&letter) => pieces.push(Piece::Field(letter, count)),
            other => return refused(&format!("format is not supported for {}", char::from(other))),
        }
    }
    Ok(pieces)
}

pub(super) fn resolve(call: &Call<'_>) -> Bound {
    call.arguments(2..=3)?;
    let time = Time::of(call, 0, Some(2))?;
    call.strings([1])?;
    let pieces = read(call.constant_bytes(1)?)?;
    let ticks = match time.kind {
        Kind::DateTime64 { ticks, .. } => ticks,
        _ => 1,
    };
    let zone_name = time.zone.name().clone();
    call.bind(DataType::String, move |arguments, rows| {
        let instants = time.instants(arguments, 0, rows)?;
        string_column(rows, rows * 20, |out, row| {
            for piece in &pieces {
                match piece {
                    Piece::Text(text) => out.extend_from_slice(text),
                    Piece::Field(letter, count) => append(out, *letter, *count, instants[row], ticks, &zone_name),
                }
            }
            Ok(())
        })
    })
}

fn append(out: &mut Vec<u8>, letter: u8, count: usize, instant: Instant, ticks: i64, zone_name: &str) {
    let days = instant.day();
    let (year, month, day) = civil_from_days(days);
    let second_of_day = instant.second_of_day();
    let hour = second_of_day / 3600;
    let width = count as u32;
    let name = |names: &[&str], at: usize| {
        let name = names.get(at).copied().unwrap_or_default();
        if count > 3 { name } else { name.get(..3).unwrap_or(name) }.as_bytes().to_vec()
    };
    match letter {
        b'G' => out.extend_from_slice(match (count > 3, year > 0) {
            (true, true) => b"Anno Domini",
            (true, false) => b"Before Christ",
            (false, true) => b"AD",
            (false, false) => b"BC",
        }),
        b'C' => digits(out, i64::from(year / 100), width),
        b'y' | b'Y' if count == 2 => digits(out, i64::from(year % 100), 2),
        b'y' | b'Y' => digits(out, i64::from(year), width),
        b'x' => digits(out, i64::from(iso_year(days)), width),
        b'w' => digits(out, i64::from(iso_week(days)), width),
        b'e' => digits(out, i64::from(weekday(days)) + 1, width),
        b'E' => out.extend_from_slice(&name(&WEEKDAYS, weekday(days) as usize)),
        b'D' => digits(out, i64::from(day_of_year(days)), width),
        b'M' if count > 2 => out.extend_from_slice(&name(&MONTHS, month as usize - 1)),
        b'M' => digits(out, i64::from(month), width),
        b'd' => digits(out, i64::from(day), width),
        b'a' => out.extend_from_slice(if hour < 12 { b"AM" } else { b"PM" }),
        b'K' => digits(out, hour % 12, width),
        b'h' => digits(out, if hour % 12 == 0 { 12 } else { hour % 12 }, width),
        b'H' => digits(out, hour, width),
        b'k' => digits(out, if hour == 0 { 24 } else { hour }, width),
        b'm' => digits(out, second_of_day / 60 % 60, width),
        b's' => digits(out, second_of_day % 60, width),
        b'S' => {
            // The first digits of the fraction, zeros behind those that there are.
            let own = ticks.checked_ilog10().unwrap_or(0);
            let mut fraction = Vec::new();
            if own > 0 {
                digits(&mut fraction, instant.fraction, own);
            }
            fraction.resize(count.min(FRACTION_DIGITS_MAX), b'0');
            out.extend_from_slice(&fraction);
        }
        _ => out.extend_from_slice(zone_name.as_bytes()),
    }
}

/// `fromUnixTimestampInJodaSyntax(seconds[, pattern[, zone]])`.
pub(super) fn resolve_from_unix(call: &Call<'_>) -> Bound {
    call.arguments(1..=3)?;
    if call.arguments.len() == 1 {
        return resolve_from_timestamp(call);
    }
    call.integers([0])?;
    of_seconds(call, resolve)
}
