//! What merges, mutations and inserts of a table must know of each other: which parts are being made into others, which blocks are on
//! their way, and who wants background merges to keep away.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use squall_runtime::CurrentMetric;
use squall_runtime::current_metrics::MetricGuard;
use squall_types::{Error, ErrorCode, Result};

use crate::merge_tree::expiry::ttl_range::TtlWork;
use crate::merge_tree::parts::part_name::PartName;
use crate::mutation::MutationFence;

/// How long after a failure background merges of the size that failed are not tried again: doubled with each further failure.
const BACKOFF_MIN: Duration = Duration::from_secs(2);
/// The longest.
const BACKOFF_MAX: Duration = Duration::from_secs(600);

/// Shared by all definitions that a table has had.
#[derive(Default)]
pub(in crate::merge_tree) struct MergeControl {
    state: Mutex<State>,
    /// Counts what changes which merges may begin.
    changes: AtomicU64,
}

/// Cancels a merge.
type Cancel = Arc<dyn Fn() + Send + Sync>;

#[derive(Default)]
struct State {
    /// Parts that are being merged or rewritten.
    locked: HashSet<Arc<str>>,
    /// Blocks that have a number and are not visible yet: no merge may reach over one, as its name would say that it holds it.
    pending: BTreeSet<(Arc<str>, u64)>,
    next_block: u64,
    /// Mutations that are not done.
    fences: Vec<Arc<MutationFence>>,
    /// Statements that want no background merge to begin or to go on.
    holds: usize,
    /// `SYSTEM STOP MERGES`.
    is_stopped: bool,
    /// `SYSTEM STOP TTL MERGES`.
    is_ttl_stopped: bool,
    /// Until when a partition is left alone after a merge for the sake of the TTL.
    ttl_rests: HashMap<(Arc<str>, TtlWork), Instant>,
    /// What cancels each background merge that runs.
    running: HashMap<u64, Cancel>,
    next_merge: u64,
    failed: Option<Failure>,
    /// When nothing was found to be merged: up to which size, and after how many changes.
    idle: Option<(u64, u64, Instant)>,
}

/// A background merge that has failed.
#[derive(Clone, Copy)]
struct Failure {
    bytes: u64,
    times: u32,
    until: Instant,
}

impl MergeControl {
    pub(in crate::merge_tree) fn new(next_block: u64) -> Self {
        Self { state: Mutex::new(State { next_block, ..State::default() }), changes: AtomicU64::default() }
    }

    /// A number for a new block of a partition. Until the claim is dropped no merge reaches over it.
    pub(in crate::merge_tree) fn claim_block(self: &Arc<Self>, partition_id: &Arc<str>) -> BlockClaim {
        let mut state = self.state.lock();
        let block = state.next_block;
        state.next_block += 1;
        state.pending.insert((partition_id.clone(), block));
        BlockClaim { control: self.clone(), partition_id: partition_id.clone(), block }
    }

    /// A mutation begins, which is about all blocks so far but for those that are on their way and not visible yet.
    pub(in crate::merge_tree) fn fence(&self, is_visible: impl Fn(&(Arc<str>, u64)) -> bool) -> Arc<MutationFence> {
        let mut state = self.state.lock();
        let excluded = state.pending.iter().filter(|block| !is_visible(block)).map(|(_, block)| *block).collect();
        let fence = Arc::new(MutationFence { version: state.next_block, excluded });
        state.next_block += 1;
        state.fences.push(fence.clone());
        drop(state);
        self.note_change();
        fence
    }

    /// Takes up a mutation again that is not done.
    pub(in crate::merge_tree) fn resume(&self, fence: &Arc<MutationFence>) {
        self.state.lock().fences.push(fence.clone());
        self.note_change();
    }

    /// A mutation is done, or killed.
    pub(in crate::merge_tree) fn unfence(&self, version: u64) {
        self.state.lock().fences.retain(|fence| fence.version != version);
        self.note_change();
    }

    /// Blocks from now on have higher numbers.
    pub(in crate::merge_tree) fn pass_block(&self, block: u64) {
        let mut state = self.state.lock();
        state.next_block = state.next_block.max(block + 1);
    }

