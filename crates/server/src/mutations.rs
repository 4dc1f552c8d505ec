//! Mutations: the statements that write parts anew. Those of tables that keep them are carried out in the background, those of one table in
//! the order in which they were ordered; others run within their statement. What is known of them here is what `system.mutations` shows.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use squall_engine::QueryContext;
use squall_storage::{MutationFence, MutationOrder, StoredMutation};
use squall_types::{Error, Result};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use uuid::Uuid;

/// How many that are done are remembered of a table: ClickHouse's `finished_mutations_to_keep`.
const DONE_KEPT: usize = 100;
/// How many of all tables.
const KEPT: usize = 10_000;
/// After how long one that has failed is tried again: doubled each time.
const RETRY_MIN: Duration = Duration::from_millis(500);
/// At the latest: ClickHouse's `max_postpone_time_for_failed_mutations_ms`.
const RETRY_MAX: Duration = Duration::from_secs(300);
/// After how long one is tried again whose parts somebody else works at.
const BUSY_WAIT: Duration = Duration::from_millis(50);

/// One mutation.
pub struct Mutation {
    /// The identity of its table.
    pub uuid: Uuid,
    /// `mutation_7.txt`: as ClickHouse names the file that it would be in.
    pub id: String,
    /// Its commands in SQL.
    pub commands: Vec<String>,
    /// When it was ordered.
    pub created: SystemTime,
    /// What is kept of it on disk; nothing of one that runs within its statement.
    pub kept: Option<KeptMutation>,
    finished: OnceLock<SystemTime>,
    progress: Mutex<Progress>,
}

/// What the catalog keeps of a mutation.
pub struct KeptMutation {
    /// What it does.
    pub order: MutationOrder,
    /// To which parts.
    pub fence: Arc<MutationFence>,
}

#[derive(Default)]
struct Progress {
    commands_done: usize,
    /// What it runs as, while it does.
    context: Option<Arc<QueryContext>>,
    /// The part that it is at.
    part: Option<Arc<str>>,
    failure: Option<MutationFailure>,
    failures: u32,
    rest: Option<Rest>,
}

/// How long a mutation that could not be carried out is left alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Until(Instant),
    /// Its table is detached.
    UntilTablesChange,
}

/// Why a mutation could not be carried out the last time.
#[derive(Clone)]
pub struct MutationFailure {
    /// The part that it was at.
    pub part: Option<Arc<str>>,
    /// When it failed.
    pub at: SystemTime,
    /// Why.
    pub error: Error,
}

/// How a mutation stands.
pub(crate) enum Standing {
    /// It is done.
    Done,
    /// It is to be carried out.
    Pending,
    /// It, or one before it, has failed, and is tried again.
    Failed(MutationFailure),
    /// It is not there any more.
    Killed,
}

impl Mutation {
    /// When it was done, if it is.
    pub fn finished(&self) -> Option<SystemTime> {
        self.finished.get().copied()
    }

    /// Why it could not be carried out the last time, unless it is done.
    pub fn failure(&self) -> Option<MutationFailure> {
        self.progress.lock().failure.clone().filter(|_| self.finished().is_none())
    }

    /// The part that it is at, while it runs.
    pub fn part(&self) -> Option<Arc<str>> {
        let progress = self.progress.lock();
        progress.part.clone().filter(|_| progress.context.is_some())
    }

    /// How many of its commands are done.
    pub(crate) fn commands_done(&self) -> usize {
        self.progress.lock().commands_done
    }

    /// Notes which part it is at.
    pub(crate) fn note_part(&self, part: Option<Arc<str>>) {
        self.progress.lock().part = part;
    }

    /// One more command is done.
    pub(crate) fn note_step(&self) {
        self.progress.lock().commands_done += 1;
    }

    /// It is done.
    pub(crate) fn finish(&self) {
        let _ = self.finished.set(SystemTime::now());
    }

