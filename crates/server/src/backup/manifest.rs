//! The list of what is in a backup, its file `.backup`: written last, so that a backup without it is none.

use serde::{Deserialize, Serialize};
use squall_types::{Error, ErrorCode, Result};

/// The file's name.
pub const FILE: &str = ".backup";
/// The version of the list that is written; later ones are refused.
const VERSION: u32 = 1;
/// A list of more bytes is none.
pub const BYTES_MAX: u64 = 1 << 30;

/// A backup.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    version: u32,
    /// Its identity.
    pub uuid: String,
    /// When it was made, in UTC.
    pub timestamp: String,
    /// The server that made it.
    pub created_by: String,
    /// Where the backup lies that holds the files which this one leaves out, as `BACKUP … SETTINGS base_backup = …` named it.
    pub base_backup: Option<String>,
    /// The identity of that one.
    pub base_backup_uuid: Option<String>,
    /// The databases that are in it whole, each with its comment.
    pub databases: Vec<(String, String)>,
    /// The tables.
    pub tables: Vec<TableEntry>,
}

/// A table of a backup.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TableEntry {
    /// Its database in the backup.
    pub database: String,
    /// Its name in the backup.
    pub table: String,
    /// Its definition, as storage writes it.
    pub record: String,
    /// The files of its parts.
    pub parts: Vec<FileEntry>,
}

/// A part's file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileEntry {
    /// The part's name.
    pub part: String,
    /// Its partition.
    pub partition: String,
    /// The file's name in the backup, or in the base backup.
    pub file: String,
    /// The file's length.
    pub bytes: u64,
    /// SHA-256 of its bytes, in hexadecimal.
    pub checksum: String,
    /// What the catalog knew of it, in base 64.
    pub description: String,
    /// Whether the base backup has it.
    pub in_base: bool,
}

impl Manifest {
    /// An empty backup of this moment.
    pub fn new(created_by: String) -> Self {
        Self {
            version: VERSION,
            uuid: uuid::Uuid::new_v4().to_string(),
            timestamp: chrono::Utc::now().format("%Y-%m-%d %H:%M:%S").to_string(),
            created_by,
            base_backup: None,
            base_backup_uuid: None,
            databases: Vec::new(),
            tables: Vec::new(),
        }
    }

    /// The file.
    pub fn write(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self).unwrap_or_default()
    }

    /// Reads the file.
    ///
    /// # Errors
    /// `BACKUP_VERSION_NOT_SUPPORTED`, `BACKUP_DAMAGED`.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let damaged = |error: serde_json::Error| {
            Error::new(ErrorCode::BACKUP_DAMAGED, format!("The list of the backup's files cannot be read: {error}"))
        };
        let Version { version } = serde_json::from_slice(bytes).map_err(damaged)?;
        if version != VERSION {
            return Err(Error::new(
                ErrorCode::BACKUP_VERSION_NOT_SUPPORTED,
                format!("The backup is of version {version}, and this server reads version {VERSION}"),
            ));
        }
        serde_json::from_slice(bytes).map_err(damaged)
    }

    /// All files of parts.
    pub fn files(&self) -> impl Iterator<Item = &FileEntry> {
        self.tables.iter().flat_map(|table| &table.parts)
    }
}

/// A name as a file's: what is neither a letter, a digit nor `_` is written as `%XX`.
pub fn file_name(name: &str) -> String {
    name.bytes().fold(String::new(), |mut out, byte| {
        use std::fmt::Write;
        if byte.is_ascii_alphanumeric() || byte == b'_' {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back_and_later_ones_are_refused() {
        let mut manifest = Manifest::new("Squall".to_owned());
        manifest.databases.push(("d".to_owned(), "why".to_owned()));
        assert_eq!(Manifest::read(&manifest.write()).unwrap(), manifest);
        manifest.version = 2;
        assert_eq!(Manifest::read(&manifest.write()).unwrap_err().code, ErrorCode::BACKUP_VERSION_NOT_SUPPORTED);
        assert_eq!(Manifest::read(b"{\"version\": 1}").unwrap_err().code, ErrorCode::BACKUP_DAMAGED);
        assert_eq!(Manifest::read(b"garbage").unwrap_err().code, ErrorCode::BACKUP_DAMAGED);
    }

    #[test]
    fn names_are_files() {
        assert_eq!(file_name("a_B9"), "a_B9");
        assert_eq!(file_name("../é"), "%2E%2E%2F%C3%A9");
    }
}
