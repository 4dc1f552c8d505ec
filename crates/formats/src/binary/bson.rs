//! BSONEachRow: a document of BSON for each row, its fields named as the columns are.

use std::sync::Arc;

use squall_types::{Block, DataType, Error, ErrorCode, Result, Schema, TupleElement, checkpoint, grow};

use crate::binary::uuid::swap_halves;
use crate::builder::{Builder, Values};
use crate::display::cells::{Arrays, Cells, items, string};
use crate::input::{RowReader, Rows};
use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics};
use crate::schema::{Feed, Nullability};
use crate::wire::{Cursor, Stop};

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
    let integer = match cells {
        Cells::UInt8(values) => Some(i64::from(values[row])),
        Cells::UInt16(values) => Some(values[row].into()),
        Cells::UInt32(values) => Some(values[row].into()),
        Cells::UInt64(values) => Some(values[row] as i64),
        Cells::Int8(values) => Some(values[row].into()),
        Cells::Int16(values) => Some(values[row].into()),
        Cells::Int32(values) => Some(values[row].into()),
        Cells::Int64(values) => Some(values[row]),
        _ => None,
    };
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
        (Form::Array(form), Cells::Array { offsets, items: cells }) => {
            put_head(kind::ARRAY, name, out);
            document(out, |out| {
                items(offsets, row)
                    .enumerate()
                    .try_for_each(|(at, item)| write(form, cells, item, at.to_string().as_bytes(), is_text, out))
            })?;
        }
        (Form::Tuple(forms, is_named), Cells::Tuple(elements)) => {
            put_head(if *is_named { kind::DOCUMENT } else { kind::ARRAY }, name, out);
            document(out, |out| {
                forms
                    .iter()
                    .zip(elements)
                    .try_for_each(|((name, form), cells)| write(form, cells, row, name.as_bytes(), is_text, out))
            })?;
        }
        (Form::Map(form), Cells::Map { offsets, keys, values }) => {
            put_head(kind::DOCUMENT, name, out);
            document(out, |out| {
                items(offsets, row).try_for_each(|item| {
                    let key = key_of(keys, item);
                    write(form, values, item, key, is_text, out)
                })
            })?;
        }
        _ => return Err(Error::logical("a column that BSON does not have")),
    }
    Ok(())
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

fn incorrect(what: impl std::fmt::Display) -> Stop {
    Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, format!("BSON: {what}")))
}

/// A value as it stands in a document.
#[derive(Clone, Debug)]
enum Found<'a> {
    Null,
    Bool(bool),
    Integer(i64),
    /// One of 32 bits.
    Short(i32),
    Double(f64),
    /// Ticks since 1970: milliseconds in BSON's own words, and in ClickHouse's as long as the column has them.
    DateTime(i64),
    Text(&'a [u8]),
    Binary(u8, &'a [u8]),
    Document(Cursor<'a>),
    Array(Cursor<'a>),
    /// One that nothing is read from.
    Other(u8),
}

/// Bytes up to a zero.
fn zero_ended<'a>(input: &mut Cursor<'a>) -> Result<&'a [u8], Stop> {
    let end = memchr::memchr(0, input.rest()).ok_or_else(|| incorrect("a name without an end"))?;
    let name = input.take(end)?;
    input.advance(1);
    Ok(name)
}

/// The fields of a document, whose length is read.
fn fields<'a>(input: &mut Cursor<'a>) -> Result<Cursor<'a>, Stop> {
    let length = i32::from_le_bytes(input.array()?);
    let inner = usize::try_from(length).ok().and_then(|length| length.checked_sub(DOCUMENT_BYTES_MIN - 1));
    let bytes = input.take(inner.filter(|inner| *inner > 0).ok_or_else(|| incorrect("a document of a bad length"))?)?;
    match bytes.split_last() {
        Some((0, fields)) => Ok(Cursor::complete(fields)),
        _ => Err(incorrect("a document without an end")),
    }
}

fn text<'a>(input: &mut Cursor<'a>) -> Result<&'a [u8], Stop> {
    let length = i32::from_le_bytes(input.array()?);
    let length = usize::try_from(length).ok().filter(|length| *length > 0);
    let bytes = input.take(length.ok_or_else(|| incorrect("a string of a bad length"))?)?;
    match bytes.split_last() {
        Some((0, text)) => Ok(text),
        _ => Err(incorrect("a string without an end")),
    }
}

