//! Aggregates of all rows of a table that the table knows without reading: `count()` is its number of rows (ClickHouse's
//! `optimize_trivial_count_query`), and `min(x)` and `max(x)` of a column of integers, dates or times are what its parts say
//! (`optimize_use_implicit_projections`).

use squall_types::{Block, Column, DataType, Result, Settings, Value};

use crate::expression::Expression;
use crate::plan::{Aggregate, AggregateCall, Plan, Scan};

pub(super) fn apply(plan: &mut Plan, settings: &Settings) -> Result<()> {
    plan.try_for_each_input(|input| apply(input, settings))?;
    let Plan::Aggregate(Aggregate { input, keys, aggregates, schema, with_totals: false, sets: None, .. }) = plan
    else {
        return Ok(());
    };
    if !keys.is_empty() || aggregates.is_empty() {
        return Ok(());
    }
    let Plan::Scan(scan @ Scan { predicate: None, limit: None, .. }) = &**input else { return Ok(()) };
    // ClickHouse looks at generated rows one by one, and people measure with them.
    if scan.table.engine().starts_with("System") {
        return Ok(());
    }
    let mut columns = Vec::with_capacity(aggregates.len());
    for call in aggregates {
        let Some(value) = known(call, scan, settings) else { return Ok(()) };
        columns.push(Column::constant(call.function.return_type().clone(), &value, 1)?.materialize()?);
    }
    *plan = Plan::Values { schema: schema.clone(), blocks: vec![Block::new(schema.clone(), columns, 1)] };
    Ok(())
}

/// What a function gives for all rows of a table.
fn known(call: &AggregateCall, scan: &Scan, settings: &Settings) -> Option<Value> {
    if call.counts_rows() {
        return if settings.optimize_trivial_count_query { scan.table.rows().map(Value::UInt64) } else { None };
    }
    let ([Expression::Column { position, data_type }], true) =
        (&call.arguments[..], settings.optimize_use_implicit_projections && scan.bounds.is_empty())
    else {
        return None;
    };
    if call.function.return_type() != data_type || !is_ordinal(data_type.inner()) {
        return None;
    }
    let range = || scan.table.column_range(*scan.columns.get(*position)?);
    match call.function_name() {
        name if name.eq_ignore_ascii_case("min") => range().map(|(least, _)| least),
        name if name.eq_ignore_ascii_case("max") => range().map(|(_, most)| most),
        _ => None,
    }
}

/// Whether values are integers, or held as such in the order that they have.
fn is_ordinal(data_type: &DataType) -> bool {
    data_type.is_integer()
        || matches!(data_type, DataType::Date | DataType::Date32 | DataType::DateTime(_) | DataType::DateTime64(..))
}
