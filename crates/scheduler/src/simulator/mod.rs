//! The simulator: the deciding code of this crate (`policy::stride` with its leases, `policy::slots` with its policies, morsel sizes)
//! under virtual time on virtual cores. Deterministic from a seed; invariants are checked at every step. What things cost is
//! written down, with what it was calibrated on, in docs/simulator.md.

mod machine;
pub mod measured_machine;
mod outcome;
mod query;
mod random;
mod random_workload;
mod simulation;
mod threads;
mod workers;
pub mod workload;

pub use outcome::{ClassOutcome, Outcome, Violation};
pub use random_workload::random_workload;
pub use simulation::{SimulationError, simulate};
pub use workload::{MachineOptions, QueryClass, RunOptions, SchedulerConfig, Workload, WorkloadError};
