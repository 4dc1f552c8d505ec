//! The queries that run now: `system.processes`, and how one is found and cancelled; `admission` lets them in.

mod admission;
mod overload;

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use squall_engine::QueryContext;
use squall_runtime::counted_lock::{CONTEXT_LOCK, lock};
use squall_runtime::current_metrics::MetricGuard;
use squall_runtime::memory::{Candidate, choose_victim};
use squall_runtime::{CurrentMetric, MemoryTracker};
use squall_scheduler::CpuShare;
use squall_scheduler::admission::{AdmissionKind, AdmissionRequest};
use squall_types::{Error, ErrorCode, Result, Settings};
use tokio::sync::Notify;

pub use admission::{AdmissionControl, Place};
pub use overload::OverloadMonitor;

use crate::session::ClientInfo;

/// Parts of the list, each under its own lock.
const SHARDS: usize = 64;
/// How long a query that replaces another waits for that one to end.
const REPLACE_WAIT: Duration = Duration::from_secs(5);

/// What kind of statement a query is, in ClickHouse's words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum QueryKind {
    None,
    Select,
    Insert,
    AsyncInsertFlush,
    Create,
    Drop,
    Rename,
    Alter,
    Optimize,
    Show,
    Describe,
    Exists,
    Explain,
    Use,
    Set,
    System,
    KillQuery,
    Check,
    Other,
}

impl QueryKind {
    /// Whether nothing is changed by it.
    pub fn only_reads(self) -> bool {
        matches!(self, Self::Select | Self::Show | Self::Describe | Self::Exists | Self::Explain | Self::Check)
    }

    /// The name in `query_kind`.
    pub fn name(self) -> &'static str {
        match self {
            Self::None | Self::Other => "",
            Self::Select => "Select",
            Self::Insert => "Insert",
            Self::AsyncInsertFlush => "AsyncInsertFlush",
            Self::Create => "Create",
            Self::Drop => "Drop",
            Self::Rename => "Rename",
            Self::Alter => "Alter",
            Self::Optimize => "Optimize",
            Self::Show => "Show",
            Self::Describe => "Describe",
            Self::Exists => "Exists",
            Self::Explain => "Explain",
            Self::Use => "Use",
            Self::Set => "Set",
            Self::System => "System",
            Self::KillQuery => "KillQuery",
            Self::Check => "Check",
        }
    }
}

/// What is known of a query from its start.
#[derive(Clone, Debug)]
pub struct ProcessInfo {
    /// The text, cut where it is long, without the data of an INSERT.
    pub query: Arc<str>,
    /// The hash of the text with literals replaced.
    pub normalized_query_hash: u64,
    /// The kind of statement.
    pub kind: QueryKind,
    /// Who runs it.
    pub user: Arc<str>,
    /// Who has come in: another, where that one acts in the user's name.
    pub authenticated_user: Arc<str>,
    /// From where and with what.
    pub client: Arc<ClientInfo>,
    /// The current database.
    pub database: Arc<str>,
    /// When it began.
    pub started_at: SystemTime,
    /// Whether the server runs it on its own account.
    pub is_internal: bool,
}

/// A query that runs.
#[derive(Debug)]
pub struct Process {
    /// What is known from its start; the query log keeps it longer than the process.
    pub info: Arc<ProcessInfo>,
    /// Progress, memory, threads, cancellation.
    pub context: Arc<QueryContext>,
    is_ended: AtomicBool,
    ended: Notify,
    /// Whether its start is to go into the query log and is not there yet.
    is_start_unlogged: AtomicBool,
}

impl Process {
    /// The query's start is to go into the query log: at its end, or before, where it runs for long.
    pub fn want_start_logged(&self) {
        self.is_start_unlogged.store(true, Ordering::Relaxed);
    }

    /// Whether the query's start is to be logged now; the one who is told so logs it.
    pub fn take_unlogged_start(&self) -> bool {
        self.is_start_unlogged.load(Ordering::Relaxed) && self.is_start_unlogged.swap(false, Ordering::Relaxed)
    }

    /// Asks the query to end.
    pub fn cancel(&self) {
        self.context.cancel();
    }

    /// Waits until the query has ended.
    pub async fn wait_for_end(&self) {
        let ended = self.ended.notified();
        tokio::pin!(ended);
        // Registered before the look, so that an end in between is not missed.
        ended.as_mut().enable();
        if !self.is_ended.load(Ordering::Acquire) {
            ended.await;
        }
    }
}

