//! The parallel end of a sort: rows are cut into ranges by sampled keys, and each range is merged on its own, from the pieces in memory
//! and from the runs on disk. Ranges come out in order.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use squall_runtime::Pieces;
use squall_types::{Error, Result};

use super::merge::{Bounds, gather, merge};
use super::order::Order;
use super::piece::Piece;
use super::row_keys::Key;
use super::run::{Run, SAMPLE_ROWS, samples, splitters};
use crate::query_context::QueryContext;
use crate::units::{Rows, Units};

/// Rows of a range, about.
const RANGE_ROWS: usize = 65_409;
/// Rows of a piece in a range at least, about.
const PIECE_ROWS_MIN: usize = 32;
/// Bytes of a range that is read from disk: about this part of the memory that is available, for each range under way. It is there as
/// read, with its keys, and as blocks that leave.
const RANGE_DIVISOR: usize = 6;
/// The most and the least of them.
const RANGE_BYTES_MAX: usize = 8 << 20;
const RANGE_BYTES_MIN: usize = 128 << 10;
/// Rows of a block that leaves: so many are gathered column by column in pieces of about a millisecond, from all over the memory.
const BLOCK_ROWS: usize = 8_192;

/// What the sink leaves for the pipelines after it.
#[derive(Default)]
pub(crate) struct Sorted {
    pub(super) pieces: Mutex<Vec<Arc<Piece>>>,
    /// With a LIMIT, what was left of pieces that were cut.
    pub(super) kept: Mutex<Vec<Piece>>,
    pub(super) runs: Mutex<Vec<(usize, Run)>>,
    ranges: OnceLock<Ranges>,
}

/// All rows, and where ranges begin and end.
struct Ranges {
    /// Until the last range is merged.
    pieces: Mutex<Vec<Arc<Piece>>>,
    runs: Vec<Run>,
    splitters: Vec<Key>,
    /// Frames that were read, by run and number, until the last range that needs them has them.
    read: Mutex<HashMap<(usize, usize), Kept>>,
    /// Ranges that are merged.
    merged: AtomicUsize,
}

/// A frame that is in memory.
struct Kept {
    piece: Arc<Piece>,
    /// Ranges that have not had it.
    users: usize,
}

impl Sorted {
    fn ranges(&self, range_bytes: usize) -> &Ranges {
        self.ranges.get_or_init(|| {
            let mut runs = std::mem::take(&mut *self.runs.lock());
            runs.sort_unstable_by_key(|(number, _)| *number);
            let runs = runs.into_iter().map(|(_, run)| run).collect();
            let mut pieces: Vec<Arc<Piece>> =
                std::mem::take(&mut *self.kept.lock()).into_iter().map(Arc::new).collect();
            pieces.append(&mut self.pieces.lock());
            Ranges::new(pieces, runs, range_bytes)
        })
    }
}

impl Ranges {
    fn new(pieces: Vec<Arc<Piece>>, runs: Vec<Run>, range_bytes: usize) -> Self {
        let (mut all, rows_in_memory) = samples(pieces.iter().map(|piece| &**piece));
        let frames: usize = runs.iter().map(|run| run.frames.len()).sum();
        let rows_on_disk: usize = runs.iter().map(Run::rows).sum();
        let splitters = if frames == 0 {
            // A range looks at every piece, so that there should be more than a few rows of each in it.
            splitters(all, SAMPLE_ROWS, RANGE_ROWS.max(pieces.len() * PIECE_ROWS_MIN))
        } else {
            if let Some(run) = runs.first() {
                run.count_merge();
            }
            let row_bytes = runs.iter().map(|run| run.row_bytes).max().unwrap_or(1);
            all.extend(runs.iter().flat_map(|run| run.frames.iter().map(|(first, _)| first.clone())));
            let sample_rows = (rows_in_memory + rows_on_disk) / all.len().max(1);
            splitters(all, sample_rows, (range_bytes / row_bytes).clamp(1, RANGE_ROWS))
        };
        Self { pieces: Mutex::new(pieces), runs, splitters, read: Mutex::default(), merged: AtomicUsize::new(0) }
    }

    fn units(&self) -> usize {
        self.splitters.len() + 1
    }

