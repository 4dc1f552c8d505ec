//! What the engine's protocols between threads are written over: atomics, a lock, threads that park. With the feature `model` these
//! are shuttle's, so that `model.rs` runs the very code that queries run under thousands of interleavings.

#[cfg(not(feature = "model"))]
mod real {
    pub(crate) use parking_lot::{Mutex, MutexGuard};
    pub(crate) use std::sync::atomic;
    pub(crate) use std::thread::{Thread, current};
}

#[cfg(feature = "model")]
mod model {
    pub(crate) use shuttle::sync::{MutexGuard, atomic};
    pub(crate) use shuttle::thread::{Thread, current};

    /// shuttle's lock, never poisoned, as the real one.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
        }
    }
}

#[cfg(feature = "model")]
pub(crate) use model::*;
#[cfg(not(feature = "model"))]
pub(crate) use real::*;
