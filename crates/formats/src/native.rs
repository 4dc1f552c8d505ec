//! The Native format: blocks column by column, each column in one piece, as ClickHouse's servers and clients exchange them. Also the
//! serialisation of blocks in the native protocol, whose revision decides some bytes; the `BlockInfo` before a block and the
//! frames of compression around it are the protocol's own.
//!
//! A block is the number of columns, the number of rows, and for each column its name, its type's name, from revision 54454 on whether
//! its serialisation is a custom one, and, where there are rows, the prefixes of all nested types and then their data.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeBinaryArray, ListArray, NullArray, PrimitiveArray, StructArray,
    UInt32Array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use squall_types::{Block, Column, DataType, EnumValues, Error, ErrorCode, Physical, Result, Rows, Schema, TypeName};

use crate::binary::bit_planes;
use crate::binary::states::StateReader;
use crate::binary::uuid::swap_halves;
use crate::input::{InputBlock, InputFormat, TableInput};
use crate::native_alternatives::{
    Form, Structure, read_dynamic, read_dynamic_prefix, read_json, read_json_prefix, read_variant, read_variant_prefix,
    write_dynamic, write_dynamic_prefix, write_json, write_json_prefix, write_variant, write_variant_prefix,
};
use crate::native_sparse::{KIND_SPARSE, Kind, put_positions, read_sparse, to_send};
use crate::native_strings::StringLengths;
use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics};
use crate::wire::{Cursor, Stop, bfloat16_bytes, bfloat16_of, put_string, put_varint};

/// From this revision on, every column says whether its serialisation is a custom one.
pub const REVISION_WITH_CUSTOM_SERIALIZATION: u64 = 54_454;

/// From this revision on, what a peer reads has a `BlockInfo` before each block.
pub const REVISION_WITH_BLOCK_INFO: u64 = 51_903;

/// Before a block: it is not one of rows that did not fit, and belongs to no bucket.
pub const BLOCK_INFO: [u8; 8] = [1, 0, 2, 0xFF, 0xFF, 0xFF, 0xFF, 0];

/// From this revision on, the name of `DateTime` tells its time zone.
const REVISION_WITH_TIME_ZONE_IN_TYPE: u64 = 54_337;

/// What a block may announce. Memory is only ever taken for bytes that have arrived.
const COLUMNS_MAX: u64 = 100_000;
const ROWS_MAX: u64 = i32::MAX as u64;
const NAME_BYTES_MAX: u64 = 1 << 20;

/// `LowCardinality`: the only version of keys, and the flags beside the keys' width.
const KEYS_VERSION: u64 = 1;
const GLOBAL_DICTIONARY: u64 = 1 << 8;
const ADDITIONAL_KEYS: u64 = 1 << 9;
const UPDATE_DICTIONARY: u64 = 1 << 10;

/// What stands for a value of `Nothing`, and for a row of `Tuple()`.
const PLACEHOLDER: u8 = b'0';

/// Appends a block as a peer of this protocol revision reads it; 0 is the format in files.
///
/// # Errors
/// `TOO_LARGE_ARRAY_SIZE` where a constant is too large to be written out.
pub fn write_block(block: &Block, revision: u64, out: &mut Vec<u8>) -> Result<()> {
    write_block_as(block, Form { revision, json_as_text: false }, out)
}

/// Appends a block in a form.
///
/// # Errors
/// As [`write_block`].
pub(crate) fn write_block_as(block: &Block, form: Form, out: &mut Vec<u8>) -> Result<()> {
    write_block_head(block, out);
    (0..block.columns().len()).try_for_each(|at| write_column(block, at, form, out))
}

/// Appends what stands before a block's columns.
pub fn write_block_head(block: &Block, out: &mut Vec<u8>) {
    out.reserve(block.value_bytes() + 64 * block.columns().len() + 16);
    put_varint(out, block.columns().len() as u64);
    put_varint(out, block.rows() as u64);
}

/// Appends the column at a position of a block: after [the head](write_block_head), all of them in their order make what [`write_block`]
/// writes.
///
/// # Errors
/// As [`write_block`].
pub fn write_block_column(block: &Block, at: usize, revision: u64, out: &mut Vec<u8>) -> Result<()> {
    write_column(block, at, Form { revision, json_as_text: false }, out)
}

