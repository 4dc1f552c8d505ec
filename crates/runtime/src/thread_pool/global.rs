//! The pool of operating system threads. What blocks runs here: fetching from disk, committing, the threads of `fixed_at_start`
//! queries, and the local pools.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::driver::{Body, Driver, JobOptions, ScheduleError, Spawn};
use super::limits::ThreadPoolLimits;
use super::meter::{GLOBAL_METER, Owner};
use super::stacks;
use crate::thread_attributes::{ThreadKind, set_thread_kind};

/// How long an idle thread beyond `max_thread_pool_free_size` waits to be wanted. Load comes in waves: the threads of the last one
/// are there for the next, and an hour of quiet does not keep them.
const LINGER: Duration = Duration::from_secs(30);

/// A pool of threads. Cheap to clone; when the last handle is dropped, the jobs that were taken are run and the threads leave.
#[derive(Clone)]
pub struct ThreadPool {
    handle: Arc<Handle>,
}

struct Handle(Arc<Driver<SystemThreads>>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Threads of the operating system.
struct SystemThreads;

impl Spawn for SystemThreads {
    fn spawn(&self, _: Option<&Owner>, body: Body) -> Result<(), ScheduleError> {
        let body = || {
            set_thread_kind(ThreadKind::Pool);
            body();
        };
        stacks::spawn(Box::new(body)).map_err(ScheduleError::NoThread)
    }
}

impl ThreadPool {
    /// A pool without threads.
    pub fn new(limits: ThreadPoolLimits) -> Self {
        Self { handle: Arc::new(Handle(Driver::new(limits, SystemThreads, &GLOBAL_METER, LINGER, true))) }
    }

    /// The process's pool, within ClickHouse's default limits until they are set.
    pub fn global() -> &'static Self {
        static POOL: OnceLock<ThreadPool> = OnceLock::new();
        POOL.get_or_init(|| Self::new(ThreadPoolLimits::default()))
    }

    /// Runs a job on a thread of the pool, creating one where none is idle.
    ///
    /// # Errors
    /// [`ScheduleError`]; the job is then dropped and never runs.
    pub fn schedule(&self, job: impl FnOnce() + Send + 'static) -> Result<(), ScheduleError> {
        self.schedule_with(JobOptions::default(), job)
    }

    /// [`ThreadPool::schedule`] with a priority, and for a query.
    ///
    /// # Errors
    /// [`ScheduleError`]; the job is then dropped and never runs.
    pub fn schedule_with(&self, options: JobOptions, job: impl FnOnce() + Send + 'static) -> Result<(), ScheduleError> {
        self.handle.0.schedule(options, job)
    }

    /// Changes the limits from now on. Nothing that runs or waits is touched; threads that are too many leave when they are idle.
    ///
    /// # Errors
    /// Where jobs wait that may have more threads now, and these cannot be created. The limits hold all the same.
    pub fn set_limits(&self, limits: ThreadPoolLimits) -> Result<(), ScheduleError> {
        self.handle.0.set_limits(limits)
    }

    /// The limits in force.
    pub fn limits(&self) -> ThreadPoolLimits {
        self.handle.0.limits()
    }

    /// Threads of the pool now, with those that are being created.
    pub fn threads(&self) -> usize {
        self.handle.0.threads()
    }

    #[cfg(test)]
    pub(super) fn driver(&self) -> Arc<Driver<impl Spawn + use<>>> {
        self.handle.0.clone()
    }
}
