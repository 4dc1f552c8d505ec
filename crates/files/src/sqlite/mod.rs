//! A table of an SQLite database: its columns as SQLite declares them, and its rows as SQLite gives them.

mod read;
mod write;

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use squall_planner::{ColumnDescription, TableMetadata};
use squall_storage::{Insertion, ScanRequest, Table, TableScan};
use squall_types::{DataType, Error, ErrorCode, Result};

use crate::path::Reach;

/// SQLite has memory of its own, of which a value may take so many bytes.
const VALUE_BYTES_MAX: i32 = 256 << 20;
/// How long a database that somebody writes to is waited for.
const BUSY_WAIT: Duration = Duration::from_secs(10);

/// A table or view of an SQLite database.
#[derive(Debug)]
pub struct SqliteTable {
    path: PathBuf,
    table: String,
    columns: Vec<ColumnDescription>,
}

impl SqliteTable {
    /// The table of this name in the database of this path. Waits for the disk.
    ///
    /// # Errors
    /// `DATABASE_ACCESS_DENIED` where the file is outside of `reach`, `FILE_DOESNT_EXIST`; `SQLITE_ENGINE_ERROR` where it is no database or has no such table.
    pub fn open(path: &str, table: &str, reach: &Reach) -> Result<Self> {
        let path = reach.existing(path)?;
        let connection = connect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let columns = columns(&connection, table).map_err(|error| failed(&error))?;
        if columns.is_empty() {
            let message = format!("Failed to fetch table structure for {table}.");
            return Err(Error::new(ErrorCode::SQLITE_ENGINE_ERROR, message));
        }
        Ok(Self { path, table: table.to_owned(), columns })
    }

    /// The same with these columns, to insert rows: SQLite takes values of any type. Looks at the path alone.
    ///
    /// # Errors
    /// `DATABASE_ACCESS_DENIED`, `FILE_DOESNT_EXIST`.
    pub fn with_columns(path: &str, table: &str, columns: Vec<ColumnDescription>, reach: &Reach) -> Result<Self> {
        Ok(Self { path: reach.existing(path)?, table: table.to_owned(), columns })
    }
}

fn failed(error: &rusqlite::Error) -> Error {
    Error::new(ErrorCode::SQLITE_ENGINE_ERROR, format!("SQLite: {error}"))
}

/// Opens the database of a file that is there, for reading or, with `access`, for more.
fn connect(path: &Path, access: OpenFlags) -> Result<Connection> {
    // The path has no links. One that has come since would lead elsewhere.
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let opened = Connection::open_with_flags(path, flags).and_then(|connection| {
        connection.busy_timeout(BUSY_WAIT)?;
        // The file may be anybody's: what its views call must be harmless, and what is wrong with it is told as an error.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        Ok(connection)
    });
    opened.map_err(|error| failed(&error))
}

/// The columns of a table, none where there is no such table. A declared type says how values are to be taken, as SQLite has it.
fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<ColumnDescription>> {
    let mut query = connection.prepare("SELECT name, type, \"notnull\" FROM pragma_table_info(?1)")?;
    let column = |row: &rusqlite::Row<'_>| {
        let (name, declared, is_required): (String, String, bool) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let data_type = type_of(&declared);
        Ok(ColumnDescription::new(name, if is_required { data_type } else { data_type.to_nullable() }))
    };
    query.query_map([table], column)?.collect()
}

fn type_of(declared: &str) -> DataType {
    let declared = declared.to_ascii_uppercase();
    let has = |word: &str| declared.contains(word);
    if has("INT") {
        DataType::Int64
    } else if has("REAL") || has("FLOA") || has("DOUB") {
        DataType::Float64
    } else {
        DataType::String
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl TableMetadata for SqliteTable {
    fn database(&self) -> &str {
        "_table_function"
    }
    fn name(&self) -> &str {
        "sqlite"
    }
    fn engine(&self) -> &str {
        "SQLite"
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.columns
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Table for SqliteTable {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        Ok(Arc::new(read::scan(self, request)))
    }

    fn insert(&self) -> Result<Arc<dyn Insertion>> {
        Ok(Arc::new(write::insertion(self)?))
    }
}
