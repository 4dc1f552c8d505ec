//! The number of distinct values, exact and estimated, and the sets behind it.

pub(super) mod distinct_paths;
pub(crate) mod group_bitmap;
mod growing_integers;
pub(super) mod hash_set;
pub(super) mod hyper_log_log;
pub(super) mod key_bag;
pub(super) mod parted;
pub(super) mod small_set;
pub(super) mod uniq;
pub(super) mod uniq_exact;
pub(super) mod uniq_up_to;
