//! The sink of a sort: each worker sorts the blocks that come to it, and puts them on disk as a run when memory gets short. With a LIMIT
//! only rows are kept that can be among the first: rows beyond the best known limit-th key are dropped before they are copied.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering as Atomic};

use arrow_array::UInt32Array;
use parking_lot::Mutex;
use squall_types::gather::gather_now;
use squall_types::memory::reserve;
use squall_types::{Block, ErrorCode, Result};

use super::entry::Entry;
use super::order::Order;
use super::piece::Piece;
use super::range::Sorted;
use super::row_keys::{Key, RowKeys};
use super::run::Run;
use super::top::{First, first_rows};
use crate::pipeline::{LocalSink, Sequence, Sink, downcast_local};
use crate::query_context::QueryContext;
use crate::size_limit::SizeLimit;
use crate::spill::{SpillFile, SpillKind, Threshold};
use crate::works::Works;

/// So many first rows are kept as one piece; of more, pieces are cut beside what comes, as that takes more than a step.
const FEW_ROWS_MAX: u64 = 20_000;

/// Fewer rows than these, left of a block, wait for others to be sorted with.
const REST_ROWS: usize = 2_048;

/// Rows of a block that is sorted: about a quarter of a millisecond.
const BLOCK_ROWS: usize = 8_192;

/// Collects pieces; the sorted rows come out of [`RangeMerging`](super::range::RangeMerging).
pub(crate) struct SortSink {
    order: Arc<Order>,
    sorted: Arc<Sorted>,
    spilling: Arc<Spilling>,
}

/// How pieces get onto the disk.
struct Spilling {
    context: Arc<QueryContext>,
    /// What may be sorted.
    size: SizeLimit,
    threshold: Threshold,
    /// Runs that are being written.
    works: Arc<Works>,
    file: Mutex<Option<Arc<SpillFile>>>,
    runs: AtomicUsize,
}

impl SortSink {
    /// A sink whose runs are written by `works`.
    pub(crate) fn new(order: Arc<Order>, sorted: Arc<Sorted>, works: Arc<Works>, context: Arc<QueryContext>) -> Self {
        let settings = &context.settings;
        let threshold = Threshold::new(
            context.clone(),
            settings.max_bytes_before_external_sort,
            settings.max_bytes_ratio_before_external_sort,
        );
        let size = SizeLimit::new(
            "result",
            ErrorCode::TOO_MANY_ROWS_OR_BYTES,
            settings.max_rows_to_sort,
            settings.max_bytes_to_sort,
            &settings.sort_overflow_mode,
        );
        let spilling = Spilling { context, size, threshold, works, file: Mutex::default(), runs: AtomicUsize::new(0) };
        Self { order, sorted, spilling: Arc::new(spilling) }
    }
}

impl Spilling {
    fn file(&self) -> Result<Arc<SpillFile>> {
        let mut file = self.file.lock();
        match &*file {
            Some(file) => Ok(file.clone()),
            None => Ok(file.insert(SpillFile::new(self.context.clone(), SpillKind::Sort)?).clone()),
        }
    }

    /// Has pieces written as a run.
    fn spill(&self, pieces: Vec<Piece>, order: &Arc<Order>, sorted: &Arc<Sorted>) -> Result<()> {
        let file = self.file()?;
        let number = self.runs.fetch_add(1, Atomic::Relaxed);
        let (order, sorted) = (order.clone(), sorted.clone());
        self.works.add(Box::pin(async move {
            let run = Run::write(pieces, &order, file).await?;
            sorted.runs.lock().push((number, run));
            Ok(())
        }));
        Ok(())
    }

    /// Has pieces cut behind the first `top` rows, together with what was left of those before.
    fn cut(&self, pieces: Vec<Piece>, top: usize, order: &Arc<Order>, sorted: &Arc<Sorted>) {
        let (order, sorted) = (order.clone(), sorted.clone());
        self.works.add(Box::pin(async move {
            let mut all = std::mem::take(&mut *sorted.kept.lock());
            all.extend(pieces);
            let First { pieces, bound } = first_rows(all, top).await?;
            sorted.kept.lock().extend(pieces);
            bound.into_iter().for_each(|bound| order.tighten(bound));
            Ok(())
        }));
    }
}