    /// Runs as another context from now on.
    ///
    /// # Errors
    /// `QUERY_WAS_CANCELLED` where the one before was cancelled.
    pub(crate) fn run_as(&self, context: &Arc<QueryContext>) -> Result<()> {
        let before = self.progress.lock().context.replace(context.clone());
        before.map_or(Ok(()), |before| before.check_cancelled())
    }

    fn cancel(&self) {
        if let Some(context) = &self.progress.lock().context {
            context.cancel();
        }
    }
}

/// The mutations of a server.
#[derive(Default)]
pub struct Mutations {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// In the order in which they were ordered.
    all: Vec<Arc<Mutation>>,
    /// How many a table has had that keeps none.
    numbers: HashMap<Uuid, u64>,
}

impl Mutations {
    /// A mutation begins within its statement; it is forgotten unless it is done when the answer is dropped.
    pub(crate) fn begin(&self, uuid: Uuid, commands: Vec<String>, context: &Arc<QueryContext>) -> MutationTurn<'_> {
        let mut state = self.state.lock();
        if state.numbers.len() > KEPT {
            let known: Vec<Uuid> = state.all.iter().map(|mutation| mutation.uuid).collect();
            state.numbers.retain(|uuid, _| known.contains(uuid));
        }
        // Those that are kept have the numbers of blocks.
        let last = state.all.iter().rev().filter(|known| known.uuid == uuid).find_map(|known| known.kept.as_ref());
        let last = last.map_or(0, |kept| kept.fence.version);
        let number = state.numbers.entry(uuid).or_default();
        *number = last.max(*number) + 1;
        let mutation = Arc::new(Mutation {
            uuid,
            id: file_name(*number),
            commands,
            created: SystemTime::now(),
            kept: None,
            finished: OnceLock::new(),
            progress: Mutex::new(Progress { context: Some(context.clone()), ..Progress::default() }),
        });
        state.all.push(mutation.clone());
        MutationTurn { mutations: self, mutation }
    }

    /// Takes one that the catalog keeps, which is to be carried out unless it is done. `commands` is how it is shown.
    pub(crate) fn add(&self, uuid: Uuid, stored: StoredMutation, commands: Vec<String>) -> Arc<Mutation> {
        let StoredMutation { order, fence, commands_done, created, finished } = stored;
        let mutation = Arc::new(Mutation {
            uuid,
            id: file_name(fence.version),
            commands,
            created: UNIX_EPOCH + Duration::from_secs(created),
            kept: Some(KeptMutation { order, fence }),
            finished: finished
                .map(|at| UNIX_EPOCH + Duration::from_secs(at))
                .map_or_else(OnceLock::new, OnceLock::from),
            progress: Mutex::new(Progress { commands_done, ..Progress::default() }),
        });
        self.state.lock().all.push(mutation.clone());
        self.changed.notify_waiters();
        mutation
    }

    /// Those that are to be done, that run, and that are remembered.
    pub(crate) fn all(&self) -> Vec<Arc<Mutation>> {
        self.state.lock().all.clone()
    }

    /// Those of a table that are kept and not done.
    pub(crate) fn pending(&self, uuid: Uuid) -> Vec<Arc<Mutation>> {
        let is_pending = |mutation: &&Arc<Mutation>| {
            mutation.uuid == uuid && mutation.kept.is_some() && mutation.finished().is_none()
        };
        self.state.lock().all.iter().filter(is_pending).cloned().collect()
    }

    /// The next that may be carried out: the first of a table that is not done, unless it runs or rests. It runs as `context` from now on.
    pub(crate) fn next(
        &self,
        now: Instant,
        context: impl FnOnce(&Mutation) -> Arc<QueryContext>,
    ) -> Option<Arc<Mutation>> {
        let state = self.state.lock();
        for mutation in state.first_of_tables() {
            let mut progress = mutation.progress.lock();
            let rests = match progress.rest {
                None => false,
                Some(Rest::Until(until)) => until > now,
                Some(Rest::UntilTablesChange) => true,
            };
            if progress.context.is_none() && !rests {
                progress.context = Some(context(mutation));
                return Some(mutation.clone());
            }
        }
        None
    }

    /// When the next one may be tried again that rests, unless something happens before.
    pub(crate) fn next_retry(&self) -> Option<Instant> {
        let state = self.state.lock();
        let retry = |mutation: &Arc<Mutation>| {
            let progress = mutation.progress.lock();
            match (&progress.context, progress.rest) {
                (None, Some(Rest::Until(at))) => Some(at),
                _ => None,
            }
        };
        state.first_of_tables().into_iter().filter_map(retry).min()
    }

    /// Those are tried again whose tables were detached.
    pub(crate) fn note_tables_changed(&self) {
        let mut has_found = false;
        for mutation in &self.state.lock().all {
            let mut progress = mutation.progress.lock();
            if progress.rest == Some(Rest::UntilTablesChange) {
                progress.rest = None;
                has_found = true;
            }
        }
        if has_found {
            self.changed.notify_waiters();
        }
    }

    /// One that ran does so no more. Where it has failed, it rests, longer each time; so it does, shortly, where others were in its way.
    pub(crate) fn note_end(&self, mutation: &Mutation, outcome: MutationEnd) {
        {
            let mut progress = mutation.progress.lock();
            progress.context = None;
            match outcome {
                MutationEnd::Done => mutation.finish(),
                MutationEnd::Busy => progress.rest = Some(Rest::Until(Instant::now() + BUSY_WAIT)),
                MutationEnd::Detached => progress.rest = Some(Rest::UntilTablesChange),
                MutationEnd::Failed(error) => {
                    let wait = RETRY_MIN.saturating_mul(1 << progress.failures.min(16)).min(RETRY_MAX);
                    progress.failures += 1;
                    progress.rest = Some(Rest::Until(Instant::now() + wait));
                    let part = progress.part.take();
                    progress.failure = Some(MutationFailure { part, at: SystemTime::now(), error });
                }
            }
        }
        self.state.lock().forget_old(mutation.uuid);
        self.changed.notify_waiters();
    }

    /// Forgets one, which ends where it runs.
    pub(crate) fn forget(&self, mutation: &Arc<Mutation>) {
        self.state.lock().all.retain(|other| !Arc::ptr_eq(other, mutation));
        mutation.cancel();
        self.changed.notify_waiters();
    }

    /// Has those that run end.
    pub(crate) fn cancel_all(&self) {
        self.all().iter().filter(|mutation| mutation.kept.is_some()).for_each(|mutation| mutation.cancel());
    }

    /// How a mutation stands that is kept.
    pub(crate) fn standing(&self, mutation: &Arc<Mutation>) -> Standing {
        if mutation.finished().is_some() {
            return Standing::Done;
        }
        let state = self.state.lock();
        let Some(at) = state.all.iter().position(|other| Arc::ptr_eq(other, mutation)) else { return Standing::Killed };
        let up_to = state.all.iter().take(at + 1).filter(|other| other.uuid == mutation.uuid);
        up_to.filter_map(|other| other.failure()).next().map_or(Standing::Pending, Standing::Failed)
    }

    /// Ends when something has changed since it was called.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }
}

