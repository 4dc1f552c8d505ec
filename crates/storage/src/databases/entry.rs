//! What the state of all databases is made of: databases, the tables in them, and what holds a table's rows.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use squall_functions::FunctionContext;
use squall_planner::{
    ColumnDescription, MATERIALIZED_VIEW, MaterializedView, TABLE_FUNCTION, TableMetadata, VIEW, foreign_function,
    is_s3_engine, parse_dictionary, parse_table_function, parse_view,
};
use squall_sql::ast;
use squall_types::{Error, ErrorCode, Result};
use uuid::Uuid;

use super::definition::unknown_engine;
use super::{NAME_BYTES_MAX, NAMES_MAX, TableDescription};
use crate::dictionary::{Dictionary, DictionaryTable, DictionaryView, OnDemandSlot};
use crate::file_table::StoredFile;
use crate::function_table::FunctionTable;
use crate::identity::{TableIdentity, TableName};
use crate::join_table::{JoinRows, JoinTable};
use crate::memory::{MemoryRows, MemoryTable};
use crate::merge_tree::MergeTree;
use crate::null::NullTable;
use crate::table::{Insertion, ScanRequest, Table, TableScan};
use crate::table_record::TableRecord;
use crate::view::{View, ViewRows};

/// The database of computed tables.
pub(super) const SYSTEM: &str = "system";

pub(super) type State = HashMap<Arc<str>, Arc<Database>>;

#[derive(Clone, Debug)]
pub(super) struct Database {
    /// The number in the catalog; `None` where it is not stored.
    pub(super) id: Option<i64>,
    pub(super) uuid: Uuid,
    pub(super) comment: Arc<str>,
    pub(super) tables: BTreeMap<Arc<str>, Arc<Entry>>,
    /// Tables that DETACH took away, and whether they stay so when the server starts again.
    pub(super) detached: BTreeMap<Arc<str>, (Arc<Entry>, bool)>,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Arc<TableName>,
    pub(super) engine: Engine,
}

/// What holds a table's rows.
#[derive(Clone, Debug)]
pub(super) enum Engine {
    /// A table that somebody else implements and registered.
    Virtual(Arc<dyn Table>),
    Memory(Stored, Arc<MemoryRows>),
    Null(Stored),
    File(Stored),
    Join(Stored, Arc<JoinRows>),
    Dictionary(Stored, Arc<Dictionary>),
    /// Of the dictionary that the definition names.
    DictionaryView(Stored),
    /// Made `AS` a table function.
    Function(Stored, Arc<ast::Function>),
    View(Stored, Arc<ast::Query>),
    MaterializedView(Stored, Arc<MaterializedView>),
    MergeTree(Arc<MergeTree>),
    /// Of the catalog, and this server cannot open it.
    Broken(Arc<BrokenTable>),
}

/// A table that cannot be opened: whoever uses it learns why, and it can be dropped or detached.
#[derive(Debug)]
pub(super) struct BrokenTable {
    pub(super) id: i64,
    pub(super) record: TableRecord,
    pub(super) failure: Error,
}

impl TableMetadata for BrokenTable {
    fn database(&self) -> &str {
        &self.record.database
    }
    fn name(&self) -> &str {
        &self.record.table
    }
    fn engine(&self) -> &str {
        &self.record.engine
    }
    fn columns(&self) -> &[ColumnDescription] {
        &[]
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Table for BrokenTable {
    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        Err(self.failure.clone())
    }

    fn insert(&self) -> Result<Arc<dyn Insertion>> {
        Err(self.failure.clone())
    }
}

/// A table whose definition is kept, and under which number (`None` where nothing is kept).
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) id: Option<i64>,
    pub(super) identity: Arc<TableIdentity>,
}

