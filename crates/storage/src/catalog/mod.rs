//! The catalog: what databases, tables and parts there are, in SQLite, as DuckLake lays it out. Every change is one transaction
//! and one snapshot, durable when it returns; inserts that come at the same time share one.

mod lake_value;
mod schema;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use squall_planner::{ColumnDefault, ColumnDescription, DefaultKind, Expression, TableDefinition};
use squall_types::{DataType, Error, ErrorCode, Result, Schema, Value};
use uuid::Uuid;

use crate::identity::TableIdentity;
use crate::merge_tree::{LakeColumn, lake_columns};
use lake_value::lake_value;

/// A database as the catalog keeps it.
#[derive(Clone, Debug)]
pub(crate) struct StoredDatabase {
    pub(crate) id: i64,
    pub(crate) uuid: Uuid,
    pub(crate) name: String,
    pub(crate) comment: String,
}

/// A table as the catalog keeps it. Key expressions are still text.
#[derive(Clone, Debug)]
pub(crate) struct StoredTable {
    pub(crate) id: i64,
    pub(crate) uuid: Uuid,
    pub(crate) database_id: i64,
    pub(crate) name: String,
    pub(crate) engine: String,
    pub(crate) columns: Vec<ColumnDescription>,
    pub(crate) sorting_key: Vec<String>,
    pub(crate) primary_key: Option<Vec<String>>,
    pub(crate) partition_key: Vec<String>,
    pub(crate) settings: Vec<(Arc<str>, Arc<str>)>,
    pub(crate) comment: String,
    pub(crate) parts: Vec<StoredPart>,
}

/// A part as the catalog keeps it.
#[derive(Clone, Debug)]
pub(crate) struct StoredPart {
    pub(crate) name: Arc<str>,
    pub(crate) partition_id: Arc<str>,
    /// The file's name in the table's directory.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    pub(crate) description: Vec<u8>,
}

/// A part to be recorded.
pub(crate) struct NewPart {
    pub(crate) name: Arc<str>,
    pub(crate) partition_id: Arc<str>,
    pub(crate) path: String,
    pub(crate) rows: i64,
    pub(crate) bytes: i64,
    pub(crate) footer_bytes: i64,
    pub(crate) description: Vec<u8>,
    /// One per stored column.
    pub(crate) columns: Vec<ColumnStatistics>,
}

/// A column of a part in numbers.
pub(crate) struct ColumnStatistics {
    pub(crate) bytes: i64,
    pub(crate) values: i64,
    pub(crate) nulls: i64,
    pub(crate) may_have_nan: bool,
    pub(crate) low: Option<Value>,
    pub(crate) high: Option<Value>,
}

/// The catalog of one server.
pub(crate) struct Catalog {
    state: Mutex<State>,
    /// Inserts that wait for the next transaction.
    queue: Mutex<Vec<PartsToCommit>>,
}

struct State {
    connection: Connection,
    /// What inserts need to know of a table, so that they need not read it back.
    tables: HashMap<i64, TableState>,
}

/// A table's running totals, as `ducklake_table_stats` and its kin hold them.
#[derive(Clone)]
struct TableState {
    stored: Arc<Schema>,
    columns: Vec<LakeColumn>,
    rows: i64,
    next_row_id: i64,
    bytes: i64,
    ranges: Vec<ColumnTotals>,
}

