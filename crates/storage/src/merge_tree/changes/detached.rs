//! Parts that leave a table for its folder `detached/` and come from there, and whether a table's parts are sound. A part has both names
//! for a moment: the catalog's commit decides which of them counts, and the start removes the other one.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use parquet::file::metadata::ParquetMetaDataReader;
use squall_runtime::{Pieces, block_on};
use squall_types::{Block, Column, Error, ErrorCode, Result};

use super::deleted_rows::DeletedRows;
use crate::disk::{Disk, read_all, remove_file};
use crate::evaluate::evaluate;
use crate::merge_tree::merges::merge_control::BlockClaim;
use crate::merge_tree::parts::part::{Part, PartFile, corrupted};
use crate::merge_tree::parts::part_bytes::PartBytes;
use crate::merge_tree::parts::part_description::{PartDescription, PrimaryIndex};
use crate::merge_tree::parts::part_encoder::{describe, footer_of, primary_index};
use crate::merge_tree::parts::part_footer::{PartFooter, bad_name, part_of_file};
use crate::merge_tree::parts::part_name::PartName;
use crate::merge_tree::parts::part_writer::write_error;
use crate::merge_tree::parts::table_directory::{DELETION, TEMPORARY};
use crate::merge_tree::{MergeTree, PartSchema};
use crate::table_record::TableRecord;

/// What the names of files begin with that are on their way into `detached/`.
pub(crate) const DETACHING: &str = "tmp_detach_";

/// A part in `detached/`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DetachedPart {
    /// The file's name without its ending: a part's, perhaps with the reason before it.
    pub name: String,
    /// Its partition, blocks and level, where the name tells them: `(partition, first, last, level)`.
    pub part: Option<(Arc<str>, u64, u64, u32)>,
    /// Why it is there: `broken`, `unexpected`, `ignored`; empty where somebody detached it.
    pub reason: String,
    /// The file's size.
    pub bytes_on_disk: u64,
    /// When the file was last changed.
    pub modified: Option<SystemTime>,
    /// The file.
    pub path: PathBuf,
}

/// Which of a table's parts a statement is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PartSelection {
    /// All of them.
    All,
    /// Those of a partition.
    Partition(Arc<str>),
    /// One part.
    Part(Arc<str>),
}

impl PartSelection {
    /// Whether a part is one of them.
    pub fn has(&self, name: &str, partition: &str) -> bool {
        match self {
            Self::All => true,
            Self::Partition(id) => **id == *partition,
            Self::Part(part) => **part == *name,
        }
    }
}

impl MergeTree {
    /// The names of some parts of the table as it is now.
    ///
    /// # Errors
    /// `BAD_DATA_PART_NAME`, `NO_SUCH_DATA_PART` for one part that is named and not there.
    pub(crate) fn selected(&self, selection: &PartSelection) -> Result<Vec<Arc<str>>> {
        if let PartSelection::Part(name) = selection {
            PartName::parse(name).ok_or_else(|| bad_name(name))?;
            return self.parts_named(std::slice::from_ref(name)).map(|_| vec![name.clone()]);
        }
        let parts = self.parts.load();
        let is_selected = |part: &&Arc<Part>| selection.has(&part.file.name, &part.file.partition_id);
        Ok(parts.parts.iter().filter(is_selected).map(|part| part.file.name.clone()).collect())
    }

