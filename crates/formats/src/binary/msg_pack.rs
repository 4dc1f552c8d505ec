//! MsgPack: the values of all rows, one after the other, in MessagePack. As ClickHouse has it, strings are binary, and columns are by their
//! place: what is read must be told how many there are.

use std::sync::Arc;

use squall_types::{Block, DataType, Error, ErrorCode, Result, Schema, grow};

use crate::builder::{Builder, Values};
use crate::display::cells::{Arrays, Cells, items, string};
use crate::input::{RowReader, Rows};
use crate::output::{OutputFormat, Statistics};
use crate::wire::{Cursor, Stop};

/// The type of an extension that is a UUID.
const UUID: u8 = 2;
const DEPTH_MAX: usize = 500;

fn put_unsigned(number: u64, out: &mut Vec<u8>) {
    match number {
        0..=0x7F => out.push(number as u8),
        0x80..=0xFF => out.extend_from_slice(&[0xCC, number as u8]),
        0x100..=0xFFFF => {
            out.push(0xCD);
            out.extend_from_slice(&(number as u16).to_be_bytes());
        }
        0x1_0000..=0xFFFF_FFFF => {
            out.push(0xCE);
            out.extend_from_slice(&(number as u32).to_be_bytes());
        }
        _ => {
            out.push(0xCF);
            out.extend_from_slice(&number.to_be_bytes());
        }
    }
}

fn put_signed(number: i64, out: &mut Vec<u8>) {
    match number {
        0.. => put_unsigned(number as u64, out),
        -32..0 => out.push(number as i8 as u8),
        -0x80..-32 => out.extend_from_slice(&[0xD0, number as i8 as u8]),
        -0x8000..-0x80 => {
            out.push(0xD1);
            out.extend_from_slice(&(number as i16).to_be_bytes());
        }
        -0x8000_0000..-0x8000 => {
            out.push(0xD2);
            out.extend_from_slice(&(number as i32).to_be_bytes());
        }
        _ => {
            out.push(0xD3);
            out.extend_from_slice(&number.to_be_bytes());
        }
    }
}

