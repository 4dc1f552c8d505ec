//! Reads strings that are keys of a dictionary in the file as codes: the dictionary once for all readers of a chunk, a large one in pieces, and
//! the keys page after page.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, BinaryArray, DictionaryArray, UInt32Array};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use super::chunk_bytes::{ChunkBytes, EncodedChunk};
use super::string_reader::{Strings, split};
use crate::merge_tree::chunks::lz4_block::BlockDecoder;

/// Bytes that are decompressed, or of strings that are put together, at a time. In debug builds they are few, so that tests meet several pieces.
const PIECE_BYTES: usize = if cfg!(debug_assertions) { 4 << 10 } else { 512 << 10 };

/// Codes of some rows of a chunk. While a large dictionary is read, batches are empty.
pub(in crate::merge_tree) struct CodeReader {
    chunk: EncodedChunk,
    /// A dictionary that is being read.
    unpacking: Option<Unpacking>,
    pages: SerializedPageReader<ChunkBytes>,
    values: Option<ArrayRef>,
    page: KeyRuns,
    /// The row that comes next in the chunk.
    row: usize,
    /// What is still wanted.
    wanted: VecDeque<Range<usize>>,
    batch_rows: usize,
}

impl CodeReader {
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
        let encoded = bytes.chunk().clone();
        let values = encoded.dictionary();
        let unpacking = match &values {
            Some(_) => None,
            None => large_dictionary(&bytes, chunk)?,
        };
        let pages = SerializedPageReader::new(Arc::new(bytes), chunk, rows, None)?;
        let wanted = wanted.into_iter().filter(|range| !range.is_empty()).collect();
        Ok(Self {
            chunk: encoded,
            unpacking,
            pages,
            values,
            page: KeyRuns::default(),
            row: 0,
            wanted,
            batch_rows: batch_rows.max(1),
        })
    }

    /// Goes to the next page, or past it where none of its rows is wanted: the first so many are not.
    fn turn_page(&mut self, skipped: usize) -> Result<(), ParquetError> {
        let next = self.pages.peek_next_page()?.ok_or_else(|| corrupted("a chunk has too few rows"))?;
        let rows = next.num_rows.or(next.num_levels).unwrap_or(0);
        let is_known = next.is_dict && self.values.is_some();
        if is_known || !next.is_dict && rows <= skipped {
            self.pages.skip_next_page()?;
            self.row += if next.is_dict { 0 } else { rows };
            return Ok(());
        }
        match self.pages.get_next_page()? {
            Some(Page::DictionaryPage { buf, num_values, encoding: Encoding::PLAIN, .. }) => {
                let values: ArrayRef = Arc::new(plain_strings(buf, num_values as usize)?);
                self.chunk.keep_dictionary(&values);
                self.values = Some(values);
            }
            Some(Page::DataPage { buf, num_values, encoding: Encoding::RLE_DICTIONARY, .. }) => {
                self.page = KeyRuns::of_page(buf, num_values as usize)?;
            }
            _ => return Err(corrupted("a page of keys is encoded in a way that its chunk does not name")),
        }
        Ok(())
    }

    fn batch(&mut self) -> Result<Option<DictionaryArray<UInt32Type>>, ParquetError> {
        let rows = self.wanted.iter().map(ExactSizeIterator::len).sum::<usize>().min(self.batch_rows);
        if rows == 0 {
            return Ok(None);
        }
        if let Some(unpacking) = &mut self.unpacking {
            if let Some(values) = unpacking.go_on()? {
                self.unpacking = None;
                self.chunk.keep_dictionary(&values);
                self.values = Some(values);
            }
            let none: ArrayRef = Arc::new(BinaryArray::new_null(0));
            return Ok(Some(DictionaryArray::try_new(UInt32Array::new_null(0), none)?));
        }
        let mut keys = Vec::with_capacity(rows);
        while keys.len() < rows {
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
            let taken = self.page.take(next.len().min(rows - keys.len()), &mut keys)?;
            next.start += taken;
            self.row += taken;
            if next.start == next.end {
                self.wanted.pop_front();
            }
        }
        let values = self.values.clone().ok_or_else(|| corrupted("keys without a dictionary"))?;
        Ok(Some(DictionaryArray::try_new(UInt32Array::from(keys), values)?))
    }
}

