//! The RowBinary formats: values in binary, row by row, without anything between them; `WithNames` and `WithNamesAndTypes` put the
//! number of columns, their names and their types' names before the first row.

use std::sync::Arc;

use squall_types::binary::{put_row, take_value};
use squall_types::{Block, DataType, EnumValues, Error, ErrorCode, Result, Schema};

use crate::binary::uuid::swap_halves;
use crate::builder::{Builder, Values};
use crate::display::cells::{Arrays, Cells, items, string};
use crate::display::tabular::Header;
use crate::input::{RowReader, Rows};
use crate::output::{OutputFormat, Statistics};
use crate::wire::{Cursor, Stop, bfloat16_bytes, bfloat16_of, put_string, put_varint};

/// ClickHouse's `format_binary_max_string_size` and `format_binary_max_array_size`.
const STRING_BYTES_MAX: u64 = 1 << 30;
const ARRAY_ITEMS_MAX: u64 = 1 << 30;
/// Arrays of items that take no bytes: their announced size is all there is to go by.
const EMPTY_ITEMS_MAX: u64 = 1 << 20;
/// Columns and bytes of a name in a header.
const COLUMNS_MAX: u64 = 100_000;
const NAME_BYTES_MAX: u64 = 1 << 20;

impl Cells<'_> {
    /// Appends a row's value in binary.
    pub(super) fn write_binary(&self, row: usize, out: &mut Vec<u8>) {
        macro_rules! number {
            ($values:expr) => {
                out.extend_from_slice(&$values[row].to_le_bytes())
            };
        }
        let is_null = self.is_null(row);
        match self {
            Self::Nothing => {}
            Self::UInt8(values) => out.push(values[row]),
            Self::UInt16(values) => number!(values),
            Self::UInt32(values) => number!(values),
            Self::UInt64(values) => number!(values),
            Self::Int8(values) => number!(values),
            Self::Int16(values) => number!(values),
            Self::Int32(values) => number!(values),
            Self::Int64(values) => number!(values),
            Self::BFloat16(values) => out.extend_from_slice(&bfloat16_bytes(values[row])),
            Self::Float32(values) => number!(values),
            Self::Float64(values) => number!(values),
            Self::String { offsets, bytes } => put_string(out, string(offsets, bytes, row)),
            Self::States { states, fresh } => match states.value(row) {
                [] => out.extend_from_slice(fresh),
                bytes => out.extend_from_slice(bytes),
            },
            Self::Fixed { bytes, width } => out.extend_from_slice(&bytes[row * width..(row + 1) * width]),
            Self::Uuid(bytes) => {
                out.extend_from_slice(&swap_halves(*bytes[row * 16..].first_chunk().unwrap_or(&[0; 16])))
            }
            Self::Nullable { inner, .. } => {
                out.push(u8::from(is_null));
                if !is_null {
                    inner.write_binary(row, out);
                }
            }
            Self::LowCardinality { keys, is_nullable, values, .. } => {
                if *is_nullable {
                    out.push(u8::from(is_null));
                }
                if !is_null {
                    values.write_binary(keys[row] as usize, out);
                }
            }
            Self::Array { offsets, items: cells } => {
                let items = items(offsets, row);
                put_varint(out, items.len() as u64);
                items.for_each(|item| cells.write_binary(item, out));
            }
            Self::Map { offsets, keys, values } => {
                let items = items(offsets, row);
                put_varint(out, items.len() as u64);
                for item in items {
                    keys.write_binary(item, out);
                    values.write_binary(item, out);
                }
            }
            Self::Tuple(elements) => elements.iter().for_each(|cells| cells.write_binary(row, out)),
            // A value of a column is one of its type.
            Self::Mixed(data_type, array) => drop(put_row(data_type, *array, row, out)),
        }
    }
}

/// The output formats.
#[derive(Clone, Debug)]
pub(crate) struct RowBinaryOutput {
    schema: Arc<Schema>,
    header: Header,
}

impl RowBinaryOutput {
    pub fn new(header: Header, schema: &Arc<Schema>) -> Self {
        Self { schema: schema.clone(), header }
    }
}

