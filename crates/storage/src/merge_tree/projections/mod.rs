//! Projections of a table, and what parts have of them.

pub(super) mod projected;
pub(super) mod projection;
pub(super) mod projection_builder;