/// The next field of a document; `None` at its end.
fn next<'a>(input: &mut Cursor<'a>) -> Result<Option<(&'a [u8], Found<'a>)>, Stop> {
    if input.rest().is_empty() {
        return Ok(None);
    }
    let kind = input.byte()?;
    let name = zero_ended(input)?;
    let found = match kind {
        kind::NULL | kind::UNDEFINED => Found::Null,
        kind::BOOL => Found::Bool(input.byte()? != 0),
        kind::INT32 => Found::Short(i32::from_le_bytes(input.array()?)),
        kind::INT64 => Found::Integer(i64::from_le_bytes(input.array()?)),
        kind::DOUBLE => Found::Double(f64::from_le_bytes(input.array()?)),
        kind::DATE_TIME => Found::DateTime(i64::from_le_bytes(input.array()?)),
        kind::STRING | kind::SYMBOL | kind::JAVA_SCRIPT => Found::Text(text(input)?),
        kind::BINARY => {
            let length = u32::from_le_bytes(input.array()?) as usize;
            let subtype = input.byte()?;
            Found::Binary(subtype, input.take(length)?)
        }
        kind::OBJECT_ID => Found::Binary(GENERIC, input.take(12)?),
        kind::DOCUMENT => Found::Document(fields(input)?),
        kind::ARRAY => Found::Array(fields(input)?),
        kind::TIMESTAMP => {
            input.take(8)?;
            Found::Other(kind)
        }
        kind::DECIMAL128 => {
            input.take(16)?;
            Found::Other(kind)
        }
        kind::MIN_KEY | kind::MAX_KEY => Found::Other(kind),
        kind::REGEXP => {
            zero_ended(input)?;
            zero_ended(input)?;
            Found::Other(kind)
        }
        kind::DB_POINTER => {
            text(input)?;
            input.take(12)?;
            Found::Other(kind)
        }
        kind::JAVA_SCRIPT_WITH_SCOPE => {
            let length = u32::from_le_bytes(input.array()?) as usize;
            input.take(length.checked_sub(4).ok_or_else(|| incorrect("code of a bad length"))?)?;
            Found::Other(kind)
        }
        other => return Err(incorrect(format!("a value of the unknown type {other}"))),
    };
    Ok(Some((name, found)))
}

fn mismatch(found: &Found<'_>, data_type: &DataType) -> Stop {
    let what = match found {
        Found::Null => "Null".to_owned(),
        Found::Bool(_) => "Bool".to_owned(),
        Found::Integer(_) => "Int64".to_owned(),
        Found::Short(_) => "Int32".to_owned(),
        Found::Double(_) => "Double".to_owned(),
        Found::DateTime(_) => "Datetime".to_owned(),
        Found::Text(_) => "String".to_owned(),
        Found::Binary(..) => "Binary".to_owned(),
        Found::Document(_) => "Document".to_owned(),
        Found::Array(_) => "Array".to_owned(),
        Found::Other(kind) => format!("0x{kind:02X}"),
    };
    let message = format!("Cannot insert BSON {what} into column with type {data_type}");
    Stop::Bad(Error::new(ErrorCode::ILLEGAL_COLUMN, message))
}