/// A length by the codes of its kind: in the code itself below a bound, in 8 bits where there is a code for that, in 16 and in 32.
fn put_length(length: usize, within: Option<(u8, usize)>, codes: [Option<u8>; 3], out: &mut Vec<u8>) {
    match (within, codes) {
        (Some((base, most)), _) if length <= most => out.push(base | length as u8),
        (_, [Some(code), ..]) if length <= 0xFF => out.extend_from_slice(&[code, length as u8]),
        (_, [_, Some(code), _]) if length <= 0xFFFF => {
            out.push(code);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        (_, [_, _, code]) => {
            out.extend(code);
            out.extend_from_slice(&(length as u32).to_be_bytes());
        }
    }
}

fn put_binary(bytes: &[u8], out: &mut Vec<u8>) {
    put_length(bytes.len(), None, [Some(0xC4), Some(0xC5), Some(0xC6)], out);
    out.extend_from_slice(bytes);
}

fn put_array(length: usize, out: &mut Vec<u8>) {
    put_length(length, Some((0x90, 15)), [None, Some(0xDC), Some(0xDD)], out);
}

fn put_map(length: usize, out: &mut Vec<u8>) {
    put_length(length, Some((0x80, 15)), [None, Some(0xDE), Some(0xDF)], out);
}

/// Appends a row's value.
fn write(cells: &Cells<'_>, row: usize, out: &mut Vec<u8>) -> Result<()> {
    if cells.is_null(row) {
        out.push(0xC0);
        return Ok(());
    }
    match cells {
        Cells::Nothing => out.push(0xC0),
        Cells::UInt8(values) => put_unsigned(values[row].into(), out),
        Cells::UInt16(values) => put_unsigned(values[row].into(), out),
        Cells::UInt32(values) => put_unsigned(values[row].into(), out),
        Cells::UInt64(values) => put_unsigned(values[row], out),
        Cells::Int8(values) => put_signed(values[row].into(), out),
        Cells::Int16(values) => put_signed(values[row].into(), out),
        Cells::Int32(values) => put_signed(values[row].into(), out),
        Cells::Int64(values) => put_signed(values[row], out),
        Cells::BFloat16(values) | Cells::Float32(values) => {
            out.push(0xCA);
            out.extend_from_slice(&values[row].to_be_bytes());
        }
        Cells::Float64(values) => {
            out.push(0xCB);
            out.extend_from_slice(&values[row].to_be_bytes());
        }
        Cells::String { offsets, bytes } => put_binary(string(offsets, bytes, row), out),
        Cells::States { states, fresh } => put_binary(
            match states.value(row) {
                [] => fresh,
                bytes => bytes,
            },
            out,
        ),
        Cells::Fixed { bytes, width } => {
            put_binary(bytes.get(row * width..(row + 1) * width).unwrap_or_default(), out);
        }
        Cells::Uuid(bytes) => {
            out.extend_from_slice(&[0xD8, UUID]);
            out.extend_from_slice(bytes.get(row * 16..(row + 1) * 16).unwrap_or_default());
        }
        Cells::Nullable { inner, .. } => write(inner, row, out)?,
        Cells::LowCardinality { keys, values, .. } => write(values, keys[row] as usize, out)?,
        Cells::Array { offsets, items: cells } => {
            let items = items(offsets, row);
            put_array(items.len(), out);
            for item in items {
                write(cells, item, out)?;
            }
        }
        Cells::Map { offsets, keys, values } => {
            let items = items(offsets, row);
            put_map(items.len(), out);
            for item in items {
                write(keys, item, out)?;
                write(values, item, out)?;
            }
        }
        Cells::Tuple(elements) => {
            put_array(elements.len(), out);
            for element in elements {
                write(element, row, out)?;
            }
        }
        Cells::Mixed(data_type, _) => return Err(unsupported(data_type, "output")),
    }
    Ok(())
}

fn unsupported(data_type: &DataType, way: &str) -> Error {
    let message = format!("Type {data_type} is not supported for MsgPack {way} format.");
    Error::new(ErrorCode::ILLEGAL_COLUMN, message)
}

/// The output format.
#[derive(Clone, Debug)]
pub(crate) struct MsgPackOutput;

impl MsgPackOutput {
    /// # Errors
    /// `ILLEGAL_COLUMN` for a type that the format has no place for.
    pub fn new(schema: &Arc<Schema>) -> Result<Self> {
        match schema.types().find(|data_type| matches!(data_type.inner(), DataType::Interval(_) | DataType::Time)) {
            Some(data_type) => Err(unsupported(data_type, "output")),
            None => Ok(Self),
        }
    }
}

impl OutputFormat for MsgPackOutput {
    fn content_type(&self) -> &'static str {
        "application/octet-stream"
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let arrays = Arrays::new(block)?;
        let cells = arrays.cells()?;
        for row in 0..block.rows() {
            let before = out.len();
            for cells in &cells {
                write(cells, row, out)?;
            }
            let written = out.len() - before;
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

/// The head of a value: all of it, or how much comes behind.
#[derive(Clone, Copy, Debug)]
enum Head<'a> {
    Null,
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Bytes(&'a [u8]),
    Array(usize),
    Map(usize),
    Extension(u8, &'a [u8]),
}

impl Head<'_> {
    /// What a column of integers takes of it, where that is a number.
    #[inline]
    fn integer(self) -> Option<i64> {
        match self {
            Head::Unsigned(number) => Some(number as i64),
            Head::Signed(number) => Some(number),
            _ => None,
        }
    }

    /// What a column of floats takes of it, where that is a number.
    #[inline]
    fn float(self) -> Option<f64> {
        match self {
            Head::Float(number) => Some(number),
            Head::Unsigned(number) => Some(number as f64),
            Head::Signed(number) => Some(number as f64),
            _ => None,
        }
    }
}

fn head<'a>(input: &mut Cursor<'a>) -> Result<Head<'a>, Stop> {
    macro_rules! length {
        ($integer:ty) => {
            <$integer>::from_be_bytes(input.array()?) as usize
        };
    }
    let code = input.byte()?;
    Ok(match code {
        0..=0x7F => Head::Unsigned(code.into()),
        0x80..=0x8F => Head::Map(usize::from(code & 15)),
        0x90..=0x9F => Head::Array(usize::from(code & 15)),
        0xA0..=0xBF => Head::Bytes(input.take(usize::from(code & 31))?),
        0xC0 => Head::Null,
        0xC2 => Head::Unsigned(0),
        0xC3 => Head::Unsigned(1),
        0xC4 | 0xD9 => {
            let length = length!(u8);
            Head::Bytes(input.take(length)?)
        }
        0xC5 | 0xDA => {
            let length = length!(u16);
            Head::Bytes(input.take(length)?)
        }
        0xC6 | 0xDB => {
            let length = length!(u32);
            Head::Bytes(input.take(length)?)
        }
        0xCA => Head::Float(f32::from_be_bytes(input.array()?).into()),
        0xCB => Head::Float(f64::from_be_bytes(input.array()?)),
        0xCC => Head::Unsigned(input.byte()?.into()),
        0xCD => Head::Unsigned(u16::from_be_bytes(input.array()?).into()),
        0xCE => Head::Unsigned(u32::from_be_bytes(input.array()?).into()),
        0xCF => Head::Unsigned(u64::from_be_bytes(input.array()?)),
        0xD0 => Head::Signed(i8::from_be_bytes(input.array()?).into()),
        0xD1 => Head::Signed(i16::from_be_bytes(input.array()?).into()),
        0xD2 => Head::Signed(i32::from_be_bytes(input.array()?).into()),
        0xD3 => Head::Signed(i64::from_be_bytes(input.array()?)),
        0xD4..=0xD8 => {
            let kind = input.byte()?;
            Head::Extension(kind, input.take(1 << (code - 0xD4))?)
        }
        0xC7..=0xC9 => {
            let length = match code {
                0xC7 => length!(u8),
                0xC8 => length!(u16),
                _ => length!(u32),
            };
            let kind = input.byte()?;
            Head::Extension(kind, input.take(length)?)
        }
        0xDC => Head::Array(length!(u16)),
        0xDD => Head::Array(length!(u32)),
        0xDE => Head::Map(length!(u16)),
        0xDF => Head::Map(length!(u32)),
        0xE0.. => Head::Signed((code as i8).into()),
        0xC1 => {
            let message = "Error occurred while parsing msgpack data: the code 0xC1 is none";
            return Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, message)));
        }
    })
}

