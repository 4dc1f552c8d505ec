//! All databases and tables of a server: looked up without locks by every query, changed one DDL at a time.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use squall_planner::TableDefinition;
use squall_types::{Error, ErrorCode, Result};
use uuid::Uuid;

use crate::generated;
use crate::identity::{TableIdentity, TableName};
use crate::memory::{MemoryRows, MemoryTable};
use crate::null::NullTable;
use crate::table::Table;

/// The most databases, and tables of one database: a runaway client must not fill memory with names.
const NAMES_MAX: usize = 100_000;
/// The longest name of a database or table in bytes: ClickHouse's limit, that of a file's name.
const NAME_BYTES_MAX: usize = 206;

/// The databases of a server.
pub struct Databases {
    state: ArcSwap<State>,
    /// Held through a DDL, so that what was checked is still so when it is published.
    ddl: Mutex<()>,
}

type State = HashMap<Arc<str>, Arc<Database>>;

#[derive(Clone, Debug)]
struct Database {
    uuid: Uuid,
    comment: Arc<str>,
    tables: BTreeMap<Arc<str>, Arc<Entry>>,
}

#[derive(Debug)]
struct Entry {
    name: Arc<TableName>,
    engine: Engine,
}

/// What holds a table's rows.
#[derive(Clone, Debug)]
enum Engine {
    /// A table that somebody else implements and registered.
    Virtual(Arc<dyn Table>),
    Memory(Arc<TableIdentity>, Arc<MemoryRows>),
    Null(Arc<TableIdentity>),
}

/// A database, for `system.databases`.
#[derive(Clone, Debug)]
pub struct DatabaseDescription {
    /// The name.
    pub name: Arc<str>,
    /// `Atomic`, or `Memory` for the databases that the server makes up.
    pub engine: &'static str,
    /// Its identity through renames.
    pub uuid: Uuid,
    /// `COMMENT`.
    pub comment: Arc<str>,
}

/// A table with its definition, for `system.tables` and `SHOW CREATE TABLE`.
#[derive(Clone, Debug)]
pub struct TableDescription {
    /// The table at this moment.
    pub table: Arc<dyn Table>,
    /// Its identity through renames; nil for virtual tables.
    pub uuid: Uuid,
    /// How it was created; `None` for virtual tables.
    pub definition: Option<Arc<TableDefinition>>,
}

impl Entry {
    fn table(&self) -> Arc<dyn Table> {
        match &self.engine {
            Engine::Virtual(table) => table.clone(),
            Engine::Memory(identity, rows) => {
                Arc::new(MemoryTable::new(self.name.clone(), identity.clone(), rows.clone()))
            }
            Engine::Null(identity) => Arc::new(NullTable::new(self.name.clone(), identity.clone())),
        }
    }

    fn identity(&self) -> Option<&Arc<TableIdentity>> {
        match &self.engine {
            Engine::Virtual(_) => None,
            Engine::Memory(identity, _) | Engine::Null(identity) => Some(identity),
        }
    }
}

impl Databases {
    /// Databases that live as long as the process: `default` and `system` with the computed tables.
    pub fn in_memory() -> Arc<Self> {
        let databases = Self { state: ArcSwap::default(), ddl: Mutex::new(()) };
        databases.change(|state| {
            for name in ["default", "system"] {
                state.insert(name.into(), Arc::new(Database::new(Uuid::new_v4(), "")));
            }
        });
        for table in generated::system_tables() {
            databases.register(table);
        }
        Arc::new(databases)
    }

    /// A table at this moment.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`.
    pub fn table(&self, database: &str, table: &str) -> Result<Arc<dyn Table>> {
        let state = self.state.load();
        Ok(find(&state, database, table)?.table())
    }

    /// Whether there is such a table.
    pub fn has_table(&self, database: &str, table: &str) -> bool {
        find(&self.state.load(), database, table).is_ok()
    }

    /// Whether there is such a database.
    pub fn has_database(&self, database: &str) -> bool {
        self.state.load().contains_key(database)
    }