/// Appends a value.
fn read(builder: &mut Builder, found: Found<'_>, depth: usize) -> Result<(), Stop> {
    if depth > DEPTH_MAX {
        return Err(Stop::Bad(Error::new(ErrorCode::TOO_DEEP_RECURSION, "Too deep nesting in BSON")));
    }
    if let Values::Nullable { valid, inner } = &mut builder.values {
        if matches!(found, Found::Null) {
            inner.append_default()?;
            valid.push(false);
        } else {
            read(inner, found, depth + 1)?;
            valid.push(true);
        }
        return Ok(());
    }
    if let Values::LowCardinality(dictionary) = &mut builder.values {
        if matches!(found, Found::Null) && builder.data_type.is_nullable() {
            dictionary.append_null();
            return Ok(());
        }
        return dictionary.append_with(|values| read(values, found, depth + 1));
    }
    let Builder { data_type, values } = builder;
    let refused = mismatch(&found, data_type);
    let integer = match &found {
        Found::Integer(number) => Some(*number),
        Found::Short(number) => Some(i64::from(*number)),
        Found::Bool(truth) => Some(i64::from(*truth)),
        Found::DateTime(ticks)
            if matches!(data_type, DataType::DateTime64(..) | DataType::Int64 | DataType::UInt64) =>
        {
            Some(*ticks)
        }
        _ => None,
    };
    let float = match &found {
        Found::Double(number) => Some(*number),
        Found::Integer(number) => Some(*number as f64),
        Found::Short(number) => Some(f64::from(*number)),
        _ => None,
    };
    macro_rules! number {
        ($values:expr, $number:ty) => {
            $values.push(integer.ok_or(refused)? as $number)
        };
    }
    match values {
        Values::Nothing(rows) if matches!(found, Found::Null) => *rows += 1,
        Values::Bool(values) => values.push(u8::from(integer.ok_or(refused)? != 0)),
        Values::UInt8(values) => number!(values, u8),
        Values::UInt16(values) => number!(values, u16),
        Values::UInt32(values) => number!(values, u32),
        Values::UInt64(values) => number!(values, u64),
        Values::Int8(values) => number!(values, i8),
        Values::Int16(values) => number!(values, i16),
        Values::Int32(values) => number!(values, i32),
        Values::Int64(values) => number!(values, i64),
        Values::Enum8(values, known) => {
            let number = integer.and_then(|number| i8::try_from(number).ok());
            values.push(number.filter(|number| known.name(i16::from(*number)).is_some()).ok_or(refused)?);
        }
        Values::Enum16(values, known) => {
            let number = integer.and_then(|number| i16::try_from(number).ok());
            values.push(number.filter(|number| known.name(*number).is_some()).ok_or(refused)?);
        }
        Values::BFloat16(values) | Values::Float32(values) => values.push(float.ok_or(refused)? as f32),
        Values::Float64(values) => values.push(float.ok_or(refused)?),
        Values::String(strings) => match found {
            Found::Text(bytes) | Found::Binary(_, bytes) => {
                grow(&mut strings.bytes, bytes.len())?;
                strings.bytes.extend_from_slice(bytes);
                strings.end_row()?;
            }
            _ => return Err(refused),
        },
        Values::FixedString { bytes, width } => {
            let end = bytes.len() + *width;
            match found {
                Found::Text(value) | Found::Binary(_, value) if value.len() <= *width => bytes.extend_from_slice(value),
                // Decimals whose digits are few.
                _ if matches!(data_type, DataType::Decimal(..)) => {
                    let number = integer.ok_or(refused)?;
                    let fill = if number < 0 { 0xFF } else { 0 };
                    bytes.extend(number.to_le_bytes().into_iter().take(*width));
                    bytes.resize(end, fill);
                }
                _ => return Err(refused),
            }
            bytes.resize(end, 0);
        }
        Values::Uuid(values) => match found {
            Found::Binary(UUID, bytes) => {
                let bytes: [u8; 16] = bytes.try_into().map_err(|_| refused)?;
                values.push(swap_halves(bytes));
            }
            _ => return Err(refused),
        },
        Values::Array { ends, items } => {
            let Found::Array(mut input) = found else { return Err(refused) };
            while let Some((_, item)) = next(&mut input)? {
                read(items, item, depth + 1)?;
            }
            ends.end_row(items.rows())?;
        }
        Values::Map { ends, keys, values } => {
            let Found::Document(mut input) = found else { return Err(refused) };
            while let Some((name, value)) = next(&mut input)? {
                read(keys, Found::Text(name), depth + 1)?;
                read(values, value, depth + 1)?;
            }
            ends.end_row(keys.rows())?;
        }
        Values::Tuple { elements, rows } => {
            let (mut input, is_named) = match found {
                Found::Document(input) => (input, true),
                Found::Array(input) => (input, false),
                _ => return Err(refused),
            };
            let names: Vec<Option<Arc<str>>> = match data_type {
                DataType::Tuple(elements) => elements.iter().map(|element| element.name.clone()).collect(),
                _ => Vec::new(),
            };
            let mut given = vec![false; elements.len()];
            let mut at = 0;
            while let Some((name, value)) = next(&mut input)? {
                let of_name =
                    || names.iter().position(|known| known.as_ref().is_some_and(|known| known.as_bytes() == name));
                let place = if is_named { of_name() } else { Some(at) };
                at += 1;
                let place = place.filter(|place| given.get(*place) == Some(&false));
                let place =
                    place.ok_or_else(|| incorrect(format!("a tuple of type {data_type} with other elements")))?;
                read(&mut elements[place], value, depth + 1)?;
                given[place] = true;
            }
            if given.contains(&false) {
                return Err(incorrect(format!("a tuple of type {data_type} with fewer elements")));
            }
            *rows += 1;
        }
        Values::Nothing(_) | Values::Mixed(_) | Values::Nullable { .. } | Values::LowCardinality(_) => {
            return Err(refused);
        }
    }
    Ok(())
}

/// Reads BSONEachRow.
#[derive(Debug)]
pub(crate) struct BsonReader;

impl RowReader for BsonReader {
    type Column = Builder;

    fn row(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<Builder>) -> Result<bool, Stop> {
        let mut document = fields(input)?;
        while let Some((name, found)) = next(&mut document)? {
            let position = match std::str::from_utf8(name) {
                Ok(name) => rows.table.position(name)?,
                Err(_) => return Err(incorrect("a name that is no text")),
            };
            let Some(position) = position else { continue };
            if rows.is_filled(position) {
                return Err(incorrect(format!("duplicate field found: {}", String::from_utf8_lossy(name))));
            }
            let builder = rows.column(position)?;
            if matches!(found, Found::Null) && !builder.data_type.is_nullable() && rows.table.null_as_default {
                rows.omit(position)?;
            } else {
                read(rows.column(position)?, found, 0)?;
            }
        }
        Ok(true)
    }