fn write_column(block: &Block, at: usize, form: Form, out: &mut Vec<u8>) -> Result<()> {
    let revision = form.revision;
    let (Some((name, data_type)), Some(column)) = (block.schema().fields.get(at), block.columns().get(at)) else {
        return Err(Error::logical("a block has no column at this position"));
    };
    put_string(out, &**name);
    match data_type {
        DataType::DateTime(Some(_)) if revision < REVISION_WITH_TIME_ZONE_IN_TYPE => put_string(out, "DateTime"),
        other => put_string(out, other.to_string()),
    }
    let sparse = to_send(column.sparse(), data_type, revision)?;
    if revision >= REVISION_WITH_CUSTOM_SERIALIZATION {
        out.push(sparse.is_some().into());
    }
    if let Some(sparse) = sparse {
        out.push(KIND_SPARSE);
        if block.rows() > 0 {
            put_positions(&sparse, out);
            write_values(data_type, &**sparse.values(), form, out)?;
        }
    } else if block.rows() > 0 {
        let array = column.to_array()?;
        write_prefix(data_type, &*array, form, out)?;
        write_values(data_type, &*array, form, out)?;
    }
    Ok(())
}

/// What is written once before the data: the version of each dictionary, and what values of several types consist of.
pub(crate) fn write_prefix(data_type: &DataType, array: &dyn Array, form: Form, out: &mut Vec<u8>) -> Result<()> {
    match data_type {
        DataType::LowCardinality(_) => out.extend_from_slice(&KEYS_VERSION.to_le_bytes()),
        DataType::Nullable(inner) => write_prefix(inner, array, form, out)?,
        DataType::SimpleAggregateFunction(simple) => write_prefix(simple.values(), array, form, out)?,
        DataType::Named(named) => write_prefix(named.values(), array, form, out)?,
        DataType::Array(item) => write_prefix(item, &*items_of(array)?, form, out)?,
        DataType::Map(key, value) => {
            let entries = items_of(array)?;
            let entries = entries.as_struct_opt().ok_or_else(|| bad_array(array))?;
            write_prefix(key, &**entries.column(0), form, out)?;
            write_prefix(value, &**entries.column(1), form, out)?;
        }
        DataType::Tuple(elements) => {
            let tuple = array.as_struct_opt().ok_or_else(|| bad_array(array))?;
            for (element, column) in elements.iter().zip(tuple.columns()) {
                write_prefix(&element.data_type, &**column, form, out)?;
            }
        }
        DataType::Variant(alternatives) => write_variant_prefix(alternatives, array, form, out)?,
        DataType::Dynamic(max_types) => write_dynamic_prefix(*max_types, array, form, out)?,
        DataType::Json(json) => write_json_prefix(json, array, form, out)?,
        _ => {}
    }
    Ok(())
}

/// The items that the arrays of a list have.
fn items_of(array: &dyn Array) -> Result<ArrayRef> {
    let list = array.as_list_opt::<i32>().ok_or_else(|| bad_array(array))?;
    let offsets = list.value_offsets();
    let (first, last) = (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0));
    Ok(list.values().slice(first as usize, (last - first) as usize))
}

fn write_primitive<T: ArrowPrimitiveType>(array: &dyn Array, out: &mut Vec<u8>) -> Result<()> {
    let array = array.as_primitive_opt::<T>().ok_or_else(|| bad_array(array))?;
    // Arrow's buffers and the wire are both little-endian.
    out.extend_from_slice(array.values().inner().as_slice());
    Ok(())
}

fn bad_array(array: &dyn Array) -> Error {
    Error::logical(format!("an array of {:?} under another type", array.data_type()))
}

/// Writes the values of an array.
pub(crate) fn write_values(data_type: &DataType, array: &dyn Array, form: Form, out: &mut Vec<u8>) -> Result<()> {
    match data_type {
        DataType::Nullable(inner) => {
            match array.nulls() {
                _ if **inner == DataType::Nothing => out.resize(out.len() + array.len(), 1),
                None => out.resize(out.len() + array.len(), 0),
                Some(nulls) => out.extend(nulls.iter().map(|valid| u8::from(!valid))),
            }
            write_values(inner, array, form, out)?;
        }
        DataType::LowCardinality(inner) => write_dictionary(inner, array, form, out)?,
        DataType::Array(item) => {
            let items = write_ends(array, out)?;
            write_values(item, &*items, form, out)?;
        }
        DataType::Map(key, value) => {
            let entries = write_ends(array, out)?;
            let entries = entries.as_struct_opt().ok_or_else(|| bad_array(array))?;
            write_values(key, &**entries.column(0), form, out)?;
            write_values(value, &**entries.column(1), form, out)?;
        }
        DataType::Tuple(elements) => {
            if elements.is_empty() {
                out.resize(out.len() + array.len(), PLACEHOLDER);
            }
            let tuple = array.as_struct_opt().ok_or_else(|| bad_array(array))?;
            for (element, column) in elements.iter().zip(tuple.columns()) {
                write_values(&element.data_type, &**column, form, out)?;
            }
        }
        DataType::AggregateFunction(state) => crate::binary::states::write_array(state, array, out)?,
        DataType::SimpleAggregateFunction(simple) => write_values(simple.values(), array, form, out)?,
        DataType::Named(named) => match &named.name {
            TypeName::QBit(qbit) => bit_planes::write(qbit, array, out)?,
            TypeName::Shape(_) => write_values(named.values(), array, form, out)?,
        },
        DataType::Variant(alternatives) => write_variant(alternatives, array, form, out)?,
        DataType::Dynamic(max_types) => write_dynamic(*max_types, array, form, out)?,
        DataType::Json(json) => write_json(json, array, form, out)?,
        DataType::BFloat16 => {
            let array = array.as_primitive_opt::<Float32Type>().ok_or_else(|| bad_array(array))?;
            array.values().iter().for_each(|value| out.extend_from_slice(&bfloat16_bytes(*value)));
        }
        _ => write_flat(data_type.physical(), array, out)?,
    }
    Ok(())
}

