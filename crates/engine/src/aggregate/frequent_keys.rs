//! `GROUP BY URL ORDER BY count() DESC LIMIT 10` over many rows: which keys can be among the ten is found out before any group is made. The
//! rows are read twice. The first time, each worker counts them in [buckets](super::key_buckets), which bound the rows of every key from both
//! sides. If ten keys have at least n rows each, no key of a bucket with fewer rows is among the ten. The second time, only rows of the other
//! buckets become groups. They are few if some keys have many more rows than most.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arrow_array::BooleanArray;
use arrow_buffer::BooleanBuffer;
use squall_planner::{Aggregate, AggregateCall, evaluate};
use squall_types::{Block, Column, Result};

use super::key_buckets::{Buckets, bucket_of};
use super::key_hashes::KeyHashes;
use super::sink::Grouping;
use crate::operator::{Operator, passed};
use crate::pipeline::{LocalSink, Sequence, Sink, downcast_local};
use crate::sort::order::Order;

/// Tests run in debug builds, which are slow: there, so many times fewer rows are enough to count keys.
const FEWER_ROWS: u64 = if cfg!(debug_assertions) { 8 } else { 1 };
/// And each row may take so many times as long.
const SLOWER: u64 = if cfg!(debug_assertions) { 1_000 } else { 1 };
/// Fewer rows are grouped as fast as they are counted.
const ROWS_MIN: u64 = 1_000_000 / FEWER_ROWS;
/// Rows that one worker can count.
const ROWS_MAX: u64 = u32::MAX as u64 / 4;
/// More groups than these are not found by their votes.
const WANTED_MAX: u64 = 1_000;
/// Buckets of a worker until it has seen some rows: a megabyte, which lies in the caches.
const BUCKETS: usize = 1 << 16;
/// Buckets of a worker at most: putting those of several workers together is one step.
const BUCKETS_MAX: usize = 1 << 22;
/// Buckets of all workers at most, and one for so many rows at most, where that is more: they take a small part of what groups would.
const BUCKETS_OF_ALL_MAX: usize = 1 << 21;
const ROWS_PER_BUCKET: u64 = 16;
/// After so many rows a worker looks at what it has seen: whether keys come again at all, then how many buckets there should be, at last
/// whether that leaves out enough.
const CHECKS_AT_ROWS: [u64; 3] = [(1 << 15) / FEWER_ROWS, (1 << 17) / FEWER_ROWS, (1 << 20) / FEWER_ROWS];
/// Where the last wanted key has fewer votes at either of the first two, all keys are alike.
const VOTES_MIN: [u32; 2] = [2, 3];
/// The last wanted key should have so many times more rows than a bucket has on average.
const TIMES_AVERAGE: f64 = 64.0;
/// Where fewer buckets have rows at the second look, groups are so few that their table lies in the caches.
const USED_MIN: usize = 8_192 / FEWER_ROWS as usize;
/// Where fewer than one of so many rows passes the filters, reading the rows twice takes longer than grouping those: with keys packed into an
/// integer, and with others. And so many rows show it.
const PASSING_PART: u64 = 4;
const PASSING_PART_BYTES: u64 = 16;
const PASSING_ROWS: u64 = (1 << 17) / FEWER_ROWS;
/// How long counting a row may take, with reading and filtering it, where its key is packed into an integer and where it is not: not much longer
/// than grouping it. And how long it may take to begin.
const COUNTING: Duration = Duration::from_nanos(20 * SLOWER);
const COUNTING_BYTES: Duration = Duration::from_nanos(60 * SLOWER);
const BEGINNING: Duration = Duration::from_millis(1);
/// Rows of a block whose keys are hashed, at most.
const BLOCK_ROWS_MAX: usize = 16_384;

