//! The directory of a table's part files. It stays as long as anybody may read or write a file in it, and goes after that where
//! the table was dropped. Files have temporary names until their commit: only such may be removed by whoever finds them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use squall_types::Result;
use uuid::Uuid;

use super::part::corrupted;
use super::part_writer::write_error;
use crate::catalog::{Catalog, StoredDeletion};
use crate::disk::{Disk, read_all, remove_file};
use crate::merge_tree::changes::deleted_rows::{DeletedRows, Deletion, DeletionFile};

/// What the names of files begin with that are not committed.
pub(crate) const TEMPORARY: &str = "tmp_insert_";
/// The folder of parts that are no longer, or not yet, the table's.
pub(crate) const DETACHED: &str = "detached";

/// What the names of files begin with that tell which rows of a part are deleted.
pub(crate) const DELETION: &str = "delete-";

/// The length of a Parquet file's footer, which stands before its last eight bytes.
fn footer_bytes(file: &[u8]) -> u64 {
    let tail = file.len().checked_sub(8).and_then(|at| file.get(at..)).and_then(|tail| tail.first_chunk());
    tail.copied().map_or(0, u32::from_le_bytes).into()
}

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
    pub(in crate::merge_tree) fn new(path: PathBuf, catalog: Arc<Catalog>) -> Self {
        Self { path, catalog, is_obsolete: AtomicBool::new(false) }
    }

    pub(in crate::merge_tree) fn path(&self) -> &Path {
        &self.path
    }

    /// Where parts are that are detached.
    pub(in crate::merge_tree) fn detached(&self) -> PathBuf {
        self.path.join(DETACHED)
    }

    pub(in crate::merge_tree) fn disk(&self) -> &Arc<dyn Disk> {
        self.catalog.disk()
    }

    /// The name of a part's file until its commit.
    pub(in crate::merge_tree) fn temporary(&self, path: &Path) -> PathBuf {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.path.join(format!("{TEMPORARY}{name}"))
    }

    /// Writes a part's file under its temporary name; on return it is on disk, or it is not there.
    pub(in crate::merge_tree) fn write<'a>(
        &self,
        path: &Path,
        bytes: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<()> {
        let temporary = self.temporary(path);
        let written =
            self.disk().create(&temporary, &mut bytes.into_iter()).and_then(|()| self.disk().sync_folder(&self.path));
        written.map_err(|error| {
            remove_file(&**self.disk(), &temporary);
            write_error(path, &error)
        })
    }

    /// Reads which rows of a part are deleted, as the catalog says. Waits for the disk.
    ///
    /// # Errors
    /// `CORRUPTED_DATA`.
    pub(in crate::merge_tree) fn read_deletion(&self, stored: &StoredDeletion) -> Result<Option<Deletion>> {
        if stored.path.is_none() && stored.inlined.is_empty() {
            return Ok(None);
        }
        let mut deletion = Deletion {
            rows: DeletedRows::of_positions(stored.inlined.clone()),
            file: None,
            inlined: stored.inlined.len(),
        };
        if let Some(name) = &stored.path {
            let path = self.path.join(name);
            let temporary = self.temporary(&path);
            let disk = &**self.disk();
            // Committed, and perhaps not called so yet.
            let bytes = read_all(disk, &path).or_else(|_| read_all(disk, &temporary));
            let bytes = bytes.map_err(|error| corrupted(&path, error))?;
            deletion.file = Some(DeletionFile { path, bytes: bytes.len() as u64, footer_bytes: footer_bytes(&bytes) });
            deletion.rows = deletion.rows.with(&DeletedRows::decode(bytes)?.0);
        }
        Ok(Some(deletion))
    }

    /// Writes which rows of a part are deleted, under the temporary name of a new file.
    ///
    /// # Errors
    /// `NOT_ENOUGH_SPACE` and other failures to write.
    pub(in crate::merge_tree) fn write_deletion(&self, rows: DeletedRows, part: &Path) -> Result<Deletion> {
        let path = self.path.join(format!("{DELETION}{}.parquet", Uuid::new_v4()));
        let bytes = rows.encode(&part.to_string_lossy())?;
        self.write(&path, [&bytes[..]])?;
        let file = DeletionFile { path, bytes: bytes.len() as u64, footer_bytes: footer_bytes(&bytes) };
        Ok(Deletion { rows, file: Some(file), inlined: 0 })
    }

    /// Gives a file that is committed its own name. That need not be durable: whoever finds the temporary name of a part that the catalog
    /// lists does the same.
    pub(in crate::merge_tree) fn settle(&self, path: &Path) {
        if let Err(error) = self.disk().rename(&self.temporary(path), path) {
            tracing::error!(path = %path.display(), %error, "a committed part keeps its temporary name until the next start");
        }
    }

    /// Removes the file of a part that was never committed.
    pub(in crate::merge_tree) fn remove_uncommitted(&self, path: &Path) {
        remove_file(&**self.disk(), &self.temporary(path));
    }

    /// Removes the file of a part that is no longer the table's.
    pub(in crate::merge_tree) fn remove(&self, path: &Path) {
        let is_gone = remove_file(&**self.disk(), &self.temporary(path)) && remove_file(&**self.disk(), path);
        if is_gone {
            self.catalog.note_removed(path.to_path_buf());
        }
    }

    /// The table was dropped.
    pub(in crate::merge_tree) fn retire(&self) {
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
