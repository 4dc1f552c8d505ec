//! The directory of a table's part files. It stays as long as anybody may read or write a file in it, and goes after that where
//! the table was dropped.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// A table's directory.
#[derive(Debug)]
pub(super) struct TableDirectory {
    path: PathBuf,
    is_obsolete: AtomicBool,
}

impl TableDirectory {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, is_obsolete: AtomicBool::new(false) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
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
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}
