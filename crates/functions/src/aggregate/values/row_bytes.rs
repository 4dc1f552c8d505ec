//! The bytes of a column's values as ClickHouse's columns hold them and feed them to hash functions: numbers as they lie in memory,
//! strings with their length and a zero byte, arrays with their length, a flag before what may be NULL.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, BinaryArray};
use arrow_buffer::{Buffer, NullBuffer};
use squall_types::{DataType, Error, Result, Value};

use super::state_bytes::{Raw, take_bytes, take_value};

/// Values whose bytes can be had by row.
pub(in crate::aggregate) enum RowBytes {
    /// Each of so many bytes, two halves of a UUID turned.
    Fixed {
        bytes: Buffer,
        width: usize,
        is_uuid: bool,
    },
    Strings(BinaryArray),
    Lists(Vec<i32>, Box<Self>),
    Tuple(Vec<Self>),
    Nullable(Option<NullBuffer>, Box<Self>),
    Dictionary(Vec<u32>, Box<Self>),
    Nothing,
}

impl RowBytes {
    /// The values of an array of this type.
    pub fn new(data_type: &DataType, array: &ArrayRef) -> Result<Self> {
        let wrong = || Error::logical(format!("{data_type} is not made of bytes"));
        Ok(match data_type {
            DataType::Nullable(inner) => {
                Self::Nullable(array.nulls().cloned(), Box::new(Self::of_values(inner, array).ok_or_else(wrong)??))
            }
            DataType::LowCardinality(inner) => {
                let dictionary = array.as_dictionary_opt::<UInt32Type>().ok_or_else(wrong)?;
                let values = Self::new(&inner.remove_nullable(), dictionary.values())?;
                let by_key = Self::Dictionary(dictionary.keys().values().to_vec(), Box::new(values));
                match inner.is_nullable() {
                    true => Self::Nullable(array.nulls().cloned(), Box::new(by_key)),
                    false => by_key,
                }
            }
            _ => Self::of_values(data_type, array).ok_or_else(wrong)??,
        })
    }

    fn of_values(data_type: &DataType, array: &ArrayRef) -> Option<Result<Self>> {
        Some(match data_type {
            DataType::Nothing => Ok(Self::Nothing),
            DataType::String | DataType::Dynamic(_) => Ok(Self::Strings(array.as_binary_opt::<i32>()?.clone())),
            DataType::Array(item) => {
                let list = array.as_list_opt::<i32>()?;
                Self::new(item, list.values()).map(|items| Self::Lists(list.value_offsets().to_vec(), Box::new(items)))
            }
            DataType::Map(..) => {
                let list = array.as_list_opt::<i32>()?;
                let entries = Self::new(&data_type.map_entry_type(), list.values());
                entries.map(|items| Self::Lists(list.value_offsets().to_vec(), Box::new(items)))
            }
            DataType::Tuple(_) | DataType::Variant(_) | DataType::Json(_) => {
                let tuple = array.as_struct_opt()?;
                let types = data_type.struct_types();
                let columns = types.iter().zip(tuple.columns());
                columns.map(|(part, column)| Self::new(part, column)).collect::<Result<_>>().map(Self::Tuple)
            }
            _ => {
                let width = data_type.fixed_width_bytes()?;
                let data = array.to_data();
                let bytes = data.buffers().first()?.slice(data.offset() * width);
                Ok(Self::Fixed { bytes, width, is_uuid: *data_type == DataType::UUID })
            }
        })
    }

    /// The bytes of a row where they lie in one piece as they are; of strings without length.
    #[inline]
    pub fn contiguous(&self, row: usize) -> Option<&[u8]> {
        match self {
            Self::Fixed { bytes, width, is_uuid: false } => bytes.get(row * width..(row + 1) * width),
            Self::Strings(strings) => Some(strings.value(row)),
            _ => None,
        }
    }

    /// Whether no value has parts, so that it is one piece of memory: not so of arrays and tuples.
    pub fn is_simple(&self) -> bool {
        matches!(self, Self::Fixed { .. } | Self::Strings(_))
    }

    /// Appends the bytes of a row, of which strings are those without length.
    pub fn append_plain(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Strings(strings) => out.extend_from_slice(strings.value(row)),
            other => other.append(row, out),
        }
    }

    /// Appends the bytes of a row as a column of its own holds them in one piece: strings and arrays of numbers without length.
    pub fn append_alone(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Lists(offsets, items) if matches!(**items, Self::Fixed { .. }) => {
                (offsets[row]..offsets[row + 1]).for_each(|item| items.append(item as usize, out));
            }
            other => other.append_plain(row, out),
        }
    }

    /// Appends the bytes of a row as they are hashed beside others.
    pub fn append(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Fixed { bytes, width, is_uuid } => {
                let at = out.len();
                out.extend_from_slice(bytes.get(row * width..(row + 1) * width).unwrap_or_default());
                if *is_uuid && *width == 16 {
                    out[at..at + 8].reverse();
                    out[at + 8..].reverse();
                }
            }
            Self::Strings(strings) => {
                let string = strings.value(row);
                out.extend_from_slice(&(string.len() as u64 + 1).to_le_bytes());
                out.extend_from_slice(string);
                out.push(0);
            }
            Self::Lists(offsets, items) => {
                let (start, end) = (offsets[row] as usize, offsets[row + 1] as usize);
                out.extend_from_slice(&((end - start) as u64).to_le_bytes());
                (start..end).for_each(|item| items.append(item, out));
            }
            Self::Tuple(elements) => elements.iter().for_each(|element| element.append(row, out)),
            Self::Nullable(valid, values) => {
                let is_null = valid.as_ref().is_some_and(|valid| valid.is_null(row));
                out.push(u8::from(is_null));
                if !is_null {
                    values.append(row, out);
                }
            }
            Self::Dictionary(keys, values) => values.append(keys[row] as usize, out),
            Self::Nothing => {}
        }
    }
}

/// The value whose bytes [`RowBytes::append`] gave.
pub(in crate::aggregate) fn value_of(mut bytes: &[u8], data_type: &DataType) -> Result<Value> {
    take_hashed(&mut bytes, data_type)
}

fn take_hashed(bytes: &mut &[u8], data_type: &DataType) -> Result<Value> {
    let length = |bytes: &mut &[u8]| {
        let length = u64::take(bytes)?;
        usize::try_from(length).ok().filter(|length| *length <= bytes.len().saturating_add(1)).ok_or_else(|| {
            Error::new(
                squall_types::ErrorCode::CANNOT_READ_ALL_DATA,
                "Cannot read all data of an aggregate function's state",
            )
        })
    };
    Ok(match data_type {
        DataType::Nullable(inner) => match u8::take(bytes)? {
            0 => take_hashed(bytes, inner)?,
            _ => Value::Null,
        },
        DataType::LowCardinality(inner) => take_hashed(bytes, inner)?,
        DataType::String => {
            let length = length(bytes)?;
            let with_zero = take_bytes(bytes, length)?;
            Value::string(with_zero.split_last().map_or(&[][..], |(_, string)| string))
        }
        DataType::Array(item) => {
            let count = length(bytes)?;
            Value::Array((0..count).map(|_| take_hashed(bytes, item)).collect::<Result<_>>()?)
        }
        DataType::Tuple(elements) => {
            Value::Tuple(elements.iter().map(|element| take_hashed(bytes, &element.data_type)).collect::<Result<_>>()?)
        }
        _ => take_value(bytes, data_type)?,
    })
}
