//! A scratch folder that is removed with everything in it when the experiment ends, however it ends.

use std::path::{Path, PathBuf};

use squall_types::{Error, ErrorCode, Result};

/// A folder of this process's own.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes the folder in `parent`, or where the system keeps temporary files.
    ///
    /// # Errors
    /// `CANNOT_CREATE_DIRECTORY`.
    pub fn new(parent: Option<&Path>) -> Result<Self> {
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_path_buf);
        let path = parent.join(format!("squall-storm-{}", std::process::id()));
        create(&path)?;
        // Servers get absolute paths, whatever folder they run in.
        let path = path.canonicalize().map_err(|error| cannot_create(&path, &error))?;
        Ok(Scratch { path })
    }

    /// A folder in it, made where it is not there yet.
    ///
    /// # Errors
    /// `CANNOT_CREATE_DIRECTORY`.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.path.join(name);
        create(&path)?;
        Ok(path)
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            eprintln!("{} could not be removed: {error}", self.path.display());
        }
    }
}

fn create(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|error| cannot_create(path, &error))
}

fn cannot_create(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorCode::CANNOT_CREATE_DIRECTORY, format!("{}: {error}", path.display()))
}