#[derive(Clone, Default)]
struct ColumnTotals {
    has_null: bool,
    may_have_nan: bool,
    /// `None` before the first part; a bound that is `None` is unknown.
    range: Option<(Option<Value>, Option<Value>)>,
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
        let mut connection = Connection::open(path).map_err(|error| catalog_error(&error))?;
        (|| {
            connection.busy_timeout(std::time::Duration::from_secs(10))?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            // An acknowledged commit is on disk, whatever happens to the machine.
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "cache_size", -16_384)
        })()
        .map_err(|error| catalog_error(&error))?;
        let is_new = connection
            .query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'ducklake_metadata'", [], |row| {
                row.get::<_, i64>(0)
            })
            .map_err(|error| catalog_error(&error))?
            == 0;
        if is_new {
            create(&mut connection, data_path).map_err(|error| catalog_error(&error))?;
        }
        check_version(&connection, "version", schema::DUCKLAKE_VERSION)?;
        check_version(&connection, "squall_version", schema::SQUALL_VERSION)?;
        let state = State { connection, tables: HashMap::new() };
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
        let transaction = state.connection.transaction().map_err(|error| catalog_error(&error))?;
        let forget = || {
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
            transaction.execute("DELETE FROM ducklake_files_scheduled_for_deletion", [])
        };
        forget().and_then(|_| transaction.commit()).map_err(|error| catalog_error(&error))
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
        self.change(
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
                    TableState { stored, columns: columns.clone(), rows: 0, next_row_id: 0, bytes: 0, ranges },
                );
            },
        )
    }

    /// `DROP TABLE`.
    pub(crate) fn drop_table(&self, table: i64, publish: impl FnOnce()) -> Result<()> {
        self.change(
            |change| drop_table(change, table),
            |state, ()| {
                state.remove(&table);
                publish();
            },
        )
    }

    /// `TRUNCATE TABLE`.
    pub(crate) fn truncate_table(&self, table: i64, publish: impl FnOnce()) -> Result<()> {
        self.change(
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

    /// Runs `work` as one transaction and snapshot, then `publish` while nobody else can commit.
    fn change<T>(
        &self,
        work: impl FnOnce(&mut Change) -> rusqlite::Result<T>,
        publish: impl FnOnce(&mut HashMap<i64, TableState>, &T),
    ) -> Result<T> {
        let mut state = self.state.lock();
        let state = &mut *state;
        let result = (|| {
            let mut change = Change::begin(&mut state.connection)?;
            let result = work(&mut change)?;
            change.commit()?;
            Ok(result)
        })();
        let result = result.map_err(|error| catalog_error(&error))?;
        publish(&mut state.tables, &result);
        Ok(result)
    }
}

/// A transaction that makes a snapshot.
struct Change<'a> {
    transaction: Transaction<'a>,
    snapshot: i64,
    schema_version: i64,
    next_catalog_id: i64,
    next_file_id: i64,
    is_schema_change: bool,
    /// The entries of `changes_made`.
    made: Vec<String>,
    /// Tables whose schema this snapshot makes.
    new_tables: Vec<i64>,
}

impl<'a> Change<'a> {
    fn begin(connection: &'a mut Connection) -> rusqlite::Result<Self> {
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let (snapshot, schema_version, next_catalog_id, next_file_id) = transaction.query_row(
            "SELECT snapshot_id, schema_version, next_catalog_id, next_file_id FROM ducklake_snapshot
             ORDER BY snapshot_id DESC LIMIT 1",
            [],
            |row| Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )?;
        Ok(Self {
            transaction,
            snapshot: snapshot + 1,
            schema_version,
            next_catalog_id,
            next_file_id,
            is_schema_change: false,
            made: Vec::new(),
            new_tables: Vec::new(),
        })
    }

    fn new_catalog_id(&mut self) -> i64 {
        self.next_catalog_id += 1;
        self.next_catalog_id - 1
    }

