//! Times read from text: by a pattern in MySQL's or Joda's letters (`pattern`), or by whatever shape the text has (`best_effort`).

mod pattern;

use std::sync::Arc;

use arrow_array::types::{Int64Type, UInt32Type};
use arrow_buffer::NullBuffer;
use squall_types::calendar::{TimeZone, ZoneCursor};
use squall_types::text::{BestEffort, ParsedMoment, read_best_effort};
use squall_types::{DataType, Error, ErrorCode, Result, Value};

use super::time::zone_argument;
use crate::function::BoundFunction;
use crate::scalar::kernel::nullable_column;
use crate::scalar::simple::{Call, Strings};
use pattern::{Pattern, Syntax};

type Bound = Result<Arc<dyn BoundFunction>>;

/// What becomes of a text that cannot be read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unreadable {
    Refused,
    Null,
    Zero,
}

impl Unreadable {
    fn of_name(name: &str) -> Self {
        match name {
            name if name.ends_with("OrNull") => Self::Null,
            name if name.ends_with("OrZero") => Self::Zero,
            _ => Self::Refused,
        }
    }
}

/// `CANNOT_PARSE_DATETIME`.
fn unreadable(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::CANNOT_PARSE_DATETIME, message.into())
}

/// `CANNOT_PARSE_TEXT`: a time was read, but does not reach to the text's end.
fn left_over(text: &[u8], rest: &[u8]) -> Error {
    let (parsed, whole) = (text.strip_suffix(rest).unwrap_or(text), String::from_utf8_lossy(text));
    Error::new(
        ErrorCode::CANNOT_PARSE_TEXT,
        format!(
            "Cannot parse string '{whole}' as DateTime: syntax error at position {} (parsed just '{}')",
            parsed.len(),
            String::from_utf8_lossy(parsed)
        ),
    )
}

/// Binds a function that reads each row's text; `digits` are those of a `DateTime64`.
fn bind(
    call: &Call<'_>,
    zone: TimeZone,
    named: Option<Arc<str>>,
    digits: Option<u8>,
    read: impl Fn(&[u8], &mut ZoneCursor) -> Result<ParsedMoment> + Send + Sync + 'static,
) -> Bound {
    let unreadable_becomes = Unreadable::of_name(call.name);
    let plain = match digits {
        Some(digits) => DataType::DateTime64(digits, named),
        None => DataType::DateTime(named),
    };
    let result = if unreadable_becomes == Unreadable::Null { plain.to_nullable() } else { plain.clone() };
    let name = call.name;
    call.bind(result.clone(), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let mut cursor = zone.cursor();
        let mut valid = Vec::with_capacity(rows);
        let (mut seconds, mut ticks) = (Vec::new(), Vec::new());
        let per_second = 10_i64.pow(digits.unwrap_or(0).into());
        for row in 0..rows {
            let utc = read(texts.get(row), &mut cursor).and_then(|parsed| {
                let utc = parsed.moment(&mut cursor).seconds;
                match digits {
                    None => u32::try_from(utc).map(|utc| (utc, 0)).map_err(|_| {
                        unreadable(format!("Cannot read DateTime in function {name}: it is out of its range"))
                    }),
                    Some(digits) => {
                        let fraction = parsed.nanoseconds / 10_i64.pow(9 - u32::from(digits));
                        let value = utc.checked_mul(per_second).and_then(|value| value.checked_add(fraction));
                        let value =
                            value.ok_or_else(|| Error::new(ErrorCode::DECIMAL_OVERFLOW, "Decimal math overflow"));
                        Ok((0, value?))
                    }
                }
            });
            let (utc, value) = match utc {
                Ok(value) => {
                    valid.push(true);
                    value
                }
                Err(error) if unreadable_becomes == Unreadable::Refused => return Err(error),
                Err(_) => {
                    valid.push(false);
                    (0, 0)
                }
            };
            if digits.is_some() { ticks.push(value) } else { seconds.push(utc) }
        }
        let nulls = NullBuffer::from(valid);
        let nulls = (unreadable_becomes == Unreadable::Null && nulls.null_count() > 0).then_some(nulls);
        match digits {
            Some(_) => nullable_column::<Int64Type>(result.clone(), ticks, nulls),
            None => nullable_column::<UInt32Type>(result.clone(), seconds, nulls),
        }
    })
}

