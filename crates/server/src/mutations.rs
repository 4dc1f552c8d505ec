//! Mutations: the statements that write parts anew, those that run and those that have lately. A statement that returns is done, so there are
//! none that wait.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use parking_lot::Mutex;
use squall_engine::QueryContext;
use squall_storage::TableName;
use uuid::Uuid;

/// How many that are done are remembered of a table: ClickHouse's `finished_mutations_to_keep`.
const DONE_KEPT: usize = 100;
/// How many of all tables.
const KEPT: usize = 10_000;

/// One mutation.
pub struct Mutation {
    /// The table.
    pub table: TableName,
    /// Its identity.
    pub uuid: Uuid,
    /// `mutation_7.txt`: as ClickHouse names the file that it would be in.
    pub id: String,
    /// Its commands in SQL.
    pub commands: Vec<String>,
    /// When it began.
    pub created: SystemTime,
    /// When it was done, if it is.
    pub finished: OnceLock<SystemTime>,
    /// What it runs as.
    pub context: Arc<QueryContext>,
}

/// The mutations of a server.
#[derive(Default)]
pub struct Mutations {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// In the order in which they began.
    all: Vec<Arc<Mutation>>,
    /// How many a table has had.
    numbers: HashMap<Uuid, u64>,
}

impl Mutations {
    /// A mutation begins; it is forgotten unless it is done when the answer is dropped.
    pub(crate) fn begin(
        &self,
        table: TableName,
        uuid: Uuid,
        commands: Vec<String>,
        context: &Arc<QueryContext>,
    ) -> MutationTurn<'_> {
        let mut state = self.state.lock();
        if state.numbers.len() > KEPT {
            let known: Vec<Uuid> = state.all.iter().map(|mutation| mutation.uuid).collect();
            state.numbers.retain(|uuid, _| known.contains(uuid));
        }
        let number = state.numbers.entry(uuid).or_default();
        *number += 1;
        let mutation = Arc::new(Mutation {
            table,
            uuid,
            id: format!("mutation_{number}.txt"),
            commands,
            created: SystemTime::now(),
            finished: OnceLock::new(),
            context: context.clone(),
        });
        state.all.push(mutation.clone());
        MutationTurn { mutations: self, mutation }
    }

    /// Those that run and those that are remembered.
    pub(crate) fn all(&self) -> Vec<Arc<Mutation>> {
        self.state.lock().all.clone()
    }
}

/// A mutation that runs.
pub(crate) struct MutationTurn<'a> {
    mutations: &'a Mutations,
    mutation: Arc<Mutation>,
}

impl MutationTurn<'_> {
    /// It is done.
    pub(crate) fn finish(self) {
        let _ = self.mutation.finished.set(SystemTime::now());
    }
}

impl Drop for MutationTurn<'_> {
    fn drop(&mut self) {
        let mut state = self.mutations.state.lock();
        if self.mutation.finished.get().is_none() {
            state.all.retain(|other| !Arc::ptr_eq(other, &self.mutation));
            return;
        }
        let is_done = |other: &Arc<Mutation>| other.finished.get().is_some();
        let own = |other: &Arc<Mutation>| other.uuid == self.mutation.uuid && is_done(other);
        if state.all.iter().filter(|other| own(other)).count() > DONE_KEPT
            && let Some(oldest) = state.all.iter().position(own)
        {
            state.all.remove(oldest);
        }
        if state.all.len() > KEPT
            && let Some(oldest) = state.all.iter().position(is_done)
        {
            state.all.remove(oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_fail_are_forgotten_and_old_ones_too() {
        let mutations = Mutations::default();
        let context = QueryContext::new("q".into(), Arc::default());
        let (uuid, table) = (Uuid::from_u128(1), TableName::new("d", "t"));
        let begin = || mutations.begin(table.clone(), uuid, vec!["(DELETE WHERE 1)".to_owned()], &context);
        let first = begin();
        assert_eq!(mutations.all().len(), 1);
        drop(first);
        assert!(mutations.all().is_empty());
        (0..DONE_KEPT + 5).for_each(|_| begin().finish());
        let all = mutations.all();
        assert_eq!(all.len(), DONE_KEPT);
        // Numbers go on.
        assert_eq!(all.last().unwrap().id, format!("mutation_{}.txt", DONE_KEPT + 6));
    }
}
