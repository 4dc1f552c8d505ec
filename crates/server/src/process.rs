//! The queries that run now: `system.processes`, admission under the limits on their number, and how one is found and cancelled.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use squall_engine::QueryContext;
use squall_runtime::CurrentMetric;
use squall_runtime::current_metrics::MetricGuard;
use squall_types::{Error, ErrorCode, Result};
use tokio::sync::Notify;

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
    /// The name in `query_kind`.
    pub fn name(self) -> &'static str {
        match self {
            Self::None | Self::Other => "",
            Self::Select => "Select",
            Self::Insert => "Insert",
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
    /// From where and with what.
    pub client: Arc<ClientInfo>,
    /// The current database.
    pub database: Arc<str>,
    /// When it began.
    pub started_at: SystemTime,
}

/// A query that runs.
#[derive(Debug)]
pub struct Process {
    /// What is known from its start.
    pub info: ProcessInfo,
    /// Progress, memory, threads, cancellation.
    pub context: Arc<QueryContext>,
    is_ended: AtomicBool,
    ended: Notify,
}

impl Process {
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

/// The limits on the number of queries; 0 is unlimited.
#[derive(Debug, Default)]
pub struct ProcessLimits {
    /// `max_concurrent_queries`.
    pub queries_max: AtomicUsize,
    /// `max_concurrent_select_queries`.
    pub selects_max: AtomicUsize,
    /// `max_concurrent_insert_queries`.
    pub inserts_max: AtomicUsize,
    /// `max_waiting_queries`.
    pub waiting_max: AtomicUsize,
}

/// All queries that run now.
#[derive(Debug)]
pub struct ProcessList {
    shards: [Mutex<HashMap<Arc<str>, Arc<Process>>>; SHARDS],
    hasher: std::hash::RandomState,
    /// The limits, changeable while running.
    pub limits: ProcessLimits,
    queries: AtomicUsize,
    selects: AtomicUsize,
    inserts: AtomicUsize,
    waiting: AtomicUsize,
    freed: Notify,
    /// Queries that were admitted so far.
    admitted: AtomicU64,
}

impl Default for ProcessList {
    fn default() -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            hasher: std::hash::RandomState::new(),
            limits: ProcessLimits::default(),
            queries: AtomicUsize::new(0),
            selects: AtomicUsize::new(0),
            inserts: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            freed: Notify::new(),
            admitted: AtomicU64::new(0),
        }
    }
}

