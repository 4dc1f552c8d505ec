//! Computes output columns from input columns.

use std::sync::Arc;

use squall_planner::Expression;
use squall_types::{Block, Result, Schema};

use super::Operator;
use crate::evaluate::evaluate;

/// One output column per expression.
pub struct Project {
    expressions: Vec<Expression>,
    schema: Arc<Schema>,
}

impl Project {
    /// A projection to `schema`.
    pub fn new(expressions: Vec<Expression>, schema: Arc<Schema>) -> Self {
        Self { expressions, schema }
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

    fn name(&self) -> &'static str {
        "ExpressionTransform"
    }
}
