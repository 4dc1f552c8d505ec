//! The backups and restores since the start of the server, for `system.backups`.

use std::sync::Arc;
use std::time::SystemTime;

use indexmap::IndexMap;
use parking_lot::Mutex;
use squall_types::{Error, ErrorCode, Result};

use super::writer::Written;

/// The most that are remembered; the oldest go first.
const REMEMBERED_MAX: usize = 10_000;

/// How far one is; the numbers are ClickHouse's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum BackupStatus {
    Creating = 0,
    Created = 1,
    BackupFailed = 2,
    Restoring = 3,
    Restored = 4,
    RestoreFailed = 5,
}

impl BackupStatus {
    /// ClickHouse's words, in the order of the numbers.
    pub const NAMES: [&'static str; 6] =
        ["CREATING_BACKUP", "BACKUP_CREATED", "BACKUP_FAILED", "RESTORING", "RESTORED", "RESTORE_FAILED"];

    /// ClickHouse's word.
    pub fn name(self) -> &'static str {
        Self::NAMES.get(self as usize).copied().unwrap_or_default()
    }
}

/// A backup or a restore.
#[derive(Clone, Debug)]
pub struct BackupInfo {
    /// Its id.
    pub id: Arc<str>,
    /// Where it lies.
    pub name: String,
    /// Where the backup lies that it stands on.
    pub base_backup_name: String,
    /// The query that began it.
    pub query_id: Arc<str>,
    /// How far it is.
    pub status: BackupStatus,
    /// Why it failed.
    pub error: String,
    /// When it began.
    pub started: SystemTime,
    /// When it ended.
    pub ended: Option<SystemTime>,
    /// Files and bytes of a backup that was made.
    pub written: Written,
    /// Files that a restore read.
    pub files_read: u64,
    /// Their bytes.
    pub bytes_read: u64,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Backups(Mutex<IndexMap<Arc<str>, BackupInfo>>);

impl Backups {
    /// One begins.
    ///
    /// # Errors
    /// `BACKUP_ALREADY_EXISTS` for an id that one under way has.
    pub fn begin(&self, info: BackupInfo) -> Result<()> {
        let mut all = self.0.lock();
        if all.get(&info.id).is_some_and(|known| known.ended.is_none()) {
            return Err(Error::new(
                ErrorCode::BACKUP_ALREADY_EXISTS,
                format!("A backup or restore with id {} is under way", info.id),
            ));
        }
        if all.len() >= REMEMBERED_MAX
            && let Some(oldest) = all.iter().position(|(_, info)| info.ended.is_some())
        {
            all.shift_remove_index(oldest);
        }
        all.shift_remove(&info.id);
        all.insert(info.id.clone(), info);
        Ok(())
    }

    /// One has ended; `change` tells how.
    pub fn end(&self, id: &str, change: impl FnOnce(&mut BackupInfo)) {
        if let Some(info) = self.0.lock().get_mut(id) {
            info.ended = Some(SystemTime::now());
            change(info);
        }
    }

    /// All, in the order of their beginnings.
    pub fn all(&self) -> Vec<BackupInfo> {
        self.0.lock().values().cloned().collect()
    }
}