impl ProcessList {
    /// Admits a query, waiting up to the setting `queue_max_wait_ms` for its turn. KILL and looks at the list itself are always admitted,
    /// so that a full server can be helped.
    ///
    /// # Errors
    /// `TOO_MANY_SIMULTANEOUS_QUERIES`, `QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING`.
    pub async fn admit(
        self: &Arc<Self>,
        info: ProcessInfo,
        context: Arc<QueryContext>,
        always: bool,
    ) -> Result<ProcessHandle> {
        let kind = info.kind;
        if !self.take_slot(kind, always) {
            self.wait_for_slot(kind, context.settings.queue_max_wait_ms).await?;
        }
        // From here on dropping the handle gives the slot back.
        let process = Arc::new(Process { info, context, is_ended: AtomicBool::new(false), ended: Notify::new() });
        let mut handle =
            ProcessHandle { process, list: self.clone(), is_listed: false, _metric: CurrentMetric::Query.hold(1) };
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
            if left.is_zero() || tokio::time::timeout(left, running.wait_for_end()).await.is_err() {
                return refuse(" and can't be stopped");
            }
        }
        handle.is_listed = true;
        self.admitted.fetch_add(1, Ordering::Relaxed);
        Ok(handle)
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
        self.queries.load(Ordering::Relaxed)
    }

    /// Whether none runs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Asks every query to end.
    pub fn cancel_all(&self) {
        for process in self.all() {
            process.cancel();
        }
    }

    fn shard(&self, query_id: &str) -> &Mutex<HashMap<Arc<str>, Arc<Process>>> {
        let at = self.hasher.hash_one(query_id) as usize % SHARDS;
        &self.shards[at]
    }

    /// Lists a process, or returns the one of the same id.
    fn put(&self, process: &Arc<Process>) -> Result<(), Arc<Process>> {
        let mut shard = self.shard(&process.context.query_id).lock();
        match shard.entry(process.context.query_id.clone()) {
            std::collections::hash_map::Entry::Occupied(running) => Err(running.get().clone()),
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(process.clone());
                Ok(())
            }
        }
    }

    fn of_kind(&self, kind: QueryKind) -> Option<(&AtomicUsize, &AtomicUsize)> {
        match kind {
            QueryKind::Select => Some((&self.selects, &self.limits.selects_max)),
            QueryKind::Insert => Some((&self.inserts, &self.limits.inserts_max)),
            _ => None,
        }
    }

    /// Counts a query in where the limits let it.
    fn take_slot(&self, kind: QueryKind, always: bool) -> bool {
        if always {
            self.queries.fetch_add(1, Ordering::AcqRel);
            if let Some((count, _)) = self.of_kind(kind) {
                count.fetch_add(1, Ordering::AcqRel);
            }
            return true;
        }
        if !count_in(&self.queries, &self.limits.queries_max) {
            return false;
        }
        match self.of_kind(kind) {
            Some((count, limit)) if !count_in(count, limit) => {
                self.queries.fetch_sub(1, Ordering::AcqRel);
                false
            }
            _ => true,
        }
    }

    fn give_slot_back(&self, kind: QueryKind) {
        if let Some((count, _)) = self.of_kind(kind) {
            count.fetch_sub(1, Ordering::AcqRel);
        }
        self.queries.fetch_sub(1, Ordering::AcqRel);
        if self.waiting.load(Ordering::Acquire) > 0 {
            self.freed.notify_one();
        }
    }

    async fn wait_for_slot(&self, kind: QueryKind, wait: Duration) -> Result<()> {
        let refuse = || {
            let maximum = match self.of_kind(kind) {
                Some((count, limit)) if is_reached(count, limit) => limit,
                _ => &self.limits.queries_max,
            };
            let message = format!("Too many simultaneous queries. Maximum: {}", maximum.load(Ordering::Relaxed));
            Error::new(ErrorCode::TOO_MANY_SIMULTANEOUS_QUERIES, message)
        };
        if wait.is_zero() {
            return Err(refuse());
        }
        let waiting = Waiting::new(&self.waiting);
        let waiting_max = self.limits.waiting_max.load(Ordering::Relaxed);
        if waiting_max > 0 && self.waiting.load(Ordering::Relaxed) > waiting_max {
            return Err(refuse());
        }
        let until = tokio::time::Instant::now() + wait;
        loop {
            // Registered before the look, so that a slot given back in between is not missed.
            let freed = self.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if self.take_slot(kind, false) {
                drop(waiting);
                return Ok(());
            }
            if tokio::time::timeout_at(until, freed).await.is_err() {
                return Err(refuse());
            }
        }
    }
}

fn count_in(count: &AtomicUsize, limit: &AtomicUsize) -> bool {
    let limit = limit.load(Ordering::Relaxed);
    if limit == 0 {
        count.fetch_add(1, Ordering::AcqRel);
        return true;
    }
    count.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |now| (now < limit).then_some(now + 1)).is_ok()
}

fn is_reached(count: &AtomicUsize, limit: &AtomicUsize) -> bool {
    let limit = limit.load(Ordering::Relaxed);
    limit > 0 && count.load(Ordering::Relaxed) >= limit
}

/// Counts a waiting query while it lives.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Keeps a query in the list; dropping it takes the query out and lets the next one in.
#[derive(Debug)]
pub struct ProcessHandle {
    process: Arc<Process>,
    list: Arc<ProcessList>,
    is_listed: bool,
    _metric: MetricGuard,
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
            self.list.shard(&self.process.context.query_id).lock().remove(&self.process.context.query_id);
        }
        self.list.give_slot_back(self.process.info.kind);
        self.process.is_ended.store(true, Ordering::Release);
        self.process.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use squall_types::Settings;

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
            client: Arc::default(),
            database: "default".into(),
            started_at: SystemTime::now(),
        };
        (info, QueryContext::new(id.into(), Arc::new(settings)))
    }

    async fn admit(list: &Arc<ProcessList>, id: &str, changes: &[(&str, &str)]) -> Result<ProcessHandle> {
        let (info, context) = parts(id, changes);
        list.admit(info, context, false).await
    }

    #[tokio::test]
    async fn the_number_of_queries_is_limited() {
        let list = Arc::new(ProcessList::default());
        list.limits.queries_max.store(1, Ordering::Relaxed);
        let first = admit(&list, "a", &[]).await.unwrap();
        let error = admit(&list, "b", &[]).await.unwrap_err();
        assert_eq!(
            (error.code, &*error.message),
            (ErrorCode::TOO_MANY_SIMULTANEOUS_QUERIES, "Too many simultaneous queries. Maximum: 1")
        );
        let (info, context) = parts("kill", &[]);
        assert!(list.admit(info, context, true).await.is_ok());
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
