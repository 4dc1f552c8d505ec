//! `system.mutations`.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::UNIX_EPOCH;

use squall_storage::{PartInfo, Table, TableName, TableWhereabouts};
use squall_types::{Result, Value};

use super::table::SystemTable;
use super::upgrade;
use super::value::{date_time, flag, map, signed, text, texts};
use super::viewer::Viewer;
use crate::mutations::{Mutation, MutationFailure};
use crate::server::Server;

/// One command of a mutation.
struct Command {
    mutation: Arc<Mutation>,
    at: usize,
    table: Arc<TableName>,
    /// Parts that are still to be mutated.
    parts_to_do: Arc<[Arc<str>]>,
}

impl Command {
    fn failure(&self) -> Option<MutationFailure> {
        self.mutation.failure()
    }
}

pub(super) fn mutations(server: &Weak<Server>, viewer: Viewer) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        let server = upgrade(&server)?;
        let (mut rows, mut names) = (Vec::new(), HashMap::new());
        for mutation in server.mutations.all() {
            // Those of a table that is gone go with it.
            let place = names.entry(mutation.uuid).or_insert_with(|| server.databases.whereabouts(mutation.uuid));
            let TableWhereabouts::Here(table) = place else { continue };
            if viewer.sees_table(&table.database, &table.table) {
                let parts_to_do: Arc<[Arc<str>]> = parts_to_do(&server, table, &mutation)?.into();
                let command = |at| {
                    let (mutation, table, parts_to_do) = (mutation.clone(), table.clone(), parts_to_do.clone());
                    Command { mutation, at, table, parts_to_do }
                };
                rows.extend((0..mutation.commands.len()).map(command));
            }
        }
        Ok(rows)
    };
    let names = |names: &[Arc<str>]| texts(names.iter().map(|name| &**name));
    let table = SystemTable::new("mutations", gather)
        .column("database", "String", |row: &Command| text(&row.table.database))
        .column("table", "String", |row| text(&row.table.table))
        .column("mutation_id", "String", |row| text(&row.mutation.id))
        .column("command", "String", |row| text(row.mutation.commands.get(row.at).map_or("", |command| command)))
        .column("create_time", "DateTime", |row| date_time(row.mutation.created))
        .column("finish_time", "DateTime", |row| date_time(row.mutation.finished().unwrap_or(UNIX_EPOCH)))
        .column("block_numbers.partition_id", "Array(String)", |row| texts(row.mutation.kept.iter().map(|_| "")))
        .column("block_numbers.number", "Array(Int64)", |row| {
            let number = row.mutation.kept.iter().map(|kept| signed(kept.fence.version as i64));
            Value::Array(number.collect())
        })
        .column("parts_in_progress_names", "Array(String)", move |row| names(row.mutation.part().as_slice()))
        .column("parts_to_do_names", "Array(String)", move |row| names(&row.parts_to_do))
        .column("parts_to_do", "Int64", |row| signed(row.parts_to_do.len() as i64))
        .constant("parts_postpone_reasons", "Map(String, String)", map([]))
        .column("is_done", "UInt8", |row| flag(row.mutation.finished().is_some()))
        .column("is_killed", "UInt8", |_| flag(false))
        .column("latest_failed_part", "String", |row| {
            text(row.failure().and_then(|failure| failure.part).as_deref().unwrap_or_default())
        })
        .column("latest_fail_time", "DateTime", |row| date_time(row.failure().map_or(UNIX_EPOCH, |failure| failure.at)))
        .column("latest_fail_reason", "String", |row| {
            text(row.failure().map(|failure| failure.error.to_string()).unwrap_or_default())
        })
        .column("latest_fail_error_code_name", "String", |row| {
            text(row.failure().map_or("", |failure| failure.error.code.name()))
        });
    Arc::new(table)
}

/// The parts that a mutation is still to be carried out on.
fn parts_to_do(server: &Server, table: &TableName, mutation: &Mutation) -> Result<Vec<Arc<str>>> {
    let Some(kept) = mutation.kept.as_ref().filter(|_| mutation.finished().is_none()) else { return Ok(Vec::new()) };
    let is_meant = |part: &PartInfo| {
        let ids = kept.order.partitions.as_ref();
        ids.is_none_or(|ids| ids.iter().any(|id| **id == *part.partition_id)) && kept.fence.covers(&part.name)
    };
    let parts = server.databases.table(&table.database, &table.table)?.parts();
    Ok(parts.into_iter().filter(is_meant).map(|part| part.name).collect())
}
