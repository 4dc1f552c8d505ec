//! The functions of a window over whole partitions in one block.

use arrow_array::UInt32Array;
use squall_functions::{RowRange, WindowRows};
use squall_planner::{SortKey, Window, WindowCall, WindowCallFunction};
use squall_types::{Block, Column, Error, ErrorCode, Result};

use super::frame::{RangeKey, frames, key_column, needs_keys};
use crate::evaluate::evaluate;
use crate::sort::keys::encode_keys;

/// The block with one more column for each function.
pub(super) fn compute(window: &Window, input: &Block) -> Result<Block> {
    if u32::try_from(input.rows()).is_err() {
        return Err(Error::new(ErrorCode::TOO_MANY_ROWS, "More than 2^32 rows in one partition of a window"));
    }
    let all = RowRange { begin: 0, end: input.rows() as u32 };
    let partition_by: Vec<SortKey> = window
        .partition_by
        .iter()
        .map(|key| SortKey { expression: key.clone(), descending: false, nulls_first: false })
        .collect();
    let partitions = runs(&partition_by, input, &[all])?;
    let peers = runs(&window.order_by, input, &partitions)?;
    let keys = match &window.order_by[..] {
        [key] if needs_keys(&window.frame) => {
            let column = key_column(&evaluate(&key.expression, input)?)?;
            Some(RangeKey::of_column(&column, key.descending))
        }
        _ => None,
    };
    let frames = frames(&window.frame, &partitions, &peers, keys.as_deref());
    let distinct = Distinct::of(&frames);
    let rows = WindowRows { partitions: &partitions, peers: &peers, frames: &frames };
    let mut columns = input.columns().to_vec();
    for call in &window.calls {
        columns.push(result(call, input, &rows, &distinct)?);
    }
    Ok(Block::new(window.schema.clone(), columns, input.rows()))
}

fn result(call: &WindowCall, input: &Block, rows: &WindowRows<'_>, distinct: &Distinct) -> Result<Column> {
    let arguments = call.arguments.iter().map(|argument| evaluate(argument, input)).collect::<Result<Vec<_>>>()?;
    match &call.function {
        WindowCallFunction::Own(function) => function.execute(rows, &arguments),
        WindowCallFunction::Aggregate(function) => distinct.spread(function.over_frames(&arguments, &distinct.frames)?),
    }
}

/// The rows that are equal in `keys`, one run after the other, within ranges that are cut besides.
fn runs(keys: &[SortKey], block: &Block, within: &[RowRange]) -> Result<Vec<RowRange>> {
    if keys.is_empty() {
        return Ok(within.iter().copied().filter(|range| range.rows() > 0).collect());
    }
    let keys = encode_keys(keys, block)?;
    let mut runs = Vec::new();
    for range in within {
        let mut begin = range.begin;
        for row in range.begin + 1..=range.end {
            let ends = row == range.end || keys.key(row as usize) != keys.key(row as usize - 1);
            if ends {
                runs.push(RowRange { begin, end: row });
                begin = row;
            }
        }
    }
    Ok(runs)
}

/// Frames, each once where neighbours have the same: peers share one, and so do all rows of a partition without an order.
struct Distinct {
    frames: Vec<RowRange>,
    /// By row: the number of its frame; empty where each has its own.
    of_row: Vec<u32>,
}

impl Distinct {
    fn of(frames: &[RowRange]) -> Self {
        let mut distinct: Vec<RowRange> = Vec::with_capacity(frames.len());
        let mut of_row = Vec::with_capacity(frames.len());
        for frame in frames {
            if distinct.last() != Some(frame) {
                distinct.push(*frame);
            }
            of_row.push(distinct.len() as u32 - 1);
        }
        if distinct.len() == frames.len() {
            of_row.clear();
        }
        Self { frames: distinct, of_row }
    }

    /// The results of frames as the results of rows.
    fn spread(&self, results: Column) -> Result<Column> {
        if self.of_row.is_empty() { Ok(results) } else { results.take(&UInt32Array::from(self.of_row.clone())) }
    }
}
