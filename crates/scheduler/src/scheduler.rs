//! The driver: threads that carry out the policy's decisions. Under `stride`, as many workers as there are CPUs share all tasks
//! morsel by morsel. Under `fixed_at_start`, each task gets threads of its own from the thread pool, as many as the budget grants
//! when it starts. The policy can be changed at run time; tasks keep the one they began with.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, RwLock};
use squall_runtime::thread_pool::STACK_BYTES;
use squall_runtime::thread_usage::thread_cpu_ns;
use squall_runtime::{CurrentMetric, ProfileEvent, ThreadPool, profile_events};
use thiserror::Error;

use crate::policy::PolicyKind;
use crate::policy::stride::{Stride, TaskId};
use crate::task::{Step, Task, TaskOptions};
use crate::thread_budget::ThreadBudget;

/// How long a morsel should run.
pub const MORSEL_TARGET: Duration = Duration::from_micros(1_500);

/// After so long without work, a worker looks at tasks that nobody has called for. Cancellation and time limits of queries that
/// wait for a slow client are noticed by it; and a wake-up that was lost costs this much, not a query that never ends.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What a scheduler is made of.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerOptions {
    /// Workers of `stride`: logical CPUs.
    pub workers: usize,
    /// `concurrent_threads_scheduler`.
    pub policy: PolicyKind,
    /// `total_max_threads`.
    pub budget: ThreadBudget,
}

/// A task was not started.
#[derive(Debug, Error)]
pub enum StartError {
    /// The operating system gives no thread.
    #[error("cannot start a thread: {0}")]
    NoThread(#[from] std::io::Error),
    /// The thread pool takes no job.
    #[error(transparent)]
    Pool(#[from] squall_runtime::thread_pool::ScheduleError),
}

/// Runs tasks. Cheap to clone.
#[derive(Clone)]
pub struct Scheduler {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// One per worker, to unpark it.
    threads: Mutex<Vec<Thread>>,
    is_stopping: AtomicBool,
    workers: usize,
    options: RwLock<(PolicyKind, ThreadBudget)>,
    /// Threads that `fixed_at_start` queries hold.
    fixed_threads: AtomicUsize,
    pool: ThreadPool,
    epoch: Instant,
}

#[derive(Default)]
struct State {
    stride: Stride,
    tasks: Vec<Option<Arc<dyn Task>>>,
    /// Workers that are parked; the one that parked last, whose caches are warmest, is woken first.
    idle: Vec<usize>,
}

/// A task that was given to a scheduler.
#[derive(Clone)]
pub struct TaskHandle(Driver);

#[derive(Clone)]
enum Driver {
    Stride { shared: Arc<Shared>, id: TaskId },
    FixedAtStart(Arc<FixedTask>),
}

impl TaskHandle {
    /// There may be a morsel for this task now: workers come and look. Also starts a task that was just added. For a finished
    /// task, whose number may be another's by now, it costs that other one look.
    pub fn wake(&self) {
        match &self.0 {
            Driver::Stride { shared, id } => shared.wake(*id),
            Driver::FixedAtStart(task) => task.wake(),
        }
    }

    /// The task is about to tell that it is over: what it holds of the budget is free from now on, so that whoever hears of the end
    /// and starts the next query finds it.
    pub fn release(&self) {
        if let Driver::FixedAtStart(task) = &self.0 {
            task.release();
        }
    }

    /// The threads that `fixed_at_start` granted; `None` under `stride`, where any worker may come.
    pub fn threads_granted(&self) -> Option<usize> {
        match &self.0 {
            Driver::Stride { .. } => None,
            Driver::FixedAtStart(task) => Some(task.threads),
        }
    }
}

impl Scheduler {
    /// Starts the workers. They live until [`Scheduler::stop`].
    ///
    /// # Errors
    /// [`StartError::NoThread`].
    pub fn start(options: SchedulerOptions, pool: ThreadPool) -> Result<(Self, Vec<JoinHandle<()>>), StartError> {
        let workers = options.workers.max(1);
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            threads: Mutex::new(Vec::with_capacity(workers)),
            is_stopping: AtomicBool::new(false),
            workers,
            options: RwLock::new((options.policy, options.budget)),
            fixed_threads: AtomicUsize::new(0),
            pool,
            epoch: Instant::now(),
        });
        // Workers register under the lock that they are parked by, so none is unparked before it is known.
        let mut threads = shared.threads.lock();
        let mut handles = Vec::with_capacity(workers);
        for worker in 0..workers {
            let shared = shared.clone();
            let handle = std::thread::Builder::new()
                .name("QueryWorker".into())
                .stack_size(STACK_BYTES)
                .spawn(move || shared.work(worker))?;
            threads.push(handle.thread().clone());
            handles.push(handle);
        }
        drop(threads);
        CurrentMetric::SchedulerWorkers.set(workers as i64);
        Ok((Self { shared }, handles))
    }

