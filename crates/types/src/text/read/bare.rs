//! Values as a field is them as a whole.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::Scratch;
use super::input::{Input, shown};
use super::node::{Node, push_end};
use crate::calendar::{DATE32_MAX, DATE32_MIN, DAY_SECONDS};
use crate::error::{Error, ErrorCode, Result};
use crate::text::basic_time::{basic_date_time64, read_basic_date_time};
use crate::text::bfloat16;
use crate::text::date_time::{Moment, MomentForm, read_date, read_date_time};
use crate::text::decimal::{read_any_integer, read_decimal};
use crate::text::number::{IntegerError, read_float32, read_float64, read_integer};
use crate::text::time::read_time;

#[cold]
fn no_moment(text: &[u8]) -> Error {
    let message = format!("Cannot parse datetime {}: expected YYYY-MM-DD hh:mm:ss or a timestamp", shown(text));
    Error::new(ErrorCode::CANNOT_PARSE_DATETIME, message)
}

impl Node {
    pub fn read_whole(&mut self, field: &[u8], scratch: &mut Scratch) -> Result<()> {
        let read = match self {
            Self::Nullable(inner, valid) => {
                if matches!(field, b"NULL" | b"\\N") && !matches!(**inner, Self::String(..) | Self::FixedString(..)) {
                    self.append_default();
                    return Ok(());
                }
                inner.read_whole(field, scratch)?;
                valid.push(true);
                return Ok(());
            }
            Self::LowCardinality(inner) => return inner.read_whole(field, scratch),
            Self::Bool(values) if scratch.truth(field).is_some() => {
                values.push(u8::from(scratch.truth(field) == Some(true)));
                return Ok(());
            }
            Self::Variant(reader) if field == b"\\N" => {
                reader.append_null();
                return Ok(());
            }
            Self::Variant(reader) => return reader.read_whole(field, scratch),
            Self::Dynamic(reader) => return reader.read_whole(field),
            Self::Object(reader) => return reader.read(field, scratch),
            Self::Array(..) | Self::Map(..) | Self::Tuple(..) => {
                let rows = self.rows();
                let mut input = Input { text: field, at: 0 };
                input.skip_spaces();
                self.read_quoted(&mut input, scratch)?;
                input.skip_spaces();
                if input.at == field.len() {
                    return Ok(());
                }
                self.truncate(rows);
                return Err(Error::new(
                    ErrorCode::UNEXPECTED_DATA_AFTER_PARSED_VALUE,
                    format!(
                        "Unexpected data '{}' after parsed {} value '{}'",
                        shown(input.rest()),
                        self.type_name(),
                        shown(field.get(..input.at).unwrap_or_default())
                    ),
                ));
            }
            _ => self.read_bare(field)?,
        };
        if read == field.len() {
            return Ok(());
        }
        self.truncate(self.rows() - 1);
        Err(self.incomplete(field, read))
    }

    /// The error for a field of which only a part is a value.
    #[cold]
    pub fn incomplete(&self, field: &[u8], read: usize) -> Error {
        let name = self.type_name();
        let place = match field.get(..read) {
            Some([]) | None => "at begin of string".to_owned(),
            Some(parsed) => format!("at position {read} (parsed just '{}')", shown(parsed)),
        };
        let note = match self {
            Self::Date(_)
            | Self::Date32(_)
            | Self::DateTime(..)
            | Self::DateTime64(..)
            | Self::Bool(_)
            | Self::Time(_)
            | Self::Time64(..)
            | Self::Decimal32(..)
            | Self::Decimal64(..)
            | Self::Decimal128(..)
            | Self::Decimal256(..) => String::new(),
            _ => format!(
                ". Note: there are to{name}OrZero and to{name}OrNull functions, which returns zero/NULL instead of throwing exception"
            ),
        };
        Error::new(
            ErrorCode::CANNOT_PARSE_TEXT,
            format!("Cannot parse string '{}' as {name}: syntax error {place}{note}", shown(field)),
        )
    }