impl Sink for SortSink {
    fn local(&self) -> Result<Box<dyn LocalSink>> {
        Ok(Box::new(SortLocal {
            order: self.order.clone(),
            sorted: self.sorted.clone(),
            spilling: self.spilling.clone(),
            pieces: Vec::new(),
            rests: Vec::new(),
            rest_rows: 0,
            rows: 0,
            bytes: 0,
        }))
    }

    fn finish(&self, locals: Vec<Box<dyn LocalSink>>) -> Result<()> {
        let mut locals = locals.into_iter().map(downcast_local::<SortLocal>).collect::<Result<Vec<_>>>()?;
        locals.iter_mut().try_for_each(|local| local.sort_rests())?;
        let pieces = locals.into_iter().flat_map(|local| local.pieces).map(Arc::new);
        self.sorted.pieces.lock().extend(pieces);
        self.spilling.works.end();
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.spilling.threshold.is_full(&self.spilling.works)
    }

    fn block_rows_max(&self) -> Option<usize> {
        Some(BLOCK_ROWS)
    }

    fn name(&self) -> &'static str {
        "PartialSortingTransform"
    }
}

struct SortLocal {
    order: Arc<Order>,
    sorted: Arc<Sorted>,
    spilling: Arc<Spilling>,
    pieces: Vec<Piece>,
    /// What is left of blocks of which most rows are beyond the bound, and how many rows that is.
    rests: Vec<Block>,
    rest_rows: usize,
    rows: usize,
    bytes: usize,
}

impl LocalSink for SortLocal {
    fn consume(&mut self, _: Sequence, block: Block) -> Result<()> {
        let size = &self.spilling.size;
        if size.is_full() {
            return Ok(());
        }
        // Of a block no more rows count than there may be of the result.
        size.count((block.rows() as u64).min(self.order.limit.unwrap_or(u64::MAX)), block.memory_bytes() as u64)?;
        let came = block.rows();
        let block = self.without_rows_beyond(block)?;
        if block.is_empty() {
            return Ok(());
        }
        let keys = RowKeys::of(&self.order.keys, &block)?;
        match self.order.limit {
            None => {
                self.push(Piece::sorted(block, keys)?);
                self.spill_where_passed()
            }
            Some(0) => Ok(()),
            Some(limit) if limit <= FEW_ROWS_MAX => self.consume_for_few(block, keys, limit as usize),
            Some(limit) => self.consume_for_many(block, came, keys, usize::try_from(limit).unwrap_or(usize::MAX)),
        }
    }
}

impl SortLocal {
    /// A block without the rows of which the first key alone says that they are beyond the bound: nearly all, where few are wanted of many.
    fn without_rows_beyond(&self, block: Block) -> Result<Block> {
        let Some(position) = self.order.first_column() else { return Ok(block) };
        if self.order.bound().is_none() {
            return Ok(block);
        }
        let column = block.column(position).materialize()?;
        let Some(wanted) = self.order.rows_within(&column) else { return Ok(block) };
        // Copying columns costs more than encoding keys.
        if wanted.len() > block.rows() / 4 { Ok(block) } else { block.take(&UInt32Array::from(wanted)) }
    }

    fn consume_for_few(&mut self, block: Block, keys: RowKeys, top: usize) -> Result<()> {
        let (block, keys) = match &*self.order.bound() {
            // There are enough rows up to the bound.
            Some(bound) => before(block, keys, bound)?,
            None => (block, keys),
        };
        if block.is_empty() {
            return Ok(());
        }
        self.push(Piece::sorted(block, keys)?);
        // A few times the limit are collected before they are cut, so that cutting costs little per row.
        if self.rows > top * 4 + 4096 { self.keep_first(top) } else { Ok(()) }
    }

