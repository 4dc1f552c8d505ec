//! What the concurrent code of this crate is written over: atomics, a lock, parked threads and clocks. Under `--cfg loom` these are
//! loom's, so that the model tests explore every interleaving of the very code that runs; time passes there when a test says so.

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

    loom::thread_local! {
        static CPU_NS: std::cell::Cell<u64> = std::cell::Cell::new(0);
    }

    /// CPU time that the calling thread has [used](use_cpu).
    pub(crate) fn thread_cpu_ns() -> u64 {
        CPU_NS.with(std::cell::Cell::get)
    }

    /// The calling thread uses so much CPU time.
    pub(crate) fn use_cpu(time: Duration) {
        CPU_NS.with(|cpu_ns| cpu_ns.set(cpu_ns.get() + time.as_nanos() as u64));
    }
}

#[cfg(loom)]
pub(crate) use model::*;
#[cfg(not(loom))]
pub(crate) use real::*;
