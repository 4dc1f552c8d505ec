//! Changes of databases and tables: CREATE, DROP, TRUNCATE, RENAME and EXCHANGE, each recorded in the catalog before it is seen.

use std::sync::Arc;

use squall_functions::FunctionContext;
use squall_planner::{DictionaryDefinition, TableDefinition, renamed_dictionary, view_target};
use squall_types::{Error, ErrorCode, Result, Value};
use uuid::Uuid;

use super::definition::check_definition;
use super::detach::check_free;
use super::entry::{
    Database, Engine, Entry, SYSTEM, State, Stored, check_name, database_exists, database_of, find_if, find_quoted,
    is_made_up, put, remove, table_exists, too_many,
};
use super::{Databases, NAMES_MAX};
use crate::dictionary::DictionaryView;
use crate::identity::{TableIdentity, TableName};
use crate::table_record::TableRecord;

impl Databases {
    /// `CREATE DATABASE`.
    ///
    /// # Errors
    /// `DATABASE_ALREADY_EXISTS`, and where the catalog cannot be written.
    pub fn create_database(&self, name: &str, if_not_exists: bool, comment: &str) -> Result<()> {
        check_name(name)?;
        let _ddl = self.lock_ddl();
        let state = self.state.load();
        if state.contains_key(name) {
            return if if_not_exists { Ok(()) } else { Err(database_exists(name)) };
        }
        self.check_not_detached(name)?;
        if state.len() >= NAMES_MAX {
            return Err(too_many("databases"));
        }
        let uuid = Uuid::new_v4();
        let publish = |id| {
            self.change(|state| {
                state.insert(name.into(), Arc::new(Database::new(id, uuid, comment)));
            });
        };
        match &self.store {
            Some(store) => store.catalog.create_database(name, uuid, comment, |id| publish(Some(id)))?,
            None => publish(None),
        }
        Ok(())
    }

    /// Gives the database of computed tables a place in the catalog, so that it can have stored ones too.
    pub(super) fn store_system(&self) -> Result<()> {
        let _ddl = self.lock_ddl();
        let Some(store) = &self.store else { return Ok(()) };
        let uuid = Uuid::new_v4();
        store.catalog.create_database(SYSTEM, uuid, "", |id| {
            self.change(|state| {
                if let Some(system) = state.get_mut(SYSTEM) {
                    Arc::make_mut(system).adopt(&Database::new(Some(id), uuid, ""));
                }
            });
        })
    }

    /// `DROP DATABASE`: with all its tables.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`; `DATABASE_NOT_EMPTY` for `system`, whose tables are not stored.
    pub fn drop_database(&self, name: &str, if_exists: bool) -> Result<()> {
        let _ddl = self.lock_ddl();
        let state = self.state.load();
        let database = match database_of(&state, name) {
            Ok(database) => database.clone(),
            Err(_) if if_exists => return Ok(()),
            Err(error) => return Err(error),
        };
        if is_made_up(name) {
            return Err(Error::new(ErrorCode::DATABASE_NOT_EMPTY, format!("Database {name} cannot be dropped")));
        }
        let detached = database.detached.values().map(|(entry, _)| entry);
        let all: Vec<&Arc<Entry>> = database.tables.values().chain(detached).collect();
        let publish = || {
            self.change(|state| {
                state.remove(name);
            });
            all.iter().for_each(|entry| entry.forget_rows());
        };
        match (&self.store, database.id) {
            (Some(store), Some(id)) => {
                let tables: Vec<i64> = all.iter().filter_map(|entry| entry.id()).collect();
                let needless: Vec<String> = all.iter().flat_map(|entry| entry.needless_files()).collect();
                store.catalog.drop_database(id, &tables, &needless, publish)?;
            }
            _ => publish(),
        }
        Ok(())
    }

