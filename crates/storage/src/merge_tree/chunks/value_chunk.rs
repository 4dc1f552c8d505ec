//! Column chunks of values that are looked at one by one, and here those of numbers: keys of a dictionary where there are few of them, else the
//! numbers as they are. The `parquet` crate would widen and compress every number; what it is left with is nested and NULL values, booleans and
//! NaN. Strings of any length are `string_chunk`'s.

use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, UInt32Array};
use arrow_schema::{DataType as ArrowType, Field};
use parquet::arrow::arrow_writer::{ArrowColumnWriter, compute_leaves};
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::statistics::Statistics;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::ColumnDescPtr;
use squall_runtime::Pieces;
use squall_types::{Column, Result};

use super::column_chunk::ColumnChunk;
use super::deltas::put_deltas;
use super::dictionary_chunk::put_plain;
use super::key_runs::{bits, put_keys, put_run};
use super::packing::PageCodec;
use super::string_chunk::{append_coded, append_strings};
use crate::merge_tree::parts::part_encoder::parquet_bug;

/// Bytes of a page of plain values before compression, which takes about a millisecond.
pub(in crate::merge_tree) const PAGE_BYTES: usize = 512 << 10;
/// Keys of a page: less than a millisecond.
const PAGE_KEYS: usize = 128 << 10;
/// Numbers whose smallest and largest are farther apart are not looked up in an array.
const SPREAD_MAX: u64 = 1 << 16;
/// Rows for each number of a dictionary, at least.
const ROWS_PER_NUMBER: usize = 4;

/// A leaf column that is the whole column, and how its values go to the file.
pub(in crate::merge_tree) struct Leaf<'a, F> {
    pub(in crate::merge_tree) description: &'a ColumnDescPtr,
    pub(in crate::merge_tree) field: &'a Field,
    /// Values in memory as they are written.
    pub(in crate::merge_tree) to_file: F,
    pub(in crate::merge_tree) codec: PageCodec,
    /// Whether the column's CODEC asks for that.
    pub(in crate::merge_tree) is_asked_for: bool,
}

/// Writes values as they lie in memory; gives the encoder back where it must do that.
///
/// # Errors
/// Those of the `parquet` crate and of conversions.
pub(in crate::merge_tree) async fn append_values<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    leaf: &Leaf<'_, impl Fn(&ArrayRef) -> Result<ArrayRef>>,
    encoder: ArrowColumnWriter,
    values: &Column,
    pieces: &mut Pieces,
) -> Result<Option<ArrowColumnWriter>> {
    let description = leaf.description;
    let is_simple = description.max_rep_level() == 0
        && description.max_def_level() <= 1
        && description.physical_type() != PhysicalType::BOOLEAN
        && values.nulls().is_none()
        && values.rows() > 0;
    if !is_simple {
        return Ok(Some(encoder));
    }
    let mut chunk = ColumnChunk::new(description, leaf.codec);
    let extremes = if let Some(coded) = values.coded() {
        let dictionary = (coded.values().as_binary::<i32>(), &coded.codes().values()[..]);
        Some(append_coded(&mut chunk, description, dictionary, pieces).await?)
    } else {
        let array = values.to_array()?;
        match array.as_binary_opt::<i32>() {
            Some(strings) => Some(append_strings(&mut chunk, description, strings, pieces).await?),
            None => append_numbers(&mut chunk, leaf, &array, pieces).await?,
        }
    };
    let Some(extremes) = extremes else { return Ok(Some(encoder)) };
    let statistics = statistics(encoder, leaf.field, &(leaf.to_file)(&extremes)?)?;
    chunk.append(group, values.rows(), statistics).map_err(parquet_bug)?;
    Ok(None)
}

/// What the `parquet` crate says of a column whose smallest and largest values these are: it knows orders, and how to cut long strings.
fn statistics(mut encoder: ArrowColumnWriter, field: &Field, extremes: &ArrayRef) -> Result<Option<Statistics>> {
    for leaf in &compute_leaves(field, extremes).map_err(parquet_bug)? {
        encoder.write(leaf).map_err(parquet_bug)?;
    }
    let chunk = encoder.close().map_err(parquet_bug)?;
    Ok(chunk.close().metadata.statistics().cloned())
}

