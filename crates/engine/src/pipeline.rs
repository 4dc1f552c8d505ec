//! A pipeline: a source of morsels, operators, a sink. Workers run it morsel by morsel; nothing in it ever waits.

use std::any::Any;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use squall_scheduler::MorselSizer;
use squall_storage::{Claim, Morsel, TableScan};
use squall_types::{Block, Error, Result};

use crate::operator::Operator;
use crate::query_context::QueryContext;
use crate::step_profile::PipelineSteps;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::works::Works;

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

    /// Whether a morsel that was begun may go on; the one that is first in order may, unless the sink is full.
    fn has_room_for(&self, _sequence: Sequence) -> bool {
        !self.is_full()
    }

    /// Whether no more rows are wanted at all.
    fn is_done(&self) -> bool {
        false
    }

    /// Rows of a morsel at most.
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
    fn end_input(&self) -> Result<bool> {
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
    /// Where the source is works, these: they know how many workers they want.
    pub(crate) works: Option<Arc<Works>>,
    /// Where the query is analyzed: whose work this is.
    pub(crate) steps: Option<PipelineSteps>,
    sizer: MorselSizer,
    /// The next morsel's number. The lock is held while a morsel is claimed, so that numbers have the order of rows.
    next_sequence: Mutex<u64>,
    rows_claimed: AtomicU64,
    /// Rows of a table that is the source, as it last said; otherwise [`UNKNOWN`].
    rows_known: AtomicU64,
    /// Workers inside, times two, plus one once nothing is left to claim. One number, so that the worker that leaves last knows in
    /// the same moment whether the pipeline is over: between two looks another could come, claim, and still be running.
    presence: AtomicUsize,
    is_ended: AtomicBool,
    /// Morsels that took too long for one step, or found the sink full; each is still present. How many there are is known without
    /// the lock.
    parked: Mutex<Vec<Open>>,
    parked_count: AtomicUsize,
    /// Rows that operators get at once where many may come out for one, by how long those before took.
    piece_rows: AtomicUsize,
}

/// Rows that the tables of pipelines will give, as far as they know.
pub(crate) fn rows_total(pipelines: &[Pipeline]) -> Option<u64> {
    pipelines.iter().filter(|pipeline| pipeline.counts_as_read).map(Pipeline::rows_total).sum()
}

/// A morsel that was begun.
struct Open {
    local: Box<dyn LocalSink>,
    sequence: Sequence,
    /// Rows that were claimed.
    rows: u64,
    /// Blocks that are read, and have not gone through the operators.
    blocks: VecDeque<Block>,
    /// How long it has been run for.
    ns: u64,
}

/// How long operators may be at a piece of a block of which many rows may come.
const PIECE_NS: u64 = 500_000;
/// Rows of the first such piece, and of the smallest.
const PIECE_ROWS: usize = 1_024;
const PIECE_ROWS_MIN: usize = 64;

