//! Numbers for people: `formatReadableSize`, `formatReadableQuantity`, `formatReadableTimeDelta`, `bar`; and sizes read back.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::{Array, UInt64Array};
use squall_types::text::readable::{BINARY_SIZE, DECIMAL_SIZE, QUANTITY};
use squall_types::{Column, DataType, Error, ErrorCode, IntervalKind, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, argument, floats, string_column};

fn is_number(data_type: &DataType) -> bool {
    data_type.is_any_number() || *data_type == DataType::Bool
}

/// The digits behind the point, and the most of them.
const DIGITS: usize = 2;
const DIGITS_MAX: u64 = 60;

pub(super) fn resolve_size(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    call.each([0], is_number)?;
    call.integers([1])?;
    let digits = match call.constant(1) {
        None if call.arguments.len() == 1 => DIGITS,
        Some(digits) => digits.as_u64().filter(|digits| *digits <= DIGITS_MAX).ok_or_else(|| {
            Error::new(
                ErrorCode::ARGUMENT_OUT_OF_BOUND,
                format!("Precision of function {} must be from 0 to {DIGITS_MAX}", call.name),
            )
        })? as usize,
        None => {
            return Err(Error::new(
                ErrorCode::ILLEGAL_COLUMN,
                format!("Precision of function {} must be constant", call.name),
            ));
        }
    };
    let units = match call.name {
        "formatReadableSize" => BINARY_SIZE,
        "formatReadableDecimalSize" => DECIMAL_SIZE,
        _ => QUANTITY,
    };
    call.bind(DataType::String, move |arguments, rows| {
        let values = floats(arguments, 0, rows)?;
        string_column(rows, rows * 12, |out, row| {
            let (value, unit) = units.scale(values[row]);
            let number =
                if value.is_finite() { format!("{value:.digits$}") } else { format!("{value}").to_lowercase() };
            out.extend_from_slice(number.as_bytes());
            out.extend_from_slice(unit.as_bytes());
            Ok(())
        })
    })
}

/// What becomes of a text that is no size.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unreadable {
    Refused,
    Null,
    Zero,
}

/// `parseReadableSize('1.5 KiB')`: bytes, rounded up.
pub(super) fn resolve_parse_size(call: &Call<'_>, unreadable: Unreadable) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let name = call.name;
    let return_type = match unreadable {
        Unreadable::Null => DataType::UInt64.to_nullable(),
        _ => DataType::UInt64,
    };
    call.bind(return_type.clone(), move |arguments, _| {
        let texts = Strings::of(arguments, 0)?;
        // A constant is one text.
        let rows = argument(arguments, 0)?.array().len();
        let read = |row: usize| match (size_of(texts.get(row)), unreadable) {
            (Ok(bytes), _) => Ok(Some(bytes)),
            (Err((code, what)), Unreadable::Refused) => {
                Err(Error::new(code, format!("Invalid expression for function {name} - {what}")))
            }
            (Err(_), Unreadable::Zero) => Ok(Some(0)),
            (Err(_), Unreadable::Null) => Ok(None),
        };
        let sizes = (0..rows).map(read).collect::<Result<UInt64Array>>()?;
        let sizes = Column::new(return_type.clone(), Arc::new(sizes));
        let all = argument(arguments, 0)?;
        Ok(if all.is_constant() { Column::repeat(&sizes, all.rows()) } else { sizes })
    })
}

/// Bytes of a size with its unit, in any case.
fn size_of(text: &[u8]) -> std::result::Result<u64, (ErrorCode, String)> {
    let text = String::from_utf8_lossy(text);
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().map_err(|_| {
        (ErrorCode::CANNOT_PARSE_NUMBER, format!("Unable to parse readable size numeric component (\"{text}\")"))
    })?;
    let unit = text[digits..].trim_start_matches(' ').to_ascii_lowercase();
    let power = |base: u64| {
        let prefix = unit.strip_suffix(if base == 1024 { "ib" } else { "b" })?;
        let at = ["k", "m", "g", "t", "p", "e"].iter().position(|known| *known == prefix)?;
        base.checked_pow(at as u32 + 1)
    };
    let factor = if unit == "b" { Some(1) } else { power(1024).or_else(|| power(1000)) };
    let factor =
        factor.ok_or_else(|| (ErrorCode::CANNOT_PARSE_TEXT, format!("Unknown readable size unit (\"{unit}\")")))?;
    let bytes = (number * factor as f64).ceil();
    if bytes >= u64::MAX as f64 {
        return Err((ErrorCode::BAD_ARGUMENTS, "Result is too big for output type (UInt64)".to_owned()));
    }
    Ok(bytes as u64)
}

/// Units of time, the largest first, with their seconds.
const TIME_UNITS: &[(&str, f64)] = &[
    ("year", 365.0 * 86_400.0),
    ("month", 30.5 * 86_400.0),
    ("day", 86_400.0),
    ("hour", 3_600.0),
    ("minute", 60.0),
    ("second", 1.0),
    ("millisecond", 1e-3),
    ("microsecond", 1e-6),
    ("nanosecond", 1e-9),
];

