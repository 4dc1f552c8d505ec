//! A sorted run on disk: pieces that did not fit into memory, merged and cut into small blocks. In memory stays only the first key of
//! each of them, by which a range of keys finds what it needs.

use std::sync::Arc;

use squall_runtime::Pieces;
use squall_types::{Block, Result};

use super::merge::{Bounds, gather, merge};
use super::order::Order;
use super::piece::Piece;
use super::row_keys::{Key, RowKeys};
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
    /// The golden section's fraction of 2^16. Its multiples' fractions lie evenly, however many there are.
    const STRIDE: usize = 40_503;
    const WHOLE: usize = 1 << 16;
    let (mut samples, mut rows, mut due) = (Vec::new(), 0, 0);
    for (number, piece) in sources.enumerate() {
        // A small piece gives a sample only when enough rows have come with those before it.
        rows += piece.rows();
        let wanted = (rows - due) / SAMPLE_ROWS;
        due += wanted * SAMPLE_ROWS;
        // At other places in each piece: pieces are alike, so that their quarters would be nearly the same key.
        let phase = number.wrapping_mul(STRIDE) % WHOLE;
        let places = (0..wanted).filter_map(|at| piece.key_at((at * WHOLE + phase) * piece.rows() / (wanted * WHOLE)));
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
                    keys.extend(sources[first.piece() as usize].key_at(first.row as usize));
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
            let keys = RowKeys::of(&order.keys, &block)?;
            read.push(Arc::new(Piece::in_order(block, keys)));
            pieces.pause().await;
        }
        Ok(read)
    }

    pub(super) fn count_merge(&self) {
        self.file.count_merge();
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// Of pieces that are alike, as parts of a shuffled table are, ranges have about as many rows as they should.
    #[test]
    fn ranges_of_pieces_that_are_alike_are_even() {
        let mut random = StdRng::seed_from_u64(5);
        let piece = |_| {
            let values: Vec<String> =
                (0..8_192).map(|_| format!("{:09}", random.random_range(0..100_000_000))).collect();
            Piece::of_strings(&values)
        };
        let pieces: Vec<Piece> = (0..64).map(piece).collect();
        let (samples, rows) = samples(pieces.iter());
        let range_rows = rows / 16;
        let mut before = 0;
        for key in splitters(samples, SAMPLE_ROWS, range_rows) {
            let until: usize = pieces.iter().map(|piece| piece.rows_before(&key)).sum();
            assert!(until - before < range_rows * 3 / 2, "{} of {range_rows}", until - before);
            before = until;
        }
        assert!(rows - before < range_rows * 3 / 2);
    }
}