/// In [`Pipeline::rows_known`]: nobody knows.
const UNKNOWN: u64 = u64::MAX;

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
            works: None,
            steps: None,
            sizer: MorselSizer::default(),
            next_sequence: Mutex::new(0),
            rows_claimed: 0.into(),
            rows_known: AtomicU64::new(UNKNOWN),
            presence: AtomicUsize::new(0),
            is_ended: AtomicBool::new(false),
            parked: Mutex::default(),
            parked_count: AtomicUsize::new(0),
            piece_rows: AtomicUsize::new(PIECE_ROWS),
        }
    }

    /// Runs one morsel if there is one, or some of one. The second value is true for the caller that must end the pipeline: no morsel is left and
    /// none is running.
    pub(crate) fn visit(&self, context: &QueryContext, target_ns: u64, waker: &Waker) -> (Result<Visit>, bool) {
        if let Some(steps) = &self.steps {
            steps.begin();
        }
        if let Some(open) = self.take_parked() {
            return self.leave(self.run_on(context, open, target_ns).map(|is_over| (Visit::Ran, is_over)));
        }
        let entered = self.presence.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |presence| {
            (presence / WORKER < self.workers_max).then_some(presence + WORKER)
        });
        let Ok(presence) = entered else { return (Ok(Visit::Nothing), false) };
        // Those who are here share what is left: a worker that is alone, as in a rush, need not cut its last morsels small.
        let workers = presence / WORKER + 1;
        self.leave(self.claim_and_run(context, target_ns, workers, waker))
    }

    /// What a visit came to. Where its morsel is not over that one stays present, whoever goes on with it.
    fn leave(&self, result: Result<(Visit, bool)>) -> (Result<Visit>, bool) {
        match result {
            // Who failed stays, as a thread that panicked does: nobody may find the pipeline over, and its rows complete, before the
            // error has ended the query.
            Err(error) => (Err(error), false),
            Ok((visit, false)) => (Ok(visit), false),
            Ok((visit, true)) => {
                let before = self.presence.fetch_sub(WORKER, Ordering::SeqCst);
                let must_end = before == WORKER | EXHAUSTED && !self.is_ended.swap(true, Ordering::SeqCst);
                (Ok(visit), must_end)
            }
        }
    }

    /// How many workers would have enough to do, at least one: by the time that the rows left of a table will take. Asks nobody for a lock,
    /// as those who wake a query may hold any.
    fn workers_useful(&self) -> usize {
        match self.rows_known.load(Ordering::Relaxed) {
            UNKNOWN => usize::MAX,
            rows => self.sizer.workers(rows.saturating_sub(self.rows_claimed.load(Ordering::Relaxed))),
        }
    }

    /// The pipeline has ended: finishes the sink if it was its last input. True where it was.
    ///
    /// # Errors
    /// The sink's.
    pub(crate) fn end(&self) -> Result<bool> {
        let Some(steps) = &self.steps else { return self.stage.end_input() };
        steps.begin();
        let ended = self.stage.end_input();
        steps.end_sink();
        ended
    }

    /// Rows of the source, as far as it knows.
    pub(crate) fn rows_total(&self) -> Option<u64> {
        let rows = self.source.rows_total();
        if self.counts_as_read {
            self.rows_known.store(rows.unwrap_or(UNKNOWN), Ordering::Relaxed);
        }
        rows
    }

    /// Whether all of it has run.
    pub(crate) fn is_over(&self) -> bool {
        self.is_ended.load(Ordering::SeqCst)
    }

    /// How many more workers are worth calling: at least one, but of works as many as there are. Others may come by themselves.
    pub(crate) fn workers_wanted(&self) -> usize {
        if let Some(works) = &self.works {
            return works.workers_wanted();
        }
        // Parked morsels have no worker.
        let present = self.presence.load(Ordering::SeqCst) / WORKER;
        let here = present.saturating_sub(self.parked_count.load(Ordering::SeqCst));
        self.workers_max.min(self.workers_useful()).saturating_sub(here).max(1)
    }

    fn take_parked(&self) -> Option<Open> {
        // Whoever parks a morsel comes back for it.
        if self.parked_count.load(Ordering::SeqCst) == 0 || self.operators.iter().any(|operator| operator.is_full()) {
            return None;
        }
        let mut parked = self.parked.lock();
        let (first, _) = parked.iter().enumerate().min_by_key(|(_, open)| open.sequence)?;
        // Those after it have no more room than it has.
        if !self.stage.sink.has_room_for(parked[first].sequence) {
            return None;
        }
        self.parked_count.fetch_sub(1, Ordering::SeqCst);
        Some(parked.swap_remove(first))
    }

    /// Runs a morsel, if there is one. The second value is false where it is not over.
    fn claim_and_run(
        &self,
        context: &QueryContext,
        target_ns: u64,
        workers: usize,
        waker: &Waker,
    ) -> Result<(Visit, bool)> {
        if self.presence.load(Ordering::SeqCst) & EXHAUSTED != 0 {
            return Ok((Visit::Nothing, true));
        }
        let sink = &self.stage.sink;
        if context.is_reading_stopped() && self.counts_as_read || self.is_done() {
            self.presence.fetch_or(EXHAUSTED, Ordering::SeqCst);
            return Ok((Visit::Nothing, true));
        }
        if self.is_full() {
            return Ok((Visit::Nothing, true));
        }
        let claimed = self.rows_claimed.load(Ordering::Relaxed);
        let rows_left = self.rows_total().map(|total| total.saturating_sub(claimed));
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
            Claim::Pending => return Ok((Visit::Nothing, true)),
            Claim::Finished => {
                self.presence.fetch_or(EXHAUSTED, Ordering::SeqCst);
                return Ok((Visit::Nothing, true));
            }
        };
        self.rows_claimed.fetch_add(morsel.rows, Ordering::Relaxed);
        let sequence = Sequence { input: self.input, morsel: sequence };
        Ok((Visit::Ran, self.run(context, morsel, sequence, target_ns)?))
    }

    fn is_full(&self) -> bool {
        self.stage.sink.is_full() || self.operators.iter().any(|operator| operator.is_full())
    }

    fn is_done(&self) -> bool {
        self.stage.sink.is_done() || self.operators.iter().any(|operator| operator.is_done())
    }

    /// Reads a morsel and runs it, for so long; whether it is over.
    fn run(&self, context: &QueryContext, morsel: Morsel, sequence: Sequence, target_ns: u64) -> Result<bool> {
        let began = Instant::now();
        let local = self.stage.take_local()?;
        let mut open = Open { local, sequence, rows: morsel.rows, blocks: VecDeque::new(), ns: 0 };
        let mut read = (0, 0);
        let result = self.source.read(morsel, &mut |block| {
            read.0 += block.rows() as u64;
            if self.counts_as_read {
                read.1 += block.value_bytes() as u64;
            }
            let has_time = open.blocks.is_empty();
            open.blocks.push_back(block);
            if has_time {
                self.push_blocks(context, &mut open, began, target_ns)
            } else {
                Ok(ControlFlow::Continue(()))
            }
        });
        read.0 += self.source.take_left_out();
        if self.counts_as_read {
            context.progress.read_rows.fetch_add(read.0, Ordering::Relaxed);
            context.progress.read_bytes.fetch_add(read.1, Ordering::Relaxed);
            crate::thread_work::count_read(read.0, read.1);
        }
        self.end_or_park(context, open, began, result)
    }

    /// Goes on with a morsel, for so long; whether it is over.
    fn run_on(&self, context: &QueryContext, mut open: Open, target_ns: u64) -> Result<bool> {
        let began = Instant::now();
        if self.is_done() {
            open.blocks.clear();
        }
        let result = self.push_blocks(context, &mut open, began, target_ns).map(|_| ());
        self.end_or_park(context, open, began, result)
    }

    fn end_or_park(&self, context: &QueryContext, mut open: Open, began: Instant, result: Result<()>) -> Result<bool> {
        if let Some(steps) = &self.steps {
            steps.end_source();
        }
        open.ns += began.elapsed().as_nanos() as u64;
        if result.is_ok() && !open.blocks.is_empty() {
            self.parked.lock().push(open);
            self.parked_count.fetch_add(1, Ordering::SeqCst);
            return Ok(false);
        }
        let Open { mut local, sequence, rows, ns, .. } = open;
        let result = result.and_then(|()| local.end_morsel(sequence));
        if let Some(steps) = &self.steps {
            steps.end_sink();
        }
        self.stage.give_local(local);
        if self.sizer.ran(rows, ns) && self.workers_useful() > 1 {
            // What was thought to be little turns out to be much.
            context.wake();
        }
        result.map(|()| true)
    }

    /// Sends blocks through operators into the sink, until the time is over: then some are left. `Break` where no more rows are wanted.
    fn push_blocks(
        &self,
        context: &QueryContext,
        open: &mut Open,
        began: Instant,
        target_ns: u64,
    ) -> Result<ControlFlow<()>> {
        let expands = self.operators.iter().any(|operator| operator.expands());
        let rows_max = || match expands {
            true => self.block_rows.min(self.piece_rows.load(Ordering::Relaxed)),
            false => self.block_rows,
        };
        let mut now = began.elapsed().as_nanos() as u64;
        while let Some(block) = open.blocks.pop_front() {
            if block.rows() == 0 {
                continue;
            }
            let most = rows_max();
            let rows = block.rows().min(most);
            let piece = if rows == block.rows() {
                block
            } else {
                open.blocks.push_front(block.slice(rows, block.rows() - rows));
                block.slice(0, rows)
            };
            if self.push(&self.operators, context, &mut *open.local, open.sequence, piece)?.is_break() {
                open.blocks.clear();
                return Ok(ControlFlow::Break(()));
            }
            let then = began.elapsed().as_nanos() as u64;
            // The end of a block says nothing, unless it took long.
            if expands && (rows == most || then - now > PIECE_NS) {
                let wanted = (rows as u64).saturating_mul(PIECE_NS) / (then - now).max(1);
                let wanted = usize::try_from(wanted).unwrap_or(usize::MAX).clamp(rows / 4, rows.saturating_mul(4));
                self.piece_rows.store(wanted.max(PIECE_ROWS_MIN), Ordering::Relaxed);
            }
            now = then;
            if now >= target_ns || !open.blocks.is_empty() && !self.stage.sink.has_room_for(open.sequence) {
                break;
            }
        }
        Ok(ControlFlow::Continue(()))
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

#[cfg(test)]
mod tests {
    use arrow_array::types::UInt64Type;
    use squall_types::{Column, DataType, Settings};

    use super::*;

    /// Morsels of three blocks of ten rows.
    struct Numbers {
        next: AtomicU64,
    }

    impl TableScan for Numbers {
        fn rows_total(&self) -> Option<u64> {
            None
        }

        fn claim(&self, _: u64, _: &Waker) -> Claim {
            match self.next.fetch_add(1, Ordering::SeqCst) {
                first @ 0..4 => Claim::Morsel(Morsel { first, rows: 30 }),
                _ => Claim::Finished,
            }
        }

        fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
            for first in (0..30).step_by(10).map(|row| 30 * morsel.first + row) {
                let column = Column::from_primitive::<UInt64Type>(DataType::UInt64, (first..first + 10).collect());
                if consume(Block::from_columns([("n", column)])?)?.is_break() {
                    break;
                }
            }
            Ok(())
        }
    }

    /// Notes which rows come in which morsel, until there are enough.
    struct Notes {
        seen: Mutex<Vec<(u64, u64)>>,
        morsels: AtomicUsize,
        most: usize,
    }

    struct NotesLocal(Arc<Notes>);

    struct NotesSink(Arc<Notes>);

    impl Sink for NotesSink {
        fn local(&self) -> Result<Box<dyn LocalSink>> {
            Ok(Box::new(NotesLocal(self.0.clone())))
        }

        fn finish(&self, _: Vec<Box<dyn LocalSink>>) -> Result<()> {
            Ok(())
        }

        fn is_done(&self) -> bool {
            self.0.seen.lock().len() >= self.0.most
        }

        fn name(&self) -> &'static str {
            "Notes"
        }
    }

    impl LocalSink for NotesLocal {
        fn consume(&mut self, sequence: Sequence, block: Block) -> Result<()> {
            let rows = (0..block.rows()).map(|row| (sequence.morsel, block.column(0).value(row).as_u64().unwrap()));
            self.0.seen.lock().extend(rows);
            Ok(())
        }

        fn end_morsel(&mut self, _: Sequence) -> Result<()> {
            self.0.morsels.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    }

    /// Runs it for a nanosecond at a time; how often.
    fn visits(most: usize) -> (usize, Arc<Notes>) {
        let context = QueryContext::new("id".into(), Settings::default().into());
        let notes = Arc::new(Notes { seen: Mutex::default(), morsels: 0.into(), most });
        let stage = Stage::new(Arc::new(NotesSink(notes.clone())), 1);
        let mut pipeline = Pipeline::new(Arc::new(Numbers { next: 0.into() }), "Numbers".into(), stage);
        pipeline.block_rows = 4;
        for visits in 1.. {
            let (visit, must_end) = pipeline.visit(&context, 1, Waker::noop());
            visit.unwrap();
            if must_end {
                return (visits, notes);
            }
        }
        unreachable!()
    }

    #[test]
    fn a_morsel_goes_on_where_it_was_put_aside() {
        let (visits, notes) = visits(usize::MAX);
        let wanted: Vec<(u64, u64)> = (0..120).map(|row| (row / 30, row)).collect();
        assert_eq!(*notes.seen.lock(), wanted);
        assert_eq!(notes.morsels.load(Ordering::SeqCst), 4);
        // Of a block of ten rows there are three pieces, each in a visit of its own.
        assert!(visits >= 4 * 9, "{visits}");
    }

    #[test]
    fn what_was_put_aside_is_let_go_of_where_no_more_is_wanted() {
        let (_, notes) = visits(33);
        assert_eq!((notes.seen.lock().len(), notes.morsels.load(Ordering::SeqCst)), (34, 2));
    }
}
