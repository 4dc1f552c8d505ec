//! Buckets that rows are counted in by the hashes of their keys, with a vote for one key in each (Boyer and Moore, *MJRTY: a fast majority vote
//! algorithm*, 1981). A key has at most as many rows as its bucket, and at least as many as it has votes left.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use arrow_buffer::BooleanBuffer;
use squall_types::{Result, grow, prefetch};

/// The most rows that may be left, as a part of all, for counting to be worth its time.
const LEFT_PART: u64 = 2;

/// Buckets of so many bytes stay in the cache of a core.
const CACHED_BYTES_MAX: usize = 1 << 20;
/// Rows between the one whose bucket is brought near and the one that is counted.
const PREFETCH_AHEAD: usize = 24;

/// Keys with the same beginning of their hash.
#[derive(Clone, Copy, Default)]
struct Bucket {
    /// The hash of the key that has the votes.
    key: u64,
    rows: u32,
    /// The key's rows are at least so many.
    votes: u32,
}

impl Bucket {
    #[inline]
    fn count(&mut self, key: u64) {
        self.rows += 1;
        // Without branches: which of the three holds cannot be foreseen.
        let is_new = self.votes == 0;
        self.key = if is_new { key } else { self.key };
        let is_for = self.key == key;
        self.votes = if is_for { self.votes + 1 } else { self.votes - 1 };
    }

    /// Makes it the bucket of another worker's rows, too.
    fn merge(&mut self, other: Self) {
        self.rows = self.rows.saturating_add(other.rows);
        if self.key == other.key {
            self.votes = self.votes.saturating_add(other.votes);
        } else if other.votes > self.votes {
            // The other worker has not counted less of it than none.
            (self.key, self.votes) = (other.key, other.votes);
        }
    }
}

/// The bucket of a hash, of so many, which are a power of two.
#[inline]
pub(super) fn bucket_of(buckets: usize) -> impl Fn(u64) -> usize {
    let shift = u64::BITS - buckets.trailing_zeros();
    move |hash| (hash >> shift) as usize
}

/// Buckets of some rows.
pub(super) struct Buckets {
    buckets: Vec<Bucket>,
    rows: u64,
}