impl OutputFormat for RowBinaryOutput {
    fn content_type(&self) -> &'static str {
        "application/octet-stream"
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if self.header.has_names() {
            put_varint(out, self.schema.len() as u64);
            self.schema.names().for_each(|name| put_string(out, name));
        }
        if self.header.has_types() {
            self.schema.types().for_each(|data_type| put_string(out, data_type.to_string()));
        }
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let arrays = Arrays::new(block)?;
        let cells = arrays.cells()?;
        for row in 0..block.rows() {
            cells.iter().for_each(|cells| cells.write_binary(row, out));
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

/// The input formats.
#[derive(Debug)]
pub(crate) struct RowBinaryReader {
    header: Header,
    /// Before each value stands whether it is the column's default, and then there is none.
    has_defaults: bool,
    columns: Vec<BinaryColumn>,
}

/// What to do with a value of a row.
#[derive(Debug)]
enum BinaryColumn {
    /// It belongs to this column of the table, in that column's type; the header's type if it is nullable and the column's is not.
    Read { position: usize, is_nullable_in_input: bool },
    /// It is of no use; the builder reads it all the same.
    Skip(Box<Builder>),
}

impl RowBinaryReader {
    pub fn new(header: Header, has_defaults: bool) -> Self {
        Self { header, has_defaults, columns: Vec::new() }
    }
}

/// The names and types of a header.
///
/// # Errors
/// `INCORRECT_DATA`, and those of type names.
pub(crate) fn read_header(input: &mut Cursor<'_>) -> Result<Vec<(String, DataType)>, Stop> {
    let count = column_count(input)?;
    let names = (0..count).map(|_| input.text(NAME_BYTES_MAX)).collect::<Result<Vec<_>, Stop>>()?;
    let mut columns = Vec::new();
    for name in names {
        columns.push((name, DataType::parse(&input.text(NAME_BYTES_MAX)?)?));
    }
    Ok(columns)
}

fn column_count(input: &mut Cursor<'_>) -> Result<u64, Stop> {
    let count = input.varint()?;
    if count > COLUMNS_MAX {
        let message = format!("{count} columns in a header of RowBinary");
        return Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, message)));
    }
    Ok(count)
}

impl RowReader for RowBinaryReader {
    type Column = Builder;

    fn header(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<Builder>) -> Result<(), Stop> {
        let all = |rows: &Rows<Builder>| {
            (0..rows.width()).map(|position| BinaryColumn::Read { position, is_nullable_in_input: false })
        };
        if !self.header.has_names() || input.is_empty() && input.is_last() {
            self.columns = all(rows).collect();
            return Ok(());
        }
        let count = column_count(input)?;
        let names = (0..count).map(|_| input.text(NAME_BYTES_MAX)).collect::<Result<Vec<_>, Stop>>()?;
        let mut types = Vec::new();
        if self.header.has_types() {
            for _ in 0..count {
                types.push(DataType::parse(&input.text(NAME_BYTES_MAX)?)?);
            }
        }
        let positions = rows.table.positions(&names)?;
        self.columns = positions
            .into_iter()
            .enumerate()
            .map(|(at, position)| match (position, types.get(at)) {
                (Some(position), None) => Ok(BinaryColumn::Read { position, is_nullable_in_input: false }),
                (Some(position), Some(found)) => {
                    let expected = rows.table.schema.fields.get(position).map(|(_, data_type)| data_type);
                    let is_nullable_in_input =
                        expected.is_some_and(|expected| !expected.is_nullable()) && found.is_nullable();
                    let same = expected.is_some_and(|expected| {
                        binary_layout(expected) == binary_layout(&found.remove_nullable())
                            || binary_layout(expected) == binary_layout(found)
                    });
                    if same {
                        Ok(BinaryColumn::Read { position, is_nullable_in_input })
                    } else {
                        let expected = expected.map(ToString::to_string).unwrap_or_default();
                        let name = names.get(at).map(String::as_str).unwrap_or_default();
                        Err(Error::new(
                            ErrorCode::INCORRECT_DATA,
                            format!("Type of '{name}' must be {expected}, not {found}"),
                        ))
                    }
                }
                (None, Some(found)) => Ok(BinaryColumn::Skip(Box::new(Builder::new(found)))),
                (None, None) => Err(Error::new(
                    ErrorCode::INCORRECT_DATA,
                    "RowBinaryWithNames cannot skip an unknown column: its type is not known",
                )),
            })
            .collect::<Result<_>>()?;
        Ok(())
    }

    fn row(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<Builder>) -> Result<bool, Stop> {
        for column in &mut self.columns {
            if self.has_defaults && input.byte()? != 0 {
                if let BinaryColumn::Read { position, .. } = column {
                    rows.omit(*position)?;
                }
                continue;
            }
            match column {
                BinaryColumn::Read { position, is_nullable_in_input } => {
                    if *is_nullable_in_input && input.byte()? != 0 {
                        rows.omit(*position)?;
                    } else {
                        read_binary(rows.column(*position)?, input)?;
                    }
                }
                BinaryColumn::Skip(builder) => {
                    builder.truncate(0);
                    read_binary(builder, input)?;
                }
            }
        }
        Ok(true)
    }

    fn skip_row(&mut self, _: &mut Cursor<'_>) -> Result<(), Stop> {
        // Without separators there is no way to find the next row.
        Ok(())
    }
}

/// Types with equal layouts are read alike: a dictionary is written as its values.
fn binary_layout(data_type: &DataType) -> DataType {
    match data_type {
        DataType::LowCardinality(inner) => (**inner).clone(),
        DataType::SimpleAggregateFunction(simple) => binary_layout(simple.values()),
        DataType::Named(named) => binary_layout(named.values()),
        DataType::DateTime(_) => DataType::DateTime(None),
        DataType::DateTime64(digits, _) => DataType::DateTime64(*digits, None),
        DataType::Nullable(inner) => DataType::Nullable(Arc::new(binary_layout(inner))),
        DataType::Array(item) => DataType::array(binary_layout(item)),
        DataType::Map(key, value) => DataType::Map(Arc::new(binary_layout(key)), Arc::new(binary_layout(value))),
        DataType::Tuple(elements) => DataType::tuple(elements.iter().map(|element| binary_layout(&element.data_type))),
        other => other.clone(),
    }
}