    /// `CREATE TABLE`.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `TABLE_ALREADY_EXISTS`, `UNKNOWN_STORAGE`, and where the definition does not suit its engine.
    pub fn create_table(
        &self,
        database: &str,
        table: &str,
        definition: TableDefinition,
        if_not_exists: bool,
    ) -> Result<()> {
        let _ddl = self.lock_ddl();
        let state = self.state.load();
        let in_database = database_of(&state, database)?;
        if in_database.tables.contains_key(table) {
            return if if_not_exists { Ok(()) } else { Err(table_exists(database, table)) };
        }
        check_new(in_database, database, table)?;
        let definition = check_definition(definition, self.store.is_some())?;
        if &*definition.engine == "Dictionary" {
            let name = definition.engine_arguments.first().and_then(Value::as_str).unwrap_or_default();
            let dictionary = self
                .dictionary_by_name(name, database)
                .ok_or_else(|| Error::new(ErrorCode::BAD_ARGUMENTS, format!("Dictionary (`{name}`) not found")))?;
            DictionaryView::check(&definition.columns, &dictionary)?;
        }
        self.create(TableName::new(database, table), definition, in_database, None)
    }

    /// `CREATE MATERIALIZED VIEW`, with the table for its rows where it has one.
    ///
    /// # Errors
    /// As of [`create_table`](Self::create_table).
    pub fn create_materialized_view(
        &self,
        name: &TableName,
        mut definition: TableDefinition,
        inner: Option<TableDefinition>,
        if_not_exists: bool,
    ) -> Result<()> {
        let _ddl = self.lock_ddl();
        let state = self.state.load();
        let in_database = database_of(&state, &name.database)?;
        if in_database.tables.contains_key(&name.table) {
            return if if_not_exists { Ok(()) } else { Err(table_exists(&name.database, &name.table)) };
        }
        check_new(in_database, &name.database, &name.table)?;
        let uuid = Uuid::new_v4();
        let mut tables = Vec::with_capacity(2);
        if let Some(inner) = inner {
            let name = TableName::new(name.database.clone(), format!(".inner_id.{uuid}"));
            view_target(&mut definition, &name.table);
            let inner = check_definition(inner, self.store.is_some())?;
            tables.push((name, TableIdentity::new(Uuid::new_v4(), Arc::new(inner))?));
        }
        let definition = check_definition(definition, self.store.is_some())?;
        tables.push((name.clone(), TableIdentity::new(uuid, Arc::new(definition))?));
        self.create_all(tables, in_database, None)
    }

    /// `CREATE DICTIONARY`.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `DICTIONARY_ALREADY_EXISTS`, `TABLE_ALREADY_EXISTS`.
    pub fn create_dictionary(
        &self,
        database: &str,
        name: &str,
        definition: DictionaryDefinition,
        if_not_exists: bool,
    ) -> Result<()> {
        let _ddl = self.lock_ddl();
        let state = self.state.load();
        let in_database = database_of(&state, database)?;
        match in_database.tables.get(name) {
            Some(_) if if_not_exists => return Ok(()),
            Some(entry) => return Err(entry.exists()),
            None => check_new(in_database, database, name)?,
        }
        self.create(TableName::new(database, name), dictionary_table(definition), in_database, None)
    }

    /// Makes a table that was checked, in the place of the one with the id `replaced`. Callers hold `ddl`.
    pub(super) fn create(
        &self,
        name: TableName,
        definition: TableDefinition,
        in_database: &Database,
        replaced: Option<i64>,
    ) -> Result<()> {
        let identity = TableIdentity::new(Uuid::new_v4(), Arc::new(definition))?;
        self.create_all(vec![(name, identity)], in_database, replaced)
    }