    /// Adds a task; it runs from the first [`TaskHandle::wake`] on.
    pub fn add(&self, task: Arc<dyn Task>, options: TaskOptions) -> TaskHandle {
        let (policy, budget) = *self.shared.options.read();
        match policy {
            PolicyKind::Stride => {
                let mut state = self.shared.state.lock();
                let id = state.stride.add(options.weight, options.workers_max);
                if state.tasks.len() <= id.0 {
                    state.tasks.resize_with(id.0 + 1, || None);
                }
                state.tasks[id.0] = Some(task);
                TaskHandle(Driver::Stride { shared: self.shared.clone(), id })
            }
            PolicyKind::FixedAtStart => {
                let fixed = FixedTask::reserve(self.shared.clone(), task, options, budget);
                TaskHandle(Driver::FixedAtStart(fixed))
            }
        }
    }

    /// Changes policy and budget for tasks that are added from now on.
    pub fn configure(&self, policy: PolicyKind, budget: ThreadBudget) {
        *self.shared.options.write() = (policy, budget);
    }

    /// The policy and the budget in force.
    pub fn configuration(&self) -> (PolicyKind, ThreadBudget) {
        *self.shared.options.read()
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.shared.workers
    }

    /// Threads that `fixed_at_start` queries hold now.
    pub fn fixed_threads(&self) -> usize {
        self.shared.fixed_threads.load(Ordering::Relaxed)
    }

    /// Lets the workers go once their current morsels are done; tasks that are not finished stay unfinished.
    pub fn stop(&self) {
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        for thread in &*self.shared.threads.lock() {
            thread.unpark();
        }
    }
}

impl Shared {
    fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    /// A worker's life: pick, run, give back.
    fn work(&self, worker: usize) {
        let mut state = self.state.lock();
        let mut last = None;
        while !self.is_stopping.load(Ordering::SeqCst) {
            let Some(pick) = state.stride.pick(self.now_ns(), last) else {
                state.idle.push(worker);
                let has_tasks = state.stride.tasks() > 0;
                drop(state);
                // Unparking before parking is remembered by the token, so no wake-up is lost; a spurious return only looks again.
                let parked = Instant::now();
                match has_tasks {
                    true => std::thread::park_timeout(LOOK_AGAIN),
                    false => std::thread::park(),
                }
                state = self.state.lock();
                state.idle.retain(|idle| *idle != worker);
                if has_tasks && parked.elapsed() >= LOOK_AGAIN {
                    state.stride.look_again();
                }
                continue;
            };
            last = Some(pick.task);
            let task = state.tasks[pick.task.0].clone();
            drop(state);
            profile_events::GLOBAL.add(ProfileEvent::SchedulerMorsels, 1);
            profile_events::GLOBAL.add(ProfileEvent::SchedulerQueueWaitMicroseconds, pick.waited_ns / 1_000);
            let (cpu_ns, step) = match &task {
                Some(task) => run_measured(&**task),
                None => (0, Step::Finished),
            };
            state = self.state.lock();
            if state.stride.ran(pick, cpu_ns, step, self.now_ns()) {
                state.tasks[pick.task.0] = None;
                // The task may own much; it is freed without the lock.
                drop(state);
                drop(task);
                state = self.state.lock();
            }
        }
    }

    fn wake(&self, id: TaskId) {
        let mut state = self.state.lock();
        let wanted = state.stride.wake(id, self.now_ns());
        let keep = state.idle.len().saturating_sub(wanted);
        let woken = state.idle.split_off(keep);
        drop(state);
        if woken.is_empty() {
            return;
        }
        profile_events::GLOBAL.add(ProfileEvent::SchedulerWorkerWakeUps, woken.len() as u64);
        let threads = self.threads.lock();
        for worker in woken.iter().rev() {
            threads[*worker].unpark();
        }
    }
}

fn run_measured(task: &dyn Task) -> (u64, Step) {
    let _active = CurrentMetric::SchedulerWorkersActive.hold(1);
    let before_ns = thread_cpu_ns();
    let step = task.run(MORSEL_TARGET);
    (thread_cpu_ns() - before_ns, step)
}

/// A task of `fixed_at_start`: its threads run it to the end and nothing else.
struct FixedTask {
    shared: Arc<Shared>,
    task: Mutex<Option<Arc<dyn Task>>>,
    threads: usize,
    is_released: AtomicBool,
    state: Mutex<FixedState>,
    woken: Condvar,
}

#[derive(Default)]
struct FixedState {
    is_started: bool,
    is_finished: bool,
    wake_ups: u64,
}