    /// All databases by name.
    pub fn databases(&self) -> Vec<DatabaseDescription> {
        let state = self.state.load();
        let mut databases: Vec<_> = state
            .iter()
            .map(|(name, database)| DatabaseDescription {
                name: name.clone(),
                engine: if is_made_up(name) { "Memory" } else { "Atomic" },
                uuid: database.uuid,
                comment: database.comment.clone(),
            })
            .collect();
        databases.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        databases
    }

    /// The tables of a database by name.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`.
    pub fn tables(&self, database: &str) -> Result<Vec<TableDescription>> {
        let state = self.state.load();
        Ok(database_of(&state, database)?.tables.values().map(|entry| entry.describe()).collect())
    }

    /// A table with its definition.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`.
    pub fn describe(&self, database: &str, table: &str) -> Result<TableDescription> {
        Ok(find(&self.state.load(), database, table)?.describe())
    }

    /// Adds (or replaces) a virtual table under its own names; its database comes into being where it is missing.
    pub fn register(&self, table: Arc<dyn Table>) {
        let _ddl = self.ddl.lock();
        let name = Arc::new(TableName::new(table.database(), table.name()));
        self.change(|state| {
            let database =
                state.entry(name.database.clone()).or_insert_with(|| Arc::new(Database::new(Uuid::new_v4(), "")));
            let entry = Entry { name: name.clone(), engine: Engine::Virtual(table) };
            Arc::make_mut(database).tables.insert(name.table.clone(), Arc::new(entry));
        });
    }

    /// `CREATE DATABASE`.
    ///
    /// # Errors
    /// `DATABASE_ALREADY_EXISTS`, and where the catalog cannot be written.
    pub fn create_database(&self, name: &str, if_not_exists: bool, comment: &str) -> Result<()> {
        check_name(name)?;
        let _ddl = self.ddl.lock();
        let state = self.state.load();
        if state.contains_key(name) {
            return if if_not_exists { Ok(()) } else { Err(database_exists(name)) };
        }
        if state.len() >= NAMES_MAX {
            return Err(too_many("databases"));
        }
        let database = Arc::new(Database::new(Uuid::new_v4(), comment));
        self.change(|state| {
            state.insert(name.into(), database);
        });
        Ok(())
    }

