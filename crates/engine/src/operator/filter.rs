//! Lets rows through for which a condition holds.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::BooleanArray;
use squall_functions::Selection;
use squall_planner::Expression;
use squall_runtime::ProfileEvent;
use squall_runtime::profile_events::count;
use squall_types::{Block, Column, PieceRows, Result};

use super::Operator;
use super::conjunction::Conjunction;

/// Filters by a condition. Columns that nothing after it reads are not copied but replaced by a constant.
pub struct Filter {
    conditions: Arc<Conjunction>,
    /// By position: whether a later step reads the column.
    is_needed: Vec<bool>,
    piece_rows: PieceRows,
}

impl Filter {
    /// A filter whose output columns at `is_needed` matter. `may_reorder`: whether conditions may be tested in another order than
    /// they stand in.
    pub fn new(predicate: Expression, is_needed: Vec<bool>, may_reorder: bool) -> Self {
        let conditions = Arc::new(Conjunction::of(predicate, may_reorder));
        Self { conditions, is_needed, piece_rows: PieceRows::default() }
    }
}

/// The `rows` rows of a block whose bit is set. Columns that nothing reads are not copied.
pub(crate) fn passed(block: &Block, mask: &BooleanArray, rows: usize, is_needed: &[bool]) -> Result<Block> {
    let columns = block.columns().iter().zip(is_needed).map(|(column, is_needed)| match is_needed {
        true => column.filter(mask, rows),
        false => Column::default_values(column.data_type().clone(), rows),
    });
    Ok(Block::new(block.schema().clone(), columns.collect::<Result<_>>()?, rows))
}

fn count_passed(block: &Block) {
    count(ProfileEvent::FilterTransformPassedRows, block.rows() as u64);
    count(ProfileEvent::FilterTransformPassedBytes, block.value_bytes() as u64);
}

impl Operator for Filter {
    fn execute(&self, block: Block) -> Result<Option<Block>> {
        let mask = match self.conditions.select(&block)? {
            Selection::All => {
                count_passed(&block);
                return Ok(Some(block));
            }
            Selection::None => return Ok(None),
            Selection::Some(mask) => mask,
        };
        let passed = passed(&block, &mask, mask.true_count(), &self.is_needed)?;
        count_passed(&passed);
        Ok(Some(passed))
    }

    fn execute_each(
        &self,
        block: Block,
        emit: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        if !self.conditions.is_deterministic() {
            return match self.execute(block)? {
                Some(output) => emit(output),
                None => Ok(ControlFlow::Continue(())),
            };
        }
        self.piece_rows.each(
            block.rows(),
            |piece| match piece.len() == block.rows() {
                true => self.execute(block.clone()),
                false => self.execute(block.slice(piece.start, piece.len())),
            },
            |_, output| output.map_or(Ok(ControlFlow::Continue(())), &mut *emit),
        )
    }

    fn narrowed(&self, is_needed: &[bool]) -> Option<Arc<dyn Operator>> {
        let (conditions, is_needed) = (self.conditions.clone(), is_needed.to_vec());
        Some(Arc::new(Self { conditions, is_needed, piece_rows: PieceRows::default() }))
    }

    fn is_repeatable(&self) -> bool {
        self.conditions.is_deterministic()
    }

    fn name(&self) -> &'static str {
        "FilterTransform"
    }
}
