//! BACKUP and RESTORE: where backups lie, what is in one, how they are written and read, and those that were made since the start.

mod archive;
mod config;
mod location;
mod manifest;
mod reader;
mod registry;
mod writer;

pub use config::BackupsConfig;
pub use location::Location;
pub use manifest::{FileEntry, Manifest, TableEntry};
pub use reader::BackupReader;
pub use registry::{BackupInfo, BackupStatus, Backups};
pub use writer::{TableToWrite, Written, write};
