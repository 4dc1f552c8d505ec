//! A row group's pages on their way to the library: what each says of its sizes is checked and reserved before anything is decompressed or
//! decoded, and batches are so short that the strings of a dictionary, repeated, do not grow beyond bounds.

use std::sync::Arc;

use bytes::Bytes;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::{Compression, Encoding, Type as PhysicalType};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;
use squall_types::{Error, Result};

use super::ranges::Ranges;
use super::thrift::{Thrift, kind};
use super::{corrupted, parquet_error};

/// Rows of the blocks that input is cut into.
const BLOCK_ROWS: usize = 65_409;
/// What a batch may grow to where its values are long.
const BATCH_BYTES: usize = 128 << 20;
/// Bytes of a page when it is decompressed.
const PAGE_BYTES_MAX: usize = 256 << 20;
/// Bytes of a value whose length the schema says.
const FIXED_BYTES_MAX: i32 = 1 << 20;
/// The most that a byte of the old LZ4 codec decompresses to.
const LZ4_RATIO_MAX: usize = 256;

/// One row group of a file.
pub(super) struct RowGroup {
    file: Ranges,
    metadata: Arc<ParquetMetaData>,
    at: usize,
    /// The columns that are read.
    leaves: Vec<usize>,
}

impl RowGroup {
    pub fn new(file: &Ranges, metadata: &Arc<ParquetMetaData>, at: usize, leaves: Vec<usize>) -> Result<Self> {
        if metadata.row_group(at).num_rows() < 0 {
            return Err(corrupted("a row group has a negative number of rows"));
        }
        Ok(Self { file: file.clone(), metadata: metadata.clone(), at, leaves })
    }

    /// Its rows.
    pub fn rows(&self) -> usize {
        usize::try_from(self.group().num_rows()).unwrap_or(0)
    }

    fn group(&self) -> &RowGroupMetaData {
        self.metadata.row_group(self.at)
    }

    fn pages(&self, column: usize) -> Result<Pages> {
        Pages::new(&self.file, self.group().column(column))
    }

    /// How many rows may be read at once.
    ///
    /// # Errors
    /// Where the pages are not what they say.
    pub fn batch_rows(&self) -> Result<usize> {
        let rows = usize::try_from(self.group().num_rows()).unwrap_or(usize::MAX).max(1);
        let mut row_bytes = 0usize;
        for column in &self.leaves {
            let mut pages = self.pages(*column)?;
            let decoded_bytes = pages.decoded_bytes()?;
            row_bytes = row_bytes.saturating_add(pages.value_bytes_max()?.saturating_add(decoded_bytes / rows));
        }
        Ok((BATCH_BYTES / row_bytes.max(1)).clamp(1, BLOCK_ROWS))
    }

    /// Those of the columns that are read whose values are strings, and all of them keys of a dictionary.
    ///
    /// # Errors
    /// Where the pages are not what they say.
    pub fn coded_leaves(&self) -> Result<Vec<usize>> {
        let mut coded = Vec::new();
        for leaf in &self.leaves {
            if self.group().column(*leaf).column_type() == PhysicalType::BYTE_ARRAY && self.pages(*leaf)?.is_coded()? {
                coded.push(*leaf);
            }
        }
        Ok(coded)
    }
}

