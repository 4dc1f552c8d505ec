//! A query's result on its way to the client: workers put blocks in, the connection's task takes them out. It holds a bounded
//! number of blocks; when it is full the pipeline is not run until the client has taken some.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};

use squall_types::{Block, Error, ErrorCode, Result, Schema};

use crate::pipeline::{LocalSink, Sequence, Sink};
use crate::query_context::QueryContext;
use crate::stream::Ending;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, MutexGuard};
use crate::totals::Totals;
use crate::works::Works;

/// Blocks that may wait for the client.
const BLOCKS_MAX: usize = 16;
/// Bytes that may wait for the client.
const BYTES_MAX: usize = 8 << 20;
/// Rows of a morsel at most.
const MORSEL_ROWS_MAX: u64 = 262_144;
/// While the outputs of all queries hold more than so many bytes, each may hold less.
const WAITING_BYTES_MAX: usize = 128 << 20;
/// Bytes that an output may hold however many wait.
const BYTES_MIN: usize = 64 << 10;

/// Bytes that wait for clients, of all queries.
static WAITING_BYTES: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// How many times less than otherwise an output may hold: many clients that read slowly share what one may have.
pub(crate) fn scarcity() -> usize {
    let waiting = WAITING_BYTES.load(Ordering::Relaxed);
    // Twice as much waits, an eighth is allowed: what waits settles soon after the bound.
    match waiting / WAITING_BYTES_MAX {
        0 => 1,
        1 => 8,
        _ => BYTES_MAX / BYTES_MIN,
    }
}

/// Bytes beside an output's that wait for its client.
pub(crate) struct Waiting(usize);

impl Waiting {
    pub(crate) fn new(bytes: usize) -> Self {
        WAITING_BYTES.fetch_add(bytes, Ordering::Relaxed);
        Self(bytes)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITING_BYTES.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Smaller blocks of one morsel are put together up to this many rows and bytes.
const SQUASH_ROWS: usize = 65_409;
const SQUASH_BYTES: usize = 1 << 20;

/// How much a morsel may hold back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MorselBounds {
    /// Bytes that may wait for the end of morsels before them.
    pub(crate) early_bytes_max: usize,
    /// Blocks of a morsel go out before it is over once they have so many bytes.
    pub(crate) put_out_bytes: usize,
}

impl Default for MorselBounds {
    fn default() -> Self {
        Self { early_bytes_max: 8 << 20, put_out_bytes: 2 << 20 }
    }
}

/// The result's end at the engine's side.
pub(crate) struct Output {
    schema: Arc<Schema>,
    context: Arc<QueryContext>,
    offset: u64,
    end: u64,
    is_done: AtomicBool,
    /// The rows are no result of a query, which is counted and limited.
    is_inner: AtomicBool,
    bounds: MorselBounds,
    /// Work with blocks that are out, where the query's workers can do any.
    works: OnceLock<Arc<Works>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    blocks: VecDeque<Block>,
    bytes: usize,
    totals: Option<Block>,
    /// All blocks are there.
    is_complete: bool,
    /// The reader has workers work with its blocks, and says when that is over.
    keeps_works: bool,
    /// How the query ended, once it has.
    end: Option<Result<()>>,
    /// The client's task, while it waits for a block.
    reader: Option<Waker>,
    /// The query.
    writer: Option<Waker>,
    /// The query found the output full and waits. What is full changes with what others hold, so it is not found out again.
    is_writer_stopped: bool,
    /// Blocks of morsels whose predecessors are not over.
    early: BTreeMap<u64, Early>,
    early_bytes: usize,
    /// The morsel of the first input whose blocks go straight out.
    next: u64,
    rows_seen: u64,
}

/// What has come of a morsel before its turn.
#[derive(Default)]
struct Early {
    blocks: Vec<Block>,
    is_over: bool,
}

impl State {
    /// So many bytes, or all that there are, wait no longer.
    fn give_back(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        WAITING_BYTES.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Whether the client has to take some before more may come.
    fn is_full(&self) -> bool {
        self.blocks.len() >= BLOCKS_MAX || self.bytes >= BYTES_MAX / scarcity()
    }

    /// The query, where it was stopped and has room now.
    fn writer_to_wake(&mut self) -> Option<Waker> {
        if !self.is_writer_stopped || self.is_full() {
            return None;
        }
        self.is_writer_stopped = false;
        self.writer.clone()
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.give_back(usize::MAX);
    }
}

impl Output {
    pub(crate) fn new(schema: Arc<Schema>, context: Arc<QueryContext>, offset: u64, limit: Option<u64>) -> Arc<Self> {
        Self::bounded(schema, context, offset, limit, MorselBounds::default())
    }

