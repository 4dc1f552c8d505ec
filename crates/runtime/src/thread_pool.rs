//! A pool of threads for jobs that may block: fetching from disk, committing, the threads of `fixed_at_start` queries. Threads
//! are created outside the lock, jobs start first in, first out, and an idle thread is woken for each job: one, not all.
//!
//! The pool is the process's one source of threads for such work (`GlobalThread…` in `system.metrics`); the scheduler's workers
//! run no jobs of it.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use thiserror::Error;

use crate::current_metrics::CurrentMetric;
use crate::profile_events::{GLOBAL, ProfileEvent};

/// The stack of a thread that plans or runs queries, whose expressions may nest as deep as `max_ast_depth` says. Address space
/// only: pages are touched as they are needed.
pub const STACK_BYTES: usize = 16 << 20;

type Job = Box<dyn FnOnce() + Send>;

/// How large a pool may get.
#[derive(Clone, Copy, Debug)]
pub struct ThreadPoolLimits {
    /// `max_thread_pool_size`: threads at most.
    pub threads_max: usize,
    /// `max_thread_pool_free_size`: idle threads that are kept.
    pub free_threads_max: usize,
    /// `thread_pool_queue_size`: jobs that wait or run at most.
    pub jobs_max: usize,
}

impl Default for ThreadPoolLimits {
    /// ClickHouse's defaults.
    fn default() -> Self {
        Self { threads_max: 10_000, free_threads_max: 1_000, jobs_max: 10_000 }
    }
}

/// Why a job was not taken.
#[derive(Debug, Error)]
pub enum ScheduleError {
    /// As many jobs as `thread_pool_queue_size` wait or run.
    #[error("Cannot schedule a task: no free thread (threads={threads}, jobs={jobs})")]
    QueueFull {
        /// Threads of the pool.
        threads: usize,
        /// Jobs that wait or run.
        jobs: usize,
    },
    /// There is no thread, and none could be created.
    #[error("Cannot schedule a task: failed to start the thread: {0}")]
    NoThread(std::io::Error),
}

/// The pool. Cheap to clone.
#[derive(Clone)]
pub struct ThreadPool {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    limits: ThreadPoolLimits,
    job_arrived: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<(Job, Instant)>,
    threads: usize,
    /// Threads that wait for a job.
    idle: usize,
    /// Threads that are being created; each will take a job.
    starting: usize,
}

impl ThreadPool {
    /// A pool without threads.
    pub fn new(limits: ThreadPoolLimits) -> Self {
        Self { shared: Arc::new(Shared { state: Mutex::default(), limits, job_arrived: Condvar::new() }) }
    }

    /// The process's pool. `limits` count only where this is the first call.
    pub fn global(limits: ThreadPoolLimits) -> &'static Self {
        static POOL: OnceLock<ThreadPool> = OnceLock::new();
        POOL.get_or_init(|| Self::new(limits))
    }

    /// Runs a job on a thread of the pool, creating one where none is idle.
    ///
    /// # Errors
    /// [`ScheduleError`]; the job is then not kept.
    pub fn schedule(&self, job: impl FnOnce() + Send + 'static) -> Result<(), ScheduleError> {
        let waited_from = Instant::now();
        let mut state = self.shared.state.lock();
        GLOBAL.add(ProfileEvent::GlobalThreadPoolLockWaitMicroseconds, waited_from.elapsed().as_micros() as u64);
        let running = state.threads - state.idle;
        let jobs = state.jobs.len() + running;
        if jobs >= self.shared.limits.jobs_max {
            return Err(ScheduleError::QueueFull { threads: state.threads, jobs });
        }
        state.jobs.push_back((Box::new(job), Instant::now()));
        let needs_thread = state.jobs.len() > state.idle + state.starting
            && state.threads + state.starting < self.shared.limits.threads_max;
        if needs_thread {
            state.starting += 1;
        }
        drop(state);
        GLOBAL.add(ProfileEvent::GlobalThreadPoolJobs, 1);
        CurrentMetric::GlobalThreadScheduled.add(1);
        self.shared.job_arrived.notify_one();
        if needs_thread { self.start_thread() } else { Ok(()) }
    }

    /// Creates a thread; the lock is not held meanwhile, so a slow creation delays nobody else's job.
    fn start_thread(&self) -> Result<(), ScheduleError> {
        let shared = self.shared.clone();
        let begun = Instant::now();
        let result =
            std::thread::Builder::new().name("ThreadPool".into()).stack_size(STACK_BYTES).spawn(move || shared.run());
        GLOBAL.add(ProfileEvent::GlobalThreadPoolThreadCreationMicroseconds, begun.elapsed().as_micros() as u64);
        match result {
            Ok(_) => {
                GLOBAL.add(ProfileEvent::GlobalThreadPoolExpansions, 1);
                Ok(())
            }
            Err(error) => {
                let mut state = self.shared.state.lock();
                state.starting -= 1;
                // With any thread alive the job will be run by it; with none it must be given back.
                if state.threads + state.starting == 0 && state.jobs.pop_back().is_some() {
                    CurrentMetric::GlobalThreadScheduled.add(-1);
                    return Err(ScheduleError::NoThread(error));
                }
                Ok(())
            }
        }
    }

    /// Threads of the pool now.
    pub fn threads(&self) -> usize {
        self.shared.state.lock().threads
    }
}

