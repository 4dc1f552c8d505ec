//! `GROUP BY URL ORDER BY count() DESC LIMIT 10` over many rows: which keys can be among the ten is found out before any group is made. The
//! rows are read twice. The first time, a worker counts them in buckets by the hashes of their keys, and votes for a key in each bucket
//! (Boyer and Moore, *MJRTY: a fast majority vote algorithm*, 1981). A key has at most as many rows as its bucket, and at least as many as it
//! has votes left. So where ten buckets have at least n votes each, keys of buckets with less than n rows are not among the ten. The second
//! time, only rows of other buckets become groups: few, where some keys have much more rows than most.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arrow_array::BooleanArray;
use arrow_buffer::BooleanBuffer;
use squall_planner::{Aggregate, AggregateCall};
use squall_types::{Block, Column, Result, grow};

use super::key_hashes::KeyHashes;
use super::sink::Grouping;
use crate::evaluate::evaluate;
use crate::operator::{Operator, passed};
use crate::pipeline::{LocalSink, Sequence, Sink, downcast_local};
use crate::sort::order::Order;

/// Fewer rows are grouped as fast as they are counted.
const ROWS_MIN: u64 = 1_000_000;
/// Rows that one worker can count.
const ROWS_MAX: u64 = u32::MAX as u64 / 4;
/// More groups than these are not found by their votes.
const WANTED_MAX: u64 = 1_000;
/// Buckets of a worker until it has seen some rows: a megabyte, which lies in the caches.
const BUCKETS: usize = 1 << 16;
/// Buckets of a worker, and of all workers, at most.
const BUCKETS_MAX: usize = 1 << 20;
const BUCKETS_OF_ALL_MAX: usize = 1 << 22;
/// After so many rows a worker looks at what it has seen: whether keys come again at all, then how many buckets there should be, at last
/// whether that leaves out enough.
const CHECKS_AT_ROWS: [u64; 3] = [1 << 15, 1 << 17, 1 << 20];
/// Where the last wanted key has fewer votes at either of the first two, all keys are alike.
const VOTES_MIN: [u32; 2] = [2, 3];
/// The last wanted key should have so many times more rows than a bucket has on average, by the rows seen so far. Where a table is sorted, these
/// are of fewer keys than all.
const ROWS_OF_BUCKETS: u64 = 64;
/// Where fewer buckets have rows at the second look, groups are so few that their table lies in the caches.
const USED_MIN: usize = 8_192;
/// Where fewer than one of so many rows passes the filters, reading the rows twice takes longer than grouping those: with keys packed into an
/// integer, and with others. And so many rows show it.
const PASSING_PART: u64 = 4;
const PASSING_PART_BYTES: u64 = 16;
const PASSING_ROWS: u64 = 1 << 17;
/// How long counting a row may take, with reading and filtering it, where its key is packed into an integer and where it is not: not much longer
/// than grouping it. And how long it may take to begin.
const COUNTING: Duration = Duration::from_nanos(20);
const COUNTING_BYTES: Duration = Duration::from_nanos(60);
const BEGINNING: Duration = Duration::from_millis(1);
/// The most rows that may be left, as a part of all, for counting to be worth its time.
const LEFT_PART: u64 = 2;
/// Rows of a block whose keys are hashed, at most.
const BLOCK_ROWS_MAX: usize = 16_384;

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
fn bucket_of(buckets: usize) -> impl Fn(u64) -> usize {
    let shift = u64::BITS - buckets.trailing_zeros();
    move |hash| (hash >> shift) as usize
}

/// Buckets of some rows.
struct Buckets {
    buckets: Vec<Bucket>,
    rows: u64,
}

impl Buckets {
    fn new(count: usize) -> Result<Self> {
        let mut buckets = Vec::new();
        grow(&mut buckets, count)?;
        buckets.resize(count, Bucket::default());
        Ok(Self { buckets, rows: 0 })
    }

    fn count(&mut self, hashes: &[u64]) {
        let place = bucket_of(self.buckets.len());
        hashes.iter().for_each(|hash| self.buckets[place(*hash)].count(*hash));
        self.rows += hashes.len() as u64;
    }

