//! The folder of all data: locked by one server, and put in order before its tables are opened. Removed is only what this server is known to
//! have left: files under temporary names, and files that the catalog scheduled for deletion. Everything else that the catalog does not
//! list is set aside.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use squall_runtime::memory::machine_memory_bytes;
use squall_types::{Error, ErrorCode, Result};
use uuid::Uuid;

use crate::catalog::{Catalog, StoredPart, StoredTable};
use crate::disk::{Disk, Listed, remove_file};
use crate::merge_tree::{DETACHED, DETACHING, PartName, TEMPORARY, free_name, part_of_file, write_error};

/// Locks the folder for this process, as long as the files live. The folders themselves are locked: unlike the file `squall.lock` they cannot be
/// removed while there are data in them.
pub(super) fn lock(path: &Path, data: &Path) -> Result<Vec<File>> {
    let file = path.join("squall.lock");
    let opened = [
        (path.to_path_buf(), File::open(path)),
        (data.to_path_buf(), File::open(data)),
        (file.clone(), File::create(&file)),
    ];
    let mut locks = Vec::new();
    for (path, opened) in opened {
        let lock = opened.map_err(|error| write_error(&path, &error))?;
        match lock.try_lock() {
            Ok(()) => locks.push(lock),
            // Some network file systems lock no folders.
            Err(TryLockError::Error(error)) if path != file => {
                tracing::warn!(path = %path.display(), %error, "the folder itself cannot be locked, only a file in it");
            }
            Err(error) => {
                return Err(Error::new(
                    ErrorCode::CANNOT_OPEN_FILE,
                    format!("Cannot lock {}: another server uses this folder ({error})", path.display()),
                ));
            }
        }
    }
    Ok(locks)
}

/// The folders of tables, by UUID.
pub(super) fn table_folders(disk: &dyn Disk, data: &Path) -> Result<Vec<(Uuid, PathBuf)>> {
    let listed = disk.list(data).map_err(|error| write_error(data, &error))?;
    // Only what this server names: somebody else's files under `data/` are not its business.
    let folder = |entry: Listed| Some((Uuid::parse_str(&entry.name).ok()?, data.join(&entry.name)));
    Ok(listed.into_iter().filter(|entry| entry.is_folder).filter_map(folder).collect())
}

