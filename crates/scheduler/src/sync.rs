//! What the concurrent code of this crate is written over: atomics, a lock, parked threads and clocks. Under `--cfg loom` these are
//! loom's, so that the model tests explore every interleaving of the very code that runs; time stands still there.

#[cfg(not(loom))]
mod real {
    pub(crate) use parking_lot::{Mutex, MutexGuard};
    pub(crate) use std::sync::atomic;
    pub(crate) use std::thread::{Thread, current, park};
    use std::time::{Duration, Instant};

    /// Parks for at most so long; true where that time is over.
    pub(crate) fn park_timeout(timeout: Duration) -> bool {
        let parked = Instant::now();
        std::thread::park_timeout(timeout);
        parked.elapsed() >= timeout
    }

    /// Time since the clock was made.
    #[derive(Debug)]
    pub(crate) struct Clock(Instant);

    impl Clock {
        pub(crate) fn new() -> Self {
            Self(Instant::now())
        }

        pub(crate) fn now_ns(&self) -> u64 {
            self.0.elapsed().as_nanos() as u64
        }
    }

    pub(crate) use squall_runtime::thread_usage::thread_cpu_ns;
}

#[cfg(loom)]
mod model {
    pub(crate) use loom::sync::{MutexGuard, atomic};
    pub(crate) use loom::thread::{Thread, current, park};
    use std::time::Duration;

    /// loom's lock without poisoning.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
        }
    }

    /// The model waits for ever: a wake-up that is lost is a deadlock, which loom reports.
    pub(crate) fn park_timeout(_: Duration) -> bool {
        park();
        false
    }

    #[derive(Debug)]
    pub(crate) struct Clock;

    impl Clock {
        pub(crate) fn new() -> Self {
            Self
        }

        pub(crate) fn now_ns(&self) -> u64 {
            0
        }
    }

    /// Every morsel takes none.
    pub(crate) fn thread_cpu_ns() -> u64 {
        0
    }
}

#[cfg(loom)]
pub(crate) use model::*;
#[cfg(not(loom))]
pub(crate) use real::*;
