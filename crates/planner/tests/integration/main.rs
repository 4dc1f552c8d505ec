//! The tests of the crate's interface, as one program: every further program would link the crate and all below it once more.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a failure here is a failing test")]

mod analyzer;
mod definitions;
mod limits;
mod not_implemented;
mod rules;
mod support;