impl RowGroups for RowGroup {
    fn num_rows(&self) -> usize {
        self.rows()
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>, ParquetError> {
        let pages = self.pages(column).map_err(external)?;
        Ok(Box::new(OneChunk(Some(Box::new(pages)))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.group()))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The chunks of a column in one row group: one.
struct OneChunk(Option<Box<dyn PageReader>>);

impl Iterator for OneChunk {
    type Item = Result<Box<dyn PageReader>, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(Ok)
    }
}

impl PageIterator for OneChunk {}

fn external(error: Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}

/// What a page says of itself.
#[derive(Clone, Copy, Debug, Default)]
struct Header {
    page_type: i64,
    decoded_bytes: usize,
    encoded_bytes: usize,
    values: usize,
    encoding: i64,
}

impl Header {
    const INDEX_PAGE: i64 = 1;
    const DICTIONARY_PAGE: i64 = 2;

    /// Reads a header, and how many bytes it takes.
    fn read(bytes: &[u8]) -> Result<(Self, usize)> {
        let mut thrift = Thrift::new(bytes);
        let mut header = Self::default();
        let mut id = 0;
        while let Some(found) = thrift.field(&mut id)? {
            match (id, found) {
                (1, kind::I32) => header.page_type = thrift.number()?,
                (2, kind::I32) => header.decoded_bytes = thrift.count()?,
                (3, kind::I32) => header.encoded_bytes = thrift.count()?,
                (5 | 7 | 8, kind::STRUCT) => {
                    let (is_second_version, mut inner) = (id == 8, 0);
                    while let Some(found) = thrift.field(&mut inner)? {
                        match (inner, found) {
                            (1, kind::I32) => header.values = thrift.count()?,
                            (2, kind::I32) if !is_second_version => header.encoding = thrift.number()?,
                            (4, kind::I32) if is_second_version => header.encoding = thrift.number()?,
                            (_, found) => thrift.skip(found)?,
                        }
                    }
                }
                (_, found) => thrift.skip(found)?,
            }
        }
        let length = bytes.len() - thrift.left();
        if header.encoded_bytes > thrift.left() {
            return Err(corrupted("a page is longer than its column"));
        }
        if header.decoded_bytes > PAGE_BYTES_MAX {
            return Err(corrupted(format_args!("a page of more than {PAGE_BYTES_MAX} bytes")));
        }
        // Each value of a dictionary is written out; those of data may be counted only.
        if header.page_type == Self::DICTIONARY_PAGE && header.values > header.decoded_bytes {
            return Err(corrupted("a dictionary has more values than bytes"));
        }
        Ok((header, length))
    }
}

/// The pages of one column in one row group.
struct Pages {
    inner: SerializedPageReader<Ranges>,
    /// The column's bytes that `inner` has not taken yet.
    rest: Bytes,
    compression: Compression,
    physical: PhysicalType,
    is_repeated: bool,
    max_levels: (i16, i16),
    /// Bytes of the column's longest value, as far as a dictionary or the schema says.
    value_bytes: usize,
}

impl Pages {
    fn new(file: &Ranges, column: &ColumnChunkMetaData) -> Result<Self> {
        let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
        let range = u64::try_from(start).ok().zip(usize::try_from(column.compressed_size()).ok());
        let rest = range.and_then(|(start, length)| file.slice(start, length));
        let rest = rest.ok_or_else(|| corrupted("a column lies outside of the file"))?;
        let descriptor = column.column_descr();
        let physical = column.column_type();
        let value_bytes = match physical {
            PhysicalType::FIXED_LEN_BYTE_ARRAY => match descriptor.type_length() {
                length @ 0..=FIXED_BYTES_MAX => length as usize,
                length => return Err(corrupted(format_args!("values of {length} bytes each"))),
            },
            PhysicalType::BYTE_ARRAY => 4,
            PhysicalType::INT96 => 12,
            _ => 8,
        };
        let inner = SerializedPageReader::new(Arc::new(file.clone()), column, 0, None);
        Ok(Self {
            inner: inner.map_err(|error| parquet_error(&error))?,
            rest,
            compression: column.compression(),
            physical,
            is_repeated: descriptor.max_rep_level() > 0,
            max_levels: (descriptor.max_rep_level(), descriptor.max_def_level()),
            value_bytes,
        })
    }

    /// What all pages have when they are decompressed.
    fn decoded_bytes(&self) -> Result<usize> {
        let mut rest = &*self.rest;
        let mut bytes = 0usize;
        while !rest.is_empty() {
            let (header, length) = Header::read(rest)?;
            bytes = bytes.saturating_add(header.decoded_bytes);
            rest = rest.get(length + header.encoded_bytes..).unwrap_or_default();
        }
        Ok(bytes)
    }

    /// Whether all values are keys of a dictionary.
    fn is_coded(&self) -> Result<bool> {
        let of_keys = [Encoding::PLAIN_DICTIONARY, Encoding::RLE_DICTIONARY].map(|encoding| i64::from(encoding as i32));
        let mut rest = &*self.rest;
        let mut has_dictionary = false;
        while !rest.is_empty() {
            let (header, length) = Header::read(rest)?;
            match header.page_type {
                Header::INDEX_PAGE => {}
                Header::DICTIONARY_PAGE => has_dictionary = true,
                _ if !of_keys.contains(&header.encoding) => return Ok(false),
                _ => {}
            }
            rest = rest.get(length + header.encoded_bytes..).unwrap_or_default();
        }
        Ok(has_dictionary)
    }

    /// What a value of the column may take that costs the file next to nothing: one that stands in the dictionary, or begins as the one before.
    fn value_bytes_max(&mut self) -> Result<usize> {
        let mut rest = &*self.rest;
        let mut page_bytes = 0;
        while !rest.is_empty() {
            let (header, length) = Header::read(rest)?;
            if header.encoding == i64::from(Encoding::DELTA_BYTE_ARRAY as i32) {
                page_bytes = page_bytes.max(header.decoded_bytes);
            }
            rest = rest.get(length + header.encoded_bytes..).unwrap_or_default();
        }
        if !self.rest.is_empty() && self.physical == PhysicalType::BYTE_ARRAY {
            let (first, _) = Header::read(&self.rest)?;
            if first.page_type == Header::DICTIONARY_PAGE {
                self.next_page()?;
            }
        }
        Ok(self.value_bytes.max(page_bytes))
    }

    fn next_page(&mut self) -> Result<Option<Page>> {
        let header = loop {
            if self.rest.is_empty() {
                break None;
            }
            let (header, length) = Header::read(&self.rest)?;
            let encoded = self.rest.slice(length..length + header.encoded_bytes);
            self.rest = self.rest.slice(length + header.encoded_bytes..);
            if header.page_type != Header::INDEX_PAGE {
                self.admit(&header, &encoded)?;
                break Some(header);
            }
        };
        let page = self.inner.get_next_page().map_err(|error| parquet_error(&error))?;
        match (&header, &page) {
            (None, None) => {}
            (Some(header), Some(page)) if header.values == page.num_values() as usize => self.check(page)?,
            _ => return Err(corrupted("its pages are read in two ways")),
        }
        Ok(page)
    }

    /// Reserves what a page needs, before it is decompressed.
    fn admit(&self, header: &Header, encoded: &[u8]) -> Result<()> {
        let mut bytes = header.decoded_bytes.saturating_mul(2);
        match self.compression {
            // The library reads it to its end, whatever the page says.
            Compression::GZIP(_) => {
                let limit = header.decoded_bytes as u64 + 1;
                let mut decoded = std::io::Read::take(flate2::read::MultiGzDecoder::new(encoded), limit);
                let length = std::io::copy(&mut decoded, &mut std::io::sink());
                if length.is_ok_and(|length| length == limit) {
                    return Err(corrupted("a page is longer than it says"));
                }
            }
            Compression::LZ4 => bytes = bytes.saturating_add(encoded.len().saturating_mul(LZ4_RATIO_MAX)),
            _ => {}
        }
        if self.is_repeated {
            // All of them may be one row's: two levels, and the value.
            bytes = bytes.saturating_add(header.values.saturating_mul(4 + self.value_bytes));
        }
        squall_types::reserve(bytes)
    }

    /// Looks at what decoders allocate by.
    fn check(&mut self, page: &Page) -> Result<()> {
        let values = page.num_values() as usize;
        match page {
            Page::DictionaryPage { buf, .. } => {
                if self.physical == PhysicalType::BYTE_ARRAY {
                    self.value_bytes = self.value_bytes.max(longest(buf));
                }
                Ok(())
            }
            Page::DataPage { buf, encoding, .. } => {
                let mut rest = &**buf;
                for level in [self.max_levels.0, self.max_levels.1] {
                    if level > 0 && is_delta(*encoding) {
                        let length = rest.first_chunk().map_or(usize::MAX, |bytes| u32::from_le_bytes(*bytes) as usize);
                        rest = length
                            .checked_add(4)
                            .and_then(|length| rest.get(length..))
                            .ok_or_else(|| corrupted("a page ends within its levels"))?;
                    }
                }
                check_deltas(rest, *encoding, values)
            }
            Page::DataPageV2 { buf, encoding, def_levels_byte_len, rep_levels_byte_len, .. } => {
                let levels = *def_levels_byte_len as usize + *rep_levels_byte_len as usize;
                let rest = buf.get(levels..).ok_or_else(|| corrupted("a page ends within its levels"))?;
                check_deltas(rest, *encoding, values)
            }
        }
    }
}

/// The longest of strings that stand one after the other, each after its length.
fn longest(mut bytes: &[u8]) -> usize {
    let mut longest = 0;
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let length = u32::from_le_bytes(*length) as usize;
        let Some(rest) = rest.get(length..) else { break };
        longest = longest.max(length);
        bytes = rest;
    }
    longest
}

fn is_delta(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::DELTA_BINARY_PACKED | Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY)
}