    /// Makes tables that were checked, all at once. Callers hold `ddl`.
    fn create_all(
        &self,
        tables: Vec<(TableName, TableIdentity)>,
        in_database: &Database,
        replaced: Option<i64>,
    ) -> Result<()> {
        let tables: Vec<_> = tables.into_iter().map(|(name, identity)| (Arc::new(name), Arc::new(identity))).collect();
        let mut entries = Vec::with_capacity(tables.len());
        match (&self.store, in_database.id) {
            (Some(store), Some(database_id)) => {
                for (_, identity) in &tables {
                    if identity.has_parts()? {
                        store.create_directory(&store.directory(identity))?;
                    }
                }
                let new: Vec<(&str, &TableIdentity)> =
                    tables.iter().map(|(name, identity)| (&*name.table, &**identity)).collect();
                let ids = store.catalog.create_tables(database_id, &new, replaced).inspect_err(|_| {
                    for (_, identity) in &tables {
                        let _ = store.catalog.disk().remove_folder(&store.directory(identity));
                    }
                })?;
                for (id, (name, identity)) in ids.into_iter().zip(tables) {
                    let record = TableRecord::of(&name, &identity);
                    let engine = store.engine(id, identity, record, (Vec::new(), &[]), &name)?;
                    entries.push(Entry { name, engine });
                }
            }
            _ => {
                for (name, identity) in tables {
                    let stored = Stored { id: None, identity };
                    let context = FunctionContext::outside_queries("UTC");
                    let engine = Engine::in_memory(stored, &name, &context, &self.on_demand)?;
                    entries.push(Entry { name, engine });
                }
            }
        }
        self.put(&entries);
        Ok(())
    }

    /// `DROP TABLE`. Scans under way go on; what the table held on disk goes away after them.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`, `NOT_IMPLEMENTED` for virtual tables.
    pub fn drop_table(&self, database: &str, table: &str, if_exists: bool) -> Result<()> {
        let _ddl = self.lock_ddl();
        let Some(entry) = find_if(&self.state.load(), database, table, if_exists)? else { return Ok(()) };
        entry.refuse_virtual("Drop")?;
        entry.refuse_dictionary()?;
        self.drop_entry(&entry)
    }

    /// `DROP DICTIONARY`.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`, `INCORRECT_QUERY` for a table.
    pub fn drop_dictionary(&self, database: &str, name: &str, if_exists: bool) -> Result<()> {
        let _ddl = self.lock_ddl();
        match find_if(&self.state.load(), database, name, if_exists)? {
            Some(entry) => {
                check_dictionary(&entry)?;
                self.drop_entry(&entry)
            }
            None => Ok(()),
        }
    }

    /// `CREATE OR REPLACE DICTIONARY`; `REPLACE DICTIONARY` where it must exist. At every moment there is the old one or the new one.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`, `INCORRECT_QUERY` for a table.
    pub fn replace_dictionary(
        &self,
        database: &str,
        name: &str,
        definition: DictionaryDefinition,
        must_exist: bool,
    ) -> Result<()> {
        let _ddl = self.lock_ddl();
        let state = self.state.load();
        let in_database = database_of(&state, database)?;
        let replaced = find_if(&state, database, name, !must_exist)?;
        match &replaced {
            Some(entry) => check_dictionary(entry)?,
            None => check_new(in_database, database, name)?,
        }
        let replaced = replaced.and_then(|entry| entry.id());
        self.create(TableName::new(database, name), dictionary_table(definition), in_database, replaced)
    }

    /// `RENAME DICTIONARY`: the dictionary is made anew under its other name, and loads its rows again when somebody wants them.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`, `TABLE_ALREADY_EXISTS`, `INCORRECT_QUERY` for a table.
    pub fn rename_dictionary(&self, from: &TableName, to: &TableName) -> Result<()> {
        let _ddl = self.lock_ddl();
        let state = self.state.load();
        let entry = find_quoted(&state, from)?.clone();
        let Engine::Dictionary(_, dictionary) = &entry.engine else { return check_dictionary(&entry) };
        let in_database = database_of(&state, &to.database)?;
        if in_database.tables.contains_key(&to.table) {
            return Err(table_exists(&to.database, &to.table));
        }
        check_new(in_database, &to.database, &to.table)?;
        let functions = FunctionContext::outside_queries("UTC");
        let definition = renamed_dictionary(&dictionary.definition().sql, &to.database, &to.table, &functions)?;
        self.create(to.clone(), dictionary_table(definition), in_database, entry.id())?;
        self.change(|state| remove(state, from));
        Ok(())
    }

