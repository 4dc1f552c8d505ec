//! Messages read into columns by a plan.
//!
//! A message's fields may come in any order and again and again. What comes last counts; items of arrays add up. So a row's values are
//! appended as they come, and what is missing once the message is at its end.

use std::borrow::Cow;

use squall_types::calendar::{TimeZone, ZoneCursor};
use squall_types::integer::{I256, U256, integer_of_float};
use squall_types::text::{
    BestEffort, append_float32, append_float64, append_integer, read_date, read_date_time, read_decimal,
};
use squall_types::{DataType, Error, ErrorCode, Integer, Result, grow};

use crate::binary::states::{StateReader, fresh};
use crate::builder::{Builder, Values};
use crate::protobuf::number::Number;
use crate::protobuf::plan::{Absent, Field, Leaf, LeafKind, Message, Nested, Shape, bare};
use crate::protobuf::wire::{Raw, Scalar, corrupted, take_field, take_packed};
use crate::wire::{Cursor, Stop};

/// The columns that a message's fields are.
pub(super) enum Columns<'a> {
    List(&'a mut [Builder]),
    /// The keys and values of a map.
    Entry(&'a mut Builder, &'a mut Builder),
}

impl Columns<'_> {
    /// A column, or as many arrays within arrays as `level` says, the items.
    fn get(&mut self, place: usize, level: usize) -> Result<&mut Builder> {
        let mut column = match (self, place) {
            (Self::List(columns), _) => columns.get_mut(place),
            (Self::Entry(keys, _), 0) => Some(&mut **keys),
            (Self::Entry(_, values), 1) => Some(&mut **values),
            (Self::Entry(..), _) => None,
        };
        for _ in 0..level {
            column = match column {
                Some(Builder { values: Values::Array { items, .. }, .. }) => Some(items),
                _ => None,
            };
        }
        column.ok_or_else(|| Error::logical("a column that the plan of a message has not"))
    }
}

fn other_column() -> Error {
    Error::logical("a column of another type than the plan of a message has")
}

/// Reads messages into columns.
#[derive(Debug)]
pub(super) struct MessageReader {
    /// The zone of moments whose types name none.
    pub zone: ZoneCursor,
    /// Text of numbers.
    pub scratch: Vec<u8>,
}

impl MessageReader {
    /// Appends the fields of a message to a row. [`end`](Self::end) is still to come.
    pub fn fields(
        &mut self,
        message: &Message,
        columns: &mut Columns<'_>,
        level: usize,
        row: usize,
        mut input: &[u8],
    ) -> Result<()> {
        let mut next = 0;
        while !input.is_empty() {
            let (number, raw) = take_field(&mut input)?;
            if let Some(field) = message.find(number, &mut next) {
                self.field(field, columns, level, row, raw)?;
            }
        }
        Ok(())
    }

    fn field(
        &mut self,
        field: &Field,
        columns: &mut Columns<'_>,
        level: usize,
        row: usize,
        raw: Raw<'_>,
    ) -> Result<()> {
        if let Some(presence) = field.presence {
            note_presence(columns.get(presence, level)?, field.number, row)?;
        }
        match &field.shape {
            Shape::Columns(nested) => {
                self.fields(&nested.message, columns, level, row, message_bytes(raw)?)?;
                unwrap_empty(nested, columns, level, row)
            }
            Shape::Items(nested) => {
                let row = columns.get(field.column(), level + 1)?.rows();
                self.fields(&nested.message, columns, level + 1, row, message_bytes(raw)?)?;
                unwrap_empty(nested, columns, level + 1, row)?;
                self.end(&nested.message, columns, level + 1, row)
            }
            shape => {
                let column = columns.get(field.column(), level)?;
                match (raw, field.scalar) {
                    (Raw::Bytes(mut packed), Some(scalar)) if !scalar.is_bytes() => {
                        while !packed.is_empty() {
                            self.value(shape, column, row, take_packed(&mut packed, scalar)?)?;
                        }
                        Ok(())
                    }
                    _ => self.value(shape, column, row, raw),
                }
            }
        }
    }