impl State {
    /// Those that are next, each of its table: the first that is kept and not done.
    fn first_of_tables(&self) -> Vec<&Arc<Mutation>> {
        let is_pending = |mutation: &&Arc<Mutation>| mutation.kept.is_some() && mutation.finished().is_none();
        let mut seen = HashSet::new();
        self.all.iter().filter(is_pending).filter(|mutation| seen.insert(mutation.uuid)).collect()
    }

    /// Forgets the oldest ones of a table that are done, where there are many.
    fn forget_old(&mut self, uuid: Uuid) {
        let is_done = |other: &Arc<Mutation>| other.finished().is_some();
        let own = |other: &Arc<Mutation>| other.uuid == uuid && is_done(other);
        if self.all.iter().filter(|other| own(other)).count() > DONE_KEPT
            && let Some(oldest) = self.all.iter().position(own)
        {
            self.all.remove(oldest);
        }
        if self.all.len() > KEPT
            && let Some(oldest) = self.all.iter().position(is_done)
        {
            self.all.remove(oldest);
        }
    }
}

/// How an attempt at a mutation has ended.
pub(crate) enum MutationEnd {
    /// It is done.
    Done,
    /// Others work at its parts.
    Busy,
    /// Its table is detached.
    Detached,
    /// Something is wrong.
    Failed(Error),
}

