//! Pools of threads for jobs that may block: fetching from disk, committing, the threads of `fixed_at_start` queries. A [`ThreadPool`]
//! creates threads, outside its lock; a [`LocalThreadPool`] borrows them for one purpose. The scheduler's workers run no jobs of these.
//!
//! Both are one machine: `state` decides, `driver` carries out, `queue` orders the jobs. The model checker
//! (`tests/thread_pool_model.rs`) runs this very source.

mod driver;
mod global;
mod limits;
mod local;
mod meter;
mod queue;
mod state;
mod sync;

pub use driver::{JobOptions, ScheduleError};
pub use global::{STACK_BYTES, ThreadPool};
pub use limits::ThreadPoolLimits;
pub use local::LocalThreadPool;
pub use meter::{CountFor, Owner};
pub use queue::Priority;

#[cfg(test)]
mod tests;
