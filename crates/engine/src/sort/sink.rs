//! The sink of a sort: each worker sorts the blocks that come to it, and puts them on disk as a run when memory gets short. With a LIMIT
//! it keeps only the rows that can be among the first: rows beyond the best known limit-th key are dropped before they are copied.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering as Atomic};

use arrow_array::UInt32Array;
use parking_lot::{Mutex, RwLock};
use squall_planner::SortKey;
use squall_types::memory::reserve;
use squall_types::{Block, Result, Schema};

use super::keys::{KeyRows, encode_keys};
use super::piece::{Entry, Key, Piece};
use super::range::Sorted;
use super::run::Run;
use crate::pipeline::{LocalSink, Sequence, Sink, downcast_local};
use crate::query_context::QueryContext;
use crate::spill::{SpillFile, SpillKind, Threshold};
use crate::works::Works;

/// Limits above this are sorted like everything: keeping so many first rows takes more than a step.
const TOP_ROWS_MAX: u64 = 20_000;

/// Rows of a block that is sorted: about a quarter of a millisecond.
const BLOCK_ROWS: usize = 8_192;

/// What is sorted by.
pub(crate) struct Order {
    pub(crate) keys: Vec<SortKey>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) limit: Option<u64>,
    /// A key that no row of the result can be beyond, found by any worker.
    bound: RwLock<Option<Key>>,
}

impl Order {
    pub(crate) fn new(keys: Vec<SortKey>, schema: Arc<Schema>, limit: Option<u64>) -> Self {
        Self { keys, schema, limit, bound: RwLock::default() }
    }

    fn top_rows(&self) -> Option<usize> {
        self.limit.filter(|limit| *limit <= TOP_ROWS_MAX).map(|limit| limit as usize)
    }
}

/// Collects pieces; the sorted rows come out of [`RangeMerging`](super::range::RangeMerging).
pub(crate) struct SortSink {
    order: Arc<Order>,
    sorted: Arc<Sorted>,
    spilling: Arc<Spilling>,
}

/// How pieces get onto the disk.
struct Spilling {
    context: Arc<QueryContext>,
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
        let spilling = Spilling { context, threshold, works, file: Mutex::default(), runs: AtomicUsize::new(0) };
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
}

impl Sink for SortSink {
    fn local(&self) -> Result<Box<dyn LocalSink>> {
        Ok(Box::new(SortLocal {
            order: self.order.clone(),
            sorted: self.sorted.clone(),
            spilling: self.spilling.clone(),
            pieces: Vec::new(),
            rows: 0,
            bytes: 0,
        }))
    }

    fn finish(&self, locals: Vec<Box<dyn LocalSink>>) -> Result<()> {
        let locals = locals.into_iter().map(downcast_local::<SortLocal>).collect::<Result<Vec<_>>>()?;
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
    rows: usize,
    bytes: usize,
}

impl LocalSink for SortLocal {
    fn consume(&mut self, _: Sequence, block: Block) -> Result<()> {
        let keys = encode_keys(&self.order.keys, &block)?;
        let Some(top) = self.order.top_rows() else {
            self.push(Piece::sorted(block, keys)?);
            if self.spilling.threshold.is_passed(|| self.bytes) {
                (self.rows, self.bytes) = (0, 0);
                self.spilling.spill(std::mem::take(&mut self.pieces), &self.order, &self.sorted)?;
            }
            return Ok(());
        };
        if top == 0 {
            return Ok(());
        }
        let (block, keys) = match &*self.order.bound.read() {
            Some(bound) => within(block, keys, bound)?,
            None => (block, keys),
        };
        if block.is_empty() {
            return Ok(());
        }
        self.push(Piece::sorted(block, keys)?);
        // A few times the limit are collected before they are cut, so that cutting costs little per row.
        if self.rows > top * 4 + 4096 { self.keep_first(top) } else { Ok(()) }
    }
}

impl SortLocal {
    fn push(&mut self, piece: Piece) {
        self.rows += piece.rows();
        self.bytes += piece.bytes();
        self.pieces.push(piece);
    }

    /// Keeps the first rows alone, as one piece, and tells others how far they go.
    fn keep_first(&mut self, top: usize) -> Result<()> {
        let sources = std::mem::take(&mut self.pieces);
        reserve(self.rows * size_of::<Entry>())?;
        let numbered = sources.iter().enumerate();
        let mut entries: Vec<Entry> = numbered
            .flat_map(|(at, piece)| piece.entries.iter().map(move |entry| Entry { piece: at as u32, ..*entry }))
            .collect();
        let order = |left: &Entry, right: &Entry| {
            let key = |entry: &Entry| sources[entry.piece as usize].long_key(entry.row);
            let by_key = || match (key(left), key(right)) {
                ([], _) | (_, []) => Ordering::Equal,
                (left, right) => left.cmp(right),
            };
            let by_place = || (left.piece, left.row).cmp(&(right.piece, right.row));
            left.prefix.cmp(&right.prefix).then_with(by_key).then_with(by_place)
        };
        // Finding the first few is linear; only they are then sorted.
        if top < entries.len() {
            entries.select_nth_unstable_by(top - 1, order);
            entries.truncate(top);
        }
        entries.sort_unstable_by(order);
        let block = super::merge::gather_now(&self.order.schema, &sources, &entries)?;
        let keys = sources.iter().any(Piece::has_long_keys).then(|| {
            let mut keys = KeyRows { bytes: Vec::new(), offsets: vec![0] };
            entries.iter().for_each(|entry| sources[entry.piece as usize].copy_key(entry.row, &mut keys));
            keys
        });
        let piece = Piece::of_entries(block, keys, &entries);
        if let Some(key) = piece.rows().checked_sub(1).and_then(|last| piece.key_at(last)) {
            let mut bound = self.order.bound.write();
            if bound.as_ref().is_none_or(|known| key < *known) {
                *bound = Some(key);
            }
        }
        (self.rows, self.bytes) = (0, 0);
        self.push(piece);
        Ok(())
    }
}

/// The rows whose keys are not beyond `bound`.
fn within(block: Block, keys: KeyRows, bound: &Key) -> Result<(Block, KeyRows)> {
    let rows = 0..block.rows() as u32;
    let rows: Vec<u32> = rows.filter(|row| bound.compare(keys.key(*row as usize)) != Ordering::Less).collect();
    if rows.len() == block.rows() {
        return Ok((block, keys));
    }
    let mut kept = KeyRows { bytes: Vec::new(), offsets: vec![0] };
    for row in &rows {
        kept.bytes.extend_from_slice(keys.key(*row as usize));
        kept.offsets.push(kept.bytes.len());
    }
    Ok((block.take(&UInt32Array::from(rows))?, kept))
}
