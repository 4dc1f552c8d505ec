//! BSONEachRow: a document of BSON for each row, its fields named as the columns are.

mod input;

use std::sync::Arc;

use squall_types::{Block, DataType, Error, ErrorCode, Result, Schema, TupleElement, checkpoint, grow};

use crate::binary::uuid::swap_halves;
use crate::display::cells::{Arrays, Cells, items, string};
use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics};
pub(crate) use input::{BsonReader, infer};

const DEPTH_MAX: usize = 500;
/// The shortest document: its length and its end.
const DOCUMENT_BYTES_MIN: usize = 5;

/// The types of values, as BSON numbers them.
mod kind {
    pub const DOUBLE: u8 = 1;
    pub const STRING: u8 = 2;
    pub const DOCUMENT: u8 = 3;
    pub const ARRAY: u8 = 4;
    pub const BINARY: u8 = 5;
    pub const UNDEFINED: u8 = 6;
    pub const OBJECT_ID: u8 = 7;
    pub const BOOL: u8 = 8;
    pub const DATE_TIME: u8 = 9;
    pub const NULL: u8 = 10;
    pub const REGEXP: u8 = 11;
    pub const DB_POINTER: u8 = 12;
    pub const JAVA_SCRIPT: u8 = 13;
    pub const SYMBOL: u8 = 14;
    pub const JAVA_SCRIPT_WITH_SCOPE: u8 = 15;
    pub const INT32: u8 = 16;
    pub const TIMESTAMP: u8 = 17;
    pub const INT64: u8 = 18;
    pub const DECIMAL128: u8 = 19;
    pub const MAX_KEY: u8 = 127;
    pub const MIN_KEY: u8 = 255;
}

/// The kinds of binary values.
const GENERIC: u8 = 0;
const UUID: u8 = 4;

/// How values of a type are written.
#[derive(Clone, Debug)]
enum Form {
    Bool,
    Int32,
    Int64,
    Double,
    DateTime,
    /// Bytes that are text where they are to be.
    Text,
    Binary,
    Uuid,
    Array(Box<Form>),
    /// A tuple: an array where its elements have no names.
    Tuple(Vec<(String, Form)>, bool),
    Map(Box<Form>),
    Inner(Box<Form>),
}

fn unsupported(data_type: &DataType, way: &str) -> Error {
    let message = format!("Type {data_type} is not supported in BSON {way} format");
    Error::new(ErrorCode::ILLEGAL_COLUMN, message)
}

impl Form {
    fn of(data_type: &DataType) -> Result<Self> {
        let boxed = |data_type: &DataType| Self::of(data_type).map(Box::new);
        Ok(match data_type {
            DataType::Bool => Self::Bool,
            DataType::Int8 | DataType::UInt8 | DataType::Int16 | DataType::UInt16 | DataType::Int32 => Self::Int32,
            DataType::Date | DataType::Date32 | DataType::Enum8(_) | DataType::Enum16(_) | DataType::IPv4 => {
                Self::Int32
            }
            DataType::UInt32 | DataType::Int64 | DataType::UInt64 | DataType::DateTime(_) => Self::Int64,
            DataType::Float32 | DataType::Float64 | DataType::BFloat16 => Self::Double,
            DataType::DateTime64(..) => Self::DateTime,
            DataType::Decimal(..) if data_type.fixed_width_bytes() == Some(4) => Self::Int32,
            DataType::Decimal(..) if data_type.fixed_width_bytes() == Some(8) => Self::Int64,
            DataType::Decimal(..) => Self::Binary,
            DataType::Int128 | DataType::UInt128 | DataType::Int256 | DataType::UInt256 | DataType::IPv6 => {
                Self::Binary
            }
            DataType::String | DataType::FixedString(_) => Self::Text,
            DataType::UUID => Self::Uuid,
            DataType::Nullable(inner) | DataType::LowCardinality(inner) => Self::Inner(boxed(inner)?),
            DataType::Array(item) => Self::Array(boxed(item)?),
            DataType::Tuple(elements) => {
                let named = !elements.is_empty() && elements.iter().all(|element| element.name.is_some());
                let form = |(at, element): (usize, &TupleElement)| {
                    let name = element.name.as_ref().map_or_else(|| (at + 1).to_string(), ToString::to_string);
                    Ok((name, Self::of(&element.data_type)?))
                };
                Self::Tuple(elements.iter().enumerate().map(form).collect::<Result<_>>()?, named)
            }
            DataType::Map(key, value) if matches!(key.inner(), DataType::String | DataType::FixedString(_)) => {
                Self::Map(boxed(value)?)
            }
            other => return Err(unsupported(other, "output")),
        })
    }
}

