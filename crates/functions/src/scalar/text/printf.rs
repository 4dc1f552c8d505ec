//! `printf(format, …)`: values put into a format with C's letters.

use std::iter::Peekable;
use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, floats, integers, string_column};

/// A place for a value.
#[derive(Clone, Debug)]
struct Place {
    is_left: bool,
    has_sign: bool,
    has_space: bool,
    is_alternate: bool,
    is_zero_filled: bool,
    width: usize,
    precision: Option<usize>,
    letter: u8,
}

enum Piece {
    Text(Vec<u8>),
    Value(Place),
}

/// Characters that one value may be widened to.
const WIDTH_MAX: usize = 10_000;

fn refused(what: &str) -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, format!("Bad format in function printf: {what}"))
}

/// The number at the front.
fn number(bytes: &mut Peekable<impl Iterator<Item = u8>>) -> Result<usize> {
    let mut number = 0_usize;
    while let Some(digit) = bytes.next_if(u8::is_ascii_digit) {
        number = number * 10 + usize::from(digit - b'0');
        if number > WIDTH_MAX {
            return Err(refused("too wide"));
        }
    }
    Ok(number)
}

fn read(format: &[u8]) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut text = Vec::new();
    let mut bytes = format.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            text.push(byte);
            continue;
        }
        if bytes.next_if_eq(&b'%').is_some() {
            text.push(b'%');
            continue;
        }
        let mut place = Place {
            is_left: false,
            has_sign: false,
            has_space: false,
            is_alternate: false,
            is_zero_filled: false,
            width: 0,
            precision: None,
            letter: 0,
        };
        while let Some(flag) = bytes.next_if(|byte| b"-+ #0".contains(byte)) {
            match flag {
                b'-' => place.is_left = true,
                b'+' => place.has_sign = true,
                b' ' => place.has_space = true,
                b'#' => place.is_alternate = true,
                _ => place.is_zero_filled = true,
            }
        }
        place.width = number(&mut bytes)?;
        if bytes.next_if_eq(&b'.').is_some() {
            place.precision = Some(number(&mut bytes)?);
        }
        place.letter = bytes.next().ok_or_else(|| refused("it ends inside of a place for a value"))?;
        if !b"diuoxXeEfFgGaAs".contains(&place.letter) {
            return Err(refused("invalid format specifier"));
        }
        pieces.push(Piece::Text(std::mem::take(&mut text)));
        pieces.push(Piece::Value(place));
    }
    pieces.push(Piece::Text(text));
    Ok(pieces)
}

enum Values<'a> {
    Strings(Strings<'a>),
    Integers(Vec<i64>),
    Floats(Vec<f64>),
}

