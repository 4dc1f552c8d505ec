//! Where tasks are given to be run. Under `stride`, as many workers as there are CPUs share all tasks morsel by morsel: `workers`.
//! Under `fixed_at_start`, each task gets threads of its own from the thread pool, as many as the budget grants when it starts. The
//! policy can be changed at run time; tasks keep the one they began with.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex, RwLock};
use squall_runtime::thread_pool::STACK_BYTES;
use squall_runtime::{CurrentMetric, LocalThreadPool, ThreadPool, ThreadPoolLimits};
use thiserror::Error;

use crate::policy::PolicyKind;
use crate::policy::stride::{TaskId, TaskSnapshot};
use crate::task::{MORSEL_TARGET, Step, Task, TaskOptions};
use crate::thread_budget::ThreadBudget;
use crate::workers::Workers;

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
    workers: Workers,
    workers_count: usize,
    options: RwLock<(PolicyKind, ThreadBudget)>,
    /// Threads that `fixed_at_start` queries hold.
    fixed_threads: AtomicUsize,
    pool: ThreadPool,
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
            Driver::Stride { shared, id } => shared.workers.wake(*id),
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
        let workers_count = options.workers.max(1);
        let shared = Arc::new(Shared {
            workers: Workers::new(),
            workers_count,
            options: RwLock::new((options.policy, options.budget)),
            fixed_threads: AtomicUsize::new(0),
            pool,
        });
        let start = |worker| {
            let shared = shared.clone();
            let thread = std::thread::Builder::new().name("QueryWorker".into()).stack_size(STACK_BYTES);
            thread.spawn(move || shared.workers.work(worker))
        };
        let handles = (0..workers_count).map(start).collect::<Result<_, _>>()?;
        CurrentMetric::SchedulerWorkers.set(workers_count as i64);
        Ok((Self { shared }, handles))
    }

    /// Adds a task; it runs from the first [`TaskHandle::wake`] on.
    pub fn add(&self, task: Arc<dyn Task>, options: TaskOptions) -> TaskHandle {
        let (policy, budget) = *self.shared.options.read();
        match policy {
            PolicyKind::Stride => {
                let id = self.shared.workers.add(task, options.weight, options.workers_max);
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
        self.shared.workers_count
    }

    /// Threads that `fixed_at_start` queries hold now.
    pub fn fixed_threads(&self) -> usize {
        self.shared.fixed_threads.load(Ordering::Relaxed)
    }

    /// The tasks that are there, with the ids of their queries.
    pub fn tasks(&self) -> Vec<(String, TaskSnapshot)> {
        let tasks = self.shared.workers.snapshot();
        tasks.into_iter().map(|(snapshot, task)| (task.query_id().to_owned(), snapshot)).collect()
    }

    /// Lets the workers go once their current morsels are done; tasks that are not finished stay unfinished.
    pub fn stop(&self) {
        self.shared.workers.stop();
    }
}

/// A task of `fixed_at_start`: its threads run it to the end and nothing else.
struct FixedTask {
    shared: Arc<Shared>,
    task: Mutex<Option<Arc<dyn Task>>>,
    threads: usize,
    pool: LocalThreadPool,
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
        let limits = ThreadPoolLimits { threads_max: threads, free_threads_max: 0, jobs_max: 0 };
        let mut pool = LocalThreadPool::new(&shared.pool, limits);
        if let Some(owner) = task.owner() {
            pool = pool.for_query(owner);
        }
        let task = Mutex::new(Some(task));
        let is_released = AtomicBool::new(false);
        Arc::new(Self { shared, task, threads, pool, is_released, state: Mutex::default(), woken: Condvar::new() })
    }

    /// Gives the threads back to the budget, once, and counts how long they were busy.
    fn release(&self) {
        if !self.is_released.swap(true, Ordering::Relaxed) {
            self.pool.count_busy();
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
        for started in 0..self.threads {
            let this = self.clone();
            if let Err(error) = self.pool.schedule(move || this.run()) {
                tracing::warn!("a query runs with {started} threads of {} that it was granted: {error}", self.threads);
                // One thread suffices to run a task.
                if started == 0 {
                    self.state.lock().is_finished = true;
                    let task = self.task.lock().take();
                    if let Some(task) = task {
                        task.refuse(&error);
                    }
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
            let _active = CurrentMetric::SchedulerWorkersActive.hold(1);
            match task.run(MORSEL_TARGET) {
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

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use super::*;
    use squall_runtime::thread_pool::ScheduleError;
    use std::collections::HashSet;
    use std::sync::atomic::AtomicU64;
    use std::sync::mpsc;
    use std::time::Duration;

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
        fn refuse(&self, error: &ScheduleError) {
            panic!("{error}");
        }

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
