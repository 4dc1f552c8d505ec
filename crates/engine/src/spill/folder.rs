//! The folder of temporary files. A file loses its name as soon as it is open, so that it is gone with the query, however that ends,
//! and with the process; what a crash between the two leaves is removed at the next start.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// How the names of temporary files begin.
const PREFIX: &str = "squall-temporary-";

/// A folder for temporary files, and how many bytes they may have together.
#[derive(Debug)]
pub struct TemporaryFolder {
    path: PathBuf,
    /// 0 is unlimited.
    bytes_max: AtomicU64,
    files: AtomicU64,
}

impl TemporaryFolder {
    /// A folder, which is made when the first file is. `bytes_max` bounds all files in it together; 0 is no bound.
    pub fn new(path: impl Into<PathBuf>, bytes_max: u64) -> Self {
        Self { path: path.into(), bytes_max: bytes_max.into(), files: AtomicU64::new(0) }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets how many bytes the files may have together; 0 is no bound.
    pub fn set_bytes_max(&self, bytes_max: u64) {
        self.bytes_max.store(bytes_max, Ordering::Relaxed);
    }

    pub(super) fn bytes_max(&self) -> u64 {
        self.bytes_max.load(Ordering::Relaxed)
    }

    /// Removes the files that a process left which is no more; how many there were.
    ///
    /// # Errors
    /// The file system's.
    pub fn remove_leftovers(&self) -> io::Result<usize> {
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(error),
        };
        let mut removed = 0;
        for entry in entries {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(PREFIX) {
                fs::remove_file(entry.path())?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// A new file without a name. Waits for the disk.
    pub(super) fn create(&self) -> io::Result<File> {
        fs::create_dir_all(&self.path)?;
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        let path = self.path.join(format!("{PREFIX}{}-{number}", std::process::id()));
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
        fs::remove_file(path)?;
        Ok(file)
    }
}

impl Default for TemporaryFolder {
    /// The system's folder for temporary files, without a bound.
    fn default() -> Self {
        Self::new(std::env::temp_dir(), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_not_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let temporary = TemporaryFolder::new(folder.path().join("tmp"), 0);
        assert_eq!(temporary.remove_leftovers().unwrap(), 0);
        let _file = temporary.create().unwrap();
        assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
        fs::write(temporary.path().join(format!("{PREFIX}1-1")), b"left").unwrap();
        fs::write(temporary.path().join("somebody's"), b"else").unwrap();
        assert_eq!(temporary.remove_leftovers().unwrap(), 1);
        assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 1);
    }
}