    /// `RENAME DATABASE`.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `DATABASE_ALREADY_EXISTS`; `NOT_IMPLEMENTED` for one that holds dictionaries, or that the server makes up.
    pub fn rename_database(&self, from: &str, to: &str) -> Result<()> {
        check_name(to)?;
        let _ddl = self.lock_ddl();
        let state = self.state.load();
        let database = database_of(&state, from)?.clone();
        if state.contains_key(to) {
            return Err(database_exists(to));
        }
        self.check_not_detached(to)?;
        if is_made_up(from) {
            return Err(Error::not_implemented(format!("Renaming the database {from}")));
        }
        let mut renamed = Database::clone(&database);
        let name = |entry: &Arc<Entry>| {
            let name = TableName::new(to, entry.name.table.clone());
            Arc::new(entry.renamed(&name))
        };
        for entry in renamed.tables.values_mut() {
            entry.refuse_virtual("Rename")?;
            *entry = name(entry);
        }
        for (entry, _) in renamed.detached.values_mut() {
            *entry = name(entry);
        }
        let publish = || {
            for entry in renamed.tables.values() {
                if let Some(parts) = entry.parts() {
                    parts.rename(&entry.name);
                }
            }
            self.change(|state| {
                state.remove(from);
                state.insert(to.into(), Arc::new(renamed));
            });
        };
        match (&self.store, database.id) {
            (Some(store), Some(id)) => store.catalog.rename_database(id, to, publish),
            _ => {
                publish();
                Ok(())
            }
        }
    }

    /// Takes a table out. Callers hold `ddl`.
    fn drop_entry(&self, entry: &Arc<Entry>) -> Result<()> {
        // With the table for a materialized view's rows.
        let all: Vec<Arc<Entry>> = std::iter::once(entry.clone()).chain(self.inner_table(entry)).collect();
        let publish = || {
            self.change(|state| all.iter().for_each(|entry| remove(state, &entry.name)));
            all.iter().for_each(|entry| entry.forget_rows());
        };
        match (&self.store, entry.id()) {
            (Some(store), Some(_)) => {
                let ids: Vec<i64> = all.iter().filter_map(|entry| entry.id()).collect();
                let needless: Vec<String> = all.iter().flat_map(|entry| entry.needless_files()).collect();
                store.catalog.drop_tables(&ids, &needless, publish)?;
            }
            _ => publish(),
        }
        Ok(())
    }

    /// `TRUNCATE TABLE`.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`, `NOT_IMPLEMENTED` for virtual tables.
    pub fn truncate_table(&self, database: &str, table: &str, if_exists: bool) -> Result<()> {
        let _ddl = self.lock_ddl();
        let Some(entry) = find_if(&self.state.load(), database, table, if_exists)? else { return Ok(()) };
        entry.refuse_virtual("Truncate")?;
        match &entry.engine {
            Engine::Memory(_, rows) => rows.truncate(),
            Engine::Join(stored, rows) => match (&self.store, stored.id, rows.parts()) {
                (Some(store), Some(id), Some(parts)) => store.catalog.truncate_table(id, || {
                    parts.retire_parts();
                    rows.truncate();
                })?,
                _ => rows.truncate(),
            },
            Engine::MergeTree(table) => {
                if let Some(store) = &self.store {
                    store.catalog.truncate_table(table.table_id(), || table.retire_parts())?;
                }
            }
            Engine::Dictionary(..) | Engine::DictionaryView(_) => {
                return Err(Error::new(ErrorCode::NOT_IMPLEMENTED, "Truncate is not supported by storage Dictionary"));
            }
            Engine::MaterializedView(_, view) if view.has_inner_table() => {
                let inner = TableName::new(database, view.target_table.as_str());
                drop(_ddl);
                return self.truncate_table(&inner.database, &inner.table, if_exists);
            }
            Engine::Function(..) | Engine::View(..) | Engine::MaterializedView(..) => {
                let message = format!("Truncate is not supported by storage {}", entry.table().engine());
                return Err(Error::new(ErrorCode::NOT_IMPLEMENTED, message));
            }
            // Whoever has the file empties it.
            Engine::Null(_) | Engine::File(_) | Engine::Virtual(_) | Engine::Broken(_) => {}
        }
        Ok(())
    }

