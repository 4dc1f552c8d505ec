//! The catalog: what databases, tables and parts there are, in SQLite, as DuckLake lays it out. Every change is one transaction
//! and one snapshot, durable when it returns; inserts that come at the same time share one.

mod change;
mod deletions;
mod foreign;
mod from_backup;
mod insert_records;
mod lake_value;
mod mutations;
mod opening;
mod part_records;
mod parts;
mod refreshes;
mod reserve;
mod schema;
mod stored;
mod table_records;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rusqlite::{Connection, TransactionBehavior, params};
use squall_types::{Error, ErrorCode, Result};
use uuid::Uuid;

use crate::disk::Disk;
use crate::identity::TableIdentity;
use crate::merge_tree::{PartSchema, lake_columns};
use crate::part_event::{NotePart, PartEvent};
use change::{Change, commit};
use part_records::{ColumnTotals, TableTotals, forget_files, load_totals, schedule_deletion};
use parts::PartsToCommit;
use reserve::Reserve;
use stored::{load, stored_schema};
use table_records::{alter_table, drop_table, end_parts, insert_database, insert_table, note_altered, rename_table};

pub(crate) use deletions::{NewDeletion, SeenDeletion, StoredDeletion};
pub(crate) use foreign::{ForeignFile, LakeTable};
pub(crate) use from_backup::{NewTable, RestoredRecords};
pub(crate) use part_records::{ColumnStatistics, NewPart};
pub(crate) use parts::{InsertMark, InsertedParts, PartExchange};
pub use refreshes::{RefreshNote, RefreshRecord};
use stored::StoredDatabase;
pub(crate) use stored::{StoredPart, StoredTable};
pub(crate) use table_records::{NewDatabase, TableAlteration};

/// The catalog of one server.
pub(crate) struct Catalog {
    state: Mutex<State>,
    /// Inserts that wait for the next transaction.
    queue: Mutex<Vec<PartsToCommit>>,
    disk: Arc<dyn Disk>,
    /// The folder that paths in the catalog begin from.
    data: PathBuf,
    /// Files that were scheduled for deletion and are gone.
    removed: Mutex<Vec<PathBuf>>,
    /// Who is told what happens to parts.
    note_part: OnceLock<NotePart>,
}

struct State {
    connection: Connection,
    /// The state of the catalog, as others leave it, that was looked at last.
    seen_version: Option<i64>,
    /// Given up for changes that make room on a full disk.
    reserve: Reserve,
    /// What inserts need to know of a table, so that they need not read it back.
    tables: HashMap<i64, TableTotals>,
}

impl Catalog {
    /// Opens the catalog. Where there is none it is made, unless `before_create` refuses.
    ///
    /// # Errors
    /// Where the file cannot be opened or is not a catalog; `UNKNOWN_FORMAT_VERSION` where it is of a later version than this server knows.
    pub(crate) fn open(
        path: &Path,
        data: &Path,
        disk: Arc<dyn Disk>,
        before_create: &dyn Fn() -> Result<()>,
    ) -> Result<Arc<Self>> {
        let mut reserve = Reserve::new(path.with_extension("reserve"));
        let open = || {
            let mut connection = opening::connect(path, before_create)?;
            opening::prepare(&mut connection, data, &*disk)?;
            Ok::<_, Error>(connection)
        };
        // SQLite says nothing of a full disk where it cannot make the file of its shared memory, which is new after a stop.
        let lacks_room = |error: &Error| {
            matches!(error.code, ErrorCode::NOT_ENOUGH_SPACE | ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR)
        };
        let connection = match open() {
            Err(error) if lacks_room(&error) && reserve.release() => open(),
            opened => opened,
        }?;
        reserve.keep();
        Ok(Self::new(connection, reserve, data, disk))
    }

    fn new(connection: Connection, reserve: Reserve, data: &Path, disk: Arc<dyn Disk>) -> Arc<Self> {
        let state = State { connection, seen_version: None, reserve, tables: HashMap::new() };
        let (queue, removed, note_part) = Default::default();
        Arc::new(Self { state: Mutex::new(state), queue, disk, data: data.to_path_buf(), removed, note_part })
    }

    /// Says who is told what happens to parts from now on.
    pub(crate) fn set_note_part(&self, note: NotePart) {
        // The first one stays: there is one server.
        let _ = self.note_part.set(note);
    }

    /// Tells what has happened to a part, where somebody wants to know.
    pub(crate) fn note_part(&self, event: impl FnOnce() -> PartEvent) {
        if let Some(note) = self.note_part.get() {
            note(event());
        }
    }

