//! Where tasks are given to be run. Under `stride`, as many workers as there are CPUs share all tasks morsel by morsel: `workers`.
//! Under the other policies each task has threads of its own from the thread pool, as many as it has slots: `query_threads`. The
//! policy can be changed at run time; tasks keep the kind of driver that they began with.

use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::RwLock;
use squall_runtime::thread_attributes::{ThreadKind, set_thread_kind};
use squall_runtime::thread_pool::STACK_BYTES;
use squall_runtime::{CurrentMetric, ThreadPool};
use thiserror::Error;

use crate::policy::PolicyKind;
use crate::policy::fixed_at_start::FixedAtStart;
use crate::policy::slots::slot_policy;
use crate::policy::stride::{TaskId, WorkerKind};
use crate::query_threads::{Query, QueryThreads};
use crate::task::{Task, TaskOptions};
use crate::thread_budget::ThreadBudget;
use crate::workers::{WorkerStep, Workers};

/// What a scheduler is made of.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerOptions {
    /// Workers of `stride`: logical CPUs.
    pub workers: usize,
    /// `concurrent_threads_scheduler`.
    pub policy: PolicyKind,
    /// `total_max_threads`: under `stride`, workers at tasks at once.
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
    query_threads: Arc<QueryThreads>,
    configuration: RwLock<(PolicyKind, ThreadBudget)>,
}

/// A task as it is now, for `system.scheduler`. What a policy does not have is zero.
#[derive(Clone, Debug)]
pub struct TaskState {
    /// The id of its query.
    pub query_id: Arc<str>,
    /// The policy that decides for it.
    pub policy: PolicyKind,
    /// Whether there may be a morsel of it to run.
    pub is_runnable: bool,
    /// Workers or threads that are at it.
    pub workers: usize,
    /// The most that it may have.
    pub workers_max: usize,
    /// CPU slots that it holds.
    pub slots: usize,
    /// CPU slots that it would hold if there were enough.
    pub slots_wanted: usize,
    /// Its share relative to other tasks.
    pub weight: f64,
    /// Virtual time that it has used and will have used when its morsels under way are done.
    pub pass_us: u64,
    /// CPU time that it has used.
    pub cpu_ns: u64,
    /// For how long it has been runnable without any worker.
    pub waiting_ns: u64,
    /// For how long it was so in all.
    pub waited_ns: u64,
}

/// A task that was given to a scheduler.
#[derive(Clone)]
pub struct TaskHandle(Driver);

#[derive(Clone)]
enum Driver {
    Workers { shared: Arc<Shared>, id: TaskId },
    OwnThreads(Arc<Query>),
}

impl TaskHandle {
    /// There may be a morsel for this task now: up to so many workers that have nothing to do come and look. Also starts a task that was
    /// just added. For a finished task, whose number may be another's by now, it costs that other one look.
    pub fn wake(&self, workers: usize) {
        match &self.0 {
            Driver::Workers { shared, id } => shared.workers.wake(*id, workers),
            Driver::OwnThreads(query) => query.wake(),
        }
    }

    /// The task is about to tell that it is over: the slots that it holds are free from now on, so that whoever hears of the end
    /// and starts the next query finds it.
    pub fn release(&self) {
        if let Driver::OwnThreads(query) = &self.0 {
            query.release();
        }
    }