    /// `DROP DATABASE`: with all its tables.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`; `DATABASE_NOT_EMPTY` for `system`, whose tables are not stored.
    pub fn drop_database(&self, name: &str, if_exists: bool) -> Result<()> {
        let _ddl = self.ddl.lock();
        let state = self.state.load();
        let database = match database_of(&state, name) {
            Ok(database) => database.clone(),
            Err(_) if if_exists => return Ok(()),
            Err(error) => return Err(error),
        };
        if is_made_up(name) {
            return Err(Error::new(ErrorCode::DATABASE_NOT_EMPTY, format!("Database {name} cannot be dropped")));
        }
        self.change(|state| {
            state.remove(name);
        });
        for entry in database.tables.values() {
            entry.forget_rows();
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
        check_name(table)?;
        let _ddl = self.ddl.lock();
        let state = self.state.load();
        let in_database = database_of(&state, database)?;
        if in_database.tables.contains_key(table) {
            return if if_not_exists { Ok(()) } else { Err(table_exists(database, table)) };
        }
        if in_database.tables.len() >= NAMES_MAX {
            return Err(too_many("tables"));
        }
        let name = TableName::new(database, table);
        let engine = self.make_engine(definition)?;
        self.put(&[Entry { name: Arc::new(name), engine }]);
        Ok(())
    }

    /// `DROP TABLE`. Scans under way go on; what the table held on disk goes away after them.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`, `NOT_IMPLEMENTED` for virtual tables.
    pub fn drop_table(&self, database: &str, table: &str, if_exists: bool) -> Result<()> {
        let _ddl = self.ddl.lock();
        let state = self.state.load();
        let entry = match find(&state, database, table) {
            Ok(entry) => entry.clone(),
            Err(_) if if_exists => return Ok(()),
            Err(error) => return Err(error),
        };
        entry.refuse_virtual("Drop")?;
        self.change(|state| remove(state, &entry.name));
        entry.forget_rows();
        Ok(())
    }

    /// `TRUNCATE TABLE`.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`, `NOT_IMPLEMENTED` for virtual tables.
    pub fn truncate_table(&self, database: &str, table: &str, if_exists: bool) -> Result<()> {
        let _ddl = self.ddl.lock();
        let state = self.state.load();
        let entry = match find(&state, database, table) {
            Ok(entry) => entry.clone(),
            Err(_) if if_exists => return Ok(()),
            Err(error) => return Err(error),
        };
        entry.refuse_virtual("Truncate")?;
        match &entry.engine {
            Engine::Memory(_, rows) => rows.truncate(),
            Engine::Null(_) | Engine::Virtual(_) => {}
        }
        Ok(())
    }

    /// `RENAME TABLE`, also into another database.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`, `TABLE_ALREADY_EXISTS`, `NOT_IMPLEMENTED` for virtual tables.
    pub fn rename_table(&self, from: &TableName, to: &TableName) -> Result<()> {
        check_name(&to.table)?;
        let _ddl = self.ddl.lock();
        let state = self.state.load();
        let entry = find_quoted(&state, from)?.clone();
        entry.refuse_virtual("Rename")?;
        if database_of(&state, &to.database)?.tables.contains_key(&to.table) {
            return Err(table_exists(&to.database, &to.table));
        }
        let renamed = entry.renamed(to);
        self.change(|state| {
            remove(state, from);
            put(state, renamed);
        });
        Ok(())
    }

    /// `EXCHANGE TABLES`.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`, `NOT_IMPLEMENTED` for virtual tables.
    pub fn exchange_tables(&self, left: &TableName, right: &TableName) -> Result<()> {
        let _ddl = self.ddl.lock();
        let state = self.state.load();
        let (left_entry, right_entry) = (find_quoted(&state, left)?.clone(), find_quoted(&state, right)?.clone());
        left_entry.refuse_virtual("Exchange")?;
        right_entry.refuse_virtual("Exchange")?;
        self.put(&[left_entry.renamed(right), right_entry.renamed(left)]);
        Ok(())
    }

    fn make_engine(&self, definition: TableDefinition) -> Result<Engine> {
        let engine = definition.engine.clone();
        match &*engine {
            "Memory" | "Null" => {
                refuse_arguments(&definition)?;
                if !definition.sorting_key.is_empty()
                    || definition.primary_key.is_some()
                    || !definition.partition_key.is_empty()
                {
                    return Err(Error::new(
                        ErrorCode::BAD_ARGUMENTS,
                        format!(
                            "Engine {engine} doesn't support PARTITION_BY, PRIMARY_KEY, ORDER_BY or SAMPLE_BY clauses"
                        ),
                    ));
                }
                let identity = Arc::new(TableIdentity::new(Uuid::new_v4(), Arc::new(definition))?);
                Ok(match &*engine {
                    "Memory" => Engine::Memory(identity, MemoryRows::new()),
                    _ => Engine::Null(identity),
                })
            }
            _ => Err(unknown_engine(&engine)),
        }
    }

    fn put(&self, entries: &[Entry]) {
        self.change(|state| {
            for entry in entries {
                put(state, Entry { name: entry.name.clone(), engine: entry.engine.clone() });
            }
        });
    }

    /// Publishes a changed copy of the state. Callers hold `ddl`.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = State::clone(&self.state.load());
        change(&mut state);
        self.state.store(Arc::new(state));
    }
}

impl Database {
    fn new(uuid: Uuid, comment: &str) -> Self {
        Self { uuid, comment: comment.into(), tables: BTreeMap::new() }
    }
}