fn fits(letter: u8, data_type: &DataType) -> bool {
    match letter {
        b's' => data_type.is_string_or_fixed_string(),
        b'd' | b'i' | b'u' | b'o' | b'x' | b'X' => data_type.is_integer() || *data_type == DataType::Bool,
        _ => data_type.is_float(),
    }
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=usize::MAX)?;
    call.strings([0])?;
    let constant = match call.constant(0) {
        Some(format) => Some(read(format.as_bytes().unwrap_or_default())?),
        None => None,
    };
    let types: Vec<DataType> = call.arguments.iter().skip(1).map(|argument| argument.data_type.clone()).collect();
    call.bind(DataType::String, move |arguments, rows| {
        let formats = Strings::of(arguments, 0)?;
        let values = types.iter().enumerate().map(|(at, data_type)| {
            Ok(if data_type.is_string_or_fixed_string() {
                Values::Strings(Strings::of(arguments, at + 1)?)
            } else if data_type.is_float() {
                Values::Floats(floats(arguments, at + 1, rows)?)
            } else {
                Values::Integers(integers(arguments, at + 1, rows)?)
            })
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        string_column(rows, rows * 16, |out, row| {
            checkpoint(64)?;
            let own;
            let pieces = match &constant {
                Some(pieces) => pieces,
                None => {
                    own = read(formats.get(row))?;
                    &own
                }
            };
            let mut next = 0;
            for piece in pieces {
                match piece {
                    Piece::Text(text) => out.extend_from_slice(text),
                    Piece::Value(place) => {
                        let (Some(value), Some(data_type)) = (values.get(next), types.get(next)) else {
                            return Err(refused("there are more places than values"));
                        };
                        if !fits(place.letter, data_type) {
                            return Err(refused(&format!(
                                "%{} does not take a value of type {data_type}",
                                char::from(place.letter)
                            )));
                        }
                        next += 1;
                        append(out, place, value, row);
                    }
                }
            }
            Ok(())
        })
    })
}

fn append(out: &mut Vec<u8>, place: &Place, value: &Values<'_>, row: usize) {
    let (sign, prefix, body, is_number) = match value {
        Values::Strings(strings) => {
            let text = strings.get(row);
            let text = place.precision.and_then(|most| text.get(..most)).unwrap_or(text);
            ("", "", text.to_vec(), false)
        }
        Values::Integers(numbers) => {
            let number = numbers[row];
            let (sign, prefix, digits) = match place.letter {
                b'x' => ("", if place.is_alternate && number != 0 { "0x" } else { "" }, format!("{number:x}")),
                b'X' => ("", if place.is_alternate && number != 0 { "0X" } else { "" }, format!("{number:X}")),
                b'o' => ("", if place.is_alternate { "0" } else { "" }, format!("{number:o}")),
                b'u' => ("", "", (number as u64).to_string()),
                _ => (sign_of(place, number < 0), "", number.unsigned_abs().to_string()),
            };
            let zeros = place.precision.unwrap_or(0).saturating_sub(digits.len());
            (sign, prefix, [vec![b'0'; zeros], digits.into_bytes()].concat(), place.precision.is_none())
        }
        Values::Floats(numbers) => {
            let number = numbers[row];
            let text = float(place, number.abs());
            (sign_of(place, number.is_sign_negative() && !number.is_nan()), "", text.into_bytes(), number.is_finite())
        }
    };
    let missing = place.width.saturating_sub(sign.len() + prefix.len() + body.len());
    let (spaces, zeros, behind) = match (place.is_left, place.is_zero_filled && is_number) {
        (true, _) => (0, 0, missing),
        (false, true) => (0, missing, 0),
        (false, false) => (missing, 0, 0),
    };
    out.extend(std::iter::repeat_n(b' ', spaces));
    out.extend_from_slice(sign.as_bytes());
    out.extend_from_slice(prefix.as_bytes());
    out.extend(std::iter::repeat_n(b'0', zeros));
    out.extend_from_slice(&body);
    out.extend(std::iter::repeat_n(b' ', behind));
}

fn sign_of(place: &Place, is_negative: bool) -> &'static str {
    match (is_negative, place.has_sign, place.has_space) {
        (true, _, _) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        _ => "",
    }
}

fn float(place: &Place, number: f64) -> String {
    let is_upper = place.letter.is_ascii_uppercase();
    let text = if !number.is_finite() {
        if number.is_nan() { "nan".to_owned() } else { "inf".to_owned() }
    } else {
        let precision = place.precision.unwrap_or(6);
        match place.letter.to_ascii_lowercase() {
            b'f' => format!("{number:.precision$}"),
            b'e' => scientific(number, precision),
            b'a' => hexadecimal(number),
            _ => general(number, precision.max(1), place.is_alternate),
        }
    };
    if is_upper { text.to_uppercase() } else { text }
}

fn scientific(number: f64, precision: usize) -> String {
    let text = format!("{number:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// `%g`: as short as `%e` or `%f` with so many digits that count.
fn general(number: f64, digits: usize, keeps_zeros: bool) -> String {
    let rounded = scientific(number, digits - 1);
    let exponent: i32 = rounded.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let trim = |text: &str| match keeps_zeros || !text.contains('.') {
        true => text.to_owned(),
        false => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
    };
    if exponent < -4 || exponent >= digits as i32 {
        let (mantissa, behind) = rounded.split_once('e').unwrap_or((&rounded, "+00"));
        return format!("{}e{behind}", trim(mantissa));
    }
    let precision = (digits as i32 - 1 - exponent).max(0) as usize;
    trim(&format!("{number:.precision$}"))
}

/// `%a`: the bits of the mantissa in hexadecimal, and the exponent of 2.
fn hexadecimal(number: f64) -> String {
    if number == 0.0 {
        return "0x0p+0".to_owned();
    }
    let bits = number.to_bits();
    let (exponent, mantissa) = ((bits >> 52 & 0x7FF) as i32, bits & ((1 << 52) - 1));
    let (first, exponent) = if exponent == 0 { (0, -1022) } else { (1, exponent - 1023) };
    let digits = format!("{mantissa:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("0x{first}{point}{digits}p{}{}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}