    /// Notes that parts have come or gone.
    pub(in crate::merge_tree) fn note_change(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// What must not be merged: parts that are locked, and the places of pending blocks. To be asked before the parts are looked at: a
    /// block that is pending no more by then is among them.
    pub(in crate::merge_tree) fn obstacles(&self) -> Obstacles {
        let state = self.state.lock();
        Obstacles { locked: state.locked.clone(), pending: state.pending.clone(), fences: state.fences.clone() }
    }

    /// Locks parts.
    ///
    /// # Errors
    /// `PART_IS_TEMPORARILY_LOCKED` where one of them is.
    pub(in crate::merge_tree) fn lock(self: &Arc<Self>, names: &[Arc<str>]) -> Result<MergeLock> {
        let mut state = self.state.lock();
        if let Some(name) = names.iter().find(|name| state.locked.contains(*name)) {
            return Err(locked(format!("Part {name} is being merged")));
        }
        state.locked.extend(names.iter().cloned());
        let metrics = [CurrentMetric::Merge.hold(1), CurrentMetric::MergeParts.hold(names.len() as i64)];
        Ok(MergeLock { control: self.clone(), names: names.to_vec(), _metrics: metrics })
    }

    /// Keeps background merges away: those that run are cancelled, and none begins until the answer is dropped.
    pub(in crate::merge_tree) fn hold(self: &Arc<Self>) -> MergeHold {
        self.state.lock().holds += 1;
        self.cancel();
        MergeHold { control: self.clone() }
    }

    /// `SYSTEM STOP MERGES` and `START MERGES`.
    pub(in crate::merge_tree) fn stop(&self, is_stopped: bool) {
        self.state.lock().is_stopped = is_stopped;
        if is_stopped {
            self.cancel();
        }
        self.note_change();
    }

    /// `SYSTEM STOP TTL MERGES` and `START TTL MERGES`.
    pub(in crate::merge_tree) fn stop_ttl(&self, is_stopped: bool) {
        self.state.lock().is_ttl_stopped = is_stopped;
        self.note_change();
    }

    pub(in crate::merge_tree) fn is_ttl_stopped(&self) -> bool {
        self.state.lock().is_ttl_stopped
    }

    /// Whether a merge of a partition for the sake of the TTL may begin.
    pub(in crate::merge_tree) fn may_expire(&self, partition_id: &Arc<str>, work: TtlWork, now: Instant) -> bool {
        let state = self.state.lock();
        state.ttl_rests.get(&(partition_id.clone(), work)).is_none_or(|until| *until <= now)
    }

    /// Notes that one has begun: the next may at `until`.
    pub(in crate::merge_tree) fn note_ttl_merge(
        &self,
        partition_id: &Arc<str>,
        work: TtlWork,
        now: Instant,
        until: Instant,
    ) {
        let mut state = self.state.lock();
        state.ttl_rests.retain(|_, until| *until > now);
        state.ttl_rests.insert((partition_id.clone(), work), until);
    }

    /// The TTL has changed: what was merged for its sake does not count.
    pub(in crate::merge_tree) fn forget_ttl_merges(&self) {
        self.state.lock().ttl_rests.clear();
        self.note_change();
    }

    /// Cancels the background merges that run.
    pub(in crate::merge_tree) fn cancel(&self) {
        let running: Vec<Cancel> = self.state.lock().running.values().cloned().collect();
        running.into_iter().for_each(|cancel| cancel());
    }

    pub(in crate::merge_tree) fn is_stopped(&self) -> bool {
        self.state.lock().is_stopped
    }

    /// The largest background merge that may begin now, in bytes; `None` where none may.
    pub(in crate::merge_tree) fn bytes_max(&self, wanted: u64, now: Instant) -> Option<u64> {
        let state = self.state.lock();
        if state.is_stopped || state.holds > 0 {
            return None;
        }
        let bytes = match state.failed {
            Some(failure) if now < failure.until => wanted.min(failure.bytes / 2),
            _ => wanted,
        };
        let changes = self.changes.load(Ordering::Acquire);
        match state.idle {
            Some((of, up_to, until)) if of == changes && bytes <= up_to && now < until => None,
            _ => Some(bytes),
        }
    }

    /// The number of changes so far.
    pub(in crate::merge_tree) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Notes that after so many changes nothing up to a size is to be merged, and until when that holds.
    pub(in crate::merge_tree) fn note_idle(&self, changes: u64, bytes: u64, until: Instant) {
        self.state.lock().idle = Some((changes, bytes, until));
    }

    /// A background merge of parts of so many bytes begins; `None` where none may. `cancel` is called when it should end.
    pub(in crate::merge_tree) fn begin(self: &Arc<Self>, bytes: u64, cancel: Cancel) -> Option<BackgroundTurn> {
        let mut state = self.state.lock();
        if state.is_stopped || state.holds > 0 {
            return None;
        }
        let number = state.next_merge;
        state.next_merge += 1;
        state.running.insert(number, cancel);
        Some(BackgroundTurn { control: self.clone(), number, bytes })
    }
}

/// What stands in the way of merges.
pub(in crate::merge_tree) struct Obstacles {
    locked: HashSet<Arc<str>>,
    pending: BTreeSet<(Arc<str>, u64)>,
    fences: Vec<Arc<MutationFence>>,
}

impl Obstacles {
    /// Whether a mutation that is not done is about only one of two parts.
    pub(in crate::merge_tree) fn are_apart(&self, left: &PartName, right: &PartName) -> bool {
        self.fences.iter().any(|fence| fence.covers_name(left) != fence.covers_name(right))
    }