/// Checks the counts of numbers that are written as differences, of which nothing but a count need be there.
fn check_deltas(bytes: &[u8], encoding: Encoding, values: usize) -> Result<()> {
    if !is_delta(encoding) || values == 0 || bytes.is_empty() {
        return Ok(());
    }
    squall_types::reserve(values.saturating_mul(8))?;
    let rest = past_deltas(bytes, values)?;
    if encoding == Encoding::DELTA_BYTE_ARRAY {
        past_deltas(rest, values)?;
    }
    Ok(())
}

/// What follows such numbers, of which there may be so many.
fn past_deltas(bytes: &[u8], values_max: usize) -> Result<&[u8]> {
    let broken = || corrupted("numbers written as differences are not what they say");
    let mut thrift = Thrift::new(bytes);
    let size = |number: u64| usize::try_from(number).map_err(|_| broken());
    let (block_size, mini_blocks, values) = (size(thrift.varint()?)?, size(thrift.varint()?)?, size(thrift.varint()?)?);
    thrift.varint()?;
    if values > values_max || mini_blocks == 0 || mini_blocks > block_size || block_size > 1 << 20 {
        return Err(broken());
    }
    let values_of_mini_block = block_size / mini_blocks;
    let mut left = values.saturating_sub(1);
    let mut rest = bytes.get(bytes.len() - thrift.left()..).unwrap_or_default();
    while left > 0 {
        let mut thrift = Thrift::new(rest);
        thrift.varint()?;
        rest = rest.get(rest.len() - thrift.left()..).unwrap_or_default();
        let (widths, after) = rest.split_at_checked(mini_blocks).ok_or_else(broken)?;
        rest = after;
        for width in widths {
            if left == 0 {
                break;
            }
            // The last one may be cut off.
            rest = rest.get(usize::from(*width) * values_of_mini_block / 8..).unwrap_or_default();
            left = left.saturating_sub(values_of_mini_block);
        }
    }
    Ok(rest)
}

impl Iterator for Pages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        self.next_page().map_err(external)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.inner.peek_next_page()
    }

    /// Pages are always read: whoever skips rows could not look at them.
    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.get_next_page().map(drop)
    }
}
