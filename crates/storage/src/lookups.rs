//! Dictionaries and tables of the engine `Join` as the functions of one query find them: by names, those without a database in the
//! session's current one.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use squall_functions::{KeyedRows, Lookups};
use squall_types::{Error, ErrorCode, Result};

use crate::databases::Databases;
use crate::dictionary::Dictionary;

/// All databases, and which of them is the current one.
pub struct NamedLookups {
    databases: Arc<Databases>,
    current_database: Arc<str>,
    /// The dictionaries that the query has met, by the names that it calls them.
    met: Mutex<BTreeMap<Box<str>, Arc<Dictionary>>>,
}

impl NamedLookups {
    /// What a session in this database finds.
    pub fn new(databases: Arc<Databases>, current_database: Arc<str>) -> Self {
        Self { databases, current_database, met: Mutex::default() }
    }

    /// The dictionary of a name, if there is one: the same each time, though another may have been put in its place meanwhile, which nobody
    /// has loaded for the query.
    pub fn find_dictionary(&self, name: &str) -> Option<Arc<Dictionary>> {
        let mut met = self.met.lock();
        if let Some(known) = met.get(name) {
            return Some(known.clone());
        }
        let found = self.databases.dictionary_by_name(name, &self.current_database)?;
        met.insert(name.into(), found.clone());
        Some(found)
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
        match self.find_dictionary(name) {
            Some(dictionary) => Ok(dictionary),
            None => Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Dictionary (`{name}`) not found"))),
        }
    }
}
