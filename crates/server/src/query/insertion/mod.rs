//! INSERT: where rows come from, what views make of them, and where they go.

pub(super) mod async_insert;
pub(super) mod cascade;
pub(super) mod data_reader;
pub(super) mod input;
pub(super) mod insert;
pub(super) mod insert_id;
pub(super) mod insert_sink;
pub(super) mod insert_target;
pub(super) mod omitted;
mod spool;
mod structure;
