//! The values of expressions over a block: those of keys, and conditions that a scan from the disk tests early. All other expressions of
//! queries are the engine's work.

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