/// Writes values that hold no others.
fn write_flat(physical: Physical, array: &dyn Array, out: &mut Vec<u8>) -> Result<()> {
    match physical {
        Physical::Nothing => out.resize(out.len() + array.len(), PLACEHOLDER),
        Physical::UInt8 => write_primitive::<UInt8Type>(array, out)?,
        Physical::UInt16 => write_primitive::<UInt16Type>(array, out)?,
        Physical::UInt32 => write_primitive::<UInt32Type>(array, out)?,
        Physical::UInt64 => write_primitive::<UInt64Type>(array, out)?,
        Physical::Int8 => write_primitive::<Int8Type>(array, out)?,
        Physical::Int16 => write_primitive::<Int16Type>(array, out)?,
        Physical::Int32 => write_primitive::<Int32Type>(array, out)?,
        Physical::Int64 => write_primitive::<Int64Type>(array, out)?,
        Physical::Float32 => write_primitive::<Float32Type>(array, out)?,
        Physical::Float64 => write_primitive::<Float64Type>(array, out)?,
        Physical::Bytes => {
            let strings = array.as_binary_opt::<i32>().ok_or_else(|| bad_array(array))?;
            let data = strings.value_data();
            for ends in strings.value_offsets().windows(2) {
                put_varint(out, (ends[1] - ends[0]) as u64);
                out.extend_from_slice(&data[ends[0] as usize..ends[1] as usize]);
            }
        }
        Physical::Fixed(_) | Physical::UInt128 | Physical::UInt256 | Physical::Int128 | Physical::Int256 => {
            let values = array.as_fixed_size_binary_opt().ok_or_else(|| bad_array(array))?;
            (0..values.len()).for_each(|row| out.extend_from_slice(values.value(row)));
        }
        Physical::Uuid => {
            let values = array.as_fixed_size_binary_opt().ok_or_else(|| bad_array(array))?;
            for row in 0..values.len() {
                out.extend_from_slice(&swap_halves(*values.value(row).first_chunk().unwrap_or(&[0; 16])));
            }
        }
        Physical::Dictionary | Physical::List | Physical::Struct => return Err(bad_array(array)),
    }
    Ok(())
}

/// Writes where each array ends and returns the items that the arrays have.
fn write_ends(array: &dyn Array, out: &mut Vec<u8>) -> Result<ArrayRef> {
    let list = array.as_list_opt::<i32>().ok_or_else(|| bad_array(array))?;
    let offsets = list.value_offsets();
    let first = offsets.first().copied().unwrap_or(0);
    out.extend(offsets.iter().skip(1).flat_map(|end| ((end - first) as u64).to_le_bytes()));
    items_of(array)
}

/// Writes the values that are used, in order of appearance after the default (and NULL before that, where there is one), and the
/// rows as positions among them.
fn write_dictionary(inner: &DataType, array: &dyn Array, form: Form, out: &mut Vec<u8>) -> Result<()> {
    if array.is_empty() {
        return Ok(());
    }
    let dictionary = array.as_dictionary_opt::<UInt32Type>().ok_or_else(|| bad_array(array))?;
    let values = dictionary.values();
    let default = u32::from(inner.is_nullable());
    // `None` stands for a default value, which is what a NULL index takes.
    let mut used: Vec<Option<u32>> = vec![None; default as usize + 1];
    let mut positions = vec![u32::MAX; values.len()];
    let mut rows = Vec::with_capacity(array.len());
    let keys = dictionary.keys();
    for (row, key) in keys.values().iter().enumerate() {
        if keys.is_null(row) {
            rows.push(0);
            continue;
        }
        let position = positions.get_mut(*key as usize).ok_or_else(|| bad_array(array))?;
        if *position == u32::MAX {
            *position = if is_default(&**values, *key as usize) {
                default
            } else {
                used.push(Some(*key));
                (used.len() - 1) as u32
            };
        }
        rows.push(*position);
    }
    let width_code: u64 = match used.len() - 1 {
        0..=0xFF => 0,
        0x100..=0xFFFF => 1,
        _ => 2,
    };
    out.extend_from_slice(&(width_code | ADDITIONAL_KEYS | UPDATE_DICTIONARY).to_le_bytes());
    out.extend_from_slice(&(used.len() as u64).to_le_bytes());
    let used = arrow_select::take::take(&**values, &UInt32Array::from(used), None)?;
    write_values(&inner.remove_nullable(), &*used, form, out)?;
    out.extend_from_slice(&(rows.len() as u64).to_le_bytes());
    match width_code {
        0 => out.extend(rows.iter().map(|row| *row as u8)),
        1 => out.extend(rows.iter().flat_map(|row| (*row as u16).to_le_bytes())),
        _ => out.extend(rows.iter().flat_map(|row| row.to_le_bytes())),
    }
    Ok(())
}

