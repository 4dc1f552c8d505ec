//! The tests of the crate's interface, as one program: every further program would link the crate and all below it once more.

#![allow(clippy::unwrap_used, reason = "a failure here is a failing test")]

mod coded;
mod sparse;
