//! States that are large by themselves. Each worker cuts its own by the hashes of their values; the same pieces of all workers' states
//! of a group are merged by whoever has nothing else to do, and are put together again by the unit whose group it is.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};

use parking_lot::Mutex;
use squall_functions::{Accumulator, CUT_PARTS, CUT_PIECES};
use squall_runtime::Pieces;
use squall_types::Result;

/// Values from which a worker cuts a state, shared among the workers: so many that it pays to merge them in parallel.
const ITEMS_MIN: usize = 1 << 17;
/// Values from which a state is cut at least, however many workers there are: cutting takes as long as merging some thousand values.
const ITEMS_MIN_OF_WORKER: usize = 1 << 14;

/// Groups of a piece.
const PARTS: usize = CUT_PARTS / CUT_PIECES;

/// The pieces of a state.
type Cut = Vec<Box<dyn Accumulator>>;

/// A worker's state of a group, cut.
pub(super) struct LargeState {
    /// Which of the accumulators.
    pub(super) accumulator: usize,
    /// The group's number in the worker's part.
    pub(super) group: u32,
    pub(super) cut: Cut,
}

/// Takes out what is large of the states of one of so many workers.
pub(super) async fn cut(
    accumulators: &mut [Box<dyn Accumulator>],
    workers: usize,
    pieces: &mut Pieces,
) -> Result<Vec<LargeState>> {
    let mut large = Vec::new();
    if workers < 2 {
        return Ok(large);
    }
    for (accumulator, states) in accumulators.iter_mut().enumerate() {
        for group in states.large((ITEMS_MIN / workers).max(ITEMS_MIN_OF_WORKER)) {
            large.push(LargeState { accumulator, group, cut: states.cut(group)? });
            pieces.pause().await;
        }
    }
    Ok(large)
}

/// The large states of a partition, by accumulator and group: those of each worker.
#[derive(Default)]
pub(super) struct LargeGroups(BTreeMap<(usize, u32), Vec<Cut>>);

impl LargeGroups {
    /// Adds a worker's state of what is now this group.
    pub(super) fn add(&mut self, state: LargeState, group: u32) {
        self.0.entry((state.accumulator, group)).or_default().push(state.cut);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Pieces of large states that are to be merged.
#[derive(Default)]
pub(super) struct Jobs(Mutex<State>);

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    /// Units that may still add jobs.
    open: usize,
    waiting: Vec<Waker>,
}

/// The same piece of each worker's state of a group.
struct Job {
    states: Cut,
    group: Arc<Group>,
}

/// A group whose states are being merged.
struct Group {
    /// Pieces that are not merged yet.
    left: AtomicUsize,
    merged: Mutex<Cut>,
}

impl Job {
    async fn run(self, pieces: &mut Pieces) -> Result<Arc<Group>> {
        let mut states = self.states.into_iter();
        let Some(mut merged) = states.next() else { return Ok(self.group) };
        while let Some(mut state) = states.next() {
            let is_last = states.as_slice().is_empty();
            for part in 0..PARTS {
                let to = [part as u32];
                match is_last {
                    true => merged.merge_last(&mut *state, part, &to, PARTS)?,
                    false => merged.merge_range(&mut *state, part, &to, PARTS)?,
                }
                pieces.pause().await;
            }
        }
        while !merged.settle()? {
            pieces.pause().await;
        }
        self.group.merged.lock().push(merged);
        Ok(self.group)
    }
}

impl Jobs {
    /// No jobs yet; so many units may add some.
    pub(super) fn new(units: usize) -> Self {
        Self(Mutex::new(State { open: units, ..State::default() }))
    }

    /// To be held by a unit as long as it may add jobs.
    pub(super) fn open(&self) -> Open<'_> {
        Open(self)
    }

    /// Something has happened that others may wait for.
    fn wake(&self) {
        let waiting = std::mem::take(&mut self.0.lock().waiting);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// The next job, or none where there is no further reason to wait for one.
    async fn next(&self, is_over: impl Fn(&State) -> bool) -> Option<Job> {
        poll_fn(|task| {
            let mut state = self.0.lock();
            if is_over(&state) {
                return Poll::Ready(None);
            }
            if let Some(job) = state.queue.pop_front() {
                return Poll::Ready(Some(job));
            }
            state.waiting.push(task.waker().clone());
            Poll::Pending
        })
        .await
    }

    async fn run(&self, job: Job, pieces: &mut Pieces) -> Result<()> {
        let group = job.run(pieces).await?;
        if group.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.wake();
        }
        pieces.pause().await;
        Ok(())
    }

    /// Does others' jobs until no unit adds any more.
    pub(super) async fn help(&self) -> Result<()> {
        let mut pieces = Pieces::begin();
        while let Some(job) = self.next(|state| state.open == 0 && state.queue.is_empty()).await {
            self.run(job, &mut pieces).await?;
        }
        Ok(())
    }

    /// Merges large states, with the help of others, into the accumulators that have what is small of them, of so many groups.
    pub(super) async fn merge(
        &self,
        large: LargeGroups,
        accumulators: &mut [Box<dyn Accumulator>],
        groups: usize,
        pieces: &mut Pieces,
    ) -> Result<()> {
        let mut begun = Vec::new();
        for ((accumulator, number), mut states) in large.0 {
            let into = &mut accumulators[accumulator];
            if into.items(number as usize..number as usize + 1) > 0 {
                states.push(into.cut(number)?);
                pieces.pause().await;
            }
            let mut states: Vec<_> = states.into_iter().map(Vec::into_iter).collect();
            let group = Arc::new(Group { left: CUT_PIECES.into(), merged: Mutex::default() });
            let piece =
                |_| Job { states: states.iter_mut().filter_map(Iterator::next).collect(), group: group.clone() };
            let jobs: Vec<Job> = (0..CUT_PIECES).map(piece).collect();
            self.0.lock().queue.extend(jobs);
            self.wake();
            begun.push((accumulator, number, group));
        }
        for (accumulator, number, group) in begun {
            while let Some(job) = self.next(|_| group.left.load(Ordering::SeqCst) == 0).await {
                self.run(job, pieces).await?;
            }
            let merged = std::mem::take(&mut *group.merged.lock());
            for mut piece in merged {
                accumulators[accumulator].merge_range(&mut *piece, 0, &[number; PARTS], groups)?;
                pieces.pause().await;
            }
        }
        Ok(())
    }
}

/// A unit that may add jobs.
pub(super) struct Open<'a>(&'a Jobs);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.0.lock().open -= 1;
        self.0.wake();
    }
}
