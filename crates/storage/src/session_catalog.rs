//! The databases as one session's planner sees them: names without a database are the session's current one's.

use std::sync::Arc;

use squall_planner::{Catalog, PlannerContext, TableMetadata, plan_structure};
use squall_types::{Error, ErrorCode, Result, Value};

use crate::databases::Databases;
use crate::dictionary::DictionaryTable;
use crate::generated;
use crate::table::TableHandle;

/// All databases, and which of them is the current one.
#[derive(Clone)]
pub struct SessionCatalog {
    databases: Arc<Databases>,
    current_database: Arc<str>,
}

impl SessionCatalog {
    /// The catalog of a session in this database.
    pub fn new(databases: Arc<Databases>, current_database: impl Into<Arc<str>>) -> Self {
        Self { databases, current_database: current_database.into() }
    }
}

impl Catalog for SessionCatalog {
    fn table(&self, database: Option<&str>, table: &str) -> Result<Arc<dyn TableMetadata>> {
        let table = self.databases.table(database.unwrap_or(&self.current_database), table)?;
        Ok(Arc::new(TableHandle(table)))
    }

    fn tables(&self, database: &str) -> Result<Vec<String>> {
        let tables = self.databases.tables(database)?;
        let mut names: Vec<String> = tables.into_iter().map(|table| table.table.name().to_owned()).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn dictionary(&self, name: &str) -> Result<Arc<dyn TableMetadata>> {
        match self.databases.dictionary_by_name(name, &self.current_database) {
            Some(dictionary) => Ok(Arc::new(TableHandle(Arc::new(DictionaryTable::new(dictionary))))),
            None => Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Dictionary (`{name}`) not found"))),
        }
    }

    fn table_function(
        &self,
        name: &str,
        arguments: &[Value],
        context: &PlannerContext<'_>,
    ) -> Result<Arc<dyn TableMetadata>> {
        let columns_of = |structure: &str| plan_structure(structure, context);
        Ok(Arc::new(TableHandle(generated::table_function(name, arguments, &columns_of, &context.functions)?)))
    }
}