    /// Takes parts out of the table; their files are in `detached/` then. One whose file is missing only leaves the table.
    ///
    /// # Errors
    /// As [`drop_parts`](Self::drop_parts), and where the files cannot be given another name.
    pub(crate) fn detach_parts(self: &Arc<Self>, names: &[Arc<str>]) -> Result<()> {
        let parts = self.parts_named(names)?;
        let seen = self.parts.load_full();
        let (disk, folder) = (self.directory.disk(), self.detached_folder()?);
        let mut moves = Vec::with_capacity(parts.len());
        for part in &self.applied(&parts, &seen.deletions)? {
            let reason = if part.failure().is_some() { "broken_" } else { "" };
            let name = free_name(&**disk, &folder, &format!("{reason}{}", part.file.name));
            let between = folder.join(format!("{DETACHING}{name}.parquet"));
            if part.failure().is_some() && disk.bytes(&part.file.path).is_err() {
                continue;
            }
            if let Err(error) = part.link_to(&between) {
                undo(&**disk, &moves);
                return Err(error);
            }
            moves.push((between, folder.join(format!("{name}.parquet"))));
        }
        let committed = disk
            .sync_folder(&folder)
            .map_err(|error| write_error(&folder, &error))
            .and_then(|()| self.replace_and_delete(&parts, &[], &[], &[], &seen.deletions));
        if let Err(error) = committed {
            if error.code != ErrorCode::UNKNOWN_STATUS_OF_INSERT {
                undo(&**disk, &moves);
            }
            return Err(error);
        }
        for (between, detached) in &moves {
            disk.rename(between, detached).map_err(|error| write_error(detached, &error))?;
        }
        Ok(())
    }

    /// Takes parts from `detached/` into the table, under new names; each is read and verified before.
    ///
    /// # Errors
    /// `BAD_DATA_PART_NAME`, `INCOMPATIBLE_COLUMNS`, `CHECKSUM_DOESNT_MATCH`, and where files or the catalog cannot be written.
    pub(crate) fn attach_parts(&self, selection: &PartSelection) -> Result<()> {
        let names: Vec<String> = match selection {
            PartSelection::Part(name) => {
                part_of_file(&format!("{name}.parquet")).ok_or_else(|| bad_name(name))?;
                vec![name.to_string()]
            }
            // Only parts that somebody detached: what was set aside for a reason is taken by its name.
            of_partition => {
                let plain = self.detached_parts()?.into_iter().filter(|part| part.reason.is_empty());
                let is_wanted =
                    |part: &DetachedPart| part.part.as_ref().is_some_and(|(id, ..)| of_partition.has("", id));
                plain.filter(is_wanted).map(|part| part.name).collect()
            }
        };
        let folder = self.directory.detached();
        let paths: Vec<PathBuf> = names.iter().map(|name| folder.join(format!("{name}.parquet"))).collect();
        if let Some((name, _)) = names.iter().zip(&paths).find(|(_, path)| self.directory.disk().bytes(path).is_err()) {
            return Err(no_detached(name));
        }
        let mut new = Vec::with_capacity(paths.len());
        for path in &paths {
            new.push(self.adopt(path)?);
        }
        self.commit_adopted(&new, &paths)
    }

    /// Makes parts that were adopted the table's, and removes the files that they were taken from.
    ///
    /// # Errors
    /// Where the catalog cannot be written: then nothing has changed.
    pub(crate) fn commit_adopted(&self, new: &[Arc<Part>], sources: &[PathBuf]) -> Result<()> {
        if new.is_empty() {
            return Ok(());
        }
        let disk = self.directory.disk();
        disk.sync_folder(self.directory.path()).map_err(|error| write_error(self.directory.path(), &error))?;
        let needless: Vec<String> = sources.iter().filter_map(|path| self.catalog.relative(path)).collect();
        self.replace_parts(&[], new, &needless)?;
        if sources.is_empty() {
            return Ok(());
        }
        // Forgotten at once: somebody may put another file of the name there. What fails here, the next start does.
        // Each is tried, whatever became of those before.
        let are_gone =
            sources.iter().map(|source| remove_file(&**disk, source)).filter(|is_gone| !is_gone).count() == 0;
        if are_gone && disk.sync_folder(&self.directory.detached()).is_ok() {
            self.catalog.forget_files(&needless).unwrap_or_else(|error| {
                tracing::warn!(%error, "files that were attached are not forgotten yet");
            });
        }
        Ok(())
    }

