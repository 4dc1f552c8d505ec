//! RESTORE: databases and tables of a backup, all of them or none. Everything is made, filled and verified while nobody sees it, then recorded
//! in the catalog by one transaction, and shown. Whatever goes wrong before that transaction, and a crash before its end, leaves nothing.

use std::collections::HashSet;
use std::sync::Arc;

use squall_runtime::block_on;
use squall_types::{Block, Error, ErrorCode, Result};
use uuid::Uuid;

use super::detach::check_free;
use super::entry::{Database, Engine, Entry, State, Stored, check_name, database_of, put, table_exists, too_many};
use super::store::Store;
use super::{Databases, NAMES_MAX};
use crate::catalog::{NewDatabase, NewTable, RestoredRecords};
use crate::identity::TableName;
use crate::join_table::JoinRows;
use crate::merge_tree::{CopiedParts, PartSource};
use crate::table::Insertion;
use crate::table_record::TableRecord;

/// How tables come back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RestoreOptions {
    /// `structure_only`: without their rows.
    pub structure_only: bool,
    /// `allow_non_empty_tables`: beside rows that a table of the name has.
    pub allow_non_empty_tables: bool,
}

/// A table of a backup.
#[derive(Clone, Debug)]
pub struct TableToRestore {
    /// The name that it gets.
    pub name: TableName,
    /// Its definition, as the backup has it.
    pub record: String,
    /// Its parts; none are brought where only the structure is wanted.
    pub parts: Vec<PartSource>,
}

/// A table that is made or found, with what it gets; nobody sees it yet.
struct Incoming {
    entry: Arc<Entry>,
    /// The backup's definition of it.
    record: TableRecord,
    is_new: bool,
    /// Whether the catalog lists it, or may.
    is_recorded: bool,
    rows: Rows,
}

/// The rows that a table gets.
enum Rows {
    None,
    Parts(CopiedParts),
    /// Of the engine `Join`, which holds them in memory too.
    Join(CopiedParts, Arc<JoinRows>, Vec<Arc<Block>>),
    InMemory(Arc<dyn Insertion>),
}

impl Rows {
    fn parts(&self) -> Option<&CopiedParts> {
        match self {
            Self::Parts(parts) | Self::Join(parts, ..) => Some(parts),
            Self::None | Self::InMemory(_) => None,
        }
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if self.is_new && !self.is_recorded {
            self.entry.forget_rows();
        }
    }
}

impl Databases {
    /// Brings databases, which are made where they are not there, and tables back. Where a table of the name is there already, it must be the same
    /// and get the rows. `check` is asked before each part. Waits for the disk.
    ///
    /// # Errors
    /// `CANNOT_RESTORE_TABLE` where the name has a table of another definition, or one with rows; `UNKNOWN_DATABASE`; those of `check`; and where
    /// parts or the catalog cannot be read or written. Then nothing has changed.
    pub fn restore(
        &self,
        databases: &[(String, String)],
        tables: &[TableToRestore],
        options: RestoreOptions,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        let store = self.store.as_ref().ok_or_else(|| cannot("Nothing is stored here".to_owned()))?;
        self.check_restore(databases, tables, options)?;
        let first = store.catalog.reserve_ids(databases.len() + tables.len())?;
        let (database_ids, table_ids) = (first.., first + databases.len() as i64..);
        let mut incoming = Vec::with_capacity(tables.len());
        for (table, id) in tables.iter().zip(table_ids) {
            check()?;
            let known = self.table_to_restore(&self.state.load(), table, options)?;
            incoming.push(store.incoming(table, known, id, check)?);
        }
        let _ddl = self.lock_ddl();
        // What has changed meanwhile.
        self.check_restore(databases, tables, options)?;
        let state = self.state.load();
        for incoming in &incoming {
            let name = &incoming.entry.name;
            let now = state.get(&name.database).and_then(|database| database.tables.get(&name.table));
            match now {
                Some(_) if incoming.is_new => return Err(table_exists(&name.database, &name.table)),
                Some(now) if now.uuid() == incoming.entry.uuid() => {}
                None if incoming.is_new => {}
                _ => return Err(cannot(format!("The table {name} has changed while it was restored"))),
            }
        }
        let new_databases: Vec<(&str, Database)> = databases
            .iter()
            .zip(database_ids)
            .filter(|((name, _), _)| !state.contains_key(name.as_str()))
            .map(|((name, comment), id)| (name.as_str(), Database::new(Some(id), Uuid::new_v4(), comment)))
            .collect();
        let records = records(&state, &new_databases, &incoming)?;
        let publish = || {
            self.change(|state| {
                for (name, database) in &new_databases {
                    state.insert((*name).into(), Arc::new(database.clone()));
                }
                for incoming in incoming.iter().filter(|incoming| incoming.is_new) {
                    put(state, Entry { name: incoming.entry.name.clone(), engine: incoming.entry.engine.clone() });
                }
            });
            incoming.iter().filter_map(|incoming| incoming.rows.parts()).for_each(CopiedParts::publish);
        };
        let recorded = store.catalog.restore(&records, publish);
        drop(records);
        if let Err(error) = recorded {
            if error.code == ErrorCode::UNKNOWN_STATUS_OF_INSERT {
                for incoming in &mut incoming {
                    incoming.is_recorded = true;
                    incoming.rows.parts().into_iter().for_each(CopiedParts::keep);
                }
            }
            return Err(error);
        }
        for incoming in &mut incoming {
            incoming.is_recorded = true;
            match &incoming.rows {
                Rows::None | Rows::Parts(_) => {}
                Rows::Join(_, rows, blocks) => rows.publish(blocks),
                // Refused only where the table was dropped, which waits for us.
                Rows::InMemory(insertion) => insertion.commit()?,
            }
        }
        Ok(())
    }

