//! What others who write to the lake have made of tables: files of rows that are no parts, and parts that are gone. Their files stay where
//! they are until the catalog itself says otherwise.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};
use squall_types::Result;

use super::change::Change;
use super::deletions::{self, StoredDeletion};
use super::part_records::{NewPart, insert_part, write_totals};
use super::parts::table_is_dropped;
use super::{Catalog, catalog_error, commit_error};

/// A file of rows that another writer has put into a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ForeignFile {
    pub(crate) id: i64,
    pub(crate) path: PathBuf,
    /// Its rows, with those that are deleted.
    pub(crate) rows: u64,
    /// Which of its rows are deleted.
    pub(crate) deletion: StoredDeletion,
}

/// A table as the catalog has it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LakeTable {
    /// The names of its parts.
    pub(crate) parts: HashSet<Arc<str>>,
    /// What is deleted of them.
    pub(crate) deletions: HashMap<Arc<str>, StoredDeletion>,
    /// Files that are no parts, in the order of their numbers.
    pub(crate) foreign: Vec<ForeignFile>,
}

impl Catalog {
    /// Tells `adopt` what all tables are like, where anybody else has written to the catalog since the last time. Nobody commits meanwhile.
    ///
    /// # Errors
    /// Where the catalog cannot be read.
    pub(crate) fn look_for_others(&self, adopt: impl FnOnce(&HashMap<i64, LakeTable>)) -> Result<()> {
        let mut state = self.state.lock();
        let version = data_version(&state.connection).map_err(|error| catalog_error(&error))?;
        if state.seen_version.replace(version) == Some(version) {
            return Ok(());
        }
        let stored = self.lake_tables(&state.connection).map_err(|error| catalog_error(&error))?;
        adopt(&stored);
        Ok(())
    }