fn mismatch(head: Head<'_>, data_type: &DataType) -> Stop {
    let kind = match head {
        Head::Null => "null",
        Head::Unsigned(_) | Head::Signed(_) => "integer",
        Head::Float(_) => "float",
        Head::Bytes(_) => "string",
        Head::Array(_) => "array",
        Head::Map(_) => "map",
        Head::Extension(..) => "extension",
    };
    Stop::Bad(Error::new(
        ErrorCode::ILLEGAL_COLUMN,
        format!("Cannot insert MessagePack {kind} into column with type {data_type}."),
    ))
}

/// Appends the value at the cursor.
fn read(builder: &mut Builder, input: &mut Cursor<'_>, depth: usize) -> Result<(), Stop> {
    if depth > DEPTH_MAX {
        return Err(Stop::Bad(Error::new(ErrorCode::TOO_DEEP_RECURSION, "Too deep nesting in MessagePack")));
    }
    if read_wrapped(builder, input, depth)? {
        return Ok(());
    }
    let found = head(input)?;
    let Builder { data_type, values } = builder;
    // Numbers are cut to the column's width, as ClickHouse does.
    let integer = found.integer();
    macro_rules! number {
        ($values:expr, $number:ty) => {
            $values.push(integer.ok_or_else(|| mismatch(found, data_type))? as $number)
        };
    }
    let float = found.float();
    match (values, found) {
        (Values::Nothing(rows), Head::Null) => *rows += 1,
        (Values::Bool(values), _) => {
            values.push(u8::from(integer.ok_or_else(|| mismatch(found, data_type))? != 0));
        }
        (Values::UInt8(values), _) => number!(values, u8),
        (Values::UInt16(values), _) => number!(values, u16),
        (Values::UInt32(values), _) => number!(values, u32),
        (Values::UInt64(values), _) => number!(values, u64),
        (Values::Int8(values), _) => number!(values, i8),
        (Values::Int16(values), _) => number!(values, i16),
        (Values::Int32(values), _) => number!(values, i32),
        (Values::Int64(values), _) => number!(values, i64),
        (Values::Enum8(values, known), _) => {
            let number = integer.and_then(|number| i8::try_from(number).ok());
            let number = number.filter(|number| known.name(i16::from(*number)).is_some());
            values.push(number.ok_or_else(|| mismatch(found, data_type))?);
        }
        (Values::Enum16(values, known), _) => {
            let number = integer.and_then(|number| i16::try_from(number).ok());
            let number = number.filter(|number| known.name(*number).is_some());
            values.push(number.ok_or_else(|| mismatch(found, data_type))?);
        }
        (Values::BFloat16(values) | Values::Float32(values), _) => {
            values.push(float.ok_or_else(|| mismatch(found, data_type))? as f32);
        }
        (Values::Float64(values), _) => values.push(float.ok_or_else(|| mismatch(found, data_type))?),
        (Values::String(strings), Head::Bytes(bytes)) => {
            grow(&mut strings.bytes, bytes.len())?;
            strings.bytes.extend_from_slice(bytes);
            strings.end_row()?;
        }
        (Values::FixedString { bytes, width }, Head::Bytes(value)) if value.len() <= *width => {
            let end = bytes.len() + *width;
            bytes.extend_from_slice(value);
            bytes.resize(end, 0);
        }
        (Values::Uuid(values), Head::Extension(UUID, bytes)) if bytes.len() == 16 => {
            values.push(bytes.try_into().unwrap_or_default());
        }
        (values @ (Values::Array { .. } | Values::Map { .. } | Values::Tuple { .. }), _) => {
            read_nested(values, found, data_type, input, depth)?;
        }
        (
            Values::Nothing(_)
            | Values::String(_)
            | Values::FixedString { .. }
            | Values::Uuid(_)
            | Values::Nullable { .. }
            | Values::LowCardinality(_)
            | Values::Mixed(_),
            _,
        ) => return Err(mismatch(found, data_type)),
    }
    Ok(())
}

