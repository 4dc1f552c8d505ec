//! Hostile bytes for everything that reads bytes: the targets, what makes inputs of their corpora, and what runs them. Inputs are a function of
//! the target, the seed and what the program under test did, so that a run can be repeated.

pub mod coverage;
pub mod mutator;
pub mod runner;
pub mod targets;
