//! The directory of a table's part files. It stays as long as anybody may read or write a file in it, and goes after that where
//! the table was dropped. Files have temporary names until their commit: only such may be removed by whoever finds them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use squall_types::Result;

use super::part_writer::write_error;
use crate::catalog::Catalog;
use crate::disk::{Disk, remove_file};

/// What the names of files begin with that are not committed.
pub(crate) const TEMPORARY: &str = "tmp_insert_";
/// The folder of parts that are no longer, or not yet, the table's.
pub(crate) const DETACHED: &str = "detached";

/// A table's directory.
pub(crate) struct TableDirectory {
    path: PathBuf,
    catalog: Arc<Catalog>,
    is_obsolete: AtomicBool,
}

impl std::fmt::Debug for TableDirectory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TableDirectory").field(&self.path).finish()
    }
}

impl TableDirectory {
    pub(super) fn new(path: PathBuf, catalog: Arc<Catalog>) -> Self {
        Self { path, catalog, is_obsolete: AtomicBool::new(false) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where parts are that are detached.
    pub(super) fn detached(&self) -> PathBuf {
        self.path.join(DETACHED)
    }

    pub(super) fn disk(&self) -> &Arc<dyn Disk> {
        self.catalog.disk()
    }

    /// The name of a part's file until its commit.
    pub(super) fn temporary(&self, path: &Path) -> PathBuf {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.path.join(format!("{TEMPORARY}{name}"))
    }

    /// Writes a part's file under its temporary name; on return it is on disk, or it is not there.
    pub(super) fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let temporary = self.temporary(path);
        let written = self.disk().create(&temporary, bytes).and_then(|()| self.disk().sync_folder(&self.path));
        written.map_err(|error| {
            remove_file(&**self.disk(), &temporary);
            write_error(path, &error)
        })
    }

    /// Gives a file that is committed its own name. That need not be durable: whoever finds the temporary name of a part that the catalog
    /// lists does the same.
    pub(super) fn settle(&self, path: &Path) {
        if let Err(error) = self.disk().rename(&self.temporary(path), path) {
            tracing::error!(path = %path.display(), %error, "a committed part keeps its temporary name until the next start");
        }
    }

    /// Removes the file of a part that was never committed.
    pub(super) fn remove_uncommitted(&self, path: &Path) {
        remove_file(&**self.disk(), &self.temporary(path));
    }

    /// Removes the file of a part that is no longer the table's.
    pub(super) fn remove(&self, path: &Path) {
        let is_gone = remove_file(&**self.disk(), &self.temporary(path)) && remove_file(&**self.disk(), path);
        if is_gone {
            self.catalog.note_removed(path.to_path_buf());
        }
    }

    /// The table was dropped.
    pub(super) fn retire(&self) {
        self.is_obsolete.store(true, Ordering::Release);
    }
}

impl Drop for TableDirectory {
    fn drop(&mut self) {
        if *self.is_obsolete.get_mut() {
            // What somebody else put there keeps the directory.
            let _ = self.catalog.disk().remove_folder(&self.path);
        }
    }
}
