//! What scans found out about conditions and keep for later ones: ClickHouse's query condition cache. A part remembers by
//! [`ConditionKey`] which of its granules hold no row that meets a condition; `condition_cache` bounds what all parts remember.

mod condition_cache;
mod condition_key;
mod granules;
mod known_granules;
mod part_conditions;
mod tested_granules;

pub use condition_cache::{
    ConditionCacheEntry, clear_condition_cache, condition_cache_entries, set_condition_cache_size,
};
pub(crate) use condition_key::ConditionKey;
pub(in crate::merge_tree) use part_conditions::{PartConditions, without_known};
pub(in crate::merge_tree) use tested_granules::TestedGranules;
