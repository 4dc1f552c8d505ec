//! What the engine's protocols between threads are written over: atomics, a lock, threads that park. In tests each of these is
//! shuttle's where `model.rs` makes it, so that the very code that queries run is run under thousands of interleavings.

#[cfg(not(test))]
mod real {
    pub(crate) use parking_lot::{Mutex, MutexGuard};
    pub(crate) use std::sync::atomic;
    pub(crate) use std::thread::{Thread, current};
}

#[cfg(test)]
mod checked;

#[cfg(test)]
pub(crate) use checked::*;
#[cfg(not(test))]
pub(crate) use real::*;
