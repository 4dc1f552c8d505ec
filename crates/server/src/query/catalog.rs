//! The catalog as one session sees it: storage's tables, the session's own `system.settings`, and nothing that the user may not see.

use std::sync::Arc;

use squall_planner::{Catalog, TableMetadata};
use squall_sql::ast;
use squall_storage::{SessionCatalog, TableHandle};
use squall_types::{Result, Value};

use crate::session::Session;
use crate::system;

/// The tables that a session's queries may name.
pub struct QueryCatalog<'a> {
    session: &'a Session,
    tables: SessionCatalog,
}

impl<'a> QueryCatalog<'a> {
    /// The catalog of a session.
    pub fn new(session: &'a Session) -> Self {
        let tables = SessionCatalog::new(session.server.databases.clone(), session.database.clone());
        Self { session, tables }
    }
}

impl Catalog for QueryCatalog<'_> {
    fn table(&self, database: Option<&str>, table: &str) -> Result<Arc<dyn TableMetadata>> {
        let name = database.unwrap_or(&self.session.database);
        self.session.user.check_database(name)?;
        if name == "system" && table == "settings" {
            return Ok(Arc::new(TableHandle(system::settings_of(self.session))));
        }
        self.tables.table(database, table)
    }

    fn view(&self, database: Option<&str>, table: &str) -> Option<Arc<ast::Query>> {
        self.tables.view(database, table)
    }

    fn table_function(&self, name: &str, arguments: &[Value]) -> Result<Arc<dyn TableMetadata>> {
        self.tables.table_function(name, arguments)
    }
}
