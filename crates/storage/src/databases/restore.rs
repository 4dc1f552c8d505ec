//! `--restore-catalog`: what the catalog does not list is entered into it from what the parts say of themselves. A table that it does not
//! know is made again under the name that its newest part has; what a merge had replaced gives way to the merged part.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use squall_types::{Error, Result};
use uuid::Uuid;

use super::entry::Entry;
use super::folder::table_folders;
use super::store::Store;
use crate::catalog::StoredTable;
use crate::disk::Listed;
use crate::identity::TableName;
use crate::merge_tree::{DELETION, DETACHED, PartFooter, PartName, TEMPORARY, part_of_file};
use crate::table_record::TableRecord;

/// A part's file that the catalog does not list.
struct Found {
    path: PathBuf,
    footer: PartFooter,
}

/// What came of it, for the log.
#[derive(Default)]
struct Restored {
    tables: usize,
    parts: usize,
    left: usize,
}

impl Store {
    /// Completes the catalog.
    ///
    /// # Errors
    /// Where the folder cannot be read or the catalog cannot be written.
    pub(super) fn restore_catalog(&self) -> Result<()> {
        let (databases, tables) = self.catalog.load()?;
        let mut databases = databases.into_iter().map(|database| (database.id, database.name)).collect();
        let mut names: HashSet<TableName> = tables.iter().map(|table| table.record.name()).collect();
        let scheduled = self.catalog.files_to_delete()?;
        let mut restored = Restored::default();
        let mut folders = Vec::new();
        for (uuid, folder) in table_folders(&**self.catalog.disk(), &self.data)? {
            let known = tables.iter().find(|table| table.record.uuid() == uuid);
            let is_unknown = |path: &PathBuf| {
                let is_listed = |path: &Path| {
                    let name = path.file_name().unwrap_or_default().to_string_lossy();
                    known.is_some_and(|known| known.parts.iter().any(|part| part.path == *name))
                };
                let is_scheduled = self.catalog.relative(path).is_some_and(|path| scheduled.contains(&path));
                !(is_scheduled || path.parent() == Some(&folder) && is_listed(path))
            };
            let files: Vec<PathBuf> = self.candidates(&folder)?.into_iter().filter(is_unknown).collect();
            let found = self.read_footers(files, &mut restored);
            if !found.is_empty() {
                folders.push((uuid, known, found));
            }
        }
        // Parts that were attached or restored from a backup may name the table that they were of before: the others get their names first.
        let is_own = |uuid: Uuid, found: &Found| found.footer.table.uuid() == uuid;
        folders.sort_by_key(|(uuid, _, found)| !found.iter().any(|found| is_own(*uuid, found)));
        for (uuid, known, found) in folders {
            let newest = found.iter().max_by_key(|found| (is_own(uuid, found), found.footer.written_at));
            let Some(newest) = newest else { continue };
            let table = match known {
                Some(known) => known.clone(),
                None => {
                    let table = self.restore_table(uuid, &newest.footer.table, &mut names, &mut databases)?;
                    let Some(table) = table else {
                        restored.left += found.len();
                        continue;
                    };
                    restored.tables += 1;
                    table
                }
            };
            self.restore_parts(table, found, &mut restored)?;
        }
        let Restored { tables, parts, left } = restored;
        tracing::warn!(
            "The catalog was completed from the parts: {tables} tables and {parts} parts were entered, {left} files were left as they are. \
             Tables without rows, views of dictionaries and whatever is not in parts are made again by their CREATE statements"
        );
        Ok(())
    }

    /// Files that may be parts: those of the table's folder, and those that a start has set aside.
    fn candidates(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let disk = self.catalog.disk();
        let list = |folder: &Path| disk.list(folder).map_err(|error| crate::merge_tree::write_error(folder, &error));
        let is_part = |file: &Listed| {
            file.name.ends_with(".parquet") && !file.name.starts_with(TEMPORARY) && !file.name.contains(DELETION)
        };
        let is_set_aside = |file: &Listed| file.name.starts_with("unexpected_") || file.name.starts_with("ignored_");
        let own = list(folder)?.into_iter().filter(is_part).map(|file| folder.join(file.name));
        let detached = folder.join(DETACHED);
        let aside = list(&detached)?.into_iter().filter(is_set_aside).map(|file| detached.join(file.name));
        Ok(own.chain(aside).collect())
    }

