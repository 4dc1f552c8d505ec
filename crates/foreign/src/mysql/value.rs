//! Values as MySQL has them.

use mysql_async::Value as Sent;
use squall_types::calendar::{DAY_SECONDS, TimeZone, ZoneCursor, days_from_civil};
use squall_types::integer::I256;
use squall_types::text::read_decimal;
use squall_types::{DataType, Error, ErrorCode, Result, Value};

use super::kind::Kind;

/// Reads the values of a column.
pub(super) struct Decoder {
    kind: Kind,
    data_type: DataType,
    zone: ZoneCursor,
}

impl Decoder {
    /// For a column of a type.
    pub fn new(kind: Kind, data_type: &DataType, zone: &TimeZone) -> Self {
        Self { kind, data_type: data_type.inner().clone(), zone: zone.cursor() }
    }

    /// A value.
    ///
    /// # Errors
    /// Where it is not of the column's type.
    pub fn value(&mut self, sent: Sent) -> Result<Value> {
        Ok(match (self.kind, sent) {
            (_, Sent::NULL) => Value::Null,
            (Kind::Number, Sent::Int(number)) => Value::Int64(number),
            (Kind::Number, Sent::UInt(number)) => Value::UInt64(number),
            (Kind::Number, Sent::Float(number)) => Value::Float64(number.into()),
            (Kind::Number, Sent::Double(number)) => Value::Float64(number),
            (Kind::Decimal, Sent::Bytes(text)) => {
                let (precision, scale) = (self.data_type.precision(), self.data_type.scale());
                let (digits, _) = read_decimal::<I256>(&text, precision, scale)?;
                Value::Decimal(Box::new(digits), scale)
            }
            (Kind::Bits, Sent::Bytes(bytes)) => {
                Value::UInt64(bytes.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte)))
            }
            (Kind::Date, Sent::Date(year, month, day, ..)) => self.date(year, month, day),
            (Kind::Clock | Kind::Instant, Sent::Date(year, month, day, hour, minute, second, micros)) => {
                let local = i64::from(days_from_civil(year.into(), month.max(1).into(), day.max(1).into()))
                    * DAY_SECONDS
                    + i64::from(hour) * 3600
                    + i64::from(minute) * 60
                    + i64::from(second);
                self.moment(if year == 0 { None } else { Some((local, micros)) })
            }
            (Kind::Text | Kind::Bytes | Kind::Other(_), Sent::Bytes(bytes)) => Value::String(self.padded(bytes).into()),
            (Kind::Other(digits), other) => Value::string(text(&other, digits)),
            (kind, other) => {
                let message = format!("MySQL sends {other:?} where {kind:?} was to come");
                return Err(Error::new(ErrorCode::TYPE_MISMATCH, message));
            }
        })
    }

    fn padded(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        if let DataType::FixedString(length) = self.data_type {
            bytes.resize(length, 0);
        }
        bytes
    }

    /// A date; one without a year is the type's default.
    fn date(&self, year: u16, month: u8, day: u8) -> Value {
        let days = match year {
            0 => 0,
            year => days_from_civil(year.into(), month.max(1).into(), day.max(1).into()),
        };
        match self.data_type {
            DataType::Date32 => Value::Int64(days.into()),
            _ => Value::UInt64(days.clamp(0, u16::MAX.into()) as u64),
        }
    }

    /// A time by a clock's seconds and microseconds; one without a year is the type's default.
    fn moment(&mut self, clock: Option<(i64, u32)>) -> Value {
        let (second, micros) = match clock {
            None => (0, 0),
            Some((local, micros)) if self.kind == Kind::Clock => (self.zone.to_utc(local), micros),
            Some((utc, micros)) => (utc, micros),
        };
        match self.data_type {
            DataType::DateTime64(digits, _) => {
                let nanos = i64::from(micros) * 1000;
                let per_second = 10_i64.pow(digits.into());
                Value::Int64(second * per_second + nanos / (1_000_000_000 / per_second))
            }
            _ => Value::UInt64(second.clamp(0, u32::MAX.into()) as u64),
        }
    }
}

/// What is no text, as one.
fn text(value: &Sent, digits: u8) -> String {
    let fraction = |micros: u32| match digits {
        0 => String::new(),
        digits => format!(".{:0width$}", micros / 10_u32.pow(6 - u32::from(digits.min(6))), width = digits.into()),
    };
    match value {
        Sent::NULL => String::new(),
        Sent::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Sent::Int(number) => number.to_string(),
        Sent::UInt(number) => number.to_string(),
        Sent::Float(number) => number.to_string(),
        Sent::Double(number) => number.to_string(),
        Sent::Date(year, month, day, ..) => format!("{year:04}-{month:02}-{day:02}"),
        Sent::Time(is_negative, days, hours, minutes, seconds, micros) => {
            let (sign, hours) = (if *is_negative { "-" } else { "" }, days * 24 + u32::from(*hours));
            format!("{sign}{hours:02}:{minutes:02}:{seconds:02}{}", fraction(*micros))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind::Declared;
    use super::*;
    use crate::engine::Columns;

    fn decoded(name: &str, precision: u8, scale: u8, sent: Sent) -> (String, Value) {
        let declared = Declared { name: name.to_owned(), precision, scale, length: 3, ..Declared::default() };
        let (kind, data_type) = declared.meaning(Columns::of(true, "decimal,datetime64,date2Date32"));
        let zone = TimeZone::named("Europe/Berlin").unwrap();
        (data_type.to_string(), Decoder::new(kind, &data_type, &zone).value(sent).unwrap())
    }

    #[test]
    fn values_are_read() {
        let cases = [
            (decoded("int", 0, 0, Sent::Int(-1)), "Int32", Value::Int64(-1)),
            (decoded("float", 0, 0, Sent::Float(1.5)), "Float32", Value::Float64(1.5)),
            (
                decoded("decimal", 9, 2, Sent::Bytes(b"-1.50".to_vec())),
                "Decimal(9, 2)",
                Value::Decimal(Box::new(I256::from(-150)), 2),
            ),
            (decoded("bit", 0, 0, Sent::Bytes(vec![1, 2])), "UInt64", Value::UInt64(258)),
            (decoded("binary", 0, 0, Sent::Bytes(vec![1])), "FixedString(3)", Value::string([1, 0, 0])),
            (decoded("date", 0, 0, Sent::Date(1969, 12, 31, 0, 0, 0, 0)), "Date32", Value::Int64(-1)),
            (decoded("date", 0, 0, Sent::Date(0, 0, 0, 0, 0, 0, 0)), "Date32", Value::Int64(0)),
            (decoded("datetime", 0, 3, Sent::Date(1970, 1, 1, 1, 0, 1, 234_567)), "DateTime64(3)", Value::Int64(1_234)),
            (decoded("timestamp", 0, 0, Sent::Date(1970, 1, 1, 1, 0, 0, 0)), "DateTime", Value::UInt64(3600)),
            (decoded("time", 0, 2, Sent::Time(true, 1, 2, 3, 4, 50_000)), "String", Value::string("-26:03:04.05")),
            (decoded("year", 0, 0, Sent::UInt(1999)), "String", Value::string("1999")),
        ];
        for ((data_type, value), wanted_type, wanted) in cases {
            assert_eq!((data_type.as_str(), value), (wanted_type, wanted));
        }
    }
}
