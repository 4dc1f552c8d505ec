//! Physical execution: pipelines of sources, operators and sinks, run morsel by morsel by the scheduler's workers. Knows plans and
//! tables; knows neither SQL text nor protocols.

mod aggregate;
mod builder;
mod common_rows;
pub mod engine;
mod execution;
mod fill;
mod insert;
mod join;
mod late_columns;
#[cfg(test)]
mod model;
mod operator;
mod output;
mod pipeline;
pub mod query_context;
mod sink;
mod size_limit;
mod sort;
mod source;
mod spill;
mod step_profile;
mod stream;
mod sync;
#[cfg(test)]
mod test_columns;
mod thread_work;
mod totals;
mod units;
mod waiting;
mod window;
mod works;

pub use engine::Engine;
pub use query_context::{Check, OutsideLimit, Progress, QueryContext};
pub use spill::{SpillFile, SpillKind, TemporaryFolder};
pub use step_profile::{PlanProfile, StepFigures};
pub use stream::{Completion, Helpers, InsertStream, QueryStream, Spawned};
pub use thread_work::{ThreadProgress, ThreadWork};
pub use waiting::wake_waiting;