    fn skip_row(&mut self, _: &mut Cursor<'_>) -> Result<(), Stop> {
        Err(incorrect("a document that cannot be read"))
    }
}

/// The type that a value tells of; `None` for one that nothing is read from.
fn type_of(found: Found<'_>, depth: usize) -> Result<Option<DataType>, Stop> {
    if depth > DEPTH_MAX {
        return Err(Stop::Bad(Error::new(ErrorCode::TOO_DEEP_RECURSION, "Too deep nesting in BSON")));
    }
    let of_all = |mut input: Cursor<'_>| {
        let mut all = Vec::new();
        while let Some((name, found)) = next(&mut input)? {
            all.push((String::from_utf8_lossy(name).into_owned(), type_of(found, depth + 1)?));
        }
        Ok::<_, Stop>(all)
    };
    Ok(match found {
        Found::Null | Found::Other(_) => None,
        Found::Bool(_) => Some(DataType::Bool.to_nullable()),
        Found::Integer(_) => Some(DataType::Int64.to_nullable()),
        Found::Short(_) => Some(DataType::Int32.to_nullable()),
        Found::Double(_) => Some(DataType::Float64.to_nullable()),
        Found::DateTime(_) => Some(DataType::DateTime64(6, Some("UTC".into())).to_nullable()),
        Found::Binary(UUID, _) => Some(DataType::UUID.to_nullable()),
        Found::Text(_) | Found::Binary(..) => Some(DataType::String.to_nullable()),
        Found::Array(input) => {
            let items = of_all(input)?;
            let types: Option<Vec<DataType>> = items.into_iter().map(|(_, item)| item).collect();
            match types {
                Some(types) => match types.first() {
                    Some(first) if types.iter().all(|item| item == first) => {
                        Some(DataType::Array(Arc::new(first.clone())))
                    }
                    Some(_) => Some(DataType::Tuple(
                        types.into_iter().map(|data_type| TupleElement { name: None, data_type }).collect(),
                    )),
                    None => None,
                },
                None => None,
            }
        }
        Found::Document(input) => {
            let mut elements = Vec::new();
            for (name, data_type) in of_all(input)? {
                let Some(data_type) = data_type else { return Ok(None) };
                elements.push(TupleElement { name: Some(name.into()), data_type });
            }
            match elements.first().map(|first| first.data_type.clone()) {
                None => None,
                Some(first) if elements.iter().all(|element| element.data_type == first) => {
                    Some(DataType::Map(Arc::new(DataType::String), Arc::new(first)))
                }
                Some(_) => Some(DataType::Tuple(elements.into())),
            }
        }
    })
}

/// The columns of the first document.
///
/// # Errors
/// What is wrong with it; `ONLY_NULLS_WHILE_READING_SCHEMA` where a field tells of no type.
pub(crate) fn infer(input: &mut dyn std::io::Read, options: &FormatOptions) -> Result<Schema> {
    let read = |input: &mut Cursor<'_>| {
        let mut document = fields(input)?;
        let mut columns = Vec::new();
        while let Some((name, found)) = next(&mut document)? {
            let name = String::from_utf8_lossy(name).into_owned();
            let data_type = type_of(found, 0)?;
            let nothing = || {
                let message =
                    format!("Cannot determine type for column '{name}' by the first document: its value tells of none");
                Stop::Bad(Error::new(ErrorCode::ONLY_NULLS_WHILE_READING_SCHEMA, message))
            };
            columns.push((name.clone(), data_type.ok_or_else(nothing)?));
        }
        Ok(columns)
    };
    let columns = Feed::new(input, options.pending_bytes_max).read(read)?;
    let nullability = Nullability::of_setting(&options.settings.schema_inference_make_columns_nullable);
    let settled = |data_type: DataType| match nullability {
        Nullability::Never | Nullability::WhereNulls => without_null(&data_type),
        Nullability::Always | Nullability::AsFormatSays => data_type,
    };
    Ok(Schema::new(columns.into_iter().map(|(name, data_type)| (name, settled(data_type)))))
}

/// The type without NULL, also inside.
fn without_null(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Nullable(inner) => without_null(inner),
        DataType::Array(item) => DataType::array(without_null(item)),
        DataType::Map(key, value) => DataType::Map(key.clone(), Arc::new(without_null(value))),
        DataType::Tuple(elements) => {
            let without = |element: &TupleElement| TupleElement {
                name: element.name.clone(),
                data_type: without_null(&element.data_type),
            };
            DataType::Tuple(elements.iter().map(without).collect())
        }
        other => other.clone(),
    }
}