    fn commit(self) -> rusqlite::Result<()> {
        let schema_version = self.schema_version + i64::from(self.is_schema_change);
        self.transaction.execute(
            "INSERT INTO ducklake_snapshot VALUES (?1, ?2, ?3, ?4, ?5)",
            params![self.snapshot, now(), schema_version, self.next_catalog_id, self.next_file_id],
        )?;
        self.transaction.execute(
            "INSERT INTO ducklake_snapshot_changes VALUES (?1, ?2, NULL, NULL, NULL)",
            params![self.snapshot, self.made.join(",")],
        )?;
        for table in &self.new_tables {
            self.transaction.execute(
                "INSERT INTO ducklake_schema_versions VALUES (?1, ?2, ?3)",
                params![self.snapshot, schema_version, table],
            )?;
        }
        self.transaction.commit()
    }
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

fn insert_table(
    change: &mut Change,
    id: i64,
    database: i64,
    name: &str,
    identity: &TableIdentity,
    columns: &[LakeColumn],
) -> rusqlite::Result<()> {
    let definition = &identity.definition;
    let snapshot = change.snapshot;
    change.is_schema_change = true;
    change.new_tables.push(id);
    let database_name: String = change.transaction.query_row(
        "SELECT schema_name FROM ducklake_schema WHERE schema_id = ?1 AND end_snapshot IS NULL",
        params![database],
        |row| row.get(0),
    )?;
    change.made.push(format!("created_table:{}.{}", quoted(&database_name), quoted(name)));
    let transaction = &change.transaction;
    transaction.execute(
        "INSERT INTO ducklake_table VALUES (?1, ?2, ?3, NULL, ?4, ?5, ?6, 1)",
        params![id, identity.uuid.to_string(), snapshot, database, name, format!("{}/", identity.uuid)],
    )?;
    for (order, column) in columns.iter().enumerate() {
        transaction.execute(
            "INSERT INTO ducklake_column VALUES (?1, ?2, NULL, ?3, ?4, ?5, ?6, NULL, NULL, ?7, ?8, 'literal', NULL)",
            params![
                column.id,
                snapshot,
                id,
                order as i64,
                column.name,
                column.lake_type,
                column.is_nullable,
                column.parent
            ],
        )?;
    }
    transaction.execute("INSERT INTO ducklake_table_stats VALUES (?1, 0, 0, 0)", params![id])?;
    transaction.execute(
        "INSERT INTO squall_table VALUES (?1, ?2, ?3, ?4)",
        params![id, &*definition.engine, definition.primary_key.is_some(), &*definition.comment],
    )?;
    for (position, column) in definition.columns.iter().enumerate() {
        let default = column.default.as_ref();
        transaction.execute(
            "INSERT INTO squall_column VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                id,
                position as i64,
                &*column.name,
                column.data_type.to_string(),
                default.map(|default| default_kind_name(default.kind)),
                default.map(|default| &*default.expression),
                &*column.comment,
            ],
        )?;
    }
    let keys = [
        ("sorting", definition.sorting_key.as_slice()),
        ("primary", definition.primary_key.as_deref().unwrap_or_default()),
        ("partition", definition.partition_key.as_slice()),
    ];
    for (kind, keys) in keys {
        for (position, key) in keys.iter().enumerate() {
            transaction.execute(
                "INSERT INTO squall_key VALUES (?1, ?2, ?3, ?4)",
                params![id, kind, position as i64, &*key.sql],
            )?;
        }
    }
    for (position, (name, value)) in definition.settings.iter().enumerate() {
        transaction.execute(
            "INSERT INTO squall_setting VALUES (?1, ?2, ?3, ?4)",
            params![id, position as i64, &**name, &**value],
        )?;
    }
    // DuckLake's sort order knows plain columns only.
    let column_name = |expression: &Expression| match expression {
        Expression::Column { position, .. } => definition.columns.get(*position).map(|column| column.name.clone()),
        _ => None,
    };
    let sorting: Option<Vec<_>> = definition.sorting_key.iter().map(|key| column_name(&key.expression)).collect();
    if let Some(sorting) = sorting.filter(|sorting| !sorting.is_empty()) {
        let sort_id = change.new_catalog_id();
        change
            .transaction
            .execute("INSERT INTO ducklake_sort_info VALUES (?1, ?2, ?3, NULL)", params![sort_id, id, snapshot])?;
        for (at, name) in sorting.iter().enumerate() {
            change.transaction.execute(
                "INSERT INTO ducklake_sort_expression VALUES (?1, ?2, ?3, ?4, 'duckdb', 'ASC', 'NULLS_LAST')",
                params![sort_id, id, at as i64, quoted(name)],
            )?;
        }
    }
    Ok(())
}

fn drop_table(change: &mut Change, table: i64) -> rusqlite::Result<()> {
    change.is_schema_change = true;
    change.made.push(format!("dropped_table:{table}"));
    end_parts(change, table)?;
    for lake_table in
        ["ducklake_table", "ducklake_partition_info", "ducklake_column", "ducklake_column_tag", "ducklake_sort_info"]
    {
        change.transaction.execute(
            &format!("UPDATE {lake_table} SET end_snapshot = ?2 WHERE table_id = ?1 AND end_snapshot IS NULL"),
            params![table, change.snapshot],
        )?;
    }
    for own_table in ["squall_table", "squall_column", "squall_key", "squall_setting"] {
        change.transaction.execute(&format!("DELETE FROM {own_table} WHERE table_id = ?1"), params![table])?;
    }
    Ok(())
}

