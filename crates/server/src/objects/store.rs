//! Where functions and named collections are kept: a database of SQLite's. A change is on disk before the statement is acknowledged.

use std::path::Path;

use rusqlite::{Connection, params};
use squall_types::{Error, ErrorCode, Result};

use crate::small_database;

/// The file in the data folder.
pub(super) const FILE: &str = "objects.sqlite";

/// The database.
#[derive(Debug)]
pub(super) struct Store(Connection);

fn failed(error: rusqlite::Error) -> Error {
    Error::new(ErrorCode::STD_EXCEPTION, format!("The database of functions and named collections ({FILE}): {error}"))
}

impl Store {
    pub(super) fn open(folder: Option<&Path>) -> Result<Self> {
        let schema = "CREATE TABLE IF NOT EXISTS object (
                          kind TEXT NOT NULL, name TEXT NOT NULL, statement TEXT NOT NULL, PRIMARY KEY (kind, name)
                      ) STRICT";
        small_database::open(folder, FILE, schema).map(Self).map_err(failed)
    }

    /// The statements of all.
    pub(super) fn load(&self) -> Result<Vec<String>> {
        let mut rows = self.0.prepare("SELECT statement FROM object ORDER BY kind, name").map_err(failed)?;
        let rows = rows.query_map([], |row| row.get(0)).map_err(failed)?;
        rows.collect::<rusqlite::Result<_>>().map_err(failed)
    }

    /// Keeps one, in the place of one of its name.
    pub(super) fn put(&mut self, kind: &str, name: &str, statement: &str) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO object (kind, name, statement) VALUES (?1, ?2, ?3)";
        self.0.execute(sql, params![kind, name, statement]).map(drop).map_err(failed)
    }

    /// Forgets one.
    pub(super) fn remove(&mut self, kind: &str, name: &str) -> Result<()> {
        let sql = "DELETE FROM object WHERE kind = ?1 AND name = ?2";
        self.0.execute(sql, params![kind, name]).map(drop).map_err(failed)
    }
}
