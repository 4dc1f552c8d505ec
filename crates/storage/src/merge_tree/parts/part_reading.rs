//! Reading a part. Fetching its bytes waits for the disk and runs on the cache's threads; decoding them is a worker's work.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, UInt8Array, new_empty_array};
use arrow_buffer::Buffer;
use arrow_schema::DataType as ArrowType;
use bytes::Bytes;
use parquet::file::metadata::ParquetMetaDataReader;
use squall_types::{Coded, Error, ErrorCode, Result, Rows};
use twox_hash::XxHash3_64;

use super::chunk_bytes::{ChunkBytes, EncodedChunk, PartContents};
use super::column_reader::{ColumnReader, RowsWanted};
use super::part::{Part, corrupted};
use super::part_description::FileRange;
use super::part_place::{InMemory, PartPlace, Within};
use crate::column_cache::{ChunkLoad, ChunkOrigin, DecodeChunk};
use crate::disk::OpenFile;
use crate::merge_tree::scans::chunk_decoder::{BATCH_ROWS, ChunkDecoder};
use crate::merge_tree::skip_index::{Wanted, decode_page};

impl Part {
    /// Reads pages of skip indexes, which go into the cache. Waits for the disk.
    ///
    /// # Errors
    /// `CHECKSUM_DOESNT_MATCH`, `CORRUPTED_DATA`.
    pub(in crate::merge_tree) fn read_index_pages(&self, wanted: &[Wanted]) -> Result<Vec<(Wanted, Buffer)>> {
        let file = self.opened()?;
        // The page is the cache's, for all queries: none of them pays for it.
        let _shared = squall_runtime::memory::detach();
        let read = |wanted: &Wanted| -> Result<(Wanted, Buffer)> {
            if let Some(page) = self.index_page(*wanted) {
                return Ok((*wanted, page));
            }
            let index = self.description.indices.get(wanted.index);
            let page = index.and_then(|index| index.pages.get(wanted.page));
            let page = page.ok_or_else(|| Error::logical("a page that the part does not have"))?;
            let bytes = Buffer::from_vec(decode_page(&self.read_range(&*file, page.at)?)?);
            if let Some(slot) = self.index_slots.get(wanted.index).and_then(|slots| slots.get(wanted.page)) {
                let array: ArrayRef = Arc::new(UInt8Array::new(bytes.clone().into(), None));
                self.cache.put(slot, &Rows::Whole(array), bytes.len(), ChunkOrigin::Read);
            }
            Ok((*wanted, bytes))
        };
        wanted.iter().map(read).collect()
    }

