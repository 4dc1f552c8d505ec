//! `max_table_size_to_drop` and `max_partition_size_to_drop`: what is large goes only where somebody says so twice.

use std::path::PathBuf;

use squall_storage::{PartSelection, Table};
use squall_types::{Error, ErrorCode, Result};

use crate::logger::ReadableSize;
use crate::session::Session;

/// How large a table, or what is taken out of one, may be that a session drops or truncates.
pub(in crate::query) struct DropLimit {
    /// In bytes; 0 is unlimited.
    bytes_max: u64,
    /// The file that allows it once.
    force_flag: PathBuf,
}

impl DropLimit {
    /// For whole tables: the session's own limit, or the server's where it has none.
    pub(in crate::query) fn of_tables(session: &Session) -> Self {
        let of_server = session.server.config.load().server.max_table_size_to_drop;
        Self::new(session, "max_table_size_to_drop", session.settings.max_table_size_to_drop, of_server)
    }

    /// For parts and partitions, also where they are only detached.
    pub(in crate::query) fn of_parts(session: &Session) -> Self {
        let of_server = session.server.config.load().server.max_partition_size_to_drop;
        Self::new(session, "max_partition_size_to_drop", session.settings.max_partition_size_to_drop, of_server)
    }

    fn new(session: &Session, setting: &str, of_session: u64, of_server: u64) -> Self {
        let bytes_max = if session.settings.is_changed(setting) { of_session } else { of_server };
        Self { bytes_max, force_flag: session.server.config.load().path.join("flags/force_drop_table") }
    }

    /// Refuses a table that is too large, unless the file is there; it is used up.
    ///
    /// # Errors
    /// `TABLE_SIZE_EXCEEDS_MAX_DROP_SIZE_LIMIT`.
    pub(in crate::query) fn check(&self, table: &dyn Table) -> Result<()> {
        self.check_parts(table, &PartSelection::All)
    }

    /// The same for some of a table's parts.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub(in crate::query) fn check_parts(&self, table: &dyn Table, of: &PartSelection) -> Result<()> {
        let parts = table.parts();
        let bytes: u64 =
            parts.iter().filter(|part| of.has(&part.name, &part.partition_id)).map(|part| part.bytes_on_disk).sum();
        if self.bytes_max == 0 || bytes <= self.bytes_max || std::fs::remove_file(&self.force_flag).is_ok() {
            return Ok(());
        }
        let (size, limit) = (ReadableSize(bytes as f64), ReadableSize(self.bytes_max as f64));
        Err(Error::new(
            ErrorCode::TABLE_SIZE_EXCEEDS_MAX_DROP_SIZE_LIMIT,
            format!(
                "Table or Partition in {}.{} was not dropped.\nReason:\n1. Size ({size}) is greater than \
                 max_[table/partition]_size_to_drop ({limit})\n2. File '{}' intended to force DROP doesn't exist\nHow to fix \
                 this:\n1. Either increase (or set to zero) max_[table/partition]_size_to_drop in server config\n2. Either \
                 pass a bigger (or set to zero) max_[table/partition]_size_to_drop through query settings\n3. Or create the \
                 forcing file {} and make sure that it can be deleted.\nExample:\nsudo touch '{}' && sudo chmod 666 '{}'",
                table.database(),
                table.name(),
                self.force_flag.display(),
                self.force_flag.display(),
                self.force_flag.display(),
                self.force_flag.display(),
            ),
        ))
    }
}
