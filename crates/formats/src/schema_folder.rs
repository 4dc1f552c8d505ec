//! The folder of files that settings name: schemas of formats, and templates.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use parking_lot::RwLock;
use squall_types::{Error, ErrorCode, Result, grow};

/// The most bytes of a file.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Where files are looked up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchemaFolder {
    folder: PathBuf,
    is_open: bool,
}

/// By what a file is known to be as it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    bytes: u64,
    changed: Option<SystemTime>,
}

fn of_process() -> &'static RwLock<Arc<SchemaFolder>> {
    static FOLDER: OnceLock<RwLock<Arc<SchemaFolder>>> = OnceLock::new();
    // Where nobody says otherwise, no file can be reached.
    FOLDER.get_or_init(|| RwLock::new(Arc::new(SchemaFolder::closed(""))))
}

impl SchemaFolder {
    /// A folder that no path leads out of: that of a server.
    pub fn closed(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), is_open: false }
    }

    /// A folder that paths begin at, wherever they lead to: that of a program that its user runs on files of their own.
    pub fn open(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), is_open: true }
    }

    /// Makes it the one of all options that are made from now on.
    pub fn set_of_process(self) {
        *of_process().write() = Arc::new(self);
    }

    /// The one of the process.
    pub(crate) fn current() -> Arc<Self> {
        of_process().read().clone()
    }

    /// The path of a file that is there; `None` where none is.
    fn path(&self, name: &str, setting: &str) -> Result<Option<PathBuf>> {
        let path = self.target(name, setting)?;
        if self.is_open {
            return Ok(path.exists().then_some(path));
        }
        let (Ok(path), Ok(folder)) = (path.canonicalize(), self.folder.canonicalize()) else { return Ok(None) };
        if path.starts_with(folder) { Ok(Some(path)) } else { Err(outside(name, setting)) }
    }

    /// The path that a name stands for, by its letters.
    fn target(&self, name: &str, setting: &str) -> Result<PathBuf> {
        let leaves = |part: Component<'_>| !matches!(part, Component::Normal(_) | Component::CurDir);
        if !self.is_open && Path::new(name).is_absolute() {
            let message = format!("Absolute path in the '{setting}' setting is prohibited: {name}");
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        if !self.is_open && (self.folder.as_os_str().is_empty() || Path::new(name).components().any(leaves)) {
            return Err(outside(name, setting));
        }
        Ok(self.folder.join(name))
    }

    /// What tells whether a file has changed; `None` where it is not there.
    pub(crate) fn stamp(&self, name: &str) -> Option<Stamp> {
        let metadata = std::fs::metadata(self.path(name, "").ok()??).ok()?;
        Some(Stamp { bytes: metadata.len(), changed: metadata.modified().ok() })
    }

    /// The text of a file that a setting names; `None` where it is not there.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for a path that leads out of the folder; `CANNOT_OPEN_FILE`; `INCORRECT_DATA` where it is not UTF-8 or too long.
    pub(crate) fn read(&self, name: &str, setting: &str) -> Result<Option<String>> {
        let Some(path) = self.path(name, setting)? else { return Ok(None) };
        let failed = |error: std::io::Error| {
            Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("Cannot read file {}: {error}", path.display()))
        };
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        if !file.metadata().map_err(failed)?.is_file() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        grow(&mut bytes, 1 << 10)?;
        file.by_ref().take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            let message = format!("File {} is longer than {FILE_BYTES_MAX} bytes", path.display());
            return Err(Error::new(ErrorCode::INCORRECT_DATA, message));
        }
        let not_text = |_| Error::new(ErrorCode::INCORRECT_DATA, format!("File {} is not UTF-8", path.display()));
        String::from_utf8(bytes).map(Some).map_err(not_text)
    }

    /// Writes a file that a setting names, in place of what is there.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for a path that leads out of the folder; `CANNOT_OPEN_FILE`.
    pub(crate) fn write(&self, name: &str, setting: &str, text: &str) -> Result<()> {
        let path = self.target(name, setting)?;
        if !self.is_open {
            // The file itself may be a link, or a folder on the way to it.
            let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
            let folder = self.folder.canonicalize().ok();
            let is_inside = matches!((&parent, &folder), (Some(parent), Some(folder)) if parent.starts_with(folder));
            if parent.is_some() && (!is_inside || path.is_symlink()) {
                return Err(outside(name, setting));
            }
        }
        std::fs::write(&path, text).map_err(|error| {
            Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("Cannot write file {}: {error}", path.display()))
        })
    }
}

fn outside(name: &str, setting: &str) -> Error {
    let message =
        format!("Path in the '{setting}' setting shouldn't go outside the 'format_schema_path' directory: {name}");
    Error::new(ErrorCode::BAD_ARGUMENTS, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leads_out_of_a_closed_folder() {
        let root = std::env::temp_dir().join(format!("squall-schema-folder-{}", std::process::id()));
        let folder = root.join("schemas");
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        std::fs::write(root.join("secret"), "secret").unwrap();
        std::fs::write(folder.join("sub/a"), "text").unwrap();
        std::os::unix::fs::symlink(root.join("secret"), folder.join("link")).unwrap();
        std::os::unix::fs::symlink(&root, folder.join("up")).unwrap();
        let closed = SchemaFolder::closed(&folder);
        assert_eq!(closed.read("sub/a", "s").unwrap().as_deref(), Some("text"));
        assert_eq!(closed.read("./sub/a", "s").unwrap().as_deref(), Some("text"));
        assert_eq!(closed.read("b", "s").unwrap(), None);
        assert_eq!(closed.read("sub", "s").unwrap(), None);
        let absolute = root.join("secret").display().to_string();
        for name in ["../secret", "sub/../../secret", "link", "up/secret", &absolute] {
            assert_eq!(closed.read(name, "s").unwrap_err().code, ErrorCode::BAD_ARGUMENTS, "{name}");
            assert_eq!(closed.write(name, "s", "x").unwrap_err().code, ErrorCode::BAD_ARGUMENTS, "{name}");
            assert_eq!(SchemaFolder::open(&folder).read(name, "s").unwrap().as_deref(), Some("secret"), "{name}");
        }
        closed.write("new", "s", "new").unwrap();
        assert_eq!(closed.read("new", "s").unwrap().as_deref(), Some("new"));
        assert_eq!(SchemaFolder::closed("").read("new", "s").unwrap_err().code, ErrorCode::BAD_ARGUMENTS);
        std::fs::remove_dir_all(root).unwrap();
    }
}
