//! The tests of the crate's interface, as one program: every further program would link the crate and all below it once more.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    missing_docs,
    reason = "a failure here is a failing test"
)]

mod declared_settings;
mod http;
mod native;
mod running;
mod system_logs;