/// Writes documents, of which each begins with its length.
fn document(out: &mut Vec<u8>, fields: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    fields(out)?;
    out.push(0);
    let too_long = |_| Error::new(ErrorCode::INCORRECT_DATA, "Too large document for BSON: it has more than 2 GiB");
    let length = i32::try_from(out.len() - start).map_err(too_long)?;
    if let Some(place) = out.get_mut(start..start + 4) {
        place.copy_from_slice(&length.to_le_bytes());
    }
    Ok(())
}

fn put_head(kind: u8, name: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    // A name ends at the first zero.
    out.extend(name.iter().copied().filter(|byte| *byte != 0));
    out.push(0);
}

fn put_binary(subtype: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.push(subtype);
    out.extend_from_slice(bytes);
}

/// Appends a row's value as a field.
fn write(form: &Form, cells: &Cells<'_>, row: usize, name: &[u8], is_text: bool, out: &mut Vec<u8>) -> Result<()> {
    if cells.is_null(row) {
        put_head(kind::NULL, name, out);
        return Ok(());
    }
    let integer = integer_of(cells, row);
    let bytes = match cells {
        Cells::String { offsets, bytes } => Some(string(offsets, bytes, row)),
        Cells::Fixed { bytes, width } => bytes.get(row * width..(row + 1) * width),
        _ => None,
    };
    match (form, cells) {
        (Form::Inner(form), Cells::Nullable { inner, .. }) => return write(form, inner, row, name, is_text, out),
        (Form::Inner(form), Cells::LowCardinality { keys, values, .. }) => {
            let form = if let Form::Inner(inner) = &**form { inner } else { form };
            return write(form, values, keys[row] as usize, name, is_text, out);
        }
        (Form::Bool, _) => {
            put_head(kind::BOOL, name, out);
            out.push(u8::from(integer.is_some_and(|value| value != 0)));
        }
        (Form::Int32, _) if integer.is_some() => {
            put_head(kind::INT32, name, out);
            out.extend_from_slice(&(integer.unwrap_or_default() as i32).to_le_bytes());
        }
        (Form::Int64, _) if integer.is_some() => {
            put_head(kind::INT64, name, out);
            out.extend_from_slice(&integer.unwrap_or_default().to_le_bytes());
        }
        (Form::Int32 | Form::Int64, Cells::Fixed { .. }) => {
            let mut whole = [0; 8];
            whole.iter_mut().zip(bytes.unwrap_or_default()).for_each(|(place, byte)| *place = *byte);
            let number = i64::from_le_bytes(whole);
            let is_short = matches!(form, Form::Int32);
            put_head(if is_short { kind::INT32 } else { kind::INT64 }, name, out);
            out.extend_from_slice(&number.to_le_bytes()[..if is_short { 4 } else { 8 }]);
        }
        // Ticks of whatever length, as ClickHouse has them.
        (Form::DateTime, _) => {
            put_head(kind::DATE_TIME, name, out);
            out.extend_from_slice(&integer.unwrap_or_default().to_le_bytes());
        }
        (Form::Double, _) => {
            put_head(kind::DOUBLE, name, out);
            let number = match cells {
                Cells::Float32(values) | Cells::BFloat16(values) => f64::from(values[row]),
                Cells::Float64(values) => values[row],
                _ => 0.0,
            };
            out.extend_from_slice(&number.to_le_bytes());
        }
        (Form::Text, _) if is_text => {
            let bytes = bytes.unwrap_or_default();
            put_head(kind::STRING, name, out);
            out.extend_from_slice(&(bytes.len() as u32 + 1).to_le_bytes());
            out.extend_from_slice(bytes);
            out.push(0);
        }
        (Form::Text | Form::Binary, _) => {
            put_head(kind::BINARY, name, out);
            put_binary(GENERIC, bytes.unwrap_or_default(), out);
        }
        (Form::Uuid, Cells::Uuid(bytes)) => {
            put_head(kind::BINARY, name, out);
            put_binary(UUID, &swap_halves(*bytes[row * 16..].first_chunk().unwrap_or(&[0; 16])), out);
        }
        _ => return write_nested(form, cells, row, name, is_text, out),
    }
    Ok(())
}