/// The levels before a page's values: all of them are there.
pub(in crate::merge_tree) fn put_levels(page: &mut Vec<u8>, description: &ColumnDescPtr, rows: usize) {
    if description.max_def_level() > 0 {
        let start = page.len();
        page.extend_from_slice(&[0; 4]);
        put_run(page, rows, 1, 1);
        let length = (page.len() - start - 4) as u32;
        if let Some(place) = page.get_mut(start..start + 4) {
            place.copy_from_slice(&length.to_le_bytes());
        }
    }
}

/// Adds pages of keys of a dictionary of so many values.
///
/// # Errors
/// Those of the compressor.
pub(in crate::merge_tree) async fn add_keys<K: Copy + PartialEq + Into<u32>>(
    chunk: &mut ColumnChunk<'_>,
    description: &ColumnDescPtr,
    keys: &[K],
    values: usize,
    pieces: &mut Pieces,
) -> Result<()> {
    let width = bits(values.saturating_sub(1) as u32).max(1);
    let mut page = Vec::new();
    for keys in keys.chunks(PAGE_KEYS) {
        page.clear();
        put_levels(&mut page, description, keys.len());
        page.push(width as u8);
        put_keys(&mut page, keys, width);
        chunk.add_page(&page, keys.len(), pieces).await.map_err(parquet_bug)?;
        pieces.pause().await;
    }
    Ok(())
}

/// Adds the pages of numbers or of strings of one length; returns the smallest and largest, or `None` where the values are of another kind.
async fn append_numbers(
    chunk: &mut ColumnChunk<'_>,
    leaf: &Leaf<'_, impl Fn(&ArrayRef) -> Result<ArrayRef>>,
    values: &ArrayRef,
    pieces: &mut Pieces,
) -> Result<Option<ArrayRef>> {
    macro_rules! integers {
        ($type:ty) => {{
            let numbers = values.as_primitive::<$type>().values();
            let Some((low, high)) = extremes(numbers.iter().copied()) else { return Ok(None) };
            pieces.pause().await;
            if let Some(Dictionary { numbers, keys }) = dictionary(numbers, low, high, pieces).await {
                let mut plain = Vec::new();
                let count = numbers.len();
                put_plain(&(leaf.to_file)(&array::<$type>(numbers))?, &mut plain).map_err(parquet_bug)?;
                chunk.set_dictionary(&plain, count, pieces).await.map_err(parquet_bug)?;
                add_keys(chunk, leaf.description, &keys, count, pieces).await?;
                return Ok(Some(array::<$type>(vec![low, high])));
            }
            array::<$type>(vec![low, high])
        }};
    }
    macro_rules! floats {
        ($type:ty) => {{
            let numbers = values.as_primitive::<$type>().values();
            // NaN is counted, and zeros have two signs: the `parquet` crate knows what to say of them.
            if numbers.iter().fold(false, |found, number| found | number.is_nan() | (*number == 0.0)) {
                return Ok(None);
            }
            let Some((low, high)) = extremes(numbers.iter().copied()) else { return Ok(None) };
            array::<$type>(vec![low, high])
        }};
    }
    let extremes = match values.data_type() {
        ArrowType::Int8 => integers!(Int8Type),
        ArrowType::Int16 => integers!(Int16Type),
        ArrowType::Int32 => integers!(Int32Type),
        ArrowType::Int64 => integers!(Int64Type),
        ArrowType::UInt8 => integers!(UInt8Type),
        ArrowType::UInt16 => integers!(UInt16Type),
        ArrowType::UInt32 => integers!(UInt32Type),
        ArrowType::UInt64 => integers!(UInt64Type),
        ArrowType::Float32 => floats!(Float32Type),
        ArrowType::Float64 => floats!(Float64Type),
        ArrowType::FixedSizeBinary(_) => {
            let strings = values.as_fixed_size_binary();
            let rows = extremes((0..strings.len() as u32).map(|row| ByValue(strings.value(row as usize), row)));
            let Some((low, high)) = rows else { return Ok(None) };
            arrow_select::take::take(values, &UInt32Array::from(vec![low.1, high.1]), None)?
        }
        _ => return Ok(None),
    };
    let width = match values.data_type() {
        ArrowType::FixedSizeBinary(width) => *width as usize,
        other => other.primitive_width().unwrap_or(8),
    };
    let page_rows = (PAGE_BYTES / width.max(4)).max(1);
    let mut bounds = Vec::new();
    put_plain(&(leaf.to_file)(&extremes)?, &mut bounds).map_err(parquet_bug)?;
    let mut pages = Pages::new(leaf.description.physical_type(), &bounds);
    pages.may_be_deltas &= chunk.is_compressed() && !leaf.is_asked_for;
    for first in (0..values.len()).step_by(page_rows) {
        let rows = page_rows.min(values.len() - first);
        pages.plain.clear();
        put_levels(&mut pages.plain, leaf.description, rows);
        let levels = pages.plain.len();
        put_plain(&(leaf.to_file)(&values.slice(first, rows))?, &mut pages.plain).map_err(parquet_bug)?;
        if first == 0 {
            // The first page tells for all.
            pages.choose_form(chunk, levels, pieces).await.map_err(parquet_bug)?;
        }
        chunk.add_page(pages.in_form(levels), rows, pieces).await.map_err(parquet_bug)?;
        pieces.pause().await;
    }
    Ok(Some(extremes))
}

