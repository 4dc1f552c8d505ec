//! `system.query_condition_cache`.

use std::sync::Arc;

use squall_storage::{ConditionCacheEntry, Table, condition_cache_entries};
use squall_types::Value;
use squall_types::integer::U256;

use super::table::SystemTable;
use super::value::{number, text};

pub(super) fn query_condition_cache() -> Arc<dyn Table> {
    let table = SystemTable::new("query_condition_cache", || Ok(condition_cache_entries()))
        .column("key_hash", "UInt128", |row: &ConditionCacheEntry| Value::UInt256(Box::new(U256::from(row.key_hash))))
        .column("entry_size", "UInt64", |row| number(row.entry_size))
        .column("matching_marks", "String", |row| text(&row.matching_marks));
    Arc::new(table)
}
