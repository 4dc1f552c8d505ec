//! Merges: which parts, by which rule, and how the part that comes of them is made.

pub(super) mod merge_control;
pub(super) mod merge_kind;
pub(super) mod merge_rule;
pub(super) mod merge_selection;
pub(super) mod merged_part;
pub(super) mod merged_rows;
pub(super) mod merging;
mod replacement_writer;
pub(super) mod rewrite;
pub(super) mod whole_keys;
