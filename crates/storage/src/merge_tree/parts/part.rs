//! A part: one Parquet file of sorted rows, what is known of it, and its chunks' places in the column cache. Fetching its bytes
//! waits for the disk and runs on the cache's threads; decoding them is a worker's work.

use std::any::Any;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt8Type;
use arrow_array::{Array, ArrayRef, UInt8Array, new_empty_array};
use arrow_buffer::Buffer;
use arrow_schema::DataType as ArrowType;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection,
};
use parquet::file::metadata::{FileMetaData, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use squall_types::{Error, ErrorCode, Result, Rows};
use twox_hash::XxHash3_64;

use super::part_description::{FileRange, PartDescription};
use super::part_encoder::EncodedPart;
use super::part_life::PartLife;
use super::part_name::PartName;
use super::part_place::{InMemory, PartPlace, Within};
use super::part_schema::PartSchema;
use super::part_writer::write_error;
use super::table_directory::TableDirectory;
use crate::column_cache::{ChunkLoad, ChunkOrigin, ChunkSlot, ColumnCache, DecodeChunk};
use crate::disk::OpenFile;
use crate::identity::TableIdentity;
use crate::key_condition::ValueRange;
use crate::merge_tree::MergeTree;
use crate::merge_tree::scans::chunk_decoder::{BATCH_ROWS, ChunkDecoder};
use crate::merge_tree::scans::zone_map::ZoneMap;
use crate::merge_tree::skip_index::{IndexDescription, Wanted, decode_page};

/// A part's file, named and measured.
#[derive(Clone, Debug)]
pub(crate) struct PartFile {
    /// `all_1_1_0`: partition, first and last block, level, as ClickHouse names parts.
    pub(crate) name: Arc<str>,
    pub(crate) partition_id: Arc<str>,
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

/// A part. The last one who lets go of an obsolete part removes its file.
pub(crate) struct Part {
    pub(crate) file: PartFile,
    pub(crate) description: PartDescription,
    pub(crate) rows: u64,
    /// The columns that it was written with.
    pub(in crate::merge_tree) schema: Arc<PartSchema>,
    cache: Arc<ColumnCache>,
    directory: Arc<TableDirectory>,
    /// Row group by row group.
    slots: Box<[Arc<ChunkSlot>]>,
    /// What is known of the rows of each chunk that was in the cache, in the order of `slots`.
    zone_maps: Box<[OnceLock<Option<ZoneMap>>]>,
    /// Pages of skip indexes, index by index.
    index_slots: Box<[Box<[Arc<ChunkSlot>]>]>,
    /// How to read the file's row groups, read from it when it is first needed.
    reading: OnceLock<ArrowReaderMetadata>,
    /// Why the part cannot be read, where that is known from the start.
    failure: Option<Error>,
    /// Where its bytes are.
    place: PartPlace,
    /// What it has of projections, once somebody asked, as its description lists them.
    projections: Box<[OnceLock<Option<Arc<Part>>>]>,
    /// When this process first knew it.
    pub(in crate::merge_tree) born: Instant,
}

impl std::fmt::Debug for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Part").field("file", &self.file).field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl Part {
    /// A part that nobody has committed: obsolete until [`Part::keep`].
    pub(crate) fn new_uncommitted(
        file: PartFile,
        description: PartDescription,
        schema: Arc<PartSchema>,
        cache: Arc<ColumnCache>,
        directory: Arc<TableDirectory>,
    ) -> Self {
        let life = Arc::new(PartLife::new(file.path.clone(), cache.clone(), directory.clone()));
        Self::new(file, description, schema, cache, directory, None, PartPlace::File { life, first: 0 })
    }

    /// A part that the catalog knows. A file that is missing or not as long as it was, and a description that cannot be read, fail this
    /// part's reads, nothing else.
    pub(crate) fn open(
        file: PartFile,
        description: Result<PartDescription>,
        schema: Arc<PartSchema>,
        cache: Arc<ColumnCache>,
        directory: Arc<TableDirectory>,
    ) -> Self {
        let failure = match directory.disk().bytes(&file.path) {
            Ok(found) if found == file.bytes => description.as_ref().err().cloned(),
            Ok(found) => Some(corrupted(&file.path, format!("it has {found} bytes, expected {}", file.bytes))),
            Err(error) => Some(corrupted(&file.path, error)),
        };
        let description = description.unwrap_or_default();
        let life = Arc::new(PartLife::new(file.path.clone(), cache.clone(), directory.clone()));
        let place = PartPlace::File { life, first: 0 };
        let part = Self::new(file, description, schema, cache, directory, failure, place);
        part.keep();
        part
    }

    fn new(
        file: PartFile,
        description: PartDescription,
        schema: Arc<PartSchema>,
        cache: Arc<ColumnCache>,
        directory: Arc<TableDirectory>,
        failure: Option<Error>,
        place: PartPlace,
    ) -> Self {
        let chunks: usize = description.row_groups.iter().map(|group| group.chunks.len()).sum();
        let slots = (0..chunks).map(|_| cache.slot()).collect();
        let zone_maps = (0..chunks).map(|_| OnceLock::new()).collect();
        let of_index = |index: &IndexDescription| index.pages.iter().map(|_| cache.slot()).collect();
        let index_slots = description.indices.iter().map(of_index).collect();
        let rows = description.rows() as u64;
        Self {
            projections: description.projections.iter().map(|_| OnceLock::new()).collect(),
            file,
            description,
            rows,
            schema,
            cache,
            directory,
            slots,
            zone_maps,
            index_slots,
            reading: OnceLock::new(),
            failure,
            place,
            born: Instant::now(),
        }
    }

    /// A part in memory that another one will be made of.
    pub(in crate::merge_tree) fn in_memory(name: &PartName, encoded: EncodedPart, table: &MergeTree) -> Self {
        let EncodedPart { bytes, description } = encoded;
        let file = PartFile {
            name: name.to_string().into(),
            partition_id: name.partition_id.clone(),
            path: PathBuf::new(),
            bytes: bytes.len(),
        };
        let place = PartPlace::Memory(bytes.into_vec().into());
        let (schema, cache, directory) = (table.schema.clone(), table.cache.clone(), table.directory.clone());
        Self::new(file, description, schema, cache, directory, None, place)
    }

    /// What it has of the projection of this identity; `describe` reads its description. Nothing where it has none, or one that cannot be read.
    pub(in crate::merge_tree) fn projection(
        &self,
        identity: &str,
        describe: impl FnOnce(&[u8]) -> Result<(PartDescription, Arc<PartSchema>)>,
    ) -> Option<Arc<Self>> {
        let PartPlace::File { life, first } = &self.place else { return None };
        let at = self.description.projections.iter().position(|known| *known.identity == *identity)?;
        let known = self.description.projections.get(at)?;
        let open = || {
            let described = describe(&known.description).inspect_err(|error| {
                tracing::error!(%error, part = %self.file.name, projection = %known.name, "a projection of a part cannot be read");
            });
            let (description, schema) = described.ok()?;
            let file = PartFile { bytes: known.at.length, ..self.file.clone() };
            let place = PartPlace::File { life: life.clone(), first: first + known.at.offset };
            let (cache, directory) = (self.cache.clone(), self.directory.clone());
            Some(Arc::new(Self::new(file, description, schema, cache, directory, self.failure.clone(), place)))
        };
        self.projections.get(at)?.get_or_init(open).clone()
    }

    fn life(&self) -> Option<&PartLife> {
        match &self.place {
            PartPlace::File { life, .. } => Some(life),
            PartPlace::Memory(_) => None,
        }
    }

    /// The part is in the catalog: its file stays.
    pub(crate) fn keep(&self) {
        if let Some(life) = self.life() {
            life.keep();
        }
    }

    /// The part is in the catalog, or it is not: its file stays, and what it holds is held for ever.
    pub(crate) fn keep_in_doubt(&self) {
        if let Some(life) = self.life() {
            life.keep_in_doubt();
        }
    }

    /// Lets go of what the part holds, as it is visible.
    pub(crate) fn let_go(&self) {
        if let Some(life) = self.life() {
            life.let_go();
        }
    }

    /// The part was committed: its file stays, under its own name.
    pub(crate) fn settle(&self) {
        if let Some(life) = self.life() {
            life.settle();
        }
    }

    /// Keeps something until the part is visible, or its file is removed.
    pub(crate) fn hold(&self, what: Arc<dyn Any + Send + Sync>) {
        if let Some(life) = self.life() {
            life.hold(what);
        }
    }

    /// The part is no longer in the catalog: its file goes when nobody reads it any more.
    pub(crate) fn retire(&self) {
        if let Some(life) = self.life() {
            life.retire();
        }
    }

    /// Whether a column of it is in the cache.
    pub(in crate::merge_tree) fn is_hot(&self) -> bool {
        self.slots.iter().any(|slot| slot.get().is_some())
    }

    /// The bounds of a stored column of its table over the whole part, and whether they are reached.
    pub(crate) fn range(&self, table: &TableIdentity, stored: usize) -> (ValueRange, bool) {
        match self.schema.place(table, stored) {
            Some(place) => self.description.range(place),
            None => (ValueRange { incomparable: true, ..ValueRange::default() }, false),
        }
    }

    /// Why the part cannot be read, where that is known.
    pub(crate) fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// A chunk's place in the cache.
    pub(crate) fn slot(&self, row_group: usize, column: usize) -> Option<&Arc<ChunkSlot>> {
        self.slots.get(self.chunk(row_group, column)?)
    }

    /// What is known of the rows of a chunk, where it was in the cache and its rows have some order.
    pub(in crate::merge_tree) fn zone_map(&self, row_group: usize, column: usize) -> Option<&ZoneMap> {
        self.zone_maps.get(self.chunk(row_group, column)?)?.get()?.as_ref()
    }

    /// The number of a chunk among all of the part.
    fn chunk(&self, row_group: usize, column: usize) -> Option<usize> {
        let columns = self.description.row_groups.first()?.chunks.len();
        (column < columns).then_some(row_group * columns + column)
    }

    /// Puts a chunk that is at hand into the cache, as it is held from now on.
    pub(crate) fn remember(&self, row_group: usize, column: usize, rows: Rows, origin: ChunkOrigin) -> Rows {
        let rows = match rows {
            Rows::Whole(array) => {
                if let (Some(zones), Some((_, data_type))) = (
                    self.chunk(row_group, column).and_then(|chunk| self.zone_maps.get(chunk)),
                    self.schema.stored.fields.get(column),
                ) {
                    zones.get_or_init(|| ZoneMap::of(data_type, &array));
                }
                // Where there is no memory for the list of those rows that are no defaults, the chunk stays whole.
                let ratio = self.schema.layout.ratio_of_defaults(column);
                Rows::of(array.clone(), ratio).unwrap_or(Rows::Whole(array))
            }
            held => held,
        };
        if let Some(slot) = self.slot(row_group, column) {
            let bytes = match &rows {
                Rows::Whole(array) => {
                    // Row groups of a part that was just written are slices of the same buffers.
                    let is_slice = array.len() < self.rows as usize && array.offset() > 0;
                    match array.to_data().get_slice_memory_size() {
                        Ok(bytes) if is_slice => bytes,
                        _ => array.get_array_memory_size(),
                    }
                }
                held => held.memory_bytes(),
            };
            self.cache.put(slot, &rows, bytes, origin);
        }
        rows
    }

    /// A page of a skip index, where it is in memory.
    pub(in crate::merge_tree) fn index_page(&self, wanted: Wanted) -> Option<Buffer> {
        let slot = self.index_slots.get(wanted.index)?.get(wanted.page)?;
        let rows = slot.get()?;
        Some(rows.array().as_primitive_opt::<UInt8Type>()?.values().inner().clone())
    }

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

    /// Gives its file a second name.
    ///
    /// # Errors
    /// Where that cannot be written.
    pub(crate) fn link_to(&self, path: &Path) -> Result<()> {
        let disk = self.directory.disk();
        let linked = match disk.link(&self.file.path, path) {
            // Committed, and not called so yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound => disk.link(&self.temporary_path(), path),
            linked => linked,
        };
        linked.map_err(|error| write_error(path, &error))
    }

    /// What its file is called until the commit, and perhaps for a moment after it.
    fn temporary_path(&self) -> PathBuf {
        self.directory.temporary(&self.file.path)
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
        if self.reading.get().is_none() {
            let footer = self.read_range(&*file, self.description.footer)?;
            let reading = self.read_footer(&footer)?;
            let _ = self.reading.set(reading);
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

    fn read_footer(&self, footer: &[u8]) -> Result<ArrowReaderMetadata> {
        let bad = |error: parquet::errors::ParquetError| corrupted(&self.file.path, error);
        // The footer ends with its length and a magic number.
        let thrift = footer.get(..footer.len().saturating_sub(8)).unwrap_or_default();
        let metadata = ParquetMetaDataReader::decode_metadata(thrift).map_err(bad)?;
        let schema = self.schema.layout.read_schema.clone();
        let groups = metadata.row_groups().iter().map(|group| {
            RowGroupMetaData::builder(schema.clone())
                .set_num_rows(group.num_rows())
                .set_total_byte_size(group.total_byte_size())
                .set_column_metadata(group.columns().to_vec())
                .build()
        });
        let groups = groups.collect::<parquet::errors::Result<Vec<_>>>().map_err(bad)?;
        let old = metadata.file_metadata();
        let file = FileMetaData::new(old.version(), old.num_rows(), None, None, schema, None);
        let options = ArrowReaderOptions::new().with_schema(self.schema.layout.arrow_schema.clone());
        ArrowReaderMetadata::try_new(Arc::new(ParquetMetaData::new(file, groups)), options).map_err(bad)
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
        let (reader, rows) = self.reader(row_group, column, bytes, batch_rows)?;
        Ok(Box::new(ChunkDecoder::new(self.clone(), row_group, column, rows, reader)))
    }

    /// Decodes a chunk's bytes at once and past the cache.
    fn decode_here(&self, row_group: usize, column: usize, bytes: Bytes) -> Result<ArrayRef> {
        let (reader, rows) = self.reader(row_group, column, bytes, usize::MAX)?;
        self.decode(column, reader, rows)
    }

    /// All that a reader gives, which should be so many rows.
    fn decode(&self, column: usize, reader: ParquetRecordBatchReader, rows: usize) -> Result<ArrayRef> {
        let mut arrays = Vec::new();
        for batch in reader {
            let batch = batch.map_err(|error| corrupted(&self.file.path, error))?;
            let array = batch.columns().first().ok_or_else(|| corrupted(&self.file.path, "no column"))?;
            arrays.push(self.to_memory(column, array)?);
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

    /// Decodes some rows of a chunk's bytes, past the cache; their ranges ascend. Pages of other rows stay as they are.
    ///
    /// # Errors
    /// `CORRUPTED_DATA`, `MEMORY_LIMIT_EXCEEDED`.
    pub(in crate::merge_tree) fn decode_rows(
        &self,
        row_group: usize,
        column: usize,
        bytes: Bytes,
        ranges: &[Range<usize>],
    ) -> Result<ArrayRef> {
        let (builder, all) = self.reader_builder(row_group, column, bytes)?;
        let rows = ranges.iter().map(ExactSizeIterator::len).sum();
        let reader = builder
            .with_row_selection(RowSelection::from_consecutive_ranges(ranges.iter().cloned(), all))
            .with_batch_size(rows)
            .build()
            .map_err(|error| corrupted(&self.file.path, error))?;
        self.decode(column, reader, rows)
    }

    /// What the decoded rows of a chunk take, as far as its type and its bytes in the file tell.
    pub(in crate::merge_tree) fn decoded_bytes(&self, row_group: usize, column: usize) -> u64 {
        /// Strings take so many times their packed bytes, and few columns of numbers more than the other.
        const STRINGS: u64 = 4;
        const NUMBERS: u64 = 32;
        let group = self.description.row_groups.get(row_group);
        let Some((group, chunk)) = group.and_then(|group| Some((group, group.chunks.get(column)?))) else { return 0 };
        match self.schema.stored.fields.get(column).and_then(|(_, data_type)| data_type.fixed_width_bytes()) {
            Some(width) => (width as u64 * group.rows as u64).min(chunk.at.length * NUMBERS),
            None => chunk.at.length * STRINGS,
        }
    }

    /// What decodes a chunk's bytes, in batches of at most so many rows, and the rows that it should have.
    pub(in crate::merge_tree) fn reader(
        &self,
        row_group: usize,
        column: usize,
        bytes: Bytes,
        batch_rows: usize,
    ) -> Result<(ParquetRecordBatchReader, usize)> {
        let (builder, rows) = self.reader_builder(row_group, column, bytes)?;
        let reader = builder.with_batch_size(batch_rows.min(rows)).build();
        Ok((reader.map_err(|error| corrupted(&self.file.path, error))?, rows))
    }

    fn reader_builder(
        &self,
        row_group: usize,
        column: usize,
        bytes: Bytes,
    ) -> Result<(ParquetRecordBatchReaderBuilder<ChunkBytes>, usize)> {
        let group = self.description.row_groups.get(row_group);
        let (group, chunk) = group
            .and_then(|group| Some((group, group.chunks.get(column)?)))
            .ok_or_else(|| Error::logical("a chunk that the part does not have"))?;
        let reading = self.reading.get().ok_or_else(|| Error::logical("a chunk before its footer"))?;
        let leaves = self.schema.layout.first_leaves.get(column..column + 2);
        let [first, end] = leaves.unwrap_or_default() else { return Err(Error::logical("a column too many")) };
        let mask = ProjectionMask::leaves(&self.schema.layout.read_schema, *first..*end);
        let source = ChunkBytes { offset: chunk.at.offset, file_bytes: self.file.bytes, bytes };
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(source, reading.clone())
            .with_row_groups(vec![row_group])
            .with_projection(mask);
        Ok((builder, group.rows))
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

impl Drop for Part {
    fn drop(&mut self) {
        self.cache.forget(self.slots.iter().chain(self.index_slots.iter().flatten()));
    }
}

pub(in crate::merge_tree) fn corrupted(path: &Path, why: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::CORRUPTED_DATA, format!("Cannot read part file {}: {why}", path.display()))
}

/// The bytes of one chunk, at their place in the file.
struct ChunkBytes {
    offset: u64,
    file_bytes: u64,
    bytes: Bytes,
}

impl Length for ChunkBytes {
    fn len(&self) -> u64 {
        self.file_bytes
    }
}

impl ChunkReader for ChunkBytes {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        let start =
            start.checked_sub(self.offset).map_or(self.bytes.len(), |start| start as usize).min(self.bytes.len());
        Ok(bytes::Buf::reader(self.bytes.slice(start..)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let start = start.checked_sub(self.offset).map(|start| start as usize);
        let end = start.and_then(|start| start.checked_add(length)).filter(|end| *end <= self.bytes.len());
        match (start, end) {
            (Some(start), Some(end)) => Ok(self.bytes.slice(start..end)),
            _ => Err(parquet::errors::ParquetError::EOF("a page lies outside of its chunk".to_owned())),
        }
    }
}