    /// A range is merged. After the last one the rows are not held for steps that still have a long way to go.
    fn end_range(&self) {
        if self.merged.fetch_add(1, Ordering::AcqRel) + 1 == self.units() {
            self.pieces.lock().clear();
        }
    }

    fn bounds(&self, range: usize) -> Bounds {
        let from = range.checked_sub(1).and_then(|before| self.splitters.get(before)).cloned();
        Bounds { from, before: self.splitters.get(range).cloned() }
    }

    /// How many ranges need a frame.
    fn users(&self, run: usize, frame: usize) -> usize {
        let frames = &self.runs[run].frames;
        // By the rule of `frames_within`: those that end behind its first key, and begin no later than the next frame does.
        let first = self.splitters.partition_point(|splitter| *splitter <= frames[frame].0);
        let last = match frames.get(frame + 1) {
            Some((next, _)) => self.splitters.partition_point(|splitter| splitter <= next),
            None => self.splitters.len(),
        };
        last - first + 1
    }

    /// The pieces with rows of a range: those in memory, and frames of each run, read where they are not there.
    async fn sources(&self, bounds: &Bounds, order: &Order, pieces: &mut Pieces) -> Result<Vec<Arc<Piece>>> {
        let mut sources = self.pieces.lock().clone();
        for (number, run) in self.runs.iter().enumerate() {
            let wanted = run.frames_within(bounds);
            let mut own: Vec<(usize, Arc<Piece>)> = Vec::with_capacity(wanted.len());
            let mut missing = Vec::new();
            for frame in wanted {
                match self.have(number, frame, None) {
                    Some(piece) => own.push((frame, piece)),
                    None => missing.push(frame),
                }
            }
            if !missing.is_empty() {
                let read = run.read(&missing, order, pieces).await?;
                for (frame, piece) in missing.into_iter().zip(read) {
                    own.extend(self.have(number, frame, Some(piece)).map(|piece| (frame, piece)));
                }
                // Equal keys leave in the order of the run.
                own.sort_unstable_by_key(|(frame, _)| *frame);
            }
            sources.extend(own.into_iter().map(|(_, piece)| piece));
        }
        Ok(sources)
    }

    /// A frame for one of the ranges that need it, where it is there; `read` is what the range has read itself.
    fn have(&self, run: usize, frame: usize, read: Option<Arc<Piece>>) -> Option<Arc<Piece>> {
        let mut kept = self.read.lock();
        if let Some(piece) = read {
            // Another range may have read it meanwhile.
            kept.entry((run, frame)).or_insert_with(|| Kept { piece, users: self.users(run, frame) });
        }
        let known = kept.get_mut(&(run, frame))?;
        let piece = known.piece.clone();
        known.users -= 1;
        if known.users == 0 {
            kept.remove(&(run, frame));
        }
        Some(piece)
    }
}

/// Merges one range per unit; its rows come out in order.
pub(crate) struct RangeMerging {
    pub(crate) sorted: Arc<Sorted>,
    pub(crate) order: Arc<Order>,
    pub(crate) context: Arc<QueryContext>,
}

impl Units for RangeMerging {
    fn units(&self) -> usize {
        let available = self.context.memory.available_bytes().map_or(usize::MAX, |bytes| bytes.max(0) as usize);
        let range_bytes = available / (RANGE_DIVISOR * self.units_at_once());
        self.sorted.ranges(range_bytes.clamp(RANGE_BYTES_MIN, RANGE_BYTES_MAX)).units()
    }

    fn units_at_once(&self) -> usize {
        // One for each worker, and some whose frames are being read meanwhile.
        2 * self.context.peak_threads().max(1)
    }

    async fn run(self: Arc<Self>, unit: usize, rows: Rows) -> Result<()> {
        let mut pieces = Pieces::begin();
        let ranges = self.sorted.ranges.get().ok_or_else(|| Error::logical("a range before all rows have come"))?;
        let bounds = ranges.bounds(unit);
        let sources = ranges.sources(&bounds, &self.order, &mut pieces).await?;
        let mut entries = merge(&sources, &bounds, &mut pieces).await?;
        if let Some(limit) = self.order.limit {
            entries.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        }
        for block in entries.chunks(BLOCK_ROWS) {
            rows.push(gather(&self.order.schema, &sources, block, &mut pieces).await?);
            pieces.pause().await;
        }
        ranges.end_range();
        Ok(())
    }
}
