//! Grouping and aggregation: thread-local tables, then a parallel merge by partition of the keys' hashes.
//!
//! - [`input`]: what is computed before, because it may be much.
//! - [`key_table`]: which group a row belongs to, specialised by the width of the keys.
//! - [`sink`]: each worker's table and accumulators.
//! - [`merge`]: what happens when all rows have come.
//! - [`large`]: states that several workers merge together.
//! - [`spilled`]: groups that do not fit into memory.

pub(crate) mod bytes_table;
pub(crate) mod dictionary_table;
pub(crate) mod direct_table;
pub(crate) mod fixed_table;
pub(crate) mod input;
pub(crate) mod key_table;
mod large;
pub(crate) mod merge;
pub(crate) mod sink;
pub(crate) mod spilled;
