//! `SELECT count() FROM t` without a condition and without groups is the number of rows, which the table knows without reading
//! (ClickHouse's `optimize_trivial_count_query`).

use arrow_array::types::UInt64Type;
use squall_types::{Block, Column, DataType, Result};

use crate::plan::{Aggregate, AggregateCall, Plan, Scan};

pub(super) fn apply(plan: &mut Plan) -> Result<()> {
    plan.try_for_each_input(apply)?;
    let Plan::Aggregate(Aggregate { input, keys, aggregates, schema, with_totals: false, sets: None, .. }) = plan
    else {
        return Ok(());
    };
    if !keys.is_empty() || aggregates.is_empty() || !aggregates.iter().all(AggregateCall::counts_rows) {
        return Ok(());
    }
    let Plan::Scan(Scan { table, predicate: None, limit: None, .. }) = &**input else { return Ok(()) };
    // ClickHouse counts generated rows one by one, and people measure with them.
    if table.engine().starts_with("System") {
        return Ok(());
    }
    let Some(rows) = table.rows() else { return Ok(()) };
    let columns = aggregates.iter().map(|_| Column::from_primitive::<UInt64Type>(DataType::UInt64, vec![rows]));
    let block = Block::new(schema.clone(), columns.collect(), 1);
    *plan = Plan::Values { schema: schema.clone(), blocks: vec![block] };
    Ok(())
}
