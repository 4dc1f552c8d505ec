//! The driver of the policies that bind threads to queries: each query has threads of its own from the thread pool, as many as the
//! account of slots grants when it begins, and one more for each slot that becomes its while it runs. What is granted to whom is
//! `policy::slots`' decision.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{Condvar, Mutex};
use squall_runtime::{CurrentMetric, LocalThreadPool, ProfileEvent, ThreadPool, ThreadPoolLimits};

use crate::policy::PolicyKind;
use crate::policy::slots::{Grant, QueryNumber, SlotPolicy, Slots, Start};
use crate::scheduler::TaskState;
use crate::task::{MORSEL_TARGET, Step, Task, TaskOptions};

/// The account of slots, and the queries whose threads hold them.
pub(crate) struct QueryThreads {
    account: Mutex<Account>,
    pool: ThreadPool,
}

struct Account {
    slots: Slots,
    queries: HashMap<QueryNumber, Weak<Query>>,
}

impl QueryThreads {
    pub(crate) fn new(policy: Box<dyn SlotPolicy>, limit: Option<usize>, pool: ThreadPool) -> Arc<Self> {
        let account = Account { slots: Slots::new(policy, limit), queries: HashMap::new() };
        Arc::new(Self { account: Mutex::new(account), pool })
    }

    /// Takes slots for a query. It runs from the first [`Query::wake`] on.
    pub(crate) fn add(self: &Arc<Self>, task: Arc<dyn Task>, options: TaskOptions) -> Arc<Query> {
        let threads = options.workers_recommended.min(options.workers_max).max(1);
        let limits = ThreadPoolLimits { threads_max: threads, free_threads_max: 0, jobs_max: 0 };
        let mut pool = LocalThreadPool::new(&self.pool, limits);
        if let Some(owner) = task.owner() {
            pool = pool.for_query(owner);
        }
        let mut account = self.account.lock();
        let is_counted = options.use_concurrency_control;
        let start = account.slots.start(threads, is_counted);
        let query = Arc::new(Query {
            all: self.clone(),
            start,
            options,
            pool,
            task: Mutex::new(Some(task.clone())),
            is_released: AtomicBool::new(false),
            state: Mutex::new(QueryState { to_start: start.threads(), ..QueryState::default() }),
            woken: Condvar::new(),
        });
        account.queries.insert(start.query, Arc::downgrade(&query));
        drop(account);
        let given = start.guaranteed + if is_counted { 0 } else { start.non_competing };
        task.count(ProfileEvent::ConcurrencyControlSlotsGranted, given as u64);
        task.count(ProfileEvent::ConcurrencyControlSlotsDelayed, start.delayed as u64);
        task.count(ProfileEvent::ConcurrencyControlQueriesDelayed, u64::from(start.delayed > 0));
        query
    }

    /// Other rules from now on, for those who wait too. A policy that binds no threads leaves the rules as they are.
    pub(crate) fn configure(&self, policy: Option<Box<dyn SlotPolicy>>, limit: Option<usize>) {
        self.decide(|slots| {
            if let Some(policy) = policy {
                slots.set_policy(policy);
            }
            slots.set_limit(limit)
        });
    }

    /// Slots that queries hold now.
    pub(crate) fn held(&self) -> usize {
        self.account.lock().slots.held()
    }

    /// The queries that are there now, as `policy` treats them.
    pub(crate) fn snapshot(&self, policy: PolicyKind) -> Vec<TaskState> {
        // Collected before any is dropped: the last holder of a query comes back for the lock.
        let account = self.account.lock();
        let queries: Vec<_> = account
            .queries
            .iter()
            .filter_map(|(number, query)| {
                Some((query.upgrade()?, account.slots.held_by(*number), account.slots.wanted_by(*number)))
            })
            .collect();
        drop(account);
        queries
            .into_iter()
            .filter_map(|(query, slots, slots_wanted)| query.snapshot(policy, slots, slots_wanted))
            .collect()
    }

    /// Something happens to the account; queries that are granted a slot for it begin one more thread each.
    fn decide(&self, event: impl FnOnce(&mut Slots) -> Vec<Grant>) {
        let mut account = self.account.lock();
        let grants = event(&mut account.slots);
        // Collected before anything is started or dropped: both may come back for the lock.
        let queries: Vec<Arc<Query>> =
            grants.iter().filter_map(|Grant(query)| account.queries.get(query)?.upgrade()).collect();
        drop(account);
        queries.iter().for_each(Query::grow);
    }
}

