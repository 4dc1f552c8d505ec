//! Pools over the global one: a bound on the threads of one purpose (a query, reading from disk) whose threads are jobs of the
//! global pool, borrowed while there is work and given back after it.

use std::sync::Arc;
use std::time::Duration;

use super::driver::{Body, Driver, JobOptions, ScheduleError, Spawn};
use super::global::ThreadPool;
use super::limits::ThreadPoolLimits;
use super::meter::{LOCAL_METER, Owner};
use super::queue::Priority;

/// A pool whose threads are the global pool's. When it is dropped, the jobs that were taken are run and the threads go back.
pub struct LocalThreadPool {
    driver: Arc<Driver<BorrowedThreads>>,
    owner: Option<Owner>,
}

struct BorrowedThreads(ThreadPool);

impl Spawn for BorrowedThreads {
    fn spawn(&self, owner: Option<&Owner>, body: Body) -> Result<(), ScheduleError> {
        self.0.schedule_with(JobOptions { owner: owner.cloned(), ..JobOptions::default() }, body)
    }
}

impl LocalThreadPool {
    /// A pool without threads. One that has nothing to do goes back at once, beyond `free_threads_max` of them.
    pub fn new(global: &ThreadPool, limits: ThreadPoolLimits) -> Self {
        let driver = Driver::new(limits, BorrowedThreads(global.clone()), &LOCAL_METER, Duration::ZERO, false);
        Self { driver, owner: None }
    }

    /// Counts what the pool does for a query.
    #[must_use]
    pub fn for_query(mut self, owner: Owner) -> Self {
        self.owner = Some(owner);
        self
    }

    /// Runs a job on a thread of the pool, borrowing one where none is idle.
    ///
    /// # Errors
    /// [`ScheduleError`], this pool's or the global one's; the job is then dropped and never runs.
    pub fn schedule(&self, job: impl FnOnce() + Send + 'static) -> Result<(), ScheduleError> {
        self.schedule_with(Priority::default(), job)
    }

    /// [`LocalThreadPool::schedule`] with a priority.
    ///
    /// # Errors
    /// [`ScheduleError`], this pool's or the global one's; the job is then dropped and never runs.
    pub fn schedule_with(&self, priority: Priority, job: impl FnOnce() + Send + 'static) -> Result<(), ScheduleError> {
        self.driver.schedule(JobOptions { priority, owner: self.owner.clone() }, job)
    }

    /// Waits until no job waits or runs. Not for jobs of this pool.
    pub fn wait(&self) {
        self.driver.wait();
    }

    /// Threads of the pool now, with those on their way.
    pub fn threads(&self) -> usize {
        self.driver.threads()
    }

    /// Counts the time that running jobs have taken so far; otherwise it is counted when they end. For a query that is about to
    /// tell what it used from within a job.
    pub fn count_busy(&self) {
        self.driver.count_busy(self.owner.as_ref());
    }
}

impl Drop for LocalThreadPool {
    fn drop(&mut self) {
        self.driver.close();
    }
}