/// Appends the value at the cursor.
pub(crate) fn read_binary(builder: &mut Builder, input: &mut Cursor<'_>) -> Result<(), Stop> {
    macro_rules! number {
        ($values:expr, $rust:ty) => {
            $values.push(<$rust>::from_le_bytes(input.array()?))
        };
    }
    match &mut builder.values {
        Values::Nothing(rows) => *rows += 1,
        Values::Bool(values) => values.push(u8::from(input.byte()? != 0)),
        Values::UInt8(values) => number!(values, u8),
        Values::UInt16(values) => number!(values, u16),
        Values::UInt32(values) => number!(values, u32),
        Values::UInt64(values) => number!(values, u64),
        Values::Int8(values) => number!(values, i8),
        Values::Int16(values) => number!(values, i16),
        Values::Int32(values) => number!(values, i32),
        Values::Int64(values) => number!(values, i64),
        Values::BFloat16(values) => values.push(bfloat16_of(input.array()?)),
        Values::Float32(values) => number!(values, f32),
        Values::Float64(values) => number!(values, f64),
        Values::Enum8(values, known) => {
            let number = i8::from_le_bytes(input.array()?);
            check_enum(known, number.into())?;
            values.push(number);
        }
        Values::Enum16(values, known) => {
            let number = i16::from_le_bytes(input.array()?);
            check_enum(known, number)?;
            values.push(number);
        }
        Values::String(strings) => {
            let bytes = match &builder.data_type {
                DataType::AggregateFunction(state) => crate::binary::states::StateReader::new(state)?.read(input)?,
                _ => input.string(STRING_BYTES_MAX)?,
            };
            strings.bytes.extend_from_slice(bytes);
            strings.end_row()?;
        }
        Values::FixedString { bytes, width } => bytes.extend_from_slice(input.take(*width)?),
        Values::Mixed(values) => {
            let all = input.rest();
            let mut left = all;
            match take_value(&mut left, &builder.data_type) {
                Ok(value) => {
                    input.take(all.len() - left.len())?;
                    values.push(value);
                }
                Err(error) if error.code == ErrorCode::CANNOT_READ_ALL_DATA && !input.is_last() => {
                    return Err(Stop::Incomplete);
                }
                Err(error) => return Err(Stop::Bad(error)),
            }
        }
        Values::Uuid(values) => values.push(swap_halves(input.array()?)),
        Values::Nullable { valid, inner } => {
            let is_null = input.byte()? != 0;
            if is_null {
                inner.append_default()?;
            } else {
                read_binary(inner, input)?;
            }
            valid.push(!is_null);
        }
        Values::LowCardinality(dictionary) => {
            if builder.data_type.is_nullable() && input.byte()? != 0 {
                dictionary.append_null();
            } else {
                dictionary.append_with(|values| read_binary(values, input))?;
            }
        }
        Values::Array { ends, items } => {
            for _ in 0..read_size(&[items], input)? {
                read_binary(items, input)?;
            }
            ends.end_row(items.rows())?;
        }
        Values::Map { ends, keys, values } => {
            for _ in 0..read_size(&[keys, values], input)? {
                read_binary(keys, input)?;
                read_binary(values, input)?;
            }
            ends.end_row(keys.rows())?;
        }
        Values::Tuple { elements, rows } => {
            elements.iter_mut().try_for_each(|element| read_binary(element, input))?;
            *rows += 1;
        }
    }
    Ok(())
}

fn check_enum(known: &EnumValues, number: i16) -> Result<(), Stop> {
    if known.name(number).is_some() {
        return Ok(());
    }
    Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, format!("Unexpected value {number} in enum"))))
}

/// Reads the number of items of an array whose item is one value of each builder.
fn read_size(items: &[&mut Box<Builder>], input: &mut Cursor<'_>) -> Result<u64, Stop> {
    let size = input.varint()?;
    let bytes_min: usize = items.iter().map(|item| bytes_min(&item.data_type)).sum();
    let items_max = if bytes_min == 0 { EMPTY_ITEMS_MAX } else { ARRAY_ITEMS_MAX };
    if size > items_max {
        let message = format!("Too large array size: {size}, at most {items_max} are accepted");
        return Err(Stop::Bad(Error::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, message)));
    }
    if size as usize * bytes_min > input.rest().len() {
        return Err(Stop::Incomplete);
    }
    Ok(size)
}

/// The fewest bytes that a value takes.
fn bytes_min(data_type: &DataType) -> usize {
    match data_type {
        DataType::Nothing => 0,
        DataType::Tuple(elements) => elements.iter().map(|element| bytes_min(&element.data_type)).sum(),
        DataType::LowCardinality(inner) if !inner.is_nullable() => bytes_min(inner),
        other => other.fixed_width_bytes().unwrap_or(1),
    }
}
