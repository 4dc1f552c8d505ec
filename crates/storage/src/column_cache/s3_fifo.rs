//! Which chunks to let go of when the cache is full: S3-FIFO (Yang et al., *FIFO queues are all you need for cache eviction*,
//! SOSP 2023) over bytes. New chunks pass through a small queue, so that one scan of a large table does not push out what many
//! queries use. Only decides: knows keys, sizes and how often each was used, not the chunks.

use std::collections::{HashMap, VecDeque};

/// The share of the capacity that new chunks pass through, as a divisor.
const SMALL_SHARE: usize = 10;

/// What names a chunk.
pub(super) type Key = u64;

/// The queues.
#[derive(Debug)]
pub(super) struct S3Fifo {
    capacity: usize,
    small: VecDeque<Key>,
    main: VecDeque<Key>,
    /// Keys that were evicted from `small` not long ago: where one comes back, it goes to `main` at once.
    ghost: VecDeque<Key>,
    resident: HashMap<Key, Resident>,
    ghosts: HashMap<Key, usize>,
    small_bytes: usize,
    bytes: usize,
}

#[derive(Clone, Copy, Debug)]
struct Resident {
    bytes: usize,
    is_small: bool,
}

impl S3Fifo {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            small: VecDeque::new(),
            main: VecDeque::new(),
            ghost: VecDeque::new(),
            resident: HashMap::new(),
            ghosts: HashMap::new(),
            small_bytes: 0,
            bytes: 0,
        }
    }

    /// Bytes of the chunks that are kept.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of chunks that are kept.
    pub(super) fn len(&self) -> usize {
        self.resident.len()
    }

    /// Takes a chunk in and names those that must go, maybe the new one itself. `uses` tells how often a chunk was used since it
    /// was last asked about, 0 to 3, and takes one (or, for a chunk that moves up, all) of these uses back.
    pub(super) fn insert(&mut self, key: Key, bytes: usize, uses: &mut dyn FnMut(Key, Take) -> u8) -> Vec<Key> {
        let mut evicted = Vec::new();
        if bytes > self.capacity {
            evicted.push(key);
            return evicted;
        }
        if self.resident.contains_key(&key) {
            return evicted;
        }
        let is_small = self.ghosts.remove(&key).is_none();
        self.resident.insert(key, Resident { bytes, is_small });
        self.bytes += bytes;
        if is_small {
            self.small.push_back(key);
            self.small_bytes += bytes;
        } else {
            self.main.push_back(key);
        }
        while self.bytes > self.capacity {
            let victim = if self.small_bytes > self.capacity / SMALL_SHARE || self.main.is_empty() {
                self.evict_small(uses)
            } else {
                self.evict_main(uses)
            };
            match victim {
                Some(victim) => evicted.push(victim),
                None if self.small.is_empty() && self.main.is_empty() => break,
                None => {}
            }
        }
        evicted
    }

    /// Forgets a chunk that is gone for another reason.
    pub(super) fn remove(&mut self, key: Key) {
        // Its place in the queue is passed over when it comes to the front.
        if let Some(resident) = self.resident.remove(&key) {
            self.bytes -= resident.bytes;
            if resident.is_small {
                self.small_bytes -= resident.bytes;
            }
        }
    }

    /// One step over `small`: its oldest chunk goes, or moves to `main` where it was used meanwhile.
    fn evict_small(&mut self, uses: &mut dyn FnMut(Key, Take) -> u8) -> Option<Key> {
        let key = self.small.pop_front()?;
        let resident = self.resident.get_mut(&key).filter(|resident| resident.is_small)?;
        self.small_bytes -= resident.bytes;
        if uses(key, Take::All) > 0 {
            resident.is_small = false;
            self.main.push_back(key);
            return None;
        }
        let bytes = resident.bytes;
        self.remember(key, bytes);
        self.resident.remove(&key);
        self.bytes -= bytes;
        Some(key)
    }

    /// One step over `main`: its oldest chunk goes, or goes round again where it was used meanwhile.
    fn evict_main(&mut self, uses: &mut dyn FnMut(Key, Take) -> u8) -> Option<Key> {
        let key = self.main.pop_front()?;
        let resident = *self.resident.get(&key).filter(|resident| !resident.is_small)?;
        if uses(key, Take::One) > 0 {
            self.main.push_back(key);
            return None;
        }
        self.resident.remove(&key);
        self.bytes -= resident.bytes;
        Some(key)
    }

    fn remember(&mut self, key: Key, bytes: usize) {
        self.ghost.push_back(key);
        self.ghosts.insert(key, bytes);
        // As many ghosts as chunks: their keys cost nothing beside what they stand for.
        while self.ghost.len() > self.resident.len().max(16) {
            if let Some(oldest) = self.ghost.pop_front() {
                self.ghosts.remove(&oldest);
            }
        }
    }
}

/// How many uses a question takes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Take {
    One,
    All,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_scan_does_not_push_out_what_is_used() {
        let mut policy = S3Fifo::new(1000);
        let mut used: HashMap<Key, u8> = HashMap::new();
        let uses = |used: &mut HashMap<Key, u8>, key: Key, take: Take| {
            let count = used.entry(key).or_default();
            let before = *count;
            *count = if take == Take::All { 0 } else { before.saturating_sub(1) };
            before
        };
        for hot in 0..5 {
            assert!(policy.insert(hot, 100, &mut |key, take| uses(&mut used, key, take)).is_empty());
        }
        let mut gone = Vec::new();
        for cold in 100..1000 {
            (0..5).for_each(|hot| *used.entry(hot).or_default() = 3);
            gone.extend(policy.insert(cold, 100, &mut |key, take| uses(&mut used, key, take)));
        }
        assert!((0..5).all(|hot| !gone.contains(&hot)));
        assert!(policy.bytes() <= 1000);
    }

    #[test]
    fn a_chunk_that_is_too_large_is_not_kept() {
        let mut policy = S3Fifo::new(10);
        assert_eq!(policy.insert(1, 11, &mut |_, _| 0), [1]);
        assert_eq!(policy.bytes(), 0);
    }

    proptest! {
        #[test]
        fn bytes_stay_within_the_bound_and_add_up(
            steps in prop::collection::vec((0..40_u64, 1..60_usize, any::<bool>(), 0..4_u8), 1..400),
        ) {
            let mut policy = S3Fifo::new(200);
            let mut kept: HashMap<Key, usize> = HashMap::new();
            let mut used: HashMap<Key, u8> = HashMap::new();
            for (key, bytes, removes, uses) in steps {
                used.insert(key, uses);
                if removes {
                    policy.remove(key);
                    kept.remove(&key);
                    continue;
                }
                kept.entry(key).or_insert(bytes);
                let evicted = policy.insert(key, bytes, &mut |key, take| {
                    let count = used.entry(key).or_default();
                    let before = *count;
                    *count = if take == Take::All { 0 } else { before.saturating_sub(1) };
                    before
                });
                evicted.iter().for_each(|key| {
                    kept.remove(key);
                });
                prop_assert!(policy.bytes() <= 200);
                prop_assert_eq!(policy.bytes(), kept.values().sum::<usize>());
                prop_assert_eq!(policy.len(), kept.len());
            }
        }
    }
}
