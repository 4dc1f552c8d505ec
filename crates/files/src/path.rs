//! Which files a path means, and whether they may be read: on a server those inside of the folder of user files, on a machine of one's own
//! all of them.

use std::fs::Metadata;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use squall_types::{Error, ErrorCode, Result, checkpoint, grow};

use crate::compression::Compression;
use crate::file::{fill, open_plain};
use crate::glob;
use crate::holder::Wanted;

/// The most files that a pattern may find.
const FILES_MAX: usize = 1_000_000;
/// Bytes that are read at once.
const PIECE_BYTES: usize = 64 << 10;
/// How deep folders are looked through.
const DEPTH_MAX: usize = 100;

/// Which files may be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Those inside of this folder, which relative paths begin at.
    Inside(PathBuf),
    /// All that the process may read.
    Anywhere,
}

/// A file that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    pub path: PathBuf,
    /// By what its holder knows it, where that is not the disk.
    pub location: String,
    /// Its size; `None` for what is no regular file.
    pub size: Option<u64>,
    /// When it was changed last, in seconds since 1970.
    pub changed: Option<u32>,
    /// The tag of its state, where its holder has such.
    pub etag: Option<Arc<str>>,
}

impl Found {
    /// The file for who holds it.
    pub fn wanted(&self) -> Wanted<'_> {
        Wanted { location: &self.location, size: self.size, etag: self.etag.as_deref() }
    }
}

impl Reach {
    /// The files that a path or pattern means, in the order of their names.
    ///
    /// # Errors
    /// `DATABASE_ACCESS_DENIED` where it leads elsewhere, `FILE_DOESNT_EXIST` for a path that means one file which is not there.
    pub(crate) fn files(&self, pattern: &str) -> Result<Vec<Found>> {
        let is_plain = glob::is_plain(pattern);
        let mut found = Vec::new();
        for pattern in glob::alternatives(pattern)? {
            let path = self.path(&pattern)?;
            if glob::is_plain(&pattern) {
                match self.look(&path) {
                    Ok(Some(file)) => found.push(file),
                    Ok(None) if is_plain => {
                        let message = format!("{} is a folder", path.display());
                        return Err(Error::new(ErrorCode::CANNOT_READ_FROM_FILE_DESCRIPTOR, message));
                    }
                    Ok(None) => {}
                    Err(error) if is_plain || error.code != ErrorCode::FILE_DOESNT_EXIST => return Err(error),
                    Err(_) => {}
                }
                continue;
            }
            let parts: Vec<String> =
                path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
            self.walk(PathBuf::new(), &parts, 0, &mut found)?;
        }
        found.sort_by(|left, right| left.path.cmp(&right.path));
        found.dedup_by(|left, right| left.path == right.path);
        Ok(found)
    }

    /// All bytes of the file that a path means; of the first one that a pattern finds.
    ///
    /// # Errors
    /// `DATABASE_ACCESS_DENIED` where it leads elsewhere, `FILE_DOESNT_EXIST`, `CANNOT_OPEN_FILE`, `MEMORY_LIMIT_EXCEEDED`.
    pub fn read(&self, path: &str) -> Result<Vec<u8>> {
        let found = self
            .files(path)?
            .into_iter()
            .next()
            .ok_or_else(|| Error::new(ErrorCode::FILE_DOESNT_EXIST, format!("No file matches {path}")))?;
        let mut input = open_plain(&found.path, Compression::None)?;
        let mut bytes = Vec::new();
        loop {
            let start = bytes.len();
            grow(&mut bytes, PIECE_BYTES)?;
            bytes.resize(start + PIECE_BYTES, 0);
            checkpoint(PIECE_BYTES)?;
            let filled = fill(&mut *input, bytes.get_mut(start..).unwrap_or_default())?;
            bytes.truncate(start + filled);
            if filled < PIECE_BYTES {
                return Ok(bytes);
            }
        }
    }

