//! All databases and tables of a server: looked up without locks by every query, changed one DDL at a time.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use squall_functions::FunctionContext;
use squall_planner::{DictionaryDefinition, TableDefinition, parse_dictionary};
use squall_types::{Error, ErrorCode, Result, Value};
use uuid::Uuid;

use crate::catalog::{Catalog, StoredTable};
use crate::column_cache::{ColumnCache, ColumnCacheStatistics};
use crate::dictionary::{Dictionary, DictionaryTable, DictionaryView, OnDemandReader, OnDemandSlot};
use crate::generated;
use crate::identity::{TableIdentity, TableName};
use crate::join_table::{JoinDefinition, JoinRows, JoinTable, definition_of_parts};
use crate::key_binding::KeyBinding;
use crate::memory::{MemoryRows, MemoryTable};
use crate::merge_tree::{self, MergeTree, remove_file, write_error};
use crate::null::NullTable;
use crate::table::{PartMerge, Table};

/// The most databases, and tables of one database: a runaway client must not fill memory with names.
const NAMES_MAX: usize = 100_000;
/// The longest name of a database or table in bytes: ClickHouse's limit, that of a file's name.
const NAME_BYTES_MAX: usize = 206;

/// The databases of a server.
pub struct Databases {
    state: ArcSwap<State>,
    /// How often the state was changed.
    generation: AtomicU64,
    /// Held through a DDL, so that what was checked is still so when it is published.
    ddl: Mutex<()>,
    /// `None` where nothing outlives the process.
    disk: Option<Disk>,
    /// Dictionaries of configuration files, by the names that `dictGet` knows them by.
    configured: ArcSwap<BTreeMap<Arc<str>, Arc<Dictionary>>>,
    on_demand: OnDemandSlot,
}

/// Where databases are kept.
struct Disk {
    catalog: Arc<Catalog>,
    cache: Arc<ColumnCache>,
    data: PathBuf,
    binding: KeyBinding,
    on_demand: OnDemandSlot,
    /// Locked as long as the server lives: two servers over one directory would remove each other's files.
    _lock: File,
}

/// How databases are kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StorageOptions {
    /// The bound of the column cache in bytes; `None` is half of the memory that this process may use.
    pub column_cache_bytes: Option<usize>,
    /// The server's time zone, which dates of times in tables' keys depend on.
    pub time_zone: Arc<str>,
}

impl Default for StorageOptions {
    fn default() -> Self {
        Self { column_cache_bytes: None, time_zone: "UTC".into() }
    }
}

/// The database of computed tables.
const SYSTEM: &str = "system";

type State = HashMap<Arc<str>, Arc<Database>>;

#[derive(Clone, Debug)]
struct Database {
    /// The number in the catalog; `None` where it is not stored.
    id: Option<i64>,
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
    Memory(Stored, Arc<MemoryRows>),
    Null(Stored),
    Join(Stored, Arc<JoinRows>),
    Dictionary(Stored, Arc<Dictionary>),
    /// Of the dictionary that the definition names.
    DictionaryView(Stored),
    MergeTree(Arc<MergeTree>),
}