/// All queries that run now.
#[derive(Debug)]
pub struct ProcessList {
    shards: [Shard; SHARDS],
    hasher: foldhash::fast::RandomState,
    /// Who of those that ask may run.
    pub admission: Arc<AdmissionControl>,
    /// Whether threads wait for a CPU for too long.
    pub overload: OverloadMonitor,
    running: AtomicUsize,
    /// Somebody waits until a query runs.
    is_awaited: AtomicBool,
    begun: Notify,
    /// By user, as long as the server runs: there are not many.
    user_memory: Mutex<ByName<MemoryTracker>>,
    user_shares: Mutex<ByName<CpuShare>>,
}

type ByName<T> = HashMap<Arc<str>, Arc<T>, foldhash::fast::RandomState>;
type Shard = Mutex<ByName<Process>>;

impl Default for ProcessList {
    fn default() -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            hasher: foldhash::fast::RandomState::default(),
            admission: Arc::default(),
            overload: OverloadMonitor::default(),
            running: AtomicUsize::new(0),
            is_awaited: AtomicBool::new(false),
            begun: Notify::new(),
            user_memory: Mutex::default(),
            user_shares: Mutex::default(),
        }
    }
}

impl ProcessList {
    /// Refuses a query of which no more is known than its kind, where that is enough to know that it would not be [admitted](Self::admit).
    ///
    /// # Errors
    /// `TOO_MANY_SIMULTANEOUS_QUERIES`.
    pub fn foresee(&self, kind: QueryKind, user: &Arc<str>, settings: &Settings, is_operator: bool) -> Result<()> {
        // Nothing is known of others of its form.
        let request = AdmissionRequest { hash_max: 0, ..request(kind, user, 0, settings, is_operator) };
        self.admission.foresee(request)
    }

    /// Admits a query, waiting up to the setting `queue_max_wait_ms` for its turn. KILL and looks at the list itself are always admitted,
    /// so that a full server can be helped.
    ///
    /// # Errors
    /// `TOO_MANY_SIMULTANEOUS_QUERIES`, `QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING`.
    pub async fn admit(
        self: &Arc<Self>,
        info: ProcessInfo,
        context: Arc<QueryContext>,
        is_operator: bool,
        always: bool,
    ) -> Result<ProcessHandle> {
        let place = if always {
            None
        } else {
            let ProcessInfo { kind, user, normalized_query_hash, .. } = &info;
            let request = request(*kind, user, *normalized_query_hash, &context.settings, is_operator);
            Some(self.admission.admit(request).await?)
        };
        // From here on dropping the handle gives the place back.
        self.running.fetch_add(1, Ordering::SeqCst);
        if self.is_awaited.load(Ordering::SeqCst) && self.is_awaited.swap(false, Ordering::SeqCst) {
            self.begun.notify_waiters();
        }
        let process = Arc::new(Process {
            info: Arc::new(info),
            context,
            is_ended: AtomicBool::new(false),
            ended: Notify::new(),
            is_start_unlogged: AtomicBool::new(false),
        });
        let mut handle = ProcessHandle {
            process,
            list: self.clone(),
            is_listed: false,
            _place: place,
            _metrics: [CurrentMetric::Query, CurrentMetric::QueryNonInternal].map(|metric| metric.hold(1)),
        };
        let deadline = Instant::now() + REPLACE_WAIT;
        while let Err(running) = self.put(&handle.process) {
            let query_id = &handle.process.context.query_id;
            let refuse = |why: &str| {
                Err(Error::new(
                    ErrorCode::QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING,
                    format!("Query with id = {query_id} is already running{why}"),
                ))
            };
            if !handle.process.context.settings.replace_running_query {
                return refuse("");
            }
            running.cancel();
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || Box::pin(tokio::time::timeout(left, running.wait_for_end())).await.is_err() {
                return refuse(" and can't be stopped");
            }
        }
        handle.is_listed = true;
        Ok(handle)
    }

    /// The memory that all queries of a user hold, under the limit of the newest of them; 0 is none.
    pub fn user_memory(&self, user: &Arc<str>, limit_bytes: u64) -> Arc<MemoryTracker> {
        let tracker =
            self.user_memory.lock().entry(user.clone()).or_insert_with(|| Arc::new(MemoryTracker::user())).clone();
        tracker.set_limit(limit_bytes);
        tracker
    }