    /// Reads pages of skip indexes on a thread that may wait for the disk; `done` is called there.
    ///
    /// # Errors
    /// `CANNOT_SCHEDULE_TASK`.
    pub(in crate::merge_tree) fn load_index_pages(
        self: &Arc<Self>,
        wanted: Vec<Wanted>,
        done: impl FnOnce(Result<Vec<(Wanted, Buffer)>>) + Send + 'static,
    ) -> Result<()> {
        let part = self.clone();
        match self.cache.on_io_thread(move || done(part.read_index_pages(&wanted))) {
            true => Ok(()),
            false => Err(Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, "No thread to read an index with")),
        }
    }

    /// Starts to fetch chunks of a row group on a thread that may wait for the disk.
    pub(crate) fn start_loads(self: &Arc<Self>, row_group: usize, loads: Vec<(usize, Arc<ChunkLoad>)>) {
        let part = self.clone();
        let unfetched: Vec<Arc<ChunkLoad>> = loads.iter().map(|(_, load)| load.clone()).collect();
        let is_scheduled = self.cache.on_io_thread(move || {
            let opened = part.open_file();
            for (column, load) in loads {
                load.fetched(
                    opened.as_ref().map_err(Error::clone).and_then(|file| part.fetch(&**file, row_group, column)),
                );
            }
        });
        if !is_scheduled {
            let error = Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, "No thread to read a part with");
            unfetched.iter().for_each(|load| load.fetched(Err(error.clone())));
        }
    }

    /// The file, to read what the description tells of.
    fn opened(&self) -> Result<Box<dyn OpenFile>> {
        let first = match &self.place {
            PartPlace::File { first, .. } => *first,
            PartPlace::Memory(bytes) => return Ok(Box::new(InMemory(bytes.clone()))),
        };
        let disk = self.directory.disk();
        let opened = match disk.open(&self.file.path) {
            // Committed, and not called so yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound => disk.open(&self.temporary_path()),
            opened => opened,
        };
        let file = opened.map_err(|error| corrupted(&self.file.path, error))?;
        Ok(if first == 0 { file } else { Box::new(Within { file, first }) })
    }

    /// The file, to read chunks of it.
    fn open_file(&self) -> Result<Box<dyn OpenFile>> {
        let file = self.opened()?;
        if self.contents.get().is_none() {
            let footer = self.read_range(&*file, self.description.footer)?;
            let _ = self.contents.set(Arc::new(self.read_footer(&footer)?));
        }
        Ok(file)
    }

    /// Reads the whole file and compares its checksums, then decodes every chunk. Waits for the disk.
    ///
    /// # Errors
    /// `CHECKSUM_DOESNT_MATCH`, `CORRUPTED_DATA`.
    pub(crate) fn verify(&self) -> Result<()> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let file = self.open_file()?;
        for page in self.description.indices.iter().flat_map(|index| &index.pages) {
            decode_page(&self.read_range(&*file, page.at)?)?;
        }
        for projection in &self.description.projections {
            self.read_range(&*file, projection.at)?;
        }
        for (row_group, group) in self.description.row_groups.iter().enumerate() {
            for column in 0..group.chunks.len() {
                let bytes = self.fetch(&*file, row_group, column)?;
                self.decode_here(row_group, column, bytes)?;
            }
        }
        Ok(())
    }

    /// Reads and decodes one chunk, past the cache. Waits for the disk.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    pub(crate) fn read_chunk(&self, row_group: usize, column: usize) -> Result<ArrayRef> {
        let bytes = self.fetch(&*self.open_file()?, row_group, column)?;
        self.decode_here(row_group, column, bytes)
    }

    /// Reads the bytes of some columns of a row group. Waits for the disk.
    ///
    /// # Errors
    /// `CHECKSUM_DOESNT_MATCH`, `CORRUPTED_DATA`.
    pub(in crate::merge_tree) fn fetch_columns(&self, row_group: usize, columns: &[usize]) -> Result<Vec<Bytes>> {
        let file = self.open_file()?;
        columns.iter().map(|column| self.fetch(&*file, row_group, *column)).collect()
    }

    fn read_footer(&self, footer: &[u8]) -> Result<PartContents> {
        // The footer ends with its length and a magic number.
        let thrift = footer.get(..footer.len().saturating_sub(8)).unwrap_or_default();
        ParquetMetaDataReader::decode_metadata(thrift)
            .and_then(|metadata| PartContents::new(&metadata, &self.schema.layout))
            .map_err(|error| corrupted(&self.file.path, error))
    }

    fn fetch(&self, file: &dyn OpenFile, row_group: usize, column: usize) -> Result<Bytes> {
        let group = self.description.row_groups.get(row_group);
        let chunk = group.and_then(|group| group.chunks.get(column));
        self.read_range(file, chunk.ok_or_else(|| Error::logical("a chunk that the part does not have"))?.at)
    }

    fn read_range(&self, file: &dyn OpenFile, range: FileRange) -> Result<Bytes> {
        if range.offset.saturating_add(range.length) > self.file.bytes {
            return Err(corrupted(&self.file.path, "a chunk lies outside of the file"));
        }
        let mut bytes = vec![0; range.length as usize];
        file.read_exact_at(&mut bytes, range.offset).map_err(|error| corrupted(&self.file.path, error))?;
        if XxHash3_64::oneshot(&bytes) != range.checksum {
            return Err(Error::new(
                ErrorCode::CHECKSUM_DOESNT_MATCH,
                format!(
                    "Checksum doesn't match: corrupted data in file {} at bytes {}..{}",
                    self.file.path.display(),
                    range.offset,
                    range.offset + range.length
                ),
            ));
        }
        Ok(Bytes::from(bytes))
    }

    /// Begins to decode a chunk's bytes; the array goes into the cache.
    ///
    /// # Errors
    /// `CORRUPTED_DATA`.
    pub(crate) fn decoder(
        self: &Arc<Self>,
        row_group: usize,
        column: usize,
        bytes: Bytes,
    ) -> Result<Box<dyn DecodeChunk>> {
        // Batches of other dictionaries than strings' would each get one of their own.
        let batch_rows = if self.schema.layout.is_encoded_in_memory(column) { usize::MAX } else { BATCH_ROWS };
        let (reader, rows) = self.reader(row_group, column, bytes, batch_rows, true)?;
        Ok(Box::new(ChunkDecoder::new(self.clone(), row_group, column, rows, reader)))
    }

    /// Decodes a chunk's bytes at once and past the cache.
    fn decode_here(&self, row_group: usize, column: usize, bytes: Bytes) -> Result<ArrayRef> {
        let (reader, rows) = self.reader(row_group, column, bytes, usize::MAX, false)?;
        self.decode(column, reader, rows)
    }

    /// All that a reader gives, which should be so many rows.
    fn decode(&self, column: usize, reader: ColumnReader, rows: usize) -> Result<ArrayRef> {
        let mut arrays = Vec::new();
        for array in reader {
            let array = array.map_err(|error| corrupted(&self.file.path, error))?;
            if !array.is_empty() {
                arrays.push(self.to_memory(column, &array)?);
            }
        }
        let array = match arrays.as_slice() {
            [one] => one.clone(),
            [] => new_empty_array(self.arrow_type(column)),
            many => {
                let many: Vec<&dyn Array> = many.iter().map(|array| &**array).collect();
                arrow_select::concat::concat(&many)?
            }
        };
        if array.len() != rows {
            return Err(corrupted(&self.file.path, format!("a chunk has {} rows, expected {rows}", array.len())));
        }
        Ok(array)
    }

    /// Decodes some rows of a chunk, past the cache; their ranges ascend. Pages of other rows stay as they are.
    ///
    /// # Errors
    /// `CORRUPTED_DATA`, `MEMORY_LIMIT_EXCEEDED`.
    pub(in crate::merge_tree) fn decode_rows(
        &self,
        row_group: usize,
        column: usize,
        chunk: &EncodedChunk,
        ranges: &[Range<usize>],
    ) -> Result<Rows> {
        let rows = ranges.iter().map(ExactSizeIterator::len).sum();
        let (reader, _) = self.reader_of(row_group, column, chunk.clone(), |wanted| RowsWanted {
            rows: Some(ranges.to_vec()),
            batch_rows: rows,
            as_codes: true,
            ..wanted
        })?;
        let array = self.decode(column, reader, rows)?;
        self.rows_as_read(column, array)
    }

    /// The rows of a column as they were read, where strings may be codes.
    pub(in crate::merge_tree) fn rows_as_read(&self, column: usize, array: ArrayRef) -> Result<Rows> {
        match array.as_dictionary_opt::<UInt32Type>() {
            Some(codes) if !self.schema.layout.is_dictionary(column) => {
                Coded::rows_of(codes.clone())?.ok_or_else(|| Error::logical("a dictionary with NULL"))
            }
            _ => Ok(Rows::Whole(array)),
        }
    }

    /// What the decoded rows of a chunk take, as far as its type and its bytes in the file tell.
    pub(in crate::merge_tree) fn decoded_bytes(&self, row_group: usize, column: usize) -> u64 {
        /// Few columns of strings take more than so many times their packed bytes, and few columns of numbers more than the other.
        const STRINGS: u64 = 8;
        const NUMBERS: u64 = 32;
        let group = self.description.row_groups.get(row_group);
        let Some((group, chunk)) = group.and_then(|group| Some((group, group.chunks.get(column)?))) else { return 0 };
        match self.schema.stored.fields.get(column).and_then(|(_, data_type)| data_type.fixed_width_bytes()) {
            Some(width) => (width as u64 * group.rows as u64).min(chunk.at.length * NUMBERS),
            None => {
                // As codes they may take less than written out.
                let written_out =
                    self.string_bytes(row_group, column).map(|bytes| bytes as u64 + 4 * group.rows as u64);
                written_out.unwrap_or(u64::MAX).min(chunk.at.length * STRINGS)
            }
        }
    }

    /// The bytes of the strings of a chunk, where the part knows them.
    pub(in crate::merge_tree) fn string_bytes(&self, row_group: usize, column: usize) -> Option<usize> {
        let group = self.description.row_groups.get(row_group)?;
        let value_bytes = group.chunks.get(column).map(|chunk| chunk.value_bytes).filter(|bytes| *bytes > 0)?;
        // Each has its length beside, in eight bytes.
        Some((value_bytes as usize).saturating_sub(8 * group.rows))
    }

    /// What decodes a chunk's bytes, in batches of at most so many rows, or of none before they come; and the rows that it should have.
    /// `as_codes` leaves strings as the file has them.
    pub(in crate::merge_tree) fn reader(
        &self,
        row_group: usize,
        column: usize,
        bytes: Bytes,
        batch_rows: usize,
        as_codes: bool,
    ) -> Result<(ColumnReader, usize)> {
        let read =
            |wanted: RowsWanted| RowsWanted { batch_rows: batch_rows.min(wanted.rows_of_group), as_codes, ..wanted };
        self.reader_of(row_group, column, EncodedChunk::read_once(bytes), read)
    }

    /// What decodes a chunk, and the rows that this should have; `wanted` says what is read instead of all.
    fn reader_of(
        &self,
        row_group: usize,
        column: usize,
        encoded: EncodedChunk,
        wanted: impl FnOnce(RowsWanted) -> RowsWanted,
    ) -> Result<(ColumnReader, usize)> {
        let group = self.description.row_groups.get(row_group);
        let (group, chunk) = group
            .and_then(|group| Some((group, group.chunks.get(column)?)))
            .ok_or_else(|| Error::logical("a chunk that the part does not have"))?;
        let contents = self.contents.get().ok_or_else(|| Error::logical("a chunk before its footer"))?;
        let leaves = self.schema.layout.first_leaves.get(column..column + 2);
        let [first, end] = leaves.unwrap_or_default() else { return Err(Error::logical("a column too many")) };
        let all = RowsWanted {
            row_group,
            leaves: *first..*end,
            rows: None,
            rows_of_group: group.rows,
            batch_rows: group.rows,
            as_codes: false,
        };
        let bytes = ChunkBytes::new(encoded, contents.clone(), row_group, chunk.at.offset, self.file.bytes);
        let reader = ColumnReader::new(bytes, &self.schema.layout.read_schema, wanted(all));
        Ok((reader.map_err(|error| corrupted(&self.file.path, error))?, group.rows))
    }

    /// The array of a column from what was read of the file.
    pub(in crate::merge_tree) fn to_memory(&self, column: usize, array: &ArrayRef) -> Result<ArrayRef> {
        self.schema.layout.to_memory(column, array)
    }

    /// The type of a column's array in the file.
    pub(in crate::merge_tree) fn arrow_type(&self, column: usize) -> &ArrowType {
        self.schema.layout.arrow_schema.field(column).data_type()
    }
}
