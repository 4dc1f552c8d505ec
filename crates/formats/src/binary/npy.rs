//! Npy: one array of NumPy's. Its head says the type of the items and the shape; behind it stand the items of all rows.

use std::sync::Arc;

use squall_types::{Block, DataType, Error, ErrorCode, Result, Schema, grow};

use crate::builder::{Builder, Values};
use crate::display::cells::{Arrays, Cells, items, string};
use crate::input::{RowReader, Rows};
use crate::output::{OutputFormat, Statistics};
use crate::schema::Feed;
use crate::wire::{Cursor, Stop};

const MAGIC: &[u8] = b"\x93NUMPY";
/// Bytes of a head and how many dimensions an array may have.
const HEAD_BYTES_MAX: usize = 1 << 20;
const DIMENSIONS_MAX: usize = 32;
/// Bytes of one item.
const ITEM_BYTES_MAX: usize = 1 << 24;

/// The type of an array's items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Item {
    Bool,
    Signed(usize),
    Unsigned(usize),
    Float(usize),
    /// Bytes, padded with zeros.
    Bytes(usize),
    /// UTF-32, padded with zeros.
    Unicode(usize),
}

impl Item {
    fn width(self) -> usize {
        match self {
            Self::Bool => 1,
            Self::Signed(width) | Self::Unsigned(width) | Self::Float(width) | Self::Bytes(width) => width,
            Self::Unicode(letters) => letters * 4,
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Bool => DataType::Bool,
            Self::Signed(1) => DataType::Int8,
            Self::Signed(2) => DataType::Int16,
            Self::Signed(4) => DataType::Int32,
            Self::Signed(_) => DataType::Int64,
            Self::Unsigned(1) => DataType::UInt8,
            Self::Unsigned(2) => DataType::UInt16,
            Self::Unsigned(4) => DataType::UInt32,
            Self::Unsigned(_) => DataType::UInt64,
            Self::Float(2 | 4) => DataType::Float32,
            Self::Float(_) => DataType::Float64,
            Self::Bytes(_) | Self::Unicode(_) => DataType::String,
        }
    }
}

/// What an array's head says.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Head {
    item: Item,
    is_big_endian: bool,
    shape: Vec<usize>,
}

fn incorrect(what: impl std::fmt::Display) -> Stop {
    Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, format!("Npy: {what}")))
}

fn read_head(input: &mut Cursor<'_>) -> Result<Head, Stop> {
    if input.take(MAGIC.len())? != MAGIC {
        return Err(incorrect("this is no .npy file"));
    }
    let [version, _] = input.array()?;
    let length = match version {
        1 => usize::from(u16::from_le_bytes(input.array()?)),
        _ => u32::from_le_bytes(input.array()?) as usize,
    };
    if length > HEAD_BYTES_MAX {
        return Err(incorrect("the head is too long"));
    }
    let text = std::str::from_utf8(input.take(length)?).map_err(|_| incorrect("the head is no text"))?;
    // A literal of Python's: {'descr': '<u8', 'fortran_order': False, 'shape': (3, 2), }
    let value = |key: &str| {
        let (_, rest) = text.split_once(&format!("'{key}'"))?;
        rest.trim_start().strip_prefix(':').map(str::trim_start)
    };
    let missing = |key: &str| incorrect(format!("the head has no {key}"));
    let described =
        value("descr").and_then(|rest| rest.strip_prefix('\'')?.split_once('\'')).ok_or_else(|| missing("descr"))?.0;
    if value("fortran_order").is_some_and(|rest| rest.starts_with("True")) {
        return Err(Stop::Bad(Error::not_implemented("Npy in fortran_order")));
    }
    let shape =
        value("shape").and_then(|rest| rest.strip_prefix('(')?.split_once(')')).ok_or_else(|| missing("shape"))?.0;
    let shape = shape.split(',').map(str::trim).filter(|length| !length.is_empty()).map(str::parse);
    let shape: Vec<usize> = shape.collect::<Result<_, _>>().map_err(|_| incorrect("the shape is none"))?;
    if shape.is_empty() || shape.len() > DIMENSIONS_MAX {
        return Err(incorrect(format!("an array of {} dimensions", shape.len())));
    }
    let (item, is_big_endian) = item_of(described)?;
    Ok(Head { item, is_big_endian, shape })
}

