//! Statements about parts: they are dropped, detached, attached, checked and merged by their names.

use std::sync::Arc;
use std::time::SystemTime;

use squall_types::{Column, Error, ErrorCode, Result};

use super::Databases;
use super::entry::{Engine, find};
use super::merges::unix_s;
use crate::merge_tree::{DetachedPart, MergeTree, MergeType, PartSelection};
use crate::table::PartMerge;

/// What becomes of parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartCommand {
    /// `DROP PART`, `DROP PARTITION`.
    Drop,
    /// `DETACH PART`, `DETACH PARTITION`.
    Detach,
    /// `ATTACH PART`, `ATTACH PARTITION`.
    Attach,
    /// `DROP DETACHED PART`, `DROP DETACHED PARTITION`.
    DropDetached,
}

/// A merge may have put others in the place of parts that were selected: no more begin, so that this ends.
const TAKE_OUT_ATTEMPTS: usize = 100;

/// Takes the selected parts out of a table, whatever becomes of them meanwhile.
fn take_out(table: &Arc<MergeTree>, of: &PartSelection, take: &dyn Fn(&[Arc<str>]) -> Result<()>) -> Result<()> {
    let _hold = table.hold_merges();
    for _ in 0..TAKE_OUT_ATTEMPTS {
        let names = table.selected(of)?;
        if names.is_empty() {
            return Ok(());
        }
        match take(&names) {
            Err(error) if error.code == ErrorCode::NO_SUCH_DATA_PART && !matches!(of, PartSelection::Part(_)) => {}
            taken => return taken,
        }
    }
    take(&table.selected(of)?)
}

impl Databases {
    /// Takes parts out of a MergeTree table.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`, `NO_SUCH_DATA_PART`, `NOT_IMPLEMENTED` for tables without parts.
    pub fn drop_parts(&self, database: &str, table: &str, names: &[Arc<str>]) -> Result<()> {
        self.merge_tree(database, table)?.drop_parts(names)
    }

    /// Carries out a command of ALTER TABLE about parts. Waits for the disk.
    ///
    /// # Errors
    /// As [`drop_parts`](Self::drop_parts), `BAD_DATA_PART_NAME`; of parts that are attached those of reading them.
    pub fn change_parts(&self, database: &str, table: &str, command: PartCommand, of: &PartSelection) -> Result<()> {
        let table = self.merge_tree(database, table)?;
        match command {
            PartCommand::Drop => take_out(&table, of, &|names| table.drop_parts(names)),
            PartCommand::Detach => take_out(&table, of, &|names| table.detach_parts(names)),
            PartCommand::Attach => table.attach_parts(of),
            PartCommand::DropDetached => table.drop_detached(of),
        }
    }

    /// What is in the folder `detached/` of a table; nothing for tables that have no parts.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`, and where the folder cannot be read.
    pub fn detached_parts(&self, database: &str, table: &str) -> Result<Vec<DetachedPart>> {
        let state = self.state.load();
        find(&state, database, table)?.parts().map_or(Ok(Vec::new()), |parts| parts.detached_parts())
    }

    /// Reads and verifies a table's parts: each with what is wrong with it; nothing for tables that have no parts. Waits for the disk.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`, and as of [`change_parts`](Self::change_parts).
    pub fn check_parts(&self, database: &str, table: &str, of: &PartSelection) -> Result<Vec<(Arc<str>, Result<()>)>> {
        let entry = find(&self.state.load(), database, table)?.clone();
        if let Engine::Broken(table) = &entry.engine {
            return Ok(vec![("".into(), Err(table.failure.clone()))]);
        }
        entry.parts().map_or(Ok(Vec::new()), |parts| parts.check_parts(of))
    }

    /// The id of the partition that has these values of the partition key, each one row.
    ///
    /// # Errors
    /// `INVALID_PARTITION_VALUE`, and as of [`change_parts`](Self::change_parts).
    pub fn partition_id(&self, database: &str, table: &str, values: &[Column]) -> Result<Arc<str>> {
        self.merge_tree(database, table)?.partition_id(values)
    }

    /// Begins to rewrite parts of one partition of a MergeTree table as one; the caller carries it out.
    ///
    /// # Errors
    /// As [`drop_parts`](Self::drop_parts), `BAD_ARGUMENTS` for parts of several partitions, and where parts cannot be read.
    pub fn merge_parts(&self, database: &str, table: &str, names: &[Arc<str>]) -> Result<PartMerge> {
        self.merge_tree(database, table)?.merge_parts(names, MergeType::Regular, unix_s(SystemTime::now()))
    }

    pub(super) fn merge_tree(&self, database: &str, table: &str) -> Result<Arc<MergeTree>> {
        match &find(&self.state.load(), database, table)?.engine {
            Engine::MergeTree(table) if table.identity().definition.engine.ends_with("MergeTree") => Ok(table.clone()),
            Engine::MergeTree(table) => {
                let engine = &table.identity().definition.engine;
                let message = format!("Table engine {engine} doesn't support partitioning");
                Err(Error::new(ErrorCode::NOT_IMPLEMENTED, message))
            }
            Engine::Broken(table) => Err(table.failure.clone()),
            _ => Err(Error::not_implemented(format!("Parts of table {database}.{table}"))),
        }
    }
}
