//! Lets rows through for which a condition holds.

use squall_planner::Expression;
use squall_types::{Block, Column, Result};

use super::Operator;
use crate::evaluate::{Selection, select};

/// Filters by a condition. Columns that nothing after it reads are not copied but replaced by a constant.
pub struct Filter {
    predicate: Expression,
    /// By position: whether a later step reads the column.
    is_needed: Vec<bool>,
}

impl Filter {
    /// A filter whose output columns at `is_needed` matter.
    pub fn new(predicate: Expression, is_needed: Vec<bool>) -> Self {
        Self { predicate, is_needed }
    }
}

impl Operator for Filter {
    fn execute(&self, block: Block) -> Result<Option<Block>> {
        let mask = match select(&self.predicate, &block)? {
            Selection::All => return Ok(Some(block)),
            Selection::None => return Ok(None),
            Selection::Some(mask) => mask,
        };
        let rows = mask.true_count();
        let columns = block
            .columns()
            .iter()
            .zip(&self.is_needed)
            .map(|(column, is_needed)| match is_needed {
                true => column.filter(&mask, rows),
                false => Column::default_values(column.data_type().clone(), rows),
            })
            .collect::<Result<_>>()?;
        Ok(Some(Block::new(block.schema().clone(), columns, rows)))
    }

    fn name(&self) -> &'static str {
        "FilterTransform"
    }
}