    /// The path without links of a file that is there.
    ///
    /// # Errors
    /// `DATABASE_ACCESS_DENIED` where it leads elsewhere, `FILE_DOESNT_EXIST`, `CANNOT_OPEN_FILE`.
    pub fn existing(&self, path: &str) -> Result<PathBuf> {
        let path = self.path(path)?;
        if self.look(&path)?.is_none() {
            return Err(Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("{} is a folder", path.display())));
        }
        path.canonicalize().map_err(|error| cannot_open(&path, &error))
    }

    /// The path of a file that is to be written, whether it is there or not.
    ///
    /// # Errors
    /// `DATABASE_ACCESS_DENIED` where it leads elsewhere.
    pub fn target(&self, path: &str) -> Result<PathBuf> {
        let path = self.path(path)?;
        // Only a folder that is there can lead elsewhere.
        let mut there = path.as_path();
        while !there.exists() && std::fs::symlink_metadata(there).is_err() {
            let Some(parent) = there.parent() else { break };
            there = parent;
        }
        self.check_inside(there)?;
        Ok(path)
    }

    /// The whole path, without `.` and `..`.
    fn path(&self, path: &str) -> Result<PathBuf> {
        let Self::Inside(folder) = self else { return Ok(PathBuf::from(path)) };
        let mut plain = PathBuf::new();
        for part in folder.join(path).components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => {
                    plain.pop();
                }
                part => plain.push(part),
            }
        }
        if plain.starts_with(folder) { Ok(plain) } else { Err(self.denied(&plain)) }
    }

    fn denied(&self, path: &Path) -> Error {
        let folder = match self {
            Self::Inside(folder) => folder.as_path(),
            Self::Anywhere => Path::new("/"),
        };
        let message = format!("File {} is not inside {}", path.display(), folder.display());
        Error::new(ErrorCode::DATABASE_ACCESS_DENIED, message)
    }

    /// Checks that something that is there does not lead elsewhere by a link.
    fn check_inside(&self, path: &Path) -> Result<()> {
        let Self::Inside(folder) = self else { return Ok(()) };
        match (path.canonicalize(), folder.canonicalize()) {
            (Ok(real), Ok(folder)) if real.starts_with(&folder) => Ok(()),
            (Err(error), _) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
                // Whether something is there is not told of what is outside.
                match path.parent() {
                    Some(parent) if path != folder => self.check_inside(parent)?,
                    _ => {}
                }
                Err(cannot_open(path, &error))
            }
            _ => Err(self.denied(path)),
        }
    }

    /// A file of this path; `None` for a folder.
    fn look(&self, path: &Path) -> Result<Option<Found>> {
        self.check_inside(path)?;
        let metadata = std::fs::metadata(path).map_err(|error| cannot_open(path, &error))?;
        if metadata.is_dir() {
            return Ok(None);
        }
        if !metadata.is_file() && matches!(self, Self::Inside(_)) {
            let message = format!("{} is no regular file", path.display());
            return Err(Error::new(ErrorCode::CANNOT_OPEN_FILE, message));
        }
        Ok(Some(Found {
            path: path.to_owned(),
            location: String::new(),
            size: metadata.is_file().then_some(metadata.len()),
            changed: changed(&metadata),
            etag: None,
        }))
    }

    /// Finds the files whose paths go on from `folder` as `parts` say.
    fn walk(&self, folder: PathBuf, parts: &[String], depth: usize, found: &mut Vec<Found>) -> Result<()> {
        let Some((part, rest)) = parts.split_first() else { return Ok(()) };
        if glob::is_plain(part) {
            let path = folder.join(part);
            if !rest.is_empty() {
                return self.walk(path, rest, depth, found);
            }
            match self.look(&path) {
                Ok(file) => found.extend(file),
                Err(error) if error.code == ErrorCode::FILE_DOESNT_EXIST => {}
                Err(error) => return Err(error),
            }
            return Ok(());
        }
        if depth > DEPTH_MAX {
            return Err(Error::new(ErrorCode::TOO_DEEP_RECURSION, "Folders nest too deep for a pattern"));
        }
        let is_any_depth = part == "**";
        if is_any_depth && !rest.is_empty() {
            self.walk(folder.clone(), rest, depth, found)?;
        }
        for name in self.names(&folder)? {
            checkpoint(1 << 12)?;
            let path = folder.join(&name);
            // A folder behind a link may be one that is being looked through.
            let is_folder = std::fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
            if is_any_depth {
                if is_folder {
                    self.walk(path, parts, depth + 1, found)?;
                } else if rest.is_empty() {
                    found.extend(self.look(&path)?);
                }
            } else if glob::matches(part, &name) {
                if rest.is_empty() {
                    found.extend(self.look(&path)?);
                } else if is_folder || path.is_dir() {
                    self.walk(path, rest, depth + 1, found)?;
                }
            }
            if found.len() > FILES_MAX {
                return Err(Error::new(ErrorCode::LIMIT_EXCEEDED, format!("More than {FILES_MAX} files match")));
            }
        }
        Ok(())
    }

    /// The names in a folder, ascending; none where it is no folder.
    fn names(&self, folder: &Path) -> Result<Vec<String>> {
        let shown = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        match self.check_inside(shown) {
            Ok(()) => {}
            Err(error) if error.code == ErrorCode::FILE_DOESNT_EXIST => return Ok(Vec::new()),
            Err(error) => return Err(error),
        }
        let entries = match std::fs::read_dir(shown) {
            Ok(entries) => entries,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Vec::new());
            }
            Err(error) => return Err(cannot_open(shown, &error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| cannot_open(shown, &error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // As in a shell.
            if !name.starts_with('.') {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }
}

fn changed(metadata: &Metadata) -> Option<u32> {
    let since = metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    u32::try_from(since.as_secs()).ok()
}

pub(crate) fn cannot_open(path: &Path, error: &io::Error) -> Error {
    let code = match error.kind() {
        io::ErrorKind::NotFound => ErrorCode::FILE_DOESNT_EXIST,
        _ => ErrorCode::CANNOT_OPEN_FILE,
    };
    let why = if code == ErrorCode::FILE_DOESNT_EXIST { "it does not exist".to_owned() } else { error.to_string() };
    Error::new(code, format!("Cannot open file {}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for path in ["in/a.csv", "in/b.csv", "in/deep/c.csv", "in/deep/er/d.csv", "in/.hidden.csv", "out/secret.csv"] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "1\n").unwrap();
        }
        folder
    }

    fn names(reach: &Reach, pattern: &str) -> String {
        let found = reach.files(pattern).unwrap();
        found.iter().map(|file| file.path.file_name().unwrap().to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn patterns_find_files() {
        let folder = folder();
        let reach = Reach::Inside(folder.path().join("in"));
        for (pattern, expected) in [
            ("a.csv", "a.csv"),
            ("*.csv", "a.csv b.csv"),
            ("?.csv", "a.csv b.csv"),
            ("{b,a,x}.csv", "a.csv b.csv"),
            ("**/*.csv", "a.csv b.csv c.csv d.csv"),
            ("**", "a.csv b.csv c.csv d.csv"),
            ("*/*.csv", "c.csv"),
            ("deep/**/d.csv", "d.csv"),
            ("*.tsv", ""),
            ("none/*.csv", ""),
            ("./deep/../a.csv", "a.csv"),
        ] {
            assert_eq!(names(&reach, pattern), expected, "{pattern}");
        }
        let absolute = folder.path().join("in/*.csv");
        assert_eq!(names(&Reach::Anywhere, absolute.to_str().unwrap()), "a.csv b.csv");
        assert_eq!(reach.files("none.csv").unwrap_err().code, ErrorCode::FILE_DOESNT_EXIST);
    }

    #[test]
    fn nothing_leads_out_of_the_folder() {
        let folder = folder();
        let root = folder.path().join("in");
        let reach = Reach::Inside(root.clone());
        std::os::unix::fs::symlink(folder.path().join("out"), root.join("door")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("out/secret.csv"), root.join("link.csv")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("out/none.csv"), root.join("dangling.csv")).unwrap();
        std::os::unix::fs::symlink(root.join("deep"), root.join("good")).unwrap();
        for pattern in [
            "../out/secret.csv",
            "../out/none.csv",
            "/etc/passwd",
            "/etc/none",
            "{..,x}/out/*.csv",
            "../*/*.csv",
            "door/secret.csv",
            "door/none.csv",
            "door/*.csv",
            "link.csv",
            "lin?.csv",
            "dangling.csv",
            "*/secret.csv",
        ] {
            assert_eq!(reach.files(pattern).unwrap_err().code, ErrorCode::DATABASE_ACCESS_DENIED, "{pattern}");
        }
        assert_eq!(names(&reach, "good/c.csv"), "c.csv");
        for path in ["../new.csv", "door/new.csv", "door/new/new.csv", "link.csv", "dangling.csv"] {
            assert_eq!(reach.target(path).unwrap_err().code, ErrorCode::DATABASE_ACCESS_DENIED, "{path}");
        }
        assert_eq!(reach.target("deep/new.csv").unwrap(), root.join("deep/new.csv"));
        assert_eq!(reach.target("new/new.csv").unwrap(), root.join("new/new.csv"));
    }
}
