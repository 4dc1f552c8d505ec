//! Mutations that are kept: ordered, looked up, and killed. Who carries them out is the server.

use std::sync::Arc;

use squall_types::{Error, Result};
use uuid::Uuid;

use super::Databases;
use super::entry::{Database, Engine, Entry, find};
use crate::identity::TableName;
use crate::merge_tree::MergeTree;
use crate::mutation::{MutationOrder, MutationStep, StoredMutation};

/// Where a table that was known by its number is now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TableWhereabouts {
    /// Under a name.
    Here(Arc<TableName>),
    /// Detached: it may come back.
    Detached,
    /// Nowhere.
    Gone,
}

impl Databases {
    /// Orders a mutation of a table: on return it is kept. `None` for tables whose mutations are not kept, as their rows are not in parts or not
    /// on disk.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`, and where the catalog cannot be written.
    pub fn order_mutation(
        &self,
        database: &str,
        table: &str,
        order: MutationOrder,
        now: u64,
    ) -> Result<Option<StoredMutation>> {
        let entry = find(&self.state.load(), database, table)?.clone();
        let Some(live) = kept(&entry) else { return Ok(None) };
        live.order_mutation(order, now).map(Some)
    }

    /// Forgets a mutation that is not done, so that it is carried out no further. `false` where there is none.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`, and where the catalog cannot be written.
    pub fn kill_mutation(&self, database: &str, table: &str, version: u64) -> Result<bool> {
        let entry = find(&self.state.load(), database, table)?.clone();
        kept(&entry).map_or(Ok(false), |live| live.kill_mutation(version))
    }

    /// Records a step of a mutation that has written nothing.
    ///
    /// # Errors
    /// `QUERY_WAS_CANCELLED` where the mutation was killed, and where the catalog cannot be written.
    pub fn note_mutation_step(&self, database: &str, table: &str, step: MutationStep) -> Result<()> {
        let entry = find(&self.state.load(), database, table)?.clone();
        let live = kept(&entry).ok_or_else(|| Error::logical("a mutation of a table without parts"))?;
        live.note_mutation_step(step)
    }

    /// All mutations that are kept, with the numbers of their tables.
    ///
    /// # Errors
    /// Where the catalog cannot be read.
    pub fn mutations(&self) -> Result<Vec<(Uuid, StoredMutation)>> {
        let Some(store) = &self.store else { return Ok(Vec::new()) };
        let mut by_table = store.catalog.mutations()?;
        let state = self.state.load();
        let of_database = |database: &Arc<Database>| {
            let detached = database.detached.values().map(|(entry, _)| entry.clone());
            database.tables.values().cloned().chain(detached).collect::<Vec<_>>()
        };
        let entries = state.values().flat_map(of_database);
        let with_mutations = entries.filter_map(|entry| Some((entry.uuid(), by_table.remove(&entry.id()?)?)));
        Ok(with_mutations.flat_map(|(uuid, all)| all.into_iter().map(move |mutation| (uuid, mutation))).collect())
    }

    /// Where the table of a number is.
    pub fn whereabouts(&self, uuid: Uuid) -> TableWhereabouts {
        let in_state = || self.state.load().values().find_map(|database| whereabouts_in(database, uuid));
        let in_detached = || {
            let detached = self.detached.lock();
            let found = detached.values().any(|database| whereabouts_in(database, uuid).is_some());
            found.then_some(TableWhereabouts::Detached)
        };
        // A database that is attached meanwhile is in both places, then in the first.
        in_state().or_else(in_detached).or_else(in_state).unwrap_or(TableWhereabouts::Gone)
    }
}

fn whereabouts_in(database: &Database, uuid: Uuid) -> Option<TableWhereabouts> {
    if let Some(entry) = database.tables.values().find(|entry| entry.uuid() == uuid) {
        return Some(TableWhereabouts::Here(entry.name.clone()));
    }
    database.detached.values().any(|(entry, _)| entry.uuid() == uuid).then_some(TableWhereabouts::Detached)
}

/// The parts of a table whose mutations are kept.
fn kept(entry: &Entry) -> Option<&Arc<MergeTree>> {
    match &entry.engine {
        Engine::MergeTree(live) if live.identity().definition.engine.ends_with("MergeTree") => Some(live),
        _ => None,
    }
}