/// The keys of an aggregation that can be among the most frequent ones, once they are counted.
pub(crate) struct FrequentKeys {
    grouping: Arc<Grouping>,
    hashes: KeyHashes,
    wanted: usize,
    /// Rows that there are.
    rows: u64,
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
                rows,
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

/// How many buckets a worker should have. So many workers count `rows` together, and this one has seen some of them. `votes` are those of the last
/// wanted key at the first look, and now.
fn bucket_count(rows: u64, workers: usize, seen: u64, votes: [u32; 2]) -> usize {
    let rows_of_worker = (rows as f64 / workers as f64).max(seen as f64);
    // In a table that is sorted, later rows may be of other keys: votes then grow less than rows do, or not at all.
    let [before, now] = votes.map(f64::from);
    let between = (CHECKS_AT_ROWS[1] / CHECKS_AT_ROWS[0]) as f64;
    let exponent = ((now / before).ln() / between.ln()).clamp(0.0, 1.0);
    let expected = now * (rows_of_worker / seen as f64).powf(exponent);
    let most = BUCKETS_OF_ALL_MAX.max((rows / ROWS_PER_BUCKET) as usize) / workers;
    ((TIMES_AVERAGE * rows_of_worker / expected) as usize).min(most).next_power_of_two().min(BUCKETS_MAX)
}

/// Counts the rows of keys.
pub(crate) struct FrequentKeysSink(pub(crate) Arc<FrequentKeys>);

struct KeyCounts {
    shared: Arc<FrequentKeys>,
    buckets: Buckets,
    /// How often what was seen has been looked at.
    checks: usize,
    /// The votes of the last wanted key at the first look.
    votes_before: u32,
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
            votes_before: 1,
            began: Instant::now(),
            hashes: Vec::new(),
        }))
    }

    fn finish(&self, locals: Vec<Box<dyn LocalSink>>) -> Result<()> {
        let mut all: Option<Buckets> = None;
        for local in locals.into_iter().filter(|_| !self.is_done()) {
            let buckets = downcast_local::<KeyCounts>(local)?.buckets;
            all = match all {
                // Where there is no memory for them, the rows are grouped at once.
                Some(mut all) => match all.merge(buckets) {
                    Ok(()) => Some(all),
                    Err(_) => {
                        self.0.give_up();
                        None
                    }
                },
                None => Some(buckets),
            };
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
    fn check(&mut self) -> bool {
        let Self { shared, buckets, checks, votes_before, began, .. } = self;
        let check = std::mem::replace(checks, *checks + 1);
        let Some(votes_min) = VOTES_MIN.get(check) else {
            return buckets.rows() < ROWS_MAX && buckets.choose(shared.wanted).is_some();
        };
        let votes = buckets.least_rows(shared.wanted);
        let are_few = check > 0 && buckets.used() < USED_MIN;
        let counting = if shared.grouping.kind.is_packed() { COUNTING } else { COUNTING_BYTES };
        let time = began.elapsed().saturating_sub(BEGINNING);
        let is_slow = time.as_nanos() > counting.as_nanos() * u128::from(buckets.rows());
        if votes < *votes_min || are_few || is_slow {
            return false;
        }
        if check > 0 {
            // Where there is no memory for them, the rows are grouped at once.
            let workers = shared.workers.load(Ordering::Relaxed).max(1);
            return buckets.cut(bucket_count(shared.rows, workers, buckets.rows(), [*votes_before, votes])).is_ok();
        }
        *votes_before = votes;
        true
    }
}

impl LocalSink for KeyCounts {
    fn consume(&mut self, _: Sequence, block: Block) -> Result<()> {
        self.shared.hash(&block, &mut self.hashes)?;
        self.buckets.count(&self.hashes);
        self.shared.counted_rows.fetch_add(block.rows() as u64, Ordering::Relaxed);
        let next_check = CHECKS_AT_ROWS.get(self.checks).copied().unwrap_or(ROWS_MAX);
        if self.buckets.rows() >= next_check && !self.check() {
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
    use super::*;

    #[test]
    fn there_are_as_many_buckets_as_tell_the_wanted_keys_apart() {
        let seen = 1 << 17;
        // A key of a hundredth of all rows stands out of few buckets, however many rows there are.
        for rows in [1_000_000, 100_000_000, 10_000_000_000] {
            assert_eq!(bucket_count(rows, 2, seen, [328, 1_311]), 8_192);
        }
        // Where the table is sorted, the votes grow no more: the more rows there are, the more buckets.
        assert_eq!(bucket_count(10_000_000, 2, seen, [100, 100]), 1 << 20);
        assert_eq!(bucket_count(100_000_000, 2, seen, [100, 100]), 1 << 22);
        assert_eq!(bucket_count(100_000_000, 2, seen, [50, 100]), 1 << 21);
        // Of many workers each has few.
        assert_eq!(bucket_count(100_000_000, 64, seen, [100, 100]), 1 << 17);
        assert_eq!(bucket_count(1_000_000_000_000, 2, seen, [2, 3]), BUCKETS_MAX);
    }
}