    fn read_footers(&self, files: Vec<PathBuf>, restored: &mut Restored) -> Vec<Found> {
        let mut found = Vec::new();
        for path in files {
            let is_named = path.file_name().is_some_and(|name| part_of_file(&name.to_string_lossy()).is_some());
            match PartFooter::read(&**self.catalog.disk(), &path) {
                Ok(Some(footer)) if is_named => found.push(Found { path, footer }),
                Ok(_) => {
                    restored.left += 1;
                    tracing::warn!(
                        "{} says nothing of its table, as files of before version 2, and is left as it is: \
                        make its table again, move it into that table's folder detached/, and ALTER TABLE … ATTACH PART",
                        path.display()
                    );
                }
                Err(error) => {
                    restored.left += 1;
                    tracing::warn!(%error, "a file cannot be read and is left as it is");
                }
            }
        }
        found
    }

    /// Enters a table; `None` where its definition cannot be read.
    fn restore_table(
        &self,
        uuid: Uuid,
        record: &TableRecord,
        names: &mut HashSet<TableName>,
        databases: &mut Vec<(i64, String)>,
    ) -> Result<Option<StoredTable>> {
        let mut record = record.clone();
        if record.uuid() != uuid || names.contains(&record.name()) {
            record.table = format!("{}_{}", record.table, uuid.simple());
            tracing::warn!("A table whose own name is not known is restored as {}", record.name());
        }
        record.uuid = uuid.to_string();
        let identity = match record.identity(&self.binding) {
            Ok(identity) => identity,
            Err(error) => {
                tracing::error!(table = %record.name(), %error, "a table cannot be restored");
                return Ok(None);
            }
        };
        names.insert(record.name());
        let database_id = match databases.iter().find(|(_, name)| *name == record.database) {
            Some((id, _)) => *id,
            None => {
                let mut made = 0;
                self.catalog.create_database(&record.database, Uuid::new_v4(), "", |id| made = id)?;
                databases.push((made, record.database.clone()));
                made
            }
        };
        let ids = self.catalog.create_tables(database_id, &[(&record.table, &identity)], None)?;
        let Some(id) = ids.first().copied() else { return Err(Error::logical("a table without a number")) };
        let (parts, schemas, mutations) = Default::default();
        Ok(Some(StoredTable { id, database_id, record, is_detached: false, parts, schemas, mutations }))
    }

    fn restore_parts(&self, table: StoredTable, found: Vec<Found>, restored: &mut Restored) -> Result<()> {
        let listed: Vec<PartName> = table.parts.iter().filter_map(|part| PartName::parse(&part.name)).collect();
        let name = |found: &Found| part_of_file(&found.path.file_name().unwrap_or_default().to_string_lossy());
        let names: Vec<PartName> = found.iter().filter_map(name).collect();
        let entry: Entry = self.open_table(table);
        let Some(parts) = entry.parts() else { return Ok(()) };
        let mut new = Vec::new();
        for found in found {
            let Some(own) = name(&found) else { continue };
            let is_covered = names.iter().chain(&listed).any(|other| other.covers(&own));
            // The same part may lie in both folders.
            if is_covered || listed.contains(&own) || new.iter().any(|(known, _)| *known == own) {
                continue;
            }
            new.push((own, found));
        }
        let superseded: Vec<Arc<str>> = listed
            .iter()
            .filter(|listed| new.iter().any(|(new, _)| new.covers(listed)))
            .map(|listed| listed.to_string().into())
            .collect();
        let count = new.len();
        let files = new.into_iter().map(|(name, found)| (name, found.path, found.footer)).collect();
        match parts.restore_parts(files, &superseded).and_then(|()| parts.restore_deletions()) {
            Ok(()) => restored.parts += count,
            Err(error) => {
                restored.left += count;
                tracing::error!(table = %entry.name, %error, "the parts of a table cannot be restored");
            }
        }
        Ok(())
    }
}
