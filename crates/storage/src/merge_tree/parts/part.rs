//! A part: one Parquet file of sorted rows, what is known of it, and its chunks' places in the column cache.

use std::any::Any;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt8Type;
use arrow_buffer::Buffer;
use parking_lot::Mutex;
use squall_types::{Error, ErrorCode, Result, Rows};

use super::chunk_bytes::PartContents;
use super::part_description::PartDescription;
use super::part_encoder::EncodedPart;
use super::part_life::PartLife;
use super::part_name::PartName;
use super::part_place::PartPlace;
use super::part_schema::PartSchema;
use super::part_writer::write_error;
use super::table_directory::TableDirectory;
use crate::column_cache::{ChunkOrigin, ChunkSlot, ColumnCache};
use crate::identity::TableIdentity;
use crate::key_condition::ValueRange;
use crate::merge_tree::MergeTree;
use crate::merge_tree::conditions::PartConditions;
use crate::merge_tree::scans::zone_map::ZoneMap;
use crate::merge_tree::skip_index::{IndexDescription, Wanted};

/// A part's file, named and measured.
#[derive(Clone, Debug)]
pub(crate) struct PartFile {
    /// `all_1_1_0`: partition, first and last block, level, as ClickHouse names parts.
    pub(crate) name: Arc<str>,
    pub(crate) partition_id: Arc<str>,
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

/// The chunk of a path of a column.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::merge_tree) struct SubcolumnChunk {
    pub(in crate::merge_tree) row_group: usize,
    /// The stored column.
    pub(in crate::merge_tree) column: usize,
    pub(in crate::merge_tree) path: Arc<str>,
}

/// Places for chunks of subcolumns that a part keeps though nothing is in them.
const SUBCOLUMN_SLOTS_MAX: usize = 4096;

/// A part. The last one who lets go of an obsolete part removes its file.
pub(crate) struct Part {
    pub(crate) file: PartFile,
    pub(crate) description: PartDescription,
    pub(crate) rows: u64,
    /// The columns that it was written with.
    pub(in crate::merge_tree) schema: Arc<PartSchema>,
    pub(super) cache: Arc<ColumnCache>,
    pub(super) directory: Arc<TableDirectory>,
    /// Row group by row group.
    slots: Box<[Arc<ChunkSlot>]>,
    /// Those of subcolumns that a scan wanted.
    subcolumn_slots: Mutex<HashMap<SubcolumnChunk, Arc<ChunkSlot>>>,
    /// What is known of the rows of each chunk that was in the cache, in the order of `slots`.
    zone_maps: Box<[OnceLock<Option<ZoneMap>>]>,
    /// Pages of skip indexes, index by index.
    pub(super) index_slots: Box<[Box<[Arc<ChunkSlot>]>]>,
    /// How to read the file's row groups, read from it when it is first needed.
    pub(super) contents: OnceLock<Arc<PartContents>>,
    /// Why the part cannot be read, where that is known from the start.
    pub(super) failure: Option<Error>,
    /// Where its bytes are.
    pub(super) place: PartPlace,
    /// What it has of projections, once somebody asked, as its description lists them.
    projections: Box<[OnceLock<Option<Arc<Part>>>]>,
    /// What scans found out about conditions.
    pub(in crate::merge_tree) conditions: Arc<PartConditions>,
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
            conditions: PartConditions::new(&file.path),
            file,
            description,
            rows,
            schema,
            cache,
            directory,
            slots,
            subcolumn_slots: Mutex::default(),
            zone_maps,
            index_slots,
            contents: OnceLock::new(),
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
                    let is_slice = array.len() < self.rows as usize;
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

    /// The place in the cache of the chunk of a subcolumn.
    pub(in crate::merge_tree) fn subcolumn_slot(&self, chunk: &SubcolumnChunk) -> Arc<ChunkSlot> {
        let mut slots = self.subcolumn_slots.lock();
        if let Some(slot) = slots.get(chunk) {
            return slot.clone();
        }
        if slots.len() >= SUBCOLUMN_SLOTS_MAX {
            slots.retain(|_, slot| slot.is_decoded() || Arc::strong_count(slot) > 1);
        }
        slots.entry(chunk.clone()).or_insert_with(|| self.cache.slot()).clone()
    }

    /// Puts the chunk of a subcolumn into the cache.
    pub(in crate::merge_tree) fn remember_subcolumn(&self, chunk: &SubcolumnChunk, rows: &Rows, origin: ChunkOrigin) {
        self.cache.put(&self.subcolumn_slot(chunk), rows, rows.memory_bytes(), origin);
    }

    /// A page of a skip index, where it is in memory.
    pub(in crate::merge_tree) fn index_page(&self, wanted: Wanted) -> Option<Buffer> {
        let slot = self.index_slots.get(wanted.index)?.get(wanted.page)?;
        let rows = slot.get()?;
        Some(rows.array().as_primitive_opt::<UInt8Type>()?.values().inner().clone())
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
    pub(super) fn temporary_path(&self) -> PathBuf {
        self.directory.temporary(&self.file.path)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let subcolumns = self.subcolumn_slots.get_mut().values();
        self.cache.forget(self.slots.iter().chain(subcolumns).chain(self.index_slots.iter().flatten()));
    }
}

pub(in crate::merge_tree) fn corrupted(path: &Path, why: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::CORRUPTED_DATA, format!("Cannot read part file {}: {why}", path.display()))
}