/// Reads into a column that may be NULL or has a dictionary; `false` for other columns.
#[inline]
fn read_wrapped(builder: &mut Builder, input: &mut Cursor<'_>, depth: usize) -> Result<bool, Stop> {
    match &mut builder.values {
        Values::Nullable { valid, inner } => {
            if input.rest().first() == Some(&0xC0) {
                input.advance(1);
                inner.append_default()?;
                valid.push(false);
            } else {
                read(inner, input, depth + 1)?;
                valid.push(true);
            }
        }
        Values::LowCardinality(dictionary) => {
            if input.rest().first() == Some(&0xC0) && builder.data_type.is_nullable() {
                input.advance(1);
                dictionary.append_null();
            } else {
                dictionary.append_with(|values| read(values, input, depth + 1))?;
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Appends the array, map or tuple of which the cursor stands behind the head.
fn read_nested(
    values: &mut Values,
    found: Head<'_>,
    data_type: &DataType,
    input: &mut Cursor<'_>,
    depth: usize,
) -> Result<(), Stop> {
    match (values, found) {
        (Values::Array { ends, items }, Head::Array(count)) => {
            for _ in 0..count {
                read(items, input, depth + 1)?;
            }
            Ok(ends.end_row(items.rows())?)
        }
        (Values::Map { ends, keys, values }, Head::Map(count)) => {
            for _ in 0..count {
                read(keys, input, depth + 1)?;
                read(values, input, depth + 1)?;
            }
            Ok(ends.end_row(keys.rows())?)
        }
        (Values::Tuple { elements, rows }, Head::Array(count)) if count == elements.len() => {
            for element in elements {
                read(element, input, depth + 1)?;
            }
            *rows += 1;
            Ok(())
        }
        _ => Err(mismatch(found, data_type)),
    }
}

/// Reads MsgPack.
#[derive(Debug)]
pub(crate) struct MsgPackReader;

impl RowReader for MsgPackReader {
    type Column = Builder;

    fn row(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<Builder>) -> Result<bool, Stop> {
        for position in 0..rows.width() {
            let builder = rows.column(position)?;
            if input.rest().first() == Some(&0xC0) && !builder.data_type.is_nullable() && rows.table.null_as_default {
                input.advance(1);
                rows.omit(position)?;
            } else {
                read(rows.column(position)?, input, 0)?;
            }
        }
        Ok(true)
    }

    fn skip_row(&mut self, _: &mut Cursor<'_>) -> Result<(), Stop> {
        let message = "A row of MsgPack that cannot be read has no end";
        Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, message)))
    }
}
