//! The catalog: what databases, tables and parts there are, in SQLite, as DuckLake lays it out. Every change is one transaction
//! and one snapshot, durable when it returns; inserts that come at the same time share one.

mod change;
mod lake_value;
mod part_records;
mod reserve;
mod schema;
mod stored;
mod table_records;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, params};
use squall_types::{Error, ErrorCode, Result};
use uuid::Uuid;

use crate::identity::TableIdentity;
use crate::merge_tree::lake_columns;
use change::{Change, now, quoted};
use part_records::{ColumnTotals, TableTotals, insert_part, load_totals, remove_part, write_totals};
use reserve::Reserve;
use stored::{load, stored_schema};
use table_records::{drop_table, end_parts, insert_table};

pub(crate) use part_records::{ColumnStatistics, NewPart};
pub(crate) use stored::{StoredDatabase, StoredPart, StoredTable};

/// The catalog of one server.
pub(crate) struct Catalog {
    state: Mutex<State>,
    /// Inserts that wait for the next transaction.
    queue: Mutex<Vec<PartsToCommit>>,
}

struct State {
    connection: Connection,
    /// Given up for changes that make room on a full disk.
    reserve: Reserve,
    /// What inserts need to know of a table, so that they need not read it back.
    tables: HashMap<i64, TableTotals>,
}

struct PartsToCommit {
    table_id: i64,
    parts: Vec<NewPart>,
    publish: Box<dyn FnOnce() + Send>,
    outcome: Arc<Mutex<Option<Result<()>>>>,
}

impl Catalog {
    /// Opens the catalog, making it where there is none.
    ///
    /// # Errors
    /// Where the file cannot be opened, is not a catalog, or is of a version that this server does not know.
    pub(crate) fn open(path: &Path, data_path: &Path) -> Result<Arc<Self>> {
        let mut reserve = Reserve::new(path.with_extension("reserve"));
        let connection = match connect(path, data_path) {
            Err(error) if is_disk_full(&error) && reserve.release() => connect(path, data_path),
            connected => connected,
        };
        let connection = connection.map_err(|error| catalog_error(&error))?;
        check_version(&connection, "version", schema::DUCKLAKE_VERSION)?;
        check_version(&connection, "squall_version", schema::SQUALL_VERSION)?;
        reserve.keep();
        let state = State { connection, reserve, tables: HashMap::new() };
        Ok(Arc::new(Self { state: Mutex::new(state), queue: Mutex::new(Vec::new()) }))
    }

    /// Everything that is there.
    ///
    /// # Errors
    /// Where the catalog cannot be read.
    pub(crate) fn load(&self) -> Result<(Vec<StoredDatabase>, Vec<StoredTable>)> {
        let mut state = self.state.lock();
        let loaded = load(&state.connection).map_err(|error| catalog_error(&error))?;
        let tables = loaded.1.into_iter().map(TryInto::try_into).collect::<Result<Vec<StoredTable>>>()?;
        for table in &tables {
            let stored = stored_schema(&table.columns);
            let totals = load_totals(&state.connection, table.id, stored).map_err(|error| catalog_error(&error))?;
            state.tables.insert(table.id, totals);
        }
        Ok((loaded.0, tables))
    }

    /// Tells the bounds of a part that was loaded, so that the table's stay right when more parts come.
    pub(crate) fn observe(&self, table: i64, columns: &[ColumnStatistics]) {
        if let Some(table) = self.state.lock().tables.get_mut(&table) {
            table.ranges.iter_mut().zip(columns).for_each(|(totals, column)| totals.add(column));
        }
    }

    /// Forgets the parts that were scheduled for deletion. Called when their files are gone.
    ///
    /// # Errors
    /// Where the catalog cannot be written.
    pub(crate) fn forget_deleted_files(&self) -> Result<()> {
        let mut state = self.state.lock();
        let scheduled: i64 = state
            .connection
            .query_row("SELECT count(*) FROM ducklake_files_scheduled_for_deletion", [], |row| row.get(0))
            .map_err(|error| catalog_error(&error))?;
        if scheduled == 0 {
            return Ok(());
        }
        let forgotten = state.with_reserve(|connection| {
            let transaction = connection.transaction()?;
            for table in
                ["ducklake_data_file", "ducklake_file_column_stats", "ducklake_file_partition_value", "squall_part"]
            {
                transaction.execute(
                    &format!(
                        "DELETE FROM {table} WHERE data_file_id IN (SELECT data_file_id FROM ducklake_files_scheduled_for_deletion)"
                    ),
                    [],
                )?;
            }
            transaction.execute("DELETE FROM ducklake_files_scheduled_for_deletion", [])?;
            transaction.commit()
        });
        forgotten.map_err(|error| catalog_error(&error))
    }

