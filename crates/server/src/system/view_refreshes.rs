//! `system.view_refreshes`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use squall_engine::Progress;
use squall_storage::Table;
use squall_types::Value;

use super::table::SystemTable;
use super::upgrade;
use super::value::{text, uuid};
use super::viewer::Viewer;
use crate::refresh::{ShownView, now_ms};
use crate::server::Server;

pub(super) fn view_refreshes(server: &Weak<Server>, viewer: Viewer) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        let server = upgrade(&server)?;
        server.refreshes.follow(&server.databases, now_ms())?;
        let mut views = server.refreshes.shown(now_ms());
        views.retain(|view| viewer.sees_table(&view.name.database, &view.name.table));
        Ok(views)
    };
    let optional = |number: Option<i64>| number.map_or(Value::Null, |number| Value::UInt64(number.max(0) as u64));
    let counted = |row: &ShownView, of: fn(&Progress) -> &AtomicU64| {
        Value::UInt64(row.context.as_ref().map_or(0, |context| of(&context.progress).load(Ordering::Relaxed)))
    };
    let table = SystemTable::new("view_refreshes", gather)
        .column("database", "String", |row: &ShownView| text(&row.name.database))
        .column("view", "String", |row| text(&row.name.table))
        .column("uuid", "UUID", |row| uuid(row.uuid))
        .column("status", "String", |row| text(row.status))
        .column("last_success_time", "Nullable(DateTime)", move |row| optional(row.succeeded))
        .column("last_success_duration_ms", "Nullable(UInt64)", move |row| optional(row.duration_ms))
        .column("last_refresh_time", "Nullable(DateTime)", move |row| optional(row.attempted))
        .constant("last_refresh_replica", "String", text(""))
        .column("next_refresh_time", "Nullable(DateTime)", move |row| optional(row.next))
        .column("exception", "String", |row| text(row.failure.as_ref().map(ToString::to_string).unwrap_or_default()))
        .column("retry", "UInt64", |row| Value::UInt64(row.failures.max(0) as u64))
        .column("progress", "Nullable(Float64)", |row| {
            let Some(context) = &row.context else { return Value::Float64(0.0) };
            let [read, total] = [&context.progress.read_rows, &context.progress.total_rows_to_read]
                .map(|count| count.load(Ordering::Relaxed) as f64);
            Value::Float64(if total > 0.0 { (read / total).min(1.0) } else { 0.0 })
        })
        .column("read_rows", "Nullable(UInt64)", move |row| counted(row, |progress| &progress.read_rows))
        .column("read_bytes", "Nullable(UInt64)", move |row| counted(row, |progress| &progress.read_bytes))
        .column("total_rows", "Nullable(UInt64)", move |row| counted(row, |progress| &progress.total_rows_to_read))
        .column("written_rows", "Nullable(UInt64)", move |row| counted(row, |progress| &progress.written_rows))
        .column("written_bytes", "Nullable(UInt64)", move |row| counted(row, |progress| &progress.written_bytes));
    Arc::new(table)
}