impl Entry {
    pub(super) fn table(&self) -> Arc<dyn Table> {
        match &self.engine {
            Engine::Virtual(table) => table.clone(),
            Engine::Memory(stored, rows) => {
                Arc::new(MemoryTable::new(self.name.clone(), stored.identity.clone(), rows.clone()))
            }
            Engine::Null(stored) => Arc::new(NullTable::new(self.name.clone(), stored.identity.clone())),
            Engine::File(stored) => Arc::new(StoredFile::new(self.name.clone(), stored.identity.clone())),
            Engine::Join(_, rows) => Arc::new(JoinTable::new(self.name.clone(), rows.clone())),
            Engine::Dictionary(_, dictionary) => Arc::new(DictionaryTable::new(dictionary.clone())),
            Engine::DictionaryView(stored) => {
                Arc::new(DictionaryView::new(self.name.clone(), stored.identity.clone(), None))
            }
            Engine::Function(stored, function) => {
                Arc::new(FunctionTable::new(self.name.clone(), stored.identity.clone(), function.clone()))
            }
            Engine::View(stored, query) => {
                Arc::new(View::new(self.name.clone(), stored.identity.clone(), ViewRows::Query(query.clone())))
            }
            Engine::MaterializedView(stored, view) => {
                Arc::new(View::new(self.name.clone(), stored.identity.clone(), ViewRows::Target(view.clone())))
            }
            Engine::MergeTree(table) => Arc::new(table.snapshot(self.name.clone())),
            Engine::Broken(table) => table.clone(),
        }
    }

    pub(super) fn identity(&self) -> Option<&Arc<TableIdentity>> {
        match &self.engine {
            Engine::Virtual(_) | Engine::Broken(_) => None,
            Engine::Memory(stored, _)
            | Engine::Null(stored)
            | Engine::File(stored)
            | Engine::Join(stored, _)
            | Engine::Dictionary(stored, _)
            | Engine::DictionaryView(stored)
            | Engine::Function(stored, _)
            | Engine::View(stored, _)
            | Engine::MaterializedView(stored, _) => Some(&stored.identity),
            Engine::MergeTree(table) => Some(table.identity()),
        }
    }

    /// The table's number in the catalog.
    pub(super) fn id(&self) -> Option<i64> {
        match &self.engine {
            Engine::Virtual(_) => None,
            Engine::Memory(stored, _)
            | Engine::Null(stored)
            | Engine::File(stored)
            | Engine::Join(stored, _)
            | Engine::Dictionary(stored, _)
            | Engine::DictionaryView(stored)
            | Engine::Function(stored, _)
            | Engine::View(stored, _)
            | Engine::MaterializedView(stored, _) => stored.id,
            Engine::MergeTree(table) => Some(table.table_id()),
            Engine::Broken(table) => Some(table.id),
        }
    }
}

impl Engine {
    pub(super) fn in_memory(
        stored: Stored,
        name: &TableName,
        functions: &FunctionContext,
        on_demand: &OnDemandSlot,
    ) -> Result<Self> {
        let definition = &stored.identity.definition;
        match &*definition.engine {
            "Join" => {
                let rows = JoinRows::open(stored.identity.clone(), None)?;
                Ok(Self::Join(stored, rows))
            }
            "Dictionary" => {
                let Some(sql) = definition.dictionary_statement() else { return Ok(Self::DictionaryView(stored)) };
                let definition = parse_dictionary(sql, functions)?;
                let dictionary = Dictionary::new(name.clone(), stored.identity.uuid, definition, on_demand.clone())?;
                Ok(Self::Dictionary(stored, dictionary))
            }
            TABLE_FUNCTION => {
                let function = parse_table_function(definition.table_function().unwrap_or_default())?;
                Ok(Self::Function(stored, function))
            }
            VIEW => {
                let query = parse_view(definition.view_query().unwrap_or_default())?;
                Ok(Self::View(stored, query))
            }
            MATERIALIZED_VIEW => {
                let view = Arc::new(MaterializedView::of(definition)?);
                Ok(Self::MaterializedView(stored, view))
            }
            engine
                if matches!(engine, "Merge" | "Buffer" | "GenerateRandom" | "SQLite" | "Executable")
                    || foreign_function(engine).is_some() =>
            {
                let function = definition.function_of_engine().unwrap_or_default();
                let function = parse_table_function(&function)?;
                Ok(Self::Function(stored, function))
            }
            // Tables of a session have no disk.
            "Memory" | "TinyLog" | "Log" | "StripeLog" | "Set" => Ok(Self::Memory(stored, MemoryRows::new())),
            "Null" => Ok(Self::Null(stored)),
            "File" => Ok(Self::File(stored)),
            engine if is_s3_engine(engine) => Ok(Self::File(stored)),
            other => Err(unknown_engine(other)),
        }
    }
}