    /// What is refused is refused before anything is read or made.
    fn check_restore(
        &self,
        databases: &[(String, String)],
        tables: &[TableToRestore],
        options: RestoreOptions,
    ) -> Result<()> {
        let state = self.state.load();
        let mut names = HashSet::new();
        for (name, _) in databases.iter().filter(|(name, _)| !state.contains_key(name.as_str())) {
            check_name(name)?;
            self.check_not_detached(name)?;
        }
        if state.len() + databases.len() > NAMES_MAX {
            return Err(too_many("databases"));
        }
        for table in tables {
            let name = &table.name;
            if !names.insert(name) {
                return Err(cannot(format!("Several tables of the backup are to become {name}")));
            }
            let will_be = databases.iter().any(|(database, _)| **database == *name.database);
            let in_database = match database_of(&state, &name.database) {
                Err(_) if will_be => continue,
                in_database => in_database?,
            };
            if self.table_to_restore(&state, table, options)?.is_none() {
                check_name(&name.table)?;
                check_free(in_database, &name.database, &name.table)?;
                if in_database.tables.len() + tables.len() > NAMES_MAX {
                    return Err(too_many("tables"));
                }
            }
        }
        Ok(())
    }

    /// The table of the name, where there is one that the backup's rows fit into.
    fn table_to_restore(
        &self,
        state: &State,
        table: &TableToRestore,
        options: RestoreOptions,
    ) -> Result<Option<Arc<Entry>>> {
        let name = &table.name;
        let known = state.get(&name.database).and_then(|database| database.tables.get(&name.table));
        let Some(entry) = known else { return Ok(None) };
        let record = read_record(table)?;
        let is_same = match &entry.engine {
            Engine::Broken(_) | Engine::Virtual(_) => false,
            _ => entry.identity().is_some_and(|identity| {
                let known = TableRecord::of(name, identity);
                // Files are read by the ids that they say.
                known.engine == record.engine && known.has_structure_of(&record) && known.fields == record.fields
            }),
        };
        if !is_same {
            return Err(cannot(format!(
                "The table {name} already exists but has a different definition from the one in the backup"
            )));
        }
        let adds_rows = !table.parts.is_empty() && !options.structure_only;
        if adds_rows && !options.allow_non_empty_tables && entry.table().rows() != Some(0) {
            return Err(cannot(format!(
                "Cannot restore the table {name} because it already contains some data. You can set structure_only=true or \
                 allow_non_empty_tables=true to overcome that in the way you want"
            )));
        }
        Ok(Some(entry.clone()))
    }
}

