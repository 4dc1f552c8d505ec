//! A projection of nothing but constants on rows that are there already becomes rows: `SELECT 1`, which drivers and load balancers
//! ask for their whole life, is an answer before it is run.

use squall_types::{Block, Column, Result};

use crate::plan::Plan;

/// More rows than these are made where they are wanted, block by block.
const ROWS_MAX: usize = 1;

pub(super) fn apply(plan: &mut Plan) -> Result<()> {
    let Plan::Project { input, expressions, schema } = plan else { return Ok(()) };
    let Plan::Values { blocks, .. } = &**input else { return Ok(()) };
    let [rows] = &blocks[..] else { return Ok(()) };
    if rows.rows() > ROWS_MAX || !expressions.iter().all(|expression| expression.constant().is_some()) {
        return Ok(());
    }
    let columns = expressions.iter().filter_map(|expression| {
        expression.constant().map(|value| Column::constant(expression.data_type().clone(), value, rows.rows()))
    });
    let block = Block::new(schema.clone(), columns.collect::<Result<_>>()?, rows.rows());
    *plan = Plan::Values { schema: schema.clone(), blocks: vec![block] };
    Ok(())
}
