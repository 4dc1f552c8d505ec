//! Parts on their way into a backup and out of one.

use std::path::PathBuf;
use std::sync::Arc;

use squall_runtime::{Pieces, block_on};
use squall_types::{Block, Column, DataType, Error, Result};

use crate::catalog::NewPart;
use crate::databases::PartBackup;
use crate::merge_tree::insertion::new_part;
use crate::merge_tree::parts::part::Part;
use crate::merge_tree::parts::part_description::PartDescription;
use crate::merge_tree::parts::part_footer::{PartFooter, bad_name};
use crate::merge_tree::parts::part_name::PartName;
use crate::merge_tree::parts::part_writer::{write_error, write_part};
use crate::merge_tree::parts::unsorted_rows::UnsortedRows;
use crate::merge_tree::{MergeTree, PartSet};

/// A part of a backup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartSource {
    /// The name that it had; it gets new block numbers.
    pub name: Arc<str>,
    /// What the catalog knew of it.
    pub description: Vec<u8>,
    /// A copy of its file.
    pub path: PathBuf,
}

/// The parts of a table at one moment.
pub(crate) struct PartsNow(Arc<PartSet>);

impl PartsNow {
    /// What a backup needs of them.
    ///
    /// # Errors
    /// Where a part that has deleted rows cannot be written without them.
    pub(crate) fn backup(&self, table: &Arc<MergeTree>) -> Result<Vec<PartBackup>> {
        let applied = table.applied(&self.0.parts, &self.0.deletions)?;
        let is_known = |part: &Arc<Part>| self.0.parts.iter().any(|known| Arc::ptr_eq(known, part));
        let backup = |part: &Arc<Part>| match is_known(part) {
            true => backup_of(part),
            false => PartBackup { path: table.directory.temporary(&part.file.path), ..backup_of(part) },
        };
        Ok(applied.iter().map(backup).collect())
    }
}

/// Bytes in memory of the rows that become one part.
const GROUP_BYTES_MAX: usize = 1 << 30;

fn backup_of(part: &Arc<Part>) -> PartBackup {
    PartBackup {
        name: part.file.name.clone(),
        partition_id: part.file.partition_id.clone(),
        bytes: part.file.bytes,
        description: part.description.encode(),
        path: part.file.path.clone(),
        kept: part.clone(),
    }
}

impl MergeTree {
    /// The parts of this moment, kept on disk as long as the answer lives.
    pub(crate) fn parts_now(&self) -> PartsNow {
        PartsNow(self.parts.load_full())
    }

    /// Writes rows that are kept in memory as parts, which are there as long as the answer lives. The table itself is one of its own, in a folder
    /// that goes with them. Waits for the disk.
    ///
    /// # Errors
    /// Where the rows cannot be encoded or written.
    pub(crate) fn backup_rows(self: &Arc<Self>, blocks: Vec<Block>) -> Result<Vec<PartBackup>> {
        self.directory.retire();
        let mut written = Vec::new();
        let mut blocks = blocks.into_iter().peekable();
        while blocks.peek().is_some() {
            let (mut group, mut bytes) = (Vec::new(), 0);
            while let Some(block) =
                blocks.next_if(|block| group.is_empty() || bytes + block.value_bytes() <= GROUP_BYTES_MAX)
            {
                bytes += block.value_bytes();
                group.push(block);
            }
            let name = PartName::of_insert(&"all".into(), self.merging.claim_block(&"all".into()).block);
            let part = block_on(async {
                let mut pieces = Pieces::begin();
                let rows = UnsortedRows::new(&self.identity.stored, group);
                let written = write_part(self, &name, rows, false, false, &self.extras(), &mut pieces).await?;
                written.ok_or_else(|| Error::logical("a backup of no rows"))
            })?;
            part.wait()?;
            written.push(PartBackup { path: self.directory.temporary(&part.part.file.path), ..backup_of(&part.part) });
        }
        Ok(written)
    }

