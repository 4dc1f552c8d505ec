//! Which rows of parts are deleted: files of positions, ours and those of others who write to the lake, and what others have put into the catalog
//! itself (DuckLake's inlined deletions).

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::change::Change;
use super::part_records::schedule_deletion;

/// What the tables of inlined deletions are called, before the table's number.
const INLINED: &str = "ducklake_inlined_delete_";

/// Rows of a part that are deleted, to be recorded in the place of what was deleted before.
pub(crate) struct NewDeletion {
    /// The part's name.
    pub(crate) part: Arc<str>,
    /// The file that names them, in the table's folder, as its name will be.
    pub(crate) path: String,
    /// What is known to be deleted before.
    pub(crate) former: SeenDeletion,
    pub(crate) rows: i64,
    pub(crate) bytes: i64,
    pub(crate) footer_bytes: i64,
}

/// By what a commit tells that it has seen all that is deleted of a part.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct SeenDeletion {
    /// The file that names rows.
    pub(crate) path: Option<String>,
    /// How many rows the catalog names besides.
    pub(crate) inlined: usize,
}

/// What the catalog says of a part's deleted rows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct StoredDeletion {
    /// The file that names rows, in the table's folder.
    pub(crate) path: Option<String>,
    /// Rows that it names itself.
    pub(crate) inlined: Vec<u32>,
}

/// Those of the parts of each table, by their names.
pub(crate) type StoredDeletions = HashMap<i64, HashMap<Arc<str>, StoredDeletion>>;

/// All deletions of the parts that there are.
pub(super) fn load(connection: &Connection) -> rusqlite::Result<StoredDeletions> {
    let mut found = StoredDeletions::new();
    let mut files = connection.prepare_cached(
        "SELECT d.table_id, p.part_name, d.path FROM ducklake_delete_file d
         JOIN squall_part p ON p.data_file_id = d.data_file_id WHERE d.end_snapshot IS NULL",
    )?;
    let mut rows = files.query([])?;
    while let Some(row) = rows.next()? {
        let part: Arc<str> = row.get(1)?;
        found.entry(row.get(0)?).or_default().entry(part).or_default().path = row.get(2)?;
    }
    for (table, inlined) in inlined_tables(connection)? {
        let mut named = connection.prepare(&format!(
            "SELECT p.part_name, i.row_id FROM {inlined} i JOIN squall_part p ON p.data_file_id = i.file_id ORDER BY 1, 2"
        ))?;
        let mut rows = named.query([])?;
        while let Some(row) = rows.next()? {
            let part: Arc<str> = row.get(0)?;
            found.entry(table).or_default().entry(part).or_default().inlined.push(row.get(1)?);
        }
    }
    Ok(found)
}

/// The tables of inlined deletions, by the numbers of the tables that they are of.
pub(super) fn inlined_tables(connection: &Connection) -> rusqlite::Result<Vec<(i64, String)>> {
    let mut names =
        connection.prepare_cached("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE ?1")?;
    let names = names.query_map(params![format!("{INLINED}%")], |row| row.get::<_, String>(0))?;
    let names = names.collect::<rusqlite::Result<Vec<String>>>()?;
    let number = |name: String| Some((name.strip_prefix(INLINED)?.parse().ok()?, name));
    Ok(names.into_iter().filter_map(number).collect())
}

/// Records which rows of a part are deleted from now on; `false` where there is no such part, or more is deleted of it than was seen.
pub(super) fn insert_deletion(change: &mut Change, table_id: i64, deletion: &NewDeletion) -> rusqlite::Result<bool> {
    let found: Option<i64> = change
        .transaction
        .prepare_cached(
            "SELECT f.data_file_id FROM ducklake_data_file f JOIN squall_part p ON p.data_file_id = f.data_file_id
             WHERE f.table_id = ?1 AND f.end_snapshot IS NULL AND p.part_name = ?2",
        )?
        .query_row(params![table_id, &*deletion.part], |row| row.get(0))
        .optional()?;
    let Some(data_file) = found else { return Ok(false) };
    if !remove_deletion(&change.transaction, table_id, data_file, &deletion.former)? {
        return Ok(false);
    }
    let file = change.next_file_id;
    change.next_file_id += 1;
    change
        .transaction
        .prepare_cached(
            "INSERT INTO ducklake_delete_file VALUES (?1, ?2, ?3, NULL, ?4, ?5, 1, 'parquet', ?6, ?7, ?8, NULL, NULL)",
        )?
        .execute(params![
            file,
            table_id,
            change.snapshot,
            data_file,
            deletion.path,
            deletion.rows,
            deletion.bytes,
            deletion.footer_bytes,
        ])?;
    Ok(true)
}

/// Takes out what the catalog says of a file's deleted rows; `false` where that is not what was seen.
pub(super) fn remove_deletion(
    transaction: &Transaction,
    table_id: i64,
    data_file: i64,
    seen: &SeenDeletion,
) -> rusqlite::Result<bool> {
    let found: Option<(i64, String, String)> = transaction
        .prepare_cached(
            "SELECT d.delete_file_id, d.path, t.path || d.path FROM ducklake_delete_file d
             JOIN ducklake_table t ON t.table_id = d.table_id AND t.end_snapshot IS NULL
             WHERE d.data_file_id = ?1 AND d.end_snapshot IS NULL",
        )?
        .query_row(params![data_file], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let inlined: Option<String> = transaction
        .prepare_cached("SELECT name FROM sqlite_schema WHERE type = 'table' AND name = ?1")?
        .query_row(params![format!("{INLINED}{table_id}")], |row| row.get(0))
        .optional()?;
    let count = match &inlined {
        Some(inlined) => transaction.query_row(
            &format!("SELECT count(*) FROM {inlined} WHERE file_id = ?1"),
            params![data_file],
            |row| row.get::<_, i64>(0),
        )?,
        None => 0,
    };
    let path = found.as_ref().map(|(_, path, _)| path);
    if path != seen.path.as_ref() || count != seen.inlined as i64 {
        return Ok(false);
    }
    if let Some(inlined) = inlined.filter(|_| count > 0) {
        transaction.execute(&format!("DELETE FROM {inlined} WHERE file_id = ?1"), params![data_file])?;
    }
    if let Some((file, _, path)) = found {
        transaction
            .prepare_cached("DELETE FROM ducklake_delete_file WHERE data_file_id = ?1")?
            .execute(params![data_file])?;
        schedule_deletion(transaction, file, &path)?;
    }
    Ok(true)
}
