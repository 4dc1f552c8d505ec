//! Column chunks of strings: keys of a dictionary where they come with one; else the strings with their lengths.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray};
use parquet::schema::types::ColumnDescPtr;
use squall_runtime::Pieces;
use squall_types::Result;

use super::column_chunk::ColumnChunk;
use super::dictionary_chunk::put_bytes;
use super::value_chunk::{PAGE_BYTES, add_keys, put_levels};
use crate::merge_tree::parts::part_encoder::parquet_bug;

/// Strings of a dictionary that are written before others may run.
const BATCH_VALUES: usize = 4096;

/// Adds the pages of strings; returns the smallest and the largest.
///
/// # Errors
/// Those of the compressor.
pub(in crate::merge_tree) async fn append_strings(
    chunk: &mut ColumnChunk<'_>,
    description: &ColumnDescPtr,
    strings: &BinaryArray,
    pieces: &mut Pieces,
) -> Result<ArrayRef> {
    let mut extremes = Extremes::of(strings.value(0));
    let mut page = Vec::new();
    let mut first = 0;
    while first < strings.len() {
        let end = page_end(strings.value_offsets(), first);
        page.clear();
        put_levels(&mut page, description, end - first);
        for string in (first..end).map(|row| strings.value(row)) {
            put_bytes(string, &mut page);
            extremes.add(string);
        }
        chunk.add_page(&page, end - first, pieces).await.map_err(parquet_bug)?;
        pieces.pause().await;
        first = end;
    }
    Ok(extremes.into_array())
}

/// Adds the pages of strings that are there as the different ones, each of which some row has, and each row's place among them; returns the
/// smallest and the largest.
///
/// # Errors
/// Those of the compressor.
pub(in crate::merge_tree) async fn append_coded(
    chunk: &mut ColumnChunk<'_>,
    description: &ColumnDescPtr,
    (distinct, keys): (&BinaryArray, &[u32]),
    pieces: &mut Pieces,
) -> Result<ArrayRef> {
    let mut extremes = Extremes::of(distinct.value(0));
    let mut plain = Vec::with_capacity(distinct.value_data().len() + size_of::<u32>() * distinct.len());
    for first in (0..distinct.len()).step_by(BATCH_VALUES) {
        for string in (first..distinct.len().min(first + BATCH_VALUES)).map(|key| distinct.value(key)) {
            put_bytes(string, &mut plain);
            extremes.add(string);
        }
        pieces.pause().await;
    }
    chunk.set_dictionary(&plain, distinct.len(), pieces).await.map_err(parquet_bug)?;
    add_keys(chunk, description, keys, distinct.len(), pieces).await?;
    Ok(extremes.into_array())
}

/// The row after those of a page that begins at `first`.
fn page_end(offsets: &[i32], first: usize) -> usize {
    let rows = offsets.get(first..).unwrap_or_default();
    let bytes = |row: usize, offset: i32| (offset - rows.first().copied().unwrap_or(0)) as usize + 4 * row;
    let (mut low, mut high) = (1, rows.len());
    while low < high {
        let middle = low.midpoint(high);
        match rows.get(middle) {
            Some(offset) if bytes(middle, *offset) <= PAGE_BYTES => low = middle + 1,
            _ => high = middle,
        }
    }
    // The first offset beyond ends a row too many, but one row there always is.
    first + (low - 1).max(1)
}

/// The smallest and the largest of strings, and their first bytes as numbers of the same order: most strings are told apart by these.
struct Extremes<'a> {
    low: (u64, &'a [u8]),
    high: (u64, &'a [u8]),
}

impl<'a> Extremes<'a> {
    fn of(string: &'a [u8]) -> Self {
        Self { low: (head(string), string), high: (head(string), string) }
    }

    fn add(&mut self, string: &'a [u8]) {
        let head = head(string);
        if head > self.low.0 && head < self.high.0 {
            return;
        }
        self.low = self.low.min((head, string));
        self.high = self.high.max((head, string));
    }

    fn into_array(self) -> ArrayRef {
        Arc::new(BinaryArray::from_vec(vec![self.low.1, self.high.1]))
    }
}

/// The first eight bytes, filled up with zeros.
fn head(string: &[u8]) -> u64 {
    match string.first_chunk() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => string.iter().fold((0, 56), |(head, shift), byte| (head | u64::from(*byte) << shift, shift - 8)).0,
    }
}
