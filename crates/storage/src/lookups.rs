//! Dictionaries and tables of the engine `Join` as the functions of one query find them: by names, those without a database in the
//! session's current one.

use std::fmt;
use std::sync::Arc;

use squall_functions::{KeyedRows, Lookups};
use squall_types::{Error, ErrorCode, Result};

use crate::databases::Databases;

/// All databases, and which of them is the current one.
#[derive(Clone)]
pub struct NamedLookups {
    databases: Arc<Databases>,
    current_database: Arc<str>,
}

impl NamedLookups {
    /// What a session in this database finds.
    pub fn new(databases: Arc<Databases>, current_database: Arc<str>) -> Self {
        Self { databases, current_database }
    }

    /// The database and the name within it.
    pub fn split<'a>(&'a self, name: &'a str) -> (&'a str, &'a str) {
        name.split_once('.').unwrap_or((&self.current_database, name))
    }
}

impl fmt::Debug for NamedLookups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedLookups").field("current_database", &self.current_database).finish_non_exhaustive()
    }
}

impl Lookups for NamedLookups {
    fn join_table(&self, name: &str) -> Result<Arc<dyn KeyedRows>> {
        let (database, table) = self.split(name);
        let found = self.databases.table(database, table)?;
        let join = found.as_join().ok_or_else(|| {
            Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("Table {database}.{table} should have engine StorageJoin"),
            )
        })?;
        join.keyed()
    }

    fn dictionary(&self, name: &str) -> Result<Arc<dyn KeyedRows>> {
        match self.databases.dictionary_by_name(name, &self.current_database) {
            Some(dictionary) => Ok(dictionary),
            None => Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Dictionary (`{name}`) not found"))),
        }
    }
}