    /// `CREATE DATABASE`; `publish` gets its number.
    pub(crate) fn create_database(
        &self,
        name: &str,
        uuid: Uuid,
        comment: &str,
        publish: impl FnOnce(i64),
    ) -> Result<()> {
        self.change(
            |change| {
                let id = change.new_catalog_id();
                let snapshot = change.snapshot;
                change.is_schema_change = true;
                change.made.push(format!("created_schema:{}", quoted(name)));
                change.transaction.execute(
                    "INSERT INTO ducklake_schema VALUES (?1, ?2, ?3, NULL, ?4, '', 1)",
                    params![id, uuid.to_string(), snapshot, name],
                )?;
                change.transaction.execute("INSERT INTO squall_schema VALUES (?1, ?2)", params![id, comment])?;
                Ok(id)
            },
            |_, id| publish(*id),
        )
        .map(drop)
    }

    /// `DROP DATABASE` with its tables.
    pub(crate) fn drop_database(&self, database: i64, tables: &[i64], publish: impl FnOnce()) -> Result<()> {
        self.change_for_room(
            |change| {
                for table in tables {
                    drop_table(change, *table)?;
                }
                change.is_schema_change = true;
                change.made.push(format!("dropped_schema:{database}"));
                change.transaction.execute(
                    "UPDATE ducklake_schema SET end_snapshot = ?2 WHERE schema_id = ?1 AND end_snapshot IS NULL",
                    params![database, change.snapshot],
                )?;
                change.transaction.execute("DELETE FROM squall_schema WHERE schema_id = ?1", params![database])?;
                Ok(())
            },
            |state, ()| {
                tables.iter().for_each(|table| {
                    state.remove(table);
                });
                publish();
            },
        )
    }

    /// `CREATE TABLE`: its number.
    pub(crate) fn create_table(&self, database: i64, name: &str, identity: &TableIdentity) -> Result<i64> {
        let columns = lake_columns(&identity.stored);
        self.change(
            |change| {
                let id = change.new_catalog_id();
                insert_table(change, id, database, name, identity, &columns)?;
                Ok(id)
            },
            |state, id| {
                let ranges = vec![ColumnTotals::default(); identity.stored.len()];
                let stored = identity.stored.clone();
                state.insert(
                    *id,
                    TableTotals { stored, columns: columns.clone(), rows: 0, next_row_id: 0, bytes: 0, ranges },
                );
            },
        )
    }

    /// `DROP TABLE`.
    pub(crate) fn drop_table(&self, table: i64, publish: impl FnOnce()) -> Result<()> {
        self.change_for_room(
            |change| drop_table(change, table),
            |state, ()| {
                state.remove(&table);
                publish();
            },
        )
    }

    /// `TRUNCATE TABLE`.
    pub(crate) fn truncate_table(&self, table: i64, publish: impl FnOnce()) -> Result<()> {
        self.change_for_room(
            |change| {
                change.made.push(format!("deleted_from_table:{table}"));
                end_parts(change, table)?;
                change.transaction.execute(
                    "UPDATE ducklake_table_stats SET record_count = 0, file_size_bytes = 0 WHERE table_id = ?1",
                    params![table],
                )?;
                change
                    .transaction
                    .execute("DELETE FROM ducklake_table_column_stats WHERE table_id = ?1", params![table])?;
                Ok(())
            },
            |state, ()| {
                if let Some(table) = state.get_mut(&table) {
                    (table.rows, table.bytes) = (0, 0);
                    table.ranges = vec![ColumnTotals::default(); table.ranges.len()];
                }
                publish();
            },
        )
    }

    /// `RENAME TABLE` and `EXCHANGE TABLES`: all at once. Tables are given with their new database and name.
    pub(crate) fn rename_tables(&self, renames: &[(i64, i64, &str)], publish: impl FnOnce()) -> Result<()> {
        self.change(
            |change| {
                for (table, database, name) in renames {
                    change.is_schema_change = true;
                    change.made.push(format!("altered_table:{table}"));
                    change.transaction.execute(
                        "INSERT INTO ducklake_table SELECT table_id, table_uuid, ?2, NULL, ?3, ?4, path, path_is_relative
                         FROM ducklake_table WHERE table_id = ?1 AND end_snapshot IS NULL",
                        params![table, change.snapshot, database, name],
                    )?;
                    change.transaction.execute(
                        "UPDATE ducklake_table SET end_snapshot = ?2
                         WHERE table_id = ?1 AND end_snapshot IS NULL AND begin_snapshot < ?2",
                        params![table, change.snapshot],
                    )?;
                }
                Ok(())
            },
            |_, ()| publish(),
        )
    }

