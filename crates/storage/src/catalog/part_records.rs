//! Recording the parts of inserts, and the running totals that DuckLake keeps of tables.

use std::collections::HashSet;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use squall_types::{Schema, Value};

use super::change::{Change, now};
use super::deletions::{SeenDeletion, remove_deletion};
use super::lake_value::lake_value;
use super::stored::StoredTable;
use crate::fields::{FieldIds, StoredFields};
use crate::identity::TableIdentity;
use crate::merge_tree::{LakeColumn, PartSchema, lake_columns};

/// A part to be recorded.
pub(crate) struct NewPart {
    pub(crate) name: Arc<str>,
    pub(crate) partition_id: Arc<str>,
    pub(crate) path: String,
    pub(crate) rows: i64,
    pub(crate) bytes: i64,
    pub(crate) footer_bytes: i64,
    pub(crate) description: Vec<u8>,
    /// One per column of `schema`.
    pub(crate) columns: Vec<ColumnStatistics>,
    /// What it was written with.
    pub(crate) schema: Arc<PartSchema>,
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

/// A table's running totals, as `ducklake_table_stats` and its kin hold them.
#[derive(Clone)]
pub(super) struct TableTotals {
    fields: StoredFields,
    /// Numbers of the schemas that the catalog has.
    schemas: HashSet<i64>,
    pub(super) stored: Arc<Schema>,
    pub(super) columns: Vec<LakeColumn>,
    pub(super) rows: i64,
    pub(super) next_row_id: i64,
    pub(super) bytes: i64,
    pub(super) ranges: Vec<ColumnTotals>,
}

impl TableTotals {
    /// Those of a table without rows.
    pub(super) fn new(identity: &TableIdentity) -> Self {
        Self::of(identity.fields.clone(), identity.stored.clone())
    }

    fn of(fields: StoredFields, stored: Arc<Schema>) -> Self {
        let ranges = vec![ColumnTotals::default(); stored.len()];
        let columns = lake_columns(&stored, &fields.ids);
        Self { fields, schemas: HashSet::new(), stored, columns, rows: 0, next_row_id: 0, bytes: 0, ranges }
    }

    /// The table's columns are others from now on; of new ones nothing is known but that earlier rows have them, too.
    pub(super) fn alter(&mut self, after: &TableIdentity) {
        let has_rows = self.rows > 0;
        let range = |ids: &FieldIds| match self.fields.ids.iter().position(|known| known.id == ids.id) {
            Some(at) => self.ranges.get(at).cloned().unwrap_or_default(),
            None if has_rows => ColumnTotals::unknown(),
            None => ColumnTotals::default(),
        };
        let ranges = after.fields.ids.iter().map(range).collect();
        let schemas = std::mem::take(&mut self.schemas);
        *self = Self {
            ranges,
            schemas,
            rows: self.rows,
            next_row_id: self.next_row_id,
            bytes: self.bytes,
            ..Self::new(after)
        };
    }

