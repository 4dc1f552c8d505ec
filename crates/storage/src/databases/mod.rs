//! All databases and tables of a server: looked up without locks by every query, changed one DDL at a time.

mod alter;
mod backup;
mod change;
mod definition;
mod detach;
mod entry;
mod folder;
mod from_backup;
mod lake;
mod merges;
mod mutations;
mod opening;
mod partitions;
mod parts;
mod refreshes;
mod restore;
mod rewrite;
#[cfg(test)]
mod simulation;
mod store;
mod views;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use squall_planner::{DictionaryDefinition, TableDefinition};
use squall_runtime::CurrentMetric;
use squall_runtime::counted_lock::{CountedGuard, TABLES_LOCK, lock};
use squall_types::Result;
use uuid::Uuid;

use crate::column_cache::ColumnCacheStatistics;
use crate::dictionary::{Dictionary, DictionaryView, OnDemandReader, OnDemandSlot};
use crate::external_table::TEMPORARY_DATABASE;
use crate::generated;
use crate::identity::TableName;
use crate::part_event::NotePart;
use crate::table::Table;
pub use alter::{DefinitionChange, Placement};
pub use backup::{PartBackup, TableBackup};
pub use definition::takes_setting;
pub use detach::DetachedTable;
use entry::{Database, Engine, Entry, State, database_of, find, is_made_up, put};
pub use from_backup::{RestoreOptions, TableToRestore};
pub use lake::AddedRows;
pub use merges::BackgroundMerge;
pub use mutations::TableWhereabouts;
pub use partitions::FrozenPart;
pub use parts::PartCommand;
pub use refreshes::RefreshableView;
pub use rewrite::{Rewrite, RewriteOf};
use store::Store;
pub use views::NamedView;
use views::ViewIndex;

/// The most databases, and tables of one database: a runaway client must not fill memory with names.
const NAMES_MAX: usize = 100_000;
/// The longest name of a database or table in bytes: ClickHouse's limit, that of a file's name.
const NAME_BYTES_MAX: usize = 206;

/// The databases of a server.
pub struct Databases {
    state: ArcSwap<State>,
    /// How often the state was changed.
    generation: AtomicU64,
    note_change: OnceLock<NoteChange>,
    /// Held through a DDL, so that what was checked is still so when it is published.
    ddl: Mutex<()>,
    /// `None` where nothing outlives the process.
    store: Option<Store>,
    /// Dictionaries of configuration files, by the names that `dictGet` knows them by.
    configured: ArcSwap<BTreeMap<Arc<str>, Arc<Dictionary>>>,
    on_demand: OnDemandSlot,
    /// What DETACH DATABASE took away, until the server starts again.
    detached: Mutex<BTreeMap<Arc<str>, Arc<Database>>>,
    views: ArcSwap<ViewIndex>,
}

/// Who is told that names have come to mean other tables.
pub type NoteChange = Box<dyn Fn() + Send + Sync>;

/// How databases are kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StorageOptions {
    /// The bound of the column cache in bytes; `None` is half of the memory that this process may use.
    pub column_cache_bytes: Option<usize>,
    /// The server's time zone, which dates of times in tables' keys depend on.
    pub time_zone: Arc<str>,
    /// Whether the catalog is completed by what parts say of themselves, or made of it where there is none.
    pub restore_catalog: bool,
}

impl Default for StorageOptions {
    fn default() -> Self {
        Self { column_cache_bytes: None, time_zone: "UTC".into(), restore_catalog: false }
    }
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

impl Databases {
    /// Databases that live as long as the process: `default` and `system` with the computed tables. There is no MergeTree.
    pub fn in_memory() -> Arc<Self> {
        let databases = Self::with(None, OnDemandSlot::default());
        databases.change(|state| {
            state.insert("default".into(), Arc::new(Database::new(None, Uuid::new_v4(), "")));
        });
        Arc::new(databases)
    }

    /// A place for tables that end with their session: one database, [`TEMPORARY_DATABASE`], that nobody can name.
    pub fn temporary() -> Arc<Self> {
        let databases = Self::empty(None, OnDemandSlot::default());
        databases.change(|state| {
            state.insert(TEMPORARY_DATABASE.into(), Arc::new(Database::new(None, Uuid::new_v4(), "")));
        });
        Arc::new(databases)
    }

