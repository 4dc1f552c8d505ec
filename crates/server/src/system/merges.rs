//! `system.merges`.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use squall_storage::Table;
use squall_types::Value;

use super::table::SystemTable;
use super::upgrade;
use super::value::{flag, no_items, number, text, texts};
use super::viewer::Viewer;
use crate::merges::RunningMerge;
use crate::server::Server;

pub(super) fn merges(server: &Weak<Server>, viewer: Viewer) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        let mut running = upgrade(&server)?.merges.running();
        running.retain(|merge| viewer.sees_table(&merge.table.database, &merge.table.table));
        Ok(running)
    };
    let progress = |merge: &RunningMerge| {
        let read = merge.progress.rows_read.load(Ordering::Relaxed);
        (read as f64 / merge.rows.max(1) as f64).min(1.0)
    };
    let table = SystemTable::new("merges", gather)
        .column("database", "String", |row: &Arc<RunningMerge>| text(&row.table.database))
        .column("table", "String", |row| text(&row.table.table))
        .column("elapsed", "Float64", |row| Value::Float64(row.began.elapsed().as_secs_f64()))
        .column("progress", "Float64", move |row| Value::Float64(progress(row)))
        .column("num_parts", "UInt64", |row| number(row.parts.len()))
        .column("source_part_names", "Array(String)", |row| texts(&row.parts))
        .column("source_part_paths", "Array(String)", |row| {
            texts(row.part_paths.iter().map(|path| path.to_string_lossy()))
        })
        .column("result_part_name", "String", |row| text(&row.result))
        .column("result_part_path", "String", |row| text(row.result_path.to_string_lossy()))
        .column("partition_id", "String", |row| text(&row.partition_id))
        .column("partition", "String", |row| match &*row.partition_id {
            "all" => text("tuple()"),
            id => text(id),
        })
        .constant("is_mutation", "UInt8", flag(false))
        .column("total_size_bytes_compressed", "UInt64", |row| number(row.bytes))
        .column("total_size_bytes_uncompressed", "UInt64", |row| number(row.value_bytes))
        .column("bytes_read_uncompressed", "UInt64", |row| number(row.progress.bytes_read.load(Ordering::Relaxed)))
        .column("rows_read", "UInt64", |row| number(row.progress.rows_read.load(Ordering::Relaxed)))
        .column("rows_written", "UInt64", |row| number(row.progress.rows_written.load(Ordering::Relaxed)))
        .column("bytes_written_uncompressed", "UInt64", |row| number(row.progress.bytes_made.load(Ordering::Relaxed)))
        .constant("columns_written", "UInt64", number(0_u64))
        .column("memory_usage", "UInt64", |row| number(row.context.memory.bytes().max(0)))
        .constant("thread_id", "UInt64", number(0_u64))
        .column("merge_type", "String", |row| text(row.merge_type.name()))
        .constant("merge_algorithm", "String", text("Horizontal"))
        .constant("projections_completed", "Array(String)", no_items())
        .constant("projections_remaining", "Array(String)", no_items());
    Arc::new(table)
}