impl Entry {
    fn describe(&self) -> TableDescription {
        let identity = self.identity();
        TableDescription {
            table: self.table(),
            uuid: identity.map_or(Uuid::nil(), |identity| identity.uuid),
            definition: identity.map(|identity| identity.definition.clone()),
        }
    }

    fn renamed(&self, name: &TableName) -> Self {
        Self { name: Arc::new(name.clone()), engine: self.engine.clone() }
    }

    fn forget_rows(&self) {
        match &self.engine {
            Engine::Memory(_, rows) => rows.mark_dropped(),
            Engine::Null(_) | Engine::Virtual(_) => {}
        }
    }

    fn refuse_virtual(&self, verb: &str) -> Result<()> {
        match &self.engine {
            Engine::Virtual(table) => Err(Error::new(
                ErrorCode::NOT_IMPLEMENTED,
                format!("{verb} is not supported by storage {}", table.engine()),
            )),
            _ => Ok(()),
        }
    }
}

fn put(state: &mut State, entry: Entry) {
    if let Some(database) = state.get_mut(&entry.name.database) {
        Arc::make_mut(database).tables.insert(entry.name.table.clone(), Arc::new(entry));
    }
}

fn remove(state: &mut State, name: &TableName) {
    if let Some(database) = state.get_mut(&name.database) {
        Arc::make_mut(database).tables.remove(&name.table);
    }
}

fn is_made_up(database: &str) -> bool {
    matches!(database, "system" | "information_schema" | "INFORMATION_SCHEMA")
}

fn database_of<'a>(state: &'a State, database: &str) -> Result<&'a Arc<Database>> {
    state
        .get(database)
        .ok_or_else(|| Error::new(ErrorCode::UNKNOWN_DATABASE, format!("Database {database} does not exist")))
}

fn find<'a>(state: &'a State, database: &str, table: &str) -> Result<&'a Arc<Entry>> {
    database_of(state, database)?
        .tables
        .get(table)
        .ok_or_else(|| Error::new(ErrorCode::UNKNOWN_TABLE, format!("Table {database}.{table} does not exist")))
}

/// As RENAME and EXCHANGE word it.
fn find_quoted<'a>(state: &'a State, name: &TableName) -> Result<&'a Arc<Entry>> {
    database_of(state, &name.database)?.tables.get(&name.table).ok_or_else(|| {
        Error::new(ErrorCode::UNKNOWN_TABLE, format!("Table `{}`.`{}` doesn't exist", name.database, name.table))
    })
}

fn check_name(name: &str) -> Result<()> {
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

fn refuse_arguments(definition: &TableDefinition) -> Result<()> {
    match definition.engine_arguments.len() {
        0 => Ok(()),
        given => Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!("Engine {} doesn't support any arguments ({given} given)", definition.engine),
        )),
    }
}

/// ClickHouse's engines that are not here yet are told from names that are nobody's.
fn unknown_engine(engine: &str) -> Error {
    let family = engine.strip_prefix("Replicated").unwrap_or(engine);
    let is_merge_tree = family.ends_with("MergeTree");
    let others =
        ["Log", "TinyLog", "StripeLog", "Buffer", "Distributed", "Merge", "File", "URL", "Join", "Set", "Kafka", "S3"];
    if is_merge_tree || others.contains(&engine) {
        return Error::not_implemented(format!("Table engine {engine}"));
    }
    Error::new(ErrorCode::UNKNOWN_STORAGE, format!("Unknown table engine {engine}"))
}

fn database_exists(name: &str) -> Error {
    Error::new(ErrorCode::DATABASE_ALREADY_EXISTS, format!("Database {name} already exists"))
}

fn table_exists(database: &str, table: &str) -> Error {
    Error::new(ErrorCode::TABLE_ALREADY_EXISTS, format!("Table {database}.{table} already exists"))
}

fn too_many(what: &str) -> Error {
    Error::new(ErrorCode::LIMIT_EXCEEDED, format!("Too many {what}: the maximum is {NAMES_MAX}"))
}
