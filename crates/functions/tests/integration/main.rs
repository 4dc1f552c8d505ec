//! The tests of the crate's interface, as one program: every further program would link the crate and all below it once more.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a failure here is a failing test")]

mod aggregate_cut;
mod aggregate_split;
mod aggregate_states;
mod aggregates;
mod expectations;
mod expressions;
mod held_rows;
