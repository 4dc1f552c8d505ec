//! Single values of fields, appended to columns.

use std::borrow::Cow;

use squall_types::calendar::{TimeZone, ZoneCursor};
use squall_types::integer::{I256, U256};
use squall_types::text::{BestEffort, append_float32, append_float64, append_integer, read_date, read_date_time};
use squall_types::{AggregateType, DataType, Error, ErrorCode, Integer, Result, grow};

use crate::binary::states::{StateReader, fresh};
use crate::builder::{Builder, Strings, Values};
use crate::protobuf::leaf::{Absent, Leaf, LeafKind, bare};
use crate::protobuf::number::Number;
use crate::protobuf::payload::{Payload, decimal, made, overflow};
use crate::protobuf::wire::Scalar;
use crate::wire::{Cursor, Stop};

/// Appends values to columns.
#[derive(Debug)]
pub(super) struct LeafReader {
    /// The zone of moments whose types name none.
    zone: ZoneCursor,
    /// Text of numbers.
    scratch: Vec<u8>,
}

impl LeafReader {
    pub fn new(zone: ZoneCursor) -> Self {
        Self { zone, scratch: Vec::new() }
    }

    /// Appends what a column holds where its field is not there.
    pub fn put_absent(&mut self, leaf: &Leaf, column: &mut Builder) -> Result<()> {
        match (&leaf.absent, &leaf.kind) {
            (_, LeafKind::Uuid | LeafKind::IPv6) => column.append_default(),
            (Absent::Bytes(bytes), LeafKind::DateTime64 { .. }) if bytes.is_empty() => column.append_default(),
            (Absent::Int(value), _) => self.put(leaf, column, Payload::Int(*value)),
            (Absent::UInt(value), _) => self.put(leaf, column, Payload::UInt(*value)),
            (Absent::Float(value), _) if leaf.scalar == Scalar::Float => {
                self.put(leaf, column, Payload::Float(*value as f32))
            }
            (Absent::Float(value), _) => self.put(leaf, column, Payload::Double(*value)),
            (Absent::Bytes(bytes), _) => self.put(leaf, column, Payload::Bytes(bytes)),
        }
    }

    /// Appends a value to a column.
    #[inline(always)]
    pub fn put(&mut self, leaf: &Leaf, column: &mut Builder, payload: Payload<'_>) -> Result<()> {
        match (&leaf.kind, &mut column.values) {
            (LeafKind::String, Values::String(strings)) => {
                let bytes = match payload {
                    Payload::Bytes(bytes) => Cow::Borrowed(bytes),
                    payload => self.text(leaf, payload)?,
                };
                grow(&mut strings.bytes, bytes.len())?;
                strings.bytes.extend_from_slice(&bytes);
                strings.end_row()
            }
            (LeafKind::Number, Values::UInt8(values) | Values::Bool(values)) => number(leaf, payload, values),
            (LeafKind::Number, Values::UInt16(values)) => number(leaf, payload, values),
            (LeafKind::Number, Values::UInt32(values)) => number(leaf, payload, values),
            (LeafKind::Number, Values::UInt64(values)) => number(leaf, payload, values),
            (LeafKind::Number, Values::Int8(values)) => number(leaf, payload, values),
            (LeafKind::Number, Values::Int16(values)) => number(leaf, payload, values),
            (LeafKind::Number, Values::Int32(values)) => number(leaf, payload, values),
            (LeafKind::Number, Values::Int64(values)) => number(leaf, payload, values),
            (LeafKind::Number, Values::Float32(values)) => number(leaf, payload, values),
            (LeafKind::Number, Values::Float64(values)) => number(leaf, payload, values),
            _ => self.put_rare(leaf, column, payload),
        }
    }

