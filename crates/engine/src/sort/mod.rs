//! ORDER BY: keys as comparable bytes. Each block is sorted as it comes; when all have come, the rows are cut into ranges of keys, and
//! each range is merged on its own, from all blocks. What does not fit into memory lies on disk as sorted runs, cut into small blocks,
//! which a range reads as it needs them. With a LIMIT only the first rows are kept, and rows that cannot be among them are dropped as they
//! come.
//!
//! - [`order`]: what is sorted by.
//! - [`keys`], [`key_words`]: keys as bytes and, of numbers, as numbers; [`row_keys`]: those of a block.
//! - [`piece`]: a sorted block.
//! - [`merge`]: the rows of a range in order, by a [`radix`] sort.
//! - [`run`]: pieces on disk.
//! - [`range`]: the ranges, and their parallel merge.
//! - [`sink`]: each worker's pieces.
//! - [`top`]: the first rows of pieces.

mod entry;
mod key_words;
pub(crate) mod keys;
mod merge;
pub(crate) mod order;
mod piece;
mod radix;
pub(crate) mod range;
pub(crate) mod row_keys;
mod run;
pub(crate) mod sink;
mod top;