/// A query with threads of its own: they run it to the end and nothing else.
pub(crate) struct Query {
    all: Arc<QueryThreads>,
    start: Start,
    options: TaskOptions,
    pool: LocalThreadPool,
    task: Mutex<Option<Arc<dyn Task>>>,
    is_released: AtomicBool,
    state: Mutex<QueryState>,
    woken: Condvar,
}

#[derive(Default)]
struct QueryState {
    is_started: bool,
    is_finished: bool,
    wake_ups: u64,
    /// Threads that were granted before the first wake-up.
    to_start: usize,
    /// Threads that were begun.
    threads: usize,
}

impl Query {
    /// Threads that the query began with.
    pub(crate) fn threads_at_start(&self) -> usize {
        self.start.threads()
    }

    fn snapshot(&self, policy: PolicyKind, slots: usize, slots_wanted: usize) -> Option<TaskState> {
        let query_id = self.task.lock().as_ref()?.query_id();
        let state = self.state.lock();
        Some(TaskState {
            query_id,
            policy,
            is_runnable: state.is_started && !state.is_finished,
            workers: state.threads,
            workers_max: self.options.workers_max,
            slots,
            slots_wanted,
            weight: self.options.weight.value(),
            pass_us: 0,
            cpu_ns: 0,
            waiting_ns: 0,
            waited_ns: 0,
        })
    }

    /// The query is over: what it holds is free for others, and how long its threads were busy is counted.
    pub(crate) fn release(&self) {
        if !self.is_released.swap(true, Ordering::Relaxed) {
            self.pool.count_busy();
            let number = self.start.query;
            self.all.account.lock().queries.remove(&number);
            self.all.decide(|slots| slots.end(number));
        }
    }

    pub(crate) fn wake(self: &Arc<Self>) {
        let mut state = self.state.lock();
        state.wake_ups += 1;
        state.is_started = true;
        let to_start = std::mem::take(&mut state.to_start);
        drop(state);
        self.woken.notify_all();
        for _ in 0..to_start {
            if !self.start_thread() {
                break;
            }
        }
    }

    /// One more slot is the query's.
    fn grow(self: &Arc<Self>) {
        let mut state = self.state.lock();
        if !state.is_started {
            state.to_start += 1;
            return;
        }
        let is_finished = state.is_finished;
        drop(state);
        if !is_finished {
            self.count(ProfileEvent::ConcurrencyControlUpscales, 1);
            self.start_thread();
        }
    }

    /// Begins a thread; false where the pool gives none.
    fn start_thread(self: &Arc<Self>) -> bool {
        let mut state = self.state.lock();
        let at = state.threads;
        state.threads += 1;
        drop(state);
        let (event, metric) = if at < self.start.non_competing {
            let event = ProfileEvent::ConcurrencyControlSlotsAcquiredNonCompeting;
            (event, CurrentMetric::ConcurrencyControlAcquiredNonCompeting)
        } else {
            (ProfileEvent::ConcurrencyControlSlotsAcquired, CurrentMetric::ConcurrencyControlAcquired)
        };
        self.count(event, 1);
        let this = self.clone();
        let run = move || {
            let _slot = metric.hold(1);
            this.run();
        };
        let Err(error) = self.pool.schedule(run) else { return true };
        tracing::warn!("a query runs with {at} threads, fewer than it was granted: {error}");
        // One thread suffices to run a query.
        if at == 0 {
            self.state.lock().is_finished = true;
            let task = self.task.lock().take();
            if let Some(task) = task {
                task.refuse(&error);
            }
        }
        false
    }

    fn count(&self, event: ProfileEvent, amount: u64) {
        if let Some(task) = &*self.task.lock() {
            task.count(event, amount);
        }
    }

    fn run(&self) {
        loop {
            let before = {
                let state = self.state.lock();
                if state.is_finished {
                    break;
                }
                state.wake_ups
            };
            let Some(task) = self.task.lock().clone() else { break };
            let active = CurrentMetric::SchedulerWorkersActive.hold(1);
            let step = task.run(MORSEL_TARGET);
            drop(active);
            match step {
                Step::Worked => {}
                Step::Idle => {
                    drop(task);
                    let mut state = self.state.lock();
                    while state.wake_ups == before && !state.is_finished {
                        self.woken.wait(&mut state);
                    }
                }
                Step::Finished => {
                    self.state.lock().is_finished = true;
                    *self.task.lock() = None;
                    self.woken.notify_all();
                }
            }
        }
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        self.release();
    }
}
