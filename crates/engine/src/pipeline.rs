//! A pipeline: a source of morsels, operators, a sink. Workers run it morsel by morsel; nothing in it ever waits.

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Waker;

use squall_scheduler::MorselSizer;
use squall_storage::{Claim, Morsel, TableScan};
use squall_types::{Block, Error, Result};

use crate::operator::Operator;
use crate::query_context::QueryContext;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Where the rows of pipelines end. Several pipelines may share a sink (the inputs of a UNION).
pub trait Sink: Send + Sync {
    /// State for one worker; a worker has it to itself for a morsel.
    ///
    /// # Errors
    /// Where there can be none (a table that takes no more rows).
    fn local(&self) -> Result<Box<dyn LocalSink>>;

    /// All rows have come: `locals` are all states that were made.
    ///
    /// # Errors
    /// The functions' own.
    fn finish(&self, locals: Vec<Box<dyn LocalSink>>) -> Result<()>;

    /// Whether no more rows should come for now (a client that reads slowly).
    fn is_full(&self) -> bool {
        false
    }

    /// Whether no more rows are wanted at all.
    fn is_done(&self) -> bool {
        false
    }

    /// Rows of a morsel at most: a sink that keeps rows for a slow reader can be over its bound by a morsel of each worker.
    fn morsel_rows_max(&self) -> u64 {
        u64::MAX
    }

    /// Rows of a block at most; `None` for as many as come.
    fn block_rows_max(&self) -> Option<usize> {
        None
    }

    /// The name for EXPLAIN PIPELINE.
    fn name(&self) -> &'static str;
}

/// One worker's part of a sink.
pub trait LocalSink: Send + Any {
    /// Takes a block of the morsel with this sequence number.
    ///
    /// # Errors
    /// The functions' own.
    fn consume(&mut self, sequence: Sequence, block: Block) -> Result<()>;

    /// The morsel is over; called for each morsel, also those without rows.
    ///
    /// # Errors
    /// The functions' own.
    fn end_morsel(&mut self, _sequence: Sequence) -> Result<()> {
        Ok(())
    }
}

/// The place of a morsel in the order of a sink's input: first the pipeline's, then the morsel's within it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Sequence {
    /// The pipeline's place among those of its sink.
    pub input: usize,
    /// The morsel's number within the pipeline.
    pub morsel: u64,
}

/// The end of pipelines: a sink, and its workers' states.
pub struct Stage {
    pub(crate) sink: Arc<dyn Sink>,
    locals: Mutex<Vec<Box<dyn LocalSink>>>,
    /// Pipelines that have not ended.
    inputs_left: AtomicUsize,
}

impl Stage {
    pub(crate) fn new(sink: Arc<dyn Sink>, inputs: usize) -> Arc<Self> {
        Arc::new(Self { sink, locals: Mutex::default(), inputs_left: AtomicUsize::new(inputs) })
    }

    /// A state for a morsel: the one that was used last, whose memory is warmest.
    fn take_local(&self) -> Result<Box<dyn LocalSink>> {
        let local = self.locals.lock().pop();
        local.map_or_else(|| self.sink.local(), Ok)
    }

    fn give_local(&self, local: Box<dyn LocalSink>) {
        self.locals.lock().push(local);
    }

    /// One input has ended; the last one finishes the sink. True where it was the last.
    pub(crate) fn end_input(&self) -> Result<bool> {
        if self.inputs_left.fetch_sub(1, Ordering::SeqCst) != 1 {
            return Ok(false);
        }
        let locals = std::mem::take(&mut *self.locals.lock());
        self.sink.finish(locals)?;
        Ok(true)
    }
}

/// A source, the operators after it, and where it ends.
pub struct Pipeline {
    pub(crate) source: Arc<dyn TableScan>,
    pub(crate) source_name: String,
    pub(crate) operators: Vec<Arc<dyn Operator>>,
    pub(crate) stage: Arc<Stage>,
    /// The pipeline's place among the inputs of its stage.
    pub(crate) input: usize,
    /// Pipelines that must end before this one starts, by number.
    pub(crate) depends_on: Vec<usize>,
    /// Workers at once.
    pub(crate) workers_max: usize,
    /// Rows of a block as operators see it; larger blocks of the source are cut.
    pub(crate) block_rows: usize,
    /// Whether the source is a table, whose rows count as read.
    pub(crate) counts_as_read: bool,
    sizer: MorselSizer,
    /// The next morsel's number. The lock is held while a morsel is claimed, so that numbers have the order of rows.
    next_sequence: Mutex<u64>,
    rows_claimed: AtomicU64,
    /// Workers inside, times two, plus one once nothing is left to claim. One number, so that the worker that leaves last knows in
    /// the same moment whether the pipeline is over: between two looks another could come, claim, and still be running.
    presence: AtomicUsize,
    is_ended: AtomicBool,
}

/// In [`Pipeline::presence`]: nothing is left to claim.
const EXHAUSTED: usize = 1;
/// In [`Pipeline::presence`]: one worker.
const WORKER: usize = 2;

/// What a worker found when it came to a pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Visit {
    /// A morsel was run.
    Ran,
    /// There was no morsel to run now.
    Nothing,
}

impl Pipeline {
    pub(crate) fn new(source: Arc<dyn TableScan>, source_name: String, stage: Arc<Stage>) -> Self {
        Self {
            source,
            source_name,
            operators: Vec::new(),
            stage,
            input: 0,
            depends_on: Vec::new(),
            workers_max: usize::MAX,
            block_rows: usize::MAX,
            counts_as_read: false,
            sizer: MorselSizer::default(),
            next_sequence: Mutex::new(0),
            rows_claimed: 0.into(),
            presence: AtomicUsize::new(0),
            is_ended: AtomicBool::new(false),
        }
    }