    /// The threads of its own that the task begins with; `None` under `stride`, where any worker may come.
    pub fn threads_granted(&self) -> Option<usize> {
        match &self.0 {
            Driver::Workers { .. } => None,
            Driver::OwnThreads(query) => Some(query.threads_at_start()),
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
        let slots = slot_policy(options.policy).unwrap_or_else(|| Box::new(FixedAtStart));
        // As many for short tasks.
        let threads_count = 2 * workers_count;
        let workers = Workers::new(threads_count);
        workers.set_limit(options.budget.threads_max);
        let shared = Arc::new(Shared {
            workers,
            workers_count,
            query_threads: QueryThreads::new(slots, options.budget.threads_max, pool),
            configuration: RwLock::new((options.policy, options.budget)),
        });
        let start = |worker| {
            let (name, thread_kind, kind) = match worker < workers_count {
                true => ("QueryWorker", ThreadKind::Worker, WorkerKind::Any),
                false => ("ShortWorker", ThreadKind::ShortWorker, WorkerKind::Short),
            };
            let shared = shared.clone();
            let thread = std::thread::Builder::new().name(name.into()).stack_size(STACK_BYTES);
            thread.spawn(move || {
                set_thread_kind(thread_kind);
                shared.workers.work(worker, kind);
            })
        };
        let handles = (0..threads_count).map(start).collect::<Result<_, _>>()?;
        CurrentMetric::SchedulerWorkers.set(workers_count as i64);
        Ok((Self { shared }, handles))
    }

    /// Adds a task; it runs from the first [`TaskHandle::wake`] on.
    pub fn add(&self, task: Arc<dyn Task>, options: TaskOptions) -> TaskHandle {
        let (policy, _) = *self.shared.configuration.read();
        TaskHandle(match policy {
            PolicyKind::Stride => {
                let id = self.shared.workers.add(task, options.weight, options.workers_max);
                Driver::Workers { shared: self.shared.clone(), id }
            }
            PolicyKind::FixedAtStart | PolicyKind::RoundRobin | PolicyKind::FairRoundRobin | PolicyKind::MaxMinFair => {
                Driver::OwnThreads(self.shared.query_threads.add(task, options))
            }
        })
    }

    /// Changes policy and budget. Tasks that workers share stay with them, as many workers as the budget has; those with threads of
    /// their own get or wait for slots by the new rules.
    pub fn configure(&self, policy: PolicyKind, budget: ThreadBudget) {
        *self.shared.configuration.write() = (policy, budget);
        self.shared.workers.set_limit(budget.threads_max);
        self.shared.query_threads.configure(slot_policy(policy), budget.threads_max);
    }

    /// The policy and the budget in force.
    pub fn configuration(&self) -> (PolicyKind, ThreadBudget) {
        *self.shared.configuration.read()
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.shared.workers_count
    }

    /// Slots that queries with threads of their own hold now.
    pub fn slots_held(&self) -> usize {
        self.shared.query_threads.held()
    }

    /// The tasks that are there now.
    pub fn tasks(&self) -> Vec<TaskState> {
        let shared = self.shared.workers.snapshot().into_iter().map(|(task, of)| TaskState {
            query_id: of.query_id(),
            policy: PolicyKind::Stride,
            is_runnable: task.is_runnable,
            workers: task.workers,
            workers_max: task.workers_max,
            slots: 0,
            slots_wanted: 0,
            weight: task.weight,
            pass_us: task.pass_us,
            cpu_ns: task.consumed_ns,
            waiting_ns: task.waiting_ns,
            waited_ns: task.waited_ns,
        });
        let (policy, _) = self.configuration();
        let policy = if policy == PolicyKind::Stride { PolicyKind::FixedAtStart } else { policy };
        shared.chain(self.shared.query_threads.snapshot(policy)).collect()
    }

    /// What the workers did lately, some thousand steps of each: from these numbers on for each worker, and all of workers beyond them.
    /// Threads that are bound to queries are not workers.
    pub fn steps(&self, from: &[u64]) -> Vec<WorkerStep> {
        self.shared.workers.steps(from)
    }

    /// Lets the workers go once their current morsels are done; tasks that are not finished stay unfinished.
    pub fn stop(&self) {
        self.shared.workers.stop();
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Step;
    use parking_lot::Mutex;
    use squall_runtime::thread_pool::ScheduleError;
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
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
        fn query_id(&self) -> Arc<str> {
            "counted".into()
        }

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
        TaskOptions { workers_max, workers_recommended: 64, ..TaskOptions::default() }
    }

    #[test]
    fn every_morsel_runs_once_on_no_more_workers_than_allowed() {
        for policy in PolicyKind::ALL {
            for workers_max in [1, 3, 64] {
                let scheduler = scheduler(policy, None);
                let (task, done) = Count::new(100);
                scheduler.add(task.clone(), options(workers_max)).wake(usize::MAX);
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
                scheduler.add(task, options(64)).wake(usize::MAX);
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
        assert_eq!(scheduler.slots_held(), 9);
        drop((first, second, third));
        assert_eq!(scheduler.slots_held(), 0);
        scheduler.stop();
    }

    #[test]
    fn a_query_grows_while_it_runs_when_another_ends() {
        for policy in [PolicyKind::RoundRobin, PolicyKind::FairRoundRobin, PolicyKind::MaxMinFair] {
            let scheduler = scheduler(policy, Some(4));
            let (first, first_done) = Count::new(100);
            let (second, second_done) = Count::new(2_000);
            let first = scheduler.add(first, options(4));
            let handle = scheduler.add(second.clone(), options(4));
            assert_eq!(
                handle.threads_granted(),
                Some(if policy == PolicyKind::RoundRobin { 1 } else { 2 }),
                "{policy}"
            );
            first.wake(usize::MAX);
            handle.wake(usize::MAX);
            first_done.recv_timeout(Duration::from_secs(30)).unwrap();
            first.release();
            second_done.recv_timeout(Duration::from_secs(60)).unwrap();
            assert!((2..=4).contains(&second.threads.lock().len()), "{policy}");
            drop((first, handle));
            scheduler.stop();
        }
    }

    #[test]
    fn policies_change_under_running_queries() {
        let scheduler = scheduler(PolicyKind::Stride, Some(4));
        let mut tasks = Vec::new();
        for round in 0..10 {
            for policy in PolicyKind::ALL {
                scheduler.configure(policy, ThreadBudget { threads_max: Some(1 + round % 4) });
                let (task, done) = Count::new(20);
                let handle = scheduler.add(task, options(3));
                handle.wake(usize::MAX);
                tasks.push((handle, done));
            }
        }
        for (handle, done) in tasks {
            done.recv_timeout(Duration::from_secs(60)).unwrap();
            handle.release();
        }
        assert_eq!(scheduler.slots_held(), 0);
        scheduler.stop();
    }

    #[test]
    fn a_short_query_does_not_wait_for_the_step_of_a_long_one() {
        /// Its first step computes for long, and its second ends when it is told to.
        struct Long {
            begun: AtomicUsize,
            may_end: std::sync::atomic::AtomicBool,
        }
        impl Task for Long {
            fn run(&self, _: Duration) -> Step {
                if self.begun.fetch_add(1, Ordering::SeqCst) == 0 {
                    let begun_ns = squall_runtime::thread_usage::thread_cpu_ns();
                    while squall_runtime::thread_usage::thread_cpu_ns() - begun_ns < 10_000_000 {}
                    return Step::Worked;
                }
                while !self.may_end.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
                Step::Finished
            }

            fn refuse(&self, error: &ScheduleError) {
                panic!("{error}");
            }
        }
        let scheduler = scheduler(PolicyKind::Stride, None);
        let long = || Arc::new(Long { begun: 0.into(), may_end: false.into() });
        let all: Vec<_> = (0..4).map(|_| long()).collect();
        all.iter().for_each(|task| scheduler.add(task.clone(), options(1)).wake(usize::MAX));
        while all.iter().any(|task| task.begun.load(Ordering::SeqCst) < 2) {
            std::thread::yield_now();
        }
        let (short, done) = Count::new(10);
        scheduler.add(short, options(4)).wake(usize::MAX);
        done.recv_timeout(Duration::from_secs(60)).unwrap();
        all.iter().for_each(|task| task.may_end.store(true, Ordering::SeqCst));
        scheduler.stop();
    }

    #[test]
    fn steps_can_be_looked_at() {
        let scheduler = scheduler(PolicyKind::Stride, None);
        let (task, done) = Count::new(100);
        scheduler.add(task.clone(), options(2)).wake(usize::MAX);
        done.recv_timeout(Duration::from_secs(30)).unwrap();
        // The last step is noted when the worker has come back from it.
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        let noted = |steps: &[WorkerStep]| steps.iter().filter(|step| step.took >= Duration::from_micros(200)).count();
        while noted(&scheduler.steps(&[])) < 100 {
            assert!(std::time::Instant::now() < deadline);
            std::thread::yield_now();
        }
        let steps = scheduler.steps(&[]);
        assert!(steps.iter().all(|step| step.worker < 4 && &*step.query_id == "counted"));
        // Steps of one worker follow each other.
        for (before, after) in steps.iter().zip(steps.iter().skip(1)).filter(|(a, b)| a.worker == b.worker) {
            assert!(before.number < after.number && before.began <= after.began);
        }
        let ends = [0, 1, 2, 3].map(|worker| {
            steps.iter().filter(|step| step.worker == worker).map(|step| step.number + 1).max().unwrap_or(0)
        });
        assert_eq!(noted(&scheduler.steps(&ends)), 0);
        scheduler.stop();
    }

    #[test]
    fn tasks_can_be_looked_at() {
        for policy in PolicyKind::ALL {
            let scheduler = scheduler(policy, Some(8));
            let (task, _done) = Count::new(1);
            let handle = scheduler.add(task, options(4));
            let tasks = scheduler.tasks();
            assert_eq!(tasks.len(), 1, "{policy}");
            assert_eq!((tasks[0].policy, tasks[0].workers, tasks[0].workers_max), (policy, 0, 4));
            let slots = match policy {
                PolicyKind::Stride => 0,
                PolicyKind::FixedAtStart | PolicyKind::RoundRobin => 4,
                PolicyKind::FairRoundRobin | PolicyKind::MaxMinFair => 3,
            };
            assert_eq!((tasks[0].slots, tasks[0].slots_wanted), (slots, slots), "{policy}");
            drop(handle);
            scheduler.stop();
        }
    }
}