    /// Appends a value that is not nested from the front of bare text and returns the bytes read; strings, enums and addresses
    /// take all of it.
    #[inline]
    pub fn read_bare(&mut self, text: &[u8]) -> Result<usize> {
        macro_rules! integer {
            ($values:ident, $t:ty, $signed:literal) => {{
                let (value, read) = read_integer(text, $signed).map_err(|error| self.bad_integer(error))?;
                let Self::$values(values) = self else { return Ok(0) };
                values.push(value as $t);
                Ok(read)
            }};
        }
        macro_rules! wide {
            ($values:ident) => {{
                let (value, read) = read_any_integer(text).map_err(|error| self.bad_integer(error))?;
                let Self::$values(values) = self else { return Ok(0) };
                values.push(value);
                Ok(read)
            }};
        }
        macro_rules! decimal {
            ($values:ident, $precision:ident, $scale:ident) => {{
                let (value, read) = read_decimal(text, *$precision, *$scale)?;
                $values.push(value);
                Ok(read)
            }};
        }
        match self {
            Self::UInt8(_) => integer!(UInt8, u8, false),
            Self::UInt16(_) => integer!(UInt16, u16, false),
            Self::UInt32(_) => integer!(UInt32, u32, false),
            Self::UInt64(_) => integer!(UInt64, u64, false),
            Self::Int8(_) => integer!(Int8, i8, true),
            Self::Int16(_) => integer!(Int16, i16, true),
            Self::Int32(_) => integer!(Int32, i32, true),
            Self::Int64(_) => integer!(Int64, i64, true),
            Self::UInt128(_) => wide!(UInt128),
            Self::UInt256(_) => wide!(UInt256),
            Self::Int128(_) => wide!(Int128),
            Self::Int256(_) => wide!(Int256),
            Self::Decimal32(values, precision, scale) => decimal!(values, precision, scale),
            Self::Decimal64(values, precision, scale) => decimal!(values, precision, scale),
            Self::Decimal128(values, precision, scale) => decimal!(values, precision, scale),
            Self::Decimal256(values, precision, scale) => decimal!(values, precision, scale),
            Self::BFloat16(values) => {
                let (value, read) = read_float32(text).ok_or_else(|| bad_float(text))?;
                values.push(bfloat16(value));
                Ok(read)
            }
            Self::Float32(values) => {
                let (value, read) = read_float32(text).ok_or_else(|| bad_float(text))?;
                values.push(value);
                Ok(read)
            }
            Self::Float64(values) => {
                let (value, read) = read_float64(text).ok_or_else(|| bad_float(text))?;
                values.push(value);
                Ok(read)
            }
            Self::String(offsets, bytes) => {
                bytes.extend_from_slice(text);
                push_end(offsets, bytes.len())?;
                Ok(text.len())
            }
            Self::FixedString(width, bytes) => {
                if text.len() > *width {
                    return Err(Error::new(
                        ErrorCode::TOO_LARGE_STRING_SIZE,
                        format!("String too long for type FixedString({width})"),
                    ));
                }
                bytes.extend_from_slice(text);
                bytes.extend(std::iter::repeat_n(0, *width - text.len()));
                Ok(text.len())
            }
            Self::Bool(values) => {
                values.push(read_bool(text)?.into());
                Ok(text.len())
            }
            Self::Date(values) => {
                let (days, read) = read_date(text)?;
                values.push(days.clamp(0, u16::MAX.into()) as u16);
                Ok(read + time_after_date(text, read))
            }
            Self::Date32(values) => {
                let (days, read) = read_date(text)?;
                values.push(days.clamp(DATE32_MIN, DATE32_MAX));
                Ok(read + time_after_date(text, read))
            }
            Self::DateTime(values, MomentForm::Basic, zone) => {
                let (seconds, read) = read_basic_date_time(text, zone).ok_or_else(|| no_moment(text))?;
                values.push(seconds);
                Ok(read)
            }
            Self::DateTime(values, form, zone) => {
                let (moment, read) = read_date_time(text, zone, form.style())?;
                values.push(moment.seconds.clamp(0, u32::MAX.into()) as u32);
                Ok(read)
            }
            Self::DateTime64(values, digits, MomentForm::Basic, zone) => {
                values.push(basic_date_time64(text, *digits, zone).ok_or_else(|| no_moment(text))?);
                Ok(text.len())
            }
            Self::DateTime64(values, digits, form, zone) => {
                let (moment, read) = read_date_time(text, zone, form.style())?;
                values.push(ticks_in_range(moment, *digits, text)?);
                Ok(read)
            }
            Self::Time(values) => {
                let (seconds, read) = read_time(text, 0)?;
                values.push(seconds as i32);
                Ok(read)
            }
            Self::Time64(values, digits) => {
                let (ticks, read) = read_time(text, *digits)?;
                values.push(ticks);
                Ok(read)
            }
            Self::Enum8(values, names) => {
                // The numbers of an Enum8 fit.
                values.push(names.find(text)? as i8);
                Ok(text.len())
            }
            Self::Enum16(values, names) => {
                values.push(names.find(text)?);
                Ok(text.len())
            }
            Self::Uuid(bytes) => {
                bytes.extend_from_slice(&read_uuid(text).ok_or_else(|| {
                    Error::new(ErrorCode::CANNOT_PARSE_UUID, format!("Cannot parse uuid {}", shown(text)))
                })?);
                Ok(text.len())
            }
            Self::Ipv4(values) => {
                values.push(read_ipv4(text)?.to_bits());
                Ok(text.len())
            }
            Self::Ipv6(bytes) => {
                bytes.extend_from_slice(&read_ipv6(text)?.octets());
                Ok(text.len())
            }
            Self::Nothing(_) => Err(Error::new(ErrorCode::CANNOT_PARSE_TEXT, "Type Nothing has no values")),
            Self::Nullable(..)
            | Self::LowCardinality(_)
            | Self::Array(..)
            | Self::Map(..)
            | Self::Tuple(..)
            | Self::Variant(_)
            | Self::Dynamic(_)
            | Self::Object(_) => Err(Error::logical(format!("{} is not a bare value", self.type_name()))),
        }
    }