    /// Puts parts into a table in the place of files of another writer. `publish` runs once that is durable, with what the table is like then.
    /// `false`, and nothing has changed, where the files are not these any more.
    ///
    /// # Errors
    /// `TABLE_IS_DROPPED`, and where the catalog cannot be written.
    pub(crate) fn take_over(
        &self,
        table_id: i64,
        foreign: &[ForeignFile],
        new: &[NewPart],
        publish: impl FnOnce(&LakeTable),
    ) -> Result<bool> {
        let mut state = self.state.lock();
        let state = &mut *state;
        let before = state.tables.get(&table_id).cloned().ok_or_else(table_is_dropped)?;
        let taken = state.with_reserve(|connection| {
            let mut change = Change::begin(connection, &*self.disk)?;
            let found = self.lake_tables(&change.transaction)?.remove(&table_id).unwrap_or_default();
            if found.foreign != foreign {
                return Ok(None);
            }
            for file in foreign {
                for table in ["ducklake_data_file", "ducklake_delete_file"] {
                    let sql = format!(
                        "UPDATE {table} SET end_snapshot = ?2 WHERE data_file_id = ?1 AND end_snapshot IS NULL"
                    );
                    change.transaction.prepare_cached(&sql)?.execute(params![file.id, change.snapshot])?;
                }
            }
            // Of parts that others have taken out.
            change.transaction.execute(
                "DELETE FROM squall_part WHERE table_id = ?1 AND data_file_id NOT IN
                 (SELECT data_file_id FROM ducklake_data_file WHERE table_id = ?1)",
                params![table_id],
            )?;
            let mut totals = before.clone();
            (totals.rows, totals.bytes) = change.transaction.query_row(
                "SELECT coalesce(sum(record_count), 0), coalesce(sum(file_size_bytes), 0) FROM ducklake_data_file
                 WHERE table_id = ?1 AND end_snapshot IS NULL",
                params![table_id],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            // Whoever added rows has numbered them.
            let numbered: Option<i64> = change
                .transaction
                .query_row(
                    "SELECT next_row_id FROM ducklake_table_stats WHERE table_id = ?1",
                    params![table_id],
                    |row| row.get(0),
                )
                .optional()?;
            totals.next_row_id = totals.next_row_id.max(numbered.unwrap_or(0));
            for part in new {
                insert_part(&mut change, table_id, &mut totals, part)?;
            }
            write_totals(&change.transaction, table_id, &totals)?;
            change.made.push(format!("compacted_table:{table_id}"));
            let now = self.lake_tables(&change.transaction)?.remove(&table_id).unwrap_or_default();
            change.commit()?;
            Ok(Some((totals, now)))
        });
        match taken.map_err(|error| commit_error(&error))? {
            Some((totals, now)) => {
                state.tables.insert(table_id, totals);
                publish(&now);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// The files of other writers, and those that others have taken out of tables, as earlier snapshots have them: named from the folder of data
    /// on.
    ///
    /// # Errors
    /// Where the catalog cannot be read.
    pub(crate) fn foreign_files(&self) -> Result<HashSet<String>> {
        let state = self.state.lock();
        let paths = || {
            let mut query = state.connection.prepare(
                "SELECT t.path || f.path FROM ducklake_data_file f JOIN ducklake_table t USING (table_id)
                 LEFT JOIN squall_part p USING (data_file_id) WHERE (p.data_file_id IS NULL OR f.end_snapshot IS NOT NULL) AND f.path_is_relative
                 UNION SELECT t.path || d.path FROM ducklake_delete_file d JOIN ducklake_table t USING (table_id)
                 LEFT JOIN squall_part p USING (data_file_id) LEFT JOIN ducklake_data_file f USING (data_file_id)
                 WHERE (p.data_file_id IS NULL OR d.end_snapshot IS NOT NULL OR f.end_snapshot IS NOT NULL) AND d.path_is_relative",
            )?;
            query.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()
        };
        paths().map_err(|error| catalog_error(&error))
    }

    fn lake_tables(&self, connection: &Connection) -> rusqlite::Result<HashMap<i64, LakeTable>> {
        let mut found: HashMap<i64, LakeTable> = HashMap::new();
        let mut files = connection.prepare_cached(
            "SELECT t.table_id, f.data_file_id, p.part_name,
                 CASE WHEN f.path_is_relative THEN t.path || f.path ELSE f.path END, f.record_count, d.path
             FROM ducklake_table t
                 LEFT JOIN ducklake_data_file f ON f.table_id = t.table_id AND f.end_snapshot IS NULL
                 LEFT JOIN squall_part p ON p.data_file_id = f.data_file_id
                 LEFT JOIN ducklake_delete_file d ON d.data_file_id = f.data_file_id AND d.end_snapshot IS NULL
             WHERE t.end_snapshot IS NULL ORDER BY f.data_file_id",
        )?;
        let mut rows = files.query([])?;
        while let Some(row) = rows.next()? {
            let table = found.entry(row.get(0)?).or_default();
            let Some(id) = row.get::<_, Option<i64>>(1)? else { continue };
            match row.get::<_, Option<String>>(2)? {
                Some(part) => drop(table.parts.insert(part.into())),
                None => {
                    let path = self.data.join(row.get::<_, String>(3)?);
                    let rows = row.get::<_, i64>(4)? as u64;
                    let deletion = StoredDeletion { path: row.get(5)?, inlined: Vec::new() };
                    table.foreign.push(ForeignFile { id, path, rows, deletion });
                }
            }
        }
        for (table, deletions) in deletions::load(connection)? {
            if let Some(table) = found.get_mut(&table) {
                table.deletions = deletions;
            }
        }
        for (table, inlined) in deletions::inlined_tables(connection)? {
            let Some(table) = found.get_mut(&table).filter(|table| !table.foreign.is_empty()) else { continue };
            let mut named =
                connection.prepare(&format!("SELECT row_id FROM {inlined} WHERE file_id = ?1 ORDER BY 1"))?;
            for file in &mut table.foreign {
                let rows = named.query_map(params![file.id], |row| row.get(0))?;
                file.deletion.inlined = rows.collect::<rusqlite::Result<_>>()?;
            }
        }
        Ok(found)
    }
}

/// A number that changes when another connection has written.
fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA data_version", [], |row| row.get(0))
}
