//! Grouping and aggregation: thread-local tables, then a parallel merge by partition of the keys' hashes.
//!
//! - [`input`]: what is computed before, because it may be much.
//! - [`key_table`]: which group a row belongs to, specialised by the width of the keys; [`row_key`]: several keys as bytes.
//! - [`short_key`]: keys of a few bytes as integers; [`lookup_keys`]: those of some rows with their hashes.
//! - [`packed_key`]: numbers that keys are packed into; [`interned_table`]: strings as numbers.
//! - [`key_reader`]: how key columns become bytes that are looked up.
//! - [`bounds`]: between which numbers a key lies.
//! - [`slots`]: where a hash table looks a key up.
//! - [`sink`]: each worker's table and accumulators.
//! - [`merge`]: what happens when all rows have come.
//! - [`top_groups`]: what happens where only the first of them are wanted.
//! - [`few_groups`]: what happens where any few of them do.
//! - [`frequent_keys`]: what happens where those with the most rows do; [`key_buckets`]: where their rows are counted; [`key_hashes`]: by which
//!   hashes.
//! - [`groups`]: keys and states together; [`expected_groups`]: how many there will be.
//! - [`partitions`]: rows and groups that are put aside, where groups are many; [`input_rows`]: the rows; [`row_places`]: how they get there;
//!   [`subpartitions`]: partitions that are too large.
//! - [`large`]: states that several workers merge together.
//! - [`spilled`]: groups that do not fit into memory.

mod arena;
pub(crate) mod bounds;
pub(crate) mod bytes_table;
mod coded_keys;
pub(crate) mod dictionary_table;
pub(crate) mod direct_table;
mod expected_groups;
pub(crate) mod few_groups;
pub(crate) mod fixed_table;
pub(crate) mod frequent_keys;
mod groups;
pub(crate) mod input;
mod input_rows;
pub(crate) mod interned_table;
mod key_buckets;
mod key_codes;
mod key_hashes;
mod key_reader;
pub(crate) mod key_table;
mod large;
mod lookup_keys;
pub(crate) mod merge;
mod packed_key;
mod partitions;
mod row_key;
mod row_places;
mod short_key;
pub(crate) mod sink;
mod slots;
pub(crate) mod spilled;
mod subpartitions;
#[cfg(test)]
mod test_groups;
pub(crate) mod top_groups;
