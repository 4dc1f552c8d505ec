//! One change of the catalog: a transaction that makes a snapshot.

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use crate::disk::Disk;

/// Snapshots that stay when parts are merged or dropped, which is done again and again.
const SNAPSHOTS_KEPT: i64 = 10_000;

/// A transaction that makes a snapshot.
pub(super) struct Change<'a> {
    pub(super) transaction: Transaction<'a>,
    disk: &'a dyn Disk,
    pub(super) snapshot: i64,
    schema_version: i64,
    next_catalog_id: i64,
    pub(super) next_file_id: i64,
    pub(super) is_schema_change: bool,
    /// The entries of `changes_made`.
    pub(super) made: Vec<String>,
    /// Tables whose schema this snapshot makes.
    pub(super) new_tables: Vec<i64>,
}

impl<'a> Change<'a> {
    /// Begins a change after the newest snapshot.
    pub(super) fn begin(connection: &'a mut Connection, disk: &'a dyn Disk) -> rusqlite::Result<Self> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let (snapshot, schema_version, next_catalog_id, next_file_id) = transaction.query_row(
            "SELECT snapshot_id, schema_version, next_catalog_id, next_file_id FROM ducklake_snapshot
             ORDER BY snapshot_id DESC LIMIT 1",
            [],
            |row| Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )?;
        Ok(Self {
            transaction,
            disk,
            snapshot: snapshot + 1,
            schema_version,
            next_catalog_id,
            next_file_id,
            is_schema_change: false,
            made: Vec::new(),
            new_tables: Vec::new(),
        })
    }

    /// A number for a new schema, table or sort order.
    pub(super) fn new_catalog_id(&mut self) -> i64 {
        self.new_catalog_ids(1)
    }

    /// So many numbers in a row; the first of them.
    pub(super) fn new_catalog_ids(&mut self, count: i64) -> i64 {
        self.next_catalog_id += count;
        self.next_catalog_id - count
    }

    /// Forgets snapshots that are so old that parts of them are gone.
    pub(super) fn expire_snapshots(&self) -> rusqlite::Result<()> {
        for table in ["ducklake_snapshot", "ducklake_snapshot_changes"] {
            self.transaction
                .prepare_cached(&format!("DELETE FROM {table} WHERE snapshot_id < ?1"))?
                .execute(params![self.snapshot - SNAPSHOTS_KEPT])?;
        }
        Ok(())
    }

    /// Records the snapshot and makes everything durable.
    pub(super) fn commit(self) -> rusqlite::Result<()> {
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
        commit(self.transaction, self.disk)
    }
}

/// Commits: on return everything is durable.
pub(super) fn commit(transaction: Transaction<'_>, disk: &dyn Disk) -> rusqlite::Result<()> {
    let mut transaction = Some(transaction);
    disk.commit(&mut || transaction.take().map_or(Ok(()), Transaction::commit))
}

/// A name as `changes_made` has it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The time as the catalog writes it.
pub(super) fn now() -> String {
    chrono::Utc::now().format("%Y-%m-%d %H:%M:%S%.6f+00").to_string()
}