    /// Gives a part's file a second name in the table's folder, as a part that is not committed yet, and verifies it.
    pub(crate) fn adopt(&self, path: &Path) -> Result<Arc<Part>> {
        let (file, claim, description, schema) = self.new_part_of(path)?;
        let temporary = self.directory.temporary(&file.path);
        self.directory.disk().link(path, &temporary).map_err(|error| write_error(&temporary, &error))?;
        let part = self.verified(file, description, schema)?;
        part.hold(Arc::new(claim));
        Ok(part)
    }

    pub(in crate::merge_tree) fn verified(
        &self,
        file: PartFile,
        description: PartDescription,
        schema: Arc<PartSchema>,
    ) -> Result<Arc<Part>> {
        let part = self.uncommitted(file, description, schema);
        part.verify()?;
        Ok(Arc::new(part))
    }

    pub(in crate::merge_tree) fn uncommitted(
        &self,
        file: PartFile,
        description: PartDescription,
        schema: Arc<PartSchema>,
    ) -> Part {
        Part::new_uncommitted(file, description, schema, self.cache.clone(), self.directory.clone())
    }

    /// The columns that a part was written with, by what its footer says of its table.
    ///
    /// # Errors
    /// `INCOMPATIBLE_COLUMNS` where they are not the table's.
    pub(in crate::merge_tree) fn schema_of(&self, record: &TableRecord, file_name: &str) -> Result<Arc<PartSchema>> {
        let own = self.record.load();
        let stored = record.stored_schema()?;
        let fields = record.stored_fields(&stored);
        // Another table's file says other ids, unless both were made alike.
        let is_own = record.uuid == own.uuid || self.schemas.lock().has(&fields, &stored);
        if !is_own && (!record.has_structure_of(&own) || fields.ids != self.identity.fields.ids)
            || !record.has_keys_of(&own)
        {
            return Err(incompatible(file_name));
        }
        self.schemas.lock().adopt(fields, stored, self.settings.ratio_of_defaults)
    }

    /// What a part in this file will be in the table.
    fn new_part_of(&self, path: &Path) -> Result<(PartFile, BlockClaim, PartDescription, Arc<PartSchema>)> {
        let disk = &**self.directory.disk();
        let file_name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = part_of_file(&file_name).ok_or_else(|| bad_name(&file_name))?;
        let bytes = disk.bytes(path).map_err(|error| corrupted(path, error))?;
        let (description, schema) = match PartFooter::read(disk, path)? {
            Some(footer) => {
                let schema = self.schema_of(&footer.table, &file_name)?;
                (footer.description(&crate::merge_tree::key_types(&self.primary_key), schema.stored.len())?, schema)
            }
            None => (self.describe_anew(path)?, self.schema.clone()),
        };
        let (file, claim) = self.next_file(name, bytes);
        Ok((file, claim, description, schema))
    }

    pub(in crate::merge_tree) fn next_file(&self, name: PartName, bytes: u64) -> (PartFile, BlockClaim) {
        let claim = self.merging.claim_block(&name.partition_id);
        let block = claim.block;
        let name = PartName { first_block: block, last_block: block, ..name };
        let path = self.directory.path().join(format!("{name}.parquet"));
        (PartFile { name: name.to_string().into(), partition_id: name.partition_id, path, bytes }, claim)
    }

    /// Makes files parts of the table under their own names, in place of those that they supersede.
    ///
    /// # Errors
    /// `INCOMPATIBLE_COLUMNS`, `CORRUPTED_DATA`, and where files or the catalog cannot be written.
    pub(crate) fn restore_parts(
        &self,
        files: Vec<(PartName, PathBuf, PartFooter)>,
        superseded: &[Arc<str>],
    ) -> Result<()> {
        let disk = self.directory.disk();
        let mut new = Vec::with_capacity(files.len());
        for (name, path, footer) in files {
            let file_name = format!("{name}.parquet");
            let schema = self.schema_of(&footer.table, &file_name)?;
            let own = self.directory.path().join(file_name);
            if own != path {
                disk.rename(&path, &own).map_err(|error| write_error(&own, &error))?;
            }
            let file = PartFile {
                partition_id: name.partition_id.clone(),
                name: name.to_string().into(),
                path: own,
                bytes: footer.bytes,
            };
            let description =
                footer.description(&crate::merge_tree::key_types(&self.primary_key), schema.stored.len())?;
            let part = self.uncommitted(file, description, schema);
            // Whatever happens, it stays.
            part.keep();
            new.push(Arc::new(part));
        }
        disk.sync_folder(self.directory.path()).map_err(|error| write_error(self.directory.path(), &error))?;
        let old = self.parts_named(superseded)?;
        self.replace_parts(&old, &new, &[])
    }