    /// Records the parts of an INSERT; `publish` runs once they are durable, in the order of commits. Whoever finds nobody
    /// committing commits for all who wait, so that many clients share one wait for the disk.
    ///
    /// # Errors
    /// `TABLE_IS_DROPPED`, `NOT_ENOUGH_SPACE`; `UNKNOWN_STATUS_OF_INSERT` where it may be durable or not.
    pub(crate) fn commit_parts(
        &self,
        table_id: i64,
        parts: Vec<NewPart>,
        publish: Box<dyn FnOnce() + Send>,
    ) -> Result<()> {
        let outcome = Arc::new(Mutex::new(None));
        self.queue.lock().push(PartsToCommit { table_id, parts, publish, outcome: outcome.clone() });
        let mut state = self.state.lock();
        if let Some(outcome) = outcome.lock().take() {
            return outcome;
        }
        let waiting = std::mem::take(&mut *self.queue.lock());
        commit_group(&mut state, waiting);
        drop(state);
        outcome.lock().take().unwrap_or_else(|| Err(Error::logical("an insert that nobody committed")))
    }

    /// Takes parts out of a table and puts at most one in their place, all at once; `publish` runs once that is durable. Nothing of
    /// the old parts stays in the catalog: a file that is still there at the next start is removed then.
    ///
    /// # Errors
    /// `TABLE_IS_DROPPED`, `NO_SUCH_DATA_PART` where one of the parts is gone meanwhile.
    pub(crate) fn replace_parts(
        &self,
        table_id: i64,
        old: &[Arc<str>],
        new: Option<NewPart>,
        publish: impl FnOnce(),
    ) -> Result<()> {
        let mut state = self.state.lock();
        let state = &mut *state;
        let Some(table) = state.tables.get(&table_id).cloned() else {
            return Err(Error::new(ErrorCode::TABLE_IS_DROPPED, "Table is dropped"));
        };
        let replaced = state.with_reserve(|connection| {
            let mut table = table.clone();
            let mut change = Change::begin(connection)?;
            for name in old {
                if !remove_part(&mut change, table_id, &mut table, name)? {
                    // The transaction is dropped, which undoes it.
                    return Ok(Err(name.clone()));
                }
            }
            let made = if new.is_some() { "compacted_table" } else { "deleted_from_table" };
            change.made.push(format!("{made}:{table_id}"));
            if let Some(part) = &new {
                insert_part(&mut change, table_id, &mut table, part)?;
            }
            write_totals(&change.transaction, table_id, &table)?;
            change.expire_snapshots()?;
            change.commit()?;
            Ok(Ok(table))
        });
        match replaced.map_err(|error| commit_error(&error))? {
            Ok(table) => {
                state.tables.insert(table_id, table);
                publish();
                Ok(())
            }
            Err(name) => Err(Error::new(ErrorCode::NO_SUCH_DATA_PART, format!("No part {name} in committed state"))),
        }
    }

    /// Runs `work` as one transaction and snapshot, then `publish` while nobody else can commit.
    fn change<T>(
        &self,
        work: impl Fn(&mut Change) -> rusqlite::Result<T>,
        publish: impl FnOnce(&mut HashMap<i64, TableTotals>, &T),
    ) -> Result<T> {
        let mut state = self.state.lock();
        let result = commit_change(&mut state.connection, work).map_err(|error| catalog_error(&error))?;
        publish(&mut state.tables, &result);
        Ok(result)
    }

    /// As [`Self::change`], for what makes room on the disk.
    fn change_for_room<T>(
        &self,
        work: impl Fn(&mut Change) -> rusqlite::Result<T>,
        publish: impl FnOnce(&mut HashMap<i64, TableTotals>, &T),
    ) -> Result<T> {
        let mut state = self.state.lock();
        let result = state.with_reserve(|connection| commit_change(connection, &work));
        let result = result.map_err(|error| catalog_error(&error))?;
        publish(&mut state.tables, &result);
        Ok(result)
    }
}

impl State {
    /// Runs a transaction that makes room: where the disk is too full for it, once more with the room of the reserve.
    fn with_reserve<T>(&mut self, transaction: impl Fn(&mut Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        match transaction(&mut self.connection) {
            Err(error) if is_disk_full(&error) && self.reserve.release() => transaction(&mut self.connection),
            result => result,
        }
    }
}

/// One transaction and snapshot.
fn commit_change<T>(
    connection: &mut Connection,
    work: impl Fn(&mut Change) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let mut change = Change::begin(connection)?;
    let result = work(&mut change)?;
    change.commit()?;
    Ok(result)
}

/// Opens the file, and makes a catalog of one that is new.
fn connect(path: &Path, data_path: &Path) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(std::time::Duration::from_secs(10))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // An acknowledged commit is on disk, whatever happens to the machine.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -16_384)?;
    let catalogs: i64 =
        connection
            .query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'ducklake_metadata'", [], |row| row.get(0))?;
    if catalogs == 0 {
        create(&mut connection, data_path)?;
    }
    Ok(connection)
}