pub(super) fn resolve_time_delta(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=3)?;
    let seconds_of_one = match call.type_of(0) {
        DataType::Interval(kind) => interval_seconds(*kind)?,
        _ => {
            call.each([0], is_number)?;
            1.0
        }
    };
    call.strings([1, 2])?;
    let unit = |at: usize, default: usize| match call.constant(at).and_then(Value::as_str) {
        None if call.arguments.len() > at => Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("Argument {} of function {} must be a constant string", at + 1, call.name),
        )),
        None => Ok(default),
        Some(name) => TIME_UNITS.iter().position(|(unit, _)| name.strip_suffix('s') == Some(unit)).ok_or_else(|| {
            Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("Unexpected value of unit argument ({name}) for function {}", call.name),
            )
        }),
    };
    let largest = unit(1, 0)?;
    let smallest = unit(2, if largest > 5 { TIME_UNITS.len() - 1 } else { 5 })?;
    if smallest < largest {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            "Explicit minimum unit value is greater than the maximum unit of formatReadableTimeDelta",
        ));
    }
    call.bind(DataType::String, move |arguments, rows| {
        let values = floats(arguments, 0, rows)?;
        string_column(rows, rows * 30, |out, row| {
            out.extend_from_slice(time_delta(values[row] * seconds_of_one, &TIME_UNITS[largest..=smallest]).as_bytes());
            Ok(())
        })
    })
}

/// How many seconds an interval of a kind has.
fn interval_seconds(kind: IntervalKind) -> Result<f64> {
    Ok(match kind {
        IntervalKind::Nanosecond => 1e-9,
        IntervalKind::Microsecond => 1e-6,
        IntervalKind::Millisecond => 1e-3,
        IntervalKind::Second => 1.0,
        IntervalKind::Minute => 60.0,
        IntervalKind::Hour => 3_600.0,
        IntervalKind::Day => 86_400.0,
        IntervalKind::Week => 604_800.0,
        IntervalKind::Month | IntervalKind::Quarter | IntervalKind::Year => {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                "Not possible to get precise number of seconds in non-precise interval",
            ));
        }
    })
}

fn time_delta(seconds: f64, units: &[(&str, f64)]) -> String {
    if !seconds.is_finite() {
        return format!("{seconds}").to_lowercase();
    }
    let mut text = String::new();
    let mut rest = seconds.abs();
    let mut parts: Vec<String> = Vec::new();
    let last = units.len() - 1;
    for (at, (name, length)) in units.iter().enumerate() {
        // What a float loses just below a whole number of the unit is not time.
        let count = (rest / length + 1e-9).floor();
        rest = (rest - count * length).max(0.0);
        if count > 0.0 || parts.is_empty() && (at == last || *name == "second") {
            parts.push(format!("{count:.0} {name}{}", if count == 1.0 { "" } else { "s" }));
        }
    }
    if seconds < 0.0 {
        text.push('-');
    }
    let count = parts.len();
    for (at, part) in parts.iter().enumerate() {
        let separator = if at == 0 {
            ""
        } else if at + 1 == count {
            " and "
        } else {
            ", "
        };
        let _ = write!(text, "{separator}{part}");
    }
    text
}

pub(super) fn resolve_bar(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(3..=4)?;
    call.each(0..4, is_number)?;
    let width = match call.constant(3).map(Value::as_f64) {
        None if call.arguments.len() > 3 => {
            return Err(Error::new(ErrorCode::ILLEGAL_COLUMN, "The width of function bar must be constant"));
        }
        None => 80.0,
        Some(width) => width.unwrap_or(80.0),
    };
    if width.is_nan() {
        return Err(Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Argument 'max_width' must not be NaN"));
    }
    if !(1.0..=1000.0).contains(&width) {
        return Err(Error::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Max_width argument must be >= 1 and <= 1000"));
    }
    call.bind(DataType::String, move |arguments, rows| {
        let (values, least, greatest) =
            (floats(arguments, 0, rows)?, floats(arguments, 1, rows)?, floats(arguments, 2, rows)?);
        string_column(rows, rows * 3 * width as usize, |out, row| {
            let (value, least, greatest) = (values[row], least[row], greatest[row]);
            if [value, least, greatest].iter().any(|number| number.is_nan()) || least >= greatest || value < least {
                return Ok(());
            }
            let share = if value >= greatest { 1.0 } else { (value - least) / (greatest - least) };
            if !share.is_finite() {
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "Value of width must not be NaN and Inf"));
            }
            let eighths = (share * width * 8.0) as usize;
            (0..eighths / 8).for_each(|_| out.extend_from_slice("█".as_bytes()));
            const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
            out.extend_from_slice(PARTS[eighths % 8].as_bytes());
            Ok(())
        })
    })
}