    /// Enters into the catalog which rows of parts are deleted, as files in the folder say that it does not list.
    ///
    /// # Errors
    /// `CORRUPTED_DATA`, and where files or the catalog cannot be written.
    pub(crate) fn restore_deletions(&self) -> Result<()> {
        let (disk, set) = (self.directory.disk(), self.parts.load_full());
        let mut found: HashMap<Arc<str>, DeletedRows> = HashMap::new();
        let mut needless = Vec::new();
        for folder in [self.directory.path().to_path_buf(), self.directory.detached()] {
            for file in disk.list(&folder).map_err(|error| corrupted(&folder, error))? {
                let is_known = set.deletions.paths().any(|known| known.ends_with(&file.name));
                if !file.name.contains(DELETION) || file.name.starts_with(TEMPORARY) || is_known {
                    continue;
                }
                let path = folder.join(&file.name);
                let bytes = read_all(&**disk, &path).map_err(|error| corrupted(&path, error))?;
                let (rows, of) = DeletedRows::decode(bytes)?;
                needless.extend(self.catalog.relative(&path));
                let of = Path::new(&of).file_name().unwrap_or_default();
                let Some(part) = set.parts.iter().find(|part| part.file.path.file_name() == Some(of)) else { continue };
                let all = found.entry(part.file.name.clone()).or_default();
                *all = all.with(&rows);
            }
        }
        let mut deleted = Vec::with_capacity(found.len());
        for part in &set.parts {
            let Some(mut rows) = found.remove(&part.file.name) else { continue };
            if let Some(known) = set.deletions.of(&part.file.name) {
                rows = rows.with(&known.rows);
            }
            deleted.push((part.clone(), Arc::new(self.directory.write_deletion(rows, &part.file.path)?)));
        }
        if deleted.is_empty() && needless.is_empty() {
            return Ok(());
        }
        self.replace_and_delete(&[], &[], &needless, &deleted, &set.deletions)
    }

    /// The id of the partition that has these values of the partition key, each one row of any type that can be cast.
    ///
    /// # Errors
    /// `INVALID_PARTITION_VALUE`, and where a value cannot be cast.
    pub(crate) fn partition_id(&self, values: &[Column]) -> Result<Arc<str>> {
        let keys = &self.identity.definition.partition_key;
        if keys.len() != values.len() {
            return Err(Error::new(
                ErrorCode::INVALID_PARTITION_VALUE,
                format!(
                    "Wrong number of fields in the partition expression: {}, must be: {}",
                    values.len(),
                    keys.len()
                ),
            ));
        }
        let zone = squall_types::calendar::TimeZone::utc();
        let options = squall_types::CastOptions::new(squall_types::CastMode::Plain, zone);
        let cast = |(key, value): (&squall_planner::KeyExpression, &Column)| {
            let to = key.expression.data_type();
            squall_types::cast(value, to, &options).map_err(|error| match value.data_type() {
                squall_types::DataType::String => Error::new(
                    ErrorCode::TYPE_MISMATCH,
                    format!("Cannot convert string {} to type {to}", value.value(0)),
                ),
                _ => error,
            })
        };
        let columns = keys.iter().zip(values).map(cast).collect::<Result<Vec<Column>>>()?;
        Ok(crate::merge_tree::parts::partition::id_of_row(&columns, 0).into())
    }