fn expect_string(call: &Call<'_>, at: usize, name: &str, ordinal: &str) -> Result<()> {
    let found = call.type_of(at);
    if found.is_string_or_fixed_string() {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
        format!(
            "A value of illegal type was provided as {ordinal} argument '{name}' to function '{}'. Expected: String, \
             got: {found}",
            call.name
        ),
    ))
}

fn by_pattern(call: &Call<'_>, syntax: Syntax) -> Bound {
    call.arguments(1..=3)?;
    expect_string(call, 0, "time", "1st")?;
    let text: &[u8] = match call.arguments.get(1) {
        None if syntax == Syntax::Joda => b"yyyy-MM-dd HH:mm:ss",
        None => b"%Y-%m-%d %H:%i:%s",
        Some(_) => {
            expect_string(call, 1, "format", "2nd")?;
            call.constant_bytes(1)?
        }
    };
    // Without a zone of its own the type names the session's.
    let named = zone_argument(call, 2)?.unwrap_or_else(|| call.context.time_zone.clone());
    let zone = TimeZone::named(&named)?;
    let names_month = call.context.settings.formatdatetime_parsedatetime_m_is_month_name;
    let pattern = Pattern::read(text, syntax, names_month)?;
    let digits = call.name.starts_with("parseDateTime64").then(|| match syntax {
        Syntax::MySql => 6,
        Syntax::Joda => pattern.fraction_digits(),
    });
    let is_wide = digits.is_some();
    bind(call, zone, Some(named), digits, move |text, _| pattern.parse(text, is_wide))
}

/// `parseDateTime[64][OrNull|OrZero]`.
pub(super) fn resolve(call: &Call<'_>) -> Bound {
    by_pattern(call, Syntax::MySql)
}

/// `parseDateTime[64]InJodaSyntax[OrNull|OrZero]`.
pub(super) fn resolve_joda(call: &Call<'_>) -> Bound {
    by_pattern(call, Syntax::Joda)
}

/// `parseDateTime[32|64]BestEffort[US][OrNull|OrZero]`.
pub(super) fn resolve_best_effort(call: &Call<'_>) -> Bound {
    // A number of digits makes a `DateTime64` of a `DateTime`, too, but of none that reads American dates.
    let has_digits = call.type_of(1).is_integer() && !call.name.contains("US");
    let is_wide = call.name.contains("64") || has_digits && call.constant(1).and_then(Value::as_u64) != Some(0);
    let takes_digits = is_wide || has_digits;
    call.arguments(1..=if takes_digits { 3 } else { 2 })?;
    call.strings([0])?;
    let digits = match (is_wide, call.constant(1)) {
        (false, _) => None,
        (true, None) if call.arguments.len() == 1 => Some(3),
        (true, digits) => {
            Some(digits.and_then(|digits| digits.as_u64()).filter(|digits| *digits <= 9).ok_or_else(|| {
                Error::new(
                    ErrorCode::ARGUMENT_OUT_OF_BOUND,
                    format!("Precision of {} must be a constant from 0 to 9", call.name),
                )
            })? as u8)
        }
    };
    let named = zone_argument(call, if takes_digits { 2 } else { 1 })?;
    let zone = match &named {
        Some(name) => TimeZone::named(name)?,
        None => call.session_zone()?,
    };
    let now = call.context.moment.query_start_ns().div_euclid(1_000_000_000);
    let style = BestEffort { is_american: call.name.contains("US"), has_fractions: is_wide };
    bind(call, zone, named, digits, move |text, cursor| {
        let read = read_best_effort(text, style, || cursor.to_local(now))?;
        match text.get(read.read..) {
            Some(rest @ [_, ..]) => Err(left_over(text, rest)),
            _ => Ok(read.parsed),
        }
    })
}
