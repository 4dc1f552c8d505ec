//! What all parts remember of conditions, bounded. An entry that nobody has asked for since the clock's hand last came by goes first.
//!
//! Source: Corbató, *A Paging Experiment with the Multics System*, 1968 (CLOCK).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use squall_runtime::CurrentMetric;

use super::known_granules::KnownGranules;
use super::{ConditionKey, PartConditions};

/// What all parts may remember, in bytes: ClickHouse's default.
static BYTES_MAX: AtomicUsize = AtomicUsize::new(100 << 20);

/// What they do remember, in bytes.
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Entries in the order in which the clock's hand comes to them. Those of parts that are gone are passed over.
static CLOCK: Mutex<Clock> = Mutex::new(Clock { entries: VecDeque::new() });

/// What the place of an entry in the maps and in the clock takes, about.
const PLACE_BYTES: usize = 128;

struct Clock {
    entries: VecDeque<(Weak<PartConditions>, ConditionKey)>,
}

/// Takes note of entries that have come, or gone where the numbers are negative.
pub(super) fn count(bytes: i64, entries: i64) {
    match usize::try_from(bytes) {
        Ok(more) => BYTES.fetch_add(more, Ordering::Relaxed),
        Err(_) => BYTES.fetch_sub(bytes.unsigned_abs() as usize, Ordering::Relaxed),
    };
    CurrentMetric::QueryConditionCacheBytes.add(bytes);
    CurrentMetric::QueryConditionCacheEntries.add(entries);
}

/// Sets how many bytes all parts together may remember of conditions (`query_condition_cache_size`).
pub fn set_condition_cache_size(bytes: usize) {
    BYTES_MAX.store(bytes, Ordering::Relaxed);
    CLOCK.lock().shrink();
}

/// An entry, for `system.query_condition_cache`.
#[derive(Clone, Debug)]
pub struct ConditionCacheEntry {
    /// The hash of the part and the condition.
    pub key_hash: u128,
    /// Bytes that it takes.
    pub entry_size: u64,
    /// A `1` for each granule that may hold a match, and a `0` for each that does not.
    pub matching_marks: String,
}

/// Has a part remember what a scan has found.
pub(super) fn remember(part: &Arc<PartConditions>, key: ConditionKey, found: KnownGranules) {
    if BYTES_MAX.load(Ordering::Relaxed) == 0 {
        return;
    }
    let mut clock = CLOCK.lock();
    let mut known = part.known.lock();
    let before = known.get(&key).cloned();
    let found = match &before {
        Some(before) => before.and(&found),
        None => found,
    };
    let bytes = bytes_of(&found);
    known.insert(key, Arc::new(found));
    drop(known);
    match before {
        Some(before) => count(bytes as i64 - bytes_of(&before) as i64, 0),
        None => {
            clock.entries.push_back((Arc::downgrade(part), key));
            count(bytes as i64, 1);
        }
    }
    clock.shrink();
}

/// Has all parts forget what they remember of conditions.
pub fn clear_condition_cache() {
    let mut clock = CLOCK.lock();
    while clock.drop_first(true) {}
}

/// All that parts remember of conditions.
pub fn condition_cache_entries() -> Vec<ConditionCacheEntry> {
    let clock = CLOCK.lock();
    let parts = clock.entries.iter().filter_map(|(part, key)| Some((part.upgrade()?, *key)));
    let entry = |(part, key): (Arc<PartConditions>, ConditionKey)| {
        let known = part.get(key)?;
        Some(ConditionCacheEntry {
            key_hash: key.0 ^ part.hash,
            entry_size: bytes_of(&known) as u64,
            matching_marks: known.marks(),
        })
    };
    parts.filter_map(entry).collect()
}

/// What an entry takes.
pub(super) fn bytes_of(known: &KnownGranules) -> usize {
    known.bytes() + PLACE_BYTES
}

impl Clock {
    fn shrink(&mut self) {
        let bytes_max = BYTES_MAX.load(Ordering::Relaxed);
        // Entries of parts that are gone still have their places.
        while BYTES.load(Ordering::Relaxed) > bytes_max || self.entries.len() * PLACE_BYTES > bytes_max {
            if !self.drop_first(false) {
                break;
            }
        }
    }

    /// Forgets the first entry; one that was used goes to the end instead, unless `all` go. Whether there was any.
    fn drop_first(&mut self, all: bool) -> bool {
        let Some((part, key)) = self.entries.pop_front() else { return false };
        let Some(part) = part.upgrade() else { return true };
        let mut known = part.known.lock();
        let Some(entry) = known.get(&key) else { return true };
        if !all && entry.was_used.swap(false, Ordering::Relaxed) {
            drop(known);
            self.entries.push_back((Arc::downgrade(&part), key));
            return true;
        }
        let bytes = bytes_of(entry);
        known.remove(&key);
        drop(known);
        count(-(bytes as i64), -1);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn known(granules: usize) -> KnownGranules {
        KnownGranules::new(granules, |granule| granule % 3 == 0, false)
    }

    #[test]
    fn what_is_asked_for_stays_and_what_is_known_adds_up() {
        set_condition_cache_size(40_000);
        let part = PartConditions::new(Path::new("a"));
        for key in 0..1_000 {
            remember(&part, ConditionKey(key), known(64));
            if let Some(first) = part.get(ConditionKey(0)) {
                first.was_used.store(true, Ordering::Relaxed);
            }
        }
        assert!(part.get(ConditionKey(0)).is_some() && part.get(ConditionKey(999)).is_some());
        assert!(part.get(ConditionKey(1)).is_none());
        assert!(BYTES.load(Ordering::Relaxed) <= 40_000);
        remember(&part, ConditionKey(0), KnownGranules::new(64, |granule| granule == 1, false));
        let both = part.get(ConditionKey(0)).unwrap();
        assert!(both.marks().starts_with("0010110110"), "{}", both.marks());
        let other = PartConditions::new(Path::new("b"));
        remember(&other, ConditionKey(7), known(1));
        assert!(condition_cache_entries().iter().any(|entry| entry.matching_marks == "0"));
        drop(part);
        assert_eq!(condition_cache_entries().len(), 1);
        clear_condition_cache();
        assert!(condition_cache_entries().is_empty() && other.get(ConditionKey(7)).is_none());
        assert_eq!(BYTES.load(Ordering::Relaxed), 0);
    }
}
