//! The driver of `stride`: as many threads as there are CPUs share all tasks, morsel by morsel. A worker that stays with its task
//! takes no lock between two morsels; one that must choose anew asks the policy under the lock; one for which there is nothing
//! parks, and is woken by who brings work.

use std::sync::Arc;
use std::time::Duration;

use squall_runtime::histogram::SCHEDULER_QUEUE_WAIT;
use squall_runtime::{CurrentMetric, ProfileEvent, profile_events};

use crate::policy::stride::{Lease, Stride, TaskId, TaskSnapshot};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Clock, Mutex, MutexGuard, Thread, current, park, park_timeout, thread_cpu_ns};
use crate::task::{MORSEL_TARGET, Step, Task};
use crate::weight::Weight;

/// After so long without work, a worker looks at tasks that nobody has called for: cancellation and time limits of queries that wait
/// for a slow client are noticed by it.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What the workers share.
pub(crate) struct Workers {
    state: Mutex<State>,
    is_stopping: AtomicBool,
    clock: Clock,
}

#[derive(Default)]
struct State {
    stride: Stride,
    tasks: Vec<Option<Arc<dyn Task>>>,
    /// Workers that are parked; the one that parked last, whose caches are warmest, is woken first.
    idle: Vec<(usize, Thread)>,
}

impl Workers {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(State::default()), is_stopping: AtomicBool::new(false), clock: Clock::new() }
    }

    pub(crate) fn add(&self, task: Arc<dyn Task>, weight: impl Into<Weight>, workers_max: usize) -> TaskId {
        let mut state = self.state.lock();
        let id = state.stride.add(weight, workers_max);
        if state.tasks.len() <= id.0 {
            state.tasks.resize_with(id.0 + 1, || None);
        }
        state.tasks[id.0] = Some(task);
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

    /// There may be a morsel of this task: as many parked workers come as it may have, up to `workers`.
    pub(crate) fn wake(&self, id: TaskId, workers: usize) {
        let mut state = self.state.lock();
        let wanted = state.stride.wake(id, self.clock.now_ns()).min(workers);
        let keep = state.idle.len().saturating_sub(wanted);
        let woken = state.idle.split_off(keep);
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
    pub(crate) fn work(&self, worker: usize) {
        let mut state = self.state.lock();
        let mut last = None;
        while !self.is_stopping.load(Ordering::SeqCst) {
            let Some(lease) = state.stride.pick(self.clock.now_ns(), last) else {
                state = self.wait(state, worker);
                continue;
            };
            last = Some(lease.task);
            let task = state.tasks[lease.task.0].clone();
            drop(state);
            let (lease, step) = self.run(lease, task.as_deref());
            state = self.state.lock();
            let id = lease.task;
            if state.stride.give_back(lease, step, self.clock.now_ns()) {
                state.tasks[id.0] = None;
                // Its number may be a newcomer's at once, who has no claim to this worker.
                last = None;
                // The task may own much; it is freed without the lock.
                drop(state);
                drop(task);
                state = self.state.lock();
            }
        }
    }

    /// Runs a task's morsels for as long as the worker stays with it; gives what came of the last.
    fn run(&self, mut lease: Lease, task: Option<&dyn Task>) -> (Lease, Step) {
        let Some(task) = task else { return (lease, Step::Finished) };
        task.count(ProfileEvent::SchedulerQueueWaitMicroseconds, lease.waited_ns / 1_000);
        SCHEDULER_QUEUE_WAIT.observe(Duration::from_nanos(lease.waited_ns));
        let _active = CurrentMetric::SchedulerWorkersActive.hold(1);
        let mut before_ns = thread_cpu_ns();
        loop {
            let step = task.run(MORSEL_TARGET);
            let after_ns = thread_cpu_ns();
            let stays = lease.ran(after_ns - before_ns, step);
            if !stays || self.is_stopping.load(Ordering::Relaxed) {
                return (lease, step);
            }
            before_ns = after_ns;
        }
    }

    /// Parks a worker for which there is nothing to do.
    fn wait<'a>(&'a self, mut state: MutexGuard<'a, State>, worker: usize) -> MutexGuard<'a, State> {
        state.idle.push((worker, current()));
        let has_tasks = state.stride.tasks() > 0;
        drop(state);
        // Unparking before parking is remembered by the token, so no wake-up is lost; a spurious return only looks again.
        let looks_again = if has_tasks {
            park_timeout(LOOK_AGAIN)
        } else {
            park();
            false
        };
        let mut state = self.state.lock();
        state.idle.retain(|(idle, _)| *idle != worker);
        if looks_again {
            state.stride.look_again();
        }
        state
    }

    /// The tasks as they are now.
    pub(crate) fn snapshot(&self) -> Vec<(TaskSnapshot, Arc<dyn Task>)> {
        let state = self.state.lock();
        let snapshots = state.stride.snapshot(self.clock.now_ns());
        snapshots.filter_map(|snapshot| Some((snapshot, state.tasks.get(snapshot.task.0)?.clone()?))).collect()
    }

    /// Lets the workers go once their current morsels are done.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        let idle = std::mem::take(&mut self.state.lock().idle);
        for (_, thread) in idle {
            thread.unpark();
        }
    }
}