    /// The same with other bounds.
    pub(crate) fn bounded(
        schema: Arc<Schema>,
        context: Arc<QueryContext>,
        offset: u64,
        limit: Option<u64>,
        bounds: MorselBounds,
    ) -> Arc<Self> {
        let end = limit.map_or(u64::MAX, |limit| offset.saturating_add(limit));
        let (is_done, state) = (AtomicBool::new(false), Mutex::default());
        let is_inner = AtomicBool::new(false);
        Arc::new(Self { schema, context, offset, end, is_done, is_inner, bounds, works: OnceLock::new(), state })
    }

    /// Gives the query a place for work with its result, before it begins.
    pub(crate) fn set_works(&self, works: Arc<Works>) {
        let _ = self.works.set(works);
    }

    /// The place for work with blocks of the result, until [`end_works`](Self::end_works); `None` where there is none or all blocks are there.
    pub(crate) fn keep_works(&self) -> Option<Arc<Works>> {
        let works = self.works.get()?.clone();
        let mut state = self.state.lock();
        state.keeps_works |= !state.is_complete && state.end.is_none();
        state.keeps_works.then_some(works)
    }

    /// No more work with the result will come.
    pub(crate) fn end_works(&self) {
        if let Some(works) = self.works.get() {
            works.end();
        }
    }