/// Ends a table's parts: their files are removed when nobody reads them, at the latest at the next start.
fn end_parts(change: &mut Change, table: i64) -> rusqlite::Result<()> {
    change.transaction.execute(
        "INSERT INTO ducklake_files_scheduled_for_deletion
         SELECT f.data_file_id, s.path || t.path || f.path, 1, ?2
         FROM ducklake_data_file f
             JOIN ducklake_table t ON t.table_id = f.table_id AND t.end_snapshot IS NULL
             JOIN ducklake_schema s ON s.schema_id = t.schema_id
         WHERE f.table_id = ?1 AND f.end_snapshot IS NULL",
        params![table, now()],
    )?;
    change.transaction.execute(
        "UPDATE ducklake_data_file SET end_snapshot = ?2 WHERE table_id = ?1 AND end_snapshot IS NULL",
        params![table, change.snapshot],
    )?;
    Ok(())
}

/// Commits all waiting inserts as one snapshot and tells each how it went.
fn commit_group(state: &mut State, waiting: Vec<PartsToCommit>) {
    // Totals change only if the commit does.
    let mut totals: HashMap<i64, TableState> = HashMap::new();
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

fn insert_part(change: &mut Change, table_id: i64, table: &mut TableState, part: &NewPart) -> rusqlite::Result<()> {
    let file = change.next_file_id;
    change.next_file_id += 1;
    change.transaction.prepare_cached(
        "INSERT INTO ducklake_data_file VALUES (?1, ?2, ?3, NULL, ?1, ?4, 1, 'parquet', ?5, ?6, ?7, ?8, NULL, NULL, NULL, NULL)",
    )?
    .execute(params![file, table_id, change.snapshot, part.path, part.rows, part.bytes, part.footer_bytes, table.next_row_id])?;
    change.transaction.prepare_cached("INSERT INTO squall_part VALUES (?1, ?2, ?3, ?4, ?5)")?.execute(params![
        file,
        table_id,
        &*part.name,
        &*part.partition_id,
        part.description,
    ])?;
    table.rows += part.rows;
    table.next_row_id += part.rows;
    table.bytes += part.bytes;
    let mut statement = change
        .transaction
        .prepare_cached("INSERT INTO ducklake_file_column_stats VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, NULL)")?;
    let top_level = table.columns.iter().filter(|column| column.parent.is_none());
    let columns = top_level.zip(&table.stored.fields).zip(&part.columns).zip(&mut table.ranges);
    for (((column, (_, data_type)), found), totals) in columns {
        if !matches!(data_type.inner(), DataType::Array(_) | DataType::Map(..) | DataType::Tuple(_)) {
            let text = |value: &Option<Value>| value.as_ref().and_then(|value| lake_value(data_type, value));
            statement.execute(params![
                file,
                table_id,
                column.id,
                found.bytes,
                found.values - found.nulls,
                found.nulls,
                text(&found.low),
                text(&found.high),
                data_type.inner().is_float().then_some(found.may_have_nan),
            ])?;
        }
        totals.add(found);
    }
    Ok(())
}

impl ColumnTotals {
    fn add(&mut self, part: &ColumnStatistics) {
        self.has_null |= part.nulls > 0;
        self.may_have_nan |= part.may_have_nan;
        let pick = |old: Option<Value>, new: &Option<Value>, wanted| match (old, new) {
            (Some(old), Some(new)) => Some(if new.compare(&old) == wanted { new.clone() } else { old }),
            _ => None,
        };
        self.range = Some(match self.range.take() {
            None => (part.low.clone(), part.high.clone()),
            Some((low, high)) => {
                (pick(low, &part.low, std::cmp::Ordering::Less), pick(high, &part.high, std::cmp::Ordering::Greater))
            }
        });
    }
}

fn write_totals(transaction: &Transaction, table_id: i64, table: &TableState) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE ducklake_table_stats SET record_count = ?2, next_row_id = ?3, file_size_bytes = ?4 WHERE table_id = ?1")?
        .execute(params![table_id, table.rows, table.next_row_id, table.bytes])?;
    transaction
        .prepare_cached("DELETE FROM ducklake_table_column_stats WHERE table_id = ?1")?
        .execute(params![table_id])?;
    let mut statement =
        transaction.prepare_cached("INSERT INTO ducklake_table_column_stats VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL)")?;
    let top_level = table.columns.iter().filter(|column| column.parent.is_none());
    for ((column, (_, data_type)), totals) in top_level.zip(&table.stored.fields).zip(&table.ranges) {
        let (low, high) = totals.range.clone().unwrap_or_default();
        let text = |value: Option<Value>| value.and_then(|value| lake_value(data_type, &value));
        let nan = data_type.inner().is_float().then_some(totals.may_have_nan);
        statement.execute(params![table_id, column.id, totals.has_null, nan, text(low), text(high)])?;
    }
    Ok(())
}

