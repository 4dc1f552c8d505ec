//! Values in PostgreSQL's binary form.

use squall_types::calendar::{DATE32_MAX, DATE32_MIN, DAY_SECONDS, TimeZone, ZoneCursor};
use squall_types::integer::I256;
use squall_types::text::read_decimal;
use squall_types::{DataType, Error, ErrorCode, Result, Value};

use super::kind::{Item, Kind};

/// Days from 1970-01-01 to PostgreSQL's first day, 2000-01-01.
const FIRST_DAY: i64 = 10_957;
/// Microseconds of a second.
const SECOND: i64 = 1_000_000;
/// The moments that a `DateTime64` has, in microseconds; `infinity` is the last of them.
const MOMENTS: std::ops::RangeInclusive<i64> =
    DATE32_MIN as i64 * DAY_SECONDS * SECOND..=(DATE32_MAX as i64 + 1) * DAY_SECONDS * SECOND - 1;

/// Reads the values of a column.
pub(super) struct Decoder {
    kind: Kind,
    /// The type of a value, or of the arrays' items.
    item: DataType,
    zone: ZoneCursor,
}

impl Decoder {
    /// For a column of a type.
    pub fn new(kind: Kind, data_type: &DataType, zone: &TimeZone) -> Self {
        let mut item = data_type;
        while let DataType::Array(inner) = item {
            item = inner;
        }
        Self { kind, item: item.inner().clone(), zone: zone.cursor() }
    }

    /// A value; `None` is NULL.
    ///
    /// # Errors
    /// Where the bytes are no such value, or one that has no counterpart here.
    pub fn value(&mut self, bytes: Option<&[u8]>) -> Result<Value> {
        match (bytes, self.kind.dimensions) {
            (None, 0) => Ok(Value::Null),
            (None, _) => Ok(Value::Array(Vec::new().into())),
            (Some(bytes), 0) => self.item(bytes),
            (Some(bytes), dimensions) => self.array(bytes, dimensions),
        }
    }

    fn item(&mut self, bytes: &[u8]) -> Result<Value> {
        Ok(match self.kind.item {
            Item::Integer => Value::Int64(match bytes.len() {
                2 => i64::from(i16::from_be_bytes(fixed(bytes)?)),
                4 => i64::from(i32::from_be_bytes(fixed(bytes)?)),
                _ => i64::from_be_bytes(fixed(bytes)?),
            }),
            Item::Float => Value::Float64(match bytes.len() {
                4 => f64::from(f32::from_be_bytes(fixed(bytes)?)),
                _ => f64::from_be_bytes(fixed(bytes)?),
            }),
            Item::Flag => Value::UInt64(u64::from(bytes.first().is_some_and(|byte| *byte != 0))),
            Item::Text | Item::Padded | Item::Bytes | Item::Other => Value::string(bytes),
            Item::Uuid => Value::Uuid(fixed(bytes)?),
            Item::Date => {
                let days = i64::from(i32::from_be_bytes(fixed(bytes)?)).saturating_add(FIRST_DAY);
                Value::UInt64(days.clamp(0, i64::from(u16::MAX)) as u64)
            }
            Item::Clock => {
                let local = micros(bytes)?;
                let second = self.zone.to_utc(local.div_euclid(SECOND));
                Value::Int64((second * SECOND + local.rem_euclid(SECOND)).clamp(*MOMENTS.start(), *MOMENTS.end()))
            }
            Item::Instant => Value::Int64(micros(bytes)?),
            Item::Decimal => self.decimal(bytes)?,
        })
    }

    fn decimal(&self, text: &[u8]) -> Result<Value> {
        let (precision, scale) = (self.item.precision(), self.item.scale());
        let (digits, read) = read_decimal::<I256>(text, precision, scale)?;
        if read != text.len() {
            let message = format!("{} is not a value of {}", String::from_utf8_lossy(text), self.item);
            return Err(Error::new(ErrorCode::CANNOT_PARSE_NUMBER, message));
        }
        Ok(Value::Decimal(Box::new(digits), scale))
    }