    /// All blocks are there.
    fn complete(&self) {
        let mut state = self.state.lock();
        state.is_complete = true;
        if !state.keeps_works {
            drop(state);
            return self.end_works();
        }
        let reader = state.reader.take();
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// Says that the rows are no result: they are on their way into tables.
    pub(crate) fn set_inner(&self) {
        self.is_inner.store(true, Ordering::Relaxed);
    }

    /// Whether as much has come before its turn as may.
    fn has_enough_early(&self, state: &State) -> bool {
        state.early_bytes >= self.bounds.early_bytes_max / scarcity()
    }

    pub(crate) fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Sets the query that is woken when the client has made room.
    pub(crate) fn set_writer(&self, writer: Waker) {
        self.state.lock().writer = Some(writer);
    }

    pub(crate) fn set_totals(&self, totals: Block) {
        self.state.lock().totals = Some(totals);
    }

    pub(crate) fn take_totals(&self) -> Option<Block> {
        self.state.lock().totals.take()
    }

    /// Whether the query is over.
    pub(crate) fn has_ended(&self) -> bool {
        self.state.lock().end.is_some()
    }

    /// Lets the query look at what its context says.
    pub(crate) fn wake_writer(&self) {
        let writer = self.state.lock().writer.clone();
        if let Some(writer) = writer {
            writer.wake();
        }
    }

    /// The query has ended.
    pub(crate) fn end(&self, result: Result<()>) {
        let mut state = self.state.lock();
        if state.end.is_none() {
            state.end = Some(result);
        }
        let reader = state.reader.take();
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// The query has ended, and this is its whole result.
    pub(crate) fn end_with(&self, block: &Block) {
        let result = match block.is_empty() {
            true => Ok(()),
            false => self.emit(&mut self.state.lock(), block.clone()),
        };
        self.end(result);
    }

    /// The next block; `None` at the end.
    pub(crate) fn poll_next(&self, task: &mut Context<'_>) -> Poll<Option<Result<Block>>> {
        let mut state = self.state.lock();
        if let Some(Err(error)) = &state.end {
            let error = error.clone();
            state.blocks.clear();
            state.give_back(usize::MAX);
            state.end = Some(Ok(()));
            return Poll::Ready(Some(Err(error)));
        }
        if let Some(block) = state.blocks.pop_front() {
            state.give_back(block.value_bytes());
            let writer = state.writer_to_wake();
            drop(state);
            if let Some(writer) = writer {
                writer.wake();
            }
            return Poll::Ready(Some(Ok(block)));
        }
        if state.end.is_some() || state.is_complete && state.keeps_works {
            return Poll::Ready(None);
        }
        state.reader = Some(task.waker().clone());
        Poll::Pending
    }

    /// Takes blocks of a morsel, maybe its last ones. They go out in the order of morsels: those of the morsel whose turn it is at once.
    fn add(&self, sequence: Sequence, blocks: Vec<Block>, is_over: bool) -> Result<()> {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        if sequence.input > 0 {
            // Inputs of a UNION are not in order among each other, so their blocks go out as they come.
            blocks.into_iter().try_for_each(|block| self.emit(state, block))?;
            self.wake_reader(guard);
            return Ok(());
        }
        let early = state.early.entry(sequence.morsel).or_default();
        early.is_over = is_over;
        state.early_bytes += blocks.iter().map(Block::value_bytes).sum::<usize>();
        early.blocks.extend(blocks);
        let turn = state.next;
        while let Some(mut entry) = state.early.first_entry().filter(|entry| *entry.key() == state.next) {
            let is_over = entry.get().is_over;
            let blocks = std::mem::take(&mut entry.get_mut().blocks);
            if is_over {
                entry.remove();
                state.next += 1;
            }
            for block in blocks {
                state.early_bytes -= block.value_bytes();
                self.emit(state, block)?;
            }
            if !is_over {
                break;
            }
        }
        // A morsel that waits for its turn may have it now.
        let writer = if state.next > turn { state.writer_to_wake() } else { None };
        self.wake_reader(guard);
        if let Some(writer) = writer {
            writer.wake();
        }
        Ok(())
    }

    fn wake_reader(&self, mut state: MutexGuard<'_, State>) {
        let reader = if state.blocks.is_empty() { None } else { state.reader.take() };
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// Puts out the part of a block that is within offset and limit.
    fn emit(&self, state: &mut State, block: Block) -> Result<()> {
        let rows = block.rows() as u64;
        let begin = state.rows_seen;
        state.rows_seen += rows;
        // Where the rows before the limit are to be counted exactly, all of them have to come.
        if state.rows_seen >= self.end && !self.context.settings.exact_rows_before_limit {
            self.is_done.store(true, Ordering::SeqCst);
        }
        let first = self.offset.clamp(begin, begin + rows) - begin;
        let last = self.end.clamp(begin, begin + rows) - begin;
        if first >= last {
            return Ok(());
        }
        let block =
            if first == 0 && last == rows { block } else { block.slice(first as usize, (last - first) as usize) };
        if !self.is_inner.load(Ordering::Relaxed) {
            let (result_rows, result_bytes) = (block.rows() as u64, block.value_bytes() as u64);
            let progress = &self.context.progress;
            let rows = progress.result_rows.fetch_add(result_rows, Ordering::Relaxed) + result_rows;
            let bytes = progress.result_bytes.fetch_add(result_bytes, Ordering::Relaxed) + result_bytes;
            self.check_limits(rows, bytes)?;
        }
        // Of the rows alone: a row that a lookup found is a slice of a column of a million.
        state.bytes += block.value_bytes();
        WAITING_BYTES.fetch_add(block.value_bytes(), Ordering::Relaxed);
        state.blocks.push_back(block.with_schema(self.schema.clone()));
        Ok(())
    }

    fn check_limits(&self, rows: u64, bytes: u64) -> Result<()> {
        let settings = &self.context.settings;
        let is_over = |limit: u64, used: u64| limit > 0 && used > limit;
        if !is_over(settings.max_result_rows, rows) && !is_over(settings.max_result_bytes, bytes) {
            return Ok(());
        }
        if settings.result_overflow_mode == "break" {
            self.is_done.store(true, Ordering::SeqCst);
            return Ok(());
        }
        let message = format!(
            "Limit for result exceeded, max rows: {}, current rows: {rows}, max bytes: {}, current bytes: {bytes}",
            settings.max_result_rows, settings.max_result_bytes
        );
        Err(Error::new(ErrorCode::TOO_MANY_ROWS_OR_BYTES, message))
    }
}

impl Ending for Output {
    fn poll_end(&self, task: &Context<'_>) -> Poll<Result<()>> {
        let mut state = self.state.lock();
        match &state.end {
            Some(result) => Poll::Ready(result.clone()),
            None => {
                state.reader = Some(task.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// The sink of a query's last pipelines.
pub(crate) struct OutputSink {
    pub(crate) output: Arc<Output>,
    /// The result's row of WITH TOTALS.
    pub(crate) totals: Option<Totals>,
}

impl Sink for OutputSink {
    fn local(&self) -> Result<Box<dyn LocalSink>> {
        Ok(Box::new(OutputLocal { output: self.output.clone(), blocks: Vec::new(), bytes: 0 }))
    }

    fn finish(&self, _locals: Vec<Box<dyn LocalSink>>) -> Result<()> {
        if let Some(totals) = &self.totals
            && let Some(row) = totals.row()?
        {
            self.output.set_totals(row.with_schema(self.output.schema().clone()));
        }
        self.output.complete();
        Ok(())
    }

    fn is_full(&self) -> bool {
        let mut state = self.output.state.lock();
        let is_full = state.is_full() || self.output.has_enough_early(&state);
        state.is_writer_stopped |= is_full;
        is_full
    }

    fn has_room_for(&self, sequence: Sequence) -> bool {
        let mut state = self.output.state.lock();
        let is_early = sequence.input == 0 && sequence.morsel != state.next;
        let has_enough = state.is_full() || is_early && self.output.has_enough_early(&state);
        state.is_writer_stopped |= has_enough;
        !has_enough
    }

    fn is_done(&self) -> bool {
        self.output.is_done.load(Ordering::SeqCst)
    }

    fn morsel_rows_max(&self) -> u64 {
        MORSEL_ROWS_MAX / scarcity() as u64
    }

    fn block_rows_max(&self) -> Option<usize> {
        usize::try_from(self.output.context.settings.max_block_size).ok().filter(|rows| *rows > 0)
    }

    fn name(&self) -> &'static str {
        "Output"
    }
}

/// Blocks of one morsel, until they are worth to be put out.
struct OutputLocal {
    output: Arc<Output>,
    blocks: Vec<Block>,
    bytes: usize,
}

impl OutputLocal {
    fn put_out(&mut self, sequence: Sequence, is_over: bool) -> Result<()> {
        self.bytes = 0;
        self.output.add(sequence, squash(std::mem::take(&mut self.blocks))?, is_over)
    }
}

impl LocalSink for OutputLocal {
    fn consume(&mut self, sequence: Sequence, block: Block) -> Result<()> {
        if block.is_empty() {
            return Ok(());
        }
        self.bytes += block.value_bytes();
        self.blocks.push(block);
        if self.bytes >= self.output.bounds.put_out_bytes { self.put_out(sequence, false) } else { Ok(()) }
    }

    fn end_morsel(&mut self, sequence: Sequence) -> Result<()> {
        self.put_out(sequence, true)
    }
}

/// Puts neighbouring small blocks (of a selective filter) together.
fn squash(blocks: Vec<Block>) -> Result<Vec<Block>> {
    if blocks.len() < 2 {
        return Ok(blocks);
    }
    let (mut squashed, mut group, mut rows, mut bytes) = (Vec::new(), Vec::new(), 0, 0);
    let mut close = |group: &mut Vec<Block>| -> Result<()> {
        if let Some(first) = group.first() {
            squashed.push(Block::concat(first.schema().clone(), group)?);
            group.clear();
        }
        Ok(())
    };
    for block in blocks {
        let block_bytes = block.value_bytes();
        if rows + block.rows() > SQUASH_ROWS || bytes + block_bytes > SQUASH_BYTES {
            close(&mut group)?;
            (rows, bytes) = (0, 0);
        }
        rows += block.rows();
        bytes += block_bytes;
        group.push(block);
    }
    close(&mut group)?;
    Ok(squashed)
}

#[cfg(test)]
mod tests {
    use squall_types::{Column, DataType, Settings};

    use super::*;

    #[test]
    fn a_row_of_a_large_column_does_not_fill_the_output() {
        let rows = BYTES_MAX / 4;
        let values: Vec<u64> = (0..rows as u64).collect();
        let column = Column::new(DataType::UInt64, Arc::new(arrow_array::UInt64Array::from(values)));
        let schema = Arc::new(Schema::new([("n", DataType::UInt64)]));
        let large = Block::new(schema.clone(), vec![column], rows);
        let context = QueryContext::new("id".into(), Settings::default().into());
        let output = |block: &Block| {
            let output = Output::new(schema.clone(), context.clone(), 0, None);
            output.end_with(block);
            output.state.lock().is_full()
        };
        assert!(output(&large));
        assert!(!output(&large.slice(7, 1)));
    }
}
