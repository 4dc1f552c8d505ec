//! Room on the disk that is kept for what makes room: where there is none left, the catalog could not even note that a table is dropped.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};

/// As much as SQLite's log grows to between two checkpoints: enough to drop thousands of parts at once.
const RESERVE_BYTES: u64 = 4 << 20;

/// A file that takes room and holds nothing.
pub(super) struct Reserve {
    path: PathBuf,
    is_kept: bool,
}

impl Reserve {
    /// The reserve in this file, which the last run of the server may have left.
    pub(super) fn new(path: PathBuf) -> Self {
        let is_kept = path.exists();
        Self { path, is_kept }
    }

    /// No reserve.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self::new(PathBuf::from("/dev/null/reserve"))
    }

    /// Takes the room where it is not taken. Where there is none, or the file system cannot promise any, a later call tries again.
    pub(super) fn keep(&mut self) {
        if !self.is_kept {
            self.is_kept = take(&self.path).is_ok();
            if !self.is_kept {
                // What was taken of it is of no use.
                let _ = fs::remove_file(&self.path);
            }
        }
    }

    /// Gives the room away; whether there was any.
    pub(super) fn release(&mut self) -> bool {
        std::mem::take(&mut self.is_kept) && fs::remove_file(&self.path).is_ok()
    }
}

fn take(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    Ok(fallocate(&file, FallocateFlags::empty(), 0, RESERVE_BYTES)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn it_takes_room_until_it_is_released() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reserve");
        let mut reserve = Reserve::new(path.clone());
        assert!(!reserve.release());
        reserve.keep();
        assert_eq!(path.metadata().unwrap().blocks() * 512, RESERVE_BYTES);
        // The next run finds it.
        let mut reserve = Reserve::new(path.clone());
        assert!(reserve.release() && !path.exists());
        assert!(!reserve.release());
        reserve.keep();
        assert!(path.exists());
    }

    #[test]
    fn a_file_that_cannot_be_is_no_reserve() {
        let folder = tempfile::tempdir().unwrap();
        let mut reserve = Reserve::new(folder.path().join("missing/reserve"));
        reserve.keep();
        assert!(!reserve.release());
    }
}