    fn with(store: Option<Store>, on_demand: OnDemandSlot) -> Self {
        let databases = Self::empty(store, on_demand);
        for table in generated::system_tables() {
            databases.register(table);
        }
        databases
    }

    fn empty(store: Option<Store>, on_demand: OnDemandSlot) -> Self {
        Self {
            state: ArcSwap::default(),
            generation: AtomicU64::new(0),
            note_change: OnceLock::new(),
            ddl: Mutex::new(()),
            store,
            configured: ArcSwap::default(),
            on_demand,
            detached: Mutex::default(),
            views: ArcSwap::default(),
        }
    }

    /// What the column cache did and holds.
    pub fn column_cache(&self) -> ColumnCacheStatistics {
        self.store.as_ref().map(|store| store.cache.statistics()).unwrap_or_default()
    }

    /// Empties the column cache.
    pub fn clear_column_cache(&self) {
        if let Some(store) = &self.store {
            store.cache.clear();
        }
    }

    /// A table at this moment.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`.
    pub fn table(&self, database: &str, table: &str) -> Result<Arc<dyn Table>> {
        let state = self.state.load();
        let entry = find(&state, database, table)?;
        if let Engine::Broken(table) = &entry.engine {
            return Err(table.failure.clone());
        }
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
        let _ddl = self.lock_ddl();
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
            self.count_change();
        }
        Ok(replaced)
    }

    /// Makes the catalog's file whole without its write-ahead log, so that a stopped server's can be copied alone.
    ///
    /// # Errors
    /// Where it cannot be written; nothing is lost then.
    pub fn checkpoint_catalog(&self) -> Result<()> {
        self.store.as_ref().map_or(Ok(()), |store| store.catalog.checkpoint())
    }

    /// Says who is told what happens to parts. It never waits.
    pub fn set_note_part(&self, note: NotePart) {
        if let Some(store) = &self.store {
            store.catalog.set_note_part(note);
        }
    }

    /// Says who is told whenever [`generation`](Self::generation) has changed. It never waits.
    pub fn set_note_change(&self, note: NoteChange) {
        // The first one stays: there is one server.
        let _ = self.note_change.set(note);
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
        let _ddl = self.lock_ddl();
        let name = Arc::new(TableName::new(table.database(), table.name()));
        self.change(|state| {
            let database =
                state.entry(name.database.clone()).or_insert_with(|| Arc::new(Database::new(None, Uuid::new_v4(), "")));
            let entry = Entry { name: name.clone(), engine: Engine::Virtual(table) };
            Arc::make_mut(database).tables.insert(name.table.clone(), Arc::new(entry));
        });
    }

    fn put(&self, entries: &[Entry]) {
        self.change(|state| {
            for entry in entries {
                put(state, Entry { name: entry.name.clone(), engine: entry.engine.clone() });
            }
        });
    }

    /// One statement at a time changes which tables there are.
    fn lock_ddl(&self) -> CountedGuard<'_, ()> {
        lock(&self.ddl, &TABLES_LOCK)
    }

    /// Publishes a changed copy of the state. Callers hold `ddl`.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = State::clone(&self.state.load());
        change(&mut state);
        if !state.contains_key(TEMPORARY_DATABASE) {
            set_metrics(&state);
        }
        self.state.store(Arc::new(state));
        self.count_change();
    }

    /// Names mean something else from now on.
    fn count_change(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
        if let Some(note) = self.note_change.get() {
            note();
        }
    }
}

/// Says how many databases and tables the server has.
fn set_metrics(state: &State) {
    let tables = || state.values().flat_map(|database| database.tables.values());
    let is_dictionary = |entry: &&Arc<Entry>| matches!(entry.engine, Engine::Dictionary(..));
    CurrentMetric::AttachedDatabase.set(state.len() as i64);
    CurrentMetric::AttachedTable.set(tables().count() as i64);
    CurrentMetric::AttachedDictionary.set(tables().filter(is_dictionary).count() as i64);
}
