//! Expressions over blocks that hold some of a table's columns: those of keys, and conditions that a scan tests by itself. All other
//! expressions of queries are the engine's work.

use arrow_array::BooleanArray;
use arrow_buffer::BooleanBuffer;
use squall_functions::Selection;
use squall_planner::{Columns, Expression};
use squall_types::{Block, Column, Error, Result};

/// A block's columns by the positions that expressions over the table know.
struct Placed<'a> {
    block: &'a Block,
    positions: &'a [Option<usize>],
}

impl Columns for Placed<'_> {
    fn rows(&self) -> usize {
        self.block.rows()
    }

    fn column(&self, position: usize) -> Result<Column> {
        let at = self.positions.get(position).copied().flatten();
        let column = at.and_then(|at| self.block.columns().get(at)).cloned();
        column.ok_or_else(|| Error::logical("an expression over a column that is not there"))
    }
}

/// The values of `expression`, whose columns are found in the block through `positions`.
pub(crate) fn evaluate(expression: &Expression, block: &Block, positions: &[Option<usize>]) -> Result<Column> {
    squall_planner::evaluate(expression, &Placed { block, positions })
}

/// The rows of a block that meet all of these conditions, whose columns are found as [`evaluate`] finds them.
pub(crate) fn select(conditions: &[Expression], block: &Block, positions: &[Option<usize>]) -> Result<Selection> {
    let mut all: Option<BooleanBuffer> = None;
    for condition in conditions {
        let bits = match squall_planner::select(condition, &Placed { block, positions })? {
            Selection::All => continue,
            Selection::None => return Ok(Selection::None),
            Selection::Some(mask) => mask.values().clone(),
        };
        let bits = match all {
            Some(before) => &before & &bits,
            None => bits,
        };
        if bits.count_set_bits() == 0 {
            return Ok(Selection::None);
        }
        all = Some(bits);
    }
    Ok(all.map_or(Selection::All, |bits| Selection::Some(BooleanArray::new(bits, None))))
}
