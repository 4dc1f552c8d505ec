//! What a backup is made of: definitions as text, and parts' files with their descriptions. Where they are kept, and as what, is the server's
//! business; how they come back is `from_backup.rs`.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

use squall_types::{Error, ErrorCode, Result};

use super::Databases;
use super::entry::{Engine, Entry, is_made_up};
use crate::identity::TableName;
use crate::join_table::read_all;
use crate::merge_tree::PartsNow;
use crate::table::Table;
use crate::table_record::TableRecord;

/// A table at one moment, as a backup keeps it.
pub struct TableBackup {
    /// Its names.
    pub name: TableName,
    /// Its definition, as JSON.
    pub record: String,
    /// Its parts; those of a table that keeps its rows in memory are written for the backup.
    pub parts: Vec<PartBackup>,
}

/// A part of a table; its file stays as long as this is there.
pub struct PartBackup {
    /// The part's name.
    pub name: Arc<str>,
    /// Its partition.
    pub partition_id: Arc<str>,
    /// The file's length.
    pub bytes: u64,
    /// What the catalog knows of it.
    pub description: Vec<u8>,
    /// The file.
    pub path: PathBuf,
    /// Keeps the file.
    pub kept: Arc<dyn Any + Send + Sync>,
}

impl Databases {
    /// The stored tables that are wanted, all at one moment between two commits.
    ///
    /// # Errors
    /// `CANNOT_BACKUP_TABLE` for a table that cannot be opened.
    pub fn backup(&self, is_wanted: &dyn Fn(&TableName) -> bool) -> Result<Vec<TableBackup>> {
        let ddl = self.lock_ddl();
        let mut entries: Vec<Arc<Entry>> = self
            .state
            .load()
            .values()
            .flat_map(|database| database.tables.values())
            .filter(|entry| !matches!(entry.engine, Engine::Virtual(_)) && is_wanted(&entry.name))
            .cloned()
            .collect();
        entries.sort_unstable_by(|left, right| {
            (&left.name.database, &left.name.table).cmp(&(&right.name.database, &right.name.table))
        });
        let engines = entries.iter().map(|entry| &entry.engine);
        if let Some(Engine::Broken(table)) = engines.clone().find(|engine| matches!(engine, Engine::Broken(_))) {
            return Err(Error::new(ErrorCode::CANNOT_BACKUP_TABLE, table.failure.message.to_string()));
        }
        let store = self.store.as_ref();
        let store = store.ok_or_else(|| Error::new(ErrorCode::CANNOT_BACKUP_TABLE, "Nothing is stored here"))?;
        let now =
            || entries.iter().map(|entry| (entry.table(), entry.parts().map(|parts| parts.parts_now()))).collect();
        let of_this_moment: Vec<(Arc<dyn Table>, Option<PartsNow>)> = store.catalog.between_commits(now);
        drop(ddl);
        let mut backups = Vec::with_capacity(entries.len());
        for (entry, (table, parts)) in entries.iter().zip(of_this_moment) {
            let identity = entry.identity().ok_or_else(|| Error::logical("a stored table without a definition"))?;
            let record = TableRecord::of(&entry.name, identity);
            let keeps_rows_in_memory = matches!(entry.engine, Engine::Memory(..) | Engine::Join(..));
            let parts = match parts {
                Some(now) => match entry.parts() {
                    Some(table) => now.backup(table)?,
                    None => Vec::new(),
                },
                None if keeps_rows_in_memory && table.rows() != Some(0) => {
                    let blocks = read_all(&*table, identity)?.into_iter().map(Arc::unwrap_or_clone).collect();
                    store.table_of_parts(identity, &entry.name)?.backup_rows(blocks)?
                }
                None => Vec::new(),
            };
            let record = serde_json::to_string(&record).map_err(|error| Error::logical(error.to_string()))?;
            backups.push(TableBackup { name: TableName::clone(&entry.name), record, parts });
        }
        Ok(backups)
    }

    /// Whether a database is one that backups of everything leave out: it is made up by the server.
    pub fn is_left_out_of_backups(database: &str) -> bool {
        is_made_up(database)
    }
}
