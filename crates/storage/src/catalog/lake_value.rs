//! Values as DuckLake writes them in statistics.

use std::fmt::Write;

use chrono::{DateTime, NaiveDate, TimeDelta};
use squall_types::{DataType, Value};
use uuid::Uuid;

/// The text of a value of a ClickHouse type; `None` where DuckLake has none for it.
pub(super) fn lake_value(data_type: &DataType, value: &Value) -> Option<String> {
    match (data_type.inner(), value) {
        (DataType::Date | DataType::Date32, value) => {
            let date = NaiveDate::default().checked_add_signed(TimeDelta::try_days(value.as_i64()?)?)?;
            Some(date.format("%Y-%m-%d").to_string())
        }
        (DataType::DateTime(_), value) => time(value.as_i64()?.checked_mul(1_000_000_000)?, 0, "+00"),
        (DataType::DateTime64(6, _), value) => time(value.as_i64()?.checked_mul(1_000)?, 6, "+00"),
        (DataType::DateTime64(3, _), value) => time(value.as_i64()?.checked_mul(1_000_000)?, 3, ""),
        (DataType::DateTime64(9, _), value) => time(value.as_i64()?, 9, ""),
        (DataType::String, Value::String(bytes)) => {
            std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).map(str::to_owned)
        }
        (DataType::UUID, Value::String(bytes)) => Some(Uuid::from_slice(bytes).ok()?.to_string()),
        (DataType::Decimal(..), value) => value.as_decimal().map(|(digits, _)| digits.to_string()),
        (_, Value::String(bytes)) => Some(bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02X}");
            text
        })),
        (_, Value::Bool(value)) => Some(u8::from(*value).to_string()),
        (_, Value::UInt64(value)) => Some(value.to_string()),
        (_, Value::Int64(value)) => Some(value.to_string()),
        (_, Value::Float64(value)) if value.is_nan() => None,
        (_, value @ Value::Float64(_)) => Some(value.to_string()),
        _ => None,
    }
}

/// A time with as many digits of the second as it needs, at most `digits`.
fn time(nanoseconds: i64, digits: usize, zone: &str) -> Option<String> {
    let time = DateTime::from_timestamp_nanos(nanoseconds);
    let mut text = time.format("%Y-%m-%d %H:%M:%S").to_string();
    let fraction = time.timestamp_subsec_nanos();
    if fraction > 0 && digits > 0 {
        let all = format!("{fraction:09}");
        text.push('.');
        text.push_str(all.get(..digits)?);
    }
    text.push_str(zone);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_the_specification_says() {
        let text = |name: &str, value: Value| lake_value(&DataType::parse(name).unwrap(), &value);
        assert_eq!(text("Date", Value::UInt64(19_737)).as_deref(), Some("2024-01-15"));
        assert_eq!(text("DateTime", Value::UInt64(1_705_321_800)).as_deref(), Some("2024-01-15 12:30:00+00"));
        assert_eq!(
            text("DateTime64(6)", Value::Int64(1_705_321_800_123_456)).as_deref(),
            Some("2024-01-15 12:30:00.123456+00")
        );
        assert_eq!(text("DateTime64(3)", Value::Int64(1_705_321_800_123)).as_deref(), Some("2024-01-15 12:30:00.123"));
        assert_eq!(text("LowCardinality(String)", Value::from("hello")).as_deref(), Some("hello"));
        assert_eq!(text("FixedString(2)", Value::from("hi")).as_deref(), Some("6869"));
        let uuid = Uuid::from_u128(0x61f0_c404_5cb3_11e7_907b_a600_6ad3_dba0);
        assert_eq!(
            text("UUID", Value::string(uuid.as_bytes())).as_deref(),
            Some("61f0c404-5cb3-11e7-907b-a6006ad3dba0")
        );
        assert_eq!(text("Bool", Value::Bool(true)).as_deref(), Some("1"));
        assert_eq!(text("Float64", Value::Float64(f64::INFINITY)).as_deref(), Some("inf"));
        assert_eq!(text("String", Value::string([0xFF])), None);
    }
}
