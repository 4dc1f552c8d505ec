//! Computes output columns from input columns.

use std::ops::ControlFlow;
use std::sync::Arc;

use squall_planner::{Expression, evaluate};
use squall_types::{Block, PieceRows, Result, Schema};

use super::Operator;

/// One output column per expression.
pub struct Project {
    expressions: Vec<Expression>,
    schema: Arc<Schema>,
    piece_rows: PieceRows,
}

impl Project {
    /// A projection to `schema`.
    pub fn new(expressions: Vec<Expression>, schema: Arc<Schema>) -> Self {
        Self { expressions, schema, piece_rows: PieceRows::default() }
    }

    /// The projection of one block.
    pub fn apply(&self, block: &Block) -> Result<Block> {
        let columns =
            self.expressions.iter().map(|expression| evaluate(expression, block)).collect::<Result<Vec<_>>>()?;
        Ok(Block::new(self.schema.clone(), columns, block.rows()))
    }
}

impl Operator for Project {
    fn execute(&self, block: Block) -> Result<Option<Block>> {
        self.apply(&block).map(Some)
    }

    fn execute_each(
        &self,
        block: Block,
        emit: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        // What sees how rows come in blocks, or gives something else each time, is computed once, for the block as it came.
        let whole = |expression: &Expression| {
            (!expression.is_deterministic()).then(|| evaluate(expression, &block)).transpose()
        };
        let wholes = self.expressions.iter().map(whole).collect::<Result<Vec<_>>>()?;
        self.piece_rows.each(
            block.rows(),
            |piece| {
                let part = if piece.len() == block.rows() { &block } else { &block.slice(piece.start, piece.len()) };
                let columns = self.expressions.iter().zip(&wholes).map(|(expression, whole)| match whole {
                    Some(whole) => Ok(whole.slice(piece.start, piece.len())),
                    None => evaluate(expression, part),
                });
                Ok(Block::new(self.schema.clone(), columns.collect::<Result<_>>()?, piece.len()))
            },
            |_, output| emit(output),
        )
    }

    fn is_repeatable(&self) -> bool {
        self.expressions.iter().all(Expression::is_deterministic)
    }

    fn name(&self) -> &'static str {
        "ExpressionTransform"
    }
}