    /// Cuts each bucket in several. Which of them its rows belong to is not known, so that each has as many at most.
    fn cut(&mut self, count: usize) -> Result<()> {
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

    fn merge(&mut self, mut other: Self) -> Result<()> {
        self.cut(other.buckets.len())?;
        other.cut(self.buckets.len())?;
        self.rows += other.rows;
        self.buckets.iter_mut().zip(other.buckets).for_each(|(bucket, other)| bucket.merge(other));
        Ok(())
    }

    /// At least so many rows have each of the `wanted` most frequent keys; 0 where nothing is known.
    fn least_rows(&self, wanted: usize) -> u32 {
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

    fn used(&self) -> usize {
        self.buckets.iter().filter(|bucket| bucket.rows > 0).count()
    }

    /// Which buckets have keys that can be among the most frequent, where that leaves out enough rows.
    fn choose(&self, wanted: usize) -> Option<BooleanBuffer> {
        let least = self.least_rows(wanted);
        let can_be = |bucket: &&Bucket| bucket.rows >= least;
        let left: u64 = self.buckets.iter().filter(can_be).map(|bucket| u64::from(bucket.rows)).sum();
        let is_enough = least > 0 && left <= self.rows / LEFT_PART;
        is_enough.then(|| self.buckets.iter().map(|bucket| can_be(&bucket)).collect())
    }
}

/// The keys of an aggregation that can be among the most frequent ones, once they are counted.
pub(crate) struct FrequentKeys {
    grouping: Arc<Grouping>,
    hashes: KeyHashes,
    wanted: usize,
    /// Workers that count.
    workers: AtomicUsize,
    /// Rows that came to the filters, and rows that were counted behind them.
    read_rows: AtomicU64,
    counted_rows: AtomicU64,
    /// Counting is not worth its time.
    is_given_up: AtomicBool,
    /// The buckets of these keys; `None` where that does not leave out much.
    chosen: OnceLock<Option<BooleanBuffer>>,
}

impl FrequentKeys {
    /// Of an aggregation over so many rows below a sort of this order; `None` where that wants something else.
    pub(crate) fn new(aggregate: &Aggregate, grouping: &Arc<Grouping>, order: &Order, rows: u64) -> Option<Arc<Self>> {
        let wanted = order.limit.filter(|limit| (1..=WANTED_MAX).contains(limit))? as usize;
        let call = order.first_descending_column()?.checked_sub(grouping.keys.len())?;
        let is_suitable = grouping.calls.get(call).is_some_and(AggregateCall::counts_rows)
            && rows >= ROWS_MIN
            && !aggregate.with_totals
            && aggregate.sets.is_none()
            && !grouping.kind.is_small()
            && grouping.key_types.iter().all(KeyHashes::takes)
            && grouping.keys.iter().all(|key| key.is_deterministic());
        is_suitable.then(|| {
            Arc::new(Self {
                grouping: grouping.clone(),
                hashes: KeyHashes::new(),
                wanted,
                workers: AtomicUsize::new(0),
                read_rows: AtomicU64::new(0),
                counted_rows: AtomicU64::new(0),
                is_given_up: AtomicBool::new(false),
                chosen: OnceLock::new(),
            })
        })
    }

    fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Relaxed);
    }

    /// Whether so few rows pass the filters that it is better to read them once.
    fn are_few(&self) -> bool {
        let part = if self.grouping.kind.is_packed() { PASSING_PART } else { PASSING_PART_BYTES };
        let read = self.read_rows.load(Ordering::Relaxed);
        read >= PASSING_ROWS && self.counted_rows.load(Ordering::Relaxed) < read / part
    }

    fn hash(&self, block: &Block, hashes: &mut Vec<u64>) -> Result<()> {
        let keys = self.grouping.keys.iter().map(|key| evaluate(key, block)).collect::<Result<Vec<Column>>>()?;
        self.hashes.of(&keys, block.rows(), hashes)
    }
}

/// Counts the rows of keys.
pub(crate) struct FrequentKeysSink(pub(crate) Arc<FrequentKeys>);

struct KeyCounts {
    shared: Arc<FrequentKeys>,
    buckets: Buckets,
    /// How often what was seen has been looked at.
    checks: usize,
    /// Since when the worker reads.
    began: Instant,
    hashes: Vec<u64>,
}