impl Database {
    pub(super) fn new(id: Option<i64>, uuid: Uuid, comment: &str) -> Self {
        Self { id, uuid, comment: comment.into(), tables: BTreeMap::new(), detached: BTreeMap::new() }
    }

    /// Takes over what is stored of a database whose computed tables are known already.
    pub(super) fn adopt(&mut self, stored: &Self) {
        (self.id, self.uuid) = (stored.id, stored.uuid);
        for (name, entry) in &stored.tables {
            self.tables.entry(name.clone()).or_insert_with(|| entry.clone());
        }
        self.detached.extend(stored.detached.clone());
    }
}

impl Entry {
    pub(super) fn describe(&self) -> TableDescription {
        let identity = self.identity();
        TableDescription {
            table: self.table(),
            uuid: self.uuid(),
            definition: identity.map(|identity| identity.definition.clone()),
        }
    }

    pub(super) fn uuid(&self) -> Uuid {
        match &self.engine {
            Engine::Broken(table) => table.record.uuid(),
            _ => self.identity().map_or(Uuid::nil(), |identity| identity.uuid),
        }
    }

    /// The parts that hold the rows.
    pub(super) fn parts(&self) -> Option<&Arc<MergeTree>> {
        match &self.engine {
            Engine::MergeTree(table) => Some(table),
            Engine::Join(_, rows) => rows.parts(),
            _ => None,
        }
    }

    /// Files beside its parts that go with the table: those that are detached.
    pub(super) fn needless_files(&self) -> Vec<String> {
        self.parts().map(|parts| parts.detached_files()).unwrap_or_default()
    }

    pub(super) fn renamed(&self, name: &TableName) -> Self {
        Self { name: Arc::new(name.clone()), engine: self.engine.clone() }
    }

    /// The error for the creation of another one of this name.
    pub(super) fn exists(&self) -> Error {
        match self.engine {
            Engine::Dictionary(..) => {
                let message = format!("Dictionary {} already exists", self.name);
                Error::new(ErrorCode::DICTIONARY_ALREADY_EXISTS, message)
            }
            _ => table_exists(&self.name.database, &self.name.table),
        }
    }

    /// The table as it is after a new start of the server: without the rows that are only in memory.
    pub(super) fn started_anew(self: &Arc<Self>) -> Result<Arc<Self>> {
        let engine = match &self.engine {
            Engine::Memory(stored, _) => Engine::Memory(stored.clone(), MemoryRows::new()),
            Engine::Join(stored, rows) if rows.parts().is_none() => {
                Engine::Join(stored.clone(), JoinRows::open(stored.identity.clone(), None)?)
            }
            _ => return Ok(self.clone()),
        };
        Ok(Arc::new(Self { name: self.name.clone(), engine }))
    }

    pub(super) fn forget_rows(&self) {
        match &self.engine {
            Engine::Memory(_, rows) => rows.mark_dropped(),
            Engine::Join(_, rows) => rows.mark_dropped(),
            Engine::MergeTree(table) => table.mark_dropped(),
            Engine::Null(_)
            | Engine::File(_)
            | Engine::Dictionary(..)
            | Engine::DictionaryView(_)
            | Engine::Function(..)
            | Engine::View(..)
            | Engine::MaterializedView(..)
            | Engine::Virtual(_)
            | Engine::Broken(_) => {}
        }
    }

