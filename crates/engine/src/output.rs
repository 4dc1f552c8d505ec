//! A query's result on its way to the client: workers put blocks in, the connection's task takes them out. It holds a bounded
//! number of blocks; when it is full the pipeline is not run until the client has taken some.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use squall_types::{Block, Error, ErrorCode, Result, Schema};

use crate::pipeline::{LocalSink, Sequence, Sink};
use crate::query_context::QueryContext;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, MutexGuard};
use crate::totals::Totals;

/// Blocks that may wait for the client.
const BLOCKS_MAX: usize = 16;
/// Bytes that may wait for the client.
const BYTES_MAX: usize = 8 << 20;
/// Rows of a morsel at most; so many may come although the output is full.
const MORSEL_ROWS_MAX: u64 = 262_144;
/// While the outputs of all queries hold more than so many bytes, each may hold less.
const WAITING_BYTES_MAX: usize = 128 << 20;
/// Bytes that an output may hold however many wait.
const BYTES_MIN: usize = 64 << 10;

/// Bytes that wait for clients, of all queries.
static WAITING_BYTES: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// How many times less than otherwise an output may hold: many clients that read slowly share what one may have.
fn scarcity() -> usize {
    let waiting = WAITING_BYTES.load(Ordering::Relaxed);
    // Twice as much waits, an eighth is allowed: what waits settles soon after the bound.
    match waiting / WAITING_BYTES_MAX {
        0 => 1,
        1 => 8,
        _ => BYTES_MAX / BYTES_MIN,
    }
}
/// Smaller blocks of one morsel are put together up to this many rows and bytes.
const SQUASH_ROWS: usize = 65_409;
const SQUASH_BYTES: usize = 1 << 20;

/// The result's end at the engine's side.
pub(crate) struct Output {
    schema: Arc<Schema>,
    context: Arc<QueryContext>,
    offset: u64,
    end: u64,
    is_done: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    blocks: VecDeque<Block>,
    bytes: usize,
    totals: Option<Block>,
    /// How the query ended, once it has.
    end: Option<Result<()>>,
    /// The client's task, while it waits for a block.
    reader: Option<Waker>,
    /// The query.
    writer: Option<Waker>,
    /// The query found the output full and waits. What is full changes with what others hold, so it is not found out again.
    is_writer_stopped: bool,
    /// Blocks of morsels whose predecessors are not complete.
    early: BTreeMap<u64, Vec<Block>>,
    /// The morsel of the first input whose blocks go straight out.
    next: u64,
    rows_seen: u64,
}

impl State {
    /// So many bytes, or all that there are, wait no longer.
    fn give_back(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        WAITING_BYTES.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.give_back(usize::MAX);
    }
}

impl Output {
    pub(crate) fn new(schema: Arc<Schema>, context: Arc<QueryContext>, offset: u64, limit: Option<u64>) -> Arc<Self> {
        let end = limit.map_or(u64::MAX, |limit| offset.saturating_add(limit));
        Arc::new(Self { schema, context, offset, end, is_done: AtomicBool::new(false), state: Mutex::default() })
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
            let goes_on = state.is_writer_stopped && !is_full(&state);
            let writer = if goes_on { state.writer.clone() } else { None };
            state.is_writer_stopped &= !goes_on;
            drop(state);
            if let Some(writer) = writer {
                writer.wake();
            }
            return Poll::Ready(Some(Ok(block)));
        }
        if state.end.is_some() {
            return Poll::Ready(None);
        }
        state.reader = Some(task.waker().clone());
        Poll::Pending
    }

    /// Takes the blocks of a morsel that is over, in the order of morsels.
    fn complete(&self, sequence: Sequence, blocks: Vec<Block>) -> Result<()> {
        let mut state = self.state.lock();
        if sequence.input > 0 {
            // Inputs of a UNION are not in order among each other, so their blocks go out as they come.
            blocks.into_iter().try_for_each(|block| self.emit(&mut state, block))?;
        } else {
            state.early.insert(sequence.morsel, blocks);
            while let Some(blocks) = {
                let next = state.next;
                state.early.remove(&next)
            } {
                state.next += 1;
                blocks.into_iter().try_for_each(|block| self.emit(&mut state, block))?;
            }
        }
        self.wake_reader(state);
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
        if state.rows_seen >= self.end {
            self.is_done.store(true, Ordering::SeqCst);
        }
        let first = self.offset.clamp(begin, begin + rows) - begin;
        let last = self.end.clamp(begin, begin + rows) - begin;
        if first >= last {
            return Ok(());
        }
        let block =
            if first == 0 && last == rows { block } else { block.slice(first as usize, (last - first) as usize) };
        let (result_rows, result_bytes) = (block.rows() as u64, block.value_bytes() as u64);
        let progress = &self.context.progress;
        let rows = progress.result_rows.fetch_add(result_rows, Ordering::Relaxed) + result_rows;
        let bytes = progress.result_bytes.fetch_add(result_bytes, Ordering::Relaxed) + result_bytes;
        self.check_limits(rows, bytes)?;
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

fn is_full(state: &State) -> bool {
    state.blocks.len() >= BLOCKS_MAX || state.bytes >= BYTES_MAX / scarcity()
}

/// The sink of a query's last pipelines.
pub(crate) struct OutputSink {
    pub(crate) output: Arc<Output>,
    /// The result's row of WITH TOTALS.
    pub(crate) totals: Option<Totals>,
}

impl Sink for OutputSink {
    fn local(&self) -> Result<Box<dyn LocalSink>> {
        Ok(Box::new(OutputLocal { output: self.output.clone(), blocks: Vec::new() }))
    }

    fn finish(&self, _locals: Vec<Box<dyn LocalSink>>) -> Result<()> {
        if let Some(totals) = &self.totals
            && let Some(row) = totals.row()?
        {
            self.output.set_totals(row.with_schema(self.output.schema().clone()));
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        let mut state = self.output.state.lock();
        let is_full = is_full(&state);
        state.is_writer_stopped |= is_full;
        is_full
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

struct OutputLocal {
    output: Arc<Output>,
    blocks: Vec<Block>,
}

impl LocalSink for OutputLocal {
    fn consume(&mut self, _sequence: Sequence, block: Block) -> Result<()> {
        if !block.is_empty() {
            self.blocks.push(block);
        }
        Ok(())
    }

    fn end_morsel(&mut self, sequence: Sequence) -> Result<()> {
        self.output.complete(sequence, squash(std::mem::take(&mut self.blocks))?)
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
            is_full(&output.state.lock())
        };
        assert!(output(&large));
        assert!(!output(&large.slice(7, 1)));
    }
}