    /// Copies parts of a backup into the table's folder and verifies them; `check` is asked before each. Waits for the disk.
    ///
    /// # Errors
    /// `CORRUPTED_DATA`, `CHECKSUM_DOESNT_MATCH`, where files cannot be written, and those of `check`: then none of the copies is there.
    pub(crate) fn copies(
        self: &Arc<Self>,
        sources: &[PartSource],
        check: &dyn Fn() -> Result<()>,
    ) -> Result<CopiedParts> {
        let mut copied = CopiedParts { table: self.clone(), parts: Vec::with_capacity(sources.len()) };
        for source in sources {
            check()?;
            copied.parts.push(self.copied(source)?);
        }
        let folder = self.directory.path();
        self.directory.disk().sync_folder(folder).map_err(|error| write_error(folder, &error))?;
        Ok(copied)
    }

    /// A copy of a part, verified and not committed.
    fn copied(&self, source: &PartSource) -> Result<Arc<Part>> {
        let name = PartName::parse(&source.name).ok_or_else(|| bad_name(&source.name))?;
        let keys = crate::merge_tree::key_types(&self.primary_key);
        let disk = self.directory.disk();
        let schema = match PartFooter::read(&**disk, &source.path)? {
            // It is verified that it fits into the table.
            Some(footer) if self.identity.fields.number > 0 || !footer.table.fields.is_empty() => {
                let stored = footer.table.stored_schema()?;
                let fields = footer.table.stored_fields(&stored);
                self.schemas.lock().adopt(fields, stored, self.settings.ratio_of_defaults)?
            }
            _ => self.schema.clone(),
        };
        let description = PartDescription::decode(&source.description, &keys, schema.stored.len())?;
        let bytes =
            disk.bytes(&source.path).map_err(|error| crate::merge_tree::parts::part::corrupted(&source.path, error))?;
        let (file, claim) = self.next_file(name, bytes);
        let temporary = self.directory.temporary(&file.path);
        disk.copy(&source.path, &temporary).map_err(|error| write_error(&temporary, &error))?;
        let part = self.verified(file, description, schema)?;
        part.hold(Arc::new(claim));
        Ok(part)
    }

    /// A table of parts that goes, with its folder, when nobody holds it or a part of it any more.
    pub(crate) fn of_this_moment(self: Arc<Self>) -> Arc<Self> {
        self.directory.retire();
        self
    }
}

/// Parts in a table's folder that are not the table's yet. Dropped without [`publish`](Self::publish) or [`keep`](Self::keep), they remove their
/// files.
pub(crate) struct CopiedParts {
    table: Arc<MergeTree>,
    parts: Vec<Arc<Part>>,
}

impl CopiedParts {
    /// The parts as the catalog records them, with the table's number.
    pub(crate) fn record(&self) -> (i64, Vec<NewPart>) {
        (self.table.table_id, self.parts.iter().map(|part| new_part(part)).collect())
    }

    /// All of their rows. Waits for the disk.
    ///
    /// # Errors
    /// Where a part cannot be read.
    pub(crate) fn rows(&self) -> Result<Vec<Block>> {
        let stored = &self.table.identity.stored;
        let mut blocks = Vec::new();
        for part in &self.parts {
            for (row_group, group) in part.description.row_groups.iter().enumerate() {
                let fields = stored.fields.iter().enumerate();
                let column = |(at, (_, data_type)): (usize, &(Arc<str>, DataType))| {
                    Ok(Column::new(data_type.clone(), part.read_chunk(row_group, at)?))
                };
                let columns = fields.map(column).collect::<Result<Vec<Column>>>()?;
                blocks.push(Block::new(stored.clone(), columns, group.rows));
            }
        }
        Ok(blocks)
    }

    /// The catalog lists them: from now on they are the table's.
    pub(crate) fn publish(&self) {
        self.table.publish(self.parts.clone());
    }

    /// The catalog may list them or not: their files stay until the next start finds out.
    pub(crate) fn keep(&self) {
        self.parts.iter().for_each(|part| part.keep_in_doubt());
    }
}
