//! The rows of a database and of a table in the catalog: their definitions, and the table's end.

use std::collections::HashMap;

use rusqlite::params;
use squall_planner::{Expression, TableDefinition};
use squall_types::{DataType, Value};
use uuid::Uuid;

use super::change::{Change, now, quoted};
use super::lake_value::lake_value;
use super::part_records::insert_schema;
use crate::identity::TableIdentity;
use crate::merge_tree::{LakeColumn, lake_columns};
use crate::table_record::{ConstraintRecord, IndexRecord, ProjectionRecord};

/// A database to be recorded.
pub(crate) struct NewDatabase<'a> {
    pub(crate) id: i64,
    pub(crate) name: &'a str,
    pub(crate) uuid: Uuid,
    pub(crate) comment: &'a str,
}

/// Records a new database.
pub(super) fn insert_database(change: &mut Change, database: &NewDatabase<'_>) -> rusqlite::Result<()> {
    let NewDatabase { id, name, uuid, comment } = database;
    change.is_schema_change = true;
    change.made.push(format!("created_schema:{}", quoted(name)));
    change.transaction.execute(
        "INSERT INTO ducklake_schema VALUES (?1, ?2, ?3, NULL, ?4, '', 1)",
        params![id, uuid.to_string(), change.snapshot, name],
    )?;
    change.transaction.execute("INSERT INTO squall_schema VALUES (?1, ?2)", params![id, comment])?;
    Ok(())
}

/// Records a new table; the columns are those of a table whose rows are in DuckLake's files.
pub(super) fn insert_table(
    change: &mut Change,
    id: i64,
    database: i64,
    name: &str,
    identity: &TableIdentity,
    columns: Option<&[LakeColumn]>,
) -> rusqlite::Result<()> {
    match columns {
        Some(columns) => insert_lake_table(change, id, database, name, identity, columns)?,
        None => {
            change.transaction.execute(
                "INSERT INTO squall_table_beside_lake VALUES (?1, ?2, ?3, ?4)",
                params![id, identity.uuid.to_string(), database, name],
            )?;
        }
    }
    if identity.fields.number > 0 {
        insert_schema(&change.transaction, id, &identity.fields, &identity.stored)?;
    }
    insert_definition(change, id, &identity.definition)
}

/// What DuckLake knows of a table.
fn insert_lake_table(
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
        insert_lake_column(change, id, order, column, None)?;
    }
    let transaction = &change.transaction;
    transaction.execute("INSERT INTO ducklake_table_stats VALUES (?1, 0, 0, 0)", params![id])?;
    insert_sort_order(change, id, definition)
}

/// A column as DuckLake knows it; `initial` is what rows of files have in it that do not hold it.
fn insert_lake_column(
    change: &Change,
    id: i64,
    order: usize,
    column: &LakeColumn,
    initial: Option<&str>,
) -> rusqlite::Result<()> {
    change
        .transaction
        .prepare_cached(
            "INSERT INTO ducklake_column VALUES (?1, ?2, NULL, ?3, ?4, ?5, ?6, ?9, NULL, ?7, ?8, 'literal', NULL)",
        )?
        .execute(params![
            column.id,
            change.snapshot,
            id,
            order as i64,
            column.name,
            column.lake_type,
            column.is_nullable,
            column.parent,
            initial,
        ])
        .map(drop)
}

/// The order of rows in files, as far as DuckLake has words for it.
fn insert_sort_order(change: &mut Change, id: i64, definition: &TableDefinition) -> rusqlite::Result<()> {
    let snapshot = change.snapshot;
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

/// The definition as ClickHouse has it.
fn insert_definition(change: &Change, id: i64, definition: &TableDefinition) -> rusqlite::Result<()> {
    let transaction = &change.transaction;
    transaction.execute(
        "INSERT INTO squall_table VALUES (?1, ?2, ?3, ?4)",
        params![id, &*definition.engine, definition.primary_key.is_some(), &*definition.comment],
    )?;
    for (position, column) in definition.columns.iter().enumerate() {
        let default = column.default.as_ref();
        transaction.execute(
            "INSERT INTO squall_column VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                id,
                position as i64,
                &*column.name,
                column.data_type.to_string(),
                default.map(|default| default.kind.keyword()),
                default.map(|default| &*default.expression),
                &*column.comment,
                column.codec.as_deref(),
                column.ttl.as_deref(),
            ],
        )?;
    }
    let keys = [
        ("sorting", definition.sorting_key.as_slice()),
        ("primary", definition.primary_key.as_deref().unwrap_or_default()),
        ("partition", definition.partition_key.as_slice()),
        ("sampling", definition.sampling_key.as_slice()),
    ];
    for (position, argument) in definition.engine_arguments.iter().enumerate() {
        let argument = argument.as_str().map_or_else(|| argument.to_string(), str::to_owned);
        transaction.execute(
            "INSERT INTO squall_key VALUES (?1, 'argument', ?2, ?3)",
            params![id, position as i64, argument],
        )?;
    }
    for (position, element) in definition.ttl.iter().enumerate() {
        transaction
            .execute("INSERT INTO squall_key VALUES (?1, 'ttl', ?2, ?3)", params![id, position as i64, &**element])?;
    }
    insert_constraints(change, id, definition)?;
    for (kind, keys) in keys {
        for (position, key) in keys.iter().enumerate() {
            transaction.execute(
                "INSERT INTO squall_key VALUES (?1, ?2, ?3, ?4)",
                params![id, kind, position as i64, &*key.sql],
            )?;
        }
    }
    insert_settings(change, id, definition)
}