impl Iterator for CodeReader {
    type Item = Result<ArrayRef, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batch().transpose().map(|batch| batch.map(|batch| Arc::new(batch) as ArrayRef))
    }
}

/// A dictionary that takes more than a moment to read.
fn large_dictionary(bytes: &ChunkBytes, chunk: &ColumnChunkMetaData) -> Result<Option<Unpacking>, ParquetError> {
    let place = |offset: i64| u64::try_from(offset).ok();
    let found = chunk.dictionary_page_offset().and_then(place).zip(place(chunk.data_page_offset()));
    let found = found.and_then(|(first, end)| bytes.packed_dictionary(first, end));
    let Some((packed, plain_bytes, compression)) = found.filter(|(_, bytes, _)| *bytes > PIECE_BYTES) else {
        return Ok(None);
    };
    let decompressor = match compression {
        Compression::LZ4_RAW => Decompressor::Lz4(BlockDecoder::default()),
        Compression::ZSTD(_) => Decompressor::Zstd(Decoder::new()?),
        // The library reads it at once.
        _ => return Ok(None),
    };
    Ok(Some(Unpacking::new(packed, plain_bytes, decompressor)))
}

enum Decompressor {
    Lz4(BlockDecoder),
    Zstd(Decoder<'static>),
}

/// A dictionary on its way into memory.
struct Unpacking {
    packed: Bytes,
    /// Packed bytes that ZSTD has decompressed.
    at: usize,
    decompressor: Decompressor,
    /// The page as far as it is decompressed.
    plain: Vec<u8>,
    plain_bytes: usize,
    /// Its bytes whose strings are below.
    taken: usize,
    values: Vec<u8>,
    offsets: Vec<i32>,
}

impl Unpacking {
    fn new(packed: Bytes, plain_bytes: usize, decompressor: Decompressor) -> Self {
        Self {
            packed,
            at: 0,
            decompressor,
            plain: Vec::new(),
            plain_bytes,
            taken: 0,
            values: Vec::new(),
            offsets: vec![0],
        }
    }

    /// Does a piece; the strings if it was the last.
    fn go_on(&mut self) -> Result<Option<ArrayRef>, ParquetError> {
        if self.plain.len() < self.plain_bytes {
            self.decompress()?;
        } else if self.taken < self.plain.len() {
            self.take()?;
        } else {
            let offsets = OffsetBuffer::new(ScalarBuffer::from(std::mem::take(&mut self.offsets)));
            let values = Buffer::from_vec(std::mem::take(&mut self.values));
            return Ok(Some(Arc::new(BinaryArray::try_new(offsets, values, None)?)));
        }
        Ok(None)
    }

    fn decompress(&mut self) -> Result<(), ParquetError> {
        if self.plain.capacity() == 0 {
            self.plain.reserve_exact(self.plain_bytes);
        }
        let from = self.plain.len();
        let wanted = self.plain_bytes.min(from + PIECE_BYTES);
        let decoder = match &mut self.decompressor {
            Decompressor::Lz4(decoder) => {
                return decoder.decode(&self.packed, &mut self.plain, wanted, self.plain_bytes);
            }
            Decompressor::Zstd(decoder) => decoder,
        };
        self.plain.resize(wanted, 0);
        let mut input = InBuffer::around(self.packed.get(self.at..).unwrap_or_default());
        let mut output = OutBuffer::around(self.plain.get_mut(from..).unwrap_or_default());
        while output.pos() < output.capacity() {
            let before = (input.pos(), output.pos());
            decoder.run(&mut input, &mut output)?;
            if (input.pos(), output.pos()) == before {
                return Err(corrupted("a page has another length than its header says"));
            }
        }
        self.at += input.pos();
        Ok(())
    }

