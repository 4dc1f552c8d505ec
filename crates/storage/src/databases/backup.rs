//! What a backup is made of, and how tables come back from one: definitions as text, and parts' files with their descriptions. Where they are
//! kept, and as what, is the server's business.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

use squall_runtime::block_on;
use squall_types::{Error, ErrorCode, Result};
use uuid::Uuid;

use super::Databases;
use super::entry::{Engine, Entry, database_of, is_made_up};
use crate::identity::TableName;
use crate::join_table::read_all;
use crate::merge_tree::{PartSource, PartsNow};
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

/// How a table comes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RestoreOptions {
    /// `structure_only`: without its rows.
    pub structure_only: bool,
    /// `allow_non_empty_tables`: beside rows that a table of the name has.
    pub allow_non_empty_tables: bool,
}

impl Databases {
    /// The stored tables that are wanted, all at one moment between two commits.
    ///
    /// # Errors
    /// `CANNOT_BACKUP_TABLE` for a table that cannot be opened.
    pub fn backup(&self, is_wanted: &dyn Fn(&TableName) -> bool) -> Result<Vec<TableBackup>> {
        let ddl = self.ddl.lock();
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
            let record = TableRecord::new(&entry.name, identity.uuid, &identity.definition);
            let keeps_rows_in_memory = matches!(entry.engine, Engine::Memory(..) | Engine::Join(..));
            let parts = match parts {
                Some(parts) => parts.backup(),
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

    /// Makes a table of a backup, where there is none of the name, and takes its parts in, all at once.
    ///
    /// # Errors
    /// `CANNOT_RESTORE_TABLE` where the name has a table of another definition, or one with rows; `UNKNOWN_DATABASE`; and where parts cannot
    /// be read or written: then none of them is there.
    pub fn restore(&self, name: &TableName, record: &str, parts: &[PartSource], options: RestoreOptions) -> Result<()> {
        let cannot = |why: String| Error::new(ErrorCode::CANNOT_RESTORE_TABLE, why);
        let store = self.store.as_ref().ok_or_else(|| cannot("Nothing is stored here".to_owned()))?;
        let record = read_record(name, record)?;
        let entry = match self.table_to_restore(name, &record, !parts.is_empty(), options)? {
            Some(entry) => entry,
            None => {
                let own_name = record.name();
                if record.engine == "Dictionary" && *name != own_name {
                    return Err(Error::not_implemented("RESTORE of a dictionary under another name"));
                }
                let record = TableRecord { uuid: Uuid::new_v4().to_string(), ..record };
                self.create_restored(name, record.definition(&store.binding)?)?
            }
        };
        if options.structure_only || parts.is_empty() {
            return Ok(());
        }
        match &entry.engine {
            Engine::MergeTree(table) => table.take_in(parts),
            Engine::Join(_, rows) if rows.parts().is_some() => {
                rows.parts().map_or(Ok(()), |table| table.take_in(parts))?;
                rows.read_again()
            }
            Engine::Memory(..) | Engine::Join(..) => {
                let identity = entry.identity().ok_or_else(|| Error::logical("a stored table without a definition"))?;
                let blocks = store.table_of_parts(identity, &entry.name)?.read_rows(parts)?;
                let insertion = entry.table().insert()?;
                let mut writer = insertion.writer()?;
                for block in blocks {
                    writer.write(block)?.map_or(Ok(()), block_on)?;
                }
                writer.finish()?.map_or(Ok(()), block_on)?;
                insertion.commit()
            }
            _ => Err(cannot(format!(
                "Parts of {name} in the backup have no place in a table of the engine {}",
                entry.table().engine()
            ))),
        }
    }

    /// Whether [`restore`](Self::restore) would be refused for what is there, before anything is read or made.
    ///
    /// # Errors
    /// As of `restore`.
    pub fn check_restore(
        &self,
        name: &TableName,
        record: &str,
        has_parts: bool,
        options: RestoreOptions,
    ) -> Result<()> {
        if !self.has_database(&name.database) {
            return Ok(());
        }
        self.table_to_restore(name, &read_record(name, record)?, has_parts, options).map(drop)
    }

    /// The table of the name, where there is one that the backup's rows fit into.
    fn table_to_restore(
        &self,
        name: &TableName,
        record: &TableRecord,
        has_parts: bool,
        options: RestoreOptions,
    ) -> Result<Option<Arc<Entry>>> {
        let cannot = |why: String| Err(Error::new(ErrorCode::CANNOT_RESTORE_TABLE, why));
        let state = self.state.load();
        let Some(entry) = database_of(&state, &name.database)?.tables.get(&name.table) else { return Ok(None) };
        let is_same = match &entry.engine {
            Engine::Broken(_) | Engine::Virtual(_) => false,
            _ => entry.identity().is_some_and(|identity| {
                let known = TableRecord::new(name, identity.uuid, &identity.definition);
                known.engine == record.engine && known.has_structure_of(record)
            }),
        };
        if !is_same {
            return cannot(format!(
                "The table {name} already exists but has a different definition from the one in the backup"
            ));
        }
        let adds_rows = has_parts && !options.structure_only;
        if adds_rows && !options.allow_non_empty_tables && entry.table().rows() != Some(0) {
            return cannot(format!(
                "Cannot restore the table {name} because it already contains some data. You can set structure_only=true or \
                 allow_non_empty_tables=true to overcome that in the way you want"
            ));
        }
        Ok(Some(entry.clone()))
    }

    fn create_restored(&self, name: &TableName, definition: squall_planner::TableDefinition) -> Result<Arc<Entry>> {
        let _ddl = self.ddl.lock();
        let state = self.state.load();
        let in_database = database_of(&state, &name.database)?;
        super::detach::check_free(in_database, &name.database, &name.table)?;
        self.create(name.clone(), definition, in_database)?;
        let state = self.state.load();
        super::entry::find(&state, &name.database, &name.table).cloned()
    }

    /// Whether a database is one that backups of everything leave out: it is made up by the server.
    pub fn is_left_out_of_backups(database: &str) -> bool {
        is_made_up(database)
    }
}

fn read_record(name: &TableName, record: &str) -> Result<TableRecord> {
    serde_json::from_str(record).map_err(|error| {
        Error::new(ErrorCode::BACKUP_DAMAGED, format!("The definition of {name} cannot be read: {error}"))
    })
}