    /// The memory of every user who has run a query, by name.
    pub fn memory_of_users(&self) -> Vec<(Arc<str>, Arc<MemoryTracker>)> {
        let mut users: Vec<_> =
            self.user_memory.lock().iter().map(|(user, memory)| (user.clone(), memory.clone())).collect();
        users.sort_by(|(first, _), (second, _)| first.cmp(second));
        users
    }

    /// What all queries of a user have of the CPU together: `weight`.
    pub fn cpu_share(&self, user: &Arc<str>, weight: f64) -> Arc<CpuShare> {
        let share = self.user_shares.lock().entry(user.clone()).or_insert_with(|| CpuShare::new(weight)).clone();
        share.set_weight(weight);
        share
    }

    /// Where queries wait for memory under a limit that they share, stops the one that has gone farthest beyond what is guaranteed to
    /// it. Nobody is stopped where queries that have ended still hold as much as is too much: they are about to free it.
    pub fn relieve_memory(&self) {
        if CurrentMetric::QueriesWaitingForMemory.get() == 0 {
            return;
        }
        let all = self.all();
        let (mut of_all, mut ending_bytes) = (Vec::new(), 0);
        for (user, tracker) in &*self.user_memory.lock() {
            let of_user: Vec<_> = all.iter().filter(|process| process.info.user == *user).collect();
            let running_bytes: i64 = of_user.iter().map(|process| process.context.memory.bytes()).sum();
            let ending_of_user_bytes = (tracker.bytes() - running_bytes).max(0);
            ending_bytes += ending_of_user_bytes;
            if tracker.excess_bytes() > ending_of_user_bytes {
                stop_for_memory(&of_user, |settings| settings.memory_overcommit_ratio_denominator_for_user);
            }
            of_all.extend(of_user);
        }
        if squall_runtime::memory::SERVER.excess_bytes() > ending_bytes {
            stop_for_memory(&of_all, |settings| settings.memory_overcommit_ratio_denominator);
        }
    }

    /// The query of this id.
    pub fn find(&self, query_id: &str) -> Option<Arc<Process>> {
        self.shard(query_id).lock().get(query_id).cloned()
    }

    /// Every query that runs, the oldest first.
    pub fn all(&self) -> Vec<Arc<Process>> {
        let mut all: Vec<Arc<Process>> =
            self.shards.iter().flat_map(|shard| shard.lock().values().cloned().collect::<Vec<_>>()).collect();
        all.sort_by_key(|process| process.context.started);
        all
    }

    /// The number of queries that run.
    pub fn len(&self) -> usize {
        self.running.load(Ordering::Acquire)
    }

    /// Whether none runs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until a query runs.
    pub async fn busy(&self) {
        let mut begun = pin!(self.begun.notified());
        begun.as_mut().enable();
        self.is_awaited.store(true, Ordering::SeqCst);
        // One that began before has not seen that it is awaited, but is seen here.
        if self.running.load(Ordering::SeqCst) == 0 {
            begun.await;
        }
    }

    /// Asks every query to end.
    pub fn cancel_all(&self) {
        for process in self.all() {
            process.cancel();
        }
    }

    fn shard(&self, query_id: &str) -> &Shard {
        let at = self.hasher.hash_one(query_id) as usize % SHARDS;
        &self.shards[at]
    }

    /// Lists a process, or returns the one of the same id.
    fn put(&self, process: &Arc<Process>) -> Result<(), Arc<Process>> {
        let mut shard = lock(self.shard(&process.context.query_id), &CONTEXT_LOCK);
        match shard.entry(process.context.query_id.clone()) {
            std::collections::hash_map::Entry::Occupied(running) => Err(running.get().clone()),
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(process.clone());
                Ok(())
            }
        }
    }
}

/// Stops one of these queries, the one farthest beyond its guarantee.
fn stop_for_memory(processes: &[&Arc<Process>], guaranteed: impl Fn(&Settings) -> u64) {
    let candidate = |process: &&Arc<Process>| Candidate {
        bytes: process.context.memory.bytes(),
        guaranteed_bytes: i64::try_from(guaranteed(&process.context.settings)).unwrap_or(i64::MAX),
        is_chosen: process.context.is_memory_victim(),
    };
    let candidates: Vec<Candidate> = processes.iter().map(candidate).collect();
    let Some(victim) = choose_victim(&candidates).and_then(|place| processes.get(place)) else { return };
    tracing::warn!(target: "OvercommitTracker", query_id = &*victim.context.query_id,
        "The query of user {} holds {} bytes and is stopped, so that others have memory", victim.info.user, victim.context.memory.bytes());
    victim.context.stop_for_memory();
}