fn create(connection: &mut Connection, data_path: &Path) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(schema::DUCKLAKE)?;
    transaction.execute_batch(schema::SQUALL)?;
    let created_by = concat!("Squall ", env!("CARGO_PKG_VERSION"));
    let data_path = format!("{}/", data_path.display());
    for (key, value) in [
        ("version", schema::DUCKLAKE_VERSION),
        ("created_by", created_by),
        ("data_path", &data_path),
        ("encrypted", "false"),
        ("squall_version", schema::SQUALL_VERSION),
    ] {
        transaction
            .execute("INSERT INTO ducklake_metadata (\"key\", \"value\") VALUES (?1, ?2)", params![key, value])?;
    }
    // DuckLake's catalogs begin with the schema `main`; readers look for it.
    transaction.execute("INSERT INTO ducklake_snapshot VALUES (0, ?1, 0, 1, 0)", params![now()])?;
    transaction
        .execute("INSERT INTO ducklake_snapshot_changes VALUES (0, 'created_schema:\"main\"', NULL, NULL, NULL)", [])?;
    transaction.execute(
        "INSERT INTO ducklake_schema VALUES (0, ?1, 0, NULL, 'main', 'main/', 1)",
        params![Uuid::new_v4().to_string()],
    )?;
    transaction.commit()
}

fn check_version(connection: &Connection, key: &str, expected: &str) -> Result<()> {
    let found: Option<String> = connection
        .query_row(
            "SELECT \"value\" FROM ducklake_metadata WHERE \"key\" = ?1 AND scope IS NULL",
            params![key],
            |row| row.get(0),
        )
        .optional()
        .map_err(|error| catalog_error(&error))?;
    if found.as_deref() == Some(expected) {
        return Ok(());
    }
    let found = found.unwrap_or_else(|| "none".to_owned());
    Err(Error::new(
        ErrorCode::CORRUPTED_DATA,
        format!("The catalog has {key} {found}; this server reads and writes {expected}"),
    ))
}

/// Commits all waiting inserts as one snapshot and tells each how it went.
fn commit_group(state: &mut State, waiting: Vec<PartsToCommit>) {
    // Totals change only if the commit does.
    let mut totals: HashMap<i64, TableTotals> = HashMap::new();
    let mut to_publish = Vec::new();
    let result = (|| {
        let mut change = Change::begin(&mut state.connection)?;
        for insert in waiting {
            let PartsToCommit { table_id, parts, publish, outcome } = insert;
            let Some(known) = totals.get(&table_id).or_else(|| state.tables.get(&table_id)) else {
                *outcome.lock() = Some(Err(Error::new(ErrorCode::TABLE_IS_DROPPED, "Table is dropped")));
                continue;
            };
            let mut table = known.clone();
            for part in &parts {
                insert_part(&mut change, table_id, &mut table, part)?;
            }
            totals.insert(table_id, table);
            let entry = format!("inserted_into_table:{table_id}");
            if !change.made.contains(&entry) {
                change.made.push(entry);
            }
            to_publish.push((publish, outcome));
        }
        for (table_id, table) in &totals {
            write_totals(&change.transaction, *table_id, table)?;
        }
        if change.made.is_empty() { Ok(()) } else { change.commit() }
    })();
    match result {
        Ok(()) => {
            // There is room again, where there was none.
            state.reserve.keep();
            state.tables.extend(totals);
            for (publish, outcome) in to_publish {
                publish();
                *outcome.lock() = Some(Ok(()));
            }
        }
        Err(error) => {
            let error = commit_error(&error);
            for (_, outcome) in to_publish {
                *outcome.lock() = Some(Err(error.clone()));
            }
        }
    }
}

fn is_disk_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
}

fn catalog_error(error: &rusqlite::Error) -> Error {
    let code = match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => ErrorCode::NOT_ENOUGH_SPACE,
        Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => ErrorCode::CORRUPTED_DATA,
        Some(rusqlite::ErrorCode::CannotOpen) => ErrorCode::CANNOT_OPEN_FILE,
        Some(rusqlite::ErrorCode::ReadOnly) => ErrorCode::READONLY,
        _ => ErrorCode::STD_EXCEPTION,
    };
    Error::new(code, format!("Catalog: {error}"))
}

/// A failed write may have reached the disk all the same; a full disk and a busy file have not.
fn commit_error(error: &rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::SystemIoFailure) => Error::new(
            ErrorCode::UNKNOWN_STATUS_OF_INSERT,
            format!("Cannot tell whether the insert is durable: {error}"),
        ),
        _ => catalog_error(error),
    }
}
