//! Decides which query's morsel runs next on which worker. The deciding code ([`admission`], [`policy`], [`morsel_size`]) is pure:
//! events and times go in, decisions come out. [`scheduler`] carries decisions out on threads. Knows nothing of SQL
//! and of blocks: a query is a [`Task`].

pub mod admission;
pub mod morsel_size;
pub mod policy;
mod query_threads;
pub mod scheduler;
#[cfg(not(loom))]
pub mod simulator;
mod steps;
mod sync;
pub mod task;
pub mod thread_budget;
pub mod weight;
mod workers;

pub use morsel_size::MorselSizer;
pub use policy::PolicyKind;
pub use scheduler::{Scheduler, SchedulerOptions, TaskHandle};
pub use steps::Outcome;
pub use task::{MORSEL_TARGET, Step, Task, TaskOptions};
pub use thread_budget::ThreadBudget;
pub use weight::{CpuShare, Weight};
pub use workers::WorkerStep;

#[cfg(all(test, loom))]
mod model;