/// A table whose definition is kept, and under which number (`None` where nothing is kept).
#[derive(Clone, Debug)]
struct Stored {
    id: Option<i64>,
    identity: Arc<TableIdentity>,
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
            Engine::Memory(stored, rows) => {
                Arc::new(MemoryTable::new(self.name.clone(), stored.identity.clone(), rows.clone()))
            }
            Engine::Null(stored) => Arc::new(NullTable::new(self.name.clone(), stored.identity.clone())),
            Engine::Join(_, rows) => Arc::new(JoinTable::new(self.name.clone(), rows.clone())),
            Engine::Dictionary(_, dictionary) => Arc::new(DictionaryTable::new(dictionary.clone())),
            Engine::DictionaryView(stored) => {
                Arc::new(DictionaryView::new(self.name.clone(), stored.identity.clone(), None))
            }
            Engine::MergeTree(table) => Arc::new(table.snapshot(self.name.clone())),
        }
    }

    fn identity(&self) -> Option<&Arc<TableIdentity>> {
        match &self.engine {
            Engine::Virtual(_) => None,
            Engine::Memory(stored, _)
            | Engine::Null(stored)
            | Engine::Join(stored, _)
            | Engine::Dictionary(stored, _)
            | Engine::DictionaryView(stored) => Some(&stored.identity),
            Engine::MergeTree(table) => Some(table.identity()),
        }
    }

    /// The table's number in the catalog.
    fn id(&self) -> Option<i64> {
        match &self.engine {
            Engine::Virtual(_) => None,
            Engine::Memory(stored, _)
            | Engine::Null(stored)
            | Engine::Join(stored, _)
            | Engine::Dictionary(stored, _)
            | Engine::DictionaryView(stored) => stored.id,
            Engine::MergeTree(table) => Some(table.table_id()),
        }
    }
}

impl Databases {
    /// Databases that live as long as the process: `default` and `system` with the computed tables. There is no MergeTree.
    pub fn in_memory() -> Arc<Self> {
        let databases = Self::with(None, OnDemandSlot::default());
        databases.change(|state| {
            state.insert("default".into(), Arc::new(Database::new(None, Uuid::new_v4(), "")));
        });
        Arc::new(databases)
    }

    /// The databases kept in a directory, which comes into being where it is missing: `catalog.sqlite` and `data/`. Files that no
    /// commit knows are removed. A part that is damaged is reported and fails the queries that need it.
    ///
    /// # Errors
    /// Where the directory cannot be used, another server uses it, or the catalog cannot be read.
    pub fn open(path: &Path, options: &StorageOptions) -> Result<Arc<Self>> {
        let data = path.join("data");
        std::fs::create_dir_all(&data).map_err(|error| write_error(&data, &error))?;
        let data = data.canonicalize().map_err(|error| write_error(&data, &error))?;
        let lock = lock_directory(path)?;
        let catalog = Catalog::open(&path.join("catalog.sqlite"), &data)?;
        let cache = Arc::new(ColumnCache::new(options.column_cache_bytes.unwrap_or_else(default_cache_bytes)));
        let (stored_databases, stored_tables) = catalog.load()?;
        remove_unknown_files(&data, &stored_tables);
        catalog.forget_deleted_files()?;
        let has_system = stored_databases.iter().any(|database| database.name == SYSTEM);
        let has_default = stored_databases.iter().any(|database| database.name == "default");
        let mut names = HashMap::new();
        let mut state = State::new();
        for database in stored_databases {
            let name: Arc<str> = database.name.into();
            names.insert(database.id, name.clone());
            state.insert(name, Arc::new(Database::new(Some(database.id), database.uuid, &database.comment)));
        }
        let binding = KeyBinding::new(&options.time_zone);
        let on_demand = OnDemandSlot::default();
        let disk = Disk { catalog, cache, data, binding, on_demand: on_demand.clone(), _lock: lock };
        for table in stored_tables {
            let Some(database) = names.get(&table.database_id) else { continue };
            let name = Arc::new(TableName { database: database.clone(), table: table.name.as_str().into() });
            match disk.open_table(table, &name) {
                Ok(engine) => put(&mut state, Entry { name, engine }),
                // Other tables go on; this one is there again when whatever is missing is.
                Err(error) => tracing::error!(table = %name, %error, "a table cannot be opened"),
            }
        }
        let databases = Self::with(Some(disk), on_demand);
        databases.change(|all| {
            for (name, database) in state {
                match all.get_mut(&name) {
                    // `system`: stored tables beside computed ones, whose names win.
                    Some(known) => Arc::make_mut(known).adopt(&database),
                    None => drop(all.insert(name, database)),
                }
            }
        });
        if !has_default {
            databases.create_database("default", true, "")?;
        }
        if !has_system {
            databases.store_system()?;
        }
        Ok(Arc::new(databases))
    }

