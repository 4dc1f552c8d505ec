//! Rewriting a table's rows by queries, for ALTER TABLE … UPDATE and DELETE: each piece of the table is read as a table of its own, what a
//! query makes of it is written, and one commit puts all of that in the place of what was read.

use std::sync::Arc;

use squall_types::{Error, ErrorCode, Result};

use super::Databases;
use super::entry::{Engine, find};
use crate::external_table::TEMPORARY_DATABASE;
use crate::identity::TableName;
use crate::memory::RowRewriting;
use crate::merge_tree::{PartRewriting, PartSelection};
use crate::mutation::{MutationFence, MutationStep};
use crate::table::Table;

/// Which rows of a table are rewritten.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RewriteOf {
    /// Those of parts that a clause names; of a table without parts there is but everything.
    Parts(PartSelection),
    /// The same for DELETE FROM, where the table says what becomes of projections.
    PartsOfDelete(PartSelection),
    /// Those of parts that a clause names and that have deleted rows.
    Deleted(PartSelection),
    /// Those of parts in which readers of the lake do not find a column since its type was altered.
    Casts,
    /// Those of parts that a clause names, as far as they lack a skip index, or have one that they are to lose.
    Index {
        /// The parts.
        parts: PartSelection,
        /// The index.
        name: Arc<str>,
        /// `CLEAR INDEX` rather than `MATERIALIZE INDEX`.
        clears: bool,
    },
    /// Those of parts that a clause names, as far as they lack a projection, or have one that they are to lose.
    Projection {
        /// The parts.
        parts: PartSelection,
        /// The projection.
        name: Arc<str>,
        /// `CLEAR PROJECTION` rather than `MATERIALIZE PROJECTION`.
        clears: bool,
    },
}

/// A table whose rows are being rewritten. Dropped without a commit, nothing has changed.
pub struct Rewrite {
    work: Work,
}

enum Work {
    Parts(PartRewriting),
    Rows(RowRewriting),
}

impl Rewrite {
    /// The table's pieces: each as a table to read, under a name that is no other table's, and one to insert into what becomes of it.
    /// Pieces whose second table nothing is inserted into stay.
    pub fn pieces(&self, name: &str) -> Vec<(Arc<dyn Table>, Arc<dyn Table>)> {
        let name = Arc::new(TableName::new(TEMPORARY_DATABASE, name));
        match &self.work {
            Work::Parts(parts) => parts.pieces(&name),
            Work::Rows(rows) => vec![rows.piece(&name)],
        }
    }

    /// The names of the parts that [`pieces`](Self::pieces) are of; of rows in memory none.
    pub fn part_names(&self) -> Vec<Arc<str>> {
        match &self.work {
            Work::Parts(parts) => parts.names(),
            Work::Rows(_) => Vec::new(),
        }
    }

    /// The rows of all parts as one table, under a name that is no other table's: `_part_index` and `_part_offset` tell where each is. `None`
    /// where the rows are in no parts.
    pub fn source(&self, name: &str) -> Option<Arc<dyn Table>> {
        match &self.work {
            Work::Parts(parts) => Some(parts.source(&Arc::new(TableName::new(TEMPORARY_DATABASE, name)))),
            Work::Rows(_) => None,
        }
    }

    /// Has the commit delete rows of a part, which stays: the one of this number, and rows by their numbers. `false` where the part is better
    /// written without them.
    pub fn delete(&mut self, part: usize, rows: Vec<u32>) -> bool {
        match &mut self.work {
            Work::Parts(parts) => parts.delete(part, rows),
            Work::Rows(_) => false,
        }
    }

    /// Makes what was written the table's, all at once, with a step of the mutation that it is of. Waits for the disk.
    ///
    /// # Errors
    /// Where what was read has gone meanwhile, where the mutation was killed, and where the catalog cannot be written.
    pub fn commit(self, step: Option<MutationStep>) -> Result<()> {
        match self.work {
            Work::Parts(parts) => parts.commit(step),
            Work::Rows(rows) => rows.commit(),
        }
    }
}

impl Databases {
    /// Begins to rewrite a table's rows: of the parts that a mutation is about, where there is one.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`; `PART_IS_TEMPORARILY_LOCKED` where parts are being merged or rewritten;
    /// `NOT_IMPLEMENTED` for tables whose rows do not change.
    pub fn rewrite(
        &self,
        database: &str,
        table: &str,
        of: &RewriteOf,
        fence: Option<&MutationFence>,
    ) -> Result<Rewrite> {
        let entry = find(&self.state.load(), database, table)?.clone();
        let refused = || {
            let message = format!("Mutations are not supported by storage {}", entry.table().engine());
            Error::new(ErrorCode::NOT_IMPLEMENTED, message)
        };
        let work = match &entry.engine {
            Engine::MergeTree(table) if table.identity().definition.engine.ends_with("MergeTree") => {
                Work::Parts(match of {
                    RewriteOf::Parts(selection) => table.rewrite(selection, fence)?,
                    RewriteOf::PartsOfDelete(selection) => table.rewrite_for_delete(selection, fence)?,
                    RewriteOf::Deleted(selection) => table.rewrite_deleted(selection, fence)?,
                    RewriteOf::Casts => table.rewrite_casts()?,
                    RewriteOf::Index { parts, name, clears } => table.rewrite_index(parts, name, *clears, fence)?,
                    RewriteOf::Projection { parts, name, clears } => {
                        table.rewrite_projection(parts, name, *clears, fence)?
                    }
                })
            }
            Engine::Memory(stored, rows) if &*stored.identity.definition.engine == "Memory" => {
                Work::Rows(RowRewriting::new(stored.identity.clone(), rows.clone()))
            }
            Engine::Broken(table) => return Err(table.failure.clone()),
            _ => return Err(refused()),
        };
        Ok(Rewrite { work })
    }
}
