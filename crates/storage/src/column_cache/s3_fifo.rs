//! Which chunks to let go of when the cache is full: S3-FIFO (Yang et al., *FIFO queues are all you need for cache eviction*,
//! SOSP 2023) over bytes. New chunks pass through a small queue, so that one scan of a large table does not push out what many
//! queries use. Chunks that were written and that nobody has read pass through a queue of their own, which is never long: of a wide table most
//! columns are never read. Only decides: knows keys, sizes and how often each was used, not the chunks.

use std::collections::{HashMap, VecDeque};

/// The share of the capacity that new chunks pass through, as a divisor.
const SMALL_SHARE: usize = 10;
/// The share of the capacity that chunks may have which were written and not read, as a divisor.
const WRITTEN_SHARE: usize = 32;

/// What names a chunk.
pub(super) type Key = u64;

/// The queues.
#[derive(Debug)]
pub(super) struct S3Fifo {
    capacity: usize,
    written: VecDeque<Key>,
    small: VecDeque<Key>,
    main: VecDeque<Key>,
    /// Keys that were evicted from `small` not long ago: where one comes back, it goes to `main` at once.
    ghost: VecDeque<Key>,
    resident: HashMap<Key, Resident>,
    ghosts: HashMap<Key, usize>,
    written_bytes: usize,
    small_bytes: usize,
    bytes: usize,
}

#[derive(Clone, Copy, Debug)]
struct Resident {
    bytes: usize,
    queue: Queue,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Queue {
    Written,
    Small,
    Main,
}

/// Where a chunk comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChunkOrigin {
    /// It was written just now.
    Written,
    /// A query read it.
    Read,
}

impl S3Fifo {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            written: VecDeque::new(),
            small: VecDeque::new(),
            main: VecDeque::new(),
            ghost: VecDeque::new(),
            resident: HashMap::new(),
            ghosts: HashMap::new(),
            written_bytes: 0,
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
    pub(super) fn insert(
        &mut self,
        key: Key,
        bytes: usize,
        origin: ChunkOrigin,
        uses: &mut dyn FnMut(Key, Take) -> u8,
    ) -> Vec<Key> {
        let mut evicted = Vec::new();
        if bytes > self.capacity {
            evicted.push(key);
            return evicted;
        }
        if self.resident.contains_key(&key) {
            return evicted;
        }
        let queue = match (origin, self.ghosts.remove(&key)) {
            (ChunkOrigin::Written, _) => Queue::Written,
            (ChunkOrigin::Read, None) => Queue::Small,
            (ChunkOrigin::Read, Some(_)) => Queue::Main,
        };
        self.bytes += bytes;
        self.resident.insert(key, Resident { bytes, queue });
        match queue {
            Queue::Written => {
                self.written.push_back(key);
                self.written_bytes += bytes;
            }
            Queue::Small => {
                self.small.push_back(key);
                self.small_bytes += bytes;
            }
            Queue::Main => self.main.push_back(key),
        }
        loop {
            let has_room = self.bytes <= self.capacity;
            let queue = if self.written_bytes > self.capacity / WRITTEN_SHARE {
                Queue::Written
            } else if has_room {
                break;
            } else if self.small_bytes > self.capacity / SMALL_SHARE {
                Queue::Small
            } else if !self.written.is_empty() {
                Queue::Written
            } else if self.main.is_empty() {
                Queue::Small
            } else {
                Queue::Main
            };
            match self.evict(queue, uses) {
                Some(victim) => evicted.push(victim),
                None if self.written.is_empty() && self.small.is_empty() && self.main.is_empty() => break,
                None => {}
            }
        }
        evicted
    }

    /// Names chunks to let go of, so many bytes of them as far as there are that many which `is_free` lets go: of each queue the oldest first,
    /// those that nobody has read first of all.
    pub(super) fn shrink(&mut self, bytes: usize, is_free: &dyn Fn(Key) -> bool) -> Vec<Key> {
        let mut gone = Vec::new();
        let mut left = bytes;
        for key in self.written.iter().chain(&self.small).chain(&self.main) {
            if left == 0 {
                break;
            }
            if let Some(resident) = self.resident.get(key).filter(|_| is_free(*key)) {
                left = left.saturating_sub(resident.bytes);
                gone.push(*key);
            }
        }
        gone.iter().for_each(|key| self.remove(*key));
        gone
    }

    /// Forgets a chunk that is gone for another reason.
    pub(super) fn remove(&mut self, key: Key) {
        // Its place in the queue is passed over when it comes to the front.
        if let Some(resident) = self.resident.remove(&key) {
            self.bytes -= resident.bytes;
            self.leave(resident);
        }
    }

