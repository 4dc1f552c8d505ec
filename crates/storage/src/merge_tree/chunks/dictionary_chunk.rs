//! Column chunks that need not look at each value: one row that stands for all rows, and `LowCardinality` columns, whose keys are there
//! already. Such a chunk is a dictionary page and runs of keys. Chunks whose values are looked at are `value_chunk`'s.

use std::io::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType as ArrowType, TimeUnit};
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::errors::ParquetError;
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::ColumnDescPtr;
use squall_runtime::Pieces;

use super::column_chunk::ColumnChunk;
use super::key_runs::{bits, put_pattern, put_run};
use super::packing::PageCodec;
use super::value_chunk::add_keys;
use crate::merge_tree::parts::part_encoder::{BOUND_BYTES_MAX, parquet_bug};

/// Larger dictionaries are the `parquet` crate's to judge.
const DICTIONARY_BYTES_MAX: usize = 1 << 20;

/// More items of a list are not written by their pattern.
const ITEMS_MAX: usize = 64;

/// One leaf of a row that stands for all rows: its value, or a list's items; `None` where the list is empty.
pub(in crate::merge_tree) struct OneRowLeaf(Option<ArrayRef>);

/// The one row that all rows of an array are like, if they are seen to be so at a glance.
pub(in crate::merge_tree) fn one_row(array: &ArrayRef) -> Option<ArrayRef> {
    let is_one = !array.is_empty() && array.null_count() == 0 && is_one_value(array);
    is_one.then(|| array.slice(0, 1))
}

fn is_one_value(array: &ArrayRef) -> bool {
    fn all_equal<T: PartialEq>(values: &[T]) -> bool {
        values.split_first().is_some_and(|(first, rest)| rest.iter().all(|value| value == first))
    }
    macro_rules! primitives {
        ($($arrow:pat => $type:ty),*) => {
            match array.data_type() {
                $($arrow => all_equal(array.as_primitive::<$type>().values()),)*
                ArrowType::Dictionary(..) => match array.as_dictionary_opt::<UInt32Type>() {
                    Some(dictionary) => all_equal(dictionary.keys().values()),
                    None => false,
                },
                ArrowType::Binary => {
                    let strings = array.as_binary::<i32>();
                    strings.iter().all(|string| string == Some(strings.value(0)))
                }
                ArrowType::FixedSizeBinary(_) => {
                    let values = array.as_fixed_size_binary();
                    values.iter().all(|value| value == Some(values.value(0)))
                }
                ArrowType::List(_) => all_equal(array.as_list::<i32>().value_offsets()),
                ArrowType::Struct(_) => array.as_struct().columns().iter().all(|column| column.null_count() == 0 && is_one_value(column)),
                _ => false,
            }
        };
    }
    primitives! {
        ArrowType::UInt8 => UInt8Type, ArrowType::UInt16 => UInt16Type, ArrowType::UInt32 => UInt32Type, ArrowType::UInt64 => UInt64Type,
        ArrowType::Int8 => Int8Type, ArrowType::Int16 => Int16Type, ArrowType::Int32 => Int32Type, ArrowType::Int64 => Int64Type
    }
}

/// What the leaves of one row, in the types of the file, hold; `None` for shapes that are not written here.
pub(in crate::merge_tree) fn leaves_of(row: &ArrayRef) -> Option<Vec<OneRowLeaf>> {
    let mut leaves = Vec::new();
    add_leaves(row, false, &mut leaves).then_some(leaves)
}

fn add_leaves(row: &ArrayRef, is_in_list: bool, leaves: &mut Vec<OneRowLeaf>) -> bool {
    if row.null_count() > 0 {
        return false;
    }
    match row.data_type() {
        ArrowType::List(item) => {
            let items = row.as_list::<i32>().value(0);
            if items.is_empty() {
                let count = super::parquet_layout::leaves(item.data_type());
                leaves.extend(std::iter::repeat_with(|| OneRowLeaf(None)).take(count));
            }
            !is_in_list && (items.is_empty() || items.len() <= ITEMS_MAX && add_leaves(&items, true, leaves))
        }
        ArrowType::Struct(_) => row.as_struct().columns().iter().all(|column| add_leaves(column, is_in_list, leaves)),
        ArrowType::Dictionary(..) => {
            let Some(dictionary) = row.as_dictionary_opt::<UInt32Type>() else { return false };
            let values = arrow_select::take::take(dictionary.values(), dictionary.keys(), None);
            values.is_ok_and(|values| add_leaves(&values, is_in_list, leaves))
        }
        // Parquet has no dictionaries of booleans, and NaN has statistics of its own.
        ArrowType::Boolean => false,
        ArrowType::Float32 if row.as_primitive::<Float32Type>().values().iter().any(|value| value.is_nan()) => false,
        ArrowType::Float64 if row.as_primitive::<Float64Type>().values().iter().any(|value| value.is_nan()) => false,
        _ => {
            leaves.push(OneRowLeaf(Some(row.clone())));
            true
        }
    }
}