    /// An array: the number of its dimensions, whether it has NULLs, its items' type, how many there are along each dimension and from
    /// where on, then the items.
    fn array(&mut self, bytes: &[u8], wanted: u8) -> Result<Value> {
        let mut rest = bytes;
        let dimensions = take_i32(&mut rest)?;
        take_i32(&mut rest)?;
        take_i32(&mut rest)?;
        if dimensions == 0 {
            return Ok(Value::Array(Vec::new().into()));
        }
        if dimensions != i32::from(wanted) {
            let message = format!("An array of PostgreSQL has {dimensions} dimensions where its column has {wanted}");
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        let mut lengths = Vec::new();
        for _ in 0..dimensions {
            lengths.push(usize::try_from(take_i32(&mut rest)?).map_err(|_| broken())?);
            take_i32(&mut rest)?;
        }
        self.level(&mut rest, &lengths)
    }

    fn level(&mut self, rest: &mut &[u8], lengths: &[usize]) -> Result<Value> {
        let Some((length, inner)) = lengths.split_first() else { return self.element(rest) };
        // Each item takes four bytes at least, whatever a length says.
        if *length > rest.len() {
            return Err(broken());
        }
        let items = (0..*length).map(|_| self.level(rest, inner)).collect::<Result<Vec<_>>>()?;
        Ok(Value::Array(items.into()))
    }

    fn element(&mut self, rest: &mut &[u8]) -> Result<Value> {
        match usize::try_from(take_i32(rest)?) {
            // NULL has no length.
            Err(_) => Ok(Value::Null),
            Ok(length) => {
                let (item, after) = rest.split_at_checked(length).ok_or_else(broken)?;
                *rest = after;
                self.item(item)
            }
        }
    }
}

/// Microseconds since 1970, of those since 2000.
fn micros(bytes: &[u8]) -> Result<i64> {
    let micros = i64::from_be_bytes(fixed(bytes)?).saturating_add(FIRST_DAY * DAY_SECONDS * SECOND);
    Ok(micros.clamp(*MOMENTS.start(), *MOMENTS.end()))
}

fn take_i32(rest: &mut &[u8]) -> Result<i32> {
    let (number, after) = rest.split_at_checked(4).ok_or_else(broken)?;
    *rest = after;
    Ok(i32::from_be_bytes(fixed(number)?))
}

fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| broken())
}

fn broken() -> Error {
    Error::new(ErrorCode::CANNOT_READ_ALL_DATA, "PostgreSQL sends a value that is not of its type")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoder(name: &str, dimensions: u8) -> Decoder {
        let (kind, mut data_type) = Kind::of(name, dimensions).unwrap();
        for _ in 0..dimensions {
            data_type = DataType::array(data_type.to_nullable());
        }
        Decoder::new(kind, &data_type, &TimeZone::utc())
    }

    fn array(dimensions: &[i32], items: &[Option<&[u8]>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [dimensions.len() as i32, 1, 23].into_iter().chain(dimensions.iter().flat_map(|of| [*of, 1])) {
            bytes.extend(number.to_be_bytes());
        }
        for item in items {
            bytes.extend(item.map_or(-1, |item| item.len() as i32).to_be_bytes());
            bytes.extend(item.unwrap_or_default());
        }
        bytes
    }

    #[test]
    fn values_are_read() {
        let value = |name: &str, bytes: &[u8]| decoder(name, 0).value(Some(bytes)).unwrap();
        assert_eq!(value("smallint", &[0xff, 0xfe]), Value::Int64(-2));
        assert_eq!(value("bigint", &5_000_000_000_i64.to_be_bytes()), Value::Int64(5_000_000_000));
        assert_eq!(value("real", &1.5_f32.to_be_bytes()), Value::Float64(1.5));
        assert_eq!(value("boolean", &[1]), Value::UInt64(1));
        assert_eq!(value("bytea", &[0, 255]), Value::string([0, 255]));
        assert_eq!(value("date", &0_i32.to_be_bytes()), Value::UInt64(10_957));
        assert_eq!(value("date", &i32::MAX.to_be_bytes()), Value::UInt64(65_535));
        let second = SECOND.to_be_bytes();
        assert_eq!(value("timestamp without time zone", &second), Value::Int64(946_684_801_000_000));
        assert_eq!(value("timestamp(3) with time zone", &second), Value::Int64(946_684_801_000_000));
        assert_eq!(value("timestamp with time zone", &i64::MAX.to_be_bytes()), Value::Int64(*MOMENTS.end()));
        assert_eq!(value("numeric(9,2)", b"-12.50"), Value::Decimal(Box::new(I256::from(-1250)), 2));
        assert!(decoder("numeric", 0).value(Some(b"NaN")).is_err());
        assert!(decoder("integer", 0).value(Some(&[1])).is_err());
    }

    #[test]
    fn arrays_are_read() {
        let [one, two]: [&[u8]; 2] = [&[0, 0, 0, 1], &[0, 0, 0, 2]];
        let of = |numbers: &[Value]| Value::Array(numbers.to_vec().into());
        let flat = array(&[3], &[Some(one), None, Some(two)]);
        let mut decoded = decoder("integer[]", 1);
        assert_eq!(decoded.value(Some(&flat)).unwrap(), of(&[Value::Int64(1), Value::Null, Value::Int64(2)]));
        assert_eq!(decoded.value(Some(&array(&[], &[]))).unwrap(), of(&[]));
        assert_eq!(decoded.value(None).unwrap(), of(&[]));
        let square = array(&[2, 1], &[Some(one), Some(two)]);
        let rows = of(&[of(&[Value::Int64(1)]), of(&[Value::Int64(2)])]);
        assert_eq!(decoder("integer[]", 2).value(Some(&square)).unwrap(), rows);
        assert_eq!(decoded.value(Some(&square)).unwrap_err().code, ErrorCode::BAD_ARGUMENTS);
        for end in 1..flat.len() {
            assert!(decoded.value(Some(&flat[..end])).is_err(), "{end}");
        }
    }
}