/// What admission must know of a query.
fn request(
    kind: QueryKind,
    user: &Arc<str>,
    normalized_query_hash: u64,
    settings: &Settings,
    is_operator: bool,
) -> AdmissionRequest {
    let limit = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    AdmissionRequest {
        kind: match kind {
            QueryKind::Select => AdmissionKind::Select,
            QueryKind::Insert => AdmissionKind::Insert,
            _ => AdmissionKind::Other,
        },
        user: user.clone(),
        normalized_query_hash,
        priority: settings.priority,
        user_max: limit(settings.max_concurrent_queries_for_user),
        all_users_max: limit(settings.max_concurrent_queries_for_all_users),
        hash_max: limit(settings.max_concurrent_queries_for_normalized_query_hash),
        wait_max: Some(settings.queue_max_wait_ms),
        hash_wait_max: settings.queue_max_wait_ms_for_normalized_query_hash,
        is_operator,
    }
}

/// Keeps a query in the list; dropping it takes the query out and lets the next one in.
#[derive(Debug)]
pub struct ProcessHandle {
    process: Arc<Process>,
    list: Arc<ProcessList>,
    is_listed: bool,
    _place: Option<Place>,
    _metrics: [MetricGuard; 2],
}

impl ProcessHandle {
    /// The query.
    pub fn process(&self) -> &Arc<Process> {
        &self.process
    }
}

impl Drop for ProcessHandle {
    fn drop(&mut self) {
        if self.is_listed {
            let query_id = &self.process.context.query_id;
            lock(self.list.shard(query_id), &CONTEXT_LOCK).remove(query_id);
        }
        self.list.running.fetch_sub(1, Ordering::AcqRel);
        self.process.is_ended.store(true, Ordering::Release);
        self.process.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use squall_scheduler::admission::AdmissionLimits;

    use super::*;

    fn parts(id: &str, changes: &[(&str, &str)]) -> (ProcessInfo, Arc<QueryContext>) {
        let mut settings = Settings::default();
        for (name, value) in changes {
            settings.set(name, value).unwrap();
        }
        let info = ProcessInfo {
            query: "SELECT 1".into(),
            normalized_query_hash: 0,
            kind: QueryKind::Select,
            user: "default".into(),
            authenticated_user: "default".into(),
            client: Arc::default(),
            database: "default".into(),
            started_at: SystemTime::now(),
            is_internal: false,
        };
        (info, QueryContext::new(id.into(), Arc::new(settings)))
    }

    async fn admit(list: &Arc<ProcessList>, id: &str, changes: &[(&str, &str)]) -> Result<ProcessHandle> {
        let (info, context) = parts(id, changes);
        list.admit(info, context, false, false).await
    }

    #[tokio::test]
    async fn the_number_of_queries_is_limited() {
        let list = Arc::new(ProcessList::default());
        list.admission.configure(Some(1), AdmissionLimits::default(), 1);
        let first = admit(&list, "a", &[]).await.unwrap();
        let error = admit(&list, "b", &[]).await.unwrap_err();
        assert_eq!(
            (error.code, &*error.message),
            (ErrorCode::TOO_MANY_SIMULTANEOUS_QUERIES, "Too many simultaneous queries. Maximum: 1")
        );
        let (info, context) = parts("kill", &[]);
        assert!(list.admit(info, context, false, true).await.is_ok());
        let waiting = tokio::spawn({
            let list = list.clone();
            async move { admit(&list, "c", &[("queue_max_wait_ms", "60000")]).await.map(drop) }
        });
        tokio::task::yield_now().await;
        drop(first);
        assert!(waiting.await.unwrap().is_ok());
        assert!(list.is_empty());
    }

    #[tokio::test]
    async fn ids_are_unique_and_replaceable() {
        let list = Arc::new(ProcessList::default());
        let first = admit(&list, "a", &[]).await.unwrap();
        let error = admit(&list, "a", &[]).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING);
        assert!(list.find("a").is_some());
        let replacing = tokio::spawn({
            let list = list.clone();
            async move { admit(&list, "a", &[("replace_running_query", "1")]).await }
        });
        while !first.process().context.is_cancelled() {
            tokio::task::yield_now().await;
        }
        drop(first);
        let second = replacing.await.unwrap().unwrap();
        assert_eq!(list.len(), 1);
        drop(second);
        assert!(list.find("a").is_none() && list.is_empty());
    }
}
