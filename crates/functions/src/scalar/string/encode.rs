//! Bytes and numbers as digits and back: `hex`, `bin`, base64, `char`, `ascii`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type};
use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD, URL_SAFE_NO_PAD};
use squall_types::{Column, DataType, Error, ErrorCode, Integer, Result, checkpoint, grow, match_integer};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, argument, integers, primitive_column, string_column};

pub(super) fn resolve_ascii(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    call.bind(DataType::Int32, |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let first = |row| strings.get(row).first().map_or(0, |&byte| i32::from(byte));
        Ok(primitive_column::<Int32Type>(DataType::Int32, rows, first))
    })
}

pub(super) fn resolve_char(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    if call.arguments.is_empty() {
        return Err(Error::new(
            ErrorCode::TOO_FEW_ARGUMENTS_FOR_FUNCTION,
            format!("Number of arguments for function {} can't be 0, should be at least 1", call.name),
        ));
    }
    call.each(0..call.arguments.len(), |data_type| data_type.is_number() || *data_type == DataType::Bool)?;
    call.bind(DataType::String, |arguments, rows| {
        let codes = (0..arguments.len()).map(|at| integers(arguments, at, rows)).collect::<Result<Vec<_>>>()?;
        string_column(rows, rows * codes.len(), |out, row| {
            out.extend(codes.iter().map(|codes| codes[row] as u8));
            Ok(())
        })
    })
}

/// `hex` and `bin`: the bytes of a value, most significant first where it is a number, without leading zero bytes.
pub(super) fn resolve_digits(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    let digits = if call.name == "hex" {
        Digits { append: append_hex, of_byte: 2 }
    } else {
        Digits { append: append_bin, of_byte: 8 }
    };
    match call.type_of(0) {
        DataType::String
        | DataType::FixedString(_)
        | DataType::UUID
        | DataType::IPv6
        | DataType::AggregateFunction(_) => {
            call.bind(DataType::String, move |arguments, rows| digits.of_strings(&Strings::of(arguments, 0)?, rows))
        }
        DataType::BFloat16 => call.bind(DataType::String, move |arguments, rows| {
            let column = argument(arguments, 0)?.materialize()?;
            let floats = column.as_primitive::<Float32Type>()?;
            string_column(rows, rows * 4, |out, row| {
                let half = (floats.value(row).to_bits() >> 16) as u16;
                half.to_le_bytes().iter().for_each(|&byte| (digits.append)(out, byte));
                Ok(())
            })
        }),
        DataType::Float32 | DataType::Float64 => call.bind(DataType::String, move |arguments, rows| {
            digits.of_floats(&argument(arguments, 0)?.materialize()?, rows)
        }),
        // Decimals are shown as they lie in memory, wide integers as numbers.
        wide if wide.is_decimal() || wide.is_wide_integer() => {
            let (width, is_number) = (wide.fixed_width_bytes().unwrap_or(16), wide.is_wide_integer());
            call.bind(DataType::String, move |arguments, rows| {
                digits.of_wide(&argument(arguments, 0)?.materialize()?, rows, width, is_number)
            })
        }
        number
            if number.is_integer()
                || matches!(number, DataType::Bool | DataType::Date | DataType::DateTime(_) | DataType::IPv4) =>
        {
            let width = number.fixed_width_bytes().unwrap_or(8);
            call.bind(DataType::String, move |arguments, rows| {
                digits.of_integers(&argument(arguments, 0)?.materialize()?, rows, width)
            })
        }
        _ => Err(call.illegal(0)),
    }
}

/// How bytes become digits.
#[derive(Clone, Copy)]
struct Digits {
    append: fn(&mut Vec<u8>, u8),
    /// Digits of one byte.
    of_byte: usize,
}

impl Digits {
    fn of_strings(self, strings: &Strings<'_>, rows: usize) -> Result<Column> {
        string_column(rows, strings.bytes(rows) * 2, |out, row| {
            let bytes = strings.get(row).len();
            checkpoint(bytes)?;
            grow(out, bytes * self.of_byte)?;
            strings.get(row).iter().for_each(|&byte| (self.append)(out, byte));
            Ok(())
        })
    }

    /// Of floats, which are shown as they lie in memory.
    fn of_floats(self, column: &Column, rows: usize) -> Result<Column> {
        if let Some(narrow) = column.array().as_primitive_opt::<Float32Type>() {
            return string_column(rows, rows * 8, |out, row| {
                narrow.value(row).to_le_bytes().iter().for_each(|&byte| (self.append)(out, byte));
                Ok(())
            });
        }
        let wide = column.as_primitive::<Float64Type>()?;
        string_column(rows, rows * 16, |out, row| {
            wide.value(row).to_le_bytes().iter().for_each(|&byte| (self.append)(out, byte));
            Ok(())
        })
    }