    /// A value of a field for a row of a column.
    fn value(&mut self, shape: &Shape, column: &mut Builder, row: usize, raw: Raw<'_>) -> Result<()> {
        match (shape, &mut column.values) {
            (Shape::Leaf(leaf), _) => {
                if column.rows() > row {
                    column.truncate(row);
                }
                self.put(leaf, column, payload(leaf, raw)?)
            }
            (Shape::Nullable(shape), Values::Nullable { valid, inner }) => {
                if valid.len() == row {
                    valid.push(true);
                }
                self.value(shape, inner, row, raw)
            }
            (Shape::LowCardinality(shape), _) => {
                if column.rows() > row {
                    column.truncate(row);
                }
                let Values::LowCardinality(dictionary) = &mut column.values else { return Err(other_column()) };
                dictionary.append_with(|values| {
                    let row = values.rows();
                    self.value(shape, values, row, raw)
                })
            }
            (Shape::Repeated(shape), Values::Array { items, .. }) => {
                let row = items.rows();
                self.value(shape, items, row, raw)?;
                self.absent(shape, items, row)
            }
            (Shape::Map(nested), Values::Map { keys, values, .. }) => {
                let row = keys.rows();
                let mut entry = Columns::Entry(keys, values);
                self.fields(&nested.message, &mut entry, 0, row, message_bytes(raw)?)?;
                self.end(&nested.message, &mut entry, 0, row)
            }
            (Shape::InOrder(shapes), Values::Tuple { elements, .. }) => {
                let next = shapes.iter().zip(elements).find(|(_, element)| element.rows() <= row);
                let Some((shape, element)) = next else {
                    return Err(Error::new(
                        ErrorCode::PROTOBUF_BAD_CAST,
                        format!("More than {} elements were read to fit in {}", shapes.len(), column.data_type),
                    ));
                };
                self.value(shape, element, row, raw)
            }
            (Shape::Tuple(nested), Values::Tuple { elements, .. }) => {
                let mut elements = Columns::List(elements);
                self.fields(&nested.message, &mut elements, 0, row, message_bytes(raw)?)?;
                unwrap_empty(nested, &mut elements, 0, row)
            }
            (Shape::Inside(nested), _) => {
                let mut columns = Columns::List(std::slice::from_mut(column));
                self.fields(&nested.message, &mut columns, 0, row, message_bytes(raw)?)
            }
            _ => Err(other_column()),
        }
    }

    /// Appends what a row lacks once its message is at its end.
    pub fn end(&mut self, message: &Message, columns: &mut Columns<'_>, level: usize, row: usize) -> Result<()> {
        for field in &message.fields {
            match &field.shape {
                Shape::Columns(nested) => self.end(&nested.message, columns, level, row)?,
                Shape::Items(_) => {
                    for column in &field.columns {
                        end_items(columns.get(*column, level)?, row)?;
                    }
                }
                shape => self.absent(shape, columns.get(field.column(), level)?, row)?,
            }
        }
        for presence in &message.presences {
            let column = columns.get(*presence, level)?;
            if column.rows() == row {
                put_number(column, 0)?;
            }
        }
        Ok(())
    }

    /// Appends what a row of a column lacks.
    fn absent(&mut self, shape: &Shape, column: &mut Builder, row: usize) -> Result<()> {
        match (shape, &mut column.values) {
            (Shape::Leaf(leaf), _) => {
                if column.rows() > row {
                    return Ok(());
                }
                self.put_absent(leaf, column)
            }
            (Shape::Nullable(shape), Values::Nullable { valid, inner }) => {
                if valid.len() > row {
                    return self.absent(shape, inner, row);
                }
                inner.append_default()?;
                valid.push(false);
                Ok(())
            }
            (Shape::LowCardinality(shape), _) => {
                if column.rows() > row {
                    return Ok(());
                }
                let is_nullable = column.data_type.is_nullable();
                let Values::LowCardinality(dictionary) = &mut column.values else { return Err(other_column()) };
                if is_nullable {
                    dictionary.append_null();
                    return Ok(());
                }
                dictionary.append_with(|values| {
                    let row = values.rows();
                    self.absent(shape, values, row)
                })
            }
            (Shape::Repeated(_) | Shape::Map(_), _) => end_items(column, row),
            (Shape::InOrder(shapes), Values::Tuple { elements, rows }) => {
                for (shape, element) in shapes.iter().zip(elements) {
                    self.absent(shape, element, row)?;
                }
                *rows = row + 1;
                Ok(())
            }
            (Shape::Tuple(nested), Values::Tuple { elements, rows }) => {
                let mut columns = Columns::List(elements);
                self.end(&nested.message, &mut columns, 0, row)?;
                for missing in &nested.message.missing {
                    let column = columns.get(*missing, 0)?;
                    if column.rows() == row {
                        column.append_default()?;
                    }
                }
                *rows = row + 1;
                Ok(())
            }
            (Shape::Inside(nested), _) => {
                self.end(&nested.message, &mut Columns::List(std::slice::from_mut(column)), 0, row)
            }
            _ => Err(other_column()),
        }
    }

