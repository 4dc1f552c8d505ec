//! `system.backups`.

use std::sync::{Arc, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use squall_storage::Table;
use squall_types::Value;

use super::table::SystemTable;
use super::upgrade;
use super::value::{number, text};
use crate::backup::{BackupInfo, BackupStatus};
use crate::server::Server;

pub(super) fn backups(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let names = BackupStatus::NAMES.iter().enumerate().map(|(at, name)| format!("'{name}' = {at}"));
    let status = format!("Enum8({})", names.collect::<Vec<_>>().join(", "));
    let time = |time: Option<SystemTime>| {
        let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Value::Int64(since.map_or(0, |since| since.as_micros() as i64))
    };
    let table = SystemTable::new("backups", move || Ok(upgrade(&server)?.backups.all()))
        .column("id", "String", |row: &BackupInfo| text(&row.id))
        .column("name", "String", |row| text(&row.name))
        .column("base_backup_name", "String", |row| text(&row.base_backup_name))
        .column("query_id", "String", |row| text(&row.query_id))
        .column("status", &status, |row| Value::Int64(row.status as i64))
        .column("error", "String", |row| text(&row.error))
        .column("start_time", "DateTime64(6)", move |row| time(Some(row.started)))
        .column("end_time", "DateTime64(6)", move |row| time(row.ended))
        .column("num_files", "UInt64", |row| number(row.written.files))
        .column("total_size", "UInt64", |row| number(row.written.bytes))
        .column("num_entries", "UInt64", |row| number(row.written.new_files))
        .column("uncompressed_size", "UInt64", |row| number(row.written.new_bytes))
        .column("compressed_size", "UInt64", |row| number(row.written.new_bytes))
        .column("files_read", "UInt64", |row| number(row.files_read))
        .column("bytes_read", "UInt64", |row| number(row.bytes_read));
    Arc::new(table)
}
