//! What storage does to files: everything that parts are made, moved and removed by goes through [`Disk`], so that tests can put a
//! disk in its place that forgets what was not synced. The catalog's file is SQLite's own business; only the moment of its commits is here.

#[cfg(test)]
pub(crate) mod fake;

use std::fmt::Debug;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use squall_runtime::file_io::CountedFile;

/// A file or folder inside of a folder.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) is_folder: bool,
    pub(crate) bytes: u64,
}

/// A file that is open for reading.
pub(crate) trait OpenFile: Send + Sync {
    /// Fills `bytes` with what is at `offset`.
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;
}

/// A new file that grows.
pub(crate) trait NewFile: Send {
    /// Appends bytes.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes all bytes durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// Files and folders. Names are durable when their folder was synced; a file's bytes when [`Disk::create`] or [`NewFile::sync`] has returned.
pub(crate) trait Disk: Debug + Send + Sync {
    /// Makes a folder and those above it; one that is there already is fine.
    fn create_folder(&self, path: &Path) -> io::Result<()>;
    /// Begins a new file.
    fn begin(&self, path: &Path) -> io::Result<Box<dyn NewFile>>;
    /// Makes a new file of these bytes, one after the other, which are durable on return.
    fn create(&self, path: &Path, bytes: &mut dyn Iterator<Item = &[u8]>) -> io::Result<()> {
        let mut file = self.begin(path)?;
        for some in bytes {
            file.append(some)?;
        }
        file.sync()
    }
    /// Makes the names in a folder durable.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
    /// Gives a file another name, in place of whatever had it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file a second name, which must be new; a copy where the file system has no such thing.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes a new file of the bytes of another, which are durable on return.
    fn copy(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty folder.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;
    /// What is in a folder; nothing where there is none.
    fn list(&self, path: &Path) -> io::Result<Vec<Listed>>;
    /// A file's length.
    fn bytes(&self, path: &Path) -> io::Result<u64>;
    /// Opens a file for reading.
    fn open(&self, path: &Path) -> io::Result<Box<dyn OpenFile>>;
    /// Carries out a commit of the catalog: wholly durable where it succeeds.
    fn commit(&self, commit: &mut dyn FnMut() -> rusqlite::Result<()>) -> rusqlite::Result<()> {
        commit()
    }
}

/// All bytes of a file.
pub(crate) fn read_all(disk: &dyn Disk, path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(disk.bytes(path)?).map_err(io::Error::other)?];
    disk.open(path)?.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// Removes a file that may be gone already; whether it is gone now.
pub(crate) fn remove_file(disk: &dyn Disk, path: &Path) -> bool {
    match disk.remove(path) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "cannot remove a file");
            false
        }
    }
}

/// The operating system's files.
#[derive(Debug)]
pub(crate) struct LocalDisk;

impl OpenFile for CountedFile {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        CountedFile::read_exact_at(self, bytes, offset)
    }
}

impl NewFile for CountedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

impl Disk for LocalDisk {
    fn create_folder(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn begin(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        Ok(Box::new(CountedFile::create_new(path)?))
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        squall_runtime::file_io::sync_folder(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        match fs::hard_link(from, to) {
            Err(error) if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied) => {
                copy(from, to)
            }
            linked => linked,
        }
    }

    fn copy(&self, from: &Path, to: &Path) -> io::Result<()> {
        copy(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Listed>> {
        let entries = match fs::read_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let listed = |entry: io::Result<fs::DirEntry>| -> io::Result<Listed> {
            let entry = entry?;
            // What a link in place of a folder points to is somebody's choice of disk.
            let metadata = fs::metadata(entry.path())?;
            let name = entry.file_name().to_string_lossy().into_owned();
            Ok(Listed { name, is_folder: metadata.is_dir(), bytes: metadata.len() })
        };
        // What vanishes meanwhile is not there.
        let mut all: Vec<Listed> = entries
            .map(listed)
            .filter(|entry| !matches!(entry, Err(error) if error.kind() == io::ErrorKind::NotFound))
            .collect::<io::Result<_>>()?;
        all.sort_unstable();
        Ok(all)
    }

    fn bytes(&self, path: &Path) -> io::Result<u64> {
        Ok(fs::metadata(path)?.len())
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        Ok(Box::new(CountedFile::open(path)?))
    }
}

/// A durable copy, or none.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = File::open(from)?;
    let mut target = File::create_new(to)?;
    let copied = io::copy(&mut source, &mut target).and_then(|_| target.sync_all());
    if copied.is_err() {
        let _ = fs::remove_file(to);
    }
    copied
}