    /// `RENAME TABLE`, also into another database.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`, `TABLE_ALREADY_EXISTS`, `NOT_IMPLEMENTED` for virtual tables.
    pub fn rename_table(&self, from: &TableName, to: &TableName) -> Result<()> {
        check_name(&to.table)?;
        let _ddl = self.lock_ddl();
        let state = self.state.load();
        let entry = find_quoted(&state, from)?.clone();
        entry.refuse_virtual("Rename")?;
        if database_of(&state, &to.database)?.tables.contains_key(&to.table) {
            return Err(table_exists(&to.database, &to.table));
        }
        check_free(database_of(&state, &to.database)?, &to.database, &to.table)?;
        // The table for a materialized view's rows stays in the view's database.
        let inner = self.inner_table(&entry).filter(|_| from.database != to.database);
        let mut renamed = vec![entry.renamed(to)];
        renamed.extend(inner.iter().map(|inner| inner.renamed(&TableName::new(&*to.database, &*inner.name.table))));
        self.rename_in_catalog(&state, &renamed.iter().collect::<Vec<_>>(), || {
            self.change(|state| {
                remove(state, from);
                inner.iter().for_each(|inner| remove(state, &inner.name));
                renamed.iter().for_each(|entry| put(state, entry.renamed(&entry.name)));
            });
        })
    }

    /// `EXCHANGE TABLES`.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`, `NOT_IMPLEMENTED` for virtual tables.
    pub fn exchange_tables(&self, left: &TableName, right: &TableName) -> Result<()> {
        let _ddl = self.lock_ddl();
        let state = self.state.load();
        let (left_entry, right_entry) = (find_quoted(&state, left)?.clone(), find_quoted(&state, right)?.clone());
        left_entry.refuse_virtual("Exchange")?;
        right_entry.refuse_virtual("Exchange")?;
        let renamed = [left_entry.renamed(right), right_entry.renamed(left)];
        self.rename_in_catalog(&state, &[&renamed[0], &renamed[1]], || self.put(&renamed))
    }

    /// Records new names, then publishes them.
    fn rename_in_catalog(&self, state: &State, renamed: &[&Entry], publish: impl FnOnce()) -> Result<()> {
        let Some(store) = &self.store else {
            publish();
            return Ok(());
        };
        let mut renames = Vec::with_capacity(renamed.len());
        let publish = || {
            publish();
            for entry in renamed {
                if let Some(parts) = entry.parts() {
                    parts.rename(&entry.name);
                }
            }
        };
        for entry in renamed {
            let database = database_of(state, &entry.name.database)?;
            let (Some(table), Some(database)) = (entry.id(), database.id) else {
                return Err(Error::not_implemented("Renaming between a stored and an unstored database"));
            };
            renames.push((table, database, &*entry.name.table));
        }
        store.catalog.rename_tables(&renames, publish)
    }
}

pub(super) fn check_dictionary(entry: &Entry) -> Result<()> {
    match entry.engine {
        Engine::Dictionary(..) => Ok(()),
        _ => {
            let message = format!("Table {} is not a Dictionary", entry.name);
            Err(Error::new(ErrorCode::INCORRECT_QUERY, message))
        }
    }
}

/// Checks that a table of this name may be added.
fn check_new(in_database: &Database, database: &str, name: &str) -> Result<()> {
    check_name(name)?;
    check_free(in_database, database, name)?;
    if in_database.tables.len() >= NAMES_MAX {
        return Err(too_many("tables"));
    }
    Ok(())
}

/// What the catalog keeps of a dictionary.
fn dictionary_table(definition: DictionaryDefinition) -> TableDefinition {
    TableDefinition {
        constraints: Vec::new(),
        indices: Vec::new(),
        projections: Vec::new(),
        ttl: Vec::new(),
        columns: definition.columns,
        engine: "Dictionary".into(),
        engine_arguments: vec![Value::string(&*definition.sql)],
        sorting_key: Vec::new(),
        primary_key: None,
        partition_key: Vec::new(),
        sampling_key: None,
        settings: Vec::new(),
        comment: definition.comment,
    }
}
