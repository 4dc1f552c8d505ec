//! The primitives that a pool is made of. The model checker (`tests/thread_pool_model.rs`) compiles the pool over its own ones.

pub(crate) use std::thread::{Thread, current, park, park_timeout};

pub(crate) use parking_lot::{Mutex, MutexGuard};