fn file_name(number: u64) -> String {
    format!("mutation_{number}.txt")
}

/// A mutation that runs within its statement.
pub(crate) struct MutationTurn<'a> {
    mutations: &'a Mutations,
    mutation: Arc<Mutation>,
}

impl MutationTurn<'_> {
    /// It is done.
    pub(crate) fn finish(self) {
        self.mutation.finish();
    }
}

impl Drop for MutationTurn<'_> {
    fn drop(&mut self) {
        let mut state = self.mutations.state.lock();
        if self.mutation.finished().is_none() {
            state.all.retain(|other| !Arc::ptr_eq(other, &self.mutation));
            return;
        }
        self.mutation.progress.lock().context = None;
        state.forget_old(self.mutation.uuid);
    }
}

#[cfg(test)]
mod tests {
    use squall_types::ErrorCode;

    use super::*;

    fn context() -> Arc<QueryContext> {
        QueryContext::new("q".into(), Arc::default())
    }

    fn stored(version: u64) -> StoredMutation {
        let fence = Arc::new(MutationFence { version, excluded: Vec::new() });
        StoredMutation { order: MutationOrder::default(), fence, commands_done: 0, created: 1, finished: None }
    }

    #[test]
    fn those_that_fail_within_their_statement_are_forgotten_and_old_ones_too() {
        let mutations = Mutations::default();
        let context = context();
        let uuid = Uuid::from_u128(1);
        let begin = || mutations.begin(uuid, vec!["(DELETE WHERE 1)".to_owned()], &context);
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

    #[test]
    fn those_of_a_table_follow_each_other_and_wait_for_one_that_fails() {
        let mutations = Mutations::default();
        let [one, other] = [1, 2].map(Uuid::from_u128);
        let first = mutations.add(one, stored(3), Vec::new());
        let second = mutations.add(one, stored(5), Vec::new());
        let elsewhere = mutations.add(other, stored(1), Vec::new());
        let now = Instant::now();
        let next = |now| mutations.next(now, |_| context()).map(|mutation| mutation.id.clone());
        assert_eq!(next(now).unwrap(), first.id);
        assert_eq!(next(now).unwrap(), elsewhere.id);
        assert_eq!(next(now), None);
        let error = Error::new(ErrorCode::BAD_ARGUMENTS, "no");
        mutations.note_end(&first, MutationEnd::Failed(error));
        assert!(matches!(mutations.standing(&second), Standing::Failed(_)));
        assert!(matches!(mutations.standing(&elsewhere), Standing::Pending));
        // It rests, and the second waits for it.
        assert_eq!(next(now), None);
        assert!(mutations.next_retry().is_some_and(|at| at > now));
        assert_eq!(next(now + RETRY_MAX).unwrap(), first.id);
        assert_eq!(mutations.next_retry(), None);
        // One whose table is detached waits for it, not for a time.
        mutations.note_end(&first, MutationEnd::Detached);
        assert_eq!((next(now + RETRY_MAX), mutations.next_retry()), (None, None));
        mutations.note_tables_changed();
        assert_eq!(next(now).unwrap(), first.id);
        mutations.forget(&first);
        assert!(matches!(mutations.standing(&first), Standing::Killed));
        assert_eq!(next(now).unwrap(), second.id);
        mutations.note_end(&second, MutationEnd::Done);
        assert!(matches!(mutations.standing(&second), Standing::Done));
        assert!(mutations.pending(one).is_empty());
    }
}
