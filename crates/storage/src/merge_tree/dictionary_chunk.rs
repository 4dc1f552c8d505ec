//! Column chunks that need not look at each value: one row that stands for all rows, and `LowCardinality` columns, whose keys are there
//! already. Such a chunk is a dictionary page and runs of keys. All other chunks are encoded by the `parquet` crate.

use std::io::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType as ArrowType, TimeUnit};
use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriteSpec, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::part_writer::BOUND_BYTES_MAX;

/// Larger dictionaries are the `parquet` crate's to judge.
const DICTIONARY_BYTES_MAX: usize = 1 << 20;
/// A run of so many equal keys is written as one.
const RUN_MIN: usize = 16;

/// More items of a list are not written by their pattern.
const ITEMS_MAX: usize = 64;

/// One leaf of a row that stands for all rows: its value, or a list's items; `None` where the list is empty.
pub(super) struct OneRowLeaf(Option<ArrayRef>);

/// The one row that all rows of an array are like, if they are seen to be so at a glance.
pub(super) fn one_row(array: &ArrayRef) -> Option<ArrayRef> {
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
pub(super) fn leaves_of(row: &ArrayRef) -> Option<Vec<OneRowLeaf>> {
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
pub(super) fn append_one_row<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    leaf: &ColumnDescPtr,
    OneRowLeaf(values): &OneRowLeaf,
    rows: usize,
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
    Chunk { leaf, dictionary, page, rows, entries, statistics }.append(group, Compression::UNCOMPRESSED)
}

/// Writes a `LowCardinality(String)` by its keys; whether it could.
///
/// # Errors
/// Those of the `parquet` crate.
pub(super) fn append_dictionary<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    leaf: &ColumnDescPtr,
    array: &ArrayRef,
    compression: Compression,
) -> Result<bool, ParquetError> {
    let Some(array) = array.as_dictionary_opt::<UInt32Type>() else { return Ok(false) };
    let Some(values) = array.values().as_binary_opt::<i32>() else { return Ok(false) };
    let is_simple = array.null_count() == 0 && values.null_count() == 0 && !array.is_empty();
    if !is_simple || leaf.max_def_level() > 0 || values.value_data().len() > DICTIONARY_BYTES_MAX {
        return Ok(false);
    }
    if !matches!(compression, Compression::UNCOMPRESSED | Compression::LZ4_RAW) {
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
    let width = bits((values.len() as u32).saturating_sub(1)).max(1);
    let mut page = vec![width as u8];
    put_keys(&mut page, keys, width);
    let dictionary = Some((dictionary, values.len()));
    let rows = array.len();
    Chunk { leaf, dictionary, page, rows, entries: rows, statistics: Some(statistics) }.append(group, compression)?;
    Ok(true)
}

/// A chunk's pages before compression.
struct Chunk<'a> {
    leaf: &'a ColumnDescPtr,
    /// The dictionary page and the number of its values.
    dictionary: Option<(Vec<u8>, usize)>,
    /// The data page.
    page: Vec<u8>,
    rows: usize,
    /// Values, and lists without any.
    entries: usize,
    statistics: Option<Statistics>,
}

impl Chunk<'_> {
    fn append<W: Write + Send>(
        self,
        group: &mut SerializedRowGroupWriter<'_, W>,
        compression: Compression,
    ) -> Result<(), ParquetError> {
        let compressed = |bytes: Vec<u8>| match compression {
            Compression::LZ4_RAW => lz4_flex::block::compress(&bytes),
            _ => bytes,
        };
        let mut sink = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut sink);
        let mut uncompressed = 0;
        let mut put = |page, bytes: usize| -> Result<PageWriteSpec, ParquetError> {
            let written = pages.write_page(CompressedPage::new(page, bytes))?;
            uncompressed += written.uncompressed_size;
            Ok(written)
        };
        let mut dictionary_at = None;
        let mut encodings = vec![Encoding::RLE, Encoding::PLAIN];
        let mut encoding = Encoding::PLAIN;
        if let Some((bytes, values)) = self.dictionary {
            let size = bytes.len();
            let buf = Bytes::from(compressed(bytes));
            let page =
                Page::DictionaryPage { buf, num_values: values as u32, encoding: Encoding::PLAIN, is_sorted: false };
            dictionary_at = Some(put(page, size)?.offset as i64);
            encoding = Encoding::RLE_DICTIONARY;
            encodings.push(encoding);
        }
        let size = self.page.len();
        let page = Page::DataPage {
            buf: Bytes::from(compressed(self.page)),
            num_values: self.entries as u32,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let data_at = put(page, size)?.offset as i64;
        let bytes = Bytes::from(sink.into_inner()?);
        let mut metadata = ColumnChunkMetaData::builder(self.leaf.clone())
            .set_compression(compression)
            .set_encodings(encodings)
            .set_num_values(self.entries as i64)
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(uncompressed as i64)
            .set_dictionary_page_offset(dictionary_at)
            .set_data_page_offset(data_at);
        if let Some(statistics) = self.statistics {
            metadata = metadata.set_statistics(statistics);
        }
        let close = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: self.rows as u64,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        group.append_column(&bytes, close)
    }
}

/// Bits that a number takes.
fn bits(number: u32) -> u32 {
    u32::BITS - number.leading_zeros()
}

