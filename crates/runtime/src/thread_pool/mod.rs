//! Pools of threads for jobs that may block: fetching from disk, committing, the threads of `fixed_at_start` queries. A [`ThreadPool`]
//! creates threads, outside its lock; a [`LocalThreadPool`] borrows them for one purpose. The scheduler's workers run no jobs of these.
//!
//! Both are one machine: `state` decides, `driver` carries out, `queue` orders the jobs, `stacks` makes the threads. The model checker
//! (`tests/thread_pool_model.rs`) runs this very source; `benches/thread_pool` runs the fault of document 002 beside it; `docs/idle_threads.md`
//! tells what the metrics say.

mod driver;
mod global;
mod limits;
mod local;
mod meter;
mod queue;
mod stacks;
mod state;
mod sync;

pub use driver::{JobOptions, ScheduleError};
pub use global::ThreadPool;
pub use limits::ThreadPoolLimits;
pub use local::LocalThreadPool;
pub use meter::{CountFor, Owner};
pub use queue::Priority;
pub use stacks::STACK_BYTES;

#[cfg(test)]
mod tests;
