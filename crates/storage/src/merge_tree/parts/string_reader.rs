//! Reads strings that lie in the file as they are: each after its length, page after page.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::BinaryArray;
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;

use super::chunk_bytes::ChunkBytes;

/// So many bytes are copied at once, of shorter strings too: that needs no loop.
const WORD: usize = 16;

/// Strings of some rows of a chunk.
pub(in crate::merge_tree) struct StringReader {
    pages: SerializedPageReader<ChunkBytes>,
    page: Strings,
    /// The row that comes next in the chunk.
    row: usize,
    /// What is still wanted.
    wanted: VecDeque<Range<usize>>,
    batch_rows: usize,
}

impl StringReader {
    /// A reader of the rows `wanted`, in ascending ranges, of the `rows` that the chunk has.
    ///
    /// # Errors
    /// Those of the `parquet` crate.
    pub(super) fn new(
        bytes: ChunkBytes,
        chunk: &ColumnChunkMetaData,
        wanted: Vec<Range<usize>>,
        rows: usize,
        batch_rows: usize,
    ) -> Result<Self, ParquetError> {
        let pages = SerializedPageReader::new(Arc::new(bytes), chunk, rows, None)?;
        let wanted = wanted.into_iter().filter(|range| !range.is_empty()).collect();
        Ok(Self { pages, page: Strings::default(), row: 0, wanted, batch_rows: batch_rows.max(1) })
    }

    /// Goes to the next page, or past it where none of its rows is wanted: the first so many are not.
    fn turn_page(&mut self, skipped: usize) -> Result<(), ParquetError> {
        let next = self.pages.peek_next_page()?.ok_or_else(|| corrupted("a chunk has too few rows"))?;
        let rows = next.num_rows.or(next.num_levels).unwrap_or(0);
        if next.is_dict || rows <= skipped {
            self.pages.skip_next_page()?;
            self.row += if next.is_dict { 0 } else { rows };
            return Ok(());
        }
        match self.pages.get_next_page()? {
            Some(Page::DataPage { buf, num_values, encoding: Encoding::PLAIN, .. }) => {
                self.page = Strings::new(buf, num_values as usize);
                Ok(())
            }
            _ => Err(corrupted("a page of strings is encoded in a way that its chunk does not name")),
        }
    }

    fn batch(&mut self) -> Result<Option<BinaryArray>, ParquetError> {
        let rows = self.wanted.iter().map(ExactSizeIterator::len).sum::<usize>().min(self.batch_rows);
        if rows == 0 {
            return Ok(None);
        }
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        let mut values = Vec::new();
        while offsets.len() <= rows {
            let Some(next) = self.wanted.front_mut() else { break };
            let skipped = next.start - self.row;
            if self.page.left == 0 {
                self.turn_page(skipped)?;
                continue;
            }
            if skipped > 0 {
                self.row += self.page.skip(skipped)?;
                continue;
            }
            let wanted = rows + 1 - offsets.len();
            if values.capacity() == 0 {
                // The other pages are likely to have strings of the same length.
                values.reserve(self.page.bytes_of(wanted + wanted / 16) + WORD);
            }
            let taken = self.page.take(next.len().min(wanted), &mut values, &mut offsets)?;
            next.start += taken;
            self.row += taken;
            if next.start == next.end {
                self.wanted.pop_front();
            }
        }
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        Ok(Some(BinaryArray::try_new(offsets, Buffer::from_vec(values), None)?))
    }
}

impl Iterator for StringReader {
    type Item = Result<BinaryArray, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batch().transpose()
    }
}

/// What is left of a page of strings.
#[derive(Default)]
pub(super) struct Strings {
    bytes: Bytes,
    /// Where the next string's length is.
    at: usize,
    /// Strings from there on.
    left: usize,
}

impl Strings {
    /// A page of so many strings.
    pub(super) fn new(bytes: Bytes, strings: usize) -> Self {
        Self { bytes, at: 0, left: strings }
    }

    /// Goes past so many strings, or to the end; past how many.
    fn skip(&mut self, strings: usize) -> Result<usize, ParquetError> {
        let strings = strings.min(self.left);
        let mut rest = self.bytes.get(self.at..).unwrap_or_default();
        for _ in 0..strings {
            (_, rest) = split(rest).ok_or_else(too_short)?;
        }
        self.at = self.bytes.len() - rest.len();
        self.left -= strings;
        Ok(strings)
    }

    /// The bytes of so many strings that are like those that are left.
    fn bytes_of(&self, strings: usize) -> usize {
        let bytes = (self.bytes.len() - self.at).saturating_sub(4 * self.left);
        bytes.saturating_mul(strings) / self.left.max(1)
    }

    /// Appends so many strings and the ends of each, or all that are left; how many.
    pub(super) fn take(
        &mut self,
        strings: usize,
        values: &mut Vec<u8>,
        offsets: &mut Vec<i32>,
    ) -> Result<usize, ParquetError> {
        let strings = strings.min(self.left);
        let mut rest = self.bytes.get(self.at..).unwrap_or_default();
        for _ in 0..strings {
            let (string, after) = split(rest).ok_or_else(too_short)?;
            if !string.is_empty() {
                let end = values.len() + string.len();
                let word = rest.get(4..).and_then(|bytes| bytes.first_chunk::<WORD>());
                match word.filter(|_| string.len() <= WORD) {
                    Some(word) => {
                        values.extend_from_slice(word);
                        values.truncate(end);
                    }
                    None => values.extend_from_slice(string),
                }
            }
            offsets.push(i32::try_from(values.len()).map_err(|_| corrupted("strings of more than 2 GiB"))?);
            rest = after;
        }
        self.at = self.bytes.len() - rest.len();
        self.left -= strings;
        Ok(strings)
    }
}

/// A string after its length, and what follows.
pub(super) fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

fn too_short() -> ParquetError {
    corrupted("a page of strings is too short")
}

fn corrupted(why: &str) -> ParquetError {
    ParquetError::General(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(strings: &[&[u8]]) -> Strings {
        let mut bytes = Vec::new();
        for string in strings {
            bytes.extend_from_slice(&(string.len() as u32).to_le_bytes());
            bytes.extend_from_slice(string);
        }
        Strings { bytes: Bytes::from(bytes), at: 0, left: strings.len() }
    }

    #[test]
    fn strings_are_skipped_and_taken() {
        let long = [7; 100];
        let strings: [&[u8]; 6] = [b"a", b"", b"sixteen bytes ..", b"seventeen bytes .", &long, b"end"];
        for first in 0..=strings.len() {
            for taken in 0..=strings.len() - first {
                let mut page = page(&strings);
                let (mut values, mut offsets) = (b"x".to_vec(), vec![1]);
                assert_eq!(page.skip(first).unwrap(), first);
                assert_eq!(page.take(taken, &mut values, &mut offsets).unwrap(), taken);
                let found: Vec<&[u8]> =
                    offsets.windows(2).map(|ends| &values[ends[0] as usize..ends[1] as usize]).collect();
                assert_eq!(found, strings[first..first + taken]);
                assert_eq!(page.left, strings.len() - first - taken);
            }
        }
    }

    #[test]
    fn pages_that_are_too_short_are_refused() {
        let whole = page(&[b"string", b"another"]);
        for length in 0..whole.bytes.len() {
            let cut = || Strings { bytes: whole.bytes.slice(..length), at: 0, left: 2 };
            assert!(cut().skip(2).is_err());
            assert!(cut().take(2, &mut Vec::new(), &mut Vec::new()).is_err());
        }
    }
}