/// Whether a value is its type's default: empty, or zero.
fn is_default(values: &dyn Array, at: usize) -> bool {
    if let Some(strings) = values.as_binary_opt::<i32>() {
        return strings.value(at).is_empty();
    }
    if let Some(fixed) = values.as_fixed_size_binary_opt() {
        return fixed.value(at).iter().all(|byte| *byte == 0);
    }
    let data = values.to_data();
    let width = values.data_type().primitive_width().unwrap_or(0);
    let start = (data.offset() + at) * width;
    let bytes = data.buffers().first().and_then(|buffer| buffer.as_slice().get(start..start + width));
    bytes.is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0))
}

/// Reads blocks of a revision whose bytes arrive in pieces: finished columns are kept, so a column is read again only when its own
/// bytes were not complete.
#[derive(Debug)]
pub struct BlockReader {
    revision: u64,
    unfinished: Option<Unfinished>,
}

#[derive(Debug)]
struct Unfinished {
    columns: usize,
    rows: usize,
    fields: Vec<(Arc<str>, DataType)>,
    finished: Vec<Column>,
    /// Of the column that is being read, where it is of strings.
    strings: StringLengths,
    /// Bytes of the sparse columns that were read, when they are written out.
    whole_bytes: usize,
}

impl BlockReader {
    /// A reader of blocks as a peer of this revision writes them; 0 is the format in files.
    pub fn new(revision: u64) -> Self {
        Self { revision, unfinished: None }
    }

    /// Whether the last call stopped within a block.
    pub fn is_inside(&self) -> bool {
        self.unfinished.is_some()
    }

    /// Reads one block, or as much of it as there is: after `Incomplete` the cursor is past everything that need not be
    /// shown again, and the call is repeated with the bytes that follow.
    ///
    /// # Errors
    /// `Incomplete`, or what is wrong: `INCORRECT_DATA`, `UNKNOWN_TYPE`, `TOO_LARGE_ARRAY_SIZE`, `TOO_LARGE_STRING_SIZE`.
    pub fn read(&mut self, input: &mut Cursor<'_>) -> Result<Block, Stop> {
        let start = input.position();
        let mut block = match self.unfinished.take() {
            Some(block) => block,
            None => Self::read_sizes(input).inspect_err(|_| input.seek(start))?,
        };
        while block.finished.len() < block.columns {
            let start = input.position();
            match self.read_column(block.rows, &mut block.strings, &mut block.whole_bytes, input) {
                Ok((name, column)) => {
                    block.fields.push((name, column.data_type().clone()));
                    block.finished.push(column);
                }
                Err(stop) => {
                    input.seek(start);
                    if matches!(stop, Stop::Incomplete) {
                        self.unfinished = Some(block);
                    }
                    return Err(stop);
                }
            }
        }
        Ok(Block::new(Arc::new(Schema { fields: block.fields }), block.finished, block.rows))
    }

    fn read_sizes(input: &mut Cursor<'_>) -> Result<Unfinished, Stop> {
        let (columns, rows) = (input.varint()?, input.varint()?);
        if columns > COLUMNS_MAX || rows > ROWS_MAX {
            let message = format!("Suspiciously many columns or rows in Native format: {columns} columns, {rows} rows");
            return Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, message)));
        }
        // A block without columns has no rows to speak of: nothing follows that would bound them.
        let rows = if columns == 0 { 0 } else { rows as usize };
        let (fields, finished, strings) = (Vec::new(), Vec::new(), StringLengths::default());
        Ok(Unfinished { columns: columns as usize, rows, fields, finished, strings, whole_bytes: 0 })
    }

    fn read_column(
        &self,
        rows: usize,
        strings: &mut StringLengths,
        whole_bytes: &mut usize,
        input: &mut Cursor<'_>,
    ) -> Result<(Arc<str>, Column), Stop> {
        let name: Arc<str> = input.text(NAME_BYTES_MAX)?.into();
        let data_type = DataType::parse(&input.text(NAME_BYTES_MAX)?)?;
        let kind = match self.revision >= REVISION_WITH_CUSTOM_SERIALIZATION && input.byte()? != 0 {
            true => Kind::read(&data_type, input)?,
            false => Kind::Default,
        };
        if rows == 0 {
            return Ok((name, Column::empty(data_type)));
        }
        let structure = read_prefix(&data_type, input)?;
        let found = match (&data_type, &kind) {
            (DataType::String, Kind::Default) => strings.read(rows, None, input).map(Rows::Whole),
            _ => read_kind(&kind, &data_type, &structure, rows, whole_bytes, input),
        };
        let found = found.map_err(|stop| match stop {
            Stop::Bad(error) => Stop::Bad(error.context(format_args!("Column {name} of type {data_type}"))),
            incomplete @ Stop::Incomplete => incomplete,
        })?;
        Ok((name, Column::of_rows(data_type, found)))
    }
}