    /// A catalog over a connection that outlives it, on a disk of a test.
    #[cfg(test)]
    pub(crate) fn over(mut connection: Connection, data: &Path, disk: Arc<dyn Disk>) -> Result<Arc<Self>> {
        opening::prepare(&mut connection, data, &*disk)?;
        Ok(Self::new(connection, Reserve::none(), data, disk))
    }

    /// Everything that is there.
    ///
    /// # Errors
    /// Where the catalog cannot be read. What a table's definition says is the table's own matter.
    pub(crate) fn load(&self) -> Result<(Vec<StoredDatabase>, Vec<StoredTable>)> {
        let mut state = self.state.lock();
        let (databases, mut tables) = load(&state.connection).map_err(|error| catalog_error(&error))?;
        let mut mutations = mutations::load(&state.connection).map_err(|error| catalog_error(&error))?;
        for table in &mut tables {
            table.mutations = mutations.remove(&table.id).unwrap_or_default();
            let Ok(columns) = table.record.columns() else { continue };
            let stored = stored_schema(&columns);
            let fields = table.record.stored_fields(&stored);
            let totals = load_totals(&state.connection, table, fields, stored);
            state.tables.insert(table.id, totals.map_err(|error| catalog_error(&error))?);
        }
        Ok((databases, tables))
    }

    /// Whether the file is sound, as far as SQLite can tell.
    pub(crate) fn is_sound(&self) -> bool {
        let check = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
        self.state.lock().connection.query_row("PRAGMA quick_check(1)", [], check).is_ok_and(|found| found == "ok")
    }

    /// Tells the bounds of a part that was loaded, so that the table's stay right when more parts come.
    pub(crate) fn observe(&self, table: i64, schema: &PartSchema, columns: &[ColumnStatistics]) {
        if let Some(table) = self.state.lock().tables.get_mut(&table) {
            table.add_columns(schema, columns);
        }
    }

    /// Files that are nobody's, named from the folder of data on: dropped, or taken out of their table.
    ///
    /// # Errors
    /// Where the catalog cannot be read.
    pub(crate) fn files_to_delete(&self) -> Result<HashSet<String>> {
        let state = self.state.lock();
        let paths = || {
            let mut query = state.connection.prepare("SELECT path FROM ducklake_files_scheduled_for_deletion")?;
            query.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()
        };
        paths().map_err(|error| catalog_error(&error))
    }