    fn put_absent(&mut self, leaf: &Leaf, column: &mut Builder) -> Result<()> {
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
    #[inline]
    fn put(&mut self, leaf: &Leaf, column: &mut Builder, payload: Payload<'_>) -> Result<()> {
        match (&leaf.kind, &mut column.values) {
            (LeafKind::String, Values::String(strings)) => {
                let bytes = self.text(leaf, payload)?;
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
            (LeafKind::Decimal { precision, scale }, values) => {
                let (precision, scale) = (*precision, *scale);
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
                values.push(match payload {
                    Payload::Bytes(text) => ipv4(text)?,
                    Payload::Int(value) => value as u32,
                    Payload::UInt(value) => value as u32,
                    Payload::Float(value) => f64::from(value) as i64 as u32,
                    Payload::Double(value) => value as i64 as u32,
                });
                Ok(())
            }
            (LeafKind::IPv6, Values::FixedString { bytes, width: 16 }) => {
                let Payload::Bytes(value) = payload else { return Err(other_column()) };
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

/// What a field holds, by its type.
#[derive(Clone, Copy, Debug)]
enum Payload<'a> {
    Int(i64),
    UInt(u64),
    Float(f32),
    Double(f64),
    Bytes(&'a [u8]),
}

impl std::fmt::Display for Payload<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = Vec::new();
        match self {
            Self::Int(value) => return write!(f, "{value}"),
            Self::UInt(value) => return write!(f, "{value}"),
            Self::Float(value) => append_float32(&mut text, *value),
            Self::Double(value) => append_float64(&mut text, *value),
            Self::Bytes(bytes) => text.extend_from_slice(bytes.get(..100).unwrap_or(bytes)),
        }
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

/// The bytes of a message.
fn message_bytes(raw: Raw<'_>) -> Result<&[u8]> {
    match raw {
        Raw::Bytes(bytes) | Raw::Group(bytes) => Ok(bytes),
        Raw::Varint(_) | Raw::Fixed32(_) | Raw::Fixed64(_) => Err(corrupted()),
    }
}

#[inline]
fn payload<'a>(leaf: &Leaf, raw: Raw<'a>) -> Result<Payload<'a>> {
    Ok(match (leaf.scalar, raw) {
        (Scalar::String | Scalar::Bytes, Raw::Bytes(bytes)) => Payload::Bytes(bytes),
        (Scalar::Int32 | Scalar::Int64 | Scalar::Enum, Raw::Varint(value)) => Payload::Int(value as i64),
        (Scalar::UInt32 | Scalar::UInt64, Raw::Varint(value)) => Payload::UInt(value),
        (Scalar::SInt32 | Scalar::SInt64, Raw::Varint(value)) => {
            Payload::Int((value >> 1) as i64 ^ -((value & 1) as i64))
        }
        (Scalar::Bool, Raw::Varint(value @ 0..2)) => Payload::UInt(value),
        (Scalar::Bool, Raw::Varint(value)) => {
            return Err(leaf.bad_cast(value, leaf.scalar.name(), &leaf.type_name, false));
        }
        (Scalar::Fixed32, Raw::Fixed32(value)) => Payload::UInt(value.into()),
        (Scalar::SFixed32, Raw::Fixed32(value)) => Payload::Int((value as i32).into()),
        (Scalar::Float, Raw::Fixed32(value)) => Payload::Float(f32::from_bits(value)),
        (Scalar::Fixed64, Raw::Fixed64(value)) => Payload::UInt(value),
        (Scalar::SFixed64, Raw::Fixed64(value)) => Payload::Int(value as i64),
        (Scalar::Double, Raw::Fixed64(value)) => Payload::Double(f64::from_bits(value)),
        _ => return Err(corrupted()),
    })
}

#[inline(always)]
fn made<T: Number>(leaf: &Leaf, payload: Payload<'_>) -> Result<T> {
    let value = match payload {
        Payload::Int(value) => T::of_int(value),
        Payload::UInt(value) => T::of_uint(value),
        // An infinite float of 32 bits is one of any width.
        Payload::Float(value) if value.is_infinite() => {
            T::of_float(value.into()).or_else(|| T::of_text(if value > 0.0 { b"inf" } else { b"-inf" }))
        }
        Payload::Float(value) => T::of_float(value.into()),
        Payload::Double(value) => T::of_float(value),
        Payload::Bytes(text) => T::of_text(text),
    };
    value.ok_or_else(|| {
        let from = match (payload, leaf.scalar) {
            (Payload::Int(_), Scalar::SFixed32) => "Int32",
            (Payload::Int(_), _) => "Int64",
            (Payload::UInt(_), Scalar::Fixed32) => "UInt32",
            (Payload::UInt(_), _) => "UInt64",
            (Payload::Float(_), _) => "Float32",
            (Payload::Double(_), _) => "Float64",
            (Payload::Bytes(_), _) => "String",
        };
        leaf.bad_cast(payload, from, &leaf.type_name, false)
    })
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

fn overflow() -> Error {
    Error::new(ErrorCode::DECIMAL_OVERFLOW, "Convert overflow")
}

/// A decimal of so many digits behind the point, as its whole number.
fn decimal<T: Integer>(payload: Payload<'_>, precision: u8, scale: u8) -> Result<T> {
    let factor = <I256 as Integer>::power_of_ten(scale.into()).ok_or_else(overflow)?;
    let float = |value: f64| {
        let scaled = value * 10f64.powi(scale.into());
        (scaled.abs() < 2f64.powi(255)).then(|| integer_of_float(scaled))
    };
    let number = match payload {
        Payload::Bytes(text) => return read_decimal(text, precision, scale).map(|(value, _)| value),
        Payload::Int(value) => I256::from(value).checked_mul(factor),
        Payload::UInt(value) => I256::from(value).checked_mul(factor),
        Payload::Float(value) => float(value.into()),
        Payload::Double(value) => float(value),
    };
    number.and_then(T::fit_large).ok_or_else(overflow)
}

fn moment(text: &[u8], zone: &mut ZoneCursor) -> Result<squall_types::text::Moment> {
    let style = BestEffort { is_american: false, has_fractions: true };
    read_date_time(text, zone, style).map(|(moment, _)| moment)
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

fn put_enum(leaf: &Leaf, column: &mut Builder, data_type: &DataType, payload: Payload<'_>) -> Result<()> {
    let (DataType::Enum8(values) | DataType::Enum16(values)) = data_type else { return Err(other_column()) };
    let unknown = |what: String| Error::new(ErrorCode::UNKNOWN_ELEMENT_OF_ENUM, what);
    let number = match payload {
        Payload::Int(number) if leaf.scalar == Scalar::Enum => {
            let found = i32::try_from(number).ok().and_then(|number| leaf.enumeration.to_column.get(&number)).copied();
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
fn put_number(column: &mut Builder, number: i64) -> Result<()> {
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

/// Notes which field of a oneof there is.
fn note_presence(column: &mut Builder, number: u32, row: usize) -> Result<()> {
    let last = match &column.values {
        Values::UInt8(values) => values.get(row).map(|value| i64::from(*value)),
        Values::UInt16(values) => values.get(row).map(|value| i64::from(*value)),
        Values::UInt32(values) => values.get(row).map(|value| i64::from(*value)),
        Values::UInt64(values) => values.get(row).map(|value| *value as i64),
        Values::Int8(values) | Values::Enum8(values, _) => values.get(row).map(|value| i64::from(*value)),
        Values::Int16(values) | Values::Enum16(values, _) => values.get(row).map(|value| i64::from(*value)),
        Values::Int32(values) => values.get(row).map(|value| i64::from(*value)),
        Values::Int64(values) => values.get(row).copied(),
        _ => return Err(other_column()),
    };
    match last {
        None => put_number(column, number.into()),
        Some(last) if last == i64::from(number) => Ok(()),
        Some(_) => {
            Err(Error::new(ErrorCode::BAD_ARGUMENTS, "Invalid protobuf data: OneOf has more than one value to track"))
        }
    }
}

/// One of Google's messages around a value without one: that is the type's default, and not NULL.
fn unwrap_empty(nested: &Nested, columns: &mut Columns<'_>, level: usize, row: usize) -> Result<()> {
    if !nested.is_wrapper {
        return Ok(());
    }
    for field in &nested.message.fields {
        let column = columns.get(field.column(), level)?;
        if let Values::Nullable { valid, inner } = &mut column.values
            && valid.len() == row
        {
            inner.append_default()?;
            valid.push(true);
        }
    }
    Ok(())
}

/// Ends the items of a row of an array or a map.
fn end_items(column: &mut Builder, row: usize) -> Result<()> {
    let rows = column.rows();
    match &mut column.values {
        _ if rows > row => Ok(()),
        Values::Array { ends, items } => ends.end_row(items.rows()),
        Values::Map { ends, keys, .. } => ends.end_row(keys.rows()),
        _ => Err(other_column()),
    }
}