/// Reads `rows` rows, at least one, of a column or of an element of a tuple.
fn read_kind(
    kind: &Kind,
    data_type: &DataType,
    structure: &Structure,
    rows: usize,
    whole_bytes: &mut usize,
    input: &mut Cursor<'_>,
) -> Result<Rows, Stop> {
    match (kind, data_type) {
        (Kind::Sparse, _) => {
            let values = |values: usize, input: &mut Cursor<'_>| read_values(data_type, structure, values, None, input);
            Ok(Rows::Sparse(read_sparse(data_type, rows, whole_bytes, input, values)?))
        }
        (Kind::Elements(kinds), DataType::Tuple(elements)) if !elements.is_empty() => {
            let columns = elements.iter().zip(kinds).enumerate().map(|(at, (element, kind))| {
                let rows = read_kind(kind, &element.data_type, structure.part(at), rows, whole_bytes, input)?;
                Ok(Column::of_rows(element.data_type.clone(), rows).to_array()?)
            });
            let columns = columns.collect::<Result<Vec<_>, Stop>>()?;
            let tuples = StructArray::try_new_with_length(data_type.arrow_fields(), columns, None, rows);
            Ok(Rows::Whole(Arc::new(tuples.map_err(Error::from)?)))
        }
        _ => read_values(data_type, structure, rows, None, input).map(Rows::Whole),
    }
}

/// Reads what is written once before the data.
pub(crate) fn read_prefix(data_type: &DataType, input: &mut Cursor<'_>) -> Result<Structure, Stop> {
    Ok(match data_type {
        DataType::LowCardinality(_) => match u64::from_le_bytes(input.array()?) {
            KEYS_VERSION => Structure::Plain,
            other => return Err(incorrect(format!("Invalid version {other} of LowCardinality keys"))),
        },
        DataType::Nullable(inner) => read_prefix(inner, input)?,
        DataType::SimpleAggregateFunction(simple) => read_prefix(simple.values(), input)?,
        DataType::Named(named) => read_prefix(named.values(), input)?,
        DataType::Array(item) => Structure::Parts(vec![read_prefix(item, input)?]),
        DataType::Map(key, value) => Structure::Parts(vec![read_prefix(key, input)?, read_prefix(value, input)?]),
        DataType::Tuple(elements) => {
            let parts = elements.iter().map(|element| read_prefix(&element.data_type, input));
            Structure::Parts(parts.collect::<Result<_, Stop>>()?)
        }
        DataType::Variant(alternatives) => read_variant_prefix(alternatives, input)?,
        DataType::Dynamic(_) => read_dynamic_prefix(input)?,
        DataType::Json(json) => read_json_prefix(json, input)?,
        _ => Structure::Plain,
    })
}

pub(crate) fn incorrect(message: String) -> Stop {
    Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, message))
}

/// The bytes of `rows` values of a width.
fn take_rows<'a>(rows: usize, width: usize, input: &mut Cursor<'a>) -> Result<&'a [u8], Stop> {
    let bytes = rows.checked_mul(width).ok_or_else(|| incorrect("Too many rows in Native format".into()))?;
    input.take(bytes)
}

fn read_buffer<T: ArrowPrimitiveType>(rows: usize, input: &mut Cursor<'_>) -> Result<ScalarBuffer<T::Native>, Stop> {
    let bytes = take_rows(rows, size_of::<T::Native>(), input)?;
    Ok(ScalarBuffer::new(Buffer::from(bytes), 0, rows))
}

fn read_primitive<T: ArrowPrimitiveType>(
    rows: usize,
    nulls: Option<NullBuffer>,
    input: &mut Cursor<'_>,
) -> Result<ArrayRef, Stop> {
    Ok(Arc::new(PrimitiveArray::<T>::new(read_buffer::<T>(rows, input)?, nulls)))
}

/// Every number in an enum's column must be one of its values, else it could not be printed.
fn check_enum(values: &EnumValues, mut numbers: impl Iterator<Item = i16>) -> Result<(), Stop> {
    match numbers.find(|number| values.name(*number).is_none()) {
        Some(number) => Err(incorrect(format!("Unexpected value {number} in enum"))),
        None => Ok(()),
    }
}

