//! Column chunks as new parts have them: how types lie in Parquet, and what encodes and compresses the values.

pub(super) mod column_chunk;
mod deltas;
pub(super) mod dictionary_chunk;
pub(super) mod key_runs;
pub(super) mod lz4_block;
pub(super) mod packing;
pub(super) mod parquet_layout;
pub(super) mod string_chunk;
pub(super) mod value_chunk;