    pub(in crate::merge_tree) fn is_locked(&self, part: &Arc<str>) -> bool {
        self.locked.contains(part)
    }

    /// Whether a block between these two is on its way.
    pub(in crate::merge_tree) fn has_between(&self, partition_id: &Arc<str>, after: u64, before: u64) -> bool {
        let from = (partition_id.clone(), after.saturating_add(1));
        self.pending.range(from..(partition_id.clone(), before.max(after.saturating_add(1)))).next().is_some()
    }
}

pub(in crate::merge_tree) fn locked(message: String) -> Error {
    Error::new(ErrorCode::PART_IS_TEMPORARILY_LOCKED, message)
}

/// The number of a block that is not visible yet.
pub(in crate::merge_tree) struct BlockClaim {
    control: Arc<MergeControl>,
    partition_id: Arc<str>,
    pub(in crate::merge_tree) block: u64,
}

impl Drop for BlockClaim {
    fn drop(&mut self) {
        let mut state = self.control.state.lock();
        state.pending.remove(&(std::mem::take(&mut self.partition_id), self.block));
        drop(state);
        self.control.note_change();
    }
}

/// Parts that are being merged, by one merge only: two of the same parts would make the same file. Whoever holds it drops it after that
/// file was committed or removed.
pub(in crate::merge_tree) struct MergeLock {
    control: Arc<MergeControl>,
    names: Vec<Arc<str>>,
    _metrics: [MetricGuard; 2],
}

impl Drop for MergeLock {
    fn drop(&mut self) {
        let mut state = self.control.state.lock();
        self.names.iter().for_each(|name| {
            state.locked.remove(name);
        });
        drop(state);
        self.control.note_change();
    }
}

/// Keeps background merges of a table away.
pub struct MergeHold {
    control: Arc<MergeControl>,
}

impl MergeHold {
    /// Whether no background merge runs any more and every part is free. A cancelled merge is over a little before the last worker lets go
    /// of its parts: whoever looked for parts to merge in between would not find them.
    pub fn is_quiet(&self) -> bool {
        let state = self.control.state.lock();
        state.running.is_empty() && state.locked.is_empty()
    }
}

impl Drop for MergeHold {
    fn drop(&mut self) {
        self.control.state.lock().holds -= 1;
        self.control.note_change();
    }
}

/// A background merge that runs. It ends when this is dropped.
pub struct BackgroundTurn {
    control: Arc<MergeControl>,
    number: u64,
    bytes: u64,
}

impl BackgroundTurn {
    /// Notes that the merge has failed by itself: merges of its size wait.
    pub fn note_failure(&self, now: Instant) -> Duration {
        let mut state = self.control.state.lock();
        let times = state.failed.map_or(0, |failure| failure.times).saturating_add(1);
        let wait = BACKOFF_MIN.saturating_mul(1 << times.min(16)).min(BACKOFF_MAX);
        let still = state.failed.filter(|failure| now < failure.until).map_or(u64::MAX, |failure| failure.bytes);
        state.failed = Some(Failure { bytes: self.bytes.min(still), times, until: now + wait });
        wait
    }

    /// Notes that it has succeeded.
    pub fn note_success(&self) {
        let mut state = self.control.state.lock();
        if state.failed.is_some_and(|failure| failure.bytes <= self.bytes) {
            state.failed = None;
        }
    }
}

impl Drop for BackgroundTurn {
    fn drop(&mut self) {
        self.control.state.lock().running.remove(&self.number);
        self.control.note_change();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hold_is_quiet_when_no_merge_runs_and_no_part_is_taken() {
        let control = Arc::new(MergeControl::new(0));
        let cancelled = Arc::new(AtomicU64::default());
        let seen = cancelled.clone();
        let cancel: Cancel = Arc::new(move || {
            seen.fetch_add(1, Ordering::SeqCst);
        });
        let turn = control.begin(1, cancel.clone()).unwrap();
        let lock = control.lock(&["all_1_1_0".into()]).unwrap();
        let hold = control.hold();
        assert_eq!(cancelled.load(Ordering::SeqCst), 1);
        assert!(control.begin(1, cancel.clone()).is_none());
        assert!(!hold.is_quiet(), "a merge runs");
        drop(turn);
        assert!(!hold.is_quiet(), "its part is not free yet");
        drop(lock);
        assert!(hold.is_quiet());
        drop(hold);
        assert!(control.begin(1, cancel).is_some());
    }
}