fn fixed(width: usize, bytes: impl Into<Buffer>, nulls: Option<NullBuffer>) -> Result<ArrayRef, Stop> {
    let width = i32::try_from(width).unwrap_or(i32::MAX);
    Ok(Arc::new(FixedSizeBinaryArray::try_new(width, bytes.into(), nulls).map_err(Error::from)?))
}

/// Reads `rows` values; `nulls` are those of the `Nullable` around them.
fn read_values(
    data_type: &DataType,
    structure: &Structure,
    rows: usize,
    nulls: Option<NullBuffer>,
    input: &mut Cursor<'_>,
) -> Result<ArrayRef, Stop> {
    Ok(match data_type {
        DataType::Bool => {
            let truths: Vec<u8> = input.take(rows)?.iter().map(|byte| u8::from(*byte != 0)).collect();
            Arc::new(PrimitiveArray::<UInt8Type>::new(truths.into(), nulls))
        }
        DataType::Enum8(values) => {
            let numbers = read_buffer::<Int8Type>(rows, input)?;
            let numbers = PrimitiveArray::<Int8Type>::new(numbers, nulls);
            check_enum(values, numbers.iter().flatten().map(i16::from))?;
            Arc::new(numbers)
        }
        DataType::Enum16(values) => {
            let numbers = read_buffer::<Int16Type>(rows, input)?;
            let numbers = PrimitiveArray::<Int16Type>::new(numbers, nulls);
            check_enum(values, numbers.iter().flatten())?;
            Arc::new(numbers)
        }
        DataType::Nullable(inner) => {
            let valid: Vec<bool> = input.take(rows)?.iter().map(|is_null| *is_null == 0).collect();
            let nulls = NullBuffer::new(BooleanBuffer::from(valid));
            read_values(inner, structure, rows, Some(nulls).filter(|nulls| nulls.null_count() > 0), input)?
        }
        DataType::LowCardinality(inner) => read_dictionary(inner, rows, input)?,
        DataType::Array(item) => {
            let (ends, items) = read_ends(rows, input)?;
            let items = read_items(item, structure.part(0), items, input)?;
            Arc::new(ListArray::try_new(item.arrow_list_item(), ends, items, nulls).map_err(Error::from)?)
        }
        DataType::Map(key, value) => {
            let entry = data_type.map_entry_type();
            let (ends, items) = read_ends(rows, input)?;
            let columns = vec![
                read_items(key, structure.part(0), items, input)?,
                read_items(value, structure.part(1), items, input)?,
            ];
            let entries =
                StructArray::try_new_with_length(entry.arrow_fields(), columns, None, items).map_err(Error::from)?;
            Arc::new(ListArray::try_new(entry.arrow_list_item(), ends, Arc::new(entries), nulls).map_err(Error::from)?)
        }
        DataType::Tuple(elements) => {
            if elements.is_empty() {
                input.take(rows)?;
            }
            let columns = elements
                .iter()
                .enumerate()
                .map(|(at, element)| read_items(&element.data_type, structure.part(at), rows, input))
                .collect::<Result<Vec<_>, Stop>>()?;
            Arc::new(
                StructArray::try_new_with_length(data_type.arrow_fields(), columns, nulls, rows)
                    .map_err(Error::from)?,
            )
        }
        DataType::AggregateFunction(state) => StateReader::new(state)?.read_array(rows, input)?,
        DataType::SimpleAggregateFunction(simple) => read_values(simple.values(), structure, rows, nulls, input)?,
        DataType::Named(named) => match &named.name {
            TypeName::QBit(qbit) => bit_planes::read(qbit, rows, input)?,
            TypeName::Shape(_) => read_values(named.values(), structure, rows, nulls, input)?,
        },
        DataType::Variant(alternatives) => read_variant(alternatives, structure, rows, input)?,
        DataType::Dynamic(_) => read_dynamic(structure, rows, input)?,
        DataType::Json(json) => with_nulls(read_json(json, structure, rows, input)?, nulls)?,
        DataType::BFloat16 => {
            let (halves, _) = take_rows(rows, 2, input)?.as_chunks::<2>();
            let values: Vec<f32> = halves.iter().map(|bytes| bfloat16_of(*bytes)).collect();
            Arc::new(PrimitiveArray::<Float32Type>::new(values.into(), nulls))
        }
        _ => read_flat(data_type.physical(), rows, nulls, input)?,
    })
}