/// Writes a leaf of `rows` times one row.
///
/// # Errors
/// Those of the `parquet` crate.
pub(in crate::merge_tree) async fn append_one_row<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    leaf: &ColumnDescPtr,
    OneRowLeaf(values): &OneRowLeaf,
    rows: usize,
    pieces: &mut Pieces,
) -> Result<(), ParquetError> {
    let items = values.as_ref().map_or(0, |values| values.len());
    let entries = rows * items.max(1);
    let mut page = Vec::new();
    let mut put_levels = |levels: Vec<u8>| {
        page.extend_from_slice(&(levels.len() as u32).to_le_bytes());
        page.extend_from_slice(&levels);
    };
    if leaf.max_rep_level() > 0 {
        let mut levels = Vec::new();
        let level = |item: usize| u32::from(item > 0);
        put_pattern(&mut levels, rows, items.max(1), level, bits(leaf.max_rep_level() as u32));
        put_levels(levels);
    }
    if leaf.max_def_level() > 0 {
        let mut levels = Vec::new();
        let level = if values.is_some() { leaf.max_def_level() } else { 0 };
        put_run(&mut levels, entries, level as u32, bits(leaf.max_def_level() as u32));
        put_levels(levels);
    }
    let mut dictionary = None;
    let mut statistics = None;
    if let Some(values) = values {
        let mut plain = Vec::new();
        put_plain(values, &mut plain)?;
        if items == 1 && leaf.max_rep_level() == 0 {
            statistics = Some(bounds(values, &plain));
        }
        dictionary = Some((plain, items));
        let width = bits(items.saturating_sub(1) as u32).max(1);
        page.push(width as u8);
        put_pattern(&mut page, rows, items, |item| item as u32, width);
    }
    // A few bytes: nothing to compress.
    let mut chunk = ColumnChunk::new(leaf, PageCodec::None);
    if let Some((values, count)) = dictionary {
        chunk.set_dictionary(&values, count, pieces).await?;
    }
    chunk.add_page(&page, entries, pieces).await?;
    chunk.append(group, rows, statistics)
}

/// Writes a `LowCardinality(String)` by its keys, in pieces; whether it could.
///
/// # Errors
/// Those of the `parquet` crate.
pub(in crate::merge_tree) async fn append_dictionary<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    leaf: &ColumnDescPtr,
    array: &ArrayRef,
    codec: PageCodec,
    pieces: &mut Pieces,
) -> squall_types::Result<bool> {
    let Some(array) = array.as_dictionary_opt::<UInt32Type>() else { return Ok(false) };
    let Some(values) = array.values().as_binary_opt::<i32>() else { return Ok(false) };
    let is_simple = array.null_count() == 0 && values.null_count() == 0 && !array.is_empty();
    if !is_simple || leaf.max_def_level() > 0 || values.value_data().len() > DICTIONARY_BYTES_MAX {
        return Ok(false);
    }
    let keys = array.keys().values();
    let mut is_used = vec![false; values.len()];
    for key in keys {
        if let Some(is_used) = is_used.get_mut(*key as usize) {
            *is_used = true;
        }
    }
    let used = values.iter().zip(&is_used).filter_map(|(value, is_used)| value.filter(|_| *is_used));
    let (low, high) = (used.clone().min().unwrap_or_default(), used.max().unwrap_or_default());
    let statistics = byte_bounds(low, high);
    let mut dictionary = Vec::new();
    for value in values.iter() {
        put_bytes(value.unwrap_or_default(), &mut dictionary);
    }
    pieces.pause().await;
    let mut chunk = ColumnChunk::new(leaf, codec);
    chunk.set_dictionary(&dictionary, values.len(), pieces).await.map_err(parquet_bug)?;
    add_keys(&mut chunk, leaf, keys, values.len(), pieces).await?;
    chunk.append(group, array.len(), Some(statistics)).map_err(parquet_bug)?;
    Ok(true)
}

