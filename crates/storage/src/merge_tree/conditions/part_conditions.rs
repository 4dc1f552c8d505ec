//! What one part remembers of conditions.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use squall_runtime::ProfileEvent;
use squall_runtime::profile_events;
use twox_hash::XxHash3_128;

use super::ConditionKey;
use super::condition_cache::{bytes_of, count};
use super::granules::Granules;
use super::known_granules::KnownGranules;
use crate::merge_tree::scans::pruning::Segment;

/// What one part remembers.
#[derive(Debug)]
pub(in crate::merge_tree) struct PartConditions {
    /// Of its path.
    pub(super) hash: u128,
    pub(super) known: Mutex<HashMap<ConditionKey, Arc<KnownGranules>>>,
}

impl PartConditions {
    /// Of the part in this file.
    pub(in crate::merge_tree) fn new(path: &Path) -> Arc<Self> {
        let hash = XxHash3_128::oneshot(path.as_os_str().as_encoded_bytes());
        Arc::new(Self { hash, known: Mutex::default() })
    }

    /// What is known of a condition.
    pub(super) fn get(&self, key: ConditionKey) -> Option<Arc<KnownGranules>> {
        self.known.lock().get(&key).cloned()
    }

    /// Whether it is known that nobody need find out more.
    pub(in crate::merge_tree) fn is_useless(&self, key: ConditionKey) -> bool {
        self.get(key).is_some_and(|known| known.is_useless)
    }
}

impl Drop for PartConditions {
    /// Without the clock: who holds that may be the last to let go of the part.
    fn drop(&mut self) {
        let known = self.known.get_mut();
        let bytes: usize = known.values().map(|known| bytes_of(known)).sum();
        let entries = known.len() as i64;
        count(-(bytes as i64), -entries);
    }
}

/// The rows of segments but for those of granules that are known to hold no match.
pub(in crate::merge_tree) fn without_known(segments: Vec<Segment>, key: ConditionKey) -> Vec<Segment> {
    let mut left = Vec::with_capacity(segments.len());
    for of_part in segments.chunk_by(|one, other| Arc::ptr_eq(&one.part, &other.part)) {
        let Some(part) = of_part.first().map(|segment| &segment.part) else { continue };
        let Some(known) = part.conditions.get(key) else {
            profile_events::count(ProfileEvent::QueryConditionCacheMisses, 1);
            left.extend_from_slice(of_part);
            continue;
        };
        profile_events::count(ProfileEvent::QueryConditionCacheHits, 1);
        known.was_used.store(true, Ordering::Relaxed);
        let granules = Granules::of(part);
        for segment in of_part {
            let mut last: Option<Segment> = None;
            for piece in granules.pieces(segment.offset..segment.offset + segment.rows) {
                if known.is_without(granules.number(segment.row_group, piece.start)) {
                    left.extend(last.take());
                    continue;
                }
                match &mut last {
                    Some(last) => last.rows += piece.len(),
                    None => last = Some(Segment { offset: piece.start, rows: piece.len(), ..segment.clone() }),
                }
            }
            left.extend(last);
        }
    }
    left
}