    /// Refuses a dictionary where a table is dropped or detached.
    pub(super) fn refuse_dictionary(&self) -> Result<()> {
        match &self.engine {
            Engine::Dictionary(..) => Err(Error::new(
                ErrorCode::CANNOT_DETACH_DICTIONARY_AS_TABLE,
                format!(
                    "Cannot drop/detach dictionary {} as table, use DROP DICTIONARY or DETACH DICTIONARY query instead.",
                    self.name
                ),
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn refuse_virtual(&self, verb: &str) -> Result<()> {
        match &self.engine {
            Engine::Virtual(table) => Err(Error::new(
                ErrorCode::NOT_IMPLEMENTED,
                format!("{verb} is not supported by storage {}", table.engine()),
            )),
            Engine::Broken(table) if !matches!(verb, "Drop" | "Detach") => Err(table.failure.clone()),
            // Its name is part of what is kept of it.
            Engine::Dictionary(..) if matches!(verb, "Rename" | "Exchange") => {
                Err(Error::not_implemented("Renaming a dictionary"))
            }
            _ => Ok(()),
        }
    }
}

pub(super) fn put(state: &mut State, entry: Entry) {
    if let Some(database) = state.get_mut(&entry.name.database) {
        Arc::make_mut(database).tables.insert(entry.name.table.clone(), Arc::new(entry));
    }
}

pub(super) fn remove(state: &mut State, name: &TableName) {
    if let Some(database) = state.get_mut(&name.database) {
        Arc::make_mut(database).tables.remove(&name.table);
    }
}

pub(super) fn is_made_up(database: &str) -> bool {
    matches!(database, "system" | "information_schema" | "INFORMATION_SCHEMA")
}

pub(super) fn database_of<'a>(state: &'a State, database: &str) -> Result<&'a Arc<Database>> {
    state
        .get(database)
        .ok_or_else(|| Error::new(ErrorCode::UNKNOWN_DATABASE, format!("Database {database} does not exist")))
}

pub(super) fn find<'a>(state: &'a State, database: &str, table: &str) -> Result<&'a Arc<Entry>> {
    database_of(state, database)?
        .tables
        .get(table)
        .ok_or_else(|| Error::new(ErrorCode::UNKNOWN_TABLE, format!("Table {database}.{table} does not exist")))
}

/// The same; nothing where there is none, and that is right.
pub(super) fn find_if(state: &State, database: &str, table: &str, if_exists: bool) -> Result<Option<Arc<Entry>>> {
    match find(state, database, table) {
        Ok(entry) => Ok(Some(entry.clone())),
        Err(_) if if_exists => Ok(None),
        Err(error) => Err(error),
    }
}

/// As RENAME and EXCHANGE word it.
pub(super) fn find_quoted<'a>(state: &'a State, name: &TableName) -> Result<&'a Arc<Entry>> {
    database_of(state, &name.database)?.tables.get(&name.table).ok_or_else(|| {
        Error::new(ErrorCode::UNKNOWN_TABLE, format!("Table `{}`.`{}` doesn't exist", name.database, name.table))
    })
}

pub(super) fn check_name(name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "Name must not be empty"));
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(Error::new(
            ErrorCode::ARGUMENT_OUT_OF_BOUND,
            format!("The max length of a name is {NAME_BYTES_MAX}, current length is {}", name.len()),
        ));
    }
    Ok(())
}

pub(super) fn database_exists(name: &str) -> Error {
    Error::new(ErrorCode::DATABASE_ALREADY_EXISTS, format!("Database {name} already exists"))
}

pub(super) fn table_exists(database: &str, table: &str) -> Error {
    Error::new(ErrorCode::TABLE_ALREADY_EXISTS, format!("Table {database}.{table} already exists"))
}

pub(super) fn too_many(what: &str) -> Error {
    Error::new(ErrorCode::LIMIT_EXCEEDED, format!("Too many {what}: the maximum is {NAMES_MAX}"))
}
