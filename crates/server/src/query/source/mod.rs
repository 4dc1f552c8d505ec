//! Tables that are neither storage's nor of `system`: files, other servers, programs, functions.

mod arguments;
pub(super) mod data_function;
mod destination;
pub(super) mod executable;
pub(super) mod file_engine;
pub(super) mod foreign;
pub(super) mod loop_table;
pub(super) mod remote;
pub(super) mod s3;
