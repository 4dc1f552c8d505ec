//! A lake that others write to: what they have done to tables is seen, and rows that they have added become parts.

use std::sync::Arc;

use squall_types::{Result, Schema};

use super::Databases;
use super::entry::Engine;
use crate::catalog::ForeignFile;
use crate::identity::TableName;
use crate::merge_tree::{ForeignRows, MergeTree};
use crate::table::Insertion;

/// Rows that another writer has added to a table, and that are not seen yet.
pub struct AddedRows {
    /// The table.
    pub table: Arc<TableName>,
    live: Arc<MergeTree>,
    files: Vec<ForeignFile>,
}

impl AddedRows {
    /// The files. Waits for the disk.
    ///
    /// # Errors
    /// Where it cannot be read which of their rows are deleted.
    pub fn files(&self) -> Result<Vec<ForeignRows>> {
        self.live.foreign_rows(&self.files)
    }

    /// The columns of the files: those that the table stores.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.live.identity().stored
    }

    /// Shows the rows, which have been written through an INSERT into the table, in the place of the files, together with all else that others
    /// have done to the table. `false`, and nothing has changed, where others have done more since.
    ///
    /// # Errors
    /// Where files or the catalog cannot be written.
    pub fn take_over(&self, insertion: &dyn Insertion) -> Result<bool> {
        match insertion.prepare()? {
            Some(parts) => parts.take_over(&self.files),
            None => Ok(false),
        }
    }
}

impl Databases {
    /// Takes over what others who write to the lake have done to parts since the last time, and tells which tables have rows of theirs: those
    /// stay as they are until they are [taken over](AddedRows::take_over). Waits for the disk.
    ///
    /// # Errors
    /// Where the catalog cannot be read.
    pub fn look_for_others(&self) -> Result<Vec<AddedRows>> {
        let Some(store) = &self.store else { return Ok(Vec::new()) };
        let mut added = Vec::new();
        store.catalog.look_for_others(|stored| {
            let state = self.state.load();
            for entry in state.values().flat_map(|database| database.tables.values()) {
                let Engine::MergeTree(live) = &entry.engine else { continue };
                let Some(now) = stored.get(&live.table_id()) else { continue };
                if now.foreign.is_empty() {
                    live.follow_lake(now, &[]);
                } else {
                    let (table, live, files) = (entry.name.clone(), live.clone(), now.foreign.clone());
                    added.push(AddedRows { table, live, files });
                }
            }
        })?;
        Ok(added)
    }
}