    fn take(&mut self) -> Result<(), ParquetError> {
        if self.values.capacity() == 0 {
            self.values.reserve_exact(self.plain_bytes);
        }
        let end = self.plain.len().min(self.taken + PIECE_BYTES);
        while self.taken < end {
            let (string, rest) = split(self.plain.get(self.taken..).unwrap_or_default()).ok_or_else(too_short)?;
            self.values.extend_from_slice(string);
            self.offsets.push(i32::try_from(self.values.len()).map_err(|_| corrupted("strings of more than 2 GiB"))?);
            self.taken = self.plain.len() - rest.len();
        }
        Ok(())
    }
}

/// The strings of a page, each after its length.
fn plain_strings(bytes: Bytes, count: usize) -> Result<BinaryArray, ParquetError> {
    let mut values = Vec::with_capacity(bytes.len().saturating_sub(4 * count));
    let mut offsets = Vec::with_capacity(count + 1);
    offsets.push(0);
    Strings::new(bytes, count).take(count, &mut values, &mut offsets)?;
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    Ok(BinaryArray::try_new(offsets, Buffer::from_vec(values), None)?)
}

/// What is left of a page of keys: runs of one key, and keys of so many bits each.
#[derive(Default)]
struct KeyRuns {
    bytes: Bytes,
    /// Where the next run begins.
    at: usize,
    /// Bits of a key.
    width: usize,
    run: Run,
    /// Keys of the page from here on.
    left: usize,
}

/// What is left of a run.
#[derive(Clone, Copy, Default)]
struct Run {
    left: usize,
    kind: RunKind,
}

#[derive(Clone, Copy)]
enum RunKind {
    Repeated(u32),
    /// The bit of the page where the next key begins.
    Packed(usize),
}

impl Default for RunKind {
    fn default() -> Self {
        Self::Repeated(0)
    }
}

impl KeyRuns {
    /// A page without levels: the bits of a key, then runs.
    fn of_page(bytes: Bytes, keys: usize) -> Result<Self, ParquetError> {
        let width = usize::from(*bytes.first().ok_or_else(too_short)?);
        if width > 32 {
            return Err(corrupted("keys of more than 32 bits"));
        }
        Ok(Self { bytes, at: 1, width, run: Run::default(), left: keys })
    }

    /// Goes past so many keys, or to the end of the page; past how many.
    fn skip(&mut self, keys: usize) -> Result<usize, ParquetError> {
        self.each(keys, |_, _, _, _| {})
    }

    /// Appends so many keys, or all that are left; how many.
    fn take(&mut self, keys: usize, out: &mut Vec<u32>) -> Result<usize, ParquetError> {
        self.each(keys, |bytes, kind, count, width| match kind {
            RunKind::Repeated(key) => out.resize(out.len() + count, key),
            RunKind::Packed(first) => unpack(bytes, first, count, width, out),
        })
    }

    /// Hands out so many keys as what there is of each run.
    fn each(&mut self, keys: usize, mut hand: impl FnMut(&[u8], RunKind, usize, usize)) -> Result<usize, ParquetError> {
        let keys = keys.min(self.left);
        let mut wanted = keys;
        while wanted > 0 {
            if self.run.left == 0 {
                self.begin_run()?;
            }
            let count = self.run.left.min(wanted);
            hand(&self.bytes, self.run.kind, count, self.width);
            if let RunKind::Packed(first) = &mut self.run.kind {
                *first += count * self.width;
            }
            self.run.left -= count;
            wanted -= count;
        }
        self.left -= keys;
        Ok(keys)
    }