fn put_varint(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A run of Parquet's RLE/bit-packing hybrid.
fn put_run(out: &mut Vec<u8>, count: usize, key: u32, width: u32) {
    put_varint(out, count << 1);
    out.extend_from_slice(key.to_le_bytes().get(..width.div_ceil(8) as usize).unwrap_or_default());
}

/// `count` keys of so many bits each; the last group of eight is filled up with zeros.
fn put_packed(out: &mut Vec<u8>, count: usize, keys: impl Iterator<Item = u32>, width: u32) {
    if count == 0 {
        return;
    }
    let groups = count.div_ceil(8);
    put_varint(out, groups << 1 | 1);
    let (mut buffer, mut filled) = (0_u64, 0);
    for key in keys.chain(std::iter::repeat(0)).take(groups * 8) {
        buffer |= u64::from(key) << filled;
        filled += width;
        while filled >= 8 {
            out.push(buffer as u8);
            buffer >>= 8;
            filled -= 8;
        }
    }
}

/// `rows` times the same `items` keys.
fn put_pattern(out: &mut Vec<u8>, rows: usize, items: usize, key: impl Fn(usize) -> u32, width: u32) {
    match items {
        1 => put_run(out, rows, key(0), width),
        _ => put_packed(out, rows * items, (0..rows).flat_map(|_| 0..items).map(key), width),
    }
}

/// Keys as runs where they repeat, packed where they do not.
fn put_keys(out: &mut Vec<u8>, keys: &[u32], width: u32) {
    let mut rest = keys;
    // Keys before `rest` that are not written yet.
    let mut pending: &[u32] = &[];
    while let Some(key) = rest.first() {
        let run = rest.iter().take_while(|other| *other == key).count();
        // Packed keys come in whole groups of eight: what they lack is taken from the run.
        let lacking = pending.len().next_multiple_of(8) - pending.len();
        let from = keys.len() - rest.len() - pending.len();
        let taken = if run >= lacking + RUN_MIN { lacking } else { run };
        let (_, after) = rest.split_at_checked(run).unwrap_or_default();
        pending = keys.get(from..from + pending.len() + taken).unwrap_or_default();
        if taken < run {
            put_packed(out, pending.len(), pending.iter().copied(), width);
            put_run(out, run - taken, *key, width);
            pending = &[];
        }
        rest = after;
    }
    put_packed(out, pending.len(), pending.iter().copied(), width);
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// The values of an array in Parquet's plain encoding.
fn put_plain(values: &ArrayRef, out: &mut Vec<u8>) -> Result<(), ParquetError> {
    macro_rules! put {
        ($type:ty, $number:ty) => {
            values
                .as_primitive::<$type>()
                .values()
                .iter()
                .for_each(|value| out.extend(<$number>::from(*value).to_le_bytes()))
        };
    }
    match values.data_type() {
        ArrowType::Int8 => put!(Int8Type, i32),
        ArrowType::Int16 => put!(Int16Type, i32),
        ArrowType::Int32 => put!(Int32Type, i32),
        ArrowType::Date32 => put!(Date32Type, i32),
        ArrowType::UInt8 => put!(UInt8Type, i32),
        ArrowType::UInt16 => put!(UInt16Type, i32),
        ArrowType::UInt32 => put!(UInt32Type, u32),
        ArrowType::UInt64 => put!(UInt64Type, u64),
        ArrowType::Int64 => put!(Int64Type, i64),
        ArrowType::Float32 => put!(Float32Type, f32),
        ArrowType::Float64 => put!(Float64Type, f64),
        ArrowType::Timestamp(TimeUnit::Millisecond, _) => put!(TimestampMillisecondType, i64),
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => put!(TimestampMicrosecondType, i64),
        ArrowType::Timestamp(TimeUnit::Nanosecond, _) => put!(TimestampNanosecondType, i64),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the hybrid back.
    fn unpack(mut bytes: &[u8], width: u32, count: usize) -> Vec<u32> {
        let mut keys = Vec::new();
        while keys.len() < count {
            let (mut header, mut shift) = (0_usize, 0);
            loop {
                let byte = bytes[0];
                bytes = &bytes[1..];
                header |= usize::from(byte & 0x7F) << shift;
                shift += 7;
                if byte < 0x80 {
                    break;
                }
            }
            if header & 1 == 0 {
                let size = width.div_ceil(8) as usize;
                let mut key = [0; 4];
                key[..size].copy_from_slice(&bytes[..size]);
                bytes = &bytes[size..];
                keys.extend(std::iter::repeat_n(u32::from_le_bytes(key), header >> 1));
            } else {
                let size = (header >> 1) * width as usize;
                for at in 0..(header >> 1) * 8 {
                    let bit = |bit: usize| u32::from(bytes[bit / 8] >> (bit % 8) & 1);
                    keys.push((0..width as usize).map(|low| bit(at * width as usize + low) << low).sum());
                }
                bytes = &bytes[size..];
            }
        }
        assert!(bytes.is_empty() && keys.iter().skip(count).all(|key| *key == 0));
        keys.truncate(count);
        keys
    }

    #[test]
    fn keys_become_runs_and_groups_of_eight() {
        let run = |key, count| std::iter::repeat_n(key, count);
        let cases: [Vec<u32>; 6] = [
            vec![0],
            run(1, 1000).collect(),
            (0..5).collect(),
            (0..100).map(|at| at % 7).collect(),
            (0..5).chain(run(6, 300)).chain([1, 2]).chain(run(3, 17)).chain(0..7).collect(),
            run(2, 16).chain(run(3, 15)).chain(run(4, 23)).chain(run(0, 24)).collect(),
        ];
        for keys in cases {
            for width in [3, 7, 9, 20] {
                let mut bytes = Vec::new();
                put_keys(&mut bytes, &keys, width);
                assert_eq!(unpack(&bytes, width, keys.len()), keys, "{width} bits");
            }
        }
        let mut bytes = Vec::new();
        put_keys(&mut bytes, &vec![1; 1 << 20], 1);
        assert_eq!(bytes.len(), 5);
    }
}