    /// The description of a file that has none in its footer, as they were written before version 2.
    fn describe_anew(&self, path: &Path) -> Result<PartDescription> {
        let bad = |error: &dyn std::fmt::Display| corrupted(path, error);
        let disk = &**self.directory.disk();
        squall_types::reserve(disk.bytes(path).map_or(0, |bytes| bytes as usize))?;
        let bytes = Bytes::from(read_all(disk, path).map_err(|error| bad(&error))?);
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&bytes).map_err(|error| bad(&error))?;
        let entries = metadata.file_metadata().key_value_metadata();
        let columns = entries.and_then(|entries| entries.iter().find(|entry| entry.key == "squall.columns"));
        if columns.and_then(|entry| entry.value.as_deref())
            != Some(&*crate::merge_tree::parts::part_encoder::columns_entry(self))
        {
            return Err(incompatible(&path.file_name().unwrap_or_default().to_string_lossy()));
        }
        let mut in_segments = PartBytes::default();
        in_segments.write_all(&bytes).map_err(|error| bad(&error))?;
        let mut row_groups = Vec::new();
        for group in metadata.row_groups() {
            row_groups.push(block_on(describe(self, group, &in_segments, &mut Pieces::begin()))?);
        }
        let mut description = PartDescription {
            granularity: self.settings.index_granularity,
            row_groups,
            footer: footer_of(&in_segments)?,
            primary_index: PrimaryIndex::default(),
            indices: Vec::new(),
            ttl: Vec::new(),
            projections: Vec::new(),
            statistics: Vec::new(),
        };
        let file =
            PartFile { name: "".into(), partition_id: "".into(), path: path.to_path_buf(), bytes: bytes.len() as u64 };
        let part = self.uncommitted(file, description.clone(), self.schema.clone());
        part.keep();
        let block = self.key_rows(&part)?;
        let positions = &self.identity.stored_positions;
        let keys = self.primary_key.iter().map(|key| evaluate(&key.expression, &block, positions));
        description.primary_index =
            primary_index(&keys.collect::<Result<Vec<Column>>>()?, block.rows(), description.granularity)?;
        Ok(description)
    }

    /// The rows of a part with the columns of the primary key; the others hold anything.
    fn key_rows(&self, part: &Part) -> Result<Block> {
        let mut needed = vec![false; self.identity.stored.len()];
        for key in &self.primary_key {
            key.expression.visit_columns(&mut |position| {
                let stored = self.identity.stored_positions.get(position).copied().flatten();
                if let Some(needed) = stored.and_then(|stored| needed.get_mut(stored)) {
                    *needed = true;
                }
            });
        }
        let rows = part.rows as usize;
        let mut columns = Vec::with_capacity(needed.len());
        for (at, (_, data_type)) in self.identity.stored.fields.iter().enumerate() {
            if !needed.get(at).is_some_and(|needed| *needed) {
                columns.push(Column::default_values(data_type.clone(), rows)?);
                continue;
            }
            let groups = 0..part.description.row_groups.len();
            let chunks = groups.map(|group| Ok(Column::new(data_type.clone(), part.read_chunk(group, at)?)));
            columns.push(Column::concat(&chunks.collect::<Result<Vec<Column>>>()?)?);
        }
        Ok(Block::new(self.identity.stored.clone(), columns, rows))
    }

    /// Removes parts from `detached/`.
    ///
    /// # Errors
    /// `BAD_DATA_PART_NAME` where there is none of the name.
    pub(crate) fn drop_detached(&self, selection: &PartSelection) -> Result<()> {
        let all = self.detached_parts()?;
        let wanted: Vec<DetachedPart> = match selection {
            PartSelection::Part(name) => {
                let found = all.into_iter().find(|part| *part.name == **name);
                vec![found.ok_or_else(|| no_detached(name))?]
            }
            selection => {
                let is_wanted = |part: &DetachedPart| match &part.part {
                    Some((id, ..)) => selection.has("", id),
                    None => *selection == PartSelection::All,
                };
                all.into_iter().filter(is_wanted).collect()
            }
        };
        let disk = self.directory.disk();
        for part in &wanted {
            disk.remove(&part.path).map_err(|error| write_error(&part.path, &error))?;
            self.catalog.note_removed(part.path.clone());
        }
        let folder = self.directory.detached();
        if wanted.is_empty() { Ok(()) } else { disk.sync_folder(&folder).map_err(|error| write_error(&folder, &error)) }
    }

    /// What is in `detached/`.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub(crate) fn detached_parts(&self) -> Result<Vec<DetachedPart>> {
        let folder = self.directory.detached();
        let listed = self.directory.disk().list(&folder).map_err(|error| corrupted(&folder, error))?;
        let part = |file: crate::disk::Listed| {
            let name = file.name.strip_suffix(".parquet")?.to_owned();
            let path = folder.join(&file.name);
            let part = part_of_file(&file.name);
            let (reason, _) = name.split_once('_').unwrap_or_default();
            let is_reason = ["broken", "broken-on-start", "unexpected", "ignored"].contains(&reason);
            Some(DetachedPart {
                reason: if is_reason { reason.to_owned() } else { String::new() },
                part: part.map(|name| (name.partition_id, name.first_block, name.last_block, name.level)),
                bytes_on_disk: file.bytes,
                modified: std::fs::metadata(&path).and_then(|metadata| metadata.modified()).ok(),
                name,
                path,
            })
        };
        Ok(listed.into_iter().filter(|file| !file.name.starts_with(DETACHING)).filter_map(part).collect())
    }

    /// The files in `detached/` that are parts, named as in the catalog; none where the folder cannot be read.
    pub(crate) fn detached_files(&self) -> Vec<String> {
        let parts = self.detached_parts().unwrap_or_default();
        parts.iter().filter_map(|part| self.catalog.relative(&part.path)).collect()
    }

    /// Reads parts and verifies them, each with what is wrong with it. Waits for the disk.
    ///
    /// # Errors
    /// As [`selected`](Self::selected).
    pub(crate) fn check_parts(&self, selection: &PartSelection) -> Result<Vec<(Arc<str>, Result<()>)>> {
        let parts = self.parts_named(&self.selected(selection)?)?;
        Ok(parts.iter().map(|part| (part.file.name.clone(), part.verify())).collect())
    }

    fn detached_folder(&self) -> Result<PathBuf> {
        let (disk, folder) = (self.directory.disk(), self.directory.detached());
        disk.create_folder(&folder)
            .and_then(|()| disk.sync_folder(self.directory.path()))
            .map_err(|error| write_error(&folder, &error))?;
        Ok(folder)
    }
}

/// A name that no file in the folder has, as ClickHouse makes them.
pub(crate) fn free_name(disk: &dyn Disk, folder: &Path, wanted: &str) -> String {
    let is_free = |name: &String| {
        let is_there = |prefix: &str| disk.bytes(&folder.join(format!("{prefix}{name}.parquet"))).is_ok();
        !is_there("") && !is_there(DETACHING)
    };
    let tries = (1..u32::MAX).map(|number| format!("{wanted}_try{number}"));
    std::iter::once(wanted.to_owned()).chain(tries).find(is_free).unwrap_or_else(|| wanted.to_owned())
}

fn undo(disk: &dyn Disk, moves: &[(PathBuf, PathBuf)]) {
    for (between, _) in moves {
        remove_file(disk, between);
    }
}

fn no_detached(name: &str) -> Error {
    Error::new(ErrorCode::BAD_DATA_PART_NAME, format!("Detached part \"{name}\" not found"))
}

fn incompatible(file: &str) -> Error {
    Error::new(
        ErrorCode::INCOMPATIBLE_COLUMNS,
        format!(
            "The part in {file} was written for a table of another structure: its columns or keys are not this table's"
        ),
    )
}
