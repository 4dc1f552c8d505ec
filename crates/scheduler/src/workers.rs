//! The driver of `stride`: as many threads as there are CPUs share all tasks, morsel by morsel. A worker that stays with its task
//! takes no lock between two morsels; one that must choose anew asks the policy under the lock; one for which there is nothing
//! parks, and is woken by who brings work.
//!
//! A step is not interrupted, and some take long: a page fault alone may take 5 ms. So there are as many workers for short tasks only.
//! One of them runs for each worker that is at a long task when a short one comes. The kernel prefers it, so it takes the CPU from
//! that worker at once.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use squall_runtime::histogram::SCHEDULER_QUEUE_WAIT;
use squall_runtime::{CurrentMetric, ProfileEvent, profile_events};

use crate::policy::stride::{Lease, Stride, TaskId, TaskSnapshot, WorkerKind};
use crate::steps::{Noted, Outcome, Ring};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Clock, Mutex, MutexGuard, Thread, current, park, park_timeout, thread_cpu_ns};
use crate::task::{MORSEL_TARGET, Step, Task};
use crate::weight::Weight;

/// After so long without work, a worker looks at tasks that nobody has called for: cancellation and time limits of queries that wait
/// for a slow client are noticed by it.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Tasks whose queries' ids are kept when they are over, for those who look at steps.
const NAMES_KEPT: usize = 8_192;

/// What the workers share.
pub(crate) struct Workers {
    state: Mutex<State>,
    is_stopping: AtomicBool,
    clock: Clock,
    /// What each worker did lately.
    rings: Box<[Ring]>,
    /// The queries' ids of the tasks that came last, by the numbers of the tasks. Behind a lock of its own, which no worker takes.
    names: Mutex<VecDeque<(u64, Arc<str>)>>,
}

/// A step of a worker, for `system.scheduler_steps`.
#[derive(Clone, Debug)]
pub struct WorkerStep {
    /// The worker's number.
    pub worker: usize,
    /// The step's number among those of the worker.
    pub number: u64,
    /// The id of its query; empty where the query is over for long.
    pub query_id: Arc<str>,
    /// When it began.
    pub began: SystemTime,
    /// How long it took.
    pub took: Duration,
    /// How much of that was CPU time.
    pub cpu: Duration,
    /// For how long the query had been runnable without any worker before.
    pub waited: Duration,
    /// The query's pass after it.
    pub pass_us: u64,
    /// What came of it.
    pub outcome: Outcome,
}

/// A task as the workers have it.
struct Entry {
    task: Arc<dyn Task>,
    /// Its number among all that ever were; that of the policy is used again.
    serial: u64,
}

#[derive(Default)]
struct State {
    stride: Stride,
    tasks: Vec<Option<Entry>>,
    next_serial: u64,
    /// Workers that are parked; the one that parked last, whose caches are warmest, is woken first.
    idle: Vec<(usize, Thread)>,
    /// The same of workers for short tasks.
    idle_short: Vec<(usize, Thread)>,
    /// Workers for short tasks that are not parked.
    active_short: usize,
}

impl State {
    fn idle_of(&mut self, kind: WorkerKind) -> &mut Vec<(usize, Thread)> {
        match kind {
            WorkerKind::Any => &mut self.idle,
            WorkerKind::Short => &mut self.idle_short,
        }
    }
}

/// Takes up to `wanted` workers, the last first.
fn take(idle: &mut Vec<(usize, Thread)>, wanted: usize) -> Vec<(usize, Thread)> {
    idle.split_off(idle.len().saturating_sub(wanted))
}