    /// Of decimals and integers of many bytes; of numbers, the highest digits first and without leading zeros.
    fn of_wide(self, column: &Column, rows: usize, width: usize, is_number: bool) -> Result<Column> {
        let mut bytes = Vec::new();
        grow(&mut bytes, width.saturating_mul(rows))?;
        match_integer!(column.data_type(), T => {
            T::values(&**column.array()).iter().for_each(|value| value.append_bytes(&mut bytes));
        }, _ => {});
        string_column(rows, rows * width, |out, row| {
            let value = bytes.get(row * width..(row + 1) * width).unwrap_or_default();
            if is_number {
                let length = value.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
                value.iter().take(length).rev().for_each(|&byte| (self.append)(out, byte));
            } else {
                value.iter().for_each(|&byte| (self.append)(out, byte));
            }
            Ok(())
        })
    }

    /// Of integers of up to 8 bytes, without leading zeros.
    fn of_integers(self, column: &Column, rows: usize, width: usize) -> Result<Column> {
        let bits = bits(column)?;
        string_column(rows, rows * width, |out, row| {
            let bytes = &bits[row].to_be_bytes()[8 - width..];
            let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
            bytes[zeros.min(width - 1)..].iter().for_each(|&byte| (self.append)(out, byte));
            Ok(())
        })
    }
}

/// The bits of integers of any width.
fn bits(column: &Column) -> Result<Vec<u64>> {
    use arrow_array::types::{Int8Type, Int16Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
    use arrow_schema::DataType as Arrow;
    Ok(match column.array().data_type() {
        Arrow::UInt8 => column.as_primitive::<UInt8Type>()?.values().iter().map(|&value| u64::from(value)).collect(),
        Arrow::UInt16 => column.as_primitive::<UInt16Type>()?.values().iter().map(|&value| u64::from(value)).collect(),
        Arrow::UInt32 => column.as_primitive::<UInt32Type>()?.values().iter().map(|&value| u64::from(value)).collect(),
        Arrow::UInt64 => column.as_primitive::<UInt64Type>()?.values().to_vec(),
        Arrow::Int8 => column.as_primitive::<Int8Type>()?.values().iter().map(|&value| value as u64).collect(),
        Arrow::Int16 => column.as_primitive::<Int16Type>()?.values().iter().map(|&value| value as u64).collect(),
        Arrow::Int32 => column.as_primitive::<Int32Type>()?.values().iter().map(|&value| value as u64).collect(),
        Arrow::Int64 => column.as_primitive::<Int64Type>()?.values().iter().map(|&value| value as u64).collect(),
        _ => return Err(Error::logical("bits of something else than integers")),
    })
}

#[inline]
fn append_hex(out: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

fn append_bin(out: &mut Vec<u8>, byte: u8) {
    out.extend((0..8).rev().map(|bit| b'0' + (byte >> bit & 1)));
}

pub(super) fn resolve_undigits(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let (bits_of_digit, value): (usize, fn(u8) -> u8) = match call.name {
        "unhex" => (4, digit_value),
        _ => (1, |digit| u8::from(digit != b'0')),
    };
    call.bind(DataType::String, move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let digits_of_byte = 8 / bits_of_digit;
        string_column(rows, strings.bytes(rows) / digits_of_byte, |out, row| {
            // The first byte may have fewer digits. What is no digit counts as whatever its bits say: the text is not checked.
            let digits = strings.get(row);
            let (first, rest) = digits.split_at(digits.len() % digits_of_byte);
            for byte in std::iter::once(first).filter(|first| !first.is_empty()).chain(rest.chunks(digits_of_byte)) {
                out.push(byte.iter().fold(0, |byte: u8, &digit| (byte << bits_of_digit).wrapping_add(value(digit))));
            }
            Ok(())
        })
    })
}

fn digit_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        b'A'..=b'F' => digit - b'A' + 10,
        _ => 0xFF,
    }
}

/// How base64 is read: the bits behind the last byte may be any, as in ClickHouse.
const READ: GeneralPurposeConfig = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
const READ_STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, READ);
/// URL-safe base64 is written without padding and read with or without it.
const READ_URL_SAFE: GeneralPurpose =
    GeneralPurpose::new(&alphabet::URL_SAFE, READ.with_decode_padding_mode(DecodePaddingMode::Indifferent));

pub(super) fn resolve_base64(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let name = call.name;
    let is_url = name.contains("URL");
    if name.ends_with("Encode") {
        let engine = if is_url { URL_SAFE_NO_PAD } else { STANDARD };
        return call.bind(DataType::String, move |arguments, rows| {
            let strings = Strings::of(arguments, 0)?;
            string_column(rows, strings.bytes(rows) * 4 / 3, |out, row| {
                let bytes = strings.get(row).len();
                checkpoint(bytes)?;
                grow(out, 2 * bytes)?;
                out.extend_from_slice(engine.encode(strings.get(row)).as_bytes());
                Ok(())
            })
        });
    }
    let engine = if is_url { READ_URL_SAFE } else { READ_STANDARD };
    let lenient = name.starts_with("try");
    call.bind(DataType::String, move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        string_column(rows, strings.bytes(rows), |out, row| match engine.decode(strings.get(row)) {
            Ok(bytes) => {
                out.extend_from_slice(&bytes);
                Ok(())
            }
            Err(_) if lenient => Ok(()),
            Err(_) => Err(Error::new(
                ErrorCode::INCORRECT_DATA,
                format!("Invalid {name} value ({}), cannot be decoded", String::from_utf8_lossy(strings.get(row))),
            )),
        })
    })
}