    /// Of a block of `came` rows.
    fn consume_for_many(&mut self, block: Block, came: usize, keys: RowKeys, top: usize) -> Result<()> {
        let (block, keys) = match &*self.order.bound() {
            // There are enough rows up to the bound.
            Some(bound) => before(block, keys, bound)?,
            None => (block, keys),
        };
        if block.rows() < came && block.rows() < REST_ROWS {
            self.rest_rows += block.rows();
            self.rests.extend(Some(block).filter(|block| !block.is_empty()));
            if self.rest_rows < REST_ROWS {
                return Ok(());
            }
            self.sort_rests()?;
        } else {
            self.push(Piece::sorted(block, keys)?);
        }
        if self.rows / 4 > top {
            (self.rows, self.bytes) = (0, 0);
            self.spilling.cut(std::mem::take(&mut self.pieces), top, &self.order, &self.sorted);
        }
        self.spill_where_passed()
    }

    /// Makes a piece of what is left of several blocks.
    fn sort_rests(&mut self) -> Result<()> {
        self.rest_rows = 0;
        let rests = std::mem::take(&mut self.rests);
        if rests.is_empty() {
            return Ok(());
        }
        let positions = rests.iter().enumerate().flat_map(|(at, block)| (0..block.rows()).map(move |row| (at, row)));
        let block = gather_now(&self.order.schema, &rests.iter().collect::<Vec<_>>(), &positions.collect::<Vec<_>>())?;
        let keys = RowKeys::of(&self.order.keys, &block)?;
        self.push(Piece::sorted(block, keys)?);
        Ok(())
    }

    fn spill_where_passed(&mut self) -> Result<()> {
        if !self.spilling.threshold.is_passed(|| self.bytes) {
            return Ok(());
        }
        (self.rows, self.bytes) = (0, 0);
        let mut pieces = std::mem::take(&mut *self.sorted.kept.lock());
        pieces.append(&mut self.pieces);
        self.spilling.spill(pieces, &self.order, &self.sorted)
    }

    fn push(&mut self, piece: Piece) {
        self.rows += piece.rows();
        self.bytes += piece.bytes();
        self.pieces.push(piece);
    }

    /// Keeps the first rows alone, as one piece, and tells others how far they go.
    fn keep_first(&mut self, top: usize) -> Result<()> {
        let sources = std::mem::take(&mut self.pieces);
        reserve(self.rows * size_of::<Entry>())?;
        let numbered = sources.iter().zip(0..);
        let mut entries: Vec<Entry> =
            numbered.flat_map(|(piece, at)| (0..piece.rows()).map(move |row| piece.entry(row, at))).collect();
        let order = |left: &Entry, right: &Entry| {
            let by_key = left.compare(right, |entry| sources[entry.piece() as usize].long_key(entry.row));
            by_key.then_with(|| left.compare_places(right))
        };
        // Finding the first few is linear; only they are then sorted.
        if top < entries.len() {
            entries.select_nth_unstable_by(top - 1, order);
            entries.truncate(top);
        }
        entries.sort_unstable_by(order);
        let block = super::merge::gather_now(&self.order.schema, &sources, &entries)?;
        let piece = Piece::in_order(block, RowKeys::gather(&sources, &entries));
        if let Some(key) = piece.rows().checked_sub(1).and_then(|last| piece.key_at(last)) {
            self.order.tighten(key);
        }
        (self.rows, self.bytes) = (0, 0);
        self.push(piece);
        Ok(())
    }
}

/// The rows before a bound.
fn before(block: Block, keys: RowKeys, bound: &Key) -> Result<(Block, RowKeys)> {
    let rows = 0..block.rows() as u32;
    let rows: Vec<u32> = rows.filter(|row| keys.compare(*row as usize, bound).is_lt()).collect();
    if rows.len() == block.rows() {
        return Ok((block, keys));
    }
    let kept = keys.take(&rows);
    Ok((block.take(&UInt32Array::from(rows))?, kept))
}
