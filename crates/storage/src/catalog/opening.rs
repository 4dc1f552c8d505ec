//! Opening a catalog: whether there is one, whether this server knows its version, and the steps from older versions to the present one.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior, params};
use squall_types::{Error, ErrorCode, Result};
use uuid::Uuid;

use super::change::{commit, now};
use super::stored::{load, stored_schema};
use super::{catalog_error, schema};
use crate::disk::Disk;
use crate::fields::StoredFields;
use crate::merge_tree::{LAKE_UUID, lake_columns};

/// Opens the file. Where there is no catalog in it, `before_create` may refuse that one is made.
pub(super) fn connect(path: &Path, before_create: &dyn Fn() -> Result<()>) -> Result<Connection> {
    let failed = |error: rusqlite::Error| catalog_error(&error);
    if !path.exists() {
        before_create()?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(std::time::Duration::from_secs(10)).map_err(failed)?;
    // A catalog all of whose pages were in a log that is lost.
    if !is_catalog(&connection).map_err(failed)? {
        before_create()?;
    }
    connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
    // An acknowledged commit is on disk, whatever happens to the machine.
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    connection.pragma_update(None, "cache_size", -16_384).map_err(failed)?;
    Ok(connection)
}

/// Makes a catalog where there is none, and brings an older one to the present version.
///
/// # Errors
/// `UNKNOWN_FORMAT_VERSION` for one of a later version.
pub(super) fn prepare(connection: &mut Connection, data_path: &Path, disk: &dyn Disk) -> Result<()> {
    let failed = |error: rusqlite::Error| catalog_error(&error);
    if !is_catalog(connection).map_err(failed)? {
        create(connection, data_path, disk).map_err(failed)?;
    }
    let lake = metadata(connection, "version").map_err(failed)?;
    if lake.as_deref() != Some(schema::DUCKLAKE_VERSION) {
        return Err(unknown_version("DuckLake's version", lake.as_deref(), schema::DUCKLAKE_VERSION));
    }
    let own = metadata(connection, "squall_version").map_err(failed)?;
    let known = schema::SQUALL_VERSION.to_string();
    let version = own.as_deref().and_then(|text| text.parse::<u32>().ok());
    match version.filter(|version| (1..=schema::SQUALL_VERSION).contains(version)) {
        None => Err(unknown_version("version", own.as_deref(), &format!("versions 1 to {known}"))),
        Some(schema::SQUALL_VERSION) => keep_rows_in_files(connection).map_err(failed),
        Some(version) => {
            tracing::info!(
                "the data are of version {version} and become version {known}; servers before this one cannot open them then"
            );
            upgrade(connection, version, disk).map_err(failed)?;
            keep_rows_in_files(connection).map_err(failed)
        }
    }
}

/// Has others who write to the lake put also few rows into files: rows in the catalog itself are nobody's here. Somebody may have said otherwise.
fn keep_rows_in_files(connection: &Connection) -> rusqlite::Result<()> {
    const OPTION: &str = "data_inlining_row_limit";
    if metadata(connection, OPTION)?.is_none() {
        let sql = "INSERT INTO ducklake_metadata (\"key\", \"value\") VALUES (?1, '0')";
        connection.execute(sql, params![OPTION])?;
    }
    Ok(())
}

fn upgrade(connection: &mut Connection, from: u32, disk: &dyn Disk) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for step in schema::UPGRADES.iter().skip(from as usize - 1) {
        transaction.execute_batch(step)?;
    }
    name_uuids(&transaction)?;
    transaction.execute(
        "UPDATE ducklake_metadata SET \"value\" = ?1 WHERE \"key\" = 'squall_version'",
        params![schema::SQUALL_VERSION.to_string()],
    )?;
    commit(transaction, disk)
}

/// Until version 3 DuckLake's readers had UUIDs as bytes, and their bounds in hexadecimal digits; the files are the same.
fn name_uuids(connection: &Connection) -> rusqlite::Result<()> {
    let of_column = "WHERE table_id = ?1 AND column_id = ?2";
    let text = |value: &str| {
        let parts = [(1, 8), (9, 4), (13, 4), (17, 4), (21, 12)]
            .map(|(from, length)| format!("substr({value}, {from}, {length})"));
        format!("{value} = CASE WHEN length({value}) = 32 THEN lower({}) END", parts.join(" || '-' || "))
    };
    let bounds = format!("{}, {}", text("min_value"), text("max_value"));
    let mut updates = [
        connection.prepare(&format!("UPDATE ducklake_column SET column_type = '{LAKE_UUID}' {of_column}"))?,
        connection.prepare(&format!("UPDATE ducklake_file_column_stats SET {bounds} {of_column}"))?,
        connection.prepare(&format!("UPDATE ducklake_table_column_stats SET {bounds} {of_column}"))?,
    ];
    for table in load(connection)?.1 {
        // A table that this server cannot open stays as it is.
        let Ok(columns) = table.record.columns() else { continue };
        let stored = stored_schema(&columns);
        for column in lake_columns(&stored, &StoredFields::first(&stored).ids) {
            if column.lake_type == LAKE_UUID {
                for update in &mut updates {
                    update.execute(params![table.id, column.id])?;
                }
            }
        }
    }
    Ok(())
}

fn is_catalog(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .query_row("SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'ducklake_metadata'", [], |row| row.get(0))
}

fn metadata(connection: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    connection
        .query_row(
            "SELECT \"value\" FROM ducklake_metadata WHERE \"key\" = ?1 AND scope IS NULL",
            params![key],
            |row| row.get(0),
        )
        .optional()
}

fn unknown_version(what: &str, found: Option<&str>, known: &str) -> Error {
    Error::new(
        ErrorCode::UNKNOWN_FORMAT_VERSION,
        format!(
            "The data in this folder are of {what} {}, and this server reads and writes {known}. Nothing was changed: start the \
             server that wrote them, or a later one",
            found.unwrap_or("none")
        ),
    )
}

fn create(connection: &mut Connection, data_path: &Path, disk: &dyn Disk) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(schema::DUCKLAKE)?;
    transaction.execute_batch(schema::SQUALL)?;
    for upgrade in schema::UPGRADES {
        transaction.execute_batch(upgrade)?;
    }
    let created_by = concat!("Squall ", env!("CARGO_PKG_VERSION"));
    let data_path = format!("{}/", data_path.display());
    for (key, value) in [
        ("version", schema::DUCKLAKE_VERSION),
        ("created_by", created_by),
        ("data_path", &data_path),
        ("encrypted", "false"),
        ("squall_version", &schema::SQUALL_VERSION.to_string()),
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
    commit(transaction, disk)
}