    /// Runs one morsel if there is one. The second value is true for the caller that must end the pipeline: no morsel is left and
    /// none is running.
    pub(crate) fn visit(&self, context: &QueryContext, target_ns: u64, waker: &Waker) -> (Result<Visit>, bool) {
        let entered = self.presence.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |presence| {
            (presence / WORKER < self.workers_max).then_some(presence + WORKER)
        });
        let Ok(presence) = entered else { return (Ok(Visit::Nothing), false) };
        // Those who are here share what is left: a worker that is alone, as in a rush, need not cut its last morsels small.
        let workers = presence / WORKER + 1;
        let result = self.claim_and_run(context, target_ns, workers, waker);
        if result.is_err() {
            // Who failed stays, as a thread that panicked does: nobody may find the pipeline over, and its rows complete, before the
            // error has ended the query.
            return (result, false);
        }
        let before = self.presence.fetch_sub(WORKER, Ordering::SeqCst);
        let must_end = before == WORKER | EXHAUSTED && !self.is_ended.swap(true, Ordering::SeqCst);
        (result, must_end)
    }

    fn claim_and_run(&self, context: &QueryContext, target_ns: u64, workers: usize, waker: &Waker) -> Result<Visit> {
        if self.presence.load(Ordering::SeqCst) & EXHAUSTED != 0 {
            return Ok(Visit::Nothing);
        }
        let sink = &self.stage.sink;
        if context.is_reading_stopped() && self.counts_as_read || self.is_done() {
            self.presence.fetch_or(EXHAUSTED, Ordering::SeqCst);
            return Ok(Visit::Nothing);
        }
        if sink.is_full() || self.operators.iter().any(|operator| operator.is_full()) {
            return Ok(Visit::Nothing);
        }
        let claimed = self.rows_claimed.load(Ordering::Relaxed);
        let rows_left = self.source.rows_total().map(|total| total.saturating_sub(claimed));
        let rows = self.sizer.rows(target_ns, rows_left, workers).min(sink.morsel_rows_max());
        let (claim, sequence) = {
            let mut next = self.next_sequence.lock();
            let claim = self.source.claim(rows, waker);
            let sequence = *next;
            if matches!(claim, Claim::Morsel(_)) {
                *next += 1;
            }
            (claim, sequence)
        };
        let morsel = match claim {
            Claim::Morsel(morsel) => morsel,
            Claim::Pending => return Ok(Visit::Nothing),
            Claim::Finished => {
                self.presence.fetch_or(EXHAUSTED, Ordering::SeqCst);
                return Ok(Visit::Nothing);
            }
        };
        self.rows_claimed.fetch_add(morsel.rows, Ordering::Relaxed);
        let began = std::time::Instant::now();
        self.run(context, morsel, Sequence { input: self.input, morsel: sequence })?;
        self.sizer.ran(morsel.rows, began.elapsed().as_nanos() as u64);
        Ok(Visit::Ran)
    }

    fn is_done(&self) -> bool {
        self.stage.sink.is_done() || self.operators.iter().any(|operator| operator.is_done())
    }

    fn run(&self, context: &QueryContext, morsel: Morsel, sequence: Sequence) -> Result<()> {
        let mut local = self.stage.take_local()?;
        let mut read = (0, 0);
        let result = self.source.read(morsel, &mut |block| {
            read.0 += block.rows() as u64;
            if self.counts_as_read {
                read.1 += block.value_bytes() as u64;
            }
            let mut offset = 0;
            while offset < block.rows() {
                let rows = (block.rows() - offset).min(self.block_rows);
                let piece = if rows == block.rows() { block.clone() } else { block.slice(offset, rows) };
                offset += rows;
                if self.push(&self.operators, context, &mut *local, sequence, piece)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        });
        if self.counts_as_read {
            context.progress.read_rows.fetch_add(read.0, Ordering::Relaxed);
            context.progress.read_bytes.fetch_add(read.1, Ordering::Relaxed);
            crate::thread_work::count_read(read.0, read.1);
        }
        let result = result.and_then(|()| local.end_morsel(sequence));
        self.stage.give_local(local);
        result
    }

    /// Sends a block through operators into the sink. `Break` where no more rows are wanted.
    fn push(
        &self,
        operators: &[Arc<dyn Operator>],
        context: &QueryContext,
        local: &mut dyn LocalSink,
        sequence: Sequence,
        block: Block,
    ) -> Result<ControlFlow<()>> {
        match operators.split_first() {
            Some((first, rest)) => {
                first.execute_each(block, &mut |block| self.push(rest, context, local, sequence, block))
            }
            None => {
                local.consume(sequence, block)?;
                // An error, not a break: the rest of the morsel is not read, and nobody may take what was for all of it.
                context.check_cancelled()?;
                Ok(if self.is_done() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            }
        }
    }
}

/// The state of a type that the sink made itself.
///
/// # Errors
/// `LOGICAL_ERROR` where it is another sink's.
pub(crate) fn downcast_local<L: LocalSink>(local: Box<dyn LocalSink>) -> Result<Box<L>> {
    let local: Box<dyn Any> = local;
    local.downcast().map_err(|_| Error::logical("a worker's state of another sink"))
}