/// How the numbers of a chunk are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As they are.
    Plain,
    /// The first bytes of all of them before their second ones and so on. DuckDB 1.5 reads only floats so.
    SplitBytes,
    /// As differences, which are not compressed.
    Deltas,
}

/// The page that is being made, in the forms that its chunk may have.
struct Pages {
    physical: PhysicalType,
    /// Whether all differences are numbers of the same type, and nobody asked for another form.
    may_be_deltas: bool,
    form: Form,
    /// Levels, and the numbers as they are.
    plain: Vec<u8>,
    /// The same in another form.
    other: Vec<u8>,
    numbers: Vec<i64>,
}

impl Pages {
    /// Pages of numbers of a type, `bounds` being the smallest and the largest as they are written.
    fn new(physical: PhysicalType, bounds: &[u8]) -> Self {
        let mut numbers = Vec::new();
        read_integers(physical, bounds, &mut numbers);
        let largest = if physical == PhysicalType::INT32 { i64::from(i32::MAX) } else { i64::MAX };
        let may_be_deltas = match numbers[..] {
            // Unsigned ones that are written as negative ones do not ascend.
            [low, high] => high.checked_sub(low).is_some_and(|spread| (0..=largest).contains(&spread)),
            _ => false,
        };
        Self { physical, may_be_deltas, form: Form::Plain, plain: Vec::new(), other: Vec::new(), numbers }
    }

    /// Chooses the form in which the first page takes least, if that is worth it.
    async fn choose_form(
        &mut self,
        chunk: &mut ColumnChunk<'_>,
        levels: usize,
        pieces: &mut Pieces,
    ) -> std::result::Result<(), ParquetError> {
        /// Putting bytes together costs a reader something; differences cost less than to decompress.
        const SPLIT_GAIN_PERCENT_MIN: usize = 15;
        const DELTAS_GAIN_PERCENT_MIN: usize = 5;
        let plain_bytes = chunk.compressed_bytes(&self.plain, pieces).await?;
        let is_worth_it = |bytes: usize, percent: usize| bytes * 100 < plain_bytes * (100 - percent);
        if matches!(self.physical, PhysicalType::FLOAT | PhysicalType::DOUBLE) {
            self.form = Form::SplitBytes;
            let bytes = chunk.compressed_bytes(self.in_form(levels), pieces).await?;
            if is_worth_it(bytes, SPLIT_GAIN_PERCENT_MIN) {
                chunk.set_encoding(Encoding::BYTE_STREAM_SPLIT);
                return Ok(());
            }
        } else if self.may_be_deltas {
            self.form = Form::Deltas;
            let bytes = self.in_form(levels).len();
            if is_worth_it(bytes, DELTAS_GAIN_PERCENT_MIN) {
                chunk.set_encoding(Encoding::DELTA_BINARY_PACKED);
                chunk.leave_uncompressed();
                return Ok(());
            }
        }
        self.form = Form::Plain;
        Ok(())
    }

    /// The page, whose first bytes are levels, in the chunk's form.
    fn in_form(&mut self, levels: usize) -> &[u8] {
        let (levels, numbers) = self.plain.split_at(levels.min(self.plain.len()));
        self.other.clear();
        self.other.extend_from_slice(levels);
        match self.form {
            Form::Plain => return &self.plain,
            Form::SplitBytes if self.physical == PhysicalType::FLOAT => split_bytes::<4>(numbers, &mut self.other),
            Form::SplitBytes => split_bytes::<8>(numbers, &mut self.other),
            Form::Deltas => {
                self.numbers.clear();
                read_integers(self.physical, numbers, &mut self.numbers);
                put_deltas(&mut self.other, &self.numbers);
            }
        }
        &self.other
    }
}