impl Sink for FrequentKeysSink {
    fn local(&self) -> Result<Box<dyn LocalSink>> {
        self.0.workers.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(KeyCounts {
            shared: self.0.clone(),
            buckets: Buckets::new(BUCKETS)?,
            checks: 0,
            began: Instant::now(),
            hashes: Vec::new(),
        }))
    }

    fn finish(&self, locals: Vec<Box<dyn LocalSink>>) -> Result<()> {
        let mut all: Option<Buckets> = None;
        for local in locals.into_iter().filter(|_| !self.is_done()) {
            let buckets = downcast_local::<KeyCounts>(local)?.buckets;
            match &mut all {
                Some(all) => all.merge(buckets)?,
                None => all = Some(buckets),
            }
        }
        let _ = self.0.chosen.set(all.and_then(|all| all.choose(self.0.wanted)));
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.0.is_given_up.load(Ordering::Relaxed)
    }

    fn block_rows_max(&self) -> Option<usize> {
        Some(BLOCK_ROWS_MAX)
    }

    fn name(&self) -> &'static str {
        "CountFrequentKeys"
    }
}

impl KeyCounts {
    /// Looks at the rows that have come: whether it is worth it to count the others, and in how many buckets.
    fn check(&mut self) -> Result<bool> {
        let Self { shared, buckets, checks, began, .. } = self;
        let check = std::mem::replace(checks, *checks + 1);
        let Some(votes_min) = VOTES_MIN.get(check) else {
            return Ok(buckets.rows < ROWS_MAX && buckets.choose(shared.wanted).is_some());
        };
        let votes = buckets.least_rows(shared.wanted);
        let are_few = check > 0 && buckets.used() < USED_MIN;
        let counting = if shared.grouping.kind.is_packed() { COUNTING } else { COUNTING_BYTES };
        let time = began.elapsed().saturating_sub(BEGINNING);
        let is_slow = time.as_nanos() > counting.as_nanos() * u128::from(buckets.rows);
        if votes < *votes_min || are_few || is_slow {
            return Ok(false);
        }
        if check > 0 {
            let count = (ROWS_OF_BUCKETS * buckets.rows / u64::from(votes)) as usize;
            let most = BUCKETS_OF_ALL_MAX / shared.workers.load(Ordering::Relaxed).max(1);
            buckets.cut(count.min(most / 2).next_power_of_two().min(BUCKETS_MAX))?;
        }
        Ok(true)
    }
}

impl LocalSink for KeyCounts {
    fn consume(&mut self, _: Sequence, block: Block) -> Result<()> {
        self.shared.hash(&block, &mut self.hashes)?;
        self.buckets.count(&self.hashes);
        self.shared.counted_rows.fetch_add(block.rows() as u64, Ordering::Relaxed);
        let next_check = CHECKS_AT_ROWS.get(self.checks).copied().unwrap_or(ROWS_MAX);
        if self.buckets.rows >= next_check && !self.check()? {
            self.shared.give_up();
        }
        Ok(())
    }

    fn end_morsel(&mut self, _: Sequence) -> Result<()> {
        if self.shared.are_few() {
            self.shared.give_up();
        }
        Ok(())
    }
}

/// Counts the rows that come to the filters before the keys are counted.
pub(crate) struct ReadRows(pub(crate) Arc<FrequentKeys>);

impl Operator for ReadRows {
    fn execute(&self, block: Block) -> Result<Option<Block>> {
        self.0.read_rows.fetch_add(block.rows() as u64, Ordering::Relaxed);
        Ok(Some(block))
    }

    fn name(&self) -> &'static str {
        "CountReadRows"
    }
}

/// Leaves out rows of keys that cannot be among the most frequent.
pub(crate) struct FrequentKeysFilter {
    keys: Arc<FrequentKeys>,
    /// By position: whether the aggregation reads the column.
    is_needed: Vec<bool>,
}

impl FrequentKeysFilter {
    /// A filter whose output columns at `is_needed` matter.
    pub(crate) fn new(keys: Arc<FrequentKeys>, is_needed: Vec<bool>) -> Self {
        Self { keys, is_needed }
    }
}

impl Operator for FrequentKeysFilter {
    fn execute(&self, block: Block) -> Result<Option<Block>> {
        let Some(Some(chosen)) = self.keys.chosen.get() else { return Ok(Some(block)) };
        let mut hashes = Vec::new();
        self.keys.hash(&block, &mut hashes)?;
        let place = bucket_of(chosen.len());
        let bits = BooleanBuffer::collect_bool(block.rows(), |row| chosen.value(place(hashes[row])));
        match bits.count_set_bits() {
            0 => Ok(None),
            rows => passed(&block, &BooleanArray::new(bits, None), rows, &self.is_needed).map(Some),
        }
    }

    fn name(&self) -> &'static str {
        "FilterFrequentKeys"
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
