//! Casts from texts and to them.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BinaryArray, FixedSizeBinaryArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType as ArrowType;

use super::{CastMode, CastOptions, integer_range};
use crate::column::Column;
use crate::data_type::DataType;
use crate::error::{Error, ErrorCode, Result};
use crate::text::{TextStyle, ValueReader, ValueWriter, append_integer, whole_integer};
use crate::wrappers::with_validity;
use crate::{Integer, checkpoint, grow, match_integer, reserve};

/// Reads texts. NULL rows are not read.
pub(super) fn from_text(from: &DataType, array: &ArrayRef, to: &DataType, options: &CastOptions) -> Result<ArrayRef> {
    if matches!(to, DataType::Map(..)) || to.array_like() && !matches!(from, DataType::String) {
        return Err(Error::new(
            ErrorCode::TYPE_MISMATCH,
            format!("Unsupported types to CAST AS {}. Left type: {from}, right type: {to}", to.family()),
        ));
    }
    let mut reader = ValueReader::new(&widest(to), &options.text)?;
    // Text that is no value of the type is NULL where the target has it, except for types whose values have names.
    let has_names = matches!(to.inner(), DataType::Enum8(_) | DataType::Enum16(_));
    let is_lenient = !has_names
        && (options.mode == CastMode::OrNull || matches!(to, DataType::Nullable(inner) if **inner != DataType::Bool));
    let is_strict = is_lenient || options.mode != CastMode::Plain;
    let mut read = |row: usize, field: &[u8]| -> Result<()> {
        checkpoint(field.len())?;
        if array.is_null(row) {
            reader.append_default();
            return Ok(());
        }
        let result = if is_strict && !fits(field, to.inner()) {
            Err(Error::new(ErrorCode::CANNOT_PARSE_TEXT, format!("Cannot parse string to type {to}")))
        } else {
            reader.read_whole(field)
        };
        if result.is_err() && is_lenient {
            reader.truncate(row);
            reader.append_default();
            return Ok(());
        }
        result
    };
    match array.data_type() {
        ArrowType::Binary => {
            let strings = array.as_binary::<i32>();
            (0..strings.len()).try_for_each(|row| read(row, strings.value(row)))?;
        }
        _ => {
            let strings = array.as_fixed_size_binary();
            // Addresses and identifiers may be given as their bytes.
            let width = strings.value_length() as usize;
            let is_raw = matches!((to.inner(), width), (DataType::UUID | DataType::IPv6, 16));
            if is_raw {
                let turned = *to.inner() == DataType::UUID;
                let array: ArrayRef = if turned { uuid_memory(strings)? } else { array.clone() };
                return with_validity(&array, strings.nulls().cloned());
            }
            (0..strings.len()).try_for_each(|row| read(row, without_padding(strings.value(row))))?;
        }
    }
    Ok(reader.finish()?.array().clone())
}

/// What a text is read as to become a value of the type: of a decimal the digits that its width has, as ClickHouse does.
fn widest(data_type: &DataType) -> Cow<'_, DataType> {
    match data_type {
        DataType::Decimal(_, scale) => {
            let bytes = data_type.fixed_width_bytes().unwrap_or_default();
            Cow::Owned(DataType::decimal_of_width(bytes, *scale))
        }
        DataType::Nullable(inner) => match widest(inner) {
            Cow::Owned(inner) => Cow::Owned(DataType::Nullable(Arc::new(inner))),
            Cow::Borrowed(_) => Cow::Borrowed(data_type),
        },
        other => Cow::Borrowed(other),
    }
}

/// The bytes of UUIDs as ClickHouse has them in memory, which are two numbers: each half turned round. And the other way.
///
/// # Errors
/// `LOGICAL_ERROR` for values that are not 16 bytes wide.
pub fn uuid_memory(values: &FixedSizeBinaryArray) -> Result<ArrayRef> {
    let mut bytes: Vec<u8> = (0..values.len()).flat_map(|row| values.value(row).iter().copied()).collect();
    bytes.chunks_mut(8).for_each(<[u8]>::reverse);
    Ok(Arc::new(FixedSizeBinaryArray::try_new(16, bytes.into(), values.nulls().cloned())?))
}

