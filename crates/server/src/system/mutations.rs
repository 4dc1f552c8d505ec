//! `system.mutations`.

use std::sync::{Arc, Weak};
use std::time::UNIX_EPOCH;

use squall_storage::Table;

use super::table::SystemTable;
use super::upgrade;
use super::value::{date_time, flag, map, no_items, signed, text};
use super::viewer::Viewer;
use crate::mutations::Mutation;
use crate::server::Server;

/// One command of a mutation.
struct Command {
    mutation: Arc<Mutation>,
    at: usize,
}

pub(super) fn mutations(server: &Weak<Server>, viewer: Viewer) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        let server = upgrade(&server)?;
        let mut rows = Vec::new();
        for mutation in server.mutations.all() {
            let (database, table) = (&mutation.table.database, &mutation.table.table);
            // Those of a table that is gone go with it.
            let is_there = server.databases.describe(database, table).is_ok_and(|found| found.uuid == mutation.uuid);
            if is_there && viewer.sees_table(database, table) {
                rows.extend((0..mutation.commands.len()).map(|at| Command { mutation: mutation.clone(), at }));
            }
        }
        Ok(rows)
    };
    let table = SystemTable::new("mutations", gather)
        .column("database", "String", |row: &Command| text(&row.mutation.table.database))
        .column("table", "String", |row| text(&row.mutation.table.table))
        .column("mutation_id", "String", |row| text(&row.mutation.id))
        .column("command", "String", |row| text(row.mutation.commands.get(row.at).map_or("", |command| command)))
        .column("create_time", "DateTime", |row| date_time(row.mutation.created))
        .column("finish_time", "DateTime", |row| date_time(row.mutation.finished.get().copied().unwrap_or(UNIX_EPOCH)))
        .constant("block_numbers.partition_id", "Array(String)", no_items())
        .constant("block_numbers.number", "Array(Int64)", no_items())
        .constant("parts_in_progress_names", "Array(String)", no_items())
        .constant("parts_to_do_names", "Array(String)", no_items())
        .column("parts_to_do", "Int64", |row| signed(i64::from(row.mutation.finished.get().is_none())))
        .constant("parts_postpone_reasons", "Map(String, String)", map([]))
        .column("is_done", "UInt8", |row| flag(row.mutation.finished.get().is_some()))
        .column("is_killed", "UInt8", |_| flag(false))
        .constant("latest_failed_part", "String", text(""))
        .constant("latest_fail_time", "DateTime", date_time(UNIX_EPOCH))
        .constant("latest_fail_reason", "String", text(""))
        .constant("latest_fail_error_code_name", "String", text(""));
    Arc::new(table)
}
