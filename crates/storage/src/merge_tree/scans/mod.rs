//! Scans: which rows of which parts they look at, and how these are read.

pub(super) mod chunk_decoder;
mod chunk_rows;
pub(super) mod cold_scan;
pub(super) mod final_scan;
pub(super) mod hot_scan;
pub(super) mod index_use;
pub(super) mod indexed_scan;
mod key_ranges;
pub(super) mod key_search;
mod learning;
pub(super) mod mapped_scan;
pub(super) mod origin;
mod prewhere_piece;
mod prewhere_scan;
mod prewhere_steps;
pub(super) mod pruning;
mod retention;
pub(super) mod row_places;
pub(super) mod zone_map;