/// Appends the first bytes of all numbers before their second ones and so on.
fn split_bytes<const WIDTH: usize>(numbers: &[u8], split: &mut Vec<u8>) {
    let (numbers, _) = numbers.as_chunks::<WIDTH>();
    for at in 0..WIDTH {
        split.extend(numbers.iter().map(|number| number[at]));
    }
}

/// Appends integers as they are written; nothing of other types.
fn read_integers(physical: PhysicalType, plain: &[u8], numbers: &mut Vec<i64>) {
    match physical {
        PhysicalType::INT32 => {
            numbers.extend(plain.as_chunks::<4>().0.iter().map(|number| i64::from(i32::from_le_bytes(*number))));
        }
        PhysicalType::INT64 => {
            numbers.extend(plain.as_chunks::<8>().0.iter().map(|number| i64::from_le_bytes(*number)));
        }
        _ => {}
    }
}

fn array<T: ArrowPrimitiveType>(numbers: Vec<T::Native>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(numbers.into(), None))
}

/// Bytes of a row, which compare without it.
#[derive(Clone, Copy)]
struct ByValue<'a>(&'a [u8], u32);

impl PartialEq for ByValue<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl PartialOrd for ByValue<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.0.cmp(other.0))
    }
}

/// The smallest and the largest of values that all compare.
pub(in crate::merge_tree) fn extremes<V: Copy + PartialOrd>(mut values: impl Iterator<Item = V>) -> Option<(V, V)> {
    let first = values.next()?;
    Some(values.fold((first, first), |(low, high), value| {
        (if value < low { value } else { low }, if value > high { value } else { high })
    }))
}

/// An integer that can be told how far it is from another.
trait Integer: Copy + Send + Sync {
    fn above(self, low: Self) -> u64;
}

macro_rules! integer {
    ($($type:ty),*) => {
        $(impl Integer for $type {
            fn above(self, low: Self) -> u64 {
                (self as i64).wrapping_sub(low as i64) as u64
            }
        })*
    };
}

integer!(i8, i16, i32, i64, u8, u16, u32, u64);

/// The numbers of a column, in order, and each row's place among them.
struct Dictionary<N> {
    numbers: Vec<N>,
    keys: Vec<u16>,
}

/// The dictionary of numbers between two, where these are close to each other and the numbers are few.
async fn dictionary<N: Integer>(values: &[N], low: N, high: N, pieces: &mut Pieces) -> Option<Dictionary<N>> {
    let spread = high.above(low);
    // The array must not cost more than the rows.
    if spread >= SPREAD_MAX.min(ROWS_PER_NUMBER as u64 * values.len() as u64) {
        return None;
    }
    // A row that has the number, from 1 on; then the number's place.
    let mut places = vec![0_u32; spread as usize + 1];
    for (values, first) in values.chunks(PAGE_KEYS).zip((1..).step_by(PAGE_KEYS)) {
        note_rows(values, first, low, &mut places);
        pieces.pause().await;
    }
    let count = places.iter().filter(|place| **place > 0).count();
    if count * ROWS_PER_NUMBER > values.len() {
        return None;
    }
    let mut numbers = Vec::with_capacity(count);
    for place in places.iter_mut().filter(|place| **place > 0) {
        let at = numbers.len() as u32;
        numbers.extend(values.get(*place as usize - 1));
        *place = at;
    }
    let mut keys = Vec::with_capacity(values.len());
    for values in values.chunks(PAGE_KEYS) {
        add_places(values, low, &places, &mut keys);
        pieces.pause().await;
    }
    Some(Dictionary { numbers, keys })
}

// The loops are functions of their own: inside a future their variables would lie in memory.

/// Notes of each number a row that has it.
#[inline(never)]
fn note_rows<N: Integer>(values: &[N], first: u32, low: N, places: &mut [u32]) {
    for (value, row) in values.iter().zip(first..) {
        if let Some(place) = places.get_mut(value.above(low) as usize) {
            *place = row;
        }
    }
}

/// Adds the place of each number.
#[inline(never)]
fn add_places<N: Integer>(values: &[N], low: N, places: &[u32], keys: &mut Vec<u16>) {
    let key = |value: &N| places.get(value.above(low) as usize).map_or(0, |place| *place as u16);
    keys.extend(values.iter().map(key));
}