/// Reads values that hold no others, whatever they mean.
fn read_flat(
    physical: Physical,
    rows: usize,
    nulls: Option<NullBuffer>,
    input: &mut Cursor<'_>,
) -> Result<ArrayRef, Stop> {
    Ok(match physical {
        Physical::Nothing => {
            input.take(rows)?;
            Arc::new(NullArray::new(rows))
        }
        Physical::UInt8 => read_primitive::<UInt8Type>(rows, nulls, input)?,
        Physical::UInt16 => read_primitive::<UInt16Type>(rows, nulls, input)?,
        Physical::UInt32 => read_primitive::<UInt32Type>(rows, nulls, input)?,
        Physical::UInt64 => read_primitive::<UInt64Type>(rows, nulls, input)?,
        Physical::Int8 => read_primitive::<Int8Type>(rows, nulls, input)?,
        Physical::Int16 => read_primitive::<Int16Type>(rows, nulls, input)?,
        Physical::Int32 => read_primitive::<Int32Type>(rows, nulls, input)?,
        Physical::Int64 => read_primitive::<Int64Type>(rows, nulls, input)?,
        Physical::Float32 => read_primitive::<Float32Type>(rows, nulls, input)?,
        Physical::Float64 => read_primitive::<Float64Type>(rows, nulls, input)?,
        Physical::Bytes => StringLengths::default().read(rows, nulls, input)?,
        Physical::Fixed(width) => fixed(width, take_rows(rows, width, input)?, nulls)?,
        Physical::UInt128 | Physical::Int128 => fixed(16, take_rows(rows, 16, input)?, nulls)?,
        Physical::UInt256 | Physical::Int256 => fixed(32, take_rows(rows, 32, input)?, nulls)?,
        Physical::Uuid => {
            let (values, _) = take_rows(rows, 16, input)?.as_chunks::<16>();
            let values: Vec<[u8; 16]> = values.iter().map(|value| swap_halves(*value)).collect();
            fixed(16, values.into_flattened(), nulls)?
        }
        Physical::Dictionary | Physical::List | Physical::Struct => {
            return Err(Stop::Bad(Error::logical("a nested type among flat ones")));
        }
    })
}

/// Values inside another type, where there may be none at all.
pub(crate) fn read_items(
    data_type: &DataType,
    structure: &Structure,
    items: usize,
    input: &mut Cursor<'_>,
) -> Result<ArrayRef, Stop> {
    if items == 0 {
        return Ok(arrow_array::new_empty_array(&data_type.arrow_type()));
    }
    read_values(data_type, structure, items, None, input)
}

/// The objects of a `Nullable(JSON)`.
fn with_nulls(array: ArrayRef, nulls: Option<NullBuffer>) -> Result<ArrayRef, Stop> {
    let rows = array.len();
    let (fields, columns, _) = array.as_struct().clone().into_parts();
    let objects = StructArray::try_new_with_length(fields, columns, nulls, rows).map_err(Error::from)?;
    Ok(Arc::new(objects))
}

/// Reads where each array ends; returns that with the number of all items.
fn read_ends(rows: usize, input: &mut Cursor<'_>) -> Result<(OffsetBuffer<i32>, usize), Stop> {
    let (ends, _) = take_rows(rows, 8, input)?.as_chunks::<8>();
    let mut offsets = Vec::with_capacity(rows + 1);
    offsets.push(0);
    let mut before = 0;
    for end in ends {
        let end = i32::try_from(u64::from_le_bytes(*end)).ok().filter(|end| *end >= before);
        before = end.ok_or_else(|| {
            Stop::Bad(Error::new(
                ErrorCode::TOO_LARGE_ARRAY_SIZE,
                "Ends of arrays in Native format descend or are too large",
            ))
        })?;
        offsets.push(before);
    }
    Ok((OffsetBuffer::new(offsets.into()), before as usize))
}

fn read_dictionary(inner: &DataType, rows: usize, input: &mut Cursor<'_>) -> Result<ArrayRef, Stop> {
    let flags = u64::from_le_bytes(input.array()?);
    if flags & GLOBAL_DICTIONARY != 0 || flags & ADDITIONAL_KEYS == 0 || flags & 0xFF > 3 {
        return Err(incorrect(format!(
            "A LowCardinality column must bring its own keys, but its flags are {flags:#x}"
        )));
    }
    let values = u64::from_le_bytes(input.array()?);
    if values > ROWS_MAX {
        return Err(incorrect(format!("{values} keys in a LowCardinality column")));
    }
    let values = read_items(&inner.remove_nullable(), &Structure::Plain, values as usize, input)?;
    let found = u64::from_le_bytes(input.array()?);
    if found != rows as u64 {
        return Err(incorrect(format!("{found} rows in a LowCardinality column of a block of {rows} rows")));
    }
    fn widen<const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> u64) -> Vec<u32> {
        let (keys, _) = bytes.as_chunks::<N>();
        keys.iter().map(|key| u32::try_from(read(*key)).unwrap_or(u32::MAX)).collect()
    }
    let keys = match flags & 0xFF {
        0 => widen::<1>(input.take(rows)?, |key| key[0].into()),
        1 => widen::<2>(take_rows(rows, 2, input)?, |key| u16::from_le_bytes(key).into()),
        2 => widen::<4>(take_rows(rows, 4, input)?, |key| u32::from_le_bytes(key).into()),
        _ => widen::<8>(take_rows(rows, 8, input)?, u64::from_le_bytes),
    };
    if keys.iter().any(|key| *key as usize >= values.len()) {
        return Err(incorrect("A row of a LowCardinality column points behind its keys".into()));
    }
    // The first key of a nullable dictionary stands for NULL.
    let nulls = inner.is_nullable().then(|| NullBuffer::new(keys.iter().map(|key| *key != 0).collect()));
    let keys = UInt32Array::new(keys.into(), nulls.filter(|nulls| nulls.null_count() > 0));
    Ok(Arc::new(DictionaryArray::try_new(keys, values).map_err(Error::from)?))
}

