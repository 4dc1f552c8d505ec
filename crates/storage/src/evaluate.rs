//! The values of expressions over a block: those of keys, and conditions that a scan tests by itself. All other expressions of queries are
//! the engine's work.

use arrow_array::BooleanArray;
use arrow_buffer::BooleanBuffer;
use squall_functions::Selection;
use squall_planner::Expression;
use squall_types::{Block, Column, Error, Result};

/// The values of `expression`, whose columns are found in the block through `positions`.
pub(crate) fn evaluate(expression: &Expression, block: &Block, positions: &[Option<usize>]) -> Result<Column> {
    match expression {
        Expression::Column { position, .. } => positions
            .get(*position)
            .copied()
            .flatten()
            .and_then(|at| block.columns().get(at))
            .cloned()
            .ok_or_else(|| Error::logical("an expression over a column that is not there")),
        Expression::Constant { value, data_type } => Column::constant(data_type.clone(), value, block.rows()),
        Expression::Function { function, arguments, .. } => {
            let arguments =
                arguments.iter().map(|argument| evaluate(argument, block, positions)).collect::<Result<Vec<_>>>()?;
            function.execute(&arguments, block.rows())
        }
        Expression::HigherOrder { function, lambda, operands, .. } => {
            let operands =
                operands.iter().map(|operand| evaluate(operand, block, positions)).collect::<Result<Vec<_>>>()?;
            // The body's columns are its own.
            let own: Vec<Option<usize>> = (0..lambda.schema.len()).map(Some).collect();
            lambda.apply(&**function, &operands, block.rows(), &|body, block| evaluate(body, block, &own))
        }
    }
}

/// The rows of a block that meet all of these conditions, whose columns are found as [`evaluate`] finds them.
pub(crate) fn select(conditions: &[Expression], block: &Block, positions: &[Option<usize>]) -> Result<Selection> {
    let mut all: Option<BooleanBuffer> = None;
    for condition in conditions {
        let bits = match Selection::of(&evaluate(condition, block, positions)?)? {
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
