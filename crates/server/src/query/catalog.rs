//! The catalog as one session sees it: storage's tables, the session's own `system.settings`, and nothing that the user may not see.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use squall_planner::{Catalog, LoadedByQuery, QueryUses, TableMetadata, Used};
use squall_sql::ast;
use squall_storage::{Dictionary, NamedLookups, SessionCatalog, TableHandle};
use squall_types::{Result, Value};

use crate::session::Session;
use crate::system;

/// The tables that a session's queries may name.
pub struct QueryCatalog<'a> {
    session: &'a Session,
    tables: SessionCatalog,
    met_changing_table: AtomicBool,
    met_lookup: AtomicBool,
    lookups: NamedLookups,
    uses: Mutex<QueryUses>,
}

impl<'a> QueryCatalog<'a> {
    /// The catalog of a session.
    pub fn new(session: &'a Session) -> Self {
        let tables = SessionCatalog::new(session.server.databases.clone(), session.database.clone());
        Self {
            session,
            tables,
            met_changing_table: AtomicBool::new(false),
            met_lookup: AtomicBool::new(false),
            lookups: NamedLookups::new(session.server.databases.clone(), session.database.clone()),
            uses: Mutex::default(),
        }
    }

    /// Whether a function was planned that finds rows by key: the plan holds as long as the name of what it looks in means the
    /// same, for this user.
    pub fn met_lookup(&self) -> bool {
        self.met_lookup.load(Ordering::Relaxed)
    }

    /// What the planned query uses; the next one begins with nothing.
    pub fn take_uses(&self) -> QueryUses {
        std::mem::take(&mut self.uses.lock())
    }

    /// Whether a table was looked up whose rows or definition may change: what was planned then holds for now only, even where
    /// the plan does not show the table any more (a `count()` that became a constant).
    pub fn met_changing_table(&self) -> bool {
        self.met_changing_table.load(Ordering::Relaxed)
    }
}

impl QueryCatalog<'_> {
    /// A dictionary that the user may see: one of a configuration file, which is in no database, or of a database.
    fn find_dictionary(&self, name: &str) -> Result<Option<Arc<Dictionary>>> {
        let found = self.session.server.databases.dictionary_by_name(name, &self.session.database);
        if found.as_ref().is_none_or(|dictionary| dictionary.definition().origin.is_none()) {
            self.session.user.check_database(self.lookups.split(name).0)?;
        }
        Ok(found)
    }
}

impl Catalog for QueryCatalog<'_> {
    fn note(&self, used: Used<'_>) {
        self.uses.lock().note(used);
    }

    fn table(&self, database: Option<&str>, table: &str) -> Result<Arc<dyn TableMetadata>> {
        let name = database.unwrap_or(&self.session.database);
        self.session.user.check_database(name)?;
        if name == "system" && table == "settings" {
            self.met_changing_table.store(true, Ordering::Relaxed);
            self.note(Used::Table(name, table));
            return Ok(Arc::new(TableHandle(system::settings_of(self.session))));
        }
        let table = self.tables.table(database, table)?;
        self.note(Used::Table(table.database(), table.name()));
        if !matches!(table.engine(), "SystemOne" | "SystemNumbers" | "SystemZeros") {
            self.met_changing_table.store(true, Ordering::Relaxed);
        }
        Ok(table)
    }

    fn view(&self, database: Option<&str>, table: &str) -> Option<Arc<ast::Query>> {
        let view = self.tables.view(database, table);
        if view.is_some() {
            self.note(Used::View(database.unwrap_or(&self.session.database), table));
            self.met_changing_table.store(true, Ordering::Relaxed);
        }
        view
    }

    fn tables(&self, database: &str) -> Result<Vec<String>> {
        self.session.user.check_database(database)?;
        self.met_changing_table.store(true, Ordering::Relaxed);
        self.tables.tables(database)
    }

    fn begin_lookup(&self, function: &str, name: Option<&str>) -> Result<Option<Arc<dyn LoadedByQuery>>> {
        self.met_lookup.store(true, Ordering::Relaxed);
        let Some(name) = name else { return Ok(None) };
        if function.starts_with("joinGet") {
            self.session.user.check_database(self.lookups.split(name).0)?;
            return Ok(None);
        }
        let Some(dictionary) = self.find_dictionary(name)? else { return Ok(None) };
        if dictionary.definition().layout.is_on_demand() {
            self.uses.lock().asks_sources = true;
        }
        Ok(Some(dictionary))
    }

    fn dictionary(&self, name: &str) -> Result<Arc<dyn TableMetadata>> {
        self.met_changing_table.store(true, Ordering::Relaxed);
        self.find_dictionary(name)?;
        self.tables.dictionary(name)
    }

    fn check_cluster_is_local(&self, cluster: &str) -> Result<()> {
        system::check_cluster_is_local(&self.session.server, cluster)
    }

    fn check_address_is_local(&self, address: &str) -> Result<()> {
        system::check_address_is_local(&self.session.server, address)
    }

    fn table_function(&self, name: &str, arguments: &[Value]) -> Result<Arc<dyn TableMetadata>> {
        self.tables.table_function(name, arguments)
    }
}
