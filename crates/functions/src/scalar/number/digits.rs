//! Numbers by their decimal digits: some of them, more than a type may have, and texts with so many after the point.

use std::sync::Arc;

use arrow_array::types::{UInt8Type, UInt64Type};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument, integers, string_column};

type Bound = Result<Arc<dyn BoundFunction>>;

/// `digits(number, offset[, length])`: the digits from a place on, as a number.
pub(super) fn resolve_digits(call: &Call<'_>) -> Bound {
    call.arguments(2..=3)?;
    if !call.type_of(0).is_integer() {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "A value of illegal type was provided as 1st argument 'number' to function '{}'. Expected: Int8/Int16/Int32/Int64/UInt8/UInt16/UInt32/UInt64, got: {}",
                call.name,
                call.type_of(0)
            ),
        ));
    }
    call.integers([1, 2])?;
    call.bind(DataType::UInt64, |arguments, rows| {
        let numbers = argument(arguments, 0)?;
        let offsets = integers(arguments, 1, rows)?;
        let lengths = if arguments.len() > 2 { Some(integers(arguments, 2, rows)?) } else { None };
        let mut found = Vec::with_capacity(rows);
        for row in 0..rows {
            let value = numbers.value(row);
            let magnitude = value.as_i64().map_or_else(|| value.as_u64().unwrap_or(0), i64::unsigned_abs);
            let text = magnitude.to_string();
            let count = text.len() as i64;
            let start = match offsets[row] {
                0 => {
                    return Err(Error::new(ErrorCode::ZERO_ARRAY_OR_TUPLE_INDEX, "Indices in number are 1-based"));
                }
                offset @ 1.. => offset - 1,
                offset => offset.saturating_add(count),
            };
            let end = match lengths.as_ref().map(|lengths| lengths[row]) {
                None => count,
                Some(length @ 0..) => start.saturating_add(length),
                Some(length) => count.saturating_add(length),
            };
            let range = start.clamp(0, count) as usize..end.clamp(0, count) as usize;
            found.push(text.get(range).and_then(|digits| digits.parse().ok()).unwrap_or(0));
        }
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, found))
    })
}

/// `isDecimalOverflow(decimal[, precision])`.
pub(super) fn resolve_overflow(call: &Call<'_>) -> Bound {
    call.arguments(1..=2)?;
    call.each([0], DataType::is_decimal)?;
    let DataType::Decimal(own, _) = call.type_of(0) else { return Err(call.illegal(0)) };
    let precision = match call.constant(1).and_then(Value::as_u64) {
        Some(precision @ 1..=76) => precision as usize,
        None if call.arguments.len() == 1 => usize::from(*own),
        _ => return Err(call.illegal(1)),
    };
    call.bind(DataType::UInt8, move |arguments, rows| {
        let decimals = argument(arguments, 0)?;
        let mut found = Vec::with_capacity(rows);
        for row in 0..rows {
            let digits = match decimals.value(row) {
                Value::Decimal(digits, _) => digits.to_string().trim_start_matches('-').len(),
                _ => 0,
            };
            found.push(u8::from(digits > precision));
        }
        Ok(Column::from_primitive::<UInt8Type>(DataType::UInt8, found))
    })
}

/// Digits after the point of floats, at most.
const FLOAT_DIGITS_MAX: u64 = 60;

/// Digits after the point of other numbers, at most.
const DIGITS_MAX: u64 = 77;

/// `toDecimalString(number, digits)`.
pub(super) fn resolve_text(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let from = call.type_of(0);
    let wrong = |code, place: &str, wanted: &str, got: &DataType| {
        Error::new(
            code,
            format!(
                "A value of illegal type was provided as {place} to function '{}'. Expected: {wanted}, got: {got}",
                call.name
            ),
        )
    };
    if !from.is_any_number() {
        return Err(wrong(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "1st argument 'Value'", "Number", from));
    }
    let digits =
        call.constant(1).and_then(Value::as_u64).filter(|_| call.type_of(1).is_integer()).ok_or_else(|| {
            let is_integer = call.type_of(1).is_integer();
            let code = if is_integer { ErrorCode::ILLEGAL_COLUMN } else { ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT };
            wrong(code, "2nd argument 'precision'", "const Integer", call.type_of(1))
        })?;
    let most = if from.is_float() { FLOAT_DIGITS_MAX } else { DIGITS_MAX };
    if digits > most {
        return Err(Error::new(
            ErrorCode::CANNOT_PRINT_FLOAT_OR_DOUBLE_NUMBER,
            format!("Too many fractional digits requested, shall not be more than {most}"),
        ));
    }
    let digits = digits as usize;
    call.bind(DataType::String, move |arguments, rows| {
        let numbers = argument(arguments, 0)?;
        string_column(rows, (8 + digits) * rows, |out, row| {
            match numbers.value(row) {
                Value::Float64(float) if !float.is_finite() => {
                    let text = if float.is_nan() {
                        "nan"
                    } else if float > 0.0 {
                        "inf"
                    } else {
                        "-inf"
                    };
                    out.extend_from_slice(text.as_bytes());
                }
                Value::Float64(float) => {
                    // All digits of the binary number: there are no more than so many after its point.
                    put_rounded(&format!("{float:.1074}"), digits, digits > 0, out);
                }
                Value::Decimal(number, scale) => {
                    let text = number.to_string();
                    let (sign, magnitude) = text.strip_prefix('-').map_or(("", &text[..]), |rest| ("-", rest));
                    let padded = format!("{magnitude:0>width$}", width = usize::from(scale) + 1);
                    let (whole, fraction) = padded.split_at(padded.len() - usize::from(scale));
                    put_rounded(&format!("{sign}{whole}.{fraction}"), digits, true, out);
                }
                other => put_rounded(&format!("{other}."), digits, digits > 0, out),
            }
            Ok(())
        })
    })
}

/// A number with a point, rounded to so many digits after it: halves away from zero.
fn put_rounded(text: &str, digits: usize, has_point: bool, out: &mut Vec<u8>) {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut kept: Vec<u8> = whole.bytes().chain(fraction.bytes().take(digits)).collect();
    kept.extend(std::iter::repeat_n(b'0', digits.saturating_sub(fraction.len())));
    if fraction.as_bytes().get(digits).is_some_and(|digit| *digit >= b'5') {
        let mut at = kept.len();
        loop {
            match at.checked_sub(1) {
                None => {
                    kept.insert(0, b'1');
                    break;
                }
                Some(before) if kept[before] == b'9' => {
                    kept[before] = b'0';
                    at = before;
                }
                Some(before) => {
                    kept[before] += 1;
                    break;
                }
            }
        }
    }
    out.extend_from_slice(sign.as_bytes());
    let (whole, fraction) = kept.split_at(kept.len() - digits);
    out.extend_from_slice(whole);
    if has_point {
        out.push(b'.');
    }
    out.extend_from_slice(fraction);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_away_from_zero() {
        let cases =
            [("2.5", 0, "3"), ("-0.004", 2, "-0.00"), ("9.995", 2, "10.00"), ("5", 3, "5.000"), ("1.995", 2, "2.00")];
        for (text, digits, expected) in cases {
            let mut out = Vec::new();
            put_rounded(text, digits, digits > 0, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected);
        }
    }
}