    fn put_rare(&mut self, leaf: &Leaf, column: &mut Builder, payload: Payload<'_>) -> Result<()> {
        let data_type = bare(&column.data_type).clone();
        match (&leaf.kind, &mut column.values) {
            (LeafKind::Number, Values::FixedString { bytes, .. }) => match data_type {
                DataType::Int128 => wide::<i128>(leaf, payload, bytes),
                DataType::UInt128 => wide::<u128>(leaf, payload, bytes),
                DataType::Int256 => wide::<I256>(leaf, payload, bytes),
                _ => wide::<U256>(leaf, payload, bytes),
            },
            (LeafKind::Enum, Values::Enum8(..) | Values::Enum16(..)) => put_enum(leaf, column, &data_type, payload),
            (LeafKind::Decimal { precision, scale }, values) => put_decimal(values, payload, *precision, *scale),
            (LeafKind::DateTime64 { digits }, Values::Int64(values)) => {
                values.push(match payload {
                    // Text is in the zone of the query, whatever zone the column has.
                    Payload::Bytes(text) => {
                        moment(text, &mut self.zone)?.checked_ticks(*digits).ok_or_else(overflow)?
                    }
                    number => decimal(number, 18, *digits)?,
                });
                Ok(())
            }
            (LeafKind::DateTime(zone), Values::UInt32(values)) => {
                let Payload::Bytes(text) = payload else { return number(leaf, payload, values) };
                let seconds = match zone {
                    Some(zone) => moment(text, &mut TimeZone::named(zone)?.cursor())?.seconds,
                    None => moment(text, &mut self.zone)?.seconds,
                };
                values.push(seconds.max(0) as u32);
                Ok(())
            }
            (LeafKind::Date, Values::UInt16(values)) => {
                let Payload::Bytes(text) = payload else { return number(leaf, payload, values) };
                values.push(read_date(text)?.0.clamp(0, u16::MAX.into()) as u16);
                Ok(())
            }
            (LeafKind::Date32, Values::Int32(values)) => {
                let Payload::Bytes(text) = payload else { return number(leaf, payload, values) };
                values.push(read_date(text)?.0);
                Ok(())
            }
            (LeafKind::IPv4, Values::UInt32(values)) => {
                values.push(ipv4_of(payload)?);
                Ok(())
            }
            (LeafKind::IPv6, Values::FixedString { bytes, width: 16 }) => {
                let Payload::Bytes(value) = payload else { return Err(other_column()) };
                check_ipv6(leaf, value)?;
                bytes.extend_from_slice(value);
                Ok(())
            }
            (LeafKind::Uuid, Values::Uuid(values)) => {
                let Payload::Bytes(text) = payload else { return Err(other_column()) };
                values.push(uuid(text)?);
                Ok(())
            }
            (LeafKind::FixedString(width), Values::FixedString { bytes, .. }) => {
                let text = self.text(leaf, payload)?;
                if text.len() > *width {
                    let message = format!("Too large value for FixedString({width})");
                    return Err(Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, message));
                }
                grow(bytes, *width)?;
                bytes.extend_from_slice(&text);
                bytes.resize(bytes.len() + width - text.len(), 0);
                Ok(())
            }
            (LeafKind::State, Values::String(strings)) => {
                let (DataType::AggregateFunction(state), Payload::Bytes(bytes)) = (&data_type, payload) else {
                    return Err(other_column());
                };
                put_state(strings, state, bytes)
            }
            _ => Err(other_column()),
        }
    }

    /// The text of a field's value.
    fn text<'a>(&'a mut self, leaf: &'a Leaf, payload: Payload<'a>) -> Result<Cow<'a, [u8]>> {
        if leaf.scalar == Scalar::Enum {
            let Payload::Int(number) = payload else { return Err(other_column()) };
            let name = leaf.enumeration.names.get(&(number as i32));
            let name = name.ok_or_else(|| leaf.bad_cast(number as i32, leaf.scalar.name(), "String", false))?;
            return Ok(Cow::Borrowed(name.as_bytes()));
        }
        self.scratch.clear();
        match payload {
            Payload::Bytes(bytes) => return Ok(Cow::Borrowed(bytes)),
            Payload::UInt(value) if leaf.scalar == Scalar::Bool => {
                let name: &[u8] = if value == 0 { b"false" } else { b"true" };
                return Ok(Cow::Borrowed(name));
            }
            Payload::Int(value) => append_integer(&mut self.scratch, value),
            Payload::UInt(value) => append_integer(&mut self.scratch, value),
            Payload::Float(value) => append_float32(&mut self.scratch, value),
            Payload::Double(value) => append_float64(&mut self.scratch, value),
        }
        Ok(Cow::Borrowed(&self.scratch))
    }
}

pub(super) fn other_column() -> Error {
    Error::logical("a column of another type than the plan of a message has")
}

#[inline(always)]
fn number<T: Number>(leaf: &Leaf, payload: Payload<'_>, values: &mut Vec<T>) -> Result<()> {
    values.push(made(leaf, payload)?);
    Ok(())
}

fn wide<T: Number + Integer>(leaf: &Leaf, payload: Payload<'_>, bytes: &mut Vec<u8>) -> Result<()> {
    made::<T>(leaf, payload)?.append_bytes(bytes);
    Ok(())
}

fn moment(text: &[u8], zone: &mut ZoneCursor) -> Result<squall_types::text::Moment> {
    let style = BestEffort { is_american: false, has_fractions: true };
    read_date_time(text, zone, style).map(|(moment, _)| moment)
}

/// The address that a field holds as a number or as text.
fn ipv4_of(payload: Payload<'_>) -> Result<u32> {
    Ok(match payload {
        Payload::Bytes(text) => ipv4(text)?,
        Payload::Int(value) => value as u32,
        Payload::UInt(value) => value as u32,
        Payload::Float(value) => f64::from(value) as i64 as u32,
        Payload::Double(value) => value as i64 as u32,
    })
}

fn ipv4(text: &[u8]) -> Result<u32> {
    let address = str::from_utf8(text).ok().and_then(|text| text.parse::<std::net::Ipv4Addr>().ok());
    address.map(u32::from).ok_or_else(|| {
        Error::new(ErrorCode::CANNOT_PARSE_IPV4, format!("Cannot parse IPv4 {}", String::from_utf8_lossy(text)))
    })
}