/// A table as it lies in the catalog's tables.
struct RawTable {
    id: i64,
    uuid: String,
    database_id: i64,
    name: String,
    engine: String,
    has_primary_key: bool,
    comment: String,
    columns: Vec<RawColumn>,
    keys: Vec<(String, String)>,
    settings: Vec<(Arc<str>, Arc<str>)>,
    parts: Vec<StoredPart>,
}

struct RawColumn {
    name: String,
    data_type: String,
    default_kind: Option<String>,
    default_expression: Option<String>,
    comment: String,
}

fn load(connection: &Connection) -> rusqlite::Result<(Vec<StoredDatabase>, Vec<RawTable>)> {
    let databases = connection
        .prepare(
            "SELECT s.schema_id, s.schema_uuid, s.schema_name, q.comment
             FROM ducklake_schema s JOIN squall_schema q USING (schema_id) WHERE s.end_snapshot IS NULL ORDER BY 1",
        )?
        .query_map([], |row| {
            let uuid: String = row.get(1)?;
            let uuid = Uuid::parse_str(&uuid).unwrap_or_default();
            Ok(StoredDatabase { id: row.get(0)?, uuid, name: row.get(2)?, comment: row.get(3)? })
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let mut tables = connection
        .prepare(
            "SELECT t.table_id, t.table_uuid, t.schema_id, t.table_name, q.engine, q.has_primary_key, q.comment
             FROM ducklake_table t JOIN squall_table q USING (table_id) WHERE t.end_snapshot IS NULL ORDER BY 1",
        )?
        .query_map([], |row| {
            Ok(RawTable {
                id: row.get(0)?,
                uuid: row.get(1)?,
                database_id: row.get(2)?,
                name: row.get(3)?,
                engine: row.get(4)?,
                has_primary_key: row.get(5)?,
                comment: row.get(6)?,
                columns: Vec::new(),
                keys: Vec::new(),
                settings: Vec::new(),
                parts: Vec::new(),
            })
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let mut columns = connection.prepare(
        "SELECT column_name, data_type, default_kind, default_expression, comment FROM squall_column
         WHERE table_id = ?1 ORDER BY position",
    )?;
    let mut keys = connection
        .prepare("SELECT key_kind, expression FROM squall_key WHERE table_id = ?1 ORDER BY key_kind, position")?;
    let mut settings =
        connection.prepare("SELECT name, value FROM squall_setting WHERE table_id = ?1 ORDER BY position")?;
    let mut parts = connection.prepare(
        "SELECT p.part_name, p.partition, f.path, f.file_size_bytes, p.description
         FROM ducklake_data_file f JOIN squall_part p USING (data_file_id)
         WHERE f.table_id = ?1 AND f.end_snapshot IS NULL ORDER BY f.data_file_id",
    )?;
    for table in &mut tables {
        table.columns = columns
            .query_map(params![table.id], |row| {
                Ok(RawColumn {
                    name: row.get(0)?,
                    data_type: row.get(1)?,
                    default_kind: row.get(2)?,
                    default_expression: row.get(3)?,
                    comment: row.get(4)?,
                })
            })?
            .collect::<rusqlite::Result<_>>()?;
        table.keys = keys
            .query_map(params![table.id], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        table.settings = settings
            .query_map(params![table.id], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        table.parts = parts
            .query_map(params![table.id], |row| {
                Ok(StoredPart {
                    name: row.get(0)?,
                    partition_id: row.get(1)?,
                    path: row.get(2)?,
                    bytes: row.get::<_, i64>(3)? as u64,
                    description: row.get(4)?,
                })
            })?
            .collect::<rusqlite::Result<_>>()?;
    }
    Ok((databases, tables))
}

impl TryFrom<RawTable> for StoredTable {
    type Error = Error;

    fn try_from(raw: RawTable) -> Result<Self> {
        let column = |column: RawColumn| {
            let default = column.default_kind.as_deref().zip(column.default_expression);
            Ok(ColumnDescription {
                name: column.name.into(),
                data_type: DataType::parse(&column.data_type)?,
                default: default
                    .map(|(kind, expression)| {
                        Ok::<_, Error>(ColumnDefault { kind: default_kind(kind)?, expression: expression.into() })
                    })
                    .transpose()?,
                comment: column.comment.into(),
            })
        };
        let keys = |kind: &str| -> Vec<String> {
            raw.keys.iter().filter(|(known, _)| known == kind).map(|(_, expression)| expression.clone()).collect()
        };
        Ok(Self {
            id: raw.id,
            uuid: Uuid::parse_str(&raw.uuid).unwrap_or_default(),
            database_id: raw.database_id,
            name: raw.name,
            engine: raw.engine,
            sorting_key: keys("sorting"),
            primary_key: raw.has_primary_key.then(|| keys("primary")),
            partition_key: keys("partition"),
            columns: raw.columns.into_iter().map(column).collect::<Result<_>>()?,
            settings: raw.settings,
            comment: raw.comment,
            parts: raw.parts,
        })
    }
}

impl StoredTable {
    /// The definition, its key expressions read by `bind`.
    ///
    /// # Errors
    /// Those of `bind`.
    pub(crate) fn definition(
        &self,
        bind: impl Fn(&str, &[ColumnDescription]) -> Result<Expression>,
    ) -> Result<TableDefinition> {
        let keys = |keys: &[String]| {
            keys.iter()
                .map(|sql| {
                    let expression = bind(sql, &self.columns)?;
                    Ok(squall_planner::KeyExpression { sql: sql.as_str().into(), expression })
                })
                .collect::<Result<Vec<_>>>()
        };
        Ok(TableDefinition {
            columns: self.columns.clone(),
            engine: self.engine.as_str().into(),
            engine_arguments: Vec::new(),
            sorting_key: keys(&self.sorting_key)?,
            primary_key: self.primary_key.as_deref().map(keys).transpose()?,
            partition_key: keys(&self.partition_key)?,
            settings: self.settings.clone(),
            comment: self.comment.as_str().into(),
        })
    }
}

fn stored_schema(columns: &[ColumnDescription]) -> Arc<Schema> {
    let is_stored = |column: &&ColumnDescription| {
        !column
            .default
            .as_ref()
            .is_some_and(|default| matches!(default.kind, DefaultKind::Alias | DefaultKind::Ephemeral))
    };
    Arc::new(Schema::new(
        columns.iter().filter(is_stored).map(|column| (column.name.clone(), column.data_type.clone())),
    ))
}

/// Running totals of a table without its columns' bounds, which [`Catalog::observe`] brings.
fn load_totals(connection: &Connection, table: i64, stored: Arc<Schema>) -> rusqlite::Result<TableState> {
    let totals = connection
        .query_row(
            "SELECT record_count, next_row_id, file_size_bytes FROM ducklake_table_stats WHERE table_id = ?1",
            params![table],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .optional()?;
    let (rows, next_row_id, bytes) = totals.unwrap_or((0, 0, 0));
    let columns = lake_columns(&stored);
    let ranges = vec![ColumnTotals::default(); stored.len()];
    Ok(TableState { stored, columns, rows, next_row_id, bytes, ranges })
}

fn default_kind_name(kind: DefaultKind) -> &'static str {
    match kind {
        DefaultKind::Default => "DEFAULT",
        DefaultKind::Materialized => "MATERIALIZED",
        DefaultKind::Alias => "ALIAS",
        DefaultKind::Ephemeral => "EPHEMERAL",
    }
}

fn default_kind(name: &str) -> Result<DefaultKind> {
    Ok(match name {
        "DEFAULT" => DefaultKind::Default,
        "MATERIALIZED" => DefaultKind::Materialized,
        "ALIAS" => DefaultKind::Alias,
        "EPHEMERAL" => DefaultKind::Ephemeral,
        other => {
            return Err(Error::new(
                ErrorCode::CORRUPTED_DATA,
                format!("The catalog has a column default of kind {other}"),
            ));
        }
    })
}

/// A name as `changes_made` has it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn now() -> String {
    chrono::Utc::now().format("%Y-%m-%d %H:%M:%S%.6f+00").to_string()
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