    /// Reads a run's header: how long it is, and whether it is of one key.
    fn begin_run(&mut self) -> Result<(), ParquetError> {
        let mut header = 0_u64;
        for shift in (0..35).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or_else(too_short)?;
            self.at += 1;
            header |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let count = (header >> 1) as usize;
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let (kind, left, bytes) = if header & 1 == 1 {
            (RunKind::Packed(self.at * 8), count * 8, count * self.width)
        } else {
            let bytes = self.width.div_ceil(8);
            let key = rest.get(..bytes).ok_or_else(too_short)?;
            let key = key.iter().rev().fold(0, |key, byte| key << 8 | u32::from(*byte));
            (RunKind::Repeated(key), count, bytes)
        };
        if left == 0 || rest.len() < bytes {
            return Err(too_short());
        }
        self.run = Run { left, kind };
        self.at += bytes;
        Ok(())
    }
}

/// Appends so many keys of `width` bits each, from a bit of the page on, which has them all.
fn unpack(bytes: &[u8], first: usize, count: usize, width: usize, out: &mut Vec<u32>) {
    let mask = (1_u64 << width) - 1;
    let word = |at: usize| match bytes.get(at..).and_then(|bytes| bytes.first_chunk::<8>()) {
        Some(word) => u64::from_le_bytes(*word),
        None => bytes.iter().skip(at).rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    out.extend((0..count).map(|at| {
        let bit = first + at * width;
        (word(bit / 8) >> (bit % 8) & mask) as u32
    }));
}

fn too_short() -> ParquetError {
    corrupted("a page of keys is too short")
}

fn corrupted(why: &str) -> ParquetError {
    ParquetError::General(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge_tree::chunks::key_runs::{bits, put_keys};

    fn page(keys: &[u32], width: u32) -> KeyRuns {
        let mut bytes = vec![width as u8];
        put_keys(&mut bytes, keys, width);
        KeyRuns::of_page(Bytes::from(bytes), keys.len()).unwrap()
    }

    #[test]
    fn keys_are_skipped_and_taken() {
        for largest in [0, 1, 6, 255, 70_000, u32::MAX] {
            let key =
                |at: u32| if at % 300 < 120 { largest } else { (at.wrapping_mul(2_654_435_761)) % largest.max(1) };
            let keys: Vec<u32> = (0..1_003).map(key).collect();
            for (first, count) in [(0, 1_003), (1, 7), (119, 3), (120, 64), (250, 753), (1_003, 0)] {
                let mut page = page(&keys, bits(largest).max(1));
                let mut taken = Vec::new();
                assert_eq!(page.skip(first).unwrap(), first);
                assert_eq!(page.take(count, &mut taken).unwrap(), count);
                assert_eq!(taken, keys[first..first + count], "{largest}");
                assert_eq!(page.left, keys.len() - first - count);
            }
        }
    }

    #[test]
    fn pages_that_are_too_short_are_refused() {
        let keys: Vec<u32> = (0..100).map(|at| if at < 40 { 7 } else { at }).collect();
        let whole = page(&keys, 7);
        assert!(KeyRuns::of_page(Bytes::new(), 100).is_err());
        assert!(KeyRuns::of_page(Bytes::from_static(&[33]), 100).is_err());
        for length in 1..whole.bytes.len() {
            let cut = || KeyRuns::of_page(whole.bytes.slice(..length), 100).unwrap();
            assert!(cut().skip(100).is_err());
            assert!(cut().take(100, &mut Vec::new()).is_err());
        }
        // A run of nothing, again and again.
        assert!(KeyRuns::of_page(Bytes::from_static(&[7, 0, 0, 0, 0]), 100).unwrap().skip(100).is_err());
        assert!(plain_strings(Bytes::from_static(&[1, 0, 0, 0, b'a']), 2).is_err());
        let strings = plain_strings(Bytes::from_static(&[1, 0, 0, 0, b'a', 0, 0, 0, 0]), 2).unwrap();
        assert_eq!(strings.iter().collect::<Vec<_>>(), [Some(&b"a"[..]), Some(b"")]);
    }
}