/// A UUID of 32 digits, with or without its dashes.
fn uuid(text: &[u8]) -> Result<[u8; 16]> {
    let mut bytes = [0; 16];
    let is_dash = |at: usize| text.len() == 36 && matches!(at, 8 | 13 | 18 | 23);
    let digits = text.iter().enumerate().filter(|(at, byte)| !(is_dash(*at) && **byte == b'-'));
    let digits: Option<Vec<u32>> = digits.map(|(_, byte)| char::from(*byte).to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() == 32).ok_or_else(|| {
        Error::new(ErrorCode::CANNOT_PARSE_UUID, format!("Cannot parse UUID from '{}'", String::from_utf8_lossy(text)))
    })?;
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = pair.iter().fold(0, |byte, digit| byte << 4 | *digit as u8);
    }
    Ok(bytes)
}

fn put_decimal(values: &mut Values, payload: Payload<'_>, precision: u8, scale: u8) -> Result<()> {
    match values {
        Values::Int32(values) => values.push(decimal(payload, precision, scale)?),
        Values::Int64(values) => values.push(decimal(payload, precision, scale)?),
        Values::FixedString { bytes, width: 16 } => {
            decimal::<i128>(payload, precision, scale)?.append_bytes(bytes);
        }
        Values::FixedString { bytes, .. } => {
            decimal::<I256>(payload, precision, scale)?.append_bytes(bytes);
        }
        _ => return Err(other_column()),
    }
    Ok(())
}

/// Refuses a field that has not the bytes of an IPv6.
fn check_ipv6(leaf: &Leaf, value: &[u8]) -> Result<()> {
    if value.len() != 16 {
        return Err(Error::new(
            ErrorCode::PROTOBUF_BAD_CAST,
            format!(
                "Could not convert bytes field {} to IPv6 for inserting into column {} - field size {} is not equal to \
                 IPv6 size 16",
                leaf.full_name,
                leaf.column,
                value.len()
            ),
        ));
    }
    Ok(())
}

/// Appends the state of an aggregate function; of a field without bytes, that of no rows.
fn put_state(strings: &mut Strings, state: &AggregateType, bytes: &[u8]) -> Result<()> {
    if bytes.is_empty() {
        strings.bytes.extend(fresh(state)?);
        return strings.end_row();
    }
    let mut input = Cursor::complete(bytes);
    let state = StateReader::new(state)?.read(&mut input).map_err(Stop::into_error)?;
    grow(&mut strings.bytes, state.len())?;
    strings.bytes.extend_from_slice(state);
    strings.end_row()
}

fn put_enum(leaf: &Leaf, column: &mut Builder, data_type: &DataType, payload: Payload<'_>) -> Result<()> {
    let (DataType::Enum8(values) | DataType::Enum16(values)) = data_type else { return Err(other_column()) };
    let unknown = |what: String| Error::new(ErrorCode::UNKNOWN_ELEMENT_OF_ENUM, what);
    let number = match payload {
        Payload::Int(number) if leaf.scalar == Scalar::Enum => {
            // It is cut to the width of the column's own numbers before it is looked up.
            let cut = if matches!(data_type, DataType::Enum8(_)) { (number as i8).into() } else { number as i16 };
            let found = leaf.enumeration.to_column.get(&cut.into()).copied();
            found.ok_or_else(|| leaf.bad_cast(number, leaf.scalar.name(), &leaf.type_name, false))?
        }
        Payload::Bytes(name) => {
            // A number stands for a value, too.
            let is_value = |number: &i16| values.name(*number).is_some();
            let by_number = || str::from_utf8(name).ok()?.parse::<i16>().ok().filter(is_value);
            values
                .number(name)
                .or_else(by_number)
                .ok_or_else(|| unknown(format!("Unknown element '{}' for enum", String::from_utf8_lossy(name))))?
        }
        payload => {
            // As of any other numbers of a column, those of 8 bits are cut.
            let number = match data_type {
                DataType::Enum8(_) => made::<i8>(leaf, payload)?.into(),
                _ => made::<i16>(leaf, payload)?,
            };
            let found = values.name(number).map(|_| number);
            found.ok_or_else(|| unknown(format!("Unexpected value {number} in enum")))?
        }
    };
    put_number(column, number.into())
}

/// Appends a number that fits.
pub(super) fn put_number(column: &mut Builder, number: i64) -> Result<()> {
    match &mut column.values {
        Values::UInt8(values) => values.push(number as u8),
        Values::UInt16(values) => values.push(number as u16),
        Values::UInt32(values) => values.push(number as u32),
        Values::UInt64(values) => values.push(number as u64),
        Values::Int8(values) | Values::Enum8(values, _) => values.push(number as i8),
        Values::Int16(values) | Values::Enum16(values, _) => values.push(number as i16),
        Values::Int32(values) => values.push(number as i32),
        Values::Int64(values) => values.push(number),
        _ => return Err(other_column()),
    }
    Ok(())
}
