//! Statements of operators and about other statements.

pub(super) mod backup;
pub(super) mod execute_as;
pub(super) mod explain;
pub(super) mod kill;
pub(super) mod parallel;
pub(super) mod system_command;