impl Workers {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            state: Mutex::new(State::default()),
            is_stopping: AtomicBool::new(false),
            clock: Clock::new(),
            rings: (0..workers).map(|_| Ring::new()).collect(),
            names: Mutex::default(),
        }
    }

    pub(crate) fn add(&self, task: Arc<dyn Task>, weight: impl Into<Weight>, workers_max: usize) -> TaskId {
        let query_id = task.query_id();
        let mut state = self.state.lock();
        let id = state.stride.add(weight, workers_max);
        if state.tasks.len() <= id.0 {
            state.tasks.resize_with(id.0 + 1, || None);
        }
        let serial = state.next_serial;
        state.next_serial += 1;
        state.tasks[id.0] = Some(Entry { task, serial });
        drop(state);
        let mut names = self.names.lock();
        let oldest = if names.len() == NAMES_KEPT { names.pop_front() } else { None };
        names.push_back((serial, query_id));
        drop(names);
        drop(oldest);
        id
    }

    /// The most workers that are at tasks at once from now on.
    pub(crate) fn set_limit(&self, limit: Option<usize>) {
        let mut state = self.state.lock();
        state.stride.set_limit(limit);
        // More may come now; those for whom there is nothing park again.
        let idle = std::mem::take(&mut state.idle);
        drop(state);
        for (_, thread) in idle {
            thread.unpark();
        }
    }

    /// There may be a morsel of this task: as many parked workers come as it may have, up to `workers`. If none is parked and the task is
    /// short, workers for short ones come.
    pub(crate) fn wake(&self, id: TaskId, workers: usize) {
        let mut state = self.state.lock();
        let wanted = state.stride.wake(id, self.clock.now_ns()).min(workers);
        let mut woken = take(&mut state.idle, wanted);
        if woken.is_empty() && wanted > 0 && !state.idle_short.is_empty() && state.stride.has_used_little(id) {
            let beside = state.stride.workers_at_long().saturating_sub(state.active_short);
            woken = take(&mut state.idle_short, wanted.min(beside));
            state.active_short += woken.len();
        }
        drop(state);
        if woken.is_empty() {
            return;
        }
        profile_events::GLOBAL.add(ProfileEvent::SchedulerWorkerWakeUps, woken.len() as u64);
        for (_, thread) in woken.iter().rev() {
            thread.unpark();
        }
    }

    /// A worker's life, until [`Workers::stop`].
    pub(crate) fn work(&self, worker: usize, kind: WorkerKind) {
        let mut state = self.state.lock();
        state.active_short += usize::from(kind == WorkerKind::Short);
        let mut last = None;
        while !self.is_stopping.load(Ordering::SeqCst) {
            let now_ns = self.clock.now_ns();
            // Where workers have come to short tasks meanwhile, it would only take the CPU from them.
            let is_one_too_many = kind == WorkerKind::Short && state.active_short > state.stride.workers_at_long();
            let lease = if is_one_too_many { None } else { state.stride.pick(now_ns, last, kind) };
            let Some(lease) = lease else {
                state = self.wait(state, worker, kind);
                continue;
            };
            last = Some(lease.task);
            let entry = state.tasks[lease.task.0].as_ref();
            let (task, serial) = entry.map(|entry| (entry.task.clone(), entry.serial)).unzip();
            drop(state);
            let (lease, step, now_ns) = self.run(worker, lease, task.as_deref(), serial.unwrap_or_default(), now_ns);
            state = self.state.lock();
            let id = lease.task;
            if state.stride.give_back(lease, step, now_ns) {
                state.tasks[id.0] = None;
                // Its number may be a newcomer's at once, who has no claim to this worker.
                last = None;
                // The task may own much; it is freed without the lock.
                drop(state);
                drop(task);
                state = self.state.lock();
            }
            // What is short no more may be for those that have parked since.
            if kind == WorkerKind::Short && !state.idle.is_empty() && state.stride.has_work() {
                let wanted = state.stride.wake(id, now_ns);
                take(&mut state.idle, wanted).into_iter().for_each(|(_, thread)| thread.unpark());
            }
        }
    }

    /// Runs a task's morsels for as long as the worker stays with it, from `now_ns` on; gives what came of the last, and when it ended.
    fn run(
        &self,
        worker: usize,
        mut lease: Lease,
        task: Option<&dyn Task>,
        serial: u64,
        now_ns: u64,
    ) -> (Lease, Step, u64) {
        let Some(task) = task else { return (lease, Step::Finished, now_ns) };
        task.count(ProfileEvent::SchedulerQueueWaitMicroseconds, lease.waited_ns / 1_000);
        SCHEDULER_QUEUE_WAIT.observe(Duration::from_nanos(lease.waited_ns));
        let _active = CurrentMetric::SchedulerWorkersActive.hold(1);
        let (mut began_ns, mut cpu_before_ns, mut waited_ns) = (now_ns, thread_cpu_ns(), lease.waited_ns);
        loop {
            let step = task.run(MORSEL_TARGET);
            let (ended_ns, cpu_after_ns) = (self.clock.now_ns(), thread_cpu_ns());
            let cpu_ns = cpu_after_ns - cpu_before_ns;
            let stays = lease.ran(cpu_ns, step) && !self.is_stopping.load(Ordering::Relaxed);
            if let Some(ring) = self.rings.get(worker) {
                let outcome = match step {
                    Step::Worked if stays => Outcome::Stays,
                    Step::Worked => Outcome::Yields,
                    Step::Idle => Outcome::Idle,
                    Step::Finished => Outcome::Finished,
                };
                let (ns, pass_us) = (ended_ns.saturating_sub(began_ns), lease.account.pass_us());
                ring.note(Noted { serial, began_ns, ns, cpu_ns, waited_ns, pass_us, outcome });
            }
            if !stays {
                return (lease, step, ended_ns);
            }
            (began_ns, cpu_before_ns, waited_ns) = (ended_ns, cpu_after_ns, 0);
        }
    }

    /// Parks a worker for which there is nothing to do.
    fn wait<'a>(&'a self, mut state: MutexGuard<'a, State>, worker: usize, kind: WorkerKind) -> MutexGuard<'a, State> {
        state.idle_of(kind).push((worker, current()));
        let mut looks_again = kind == WorkerKind::Any && state.stride.tasks() > 0;
        state.active_short -= usize::from(kind == WorkerKind::Short);
        drop(state);
        // Unparking before parking is remembered by the token, so no wake-up is lost; a spurious return only looks again.
        match looks_again {
            true => looks_again = park_timeout(LOOK_AGAIN),
            false => park(),
        }
        let mut state = self.state.lock();
        let idle = state.idle_of(kind);
        let parked = idle.len();
        idle.retain(|(idle, _)| *idle != worker);
        if kind == WorkerKind::Short {
            // Whoever woke it has counted it.
            state.active_short += usize::from(state.idle_short.len() < parked);
        }
        if looks_again {
            state.stride.look_again();
        }
        state
    }

    /// The tasks as they are now.
    pub(crate) fn snapshot(&self) -> Vec<(TaskSnapshot, Arc<dyn Task>)> {
        let state = self.state.lock();
        let snapshots = state.stride.snapshot(self.clock.now_ns());
        let task = |id: TaskId| Some(state.tasks.get(id.0)?.as_ref()?.task.clone());
        snapshots.filter_map(|snapshot| Some((snapshot, task(snapshot.task)?))).collect()
    }

    /// The steps that are kept: from these numbers on for each worker, and all of workers beyond them.
    pub(crate) fn steps(&self, from: &[u64]) -> Vec<WorkerStep> {
        let noted: Vec<_> = self
            .rings
            .iter()
            .enumerate()
            .flat_map(|(worker, ring)| {
                let from = from.get(worker).copied().unwrap_or_default();
                ring.since(from).map(move |(number, noted)| (worker, number, noted))
            })
            .collect();
        let (now, now_ns) = (SystemTime::now(), self.clock.now_ns());
        let queries = self.queries(noted.iter().map(|(_, _, noted)| noted.serial));
        let nobody: Arc<str> = Arc::default();
        let step = |(worker, number, noted): (usize, u64, Noted)| WorkerStep {
            worker,
            number,
            query_id: queries.get(&noted.serial).unwrap_or(&nobody).clone(),
            began: now - Duration::from_nanos(now_ns.saturating_sub(noted.began_ns)),
            took: Duration::from_nanos(noted.ns),
            cpu: Duration::from_nanos(noted.cpu_ns),
            waited: Duration::from_nanos(noted.waited_ns),
            pass_us: noted.pass_us,
            outcome: noted.outcome,
        };
        noted.into_iter().map(step).collect()
    }

    /// The ids of the queries of these tasks, as far as they are known.
    fn queries(&self, serials: impl Iterator<Item = u64>) -> HashMap<u64, Arc<str>> {
        let wanted: HashSet<u64> = serials.collect();
        if wanted.is_empty() {
            return HashMap::new();
        }
        let names = self.names.lock();
        let mut queries: HashMap<_, _> = names.iter().filter(|(serial, _)| wanted.contains(serial)).cloned().collect();
        drop(names);
        if queries.len() < wanted.len() {
            // One that runs for long may be older than all of these.
            let state = self.state.lock();
            let running = state.tasks.iter().flatten().filter(|entry| wanted.contains(&entry.serial));
            queries.extend(running.map(|entry| (entry.serial, entry.task.query_id())));
        }
        queries
    }

    /// Lets the workers go once their current morsels are done.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        let mut state = self.state.lock();
        let (idle, idle_short) = (std::mem::take(&mut state.idle), std::mem::take(&mut state.idle_short));
        drop(state);
        for (_, thread) in idle.into_iter().chain(idle_short) {
            thread.unpark();
        }
    }
}