impl Buckets {
    /// So many, a power of two.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub(super) fn new(count: usize) -> Result<Self> {
        let mut buckets = Vec::new();
        grow(&mut buckets, count)?;
        buckets.resize(count, Bucket::default());
        Ok(Self { buckets, rows: 0 })
    }

    /// Counts rows whose keys have these hashes.
    pub(super) fn count(&mut self, hashes: &[u64]) {
        let place = bucket_of(self.buckets.len());
        if size_of_val(&self.buckets[..]) <= CACHED_BYTES_MAX {
            hashes.iter().for_each(|hash| self.buckets[place(*hash)].count(*hash));
        } else {
            for (at, hash) in hashes.iter().enumerate() {
                if let Some(ahead) = hashes.get(at + PREFETCH_AHEAD) {
                    prefetch(&self.buckets, place(*ahead));
                }
                self.buckets[place(*hash)].count(*hash);
            }
        }
        self.rows += hashes.len() as u64;
    }

    /// Cuts each bucket in several, if `count` is more than there are. Which of them its rows belong to is not known, so that each has as many at
    /// most.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub(super) fn cut(&mut self, count: usize) -> Result<()> {
        let parts = count / self.buckets.len();
        if parts < 2 {
            return Ok(());
        }
        let (mut cut, place) = (Self::new(count)?, bucket_of(count));
        for (at, bucket) in cut.buckets.iter_mut().enumerate() {
            *bucket = self.buckets[at / parts];
            if place(bucket.key) != at {
                bucket.votes = 0;
            }
        }
        self.buckets = cut.buckets;
        Ok(())
    }

    /// Makes them the buckets of another worker's rows, too.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub(super) fn merge(&mut self, mut other: Self) -> Result<()> {
        self.cut(other.buckets.len())?;
        other.cut(self.buckets.len())?;
        self.rows += other.rows;
        self.buckets.iter_mut().zip(other.buckets).for_each(|(bucket, other)| bucket.merge(other));
        Ok(())
    }

    /// At least so many rows have each of the `wanted` most frequent keys; 0 where nothing is known.
    pub(super) fn least_rows(&self, wanted: usize) -> u32 {
        let mut most: BinaryHeap<Reverse<u32>> = BinaryHeap::with_capacity(wanted + 1);
        for bucket in &self.buckets {
            if most.len() < wanted {
                most.push(Reverse(bucket.votes));
            } else if let Some(mut least) = most.peek_mut()
                && bucket.votes > least.0
            {
                least.0 = bucket.votes;
            }
        }
        most.peek().filter(|_| most.len() == wanted).map_or(0, |least| least.0)
    }

    /// Rows that were counted.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// How many buckets have rows.
    pub(super) fn used(&self) -> usize {
        self.buckets.iter().filter(|bucket| bucket.rows > 0).count()
    }

    /// Which buckets have keys that can be among the most frequent, where that leaves out enough rows.
    pub(super) fn choose(&self, wanted: usize) -> Option<BooleanBuffer> {
        let least = self.least_rows(wanted);
        let can_be = |bucket: &&Bucket| bucket.rows >= least;
        let left: u64 = self.buckets.iter().filter(can_be).map(|bucket| u64::from(bucket.rows)).sum();
        let is_enough = least > 0 && left <= self.rows / LEFT_PART;
        is_enough.then(|| self.buckets.iter().map(|bucket| can_be(&bucket)).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn hash(key: u64) -> u64 {
        squall_types::packed_hash::hash_packed(key)
    }

    impl Buckets {
        fn at(&self, hash: u64) -> usize {
            bucket_of(self.buckets.len())(hash)
        }
    }

    #[test]
    fn votes_and_rows_enclose_what_a_key_has() {
        let mut state = 1_u64;
        for skew in 1..8 {
            let (mut exact, mut workers) = (HashMap::new(), Vec::new());
            for worker in 0..3 {
                let mut buckets = Buckets::new(64).unwrap();
                let keys: Vec<u64> = (0..5_000)
                    .map(|_| {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        hash((state >> 33) % 2_000 / ((state >> 50) % (1 << skew) + 1))
                    })
                    .collect();
                keys.iter().for_each(|key| *exact.entry(*key).or_insert(0_u32) += 1);
                let (before, after) = keys.split_at(700);
                buckets.count(before);
                buckets.cut(64 << (2 * worker)).unwrap();
                buckets.count(after);
                workers.push(buckets);
            }
            workers.swap(0, 1);
            let mut all = workers.pop().unwrap();
            workers.into_iter().for_each(|other| all.merge(other).unwrap());
            assert_eq!((all.rows, all.buckets.len()), (15_000, 1_024));
            for (key, rows) in &exact {
                assert!(all.buckets[all.at(*key)].rows >= *rows);
            }
            for bucket in &all.buckets {
                assert!(exact.get(&bucket.key).copied().unwrap_or_default() >= bucket.votes);
            }
            let mut most: Vec<u32> = exact.values().copied().collect();
            most.sort_unstable_by(|left, right| right.cmp(left));
            for wanted in [1, 3, 10] {
                assert!(all.least_rows(wanted) <= most[wanted - 1]);
                if let Some(chosen) = all.choose(wanted) {
                    let mut frequent = exact.iter().filter(|(_, rows)| **rows >= most[wanted - 1]);
                    assert!(frequent.all(|(key, _)| chosen.value(all.at(*key))));
                }
            }
        }
    }

    #[test]
    fn keys_that_are_all_alike_are_not_chosen_from() {
        let mut buckets = Buckets::new(1 << 10).unwrap();
        buckets.count(&(0..100_000).map(hash).collect::<Vec<_>>());
        assert!(buckets.choose(10).is_none());
        for key in 0..20 {
            buckets.count(&vec![hash(key); 1_000 + key as usize]);
        }
        let chosen = buckets.choose(10).unwrap();
        assert!((10..20).all(|key| chosen.value(buckets.at(hash(key)))));
        assert!(chosen.count_set_bits() < 30);
    }
}
