//! A sorted run on disk: pieces that did not fit into memory, merged and cut into small blocks. In memory stays only the first key of
//! each of them, by which a range of keys finds what it needs.

use std::sync::Arc;

use squall_runtime::Pieces;
use squall_types::{Block, Result};

use super::keys::encode_keys;
use super::merge::{Bounds, gather, merge};
use super::order::Order;
use super::piece::{Key, Piece};
use crate::spill::{Frame, SpillFile, SpillWriter, decode_frame};

/// Bytes of a block on disk, about: a merge holds one of each run.
const FRAME_BYTES: usize = 128 << 10;
/// Rows of a block on disk at most.
const FRAME_ROWS_MAX: usize = 8_192;
/// Bytes of rows that are merged at once while a run is written, about.
const RANGE_BYTES: usize = 4 << 20;
/// Rows between two samples of a piece's keys, about.
pub(super) const SAMPLE_ROWS: usize = 4_096;

/// A run on disk.
pub(super) struct Run {
    file: Arc<SpillFile>,
    /// The first key of each frame, and the frame.
    pub(super) frames: Vec<(Key, Frame)>,
    /// Bytes of a row in memory, about.
    pub(super) row_bytes: usize,
}

/// The keys that cut rows into ranges of about `range_rows`, by samples of `sample_rows` rows each.
pub(super) fn splitters(mut samples: Vec<Key>, sample_rows: usize, range_rows: usize) -> Vec<Key> {
    samples.sort_unstable();
    let step = range_rows.div_ceil(sample_rows.max(1)).max(1);
    let mut splitters: Vec<Key> = samples.into_iter().step_by(step).skip(1).collect();
    splitters.dedup();
    splitters
}

/// Samples of the keys of sorted pieces, one for about [`SAMPLE_ROWS`] rows.
pub(super) fn samples<'a>(sources: impl Iterator<Item = &'a Piece>) -> (Vec<Key>, usize) {
    let (mut samples, mut rows, mut due) = (Vec::new(), 0, 0);
    for piece in sources {
        // A small piece gives a sample only when enough rows have come with those before it.
        rows += piece.rows();
        let wanted = (rows - due) / SAMPLE_ROWS;
        due += wanted * SAMPLE_ROWS;
        let places = (0..wanted).filter_map(|at| piece.key_at((2 * at + 1) * piece.rows() / (2 * wanted)));
        samples.extend(places);
    }
    (samples, rows)
}

impl Run {
    /// Writes sorted pieces as one run.
    pub(super) async fn write(sources: Vec<Piece>, order: &Order, file: Arc<SpillFile>) -> Result<Self> {
        let mut pieces = Pieces::begin();
        let (samples, rows) = samples(sources.iter());
        let bytes: usize = sources.iter().map(|piece| piece.block.value_bytes()).sum();
        let row_bytes = bytes / rows.max(1) + 1;
        let splitters = splitters(samples, SAMPLE_ROWS, RANGE_BYTES / row_bytes);
        let frame_rows = (FRAME_BYTES / row_bytes).clamp(1, FRAME_ROWS_MAX);
        let sources: Vec<Arc<Piece>> = sources.into_iter().map(Arc::new).collect();
        let mut writer = SpillWriter::new(file.clone())?;
        let mut keys = Vec::new();
        let mut from = None;
        for before in splitters.into_iter().map(Some).chain([None]) {
            let bounds = Bounds { from, before };
            let entries = merge(&sources, &bounds, &mut pieces).await?;
            for frame in entries.chunks(frame_rows) {
                let block = gather(&order.schema, &sources, frame, &mut pieces).await?;
                if let Some(first) = frame.first() {
                    keys.push(sources[first.piece as usize].key_of(first));
                    writer.put(&block).await?;
                }
                pieces.pause().await;
            }
            from = bounds.before;
        }
        let frames = keys.into_iter().zip(writer.finish().await?).collect();
        Ok(Self { file, frames, row_bytes })
    }

    pub(super) fn rows(&self) -> usize {
        self.frames.iter().map(|(_, frame)| frame.rows as usize).sum()
    }

    /// The frames that may have rows within `bounds`.
    pub(super) fn frames_within(&self, bounds: &Bounds) -> std::ops::Range<usize> {
        let before = |key: &Key| self.frames.partition_point(|(first, _)| first < key);
        // The frame before the first that begins there may end with that key.
        let begin = bounds.from.as_ref().map_or(0, |key| before(key).saturating_sub(1));
        begin..bounds.before.as_ref().map_or(self.frames.len(), before)
    }

    /// Reads frames of this run; each is a piece.
    pub(super) async fn read(&self, numbers: &[usize], order: &Order, pieces: &mut Pieces) -> Result<Vec<Arc<Piece>>> {
        let frames: Vec<Frame> = numbers.iter().map(|number| self.frames[*number].1).collect();
        let buffers = self.file.read(&frames)?.await?;
        let mut read = Vec::with_capacity(buffers.len());
        for buffer in buffers {
            let block: Block = decode_frame(&buffer, &order.schema)?;
            let keys = encode_keys(&order.keys, &block)?;
            read.push(Arc::new(Piece::in_order(block, keys)?));
            pieces.pause().await;
        }
        Ok(read)
    }

    pub(super) fn count_merge(&self) {
        self.file.count_merge();
    }
}