/// An integer of up to 64 bits; none of other cells.
fn integer_of(cells: &Cells<'_>, row: usize) -> Option<i64> {
    Some(match cells {
        Cells::UInt8(values) => values[row].into(),
        Cells::UInt16(values) => values[row].into(),
        Cells::UInt32(values) => values[row].into(),
        Cells::UInt64(values) => values[row] as i64,
        Cells::Int8(values) => values[row].into(),
        Cells::Int16(values) => values[row].into(),
        Cells::Int32(values) => values[row].into(),
        Cells::Int64(values) => values[row],
        _ => return None,
    })
}

/// Appends an array, a tuple or a map as a field: a document whose fields are its values.
fn write_nested(
    form: &Form,
    cells: &Cells<'_>,
    row: usize,
    name: &[u8],
    is_text: bool,
    out: &mut Vec<u8>,
) -> Result<()> {
    match (form, cells) {
        (Form::Array(form), Cells::Array { offsets, items: cells }) => {
            put_head(kind::ARRAY, name, out);
            document(out, |out| {
                items(offsets, row)
                    .enumerate()
                    .try_for_each(|(at, item)| write(form, cells, item, at.to_string().as_bytes(), is_text, out))
            })
        }
        (Form::Tuple(forms, is_named), Cells::Tuple(elements)) => {
            put_head(if *is_named { kind::DOCUMENT } else { kind::ARRAY }, name, out);
            document(out, |out| {
                forms
                    .iter()
                    .zip(elements)
                    .try_for_each(|((name, form), cells)| write(form, cells, row, name.as_bytes(), is_text, out))
            })
        }
        (Form::Map(form), Cells::Map { offsets, keys, values }) => {
            put_head(kind::DOCUMENT, name, out);
            document(out, |out| {
                items(offsets, row).try_for_each(|item| {
                    let key = key_of(keys, item);
                    write(form, values, item, key, is_text, out)
                })
            })
        }
        _ => Err(Error::logical("a column that BSON does not have")),
    }
}

/// A key of a map, which is a string.
fn key_of<'a>(keys: &Cells<'a>, row: usize) -> &'a [u8] {
    match keys {
        Cells::String { offsets, bytes } => string(offsets, bytes, row),
        Cells::Fixed { bytes, width } => bytes.get(row * width..(row + 1) * width).unwrap_or_default(),
        Cells::LowCardinality { keys, values, .. } => key_of(values, keys[row] as usize),
        _ => b"",
    }
}

/// The output format.
#[derive(Clone, Debug)]
pub(crate) struct BsonOutput {
    fields: Vec<(Vec<u8>, Form)>,
    is_text: bool,
}

impl BsonOutput {
    /// # Errors
    /// `ILLEGAL_COLUMN` for a type that the format has no place for.
    pub fn new(schema: &Arc<Schema>, options: &FormatOptions) -> Result<Self> {
        let fields = schema.fields.iter().map(|(name, data_type)| Ok((name.as_bytes().to_vec(), Form::of(data_type)?)));
        let is_text = options.settings.output_format_bson_string_as_string;
        Ok(Self { fields: fields.collect::<Result<_>>()?, is_text })
    }
}

impl OutputFormat for BsonOutput {
    fn content_type(&self) -> &'static str {
        "application/octet-stream"
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let arrays = Arrays::new(block)?;
        let cells = arrays.cells()?;
        for row in 0..block.rows() {
            let before = out.len();
            document(out, |out| {
                self.fields
                    .iter()
                    .zip(&cells)
                    .try_for_each(|((name, form), cells)| write(form, cells, row, name, self.is_text, out))
            })?;
            let written = out.len() - before;
            checkpoint(written)?;
            grow(out, written)?;
        }
        Ok(())
    }

    fn fork(&self) -> Option<Box<dyn OutputFormat>> {
        Some(Box::new(self.clone()))
    }

    fn end(&mut self, _: &Statistics, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}