    /// Forgets files that were scheduled for deletion and are gone for good.
    ///
    /// # Errors
    /// Where the catalog cannot be written.
    pub(crate) fn forget_files(&self, paths: &[String]) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let forgotten = self.state.lock().with_reserve(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            forget_files(&transaction, paths)?;
            commit(transaction, &*self.disk)
        });
        forgotten.map_err(|error| catalog_error(&error))
    }

    /// A file that was scheduled for deletion is gone.
    pub(crate) fn note_removed(&self, path: PathBuf) {
        self.removed.lock().push(path);
    }

    /// A path as the catalog has it: from the folder of data on.
    pub(crate) fn relative(&self, path: &Path) -> Option<String> {
        path.strip_prefix(&self.data).ok().map(|path| path.to_string_lossy().into_owned())
    }

    /// Moves what the write-ahead log has into the catalog's own file, so that it is whole without the log.
    ///
    /// # Errors
    /// Where it cannot be written; nothing is lost then.
    pub(crate) fn checkpoint(&self) -> Result<()> {
        let state = self.state.lock();
        let done = state.connection.pragma(None, "wal_checkpoint", "TRUNCATE", |_| Ok(()));
        done.map_err(|error| catalog_error(&error))
    }

    /// Looks at something while nobody commits.
    pub(crate) fn between_commits<T>(&self, look: impl FnOnce() -> T) -> T {
        let _state = self.state.lock();
        look()
    }

    /// What files are kept with.
    pub(crate) fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
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
                insert_database(change, &NewDatabase { id, name, uuid, comment })?;
                Ok(id)
            },
            |_, id| publish(*id),
        )
        .map(drop)
    }

    /// `DROP DATABASE` with its tables.
    pub(crate) fn drop_database(
        &self,
        database: i64,
        tables: &[i64],
        needless_files: &[String],
        publish: impl FnOnce(),
    ) -> Result<()> {
        self.change_for_room(
            |change| {
                for path in needless_files {
                    schedule_deletion(&change.transaction, -1, path)?;
                }
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

    /// `CREATE TABLE` of tables that come together, in the place of the one with the number `replaced`: their numbers.
    pub(crate) fn create_tables(
        &self,
        database: i64,
        tables: &[(&str, &TableIdentity)],
        replaced: Option<i64>,
    ) -> Result<Vec<i64>> {
        let mut new = Vec::with_capacity(tables.len());
        for (name, identity) in tables {
            let columns = lake_columns(&identity.stored, &identity.fields.ids);
            new.push((*name, *identity, identity.has_parts()?.then_some(columns)));
        }
        self.change(
            |change| {
                if let Some(replaced) = replaced {
                    drop_table(change, replaced)?;
                }
                let mut ids = Vec::with_capacity(new.len());
                for (name, identity, in_lake) in &new {
                    let id = change.new_catalog_id();
                    insert_table(change, id, database, name, identity, in_lake.as_deref())?;
                    ids.push(id);
                }
                Ok(ids)
            },
            |state, ids| {
                if let Some(replaced) = replaced {
                    state.remove(&replaced);
                }
                for (id, (_, identity)) in ids.iter().zip(tables) {
                    state.insert(*id, TableTotals::new(identity));
                }
            },
        )
    }

    /// `RENAME DATABASE`.
    pub(crate) fn rename_database(&self, database: i64, name: &str, publish: impl FnOnce()) -> Result<()> {
        self.change(
            |change| {
                change.is_schema_change = true;
                change.made.push(format!("altered_schema:{database}"));
                change.transaction.execute(
                    "UPDATE ducklake_schema SET schema_name = ?2 WHERE schema_id = ?1 AND end_snapshot IS NULL",
                    params![database, name],
                )?;
                Ok(())
            },
            |_, ()| publish(),
        )
    }

    /// `DROP TABLE` of tables that go together, and of further files that go with them.
    pub(crate) fn drop_tables(&self, tables: &[i64], needless_files: &[String], publish: impl FnOnce()) -> Result<()> {
        self.change_for_room(
            |change| {
                for path in needless_files {
                    schedule_deletion(&change.transaction, -1, path)?;
                }
                tables.iter().try_for_each(|table| drop_table(change, *table))
            },
            |state, ()| {
                for table in tables {
                    state.remove(table);
                }
                publish();
            },
        )
    }

    /// `ALTER TABLE`: what the table is defined as from now on. `alteration` says what its columns were.
    pub(crate) fn alter_table(
        &self,
        table: i64,
        alteration: &TableAlteration<'_>,
        publish: impl FnOnce(),
    ) -> Result<()> {
        self.change(
            |change| alter_table(change, table, alteration),
            |state, ()| {
                if let Some(totals) = state.get_mut(&table) {
                    totals.alter(alteration.after);
                }
                publish();
            },
        )
    }

    /// The first id that no column of a table has or had.
    ///
    /// # Errors
    /// Where the catalog cannot be read.
    pub(crate) fn next_column_id(&self, table: i64) -> Result<i64> {
        let state = self.state.lock();
        let sql = "SELECT coalesce(max(column_id), 0) + 1 FROM ducklake_column WHERE table_id = ?1";
        state.connection.query_row(sql, params![table], |row| row.get(0)).map_err(|error| catalog_error(&error))
    }

    /// `DETACH TABLE … PERMANENTLY`, and what undoes it.
    pub(crate) fn set_detached(&self, table: i64, is_detached: bool, publish: impl FnOnce()) -> Result<()> {
        let sql = if is_detached {
            "INSERT OR REPLACE INTO squall_detached_table VALUES (?1)"
        } else {
            "DELETE FROM squall_detached_table WHERE table_id = ?1"
        };
        self.change(
            |change| {
                note_altered(change, table)?;
                change.transaction.execute(sql, params![table]).map(drop)
            },
            |_, ()| publish(),
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
                renames.iter().try_for_each(|(table, database, name)| rename_table(change, *table, *database, name))
            },
            |_, ()| publish(),
        )
    }

    /// Runs `work` as one transaction and snapshot, then `publish` while nobody else can commit.
    fn change<T>(
        &self,
        work: impl Fn(&mut Change) -> rusqlite::Result<T>,
        publish: impl FnOnce(&mut HashMap<i64, TableTotals>, &T),
    ) -> Result<T> {
        let mut state = self.state.lock();
        let result = commit_change(&mut state.connection, &*self.disk, work).map_err(|error| catalog_error(&error))?;
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
        let result = state.with_reserve(|connection| commit_change(connection, &*self.disk, &work));
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
    disk: &dyn Disk,
    work: impl Fn(&mut Change) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let mut change = Change::begin(connection, disk)?;
    let result = work(&mut change)?;
    change.commit()?;
    Ok(result)
}

fn is_disk_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
}

fn catalog_error(error: &rusqlite::Error) -> Error {
    let code = match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => ErrorCode::NOT_ENOUGH_SPACE,
        Some(rusqlite::ErrorCode::SystemIoFailure) => ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR,
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