    /// One step over a queue: its oldest chunk goes, or moves to the end of `main` where it was used meanwhile.
    fn evict(&mut self, queue: Queue, uses: &mut dyn FnMut(Key, Take) -> u8) -> Option<Key> {
        let (keys, take) = match queue {
            Queue::Written => (&mut self.written, Take::All),
            Queue::Small => (&mut self.small, Take::All),
            Queue::Main => (&mut self.main, Take::One),
        };
        let key = keys.pop_front()?;
        let resident = *self.resident.get(&key).filter(|resident| resident.queue == queue)?;
        self.leave(resident);
        if uses(key, take) > 0 {
            self.main.push_back(key);
            self.resident.insert(key, Resident { queue: Queue::Main, ..resident });
            return None;
        }
        if queue != Queue::Main {
            self.remember(key, resident.bytes);
        }
        self.resident.remove(&key);
        self.bytes -= resident.bytes;
        Some(key)
    }

    /// Takes a chunk out of the bytes of its queue.
    fn leave(&mut self, resident: Resident) {
        match resident.queue {
            Queue::Written => self.written_bytes -= resident.bytes,
            Queue::Small => self.small_bytes -= resident.bytes,
            Queue::Main => {}
        }
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
            assert!(policy.insert(hot, 100, ChunkOrigin::Read, &mut |key, take| uses(&mut used, key, take)).is_empty());
        }
        let mut gone = Vec::new();
        for cold in 100..1000 {
            (0..5).for_each(|hot| *used.entry(hot).or_default() = 3);
            gone.extend(policy.insert(cold, 100, ChunkOrigin::Read, &mut |key, take| uses(&mut used, key, take)));
        }
        assert!((0..5).all(|hot| !gone.contains(&hot)));
        assert!(policy.bytes() <= 1000);
    }

    #[test]
    fn what_is_written_and_not_read_takes_little() {
        let mut policy = S3Fifo::new(32_000);
        let mut insert = |key: Key, origin| policy.insert(key, 100, origin, &mut |key, _| u8::from(key % 10 == 0));
        let gone: Vec<Key> = (0..50).flat_map(|key| insert(key, ChunkOrigin::Written)).collect();
        // Those that were read stay.
        assert!(gone.iter().all(|key| key % 10 > 0));
        assert_eq!(gone.len(), 50 - 10 - 4);
        // What was let go of and is read later stays, too.
        let last = gone.last().unwrap();
        assert!(insert(*last, ChunkOrigin::Read).is_empty());
        assert_eq!(policy.resident.get(last).unwrap().queue, Queue::Main);
    }

    #[test]
    fn what_is_in_use_does_not_give_way() {
        let mut policy = S3Fifo::new(32_000);
        (0..10).for_each(|key| drop(policy.insert(key, 100, ChunkOrigin::Read, &mut |_, _| 0)));
        policy.insert(10, 100, ChunkOrigin::Written, &mut |_, _| 0);
        let is_free = |key: Key| !key.is_multiple_of(3);
        assert_eq!(policy.shrink(350, &is_free), [10, 1, 2, 4]);
        assert_eq!(policy.bytes(), 700);
        assert_eq!(policy.shrink(10_000, &is_free), [5, 7, 8]);
        assert!(policy.shrink(1, &is_free).is_empty());
        assert_eq!((policy.bytes(), policy.len()), (400, 4));
    }

    #[test]
    fn a_chunk_that_is_too_large_is_not_kept() {
        let mut policy = S3Fifo::new(10);
        assert_eq!(policy.insert(1, 11, ChunkOrigin::Read, &mut |_, _| 0), [1]);
        assert_eq!(policy.bytes(), 0);
    }

    proptest! {
        #[test]
        fn bytes_stay_within_the_bound_and_add_up(
            steps in prop::collection::vec((0..40_u64, 1..60_usize, any::<bool>(), any::<bool>(), 0..4_u8), 1..400),
        ) {
            let mut policy = S3Fifo::new(200);
            let mut kept: HashMap<Key, usize> = HashMap::new();
            let mut used: HashMap<Key, u8> = HashMap::new();
            for (key, bytes, removes, is_written, uses) in steps {
                used.insert(key, uses);
                if removes {
                    policy.remove(key);
                    kept.remove(&key);
                    continue;
                }
                kept.entry(key).or_insert(bytes);
                let origin = if is_written { ChunkOrigin::Written } else { ChunkOrigin::Read };
                let evicted = policy.insert(key, bytes, origin, &mut |key, take| {
                    let count = used.entry(key).or_default();
                    let before = *count;
                    *count = if take == Take::All { 0 } else { before.saturating_sub(1) };
                    before
                });
                evicted.iter().for_each(|key| {
                    kept.remove(key);
                });
                prop_assert!(policy.bytes() <= 200);
                prop_assert!(policy.written_bytes <= 200 / WRITTEN_SHARE);
                prop_assert_eq!(policy.bytes(), kept.values().sum::<usize>());
                prop_assert_eq!(policy.len(), kept.len());
            }
        }
    }
}
