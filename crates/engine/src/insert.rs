//! The end of an INSERT: rows go into a table's writers, one per worker; the work that makes parts of them is done by any worker,
//! piece by piece, beside what still comes; then the whole INSERT is committed at once on a thread that may wait for the disk.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Waker;

use squall_runtime::ThreadPool;
use squall_runtime::thread_pool::JobOptions;
use squall_storage::{Claim, InsertWriter, Insertion, Morsel, TableScan};
use squall_types::{Block, Error, ErrorCode, Result};

use crate::pipeline::{LocalSink, Sequence, Sink, downcast_local};
use crate::query_context::QueryContext;
use crate::sync::Mutex;
use crate::sync::atomic::Ordering;
use crate::works::Works;

/// Blocks that may wait to be written; the sender waits when there are more.
const BLOCKS_MAX: usize = 8;

/// Writes its input into a table.
pub(crate) struct InsertSink {
    pub(crate) insertion: Arc<dyn Insertion>,
    pub(crate) context: Arc<QueryContext>,
    pub(crate) parts: Arc<Works>,
}

impl Sink for InsertSink {
    fn local(&self) -> Result<Box<dyn LocalSink>> {
        let (context, parts) = (self.context.clone(), self.parts.clone());
        Ok(Box::new(InsertLocal { writer: self.insertion.writer()?, context, parts }))
    }

    fn finish(&self, locals: Vec<Box<dyn LocalSink>>) -> Result<()> {
        for local in locals {
            if let Some(part) = downcast_local::<InsertLocal>(local)?.writer.finish()? {
                self.parts.add(part);
            }
        }
        self.parts.end();
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.parts.is_behind()
    }

    fn name(&self) -> &'static str {
        "Insert"
    }
}

struct InsertLocal {
    writer: Box<dyn InsertWriter>,
    context: Arc<QueryContext>,
    parts: Arc<Works>,
}

impl LocalSink for InsertLocal {
    fn consume(&mut self, sequence: Sequence, block: Block) -> Result<()> {
        let (rows, bytes) = (block.rows() as u64, block.value_bytes() as u64);
        self.writer.set_place((sequence.input, sequence.morsel));
        if let Some(part) = self.writer.write(block)? {
            self.parts.add(part);
        }
        self.context.progress.written_rows.fetch_add(rows, Ordering::Relaxed);
        self.context.progress.written_bytes.fetch_add(bytes, Ordering::Relaxed);
        crate::thread_work::count_written(rows, bytes);
        Ok(())
    }
}

/// Commits the INSERT on a thread of the pool; no worker waits meanwhile.
pub(crate) struct Commit {
    insertion: Arc<dyn Insertion>,
    pool: ThreadPool,
    context: Arc<QueryContext>,
    state: Arc<Mutex<CommitState>>,
}

#[derive(Default)]
enum CommitState {
    #[default]
    NotStarted,
    Running,
    Done(Result<()>),
    Reported,
}

impl Commit {
    pub(crate) fn new(insertion: Arc<dyn Insertion>, pool: ThreadPool, context: Arc<QueryContext>) -> Self {
        Self { insertion, pool, context, state: Arc::default() }
    }
}

impl TableScan for Commit {
    fn rows_total(&self) -> Option<u64> {
        None
    }

    fn claim(&self, _: u64, waker: &Waker) -> Claim {
        let mut state = self.state.lock();
        match *state {
            CommitState::NotStarted => {
                *state = CommitState::Running;
                let (insertion, shared, waker) = (self.insertion.clone(), self.state.clone(), waker.clone());
                let options = JobOptions { owner: Some(self.context.clone()), ..JobOptions::default() };
                let scheduled = self.pool.schedule_with(options, move || {
                    let result = insertion.commit();
                    *shared.lock() = CommitState::Done(result);
                    waker.wake();
                });
                match scheduled {
                    Ok(()) => Claim::Pending,
                    Err(error) => {
                        let error = Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string());
                        *state = CommitState::Done(Err(error));
                        Claim::Morsel(Morsel { first: 0, rows: 1 })
                    }
                }
            }
            CommitState::Running => Claim::Pending,
            CommitState::Done(_) => Claim::Morsel(Morsel { first: 0, rows: 1 }),
            CommitState::Reported => Claim::Finished,
        }
    }

    fn read(&self, _: Morsel, _: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        match std::mem::replace(&mut *self.state.lock(), CommitState::Reported) {
            CommitState::Done(result) => result,
            _ => Ok(()),
        }
    }
}

