//! Parts on their way into a backup and out of one.

use std::path::PathBuf;
use std::sync::Arc;

use squall_runtime::{Pieces, block_on};
use squall_types::{Block, Column, DataType, Result};

use super::insertion::concat;
use super::part::Part;
use super::part_description::PartDescription;
use super::part_footer::bad_name;
use super::part_name::PartName;
use super::part_writer::{write_error, write_part};
use super::{MergeTree, PartSet};
use crate::databases::PartBackup;

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
    pub(crate) fn backup(&self) -> Vec<PartBackup> {
        self.0.parts.iter().map(backup_of).collect()
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
    pub(crate) fn backup_rows(&self, blocks: Vec<Block>) -> Result<Vec<PartBackup>> {
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
            let name = PartName::of_insert(&"all".into(), self.next_block_number());
            let part = block_on(async {
                let mut pieces = Pieces::begin();
                let block = concat(&self.identity.stored, group, &mut pieces).await?;
                write_part(self, &name, block, false, &mut pieces).await
            })?;
            part.wait()?;
            written.push(PartBackup { path: self.directory.temporary(&part.part.file.path), ..backup_of(&part.part) });
        }
        Ok(written)
    }

    /// The rows of parts of a backup, for a table that keeps them in memory. Waits for the disk.
    ///
    /// # Errors
    /// As [`take_in`](Self::take_in).
    pub(crate) fn read_rows(&self, sources: &[PartSource]) -> Result<Vec<Block>> {
        self.directory.retire();
        let mut blocks = Vec::new();
        for source in sources {
            let part = self.copied(source)?;
            for (row_group, group) in part.description.row_groups.iter().enumerate() {
                let fields = self.identity.stored.fields.iter().enumerate();
                let column = |(at, (_, data_type)): (usize, &(Arc<str>, DataType))| {
                    Ok(Column::new(data_type.clone(), part.read_chunk(row_group, at)?))
                };
                let columns = fields.map(column).collect::<Result<Vec<Column>>>()?;
                blocks.push(Block::new(self.identity.stored.clone(), columns, group.rows));
            }
        }
        Ok(blocks)
    }

    /// Copies parts of a backup into the table, verifies them and commits them all at once.
    ///
    /// # Errors
    /// `CORRUPTED_DATA`, `CHECKSUM_DOESNT_MATCH`, and where files or the catalog cannot be written: then nothing has changed.
    pub(crate) fn take_in(&self, sources: &[PartSource]) -> Result<()> {
        let mut new = Vec::with_capacity(sources.len());
        for source in sources {
            new.push(self.copied(source)?);
        }
        self.commit_adopted(&new, &[])
    }

    /// A copy of a part, verified and not committed.
    fn copied(&self, source: &PartSource) -> Result<Arc<Part>> {
        let name = PartName::parse(&source.name).ok_or_else(|| bad_name(&source.name))?;
        let keys = super::key_types(&self.primary_key);
        let description = PartDescription::decode(&source.description, &keys, self.identity.stored.len())?;
        let disk = self.directory.disk();
        let bytes = disk.bytes(&source.path).map_err(|error| super::part::corrupted(&source.path, error))?;
        let file = self.next_file(name, bytes);
        let temporary = self.directory.temporary(&file.path);
        disk.copy(&source.path, &temporary).map_err(|error| write_error(&temporary, &error))?;
        self.verified(file, description)
    }
}
