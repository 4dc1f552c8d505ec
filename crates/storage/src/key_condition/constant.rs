//! What a column is compared with, in the terms of the column's own type: constants, and the prefixes of patterns.

use chrono::{NaiveDate, NaiveDateTime};
use squall_types::{CastOptions, DataType, Value, cast_value};

/// More than any difference between a time zone's clock and UTC.
const ZONE_SECONDS_MAX: i64 = 26 * 3600;

/// A constant in the terms of the operand's type: the true bound lies in `low..=high`.
pub(super) struct Bound {
    pub(super) low: Value,
    pub(super) high: Value,
    pub(super) exact: bool,
}

impl Bound {
    pub(super) fn exactly(value: Value) -> Self {
        Self { low: value.clone(), high: value, exact: true }
    }

    /// `None` where types compare in a way that is not followed here.
    pub(super) fn of(value: &Value, value_type: &DataType, operand: &DataType) -> Option<Self> {
        let value_type = value_type.inner();
        let is_whole = |data_type: &DataType| data_type.is_integer() || *data_type == DataType::Bool;
        if let Value::Float64(number) = value
            && number.is_nan()
        {
            return None;
        }
        match (operand, value_type) {
            (operand, value_type) if is_whole(operand) && is_whole(value_type) => Some(Self::exactly(value.clone())),
            (operand, value_type)
                if [operand, value_type]
                    .iter()
                    .all(|side| is_whole(side) || side.is_wide_integer() || side.is_decimal()) =>
            {
                Some(Self::exactly(value.clone()))
            }
            (operand, value_type) if operand.is_float() && (value_type.is_float() || is_whole(value_type)) => {
                // 64-bit integers are rounded on the way to a float.
                let rounded = value.as_f64()?;
                let exact = matches!(value, Value::Float64(_)) || rounded.abs() < 9_007_199_254_740_992.0;
                Some(Self { low: value.clone(), high: value.clone(), exact })
            }
            (operand, value_type) if is_whole(operand) && value_type.is_float() => {
                Some(Self { low: value.clone(), high: value.clone(), exact: false })
            }
            (DataType::String, DataType::String | DataType::FixedString(_)) => Some(Self::exactly(value.clone())),
            (DataType::FixedString(width), DataType::String | DataType::FixedString(_)) => {
                let mut bytes = value.as_bytes()?.to_vec();
                if bytes.len() > *width {
                    return None;
                }
                bytes.resize(*width, 0);
                Some(Self::exactly(Value::string(bytes)))
            }
            (DataType::Date | DataType::Date32, DataType::String) => Self::day_of_text(value, operand),
            (DataType::DateTime(_), DataType::String) => Self::second_of_text(value),
            (DataType::Enum8(values) | DataType::Enum16(values), DataType::String) => {
                values.number(value.as_bytes()?).map(|number| Self::exactly(Value::Int64(i64::from(number))))
            }
            // A number of the enum, or one that it does not have.
            (DataType::Enum8(_) | DataType::Enum16(_), value_type) if is_whole(value_type) || operand == value_type => {
                Some(Self::exactly(value.clone()))
            }
            (operand, value_type) if operand.is_decimal() && value_type.is_float() => {
                Self::decimal_of_float(value, operand)
            }
            (operand, value_type) if ticks_of(operand).is_some() && ticks_of(value_type).is_some() => {
                Self::ticks_of_time(value, ticks_of(value_type)?, ticks_of(operand)?)
            }
            // The day of a time is one more or less in another zone.
            (DataType::Date | DataType::Date32, value_type) if ticks_of(value_type).is_some() => {
                let seconds = i128::from(value.as_i64()?).div_euclid(ticks_of(value_type)?);
                let day = i64::try_from(seconds.div_euclid(86_400)).ok()?;
                Some(Self { low: Value::Int64(day - 1), high: Value::Int64(day + 2), exact: false })
            }
            (operand, DataType::Date | DataType::Date32) if ticks_of(operand).is_some() => {
                let own = i64::try_from(ticks_of(operand)?).ok()?;
                let seconds = value.as_i64()?.checked_mul(86_400)?;
                let of = |seconds: i64| seconds.checked_mul(own).map(Value::Int64);
                let (low, high) = (of(seconds - ZONE_SECONDS_MAX)?, of(seconds + ZONE_SECONDS_MAX)?);
                Some(Self { low, high, exact: false })
            }
            (DataType::Date | DataType::Date32, DataType::Date | DataType::Date32) => {
                Some(Self::exactly(value.clone()))
            }
            (
                DataType::UUID
                | DataType::IPv4
                | DataType::IPv6
                | DataType::Time
                | DataType::Time64(_)
                | DataType::Interval(_),
                value_type,
            ) if operand == value_type => Some(Self::exactly(value.clone())),
            _ => None,
        }
    }

