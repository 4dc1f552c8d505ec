//! What the scheduler runs: a task is one query (or one piece of background work), a step of it is one morsel.

use std::sync::Arc;
use std::time::Duration;

use squall_runtime::thread_pool::{Owner, ScheduleError};
use squall_runtime::{ProfileEvent, profile_events};

use crate::weight::Weight;

/// How long a morsel should run.
pub const MORSEL_TARGET: Duration = Duration::from_micros(1_500);

/// A query as the scheduler sees it. Several workers call [`Task::run`] at once.
pub trait Task: Send + Sync {
    /// Runs one morsel that should take about `target`. Must not panic and must not wait for anything.
    fn run(&self, target: Duration) -> Step;

    /// The id of the query that it is, for `system.scheduler`.
    fn query_id(&self) -> Arc<str> {
        Arc::default()
    }

    /// No thread could be had for it: it ends with this error, and is not run.
    fn refuse(&self, error: &ScheduleError);

    /// The query that the events of its own threads are counted for.
    fn owner(&self) -> Option<Owner> {
        None
    }

    /// Something that the scheduler counts happened to this task.
    fn count(&self, event: ProfileEvent, amount: u64) {
        profile_events::GLOBAL.add(event, amount);
    }
}

/// What came of one call of [`Task::run`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A morsel was run; there may be more.
    Worked,
    /// There is no morsel that this worker could run now. [`crate::TaskHandle::wake`] is called when there may be one again.
    Idle,
    /// The task is done: it is not run again. Every worker that still comes is told so.
    Finished,
}

/// What a task may have.
#[derive(Clone, Debug)]
pub struct TaskOptions {
    /// `max_threads`: workers at once, at least 1.
    pub workers_max: usize,
    /// Threads that the plan can use; policies that bind threads to queries grant no more.
    pub workers_recommended: usize,
    /// Share relative to other tasks; 1.0 is a query of ordinary priority.
    pub weight: Weight,
    /// The setting of that name: whether the task's threads are counted and limited, where threads are bound to queries.
    pub use_concurrency_control: bool,
}

impl Default for TaskOptions {
    fn default() -> Self {
        Self { workers_max: 1, workers_recommended: 1, weight: 1.0.into(), use_concurrency_control: true }
    }
}

impl TaskOptions {
    /// The weight of ClickHouse's `priority` setting: 1 is highest, larger numbers are lower, 0 takes no part in priorities.
    pub fn weight_of_priority(priority: u64) -> f64 {
        match priority {
            0 | 1 => 1.0,
            lower => 1.0 / lower as f64,
        }
    }
}