/// Blocks that a client sends, on their way into the INSERT's pipeline.
#[derive(Default)]
pub(crate) struct Input {
    state: Mutex<InputState>,
}

#[derive(Default)]
struct InputState {
    waiting: VecDeque<Block>,
    /// Blocks that are claimed, by the number of their morsel.
    claimed: VecDeque<(u64, Block)>,
    claims: u64,
    is_finished: bool,
    /// The query has ended: nobody takes blocks any more.
    is_abandoned: bool,
    /// The pipeline, while it waits for a block.
    reader: Option<Waker>,
    /// The client's task, while it waits for room.
    writer: Option<Waker>,
}

impl Input {
    /// Takes the block out of `block` where there is room; where there is none, wakes `writer` when there is or the query has ended.
    pub(crate) fn push(&self, block: &mut Option<Block>, writer: &Waker) -> Push {
        let mut state = self.state.lock();
        if state.is_abandoned {
            return Push::Abandoned;
        }
        if state.waiting.len() >= BLOCKS_MAX {
            state.writer = Some(writer.clone());
            return Push::Full;
        }
        state.waiting.extend(block.take());
        wake(state.reader.take());
        Push::Taken
    }

    /// No more blocks will come.
    pub(crate) fn finish(&self) {
        let mut state = self.state.lock();
        state.is_finished = true;
        wake(state.reader.take());
    }

    /// The query has ended, perhaps before it took everything: whoever waits for room learns it now, whoever comes later at once.
    pub(crate) fn abandon(&self) {
        let mut state = self.state.lock();
        state.is_abandoned = true;
        state.waiting.clear();
        wake(state.writer.take());
    }
}

/// What became of a block that was pushed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Push {
    /// It is on its way.
    Taken,
    /// There is no room.
    Full,
    /// Nobody will take it.
    Abandoned,
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// The source end of [`Input`].
pub(crate) struct InputScan(pub(crate) Arc<Input>);

impl TableScan for InputScan {
    fn rows_total(&self) -> Option<u64> {
        None
    }

    fn claim(&self, _: u64, waker: &Waker) -> Claim {
        let mut state = self.0.state.lock();
        match state.waiting.pop_front() {
            Some(block) => {
                let (first, rows) = (state.claims, block.rows() as u64);
                state.claims += 1;
                state.claimed.push_back((first, block));
                wake(state.writer.take());
                Claim::Morsel(Morsel { first, rows })
            }
            None if state.is_finished => Claim::Finished,
            None => {
                state.reader = Some(waker.clone());
                Claim::Pending
            }
        }
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        let block = {
            let mut state = self.0.state.lock();
            let at = state.claimed.iter().position(|(number, _)| *number == morsel.first);
            at.and_then(|at| state.claimed.remove(at))
        };
        let (_, block) = block.ok_or_else(|| Error::logical("an inserted block is read twice"))?;
        consume(block).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use std::task::Wake;

    use super::*;

    struct Calls(AtomicUsize);

    impl Wake for Calls {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn block() -> Option<Block> {
        Some(Block::from_columns([("x", squall_types::Column::from_strings(["1"]))]).unwrap())
    }

    /// All that a sender and the end of a query can do happens under one lock: either order is a whole history.
    #[test]
    fn a_sender_learns_of_the_end_before_and_after_it() {
        let calls = Arc::new(Calls(AtomicUsize::new(0)));
        let waker = Waker::from(calls.clone());
        let input = Input::default();
        for _ in 0..BLOCKS_MAX {
            assert_eq!(input.push(&mut block(), &waker), Push::Taken);
        }
        let mut unsent = block();
        assert_eq!(input.push(&mut unsent, &waker), Push::Full);
        assert!(unsent.is_some());
        input.abandon();
        assert_eq!(calls.0.load(Ordering::SeqCst), 1, "who waits for room is woken");
        assert_eq!(input.push(&mut unsent, &waker), Push::Abandoned);
        // Room or not: a block that nobody will take is not taken.
        let input = Input::default();
        input.abandon();
        assert_eq!(input.push(&mut unsent, &waker), Push::Abandoned);
        assert!(unsent.is_some());
    }
}