impl Shared {
    /// A thread's life: take jobs until too many threads are idle.
    fn run(&self) {
        let _thread = CurrentMetric::GlobalThread.hold(1);
        let mut state = self.state.lock();
        state.starting -= 1;
        state.threads += 1;
        loop {
            if let Some((job, scheduled)) = state.jobs.pop_front() {
                drop(state);
                let waited_us = scheduled.elapsed().as_micros() as u64;
                GLOBAL.add(ProfileEvent::GlobalThreadPoolJobWaitTimeMicroseconds, waited_us);
                {
                    let _active = CurrentMetric::GlobalThreadActive.hold(1);
                    // A job that panics has lost its own work only; the hook has printed the panic.
                    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
                }
                CurrentMetric::GlobalThreadScheduled.add(-1);
                state = self.state.lock();
                continue;
            }
            if state.idle >= self.limits.free_threads_max {
                break;
            }
            state.idle += 1;
            // Threads beyond a handful leave after a minute without work; a notification is never lost, since the queue is
            // looked at under the lock before each wait.
            let timed_out = self.job_arrived.wait_for(&mut state, Duration::from_secs(60)).timed_out();
            state.idle -= 1;
            if timed_out && state.jobs.is_empty() && state.threads > 1 {
                break;
            }
        }
        state.threads -= 1;
        GLOBAL.add(ProfileEvent::GlobalThreadPoolShrinks, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn every_job_runs_once_and_in_order_on_one_thread() {
        let pool = ThreadPool::new(ThreadPoolLimits { threads_max: 1, free_threads_max: 1, jobs_max: 1000 });
        let (sender, receiver) = mpsc::channel();
        for number in 0..500 {
            let sender = sender.clone();
            pool.schedule(move || sender.send(number).unwrap()).unwrap();
        }
        drop(sender);
        assert_eq!(receiver.iter().collect::<Vec<_>>(), (0..500).collect::<Vec<_>>());
        assert_eq!(pool.threads(), 1);
    }

    #[test]
    fn jobs_that_wait_for_each_other_all_get_threads() {
        let pool = ThreadPool::new(ThreadPoolLimits { threads_max: 8, free_threads_max: 8, jobs_max: 8 });
        let barrier = Arc::new(std::sync::Barrier::new(9));
        for _ in 0..8 {
            let barrier = barrier.clone();
            pool.schedule(move || {
                barrier.wait();
            })
            .unwrap();
        }
        barrier.wait();
    }

    #[test]
    fn a_full_queue_is_an_error() {
        let pool = ThreadPool::new(ThreadPoolLimits { threads_max: 1, free_threads_max: 1, jobs_max: 2 });
        let (release, held) = mpsc::channel::<()>();
        let (started, has_started) = mpsc::channel();
        pool.schedule(move || {
            started.send(()).unwrap();
            let _ = held.recv();
        })
        .unwrap();
        has_started.recv().unwrap();
        pool.schedule(|| ()).unwrap();
        assert!(matches!(pool.schedule(|| ()), Err(ScheduleError::QueueFull { threads: 1, jobs: 2 })));
        release.send(()).unwrap();
    }

    #[test]
    fn a_panic_costs_only_its_own_job() {
        let pool = ThreadPool::new(ThreadPoolLimits { threads_max: 1, free_threads_max: 1, jobs_max: 10 });
        let (sender, receiver) = mpsc::channel();
        pool.schedule(|| panic!("this job panics on purpose")).unwrap();
        pool.schedule(move || sender.send(1).unwrap()).unwrap();
        assert_eq!(receiver.recv(), Ok(1));
    }
}