    fn with(disk: Option<Disk>, on_demand: OnDemandSlot) -> Self {
        let databases = Self {
            state: ArcSwap::default(),
            generation: AtomicU64::new(0),
            ddl: Mutex::new(()),
            disk,
            configured: ArcSwap::default(),
            on_demand,
        };
        for table in generated::system_tables() {
            databases.register(table);
        }
        databases
    }

    /// What the column cache did and holds.
    pub fn column_cache(&self) -> ColumnCacheStatistics {
        self.disk.as_ref().map(|disk| disk.cache.statistics()).unwrap_or_default()
    }

    /// Empties the column cache.
    pub fn clear_column_cache(&self) {
        if let Some(disk) = &self.disk {
            disk.cache.clear();
        }
    }

    /// A table at this moment.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`.
    pub fn table(&self, database: &str, table: &str) -> Result<Arc<dyn Table>> {
        let state = self.state.load();
        let entry = find(&state, database, table)?;
        if let Engine::DictionaryView(stored) = &entry.engine {
            let dictionary = self.dictionary_by_name(DictionaryView::dictionary_name(&stored.identity), database);
            let view = DictionaryView::new(entry.name.clone(), stored.identity.clone(), dictionary);
            return Ok(Arc::new(view));
        }
        Ok(entry.table())
    }

    /// A number that changes whenever a name comes to mean another table, or none.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// A dictionary by the name that `dictGet` knows it by: one of a configuration file, or `database.name`, or `name` in the current
    /// database.
    pub fn dictionary_by_name(&self, name: &str, current_database: &str) -> Option<Arc<Dictionary>> {
        if let Some(configured) = self.configured.load().get(name) {
            return Some(configured.clone());
        }
        let (database, name) = name.split_once('.').unwrap_or((current_database, name));
        self.dictionary(database, name)
    }