    #[cold]
    pub fn bad_integer(&self, error: IntegerError) -> Error {
        let name = self.type_name();
        match error {
            IntegerError::Empty => Error::new(
                ErrorCode::ATTEMPT_TO_READ_AFTER_EOF,
                format!("Attempt to read after eof: Cannot parse {name} from String, because value is too short"),
            ),
            IntegerError::NoDigits => Error::new(
                ErrorCode::CANNOT_PARSE_NUMBER,
                format!("Cannot parse number without any digits: Cannot parse {name} from String"),
            ),
            IntegerError::Minus => Error::new(
                ErrorCode::CANNOT_PARSE_NUMBER,
                format!("Unsigned type must not contain '-' symbol: Cannot parse {name} from String"),
            ),
        }
    }
}

/// The ticks of a moment, which is cut to what dates have.
#[inline]
fn ticks_in_range(moment: Moment, digits: u8, text: &[u8]) -> Result<i64> {
    let smallest = i64::from(DATE32_MIN) * DAY_SECONDS;
    let largest = (i64::from(DATE32_MAX) + 1) * DAY_SECONDS - 1;
    let moment = Moment { seconds: moment.seconds.clamp(smallest, largest), ..moment };
    moment.checked_ticks(digits).ok_or_else(|| {
        Error::new(ErrorCode::DECIMAL_OVERFLOW, format!("Decimal math overflow: {} as DateTime64", shown(text)))
    })
}

#[inline]
fn read_ipv4(text: &[u8]) -> Result<Ipv4Addr> {
    let address = std::str::from_utf8(text).ok().and_then(|text| text.parse::<Ipv4Addr>().ok());
    address.ok_or_else(|| Error::new(ErrorCode::CANNOT_PARSE_IPV4, "Invalid IPv4 value"))
}

/// An address of IPv6, or one of IPv4 that is mapped into it.
#[inline]
fn read_ipv6(text: &[u8]) -> Result<Ipv6Addr> {
    let address = std::str::from_utf8(text).ok().and_then(|text| {
        text.parse::<Ipv6Addr>().or_else(|_| text.parse::<Ipv4Addr>().map(|v4| v4.to_ipv6_mapped())).ok()
    });
    address.ok_or_else(|| Error::new(ErrorCode::CANNOT_PARSE_IPV6, "Invalid IPv6 value"))
}

/// The length of ` hh:mm:ss` or `Thh:mm:ss` (with an offset, a fraction) after a date, which a date drops.
fn time_after_date(text: &[u8], read: usize) -> usize {
    let rest = text.get(read..).unwrap_or_default();
    let [b' ' | b'T', time @ ..] = rest else { return 0 };
    let clock = time.first_chunk::<8>().is_some_and(|clock| {
        clock.iter().enumerate().all(|(at, byte)| if at % 3 == 2 { *byte == b':' } else { byte.is_ascii_digit() })
    });
    if clock { 9 } else { 0 }
}

#[cold]
fn bad_float(text: &[u8]) -> Error {
    Error::new(ErrorCode::CANNOT_PARSE_NUMBER, format!("Cannot read floating point value here: {}", shown(text)))
}

pub(super) fn read_bool(text: &[u8]) -> Result<bool> {
    const TRUE: [&[u8]; 8] = [b"true", b"1", b"t", b"y", b"yes", b"on", b"enable", b"enabled"];
    const FALSE: [&[u8]; 8] = [b"false", b"0", b"f", b"n", b"no", b"off", b"disable", b"disabled"];
    let is_one_of = |words: [&[u8]; 8]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is_one_of(TRUE) {
        return Ok(true);
    }
    if is_one_of(FALSE) {
        return Ok(false);
    }
    Err(Error::new(
        ErrorCode::CANNOT_PARSE_BOOL,
        format!(
            "Cannot parse boolean value here: '{}', should be 'true' or 'false' controlled by setting bool_true_representation and \
             bool_false_representation or one of True/False/T/F/Y/N/Yes/No/On/Off/Enable/Disable/Enabled/Disabled/1/0",
            shown(text)
        ),
    ))
}

/// The bytes of a `UUID` written with dashes (36 characters) or without (32).
fn read_uuid(text: &[u8]) -> Option<[u8; 16]> {
    let mut digits = [0u8; 32];
    match text.len() {
        32 => digits.copy_from_slice(text),
        36 => {
            let mut at = 0;
            for (position, byte) in text.iter().enumerate() {
                if matches!(position, 8 | 13 | 18 | 23) {
                    if *byte != b'-' {
                        return None;
                    }
                } else {
                    *digits.get_mut(at)? = *byte;
                    at += 1;
                }
            }
        }
        _ => return None,
    }
    let mut bytes = [0u8; 16];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |at: usize| pair.get(at).and_then(|digit| char::from(*digit).to_digit(16));
        *byte = (digit(0)? * 16 + digit(1)?) as u8;
    }
    Some(bytes)
}