fn insert_constraints(change: &Change, id: i64, definition: &TableDefinition) -> rusqlite::Result<()> {
    for (position, constraint) in definition.constraints.iter().enumerate() {
        let record = serde_json::to_string(&ConstraintRecord::new(constraint)).unwrap_or_default();
        change.transaction.execute(
            "INSERT INTO squall_key VALUES (?1, 'constraint', ?2, ?3)",
            params![id, position as i64, record],
        )?;
    }
    for (position, index) in definition.indices.iter().enumerate() {
        let record = serde_json::to_string(&IndexRecord::new(index)).unwrap_or_default();
        change
            .transaction
            .execute("INSERT INTO squall_key VALUES (?1, 'index', ?2, ?3)", params![id, position as i64, record])?;
    }
    for (position, projection) in definition.projections.iter().enumerate() {
        let record = serde_json::to_string(&ProjectionRecord::new(projection)).unwrap_or_default();
        change.transaction.execute(
            "INSERT INTO squall_key VALUES (?1, 'projection', ?2, ?3)",
            params![id, position as i64, record],
        )?;
    }
    Ok(())
}

fn insert_settings(change: &Change, id: i64, definition: &TableDefinition) -> rusqlite::Result<()> {
    for (position, (name, value)) in definition.settings.iter().enumerate() {
        change.transaction.execute(
            "INSERT INTO squall_setting VALUES (?1, ?2, ?3, ?4)",
            params![id, position as i64, &**name, &**value],
        )?;
    }
    Ok(())
}

/// What ALTER TABLE makes of a table.
pub(crate) struct TableAlteration<'a> {
    pub(crate) before: &'a TableIdentity,
    pub(crate) after: &'a TableIdentity,
    /// By the ids of new columns, what rows that are there have in them, as DuckLake writes it.
    pub(crate) initial: &'a [(i64, DataType, Value)],
}

/// Records a table's new definition.
pub(super) fn alter_table(change: &mut Change, id: i64, alteration: &TableAlteration<'_>) -> rusqlite::Result<()> {
    note_altered(change, id)?;
    for own_table in ["squall_table", "squall_column", "squall_key", "squall_setting"] {
        change.transaction.execute(&format!("DELETE FROM {own_table} WHERE table_id = ?1"), params![id])?;
    }
    let TableAlteration { before, after, .. } = alteration;
    insert_definition(change, id, &after.definition)?;
    if !is_in_lake(change, id)? {
        return Ok(());
    }
    let keys = |identity: &TableIdentity| -> Vec<_> {
        identity.definition.sorting_key.iter().map(|key| key.sql.clone()).collect()
    };
    if keys(before) != keys(after) {
        change.transaction.execute(
            "UPDATE ducklake_sort_info SET end_snapshot = ?2 WHERE table_id = ?1 AND end_snapshot IS NULL",
            params![id, change.snapshot],
        )?;
        insert_sort_order(change, id, &after.definition)?;
    }
    if before.fields.number == after.fields.number {
        return Ok(());
    }
    insert_schema(&change.transaction, id, &before.fields, &before.stored)?;
    insert_schema(&change.transaction, id, &after.fields, &after.stored)?;
    alter_lake_columns(change, id, alteration)
}

/// Tells DuckLake's readers of a table's new columns.
fn alter_lake_columns(change: &mut Change, id: i64, alteration: &TableAlteration<'_>) -> rusqlite::Result<()> {
    let columns = |identity: &TableIdentity| lake_columns(&identity.stored, &identity.fields.ids);
    let (before, after) = (columns(alteration.before), columns(alteration.after));
    change.is_schema_change = true;
    change.new_tables.push(id);
    let is_same = |at: usize, column: &LakeColumn| before.get(at) == Some(column);
    let mut initial_values = HashMap::new();
    for (at, column) in before.iter().enumerate() {
        if after.get(at) == Some(column) {
            continue;
        }
        let initial: Option<String> = change.transaction.query_row(
            "SELECT initial_default FROM ducklake_column WHERE table_id = ?1 AND column_id = ?2 AND end_snapshot IS NULL",
            params![id, column.id],
            |row| row.get(0),
        )?;
        initial_values.insert(column.id, initial);
        change.transaction.execute(
            "UPDATE ducklake_column SET end_snapshot = ?3
             WHERE table_id = ?1 AND column_id = ?2 AND end_snapshot IS NULL",
            params![id, column.id, change.snapshot],
        )?;
    }
    for (order, column) in after.iter().enumerate().filter(|(at, column)| !is_same(*at, column)) {
        let given = alteration.initial.iter().find(|(new, ..)| *new == column.id);
        let initial = match given {
            Some((_, data_type, value)) => lake_value(data_type, value),
            None => initial_values.get(&column.id).cloned().flatten(),
        };
        insert_lake_column(change, id, order, column, initial.as_deref())?;
    }
    // Statistics of columns that are gone are nobody's.
    change.transaction.execute(
        "DELETE FROM ducklake_table_column_stats WHERE table_id = ?1 AND column_id NOT IN
         (SELECT column_id FROM ducklake_column WHERE table_id = ?1 AND end_snapshot IS NULL)",
        params![id],
    )?;
    Ok(())
}