pub(in crate::merge_tree) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// The values of an array in Parquet's plain encoding.
///
/// # Errors
/// Where the array is of no type that a leaf has.
pub(in crate::merge_tree) fn put_plain(values: &ArrayRef, out: &mut Vec<u8>) -> Result<(), ParquetError> {
    // Numbers whose plain encoding is how they lie in memory, and those that are widened.
    macro_rules! same {
        ($type:ty) => {
            out.extend_from_slice(values.as_primitive::<$type>().values().inner().as_slice())
        };
    }
    macro_rules! widened {
        ($type:ty) => {{
            let (values, start) = (values.as_primitive::<$type>().values(), out.len());
            out.resize(start + 4 * values.len(), 0);
            for (to, value) in out.split_at_mut(start).1.as_chunks_mut::<4>().0.iter_mut().zip(values) {
                *to = i32::from(*value).to_le_bytes();
            }
        }};
    }
    match values.data_type() {
        ArrowType::Int8 => widened!(Int8Type),
        ArrowType::Int16 => widened!(Int16Type),
        ArrowType::Int32 => same!(Int32Type),
        ArrowType::Date32 => same!(Date32Type),
        ArrowType::UInt8 => widened!(UInt8Type),
        ArrowType::UInt16 => widened!(UInt16Type),
        ArrowType::UInt32 => same!(UInt32Type),
        ArrowType::UInt64 => same!(UInt64Type),
        ArrowType::Int64 => same!(Int64Type),
        ArrowType::Float32 => same!(Float32Type),
        ArrowType::Float64 => same!(Float64Type),
        ArrowType::Timestamp(TimeUnit::Millisecond, _) => same!(TimestampMillisecondType),
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => same!(TimestampMicrosecondType),
        ArrowType::Timestamp(TimeUnit::Nanosecond, _) => same!(TimestampNanosecondType),
        ArrowType::Binary => {
            values.as_binary::<i32>().iter().for_each(|value| put_bytes(value.unwrap_or_default(), out))
        }
        ArrowType::FixedSizeBinary(_) => {
            values.as_fixed_size_binary().iter().for_each(|value| out.extend_from_slice(value.unwrap_or_default()));
        }
        other => return Err(ParquetError::NYI(format!("a dictionary of {other}"))),
    }
    Ok(())
}

/// The statistics of a chunk whose values are all this one, and plain encoding is `plain`.
fn bounds(value: &ArrayRef, plain: &[u8]) -> Statistics {
    macro_rules! exact {
        ($value:expr) => {{
            let value = $value;
            ValueStatistics::new(Some(value.clone()), Some(value), None, Some(0), false)
        }};
    }
    let four = || plain.first_chunk().copied().unwrap_or_default();
    let eight = || plain.first_chunk().copied().unwrap_or_default();
    match value.data_type() {
        ArrowType::Binary => byte_bounds(value.as_binary::<i32>().value(0), value.as_binary::<i32>().value(0)),
        ArrowType::FixedSizeBinary(_) => {
            let bytes = FixedLenByteArray::from(ByteArray::from(plain.to_vec()));
            Statistics::FixedLenByteArray(exact!(bytes))
        }
        ArrowType::Float32 => Statistics::Float(exact!(f32::from_le_bytes(four())).with_nan_count(Some(0))),
        ArrowType::Float64 => Statistics::Double(exact!(f64::from_le_bytes(eight())).with_nan_count(Some(0))),
        _ if plain.len() == 4 => Statistics::Int32(exact!(i32::from_le_bytes(four()))),
        _ => Statistics::Int64(exact!(i64::from_le_bytes(eight()))),
    }
}

/// The statistics of strings between two; where these are long there is nothing to say of them.
fn byte_bounds(low: &[u8], high: &[u8]) -> Statistics {
    let known = |bytes: &[u8]| (bytes.len() <= BOUND_BYTES_MAX).then(|| ByteArray::from(bytes.to_vec()));
    Statistics::ByteArray(ValueStatistics::new(known(low), known(high), None, Some(0), false))
}
