//! What others who write to the lake have done to a table: rows that they have deleted, parts that they have taken out, rows that they have
//! added.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::BooleanArray;
use squall_types::{Block, Result};

use super::deleted_rows::{DeletedRows, Deletions};
use crate::catalog::{ForeignFile, LakeTable, SeenDeletion};
use crate::merge_tree::parts::part::Part;
use crate::merge_tree::{MergeTree, PartSet};
use crate::part_event::PartEventKind;

/// A file of rows of another writer.
#[derive(Clone, Debug)]
pub struct ForeignRows {
    path: PathBuf,
    rows: u64,
    deleted: DeletedRows,
}

impl ForeignRows {
    /// The file, in Parquet.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its rows, with those that are deleted.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// What is left of some of the file's rows, the first of which is the one of this number.
    ///
    /// # Errors
    /// Where there is no memory.
    pub fn left(&self, first: usize, block: Block) -> Result<Block> {
        let rows = first..first + block.rows();
        let left: Vec<Range<usize>> = self.deleted.left(rows.clone()).collect();
        if left == [rows.clone()] {
            return Ok(block);
        }
        let mut mask = vec![false; block.rows()];
        for range in left {
            mask.get_mut(range.start - first..range.end - first).into_iter().for_each(|kept| kept.fill(true));
        }
        block.filter(&BooleanArray::from(mask))
    }
}

impl MergeTree {
    /// The rows of files of another writer. Waits for the disk.
    ///
    /// # Errors
    /// Where it cannot be read which of them are deleted.
    pub(crate) fn foreign_rows(&self, files: &[ForeignFile]) -> Result<Vec<ForeignRows>> {
        let rows = |file: &ForeignFile| {
            let deletion = self.directory.read_deletion(&file.deletion)?;
            Ok(ForeignRows {
                path: file.path.clone(),
                rows: file.rows,
                deleted: deletion.map(|deletion| deletion.rows).unwrap_or_default(),
            })
        };
        files.iter().map(rows).collect()
    }

    /// Takes over what the catalog says: which parts are gone and which of their rows are deleted, beside parts that are `new`. Readers see
    /// all of it at once. Called while nobody commits. The files of parts that are gone are left to who has taken them out.
    pub(crate) fn follow_lake(&self, now: &LakeTable, new: &[Arc<Part>]) {
        let set = self.parts.load_full();
        let is_there = |name: &str| now.parts.contains(name);
        let has_gone = set.parts.iter().any(|part| !is_there(&part.file.name));
        let mut deletions: Option<Deletions> = None;
        for part in set.parts.iter().filter(|part| is_there(&part.file.name)) {
            let Some(of_part) = now.deletions.get(&part.file.name) else { continue };
            let seen = SeenDeletion { path: of_part.path.clone(), inlined: of_part.inlined.len() };
            if set.deletions.seen(&part.file.name) == seen {
                continue;
            }
            match self.directory.read_deletion(of_part) {
                Ok(Some(deletion)) => {
                    let all = deletions.get_or_insert_with(|| Deletions::clone(&set.deletions));
                    all.insert(part.file.name.clone(), Arc::new(deletion));
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(%error, part = %part.file.name, "rows that another writer has deleted stay visible");
                }
            }
        }
        if deletions.is_none() && !has_gone && new.is_empty() {
            return;
        }
        new.iter().for_each(|part| part.settle());
        let mut deletions = deletions.unwrap_or_else(|| Deletions::clone(&set.deletions));
        deletions.retain(is_there);
        let deletions = Arc::new(deletions);
        self.parts.rcu(|set| {
            let left = set.parts.iter().filter(|part| is_there(&part.file.name));
            PartSet::new(left.chain(new).cloned().collect(), &self.identity, &deletions)
        });
        new.iter().for_each(|part| part.let_go());
        self.merging.note_change();
        new.iter().for_each(|part| self.note_part(part, PartEventKind::NewPart));
        let gone = set.parts.iter().filter(|part| !is_there(&part.file.name));
        gone.for_each(|part| self.note_part(part, PartEventKind::RemovePart));
    }
}