impl FixedTask {
    /// Takes threads from the budget. Two queries that start at once cannot both take the last ones.
    fn reserve(shared: Arc<Shared>, task: Arc<dyn Task>, options: TaskOptions, budget: ThreadBudget) -> Arc<Self> {
        let mut threads = 1;
        let reserve = |running| {
            threads = budget.threads_for_query(options.workers_recommended.max(1), options.workers_max, running);
            Some(running + threads)
        };
        // The closure never refuses, so the update always succeeds.
        let _ = shared.fixed_threads.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve);
        let task = Mutex::new(Some(task));
        let is_released = AtomicBool::new(false);
        Arc::new(Self { shared, task, threads, is_released, state: Mutex::default(), woken: Condvar::new() })
    }

    /// Gives the threads back to the budget, once.
    fn release(&self) {
        if !self.is_released.swap(true, Ordering::Relaxed) {
            self.shared.fixed_threads.fetch_sub(self.threads, Ordering::Relaxed);
        }
    }

    fn wake(self: &Arc<Self>) {
        let mut state = self.state.lock();
        state.wake_ups += 1;
        let is_first = !std::mem::replace(&mut state.is_started, true);
        drop(state);
        if !is_first {
            self.woken.notify_all();
            return;
        }
        for _ in 0..self.threads {
            let this = self.clone();
            if let Err(error) = self.shared.pool.schedule(move || this.run()) {
                // One thread suffices to run a task; without any, this very thread would have to, so the pool's refusal is
                // carried out here as the last resort.
                tracing::warn!("a query runs with fewer threads than it was granted: {error}");
                let is_alone = Arc::strong_count(self) <= 2;
                if is_alone {
                    self.run();
                }
                break;
            }
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
            match run_measured(&*task).1 {
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

impl Drop for FixedTask {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::atomic::AtomicU64;
    use std::sync::mpsc;

    /// A task of so many morsels that notes who ran them.
    struct Count {
        left: AtomicU64,
        running: AtomicUsize,
        peak: AtomicUsize,
        ran: AtomicU64,
        threads: Mutex<HashSet<std::thread::ThreadId>>,
        done: Mutex<Option<mpsc::Sender<()>>>,
        unfinished: AtomicU64,
    }

    impl Count {
        fn new(morsels: u64) -> (Arc<Self>, mpsc::Receiver<()>) {
            let (sender, receiver) = mpsc::channel();
            let task = Self {
                left: morsels.into(),
                running: 0.into(),
                peak: 0.into(),
                ran: 0.into(),
                threads: Mutex::default(),
                done: Mutex::new(Some(sender)),
                unfinished: morsels.into(),
            };
            (Arc::new(task), receiver)
        }
    }

    impl Task for Count {
        fn run(&self, _: Duration) -> Step {
            let claimed = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
            if claimed.is_err() {
                return Step::Idle;
            }
            let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.peak.fetch_max(running, Ordering::SeqCst);
            self.threads.lock().insert(std::thread::current().id());
            std::thread::sleep(Duration::from_micros(200));
            self.ran.fetch_add(1, Ordering::SeqCst);
            self.running.fetch_sub(1, Ordering::SeqCst);
            if self.unfinished.fetch_sub(1, Ordering::SeqCst) == 1 {
                if let Some(done) = self.done.lock().take() {
                    done.send(()).unwrap();
                }
                // Other workers may be inside `run`, finding nothing: as the engine does, wait for them elsewhere.
                return Step::Idle;
            }
            Step::Worked
        }
    }

    fn scheduler(policy: PolicyKind, total_max_threads: Option<i64>) -> Scheduler {
        let budget = ThreadBudget::from_config(total_max_threads, 2).unwrap();
        let options = SchedulerOptions { workers: 4, policy, budget };
        Scheduler::start(options, ThreadPool::new(Default::default())).unwrap().0
    }

    fn options(workers_max: usize) -> TaskOptions {
        TaskOptions { workers_max, workers_recommended: 64, weight: 1.0 }
    }

    #[test]
    fn every_morsel_runs_once_on_no_more_workers_than_allowed() {
        for policy in PolicyKind::ALL {
            for workers_max in [1, 3, 64] {
                let scheduler = scheduler(policy, None);
                let (task, done) = Count::new(100);
                scheduler.add(task.clone(), options(workers_max)).wake();
                done.recv_timeout(Duration::from_secs(30)).unwrap();
                assert_eq!(task.ran.load(Ordering::SeqCst), 100);
                assert!(task.peak.load(Ordering::SeqCst) <= workers_max, "{policy}");
                scheduler.stop();
            }
        }
    }

    #[test]
    fn many_tasks_at_once_all_end() {
        let scheduler = scheduler(PolicyKind::Stride, None);
        let waits: Vec<_> = (0..200)
            .map(|_| {
                let (task, done) = Count::new(10);
                scheduler.add(task, options(64)).wake();
                done
            })
            .collect();
        for done in waits {
            done.recv_timeout(Duration::from_secs(60)).unwrap();
        }
        scheduler.stop();
    }

    #[test]
    fn the_budget_is_shared_by_queries() {
        let scheduler = scheduler(PolicyKind::FixedAtStart, Some(8));
        let (first, _first_done) = Count::new(1_000_000);
        let (second, _second_done) = Count::new(1_000_000);
        let (third, _third_done) = Count::new(1_000_000);
        let first = scheduler.add(first, options(6));
        let second = scheduler.add(second, options(6));
        let third = scheduler.add(third, options(6));
        assert_eq!([&first, &second, &third].map(|task| task.threads_granted()), [Some(6), Some(2), Some(1)]);
        assert_eq!(scheduler.fixed_threads(), 9);
        drop((first, second, third));
        assert_eq!(scheduler.fixed_threads(), 0);
        scheduler.stop();
    }
}