impl DataType {
    fn array_like(&self) -> bool {
        matches!(self, Self::Array(_) | Self::Tuple(_))
    }

    /// The name without arguments.
    fn family(&self) -> String {
        let name = self.to_string();
        name.split_once('(').map_or(name.clone(), |(family, _)| family.to_owned())
    }
}

/// The bytes of a `FixedString` without the zeros that fill it up.
pub(super) fn without_padding(bytes: &[u8]) -> &[u8] {
    let length = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.get(..length).unwrap_or_default()
}

/// Whether a text that is an integer as a whole is one of the type's; texts that are none are left to the reader.
fn fits(field: &[u8], to: &DataType) -> bool {
    if to.is_wide_integer() {
        let Some(number) = whole_integer(field) else { return field.len() < 76 };
        return match_integer!(to, T => T::fit_large(number).is_some(), _ => true);
    }
    let Some((least, most)) = integer_range(to) else { return true };
    match std::str::from_utf8(field).ok().and_then(|text| text.parse::<i128>().ok()) {
        Some(number) => (least..=most).contains(&number),
        None => field.len() < 30,
    }
}

pub(super) fn to_text(from: &DataType, array: &ArrayRef, options: &CastOptions) -> Result<ArrayRef> {
    // Most texts are made of integers, whose digits take less time than asking for the type in each row.
    macro_rules! integers {
        ($($data_type:ident as $arrow:ty),*) => {
            match from {
                $(DataType::$data_type if array.null_count() == 0 => {
                    let values = array.as_primitive::<$arrow>().values();
                    texts(values.len(), |bytes, row| append_integer(bytes, values[row]))
                })*
                _ => {
                    let column = Column::new(from.clone(), array.clone());
                    let mut writer = ValueWriter::new(&column, TextStyle::Plain, &options.text)?;
                    texts(array.len(), |bytes, row| writer.write(bytes, row))
                }
            }
        };
    }
    integers!(
        UInt8 as UInt8Type,
        UInt16 as UInt16Type,
        UInt32 as UInt32Type,
        UInt64 as UInt64Type,
        Int8 as Int8Type,
        Int16 as Int16Type,
        Int32 as Int32Type,
        Int64 as Int64Type
    )
}

/// Values that are written between two checkpoints.
const TEXTS_AT_ONCE: usize = 1024;

/// Strings of rows, each appended by `write`.
#[inline]
fn texts(rows: usize, mut write: impl FnMut(&mut Vec<u8>, usize)) -> Result<ArrayRef> {
    reserve(rows.saturating_mul(12))?;
    let mut bytes = Vec::with_capacity(rows * 8);
    let mut ends = Vec::with_capacity(rows + 1);
    ends.push(0);
    for row in 0..rows {
        if row % TEXTS_AT_ONCE == 0 {
            checkpoint(16 * TEXTS_AT_ONCE)?;
        }
        if bytes.capacity() - bytes.len() < bytes.len() / 8 {
            let more = bytes.len() / 2;
            checkpoint(more)?;
            grow(&mut bytes, more)?;
        }
        write(&mut bytes, row);
        let end = i32::try_from(bytes.len())
            .map_err(|_| Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of strings in one block"))?;
        ends.push(end);
    }
    Ok(Arc::new(BinaryArray::try_new(OffsetBuffer::new(ends.into()), bytes.into(), None)?))
}

pub(super) fn to_fixed_string(array: &ArrayRef, width: usize) -> Result<ArrayRef> {
    let rows = array.len();
    let mut bytes = Vec::new();
    grow(&mut bytes, rows.saturating_mul(width))?;
    for row in 0..rows {
        let value = match array.as_binary_opt::<i32>() {
            Some(strings) => strings.value(row),
            None => array.as_fixed_size_binary().value(row),
        };
        let value = if array.is_null(row) { &[] } else { value };
        if value.len() > width {
            return Err(Error::new(
                ErrorCode::TOO_LARGE_STRING_SIZE,
                format!("String too long for type FixedString({width})"),
            ));
        }
        checkpoint(width / 16)?;
        bytes.extend_from_slice(value);
        bytes.resize((row + 1) * width, 0);
    }
    Ok(Arc::new(FixedSizeBinaryArray::try_new(i32::try_from(width).unwrap_or(i32::MAX), bytes.into(), None)?))
}
