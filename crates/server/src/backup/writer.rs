//! A backup that is written: into a folder beside its place, which it takes when it is whole and on disk.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use squall_runtime::ProfileEvent;
use squall_runtime::profile_events::count;
use squall_storage::TableBackup;
use squall_types::{Error, ErrorCode, Result};

use super::location::Location;
use super::manifest::{self, FileEntry, Manifest, TableEntry, file_name};
use super::reader::BackupReader;

/// Bytes that are copied at a time.
const COPY_BYTES: usize = 1 << 20;

/// What a backup took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Written {
    /// Files of parts, those of the base backup too.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that were written.
    pub new_files: u64,
    /// Their bytes.
    pub new_bytes: u64,
}

/// One table with the name that it has in the backup, and its CREATE statement.
pub struct TableToWrite {
    /// What storage gives of it.
    pub table: TableBackup,
    /// Its database in the backup.
    pub database: String,
    /// Its name in the backup.
    pub name: String,
    /// For whoever reads the backup.
    pub statement: String,
}

/// Writes a backup; `manifest` has everything but the tables. `is_cancelled` is asked between files. Waits for the disk.
///
/// # Errors
/// `BACKUP_ALREADY_EXISTS`, `QUERY_WAS_CANCELLED`, and where files cannot be read or written: then nothing is left of it.
pub fn write(
    location: &Location,
    mut manifest: Manifest,
    tables: Vec<TableToWrite>,
    base: Option<&BackupReader>,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<Written> {
    count(ProfileEvent::BackupsOpenedForWrite, 1);
    let archive = location.archive()?;
    if fs::symlink_metadata(&location.path).is_ok() {
        return Err(Error::new(ErrorCode::BACKUP_ALREADY_EXISTS, format!("Backup {location} already exists")));
    }
    let parent = location.path.parent().unwrap_or(Path::new("/")).to_path_buf();
    let name = location.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = parent.join(format!(".{name}.{}.tmp", uuid::Uuid::new_v4().simple()));
    let packed = parent.join(format!(".{name}.{}.tar.tmp", uuid::Uuid::new_v4().simple()));
    let mut writer = Writer { folder: folder.clone(), written: Written::default() };
    let result = (|| {
        create_folder(&folder)?;
        for table in tables {
            let entry = writer.table(table, base, is_cancelled)?;
            manifest.tables.push(entry);
        }
        writer.file(manifest::FILE, &manifest.write())?;
        let place = match archive {
            None => {
                sync_folders(&folder).map_err(|error| cannot_write(&folder, &error))?;
                &folder
            }
            Some(kind) => {
                kind.pack(&folder, &packed, location.password.as_deref())
                    .map_err(|error| cannot_write(&packed, &error))?;
                &packed
            }
        };
        // Another backup of the name may have come meanwhile: a folder that has files is not replaced, a file would be.
        if fs::symlink_metadata(&location.path).is_ok() {
            return Err(Error::new(ErrorCode::BACKUP_ALREADY_EXISTS, format!("Backup {location} already exists")));
        }
        fs::rename(place, &location.path)
            .and_then(|()| File::open(&parent)?.sync_all())
            .map_err(|error| cannot_write(&location.path, &error))
    })();
    let _ = fs::remove_file(&packed);
    let _ = fs::remove_dir_all(&folder);
    result.map(|()| writer.written)
}

struct Writer {
    folder: PathBuf,
    written: Written,
}

impl Writer {
    fn table(
        &mut self,
        table: TableToWrite,
        base: Option<&BackupReader>,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<TableEntry> {
        let (database, name) = (file_name(&table.database), file_name(&table.name));
        self.file(&format!("metadata/{database}/{name}.sql"), table.statement.as_bytes())?;
        let known: HashMap<(u64, &str), &FileEntry> = base
            .into_iter()
            .flat_map(|base| base.manifest.files())
            .map(|entry| ((entry.bytes, entry.checksum.as_str()), entry))
            .collect();
        let mut parts = Vec::with_capacity(table.table.parts.len());
        for part in &table.table.parts {
            if is_cancelled() {
                return Err(Error::new(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled"));
            }
            let file = format!("data/{database}/{name}/{}.parquet", file_name(&part.name));
            let unreadable = |error: io::Error| {
                Error::new(ErrorCode::CORRUPTED_DATA, format!("Cannot read part file {}: {error}", part.path.display()))
            };
            let is_known_length = known.keys().any(|(bytes, _)| *bytes == part.bytes);
            let mut entry = FileEntry {
                part: part.name.to_string(),
                partition: part.partition_id.to_string(),
                file,
                bytes: part.bytes,
                checksum: String::new(),
                description: STANDARD.encode(&part.description),
                in_base: false,
            };
            if is_known_length {
                let (_, found) = File::open(&part.path).and_then(checksum).map_err(unreadable)?;
                entry.in_base = known.contains_key(&(part.bytes, found.as_str()));
                entry.checksum = found;
            }
            if !entry.in_base {
                entry.checksum = self.copy(&part.path, &entry.file, part.bytes)?;
                self.written.new_files += 1;
                self.written.new_bytes += part.bytes;
            }
            self.written.files += 1;
            self.written.bytes += part.bytes;
            parts.push(entry);
        }
        Ok(TableEntry { database: table.database, table: table.name, record: table.table.record, parts })
    }

    fn file(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.folder.join(name);
        create_folder(path.parent().unwrap_or(&self.folder))?;
        let written = File::create_new(&path).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        });
        written.map_err(|error| cannot_write(&path, &error))
    }

    /// Copies a part; its checksum.
    fn copy(&self, from: &Path, name: &str, bytes: u64) -> Result<String> {
        let path = self.folder.join(name);
        create_folder(path.parent().unwrap_or(&self.folder))?;
        let unreadable = |error: &dyn std::fmt::Display| {
            Error::new(ErrorCode::CORRUPTED_DATA, format!("Cannot read part file {}: {error}", from.display()))
        };
        let mut source = File::open(from).map_err(|error| unreadable(&error))?;
        let mut target = File::create_new(&path).map_err(|error| cannot_write(&path, &error))?;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; COPY_BYTES];
        let mut copied = 0;
        loop {
            let read = source.read(&mut buffer).map_err(|error| unreadable(&error))?;
            let Some(piece) = buffer.get(..read).filter(|piece| !piece.is_empty()) else { break };
            hash.update(piece);
            target.write_all(piece).map_err(|error| cannot_write(&path, &error))?;
            copied += read as u64;
        }
        if copied != bytes {
            return Err(unreadable(&format!("it has {copied} bytes, expected {bytes}")));
        }
        target.sync_all().map_err(|error| cannot_write(&path, &error))?;
        Ok(hexadecimal(&hash.finalize()))
    }
}

/// A file's length and checksum.
pub fn checksum(mut file: File) -> io::Result<(u64, String)> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; COPY_BYTES];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer)?;
        let Some(piece) = buffer.get(..read).filter(|piece| !piece.is_empty()) else { break };
        hash.update(piece);
        bytes += read as u64;
    }
    Ok((bytes, hexadecimal(&hash.finalize())))
}

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

fn create_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|error| cannot_write(path, &error))
}

/// Makes the names in a folder and below durable.
fn sync_folders(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    File::open(folder)?.sync_all()
}

fn cannot_write(path: &Path, error: &io::Error) -> Error {
    let code = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorCode::NOT_ENOUGH_SPACE,
        _ => ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR,
    };
    Error::new(code, format!("Cannot write file {}: {error}", path.display()))
}