impl Store {
    /// A table of a backup with its rows: one that is there, or a new one of this number.
    fn incoming(
        &self,
        table: &TableToRestore,
        known: Option<Arc<Entry>>,
        id: i64,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<Incoming> {
        let (is_new, record) = (known.is_none(), read_record(table)?);
        let entry = match known {
            Some(entry) => entry,
            None => {
                if record.engine == "Dictionary" && table.name != record.name() {
                    return Err(Error::not_implemented("RESTORE of a dictionary under another name"));
                }
                let definition = Arc::new(record.definition(&self.binding)?);
                let identity = Arc::new(record.identity_of(Uuid::new_v4(), definition)?);
                let record = TableRecord::of(&table.name, &identity);
                let engine = if identity.has_parts()? {
                    self.engine(id, identity, record, (Vec::new(), &[]), &table.name)?
                } else {
                    let stored = Stored { id: Some(id), identity };
                    Engine::in_memory(stored, &table.name, self.binding.functions(), &self.on_demand)?
                };
                Arc::new(Entry { name: Arc::new(table.name.clone()), engine })
            }
        };
        // From here on what was made goes with it.
        let mut incoming = Incoming { entry, record, is_new, is_recorded: false, rows: Rows::None };
        if !table.parts.is_empty() {
            incoming.rows = self.incoming_rows(&incoming, &table.parts, check)?;
        }
        Ok(incoming)
    }

    fn incoming_rows(&self, incoming: &Incoming, parts: &[PartSource], check: &dyn Fn() -> Result<()>) -> Result<Rows> {
        let entry = &incoming.entry;
        if let Engine::Join(_, rows) = &entry.engine
            && let Some(table) = rows.parts()
        {
            let parts = table.copies(parts, check)?;
            let blocks = parts.rows()?.into_iter().map(Arc::new).collect();
            return Ok(Rows::Join(parts, rows.clone(), blocks));
        }
        match &entry.engine {
            Engine::MergeTree(table) => Ok(Rows::Parts(table.copies(parts, check)?)),
            Engine::Memory(..) | Engine::Join(..) => {
                let identity = entry.identity().ok_or_else(|| Error::logical("a stored table without a definition"))?;
                let table = self.table_of_parts(identity, &entry.name)?.of_this_moment();
                let blocks = table.copies(parts, check)?.rows()?;
                let insertion = entry.table().insert()?;
                let mut writer = insertion.writer()?;
                for block in blocks {
                    writer.write(block)?.map_or(Ok(()), block_on)?;
                }
                writer.finish()?.map_or(Ok(()), block_on)?;
                Ok(Rows::InMemory(insertion))
            }
            _ => Err(cannot(format!(
                "Parts of {} in the backup have no place in a table of the engine {}",
                entry.name, incoming.record.engine
            ))),
        }
    }
}

/// What the catalog gets.
fn records<'a>(
    state: &State,
    databases: &'a [(&str, Database)],
    incoming: &'a [Incoming],
) -> Result<RestoredRecords<'a>> {
    let mut tables = Vec::new();
    for incoming in incoming.iter().filter(|incoming| incoming.is_new) {
        let name = &incoming.entry.name;
        let database = match databases.iter().find(|(new, _)| **new == *name.database) {
            Some((_, database)) => database,
            None => database_of(state, &name.database)?,
        };
        let (Some(id), Some(database)) = (incoming.entry.id(), database.id) else {
            return Err(cannot(format!("The database {} is not stored", name.database)));
        };
        let identity =
            incoming.entry.identity().ok_or_else(|| Error::logical("a stored table without a definition"))?;
        tables.push(NewTable { id, database, name: &name.table, identity });
    }
    let database = |(name, database): &'a (&str, Database)| {
        Some(NewDatabase { id: database.id?, name, uuid: database.uuid, comment: &database.comment })
    };
    Ok(RestoredRecords {
        databases: databases.iter().filter_map(database).collect(),
        tables,
        parts: incoming.iter().filter_map(|incoming| incoming.rows.parts()).map(CopiedParts::record).collect(),
    })
}

fn cannot(why: String) -> Error {
    Error::new(ErrorCode::CANNOT_RESTORE_TABLE, why)
}

fn read_record(table: &TableToRestore) -> Result<TableRecord> {
    serde_json::from_str(&table.record).map_err(|error| {
        Error::new(ErrorCode::BACKUP_DAMAGED, format!("The definition of {} cannot be read: {error}", table.name))
    })
}
