//! Counts by keys, for tests of what groups go through.

use std::collections::BTreeMap;

use squall_types::{DataType, Value};

use super::bounds::Bounds;
use super::groups::Groups;
use super::key_table::KeyKind;
use super::sink::Grouping;

/// A count by keys of these types.
pub(super) fn count_by(key_types: Vec<DataType>) -> Grouping {
    let kind = KeyKind::of(&key_types, Bounds::default());
    let (keys, calls) = (Vec::new(), Vec::new());
    Grouping { keys, key_types, kind, calls, existence: Some(0), with_totals: false, sets: None }
}

/// Adds what was counted by the first key, each of which must be new.
pub(super) fn take_counts(groups: Groups, found: &mut BTreeMap<String, u64>) {
    let count = groups.len();
    let keys = groups.table.columns(0..count).unwrap().remove(0);
    let counts = groups.accumulators.into_iter().next().unwrap().finish(count).unwrap();
    for row in 0..count {
        let Value::UInt64(rows) = counts.value(row) else { panic!() };
        assert!(found.insert(keys.value(row).to_string(), rows).is_none());
    }
}