    /// Exchanges the dictionaries of configuration files. One whose definition stays the same stays as it is; the others begin anew, and
    /// are given back where they take the place of one that was loaded.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` for a default that is not of its attribute's type.
    pub fn set_configured_dictionaries(
        &self,
        definitions: Vec<(Arc<str>, DictionaryDefinition)>,
    ) -> Result<Vec<Arc<Dictionary>>> {
        let _ddl = self.ddl.lock();
        let before = self.configured.load_full();
        let (mut now, mut replaced) = (BTreeMap::new(), Vec::new());
        for (name, definition) in definitions {
            let known = before.get(&name);
            let is_same = |known: &&Arc<Dictionary>| {
                let known = known.definition();
                known.sql == definition.sql && known.origin == definition.origin
            };
            let dictionary = match known.filter(is_same) {
                Some(known) => known.clone(),
                None => {
                    let own_name = TableName::new("", name.clone());
                    let dictionary = Dictionary::new(own_name, Uuid::nil(), definition, self.on_demand.clone())?;
                    if known.is_some_and(|known| known.describe().is_loaded) {
                        replaced.push(dictionary.clone());
                    }
                    dictionary
                }
            };
            now.insert(name, dictionary);
        }
        if now.len() != before.len()
            || now.iter().any(|(name, new)| !before.get(name).is_some_and(|old| Arc::ptr_eq(old, new)))
        {
            self.configured.store(Arc::new(now));
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        Ok(replaced)
    }

    /// Says who reads dictionaries' sources while queries run.
    pub fn set_on_demand_reader(&self, reader: Box<dyn OnDemandReader>) {
        // The first one stays: there is one server.
        let _ = self.on_demand.set(reader);
    }

    /// A dictionary of a database.
    pub fn dictionary(&self, database: &str, name: &str) -> Option<Arc<Dictionary>> {
        let state = self.state.load();
        match &find(&state, database, name).ok()?.engine {
            Engine::Dictionary(_, dictionary) => Some(dictionary.clone()),
            _ => None,
        }
    }

    /// All dictionaries: those of configuration files, then those of databases, by database and name.
    pub fn dictionaries(&self) -> Vec<Arc<Dictionary>> {
        let state = self.state.load();
        let mut databases: Vec<_> = state.iter().collect();
        databases.sort_unstable_by(|left, right| left.0.cmp(right.0));
        let entries = databases.into_iter().flat_map(|(_, database)| database.tables.values());
        let dictionary = |entry: &Arc<Entry>| match &entry.engine {
            Engine::Dictionary(_, dictionary) => Some(dictionary.clone()),
            _ => None,
        };
        self.configured.load().values().cloned().chain(entries.filter_map(dictionary)).collect()
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
                engine: if is_made_up(name) && database.id.is_none() { "Memory" } else { "Atomic" },
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
                state.entry(name.database.clone()).or_insert_with(|| Arc::new(Database::new(None, Uuid::new_v4(), "")));
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
        let uuid = Uuid::new_v4();
        let publish = |id| {
            self.change(|state| {
                state.insert(name.into(), Arc::new(Database::new(id, uuid, comment)));
            });
        };
        match &self.disk {
            Some(disk) => disk.catalog.create_database(name, uuid, comment, |id| publish(Some(id)))?,
            None => publish(None),
        }
        Ok(())
    }

    /// Gives the database of computed tables a place in the catalog, so that it can have stored ones too.
    fn store_system(&self) -> Result<()> {
        let _ddl = self.ddl.lock();
        let Some(disk) = &self.disk else { return Ok(()) };
        let uuid = Uuid::new_v4();
        disk.catalog.create_database(SYSTEM, uuid, "", |id| {
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
        let publish = || {
            self.change(|state| {
                state.remove(name);
            });
            database.tables.values().for_each(|entry| entry.forget_rows());
        };
        match (&self.disk, database.id) {
            (Some(disk), Some(id)) => {
                let tables: Vec<i64> = database.tables.values().filter_map(|entry| entry.id()).collect();
                disk.catalog.drop_database(id, &tables, publish)?;
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
        let definition = check_definition(definition, self.disk.is_some())?;
        if &*definition.engine == "Dictionary" {
            let name = definition.engine_arguments.first().and_then(Value::as_str).unwrap_or_default();
            let dictionary = self
                .dictionary_by_name(name, database)
                .ok_or_else(|| Error::new(ErrorCode::BAD_ARGUMENTS, format!("Dictionary (`{name}`) not found")))?;
            DictionaryView::check(&definition.columns, &dictionary)?;
        }
        self.create(TableName::new(database, table), definition, in_database)
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
        check_name(name)?;
        let _ddl = self.ddl.lock();
        let state = self.state.load();
        let in_database = database_of(&state, database)?;
        match in_database.tables.get(name).map(|entry| &entry.engine) {
            Some(_) if if_not_exists => return Ok(()),
            Some(Engine::Dictionary(..)) => {
                let message = format!("Dictionary {database}.{name} already exists");
                return Err(Error::new(ErrorCode::DICTIONARY_ALREADY_EXISTS, message));
            }
            Some(_) => return Err(table_exists(database, name)),
            None => {}
        }
        if in_database.tables.len() >= NAMES_MAX {
            return Err(too_many("tables"));
        }
        let table = TableDefinition {
            columns: definition.columns,
            engine: "Dictionary".into(),
            engine_arguments: vec![Value::string(&*definition.sql)],
            sorting_key: Vec::new(),
            primary_key: None,
            partition_key: Vec::new(),
            settings: Vec::new(),
            comment: definition.comment,
        };
        self.create(TableName::new(database, name), table, in_database)
    }

    /// Makes a table that was checked. Callers hold `ddl`.
    fn create(&self, name: TableName, definition: TableDefinition, in_database: &Database) -> Result<()> {
        let identity = Arc::new(TableIdentity::new(Uuid::new_v4(), Arc::new(definition))?);
        let name = Arc::new(name);
        match (&self.disk, in_database.id) {
            (Some(disk), Some(database_id)) => {
                let directory = disk.directory(&identity);
                let table = &*name.table;
                if has_parts(&identity.definition)? {
                    disk.create_directory(&directory)?;
                }
                let id = disk.catalog.create_table(database_id, table, &identity).inspect_err(|_| {
                    let _ = std::fs::remove_dir(&directory);
                })?;
                let engine = disk.engine(id, identity, Vec::new(), &name)?;
                self.put(&[Entry { name, engine }]);
            }
            _ => {
                let stored = Stored { id: None, identity };
                let context = FunctionContext::outside_queries("UTC");
                let engine = Engine::in_memory(stored, &name, &context, &self.on_demand)?;
                self.put(&[Entry { name, engine }]);
            }
        }
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
        if let Engine::Dictionary(..) = &entry.engine {
            return Err(Error::new(
                ErrorCode::CANNOT_DETACH_DICTIONARY_AS_TABLE,
                format!(
                    "Cannot drop/detach dictionary {database}.{table} as table, use DROP DICTIONARY or DETACH DICTIONARY query \
                     instead."
                ),
            ));
        }
        self.drop_entry(&entry)
    }

    /// `DROP DICTIONARY`.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`, `INCORRECT_QUERY` for a table.
    pub fn drop_dictionary(&self, database: &str, name: &str, if_exists: bool) -> Result<()> {
        let _ddl = self.ddl.lock();
        let state = self.state.load();
        let entry = match find(&state, database, name) {
            Ok(entry) => entry.clone(),
            Err(_) if if_exists => return Ok(()),
            Err(error) => return Err(error),
        };
        match &entry.engine {
            Engine::Dictionary(..) => self.drop_entry(&entry),
            _ => {
                let message = format!("Table {database}.{name} is not a Dictionary");
                Err(Error::new(ErrorCode::INCORRECT_QUERY, message))
            }
        }
    }

    /// Takes a table out. Callers hold `ddl`.
    fn drop_entry(&self, entry: &Arc<Entry>) -> Result<()> {
        let publish = || {
            self.change(|state| remove(state, &entry.name));
            entry.forget_rows();
        };
        match (&self.disk, entry.id()) {
            (Some(disk), Some(id)) => disk.catalog.drop_table(id, publish)?,
            _ => publish(),
        }
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
            Engine::Join(stored, rows) => match (&self.disk, stored.id, rows.parts()) {
                (Some(disk), Some(id), Some(parts)) => disk.catalog.truncate_table(id, || {
                    parts.retire_parts();
                    rows.truncate();
                })?,
                _ => rows.truncate(),
            },
            Engine::MergeTree(table) => {
                if let Some(disk) = &self.disk {
                    disk.catalog.truncate_table(table.table_id(), || table.retire_parts())?;
                }
            }
            Engine::Dictionary(..) | Engine::DictionaryView(_) => {
                return Err(Error::new(ErrorCode::NOT_IMPLEMENTED, "Truncate is not supported by storage Dictionary"));
            }
            Engine::Null(_) | Engine::Virtual(_) => {}
        }
        Ok(())
    }

    /// Takes parts out of a MergeTree table.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`, `NO_SUCH_DATA_PART`, `NOT_IMPLEMENTED` for tables without parts.
    pub fn drop_parts(&self, database: &str, table: &str, names: &[Arc<str>]) -> Result<()> {
        self.merge_tree(database, table)?.drop_parts(names)
    }

    /// Begins to rewrite parts of one partition of a MergeTree table as one; the caller carries it out.
    ///
    /// # Errors
    /// As [`drop_parts`](Self::drop_parts), `BAD_ARGUMENTS` for parts of several partitions, and where parts cannot be read.
    pub fn merge_parts(&self, database: &str, table: &str, names: &[Arc<str>]) -> Result<PartMerge> {
        self.merge_tree(database, table)?.merge_parts(names)
    }

    fn merge_tree(&self, database: &str, table: &str) -> Result<Arc<MergeTree>> {
        match &find(&self.state.load(), database, table)?.engine {
            Engine::MergeTree(table) => Ok(table.clone()),
            _ => Err(Error::not_implemented(format!("Parts of table {database}.{table}"))),
        }
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
        self.rename_in_catalog(&state, &[&renamed], || {
            self.change(|state| {
                remove(state, from);
                put(state, renamed.renamed(to));
            });
        })
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
        let renamed = [left_entry.renamed(right), right_entry.renamed(left)];
        self.rename_in_catalog(&state, &[&renamed[0], &renamed[1]], || self.put(&renamed))
    }

    /// Records new names, then publishes them.
    fn rename_in_catalog(&self, state: &State, renamed: &[&Entry], publish: impl FnOnce()) -> Result<()> {
        let Some(disk) = &self.disk else {
            publish();
            return Ok(());
        };
        let mut renames = Vec::with_capacity(renamed.len());
        for entry in renamed {
            let database = database_of(state, &entry.name.database)?;
            let (Some(table), Some(database)) = (entry.id(), database.id) else {
                return Err(Error::not_implemented("Renaming between a stored and an unstored database"));
            };
            renames.push((table, database, &*entry.name.table));
        }
        disk.catalog.rename_tables(&renames, publish)
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
        self.generation.fetch_add(1, Ordering::AcqRel);
    }
}

impl Disk {
    fn directory(&self, identity: &TableIdentity) -> PathBuf {
        self.data.join(identity.uuid.to_string())
    }

    /// Makes a directory whose name is on disk when this returns.
    fn create_directory(&self, directory: &Path) -> Result<()> {
        std::fs::create_dir_all(directory)
            .and_then(|()| File::open(&self.data)?.sync_all())
            .map_err(|error| write_error(directory, &error))
    }

    fn open_table(&self, table: StoredTable, name: &TableName) -> Result<Engine> {
        let definition = table.definition(|sql, columns| self.binding.bind(sql, columns))?;
        let identity = Arc::new(TableIdentity::new(table.uuid, Arc::new(definition))?);
        self.engine(table.id, identity, table.parts, name)
    }

    fn engine(
        &self,
        id: i64,
        identity: Arc<TableIdentity>,
        parts: Vec<crate::catalog::StoredPart>,
        name: &TableName,
    ) -> Result<Engine> {
        if !has_parts(&identity.definition)? {
            let stored = Stored { id: Some(id), identity };
            return Engine::in_memory(stored, name, self.binding.functions(), &self.on_demand);
        }
        let directory = self.directory(&identity);
        let (catalog, cache) = (self.catalog.clone(), self.cache.clone());
        if &*identity.definition.engine == "Join" {
            let of_parts = Arc::new(definition_of_parts(&identity)?);
            let parts = MergeTree::open(id, of_parts, directory, parts, catalog, cache)?;
            let rows = JoinRows::open(identity.clone(), Some(parts))?;
            return Ok(Engine::Join(Stored { id: Some(id), identity }, rows));
        }
        Ok(Engine::MergeTree(MergeTree::open(id, identity, directory, parts, catalog, cache)?))
    }
}

impl Engine {
    fn in_memory(
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
            "Memory" => Ok(Self::Memory(stored, MemoryRows::new())),
            "Null" => Ok(Self::Null(stored)),
            other => Err(unknown_engine(other)),
        }
    }
}

impl Database {
    fn new(id: Option<i64>, uuid: Uuid, comment: &str) -> Self {
        Self { id, uuid, comment: comment.into(), tables: BTreeMap::new() }
    }

    /// Takes over what is stored of a database whose computed tables are known already.
    fn adopt(&mut self, stored: &Self) {
        (self.id, self.uuid) = (stored.id, stored.uuid);
        for (name, entry) in &stored.tables {
            self.tables.entry(name.clone()).or_insert_with(|| entry.clone());
        }
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
            Engine::Join(_, rows) => rows.mark_dropped(),
            Engine::MergeTree(table) => table.mark_dropped(),
            Engine::Null(_) | Engine::Dictionary(..) | Engine::DictionaryView(_) | Engine::Virtual(_) => {}
        }
    }

    fn refuse_virtual(&self, verb: &str) -> Result<()> {
        match &self.engine {
            Engine::Virtual(table) => Err(Error::new(
                ErrorCode::NOT_IMPLEMENTED,
                format!("{verb} is not supported by storage {}", table.engine()),
            )),
            // Its name is part of what is kept of it.
            Engine::Dictionary(..) if matches!(verb, "Rename" | "Exchange") => {
                Err(Error::not_implemented("Renaming a dictionary"))
            }
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

/// A definition that its engine can have, with what the engine takes by default written out.
fn check_definition(definition: TableDefinition, has_disk: bool) -> Result<TableDefinition> {
    let engine = definition.engine.clone();
    match &*engine {
        "Memory" | "Null" | "Join" | "Dictionary" => {
            match &*engine {
                "Join" => drop(JoinDefinition::new(&definition)?),
                "Dictionary"
                    if definition.engine_arguments.len() != 1 || definition.dictionary_statement().is_some() =>
                {
                    return Err(Error::new(
                        ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                        "Storage Dictionary requires single parameter: name of dictionary",
                    ));
                }
                "Dictionary" => {}
                _ => refuse_arguments(&definition)?,
            }
            if !definition.sorting_key.is_empty()
                || definition.primary_key.is_some()
                || !definition.partition_key.is_empty()
            {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!("Engine {engine} doesn't support PARTITION_BY, PRIMARY_KEY, ORDER_BY or SAMPLE_BY clauses"),
                ));
            }
            Ok(definition)
        }
        "MergeTree" if has_disk => merge_tree::check_definition(definition),
        _ => Err(unknown_engine(&engine)),
    }
}

/// Whether the rows of such a table are kept in parts on disk.
fn has_parts(definition: &TableDefinition) -> Result<bool> {
    Ok(match &*definition.engine {
        "MergeTree" => true,
        "Join" => JoinDefinition::new(definition)?.is_persistent,
        _ => false,
    })
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
    let others = ["Log", "TinyLog", "StripeLog", "Buffer", "Distributed", "Merge", "File", "URL", "Set", "Kafka", "S3"];
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

fn lock_directory(path: &Path) -> Result<File> {
    let lock_path = path.join("squall.lock");
    let lock = File::create(&lock_path).map_err(|error| write_error(&lock_path, &error))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(error) => Err(Error::new(
            ErrorCode::CANNOT_OPEN_FILE,
            format!("Cannot lock {}: another server uses this directory ({error})", lock_path.display()),
        )),
    }
}

/// Half of the memory that this process may use.
fn default_cache_bytes() -> usize {
    let number = |text: String| text.trim().parse::<usize>().ok();
    let cgroup = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(number);
    let total = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
    });
    let available = cgroup.unwrap_or(usize::MAX).min(total.unwrap_or(usize::MAX));
    if available == usize::MAX { 1 << 30 } else { available / 2 }
}

/// Removes parts that were being written when the server stopped, and those of tables that were dropped.
fn remove_unknown_files(data: &Path, tables: &[StoredTable]) {
    let directories: HashMap<String, HashSet<&str>> = tables
        .iter()
        .map(|table| (table.uuid.to_string(), table.parts.iter().map(|part| part.path.as_str()).collect()))
        .collect();
    let entries = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten();
    for directory in entries(data).filter(|entry| entry.path().is_dir()) {
        let name = directory.file_name().to_string_lossy().into_owned();
        // Only what this server names: somebody else's files under `data/` are not ours to remove.
        if Uuid::parse_str(&name).is_err() {
            continue;
        }
        let known = directories.get(&name);
        for file in entries(&directory.path()) {
            let file_name = file.file_name().to_string_lossy().into_owned();
            let is_known = known.is_some_and(|known| known.contains(file_name.as_str()));
            if !is_known && file_name.ends_with(".parquet") {
                tracing::info!(path = %file.path().display(), "removing a file that no commit knows");
                remove_file(&file.path());
            }
        }
        if known.is_none() {
            let _ = std::fs::remove_dir(directory.path());
        }
    }
}
