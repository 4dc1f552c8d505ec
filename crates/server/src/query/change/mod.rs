//! Statements that change rows and parts of tables.

pub(super) mod alter;
mod alteration;
pub(super) mod check;
pub(super) mod deduplicate;
pub(super) mod lake;
pub(super) mod mutated;
pub(super) mod mutation;
pub(super) mod optimize;
pub(super) mod partition;
pub(super) mod pending_mutation;
pub(super) mod refresh;
pub(super) mod ttl;