/// The columns of the first block in files.
///
/// # Errors
/// What is wrong with the block; `CANNOT_EXTRACT_TABLE_STRUCTURE` where there is none.
pub(crate) fn first_schema(input: &mut dyn std::io::Read, options: &FormatOptions) -> Result<Schema> {
    let mut reader = BlockReader::new(options.client_protocol_version);
    let mut chunk = vec![0; 1 << 16];
    let mut pending = Vec::new();
    loop {
        let bytes = input.read(&mut chunk).map_err(|error| crate::schema::read_error(&error))?;
        squall_types::grow(&mut pending, bytes)?;
        pending.extend_from_slice(chunk.get(..bytes).unwrap_or_default());
        let mut cursor = Cursor::new(&pending);
        match reader.read(&mut cursor) {
            Ok(block) if !block.schema().is_empty() => return Ok((**block.schema()).clone()),
            Ok(_) | Err(Stop::Incomplete) if bytes > 0 => {
                let read = cursor.position();
                pending.drain(..read);
            }
            Ok(_) => {
                return Err(Error::new(ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE, "The data are empty"));
            }
            Err(stop) => return Err(stop.into_error()),
        }
        squall_types::checkpoint(1 << 16)?;
    }
}

/// The output format.
#[derive(Clone, Debug)]
pub(crate) struct NativeOutput {
    form: Form,
}

impl NativeOutput {
    pub fn new(options: &FormatOptions) -> Self {
        Self {
            form: Form {
                revision: options.client_protocol_version,
                json_as_text: options.settings.output_format_native_write_json_as_string,
            },
        }
    }
}

impl OutputFormat for NativeOutput {
    fn content_type(&self) -> &'static str {
        "application/octet-stream"
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        if block.is_empty() {
            return Ok(());
        }
        if self.form.revision >= REVISION_WITH_BLOCK_INFO {
            out.extend_from_slice(&BLOCK_INFO);
        }
        write_block_as(block, self.form, out)
    }

    fn fork(&self) -> Option<Box<dyn OutputFormat>> {
        Some(Box::new(self.clone()))
    }

    fn end(&mut self, _: &Statistics, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}

/// The input format: blocks whose columns are matched with the table's by name, and cast where their types differ.
#[derive(Debug)]
pub(crate) struct NativeInput {
    reader: BlockReader,
    table: TableInput,
    pending: Vec<u8>,
    pending_bytes_max: usize,
}

impl NativeInput {
    pub fn new(schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        Self {
            reader: BlockReader::new(options.client_protocol_version),
            table: TableInput::new(schema, options),
            pending: Vec::new(),
            pending_bytes_max: options.pending_bytes_max,
        }
    }
}

impl InputFormat for NativeInput {
    fn feed(&mut self, chunk: &[u8], blocks: &mut Vec<InputBlock>) -> Result<()> {
        squall_types::grow(&mut self.pending, chunk.len())?;
        self.pending.extend_from_slice(chunk);
        let mut input = Cursor::new(&self.pending);
        while !input.is_empty() {
            match self.reader.read(&mut input) {
                Ok(block) if block.is_empty() => {}
                Ok(block) => blocks.push(self.table.match_block(&block)?),
                Err(Stop::Incomplete) => break,
                Err(Stop::Bad(error)) => return Err(error),
            }
        }
        let read = input.position();
        self.pending.drain(..read);
        if self.pending.len() > self.pending_bytes_max {
            return Err(Error::new(
                ErrorCode::TOO_LARGE_STRING_SIZE,
                format!("A column in Native format is larger than {} bytes", self.pending_bytes_max),
            ));
        }
        Ok(())
    }

    fn finish(&mut self, _: &mut Vec<InputBlock>) -> Result<()> {
        if self.pending.is_empty() && !self.reader.is_inside() { Ok(()) } else { Err(Stop::Incomplete.into_error()) }
    }
}