/// `BAD_ARGUMENTS` where there are parts: a new catalog beside them would be a server without its data.
pub(super) fn refuse_parts(disk: &dyn Disk, path: &Path, data: &Path) -> Result<()> {
    for (_, folder) in table_folders(disk, data)? {
        for folder in [folder.join(DETACHED), folder] {
            let files = disk.list(&folder).map_err(|error| write_error(&folder, &error))?;
            let is_part = |file: &Listed| file.name.ends_with(".parquet") && !file.name.starts_with(TEMPORARY);
            if let Some(part) = files.iter().find(|file| is_part(file)) {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!(
                        "There is no catalog in {}, but there are parts of tables ({}). A new catalog is not made beside them: put \
                         catalog.sqlite and catalog.sqlite-wal back in their place, or start with --restore-catalog, which makes a \
                         catalog of what the parts say of themselves",
                        path.display(),
                        folder.join(&part.name).display()
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// Puts the folder in order, after the catalog.
///
/// # Errors
/// Where the folder or the catalog cannot be read.
pub(super) fn put_in_order(catalog: &Catalog, data: &Path, tables: &[StoredTable]) -> Result<()> {
    let (scheduled, foreign) = (catalog.files_to_delete()?, catalog.foreign_files()?);
    let known: HashMap<Uuid, &StoredTable> = tables.iter().map(|table| (table.record.uuid(), table)).collect();
    let disk = &**catalog.disk();
    let mut order = Order { disk, data, scheduled: &scheduled, foreign: &foreign, changed: BTreeSet::new() };
    for (uuid, folder) in table_folders(disk, data)? {
        order.put_folder(&folder, known.get(&uuid).copied())?;
    }
    let is_live = |path: &str| {
        let (folder, file) = path.split_once('/')?;
        let parts = &known.get(&Uuid::parse_str(folder).ok()?)?.parts;
        parts.iter().find(|part| part.path == file || part.deletion.path.as_deref() == Some(file))
    };
    let is_over = |path: &&String| is_live(path).is_some() || disk.bytes(&data.join(path)).is_err();
    let over: Vec<String> = scheduled.iter().filter(is_over).cloned().collect();
    // Also what was removed before the last server ended may be on disk still: its machine went on.
    let mut changed = order.changed;
    changed.extend(over.iter().filter_map(|path| data.join(path).parent().map(Path::to_path_buf)));
    if changed.iter().any(|folder| disk.bytes(folder).is_err()) {
        changed.retain(|folder| disk.bytes(folder).is_ok());
        changed.insert(data.to_path_buf());
    }
    if changed.iter().any(|folder| disk.sync_folder(folder).is_err()) {
        return Ok(());
    }
    match catalog.forget_files(&over) {
        // A full disk is no reason not to start.
        Err(error) if error.code == ErrorCode::NOT_ENOUGH_SPACE => {
            tracing::warn!(%error, "files that are gone are not forgotten yet");
            Ok(())
        }
        result => result,
    }
}

struct Order<'a> {
    disk: &'a dyn Disk,
    data: &'a Path,
    scheduled: &'a HashSet<String>,
    /// Files of others who write to the lake.
    foreign: &'a HashSet<String>,
    /// Folders whose names are to be made durable.
    changed: BTreeSet<PathBuf>,
}

impl Order<'_> {
    fn put_folder(&mut self, folder: &Path, table: Option<&StoredTable>) -> Result<()> {
        let disk = self.disk;
        let is_of = |part: &StoredPart, file: &str| part.path == file || part.deletion.path.as_deref() == Some(file);
        let is_listed = |file: &str| table.is_some_and(|table| table.parts.iter().any(|part| is_of(part, file)));
        let files = disk.list(folder).map_err(|error| write_error(folder, &error))?;
        let is_there = |name: &str| files.iter().any(|file| file.name == name);
        for file in files.iter().filter(|file| !file.is_folder) {
            let path = folder.join(&file.name);
            if let Some(name) = file.name.strip_prefix(TEMPORARY) {
                if is_listed(name) && !is_there(name) {
                    disk.rename(&path, &folder.join(name)).map_err(|error| write_error(&path, &error))?;
                } else {
                    tracing::info!(path = %path.display(), "removing a file that was never committed");
                    remove_file(disk, &path);
                }
                self.changed.insert(folder.to_path_buf());
            } else if file.name.ends_with(".parquet")
                && !is_listed(&file.name)
                && !self.remove_scheduled(&path)
                && !self.is_foreign(&path)
            {
                self.set_aside(folder, &file.name, table)?;
            }
        }
        self.put_detached(&folder.join(DETACHED), table)?;
        if table.is_none() && disk.remove_folder(&folder.join(DETACHED)).is_ok() {
            self.changed.remove(&folder.join(DETACHED));
            self.changed.insert(folder.to_path_buf());
        }
        if table.is_none() && disk.remove_folder(folder).is_ok() {
            self.changed.remove(folder);
            self.changed.insert(self.data.to_path_buf());
        }
        Ok(())
    }

    /// A part on its way into `detached/` is there if it has left its table.
    fn put_detached(&mut self, folder: &Path, table: Option<&StoredTable>) -> Result<()> {
        let files = self.disk.list(folder).map_err(|error| write_error(folder, &error))?;
        for file in files {
            let path = folder.join(&file.name);
            if let Some(name) = file.name.strip_prefix(DETACHING) {
                let part = part_of_file(name).map(|part| part.to_string());
                let is_live =
                    table.is_some_and(|table| table.parts.iter().any(|known| Some(&*known.name) == part.as_deref()));
                // It may have been attached since, under the name that it was to get.
                if is_live || self.is_scheduled(&folder.join(name)) {
                    remove_file(self.disk, &path);
                } else {
                    self.disk.rename(&path, &folder.join(name)).map_err(|error| write_error(&path, &error))?;
                }
                self.changed.insert(folder.to_path_buf());
            } else {
                self.remove_scheduled(&path);
            }
        }
        Ok(())
    }

    /// Removes a file that the catalog scheduled for deletion; whether it did.
    fn remove_scheduled(&mut self, path: &Path) -> bool {
        if !self.is_scheduled(path) {
            return false;
        }
        remove_file(self.disk, path);
        self.changed.extend(path.parent().map(Path::to_path_buf));
        true
    }

    fn is_scheduled(&self, path: &Path) -> bool {
        self.relative(path).is_some_and(|path| self.scheduled.contains(&path))
    }

    fn is_foreign(&self, path: &Path) -> bool {
        self.relative(path).is_some_and(|path| self.foreign.contains(&path))
    }

    fn relative(&self, path: &Path) -> Option<String> {
        path.strip_prefix(self.data).ok().map(|path| path.to_string_lossy().into_owned())
    }

    fn set_aside(&mut self, folder: &Path, file: &str, table: Option<&StoredTable>) -> Result<()> {
        let detached = folder.join(DETACHED);
        let failed = |error: std::io::Error| write_error(&detached, &error);
        self.disk.create_folder(&detached).map_err(failed)?;
        let part = part_of_file(file);
        let is_covered = part.as_ref().is_some_and(|part| {
            let mut listed = table.into_iter().flat_map(|table| &table.parts);
            listed.any(|known| PartName::parse(&known.name).is_some_and(|known| known.covers(part)))
        });
        let reason = if is_covered { "ignored" } else { "unexpected" };
        let stem = file.strip_suffix(".parquet").unwrap_or(file);
        let name = free_name(self.disk, &detached, &format!("{reason}_{stem}"));
        let to = detached.join(format!("{name}.parquet"));
        self.disk.rename(&folder.join(file), &to).map_err(failed)?;
        self.changed.extend([folder.to_path_buf(), detached.clone()]);
        match table {
            Some(table) => tracing::warn!(
                "The part {stem} of table {} is not in the catalog and was set aside as {}. ALTER TABLE … ATTACH PART '{name}' takes it \
                 back. If the catalog is an older one, or catalog.sqlite-wal was lost, stop the server and start it with --restore-catalog",
                table.record.name(),
                to.display()
            ),
            None => tracing::warn!(
                "The part {} is of a table that is not in the catalog and was set aside. If the catalog is an older one, or \
                 catalog.sqlite-wal was lost, stop the server and start it with --restore-catalog",
                to.display()
            ),
        }
        Ok(())
    }
}

/// Half of the memory that this process may use.
pub(super) fn default_cache_bytes() -> usize {
    match usize::try_from(machine_memory_bytes()) {
        Ok(bytes @ 1..) => bytes / 2,
        _ => 1 << 30,
    }
}
