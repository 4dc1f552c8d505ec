//! How large a pool may get. Changing limits while jobs run is `state`'s business.

/// The limits of a pool. A pool takes them as [`ThreadPoolLimits::sane`] makes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadPoolLimits {
    /// `max_thread_pool_size`: threads at most, at least 1.
    pub threads_max: usize,
    /// `max_thread_pool_free_size`: idle threads that are kept for good. Those beyond leave once they have not been wanted for a
    /// while.
    pub free_threads_max: usize,
    /// `thread_pool_queue_size`: jobs that wait or run at most; 0 is unlimited.
    pub jobs_max: usize,
}

impl Default for ThreadPoolLimits {
    /// ClickHouse's defaults.
    fn default() -> Self {
        Self { threads_max: 10_000, free_threads_max: 1_000, jobs_max: 10_000 }
    }
}

impl ThreadPoolLimits {
    /// The same without contradictions: there may be one thread, no more idle threads than threads, and a job for each thread.
    #[must_use]
    pub fn sane(self) -> Self {
        let threads_max = self.threads_max.max(1);
        Self {
            threads_max,
            free_threads_max: self.free_threads_max.min(threads_max),
            jobs_max: match self.jobs_max {
                0 => usize::MAX,
                jobs => jobs.max(threads_max),
            },
        }
    }
}
