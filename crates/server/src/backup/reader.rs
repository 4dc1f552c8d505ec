//! A backup that is read: its list, and its files with those of its base backups.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use squall_runtime::ProfileEvent;
use squall_runtime::profile_events::count;
use squall_types::{Error, ErrorCode, Result};

use super::location::Location;
use super::manifest::{self, FileEntry, Manifest};
use super::writer::checksum;

/// Backups that stand on each other at most.
const BASES_MAX: usize = 1000;

/// A backup to read from.
pub struct BackupReader {
    /// What is in it.
    pub manifest: Manifest,
    folder: PathBuf,
    /// Where an archive is unpacked: removed with this.
    unpacked: Option<PathBuf>,
    base: Option<Box<BackupReader>>,
}

impl Drop for BackupReader {
    fn drop(&mut self) {
        if let Some(folder) = &self.unpacked {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

impl BackupReader {
    /// Opens a backup and those that it stands on; `locate` reads where a base backup lies. Waits for the disk.
    ///
    /// # Errors
    /// `BACKUP_NOT_FOUND`, `BACKUP_DAMAGED`, `BACKUP_VERSION_NOT_SUPPORTED`, `WRONG_BASE_BACKUP`.
    pub fn open(location: &Location, tmp: &Path, locate: &dyn Fn(&str) -> Result<Location>) -> Result<Self> {
        count(ProfileEvent::BackupsOpenedForRead, 1);
        Self::open_at_depth(location, tmp, locate, 0)
    }

    fn open_at_depth(
        location: &Location,
        tmp: &Path,
        locate: &dyn Fn(&str) -> Result<Location>,
        depth: usize,
    ) -> Result<Self> {
        let not_found = || Error::new(ErrorCode::BACKUP_NOT_FOUND, format!("Backup {location} not found"));
        if depth > BASES_MAX {
            return Err(Error::new(
                ErrorCode::BACKUP_DAMAGED,
                format!("More than {BASES_MAX} backups stand on each other"),
            ));
        }
        let (folder, unpacked) = match location.archive()? {
            None => (location.path.clone(), None),
            Some(kind) => {
                if !location.path.is_file() {
                    return Err(not_found());
                }
                let folder = tmp.join(format!("restore_{}", uuid::Uuid::new_v4().simple()));
                let password = location.password.as_deref();
                let unpacked =
                    std::fs::create_dir_all(&folder).and_then(|()| kind.unpack(&location.path, &folder, password));
                if let Err(error) = unpacked {
                    let _ = std::fs::remove_dir_all(&folder);
                    return Err(Error::new(
                        ErrorCode::BACKUP_DAMAGED,
                        format!("Archive {location} cannot be unpacked: {error}"),
                    ));
                }
                (folder.clone(), Some(folder))
            }
        };
        // From here on the unpacked folder is removed in any case.
        let mut reader = Self { manifest: Manifest::new(String::new()), folder, unpacked, base: None };
        let mut bytes = Vec::new();
        let file = File::open(reader.folder.join(manifest::FILE)).map_err(|_| not_found())?;
        file.take(manifest::BYTES_MAX).read_to_end(&mut bytes).map_err(|error| {
            Error::new(ErrorCode::BACKUP_DAMAGED, format!("Backup {location} cannot be read: {error}"))
        })?;
        reader.manifest = Manifest::read(&bytes)?;
        if let Some(base) = &reader.manifest.base_backup {
            let base = Self::open_at_depth(&locate(base)?, tmp, locate, depth + 1)?;
            if Some(&base.manifest.uuid) != reader.manifest.base_backup_uuid.as_ref() {
                return Err(Error::new(
                    ErrorCode::WRONG_BASE_BACKUP,
                    format!("Backup {location} stands on another backup than the one that lies there now"),
                ));
            }
            reader.base = Some(Box::new(base));
        }
        Ok(reader)
    }

    /// The file of an entry, in this backup or the one that it stands on, its bytes compared with the list's checksum.
    ///
    /// # Errors
    /// `BACKUP_ENTRY_NOT_FOUND`, `BACKUP_DAMAGED`.
    pub fn file(&self, entry: &FileEntry) -> Result<PathBuf> {
        if entry.in_base {
            let base = self.base.as_ref().ok_or_else(|| {
                Error::new(ErrorCode::NO_BASE_BACKUP, format!("No base backup, and {} is in one", entry.file))
            })?;
            let found = base.manifest.files().find(|known| is_same(known, entry));
            let found = found.ok_or_else(|| {
                Error::new(
                    ErrorCode::BACKUP_ENTRY_NOT_FOUND,
                    format!("Entry {} not found in the base backup", entry.file),
                )
            })?;
            return base.file(found);
        }
        let is_inside = Path::new(&entry.file).components().all(|part| matches!(part, std::path::Component::Normal(_)));
        let damaged = |why: &dyn std::fmt::Display| {
            Error::new(ErrorCode::BACKUP_DAMAGED, format!("Entry {} of the backup is damaged: {why}", entry.file))
        };
        if !is_inside {
            return Err(damaged(&"it lies outside of the backup"));
        }
        let path = self.folder.join(&entry.file);
        let file = File::open(&path).map_err(|error| damaged(&error))?;
        let (bytes, found) = checksum(file).map_err(|error| damaged(&error))?;
        if bytes != entry.bytes || found != entry.checksum {
            return Err(damaged(&"its checksum or length is another"));
        }
        Ok(path)
    }
}

/// Whether two entries are of the same bytes.
pub fn is_same(left: &FileEntry, right: &FileEntry) -> bool {
    (left.bytes, &left.checksum) == (right.bytes, &right.checksum)
}