    /// The day that a text names, where the operand's type has it.
    fn day_of_text(value: &Value, operand: &DataType) -> Option<Self> {
        let date = NaiveDate::parse_from_str(value.as_str()?, "%Y-%m-%d").ok()?;
        let days = date.signed_duration_since(NaiveDate::default()).num_days();
        let in_range = *operand == DataType::Date32 || (0..=i64::from(u16::MAX)).contains(&days);
        in_range.then(|| Self::exactly(Value::Int64(days)))
    }

    /// The seconds that a text may name in some time zone.
    fn second_of_text(value: &Value) -> Option<Self> {
        let text = value.as_str()?;
        let time = NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S")
            .ok()
            .or_else(|| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().and_then(|date| date.and_hms_opt(0, 0, 0)))?;
        let seconds = time.and_utc().timestamp();
        let (low, high) = (seconds - ZONE_SECONDS_MAX, seconds + ZONE_SECONDS_MAX);
        Some(Self { low: Value::Int64(low), high: Value::Int64(high), exact: false })
    }

    /// The decimals that a float may be taken for: those within one of its last digits.
    fn decimal_of_float(value: &Value, operand: &DataType) -> Option<Self> {
        let number = value.as_f64()?;
        let digits = match operand {
            DataType::Decimal(_, scale) => *scale,
            _ => 0,
        };
        let step = 2.0 * 10_f64.powi(-i32::from(digits)) + number.abs() * f64::EPSILON * 4.0;
        let near = |number: f64| {
            let widest = DataType::Decimal(76, digits);
            cast_value(&Value::Float64(number), &DataType::Float64, &widest, &CastOptions::default()).ok()
        };
        Some(Self { low: near(number - step)?, high: near(number + step)?, exact: false })
    }

    /// A time of `from` ticks a second in ticks of which a second has `to`.
    fn ticks_of_time(value: &Value, from: i128, to: i128) -> Option<Self> {
        let ticks = i128::from(value.as_i64()?);
        let scaled = ticks.checked_mul(to)?;
        let low = scaled.div_euclid(from);
        let exact = scaled.rem_euclid(from) == 0;
        let of = |ticks: i128| i64::try_from(ticks).ok().map(Value::Int64);
        Some(Self { low: of(low)?, high: of(low + i128::from(!exact))?, exact })
    }
}

/// Ticks of a second of a time.
fn ticks_of(data_type: &DataType) -> Option<i128> {
    match data_type {
        DataType::DateTime(_) => Some(1),
        DataType::DateTime64(digits, _) => Some(10_i128.pow((*digits).into())),
        _ => None,
    }
}

/// The bytes with which every match of a LIKE pattern begins, and whether beginning with them is enough.
pub(super) fn like_prefix(pattern: &[u8]) -> (Vec<u8>, bool) {
    let mut prefix = Vec::new();
    let mut at = 0;
    while let Some(byte) = pattern.get(at) {
        match (byte, pattern.get(at + 1)) {
            (b'%', None) => return (prefix, true),
            (b'%' | b'_', _) => return (prefix, false),
            (b'\\', Some(escaped @ (b'%' | b'_' | b'\\'))) => {
                prefix.push(*escaped);
                at += 1;
            }
            (byte, _) => prefix.push(*byte),
        }
        at += 1;
    }
    (prefix, false)
}

/// The least string that is greater than every string with this prefix.
pub(crate) fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xFF)?;
    let mut end = prefix.get(..=last)?.to_vec();
    if let Some(byte) = end.last_mut() {
        *byte += 1;
    }
    Some(end)
}

/// The bytes with which every match of a regular expression begins: what stands behind `^` before anything that is not itself. Empty where
/// nothing is known.
pub(super) fn regexp_prefix(pattern: &[u8]) -> Vec<u8> {
    let Some(rest) = pattern.strip_prefix(b"^").filter(|rest| !rest.contains(&b'|')) else { return Vec::new() };
    let is_plain =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_' | b'-' | b'/' | b':' | b',' | b'@');
    let mut prefix: Vec<u8> = rest.iter().copied().take_while(is_plain).collect();
    // What is repeated may be missing.
    if matches!(rest.get(prefix.len()), Some(b'*' | b'?' | b'{')) {
        prefix.pop();
    }
    prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_patterns_have_prefixes() {
        assert_eq!(like_prefix(b"ab%"), (b"ab".to_vec(), true));
        assert_eq!(like_prefix(b"a\\%b_c"), (b"a%b".to_vec(), false));
        assert_eq!(like_prefix(b"%x"), (Vec::new(), false));
        assert_eq!(successor(b"a\xFF"), Some(b"b".to_vec()));
        assert_eq!(successor(b"\xFF"), None);
    }

    #[test]
    fn regular_expressions_have_prefixes() {
        assert_eq!(regexp_prefix(b"^abc.*"), b"abc");
        assert_eq!(regexp_prefix(b"^ab?c"), b"a");
        assert_eq!(regexp_prefix(b"^ab|c"), b"");
        assert_eq!(regexp_prefix(b"abc"), b"");
    }
}
