//! Window functions. The input comes in the window's order; the sink puts it together again and cuts it between partitions into
//! pieces, which are computed in parallel and leave in order.

mod compute;
mod frame;

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use squall_planner::{SortKey, Window};
use squall_types::{Block, Error, Result};

use crate::pipeline::{LocalSink, Sequence, Sink, downcast_local};
use crate::sort::keys::encode_keys;
use crate::source::Places;
use crate::units::{Rows, Units};

/// Rows of a piece, at least, unless the rows end: enough to be worth a unit of work.
const PIECE_ROWS_MIN: usize = 65_409;

/// Rows of a block that leaves.
const BLOCK_ROWS: usize = 65_409;

/// Rows of blocks that are whole partitions together.
type Piece = Vec<(Block, Range<usize>)>;

/// What the sink leaves for the pipeline after it.
#[derive(Default)]
pub(crate) struct Pieces(Option<Arc<Places<Piece>>>);

/// Collects the input in its order.
pub(crate) struct WindowSink {
    partition_by: Arc<[SortKey]>,
    pieces: Arc<Mutex<Pieces>>,
}

impl WindowSink {
    pub(crate) fn new(window: &Window, pieces: Arc<Mutex<Pieces>>) -> Self {
        let key = |expression: &squall_planner::Expression| SortKey {
            expression: expression.clone(),
            descending: false,
            nulls_first: false,
        };
        Self { partition_by: window.partition_by.iter().map(key).collect(), pieces }
    }
}

impl Sink for WindowSink {
    fn local(&self) -> Result<Box<dyn LocalSink>> {
        Ok(Box::new(WindowLocal { partition_by: self.partition_by.clone(), blocks: Vec::new() }))
    }

    fn finish(&self, locals: Vec<Box<dyn LocalSink>>) -> Result<()> {
        let locals = locals.into_iter().map(downcast_local::<WindowLocal>).collect::<Result<Vec<_>>>()?;
        let mut blocks: Vec<Collected> = locals.into_iter().flat_map(|local| local.blocks).collect();
        // Blocks of one morsel are one worker's, in the order in which they came.
        blocks.sort_by_key(|block| block.sequence);
        self.pieces.lock().0 = Some(Arc::new(Places::new(cut(blocks))));
        Ok(())
    }

    fn name(&self) -> &'static str {
        "WindowTransform"
    }
}

struct WindowLocal {
    partition_by: Arc<[SortKey]>,
    blocks: Vec<Collected>,
}

/// A block of the input, and where partitions begin in it.
struct Collected {
    sequence: Sequence,
    block: Block,
    /// Rows, but for the first, that differ from the row before in the partition's keys.
    starts: Vec<usize>,
    /// The keys of the first and of the last row.
    first: Vec<u8>,
    last: Vec<u8>,
}

impl LocalSink for WindowLocal {
    fn consume(&mut self, sequence: Sequence, block: Block) -> Result<()> {
        if block.is_empty() {
            return Ok(());
        }
        let (mut starts, mut first, mut last) = (Vec::new(), Vec::new(), Vec::new());
        if !self.partition_by.is_empty() {
            let keys = encode_keys(&self.partition_by, &block)?;
            starts.extend((1..block.rows()).filter(|row| keys.key(*row) != keys.key(*row - 1)));
            first = keys.key(0).to_vec();
            last = keys.key(block.rows() - 1).to_vec();
        }
        self.blocks.push(Collected { sequence, block, starts, first, last });
        Ok(())
    }
}

/// Cuts blocks between partitions.
fn cut(blocks: Vec<Collected>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut piece: Piece = Vec::new();
    let mut piece_rows = 0;
    let mut last: Option<Vec<u8>> = None;
    for collected in blocks {
        let rows = collected.block.rows();
        let begins_partition = last.as_ref().is_some_and(|last| *last != collected.first);
        let mut from = 0;
        for start in begins_partition.then_some(0).into_iter().chain(collected.starts) {
            if piece_rows + start - from >= PIECE_ROWS_MIN {
                if start > from {
                    piece.push((collected.block.clone(), from..start));
                }
                pieces.push(std::mem::take(&mut piece));
                (piece_rows, from) = (0, start);
            }
        }
        piece_rows += rows - from;
        piece.push((collected.block, from..rows));
        last = Some(collected.last);
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

/// The functions of a window over rows that are all of its input.
pub(crate) fn compute_rows(window: &Window, rows: Block) -> Result<Block> {
    compute::compute(window, &rows.materialize()?)
}

/// Computes one piece per unit.
pub(crate) struct WindowComputing {
    pub(crate) window: Arc<Window>,
    pub(crate) pieces: Arc<Mutex<Pieces>>,
}

impl Units for WindowComputing {
    fn units(&self) -> usize {
        self.pieces.lock().0.as_ref().map_or(0, |pieces| pieces.len())
    }

    async fn run(self: Arc<Self>, unit: usize, out: Rows) -> Result<()> {
        let pieces = self.pieces.lock().0.clone();
        let piece = pieces.and_then(|pieces| pieces.take(unit));
        let piece = piece.ok_or_else(|| Error::logical("a window is computed twice"))?;
        let blocks: Vec<Block> = piece.into_iter().map(|(block, rows)| block.slice(rows.start, rows.len())).collect();
        let input = Block::concat(self.window.input.schema().clone(), &blocks)?;
        let output = compute::compute(&self.window, &input)?;
        let mut offset = 0;
        while offset < output.rows() {
            let rows = BLOCK_ROWS.min(output.rows() - offset);
            out.push(output.slice(offset, rows));
            offset += rows;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::UInt64Type;
    use squall_types::{Column, DataType};

    fn collected(morsel: u64, keys: &[u64]) -> Collected {
        let column = Column::from_primitive::<UInt64Type>(DataType::UInt64, keys.to_vec());
        let block = Block::from_columns([("k", column)]).unwrap();
        let starts = (1..keys.len()).filter(|row| keys[*row] != keys[*row - 1]).collect();
        let bytes = |key: Option<&u64>| key.unwrap().to_be_bytes().to_vec();
        let (first, last) = (bytes(keys.first()), bytes(keys.last()));
        Collected { sequence: Sequence { input: 0, morsel }, block, starts, first, last }
    }

    #[test]
    fn pieces_are_cut_between_partitions_alone() {
        let half = PIECE_ROWS_MIN / 2 + 1;
        let mut first = vec![1; half];
        first.extend(vec![2; 10]);
        let blocks = vec![collected(0, &first), collected(1, &vec![2; half]), collected(2, &[3, 3])];
        let pieces = cut(blocks);
        let rows: Vec<usize> = pieces.iter().map(|piece| piece.iter().map(|(_, rows)| rows.len()).sum()).collect();
        assert_eq!(rows, [2 * half + 10, 2]);
    }
}