    /// Adds a part's columns.
    pub(super) fn add_columns(&mut self, schema: &PartSchema, columns: &[ColumnStatistics]) {
        for (ids, totals) in self.fields.ids.iter().zip(&mut self.ranges) {
            let found = schema.fields.ids.iter().position(|known| known.id == ids.id);
            match found.and_then(|at| columns.get(at)) {
                Some(column) => totals.add(column),
                None => *totals = ColumnTotals::unknown(),
            }
        }
    }
}

#[derive(Clone, Default)]
pub(super) struct ColumnTotals {
    has_null: bool,
    may_have_nan: bool,
    /// `None` before the first part; a bound that is `None` is unknown.
    range: Option<(Option<Value>, Option<Value>)>,
}

/// Running totals of a table without its columns' bounds, which [`super::Catalog::observe`] brings.
pub(super) fn load_totals(
    connection: &Connection,
    table: &StoredTable,
    fields: StoredFields,
    stored: Arc<Schema>,
) -> rusqlite::Result<TableTotals> {
    let totals = connection
        .query_row(
            "SELECT record_count, next_row_id, file_size_bytes FROM ducklake_table_stats WHERE table_id = ?1",
            params![table.id],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .optional()?;
    let (rows, next_row_id, bytes) = totals.unwrap_or((0, 0, 0));
    let schemas = table.schemas.iter().map(|(number, _)| *number).collect();
    Ok(TableTotals { rows, next_row_id, bytes, schemas, ..TableTotals::of(fields, stored) })
}

/// Records a part and adds it to its table's totals.
pub(super) fn insert_part(
    change: &mut Change,
    table_id: i64,
    table: &mut TableTotals,
    part: &NewPart,
) -> rusqlite::Result<()> {
    let file = change.next_file_id;
    change.next_file_id += 1;
    change.transaction.prepare_cached(
        "INSERT INTO ducklake_data_file VALUES (?1, ?2, ?3, NULL, ?1, ?4, 1, 'parquet', ?5, ?6, ?7, ?8, NULL, NULL, NULL, NULL)",
    )?
    .execute(params![file, table_id, change.snapshot, part.path, part.rows, part.bytes, part.footer_bytes, table.next_row_id])?;
    change.transaction.prepare_cached("INSERT INTO squall_part VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(params![
        file,
        table_id,
        &*part.name,
        &*part.partition_id,
        part.description,
        part.schema.fields.number,
    ])?;
    if table.schemas.insert(part.schema.fields.number) {
        insert_schema(&change.transaction, table_id, &part.schema.fields, &part.schema.stored)?;
    }
    table.rows += part.rows;
    table.next_row_id += part.rows;
    table.bytes += part.bytes;
    let mut statement = change
        .transaction
        .prepare_cached("INSERT INTO ducklake_file_column_stats VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, NULL)")?;
    let columns = part.schema.fields.ids.iter().zip(&part.schema.stored.fields).zip(&part.columns);
    for ((column, (_, data_type)), found) in columns {
        if !data_type.is_nested() {
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
    }
    drop(statement);
    table.add_columns(&part.schema, &part.columns);
    Ok(())
}

/// Records the stored columns of a table under the number of their schema, where they are not known yet.
pub(super) fn insert_schema(
    transaction: &Transaction,
    table_id: i64,
    fields: &StoredFields,
    stored: &Schema,
) -> rusqlite::Result<()> {
    // Ids and names always have a JSON form.
    let columns = serde_json::to_string(&fields.records(stored)).unwrap_or_default();
    transaction
        .prepare_cached("INSERT OR IGNORE INTO squall_table_schema VALUES (?1, ?2, ?3)")?
        .execute(params![table_id, fields.number, columns])
        .map(drop)
}

/// Takes a part out of the catalog and its table's totals; `false` where there is none of that name, or where more of it is deleted than was
/// `seen`. Bounds of the table's columns stay as wide as they were.
pub(super) fn remove_part(
    change: &mut Change,
    table_id: i64,
    table: &mut TableTotals,
    name: &str,
    seen: &SeenDeletion,
) -> rusqlite::Result<bool> {
    let found: Option<(i64, i64, i64, String)> = change
        .transaction
        .prepare_cached(
            "SELECT f.data_file_id, f.record_count, f.file_size_bytes, t.path || f.path
             FROM ducklake_data_file f JOIN squall_part p ON p.data_file_id = f.data_file_id
                 JOIN ducklake_table t ON t.table_id = f.table_id AND t.end_snapshot IS NULL
             WHERE f.table_id = ?1 AND f.end_snapshot IS NULL AND p.part_name = ?2",
        )?
        .query_row(params![table_id, name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .optional()?;
    let Some((file, rows, bytes, path)) = found else { return Ok(false) };
    if !remove_deletion(&change.transaction, table_id, file, seen)? {
        return Ok(false);
    }
    for table in ["ducklake_data_file", "ducklake_file_column_stats", "ducklake_file_partition_value", "squall_part"] {
        change
            .transaction
            .prepare_cached(&format!("DELETE FROM {table} WHERE data_file_id = ?1"))?
            .execute(params![file])?;
    }
    schedule_deletion(&change.transaction, file, &path)?;
    table.rows -= rows;
    table.bytes -= bytes;
    Ok(true)
}

/// Notes that a file, named from the folder of data on, is nobody's: whoever finds it may remove it.
pub(super) fn schedule_deletion(transaction: &Transaction, file: i64, path: &str) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("INSERT INTO ducklake_files_scheduled_for_deletion VALUES (?1, ?2, 1, ?3)")?
        .execute(params![file, path, now()])
        .map(drop)
}

/// Forgets files that were scheduled for deletion and are gone.
pub(super) fn forget_files(transaction: &Transaction, paths: &[String]) -> rusqlite::Result<()> {
    for path in paths {
        for table in
            ["ducklake_data_file", "ducklake_file_column_stats", "ducklake_file_partition_value", "squall_part"]
        {
            transaction
                .prepare_cached(&format!(
                    "DELETE FROM {table} WHERE data_file_id IN
                     (SELECT data_file_id FROM ducklake_files_scheduled_for_deletion WHERE path = ?1)"
                ))?
                .execute(params![path])?;
        }
        transaction
            .prepare_cached(
                "DELETE FROM ducklake_delete_file WHERE end_snapshot IS NOT NULL AND delete_file_id IN
                 (SELECT data_file_id FROM ducklake_files_scheduled_for_deletion WHERE path = ?1)",
            )?
            .execute(params![path])?;
        transaction
            .prepare_cached("DELETE FROM ducklake_files_scheduled_for_deletion WHERE path = ?1")?
            .execute(params![path])?;
    }
    Ok(())
}

impl ColumnTotals {
    /// Of a column that any values may be in.
    fn unknown() -> Self {
        Self { has_null: true, may_have_nan: true, range: Some((None, None)) }
    }

    /// Adds a part's column.
    pub(super) fn add(&mut self, part: &ColumnStatistics) {
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

/// Records a table's totals.
pub(super) fn write_totals(transaction: &Transaction, table_id: i64, table: &TableTotals) -> rusqlite::Result<()> {
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