fn item_of(described: &str) -> Result<(Item, bool), Stop> {
    let unknown =
        || Stop::Bad(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Numpy type '{described}' is not supported")));
    let order = described.get(..1).ok_or_else(unknown)?;
    let kind = described.get(1..2).ok_or_else(unknown)?;
    let width: usize = described.get(2..).and_then(|width| width.parse().ok()).ok_or_else(unknown)?;
    if !matches!(order, "<" | ">" | "|" | "=") {
        return Err(unknown());
    }
    let item = match (kind, width) {
        ("b", 1) => Item::Bool,
        ("i", 1 | 2 | 4 | 8) => Item::Signed(width),
        ("u", 1 | 2 | 4 | 8) => Item::Unsigned(width),
        ("f", 2 | 4 | 8) => Item::Float(width),
        ("S", 1..=ITEM_BYTES_MAX) => Item::Bytes(width),
        ("U", 1..=ITEM_BYTES_MAX) => Item::Unicode(width),
        _ => return Err(unknown()),
    };
    Ok((item, order == ">"))
}

/// The columns of an array: one.
///
/// # Errors
/// What is wrong with the head.
pub(crate) fn infer(input: &mut dyn std::io::Read, pending_bytes_max: usize) -> Result<Schema> {
    let head = Feed::new(input, pending_bytes_max).read(read_head)?;
    let item = head.item.data_type();
    let data_type = head.shape.iter().skip(1).fold(item, |item, _| DataType::Array(Arc::new(item)));
    Ok(Schema::new([("array", data_type)]))
}

/// Reads Npy.
#[derive(Debug, Default)]
pub(crate) struct NpyReader {
    head: Option<Head>,
    rows_read: usize,
}

impl RowReader for NpyReader {
    type Column = Builder;

    fn header(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<Builder>) -> Result<(), Stop> {
        if rows.width() != 1 {
            let message = format!(
                "Unexpected number of columns for Npy format, expected one column, got {} columns",
                rows.width()
            );
            return Err(Stop::Bad(Error::new(ErrorCode::TOO_MANY_COLUMNS, message)));
        }
        self.head = Some(read_head(input)?);
        Ok(())
    }

    fn row(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<Builder>) -> Result<bool, Stop> {
        let Some(head) = &self.head else { return Err(incorrect("values without a head")) };
        let Some((count, inner)) = head.shape.split_first() else { return Err(incorrect("an array without a shape")) };
        if self.rows_read >= *count {
            return Err(incorrect("there are more values than the shape says"));
        }
        let items = inner.iter().try_fold(1_usize, |product, length| product.checked_mul(*length));
        let bytes = items.and_then(|items| items.checked_mul(head.item.width()));
        let bytes = bytes.ok_or_else(|| incorrect("the shape is too large"))?;
        // All of a row's items, before any is read.
        let mut row = Cursor::complete(input.take(bytes)?);
        read(rows.column(0)?, head, inner, &mut row)?;
        self.rows_read += 1;
        Ok(true)
    }

    fn skip_row(&mut self, _: &mut Cursor<'_>) -> Result<(), Stop> {
        Err(incorrect("a value that cannot be read"))
    }

    fn is_complete(&self) -> bool {
        self.head.as_ref().is_none_or(|head| head.shape.first().is_none_or(|count| self.rows_read == *count))
    }
}

/// Appends an item, or an array of items by the lengths of its dimensions.
fn read(builder: &mut Builder, head: &Head, lengths: &[usize], input: &mut Cursor<'_>) -> Result<(), Stop> {
    if let Some((length, inner)) = lengths.split_first() {
        let Values::Array { ends, items } = &mut builder.values else {
            return Err(mismatch(head, &builder.data_type));
        };
        for _ in 0..*length {
            read(items, head, inner, input)?;
        }
        return Ok(ends.end_row(items.rows())?);
    }
    let bytes = input.take(head.item.width())?;
    let number = |is_signed: bool| whole(bytes, head.is_big_endian, is_signed);
    let integer = match head.item {
        Item::Bool | Item::Unsigned(_) => Some(number(false) as i64),
        Item::Signed(_) => Some(number(true) as i64),
        _ => None,
    };
    let float = match head.item {
        Item::Float(2) => Some(half(number(false) as u16)),
        Item::Float(4) => Some(f64::from(f32::from_bits(number(false) as u32))),
        Item::Float(_) => Some(f64::from_bits(number(false))),
        _ => None,
    };
    if let Values::Nullable { valid, inner } = &mut builder.values {
        input.seek(input.position() - bytes.len());
        read(inner, head, lengths, input)?;
        valid.push(true);
        return Ok(());
    }
    let refused = mismatch(head, &builder.data_type);
    match (&mut builder.values, integer, float) {
        (Values::Bool(values), Some(number), _) => values.push(u8::from(number != 0)),
        (Values::UInt8(values), Some(number), _) => values.push(number as u8),
        (Values::UInt16(values), Some(number), _) => values.push(number as u16),
        (Values::UInt32(values), Some(number), _) => values.push(number as u32),
        (Values::UInt64(values), Some(number), _) => values.push(number as u64),
        (Values::Int8(values), Some(number), _) => values.push(number as i8),
        (Values::Int16(values), Some(number), _) => values.push(number as i16),
        (Values::Int32(values), Some(number), _) => values.push(number as i32),
        (Values::Int64(values), Some(number), _) => values.push(number),
        (Values::Float32(values), _, Some(number)) => values.push(number as f32),
        (Values::Float64(values), _, Some(number)) => values.push(number),
        (Values::String(strings), None, None) => {
            append_text(&mut strings.bytes, bytes, head)?;
            strings.end_row()?;
        }
        (Values::FixedString { bytes: all, width }, None, None) if matches!(head.item, Item::Bytes(own) if own <= *width) =>
        {
            let end = all.len() + *width;
            all.extend_from_slice(bytes);
            all.resize(end, 0);
        }
        _ => return Err(refused),
    }
    Ok(())
}

/// The error of a column that cannot take the items.
fn mismatch(head: &Head, data_type: &DataType) -> Stop {
    let found = head.item.data_type();
    let message =
        format!("Type {data_type} cannot take items of type {found} of an array of {} dimensions", head.shape.len());
    Stop::Bad(Error::new(ErrorCode::ILLEGAL_COLUMN, message))
}

/// The number of up to 8 bytes, filled up with its sign.
fn whole(bytes: &[u8], is_big_endian: bool, is_signed: bool) -> u64 {
    let sign = if is_big_endian { bytes.first() } else { bytes.last() };
    let is_negative = is_signed && sign.is_some_and(|byte| byte & 0x80 != 0);
    let mut whole = [if is_negative { 0xFF } else { 0 }; 8];
    for (place, byte) in whole.iter_mut().enumerate().take(bytes.len()) {
        *byte = if is_big_endian { bytes[bytes.len() - 1 - place] } else { bytes[place] };
    }
    u64::from_le_bytes(whole)
}

/// Appends the text of an item up to the zeros behind it.
fn append_text(out: &mut Vec<u8>, bytes: &[u8], head: &Head) -> Result<(), Stop> {
    let Item::Unicode(_) = head.item else {
        let length = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        grow(out, length)?;
        out.extend_from_slice(&bytes[..length]);
        return Ok(());
    };
    for letter in bytes.chunks_exact(4) {
        let code =
            letter.try_into().map_or(0, if head.is_big_endian { u32::from_be_bytes } else { u32::from_le_bytes });
        if code == 0 {
            break;
        }
        let letter = char::from_u32(code).ok_or_else(|| incorrect("a letter that Unicode does not have"))?;
        out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Ok(())
}

/// A number of 16 bits.
fn half(bits: u16) -> f64 {
    let (sign, exponent, fraction) = (bits >> 15, i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * (2.0_f64).powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * (2.0_f64).powi(exponent - 15),
    };
    if sign == 1 { -size } else { size }
}

/// The output format: the head says how many rows there are, so that nothing is written before all have come.
#[derive(Debug)]
pub(crate) struct NpyOutput {
    data_type: DataType,
    /// The lengths of arrays within a row, once there is one.
    shape: Option<Vec<usize>>,
    rows: usize,
    bytes: Vec<u8>,
    /// Strings, which are as wide as the longest of all.
    strings: Vec<Vec<u8>>,
}

impl NpyOutput {
    /// # Errors
    /// `TOO_MANY_COLUMNS`, `BAD_ARGUMENTS` for a type that NumPy does not have.
    pub fn new(schema: &Arc<Schema>) -> Result<Self> {
        let [(_, data_type)] = &schema.fields[..] else {
            let message = format!("Expected single column for Npy output format, got {}", schema.len());
            return Err(Error::new(ErrorCode::TOO_MANY_COLUMNS, message));
        };
        let mut item = data_type;
        while let DataType::Array(inner) = item {
            item = inner;
        }
        if descr(item, 0).is_none() {
            let message = format!("The type {data_type} is not supported for Npy output");
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        let (shape, rows, bytes, strings) = Default::default();
        Ok(Self { data_type: item.clone(), shape, rows, bytes, strings })
    }

    /// Appends the items of a row and gives the lengths of its arrays.
    fn write(&mut self, cells: &Cells<'_>, row: usize) -> Result<Vec<usize>> {
        macro_rules! number {
            ($values:expr) => {
                self.bytes.extend_from_slice(&$values[row].to_le_bytes())
            };
        }
        match cells {
            Cells::UInt8(values) => self.bytes.push(values[row]),
            Cells::UInt16(values) => number!(values),
            Cells::UInt32(values) => number!(values),
            Cells::UInt64(values) => number!(values),
            Cells::Int8(values) => number!(values),
            Cells::Int16(values) => number!(values),
            Cells::Int32(values) => number!(values),
            Cells::Int64(values) => number!(values),
            Cells::Float32(values) => number!(values),
            Cells::Float64(values) => number!(values),
            Cells::String { offsets, bytes } => self.strings.push(string(offsets, bytes, row).to_vec()),
            Cells::Fixed { bytes, width } => self.strings.push(bytes[row * width..(row + 1) * width].to_vec()),
            Cells::Array { offsets, items: cells } => {
                let items = items(offsets, row);
                let mut inner: Option<Vec<usize>> = None;
                let length = items.len();
                for item in items {
                    let shape = self.write(cells, item)?;
                    if inner.get_or_insert_with(|| shape.clone()) != &shape {
                        return Err(uneven());
                    }
                }
                let mut shape = vec![length];
                shape.extend(inner.into_iter().flatten());
                return Ok(shape);
            }
            _ => return Err(Error::logical("a column that Npy does not have")),
        }
        Ok(Vec::new())
    }
}

fn uneven() -> Error {
    Error::new(ErrorCode::ILLEGAL_COLUMN, "ShapeMismatch: arrays in the column have different sizes")
}

/// How NumPy writes a type.
fn descr(data_type: &DataType, longest: usize) -> Option<String> {
    Some(match data_type {
        DataType::Bool | DataType::UInt8 => "<u1".to_owned(),
        DataType::Int8 => "<i1".to_owned(),
        DataType::Int16 => "<i2".to_owned(),
        DataType::Int32 => "<i4".to_owned(),
        DataType::Int64 => "<i8".to_owned(),
        DataType::UInt16 => "<u2".to_owned(),
        DataType::UInt32 => "<u4".to_owned(),
        DataType::UInt64 => "<u8".to_owned(),
        DataType::Float32 => "<f4".to_owned(),
        DataType::Float64 => "<f8".to_owned(),
        DataType::String => format!("|S{longest}"),
        DataType::FixedString(width) => format!("|S{width}"),
        _ => return None,
    })
}

impl OutputFormat for NpyOutput {
    fn content_type(&self) -> &'static str {
        "application/octet-stream"
    }

    fn block(&mut self, block: &Block, _: &mut Vec<u8>) -> Result<()> {
        let arrays = Arrays::new(block)?;
        for cells in arrays.cells()? {
            for row in 0..block.rows() {
                let before = self.bytes.len();
                let shape = self.write(&cells, row)?;
                if self.shape.get_or_insert_with(|| shape.clone()) != &shape {
                    return Err(uneven());
                }
                let written = self.bytes.len() - before;
                grow(&mut self.bytes, written)?;
            }
        }
        self.rows += block.rows();
        Ok(())
    }

    fn end(&mut self, _: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        let longest = self.strings.iter().map(Vec::len).max().unwrap_or(0);
        let descr = descr(&self.data_type, longest).unwrap_or_default();
        let lengths = std::iter::once(self.rows).chain(self.shape.take().into_iter().flatten());
        let shape: String = lengths.map(|length| format!("{length},")).collect();
        let mut head = format!("{{'descr':'{descr}','fortran_order':False,'shape':({shape}),}}");
        // The items begin at a multiple of 64.
        let unpadded = MAGIC.len() + 6 + head.len() + 1;
        head.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
        head.push('\n');
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&[3, 0]);
        out.extend_from_slice(&(head.len() as u32).to_le_bytes());
        out.extend_from_slice(head.as_bytes());
        grow(out, self.bytes.len() + longest * self.strings.len())?;
        out.append(&mut self.bytes);
        for string in self.strings.drain(..) {
            let end = out.len() + longest;
            out.extend_from_slice(&string);
            out.resize(end, 0);
        }
        Ok(())
    }
}
