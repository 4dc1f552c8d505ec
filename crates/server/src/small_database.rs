//! The small databases of SQLite's beside the catalog: of users and grants, of functions and named collections.

use std::path::Path;

use rusqlite::Connection;

/// Opens the database `file` of a data folder, or makes it with `schema`; one that ends with the process where there is no folder. A commit is
/// on disk when it returns.
///
/// It has a rollback journal, not a write-ahead log: it is read while the server starts, which must succeed on a full disk, and a
/// write-ahead log needs an index of 32 KiB even for reading.
///
/// # Errors
/// Where it cannot be opened.
pub(crate) fn open(folder: Option<&Path>, file: &str, schema: &str) -> rusqlite::Result<Connection> {
    let connection = match folder {
        Some(folder) => Connection::open(folder.join(file))?,
        None => Connection::open_in_memory()?,
    };
    // In exclusive mode a database that earlier servers gave a write-ahead log opens without that index. EXTRA: the journal's end is on disk too.
    connection.execute_batch(
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; PRAGMA locking_mode = NORMAL; PRAGMA synchronous = EXTRA;",
    )?;
    connection.execute_batch(schema)?;
    Ok(connection)
}