/// Says to DuckLake's readers that a table was altered, where they know it.
pub(super) fn note_altered(change: &mut Change, id: i64) -> rusqlite::Result<()> {
    if is_in_lake(change, id)? {
        change.made.push(format!("altered_table:{id}"));
    }
    Ok(())
}

/// Whether DuckLake knows the table.
fn is_in_lake(change: &Change, id: i64) -> rusqlite::Result<bool> {
    change.transaction.query_row(
        "SELECT count(*) = 0 FROM squall_table_beside_lake WHERE table_id = ?1",
        params![id],
        |row| row.get(0),
    )
}

/// Gives a table another name, in the same database or another.
pub(super) fn rename_table(change: &mut Change, id: i64, database: i64, name: &str) -> rusqlite::Result<()> {
    if !is_in_lake(change, id)? {
        let sql = "UPDATE squall_table_beside_lake SET schema_id = ?2, table_name = ?3 WHERE table_id = ?1";
        return change.transaction.execute(sql, params![id, database, name]).map(drop);
    }
    change.is_schema_change = true;
    change.made.push(format!("altered_table:{id}"));
    change.transaction.execute(
        "INSERT INTO ducklake_table SELECT table_id, table_uuid, ?2, NULL, ?3, ?4, path, path_is_relative
         FROM ducklake_table WHERE table_id = ?1 AND end_snapshot IS NULL",
        params![id, change.snapshot, database, name],
    )?;
    change.transaction.execute(
        "UPDATE ducklake_table SET end_snapshot = ?2
         WHERE table_id = ?1 AND end_snapshot IS NULL AND begin_snapshot < ?2",
        params![id, change.snapshot],
    )?;
    Ok(())
}

/// Ends a table and its parts.
pub(super) fn drop_table(change: &mut Change, table: i64) -> rusqlite::Result<()> {
    if is_in_lake(change, table)? {
        change.is_schema_change = true;
        change.made.push(format!("dropped_table:{table}"));
        end_parts(change, table)?;
        for lake_table in [
            "ducklake_table",
            "ducklake_partition_info",
            "ducklake_column",
            "ducklake_column_tag",
            "ducklake_sort_info",
        ] {
            change.transaction.execute(
                &format!("UPDATE {lake_table} SET end_snapshot = ?2 WHERE table_id = ?1 AND end_snapshot IS NULL"),
                params![table, change.snapshot],
            )?;
        }
    }
    for own_table in [
        "squall_table",
        "squall_column",
        "squall_key",
        "squall_setting",
        "squall_table_schema",
        "squall_detached_table",
        "squall_table_beside_lake",
        "squall_insert",
        "squall_mutation",
        "squall_refresh",
    ] {
        change.transaction.execute(&format!("DELETE FROM {own_table} WHERE table_id = ?1"), params![table])?;
    }
    Ok(())
}

/// Ends a table's parts: their files are removed when nobody reads them, at the latest at the next start.
pub(super) fn end_parts(change: &mut Change, table: i64) -> rusqlite::Result<()> {
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
        "INSERT INTO ducklake_files_scheduled_for_deletion
         SELECT d.delete_file_id, s.path || t.path || d.path, 1, ?2
         FROM ducklake_delete_file d
             JOIN ducklake_table t ON t.table_id = d.table_id AND t.end_snapshot IS NULL
             JOIN ducklake_schema s ON s.schema_id = t.schema_id
         WHERE d.table_id = ?1 AND d.end_snapshot IS NULL",
        params![table, now()],
    )?;
    for files in ["ducklake_data_file", "ducklake_delete_file"] {
        change.transaction.execute(
            &format!("UPDATE {files} SET end_snapshot = ?2 WHERE table_id = ?1 AND end_snapshot IS NULL"),
            params![table, change.snapshot],
        )?;
    }
    change.transaction.execute("DELETE FROM squall_insert WHERE table_id = ?1", params![table]).map(drop)
}
