//! The tests of the crate's interface, as one program: every further program would link the crate and all below it once more.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a failure here is a failing test")]

mod arrow;
mod common;
mod golden;
mod malformed;
mod native_sparse;
#[cfg(feature = "orc")]
mod orc;
mod parquet_hostile;
#[cfg(feature = "protobuf")]
mod protobuf;
