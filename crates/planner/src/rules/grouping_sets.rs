//! ROLLUP, CUBE and GROUPING SETS repeat every row once for each set of keys. Where far fewer combinations of all keys are expected than rows,
//! the rows are grouped by all keys first, and only those groups are repeated: the sets then merge what the first aggregation found.

use std::sync::Arc;

use squall_functions::ignores_order;
use squall_types::{Result, Schema};

use super::aggregation_steps::{Steps, first_step, second_step};
use super::cardinality;
use crate::expression::Expression;
use crate::plan::{Aggregate, AggregateCall, Plan};

/// So many times fewer groups than rows must be expected for states to be made and merged once more.
const GAIN_MIN: f64 = 4.0;
/// Where results of groups merge as they stand, one more aggregation pays from so many sets on.
const SETS_MIN: usize = 4;

pub(super) fn apply(plan: &mut Plan) -> Result<()> {
    plan.try_for_each_input(apply)?;
    let Plan::Aggregate(aggregate) = plan else { return Ok(()) };
    if let Some(first) = grouped_first(aggregate)? {
        *aggregate = first;
    }
    Ok(())
}

/// The aggregation over groups by all keys; `None` where that is not worth it.
fn grouped_first(aggregate: &Aggregate) -> Result<Option<Aggregate>> {
    let Plan::ArrayJoin { input, arrays, is_left: false, schema: repeated } = &*aggregate.input else {
        return Ok(None);
    };
    let [Expression::Constant { value: squall_types::Value::Array(sets), .. }] = &arrays[..] else { return Ok(None) };
    let is_plain = aggregate.sets.is_some() && !aggregate.with_totals;
    let is_deterministic = aggregate.keys.iter().all(Expression::is_deterministic);
    if !is_plain || !is_deterministic || sets.len() < 2 {
        return Ok(None);
    }
    let number = input.schema().len();
    let mut columns = Vec::new();
    for key in &aggregate.keys {
        key.visit_columns(&mut |column| {
            if column != number && !columns.contains(&column) {
                columns.push(column);
            }
        });
    }
    let reads_number = |argument: &Expression| {
        let mut reads = false;
        argument.visit_columns(&mut |column| reads |= column == number);
        reads
    };
    let is_apart =
        |call: &AggregateCall| ignores_order(call.function_name()) && !call.arguments.iter().any(reads_number);
    if columns.is_empty() || !aggregate.aggregates.iter().all(is_apart) {
        return Ok(None);
    }
    let merged: Option<Vec<Steps>> = aggregate.aggregates.iter().map(Steps::by_results).collect();
    let has_few_groups = || {
        let groups = cardinality::groups_at_most(input, &columns)?;
        Some(groups * GAIN_MIN < cardinality::largest_table(input)?)
    };
    let steps = match merged {
        Some(steps) if sets.len() >= SETS_MIN => steps,
        _ if has_few_groups() == Some(true) => aggregate.aggregates.iter().map(Steps::by_states).collect(),
        _ => return Ok(None),
    };
    Ok(Some(in_steps(aggregate, input, arrays, repeated, &columns, &steps)))
}

fn in_steps(
    aggregate: &Aggregate,
    input: &Plan,
    arrays: &[Expression],
    repeated: &Schema,
    columns: &[usize],
    steps: &[Steps],
) -> Aggregate {
    let number = input.schema().len();
    let groups = first_step(input.clone(), columns, steps);
    let merges = second_step(steps, &aggregate.aggregates, columns.len());
    let mut fields = groups.schema().fields.clone();
    let new_number = fields.len();
    let place = |column: usize| match column == number {
        true => new_number,
        false => columns.iter().position(|known| *known == column).unwrap_or(column),
    };
    fields.extend(repeated.fields.get(number).cloned());
    Aggregate {
        input: Box::new(Plan::ArrayJoin {
            input: Box::new(groups),
            arrays: arrays.to_vec(),
            is_left: false,
            schema: Arc::new(Schema { fields }),
        }),
        keys: aggregate.keys.iter().map(|key| key.map_columns(&place)).collect(),
        aggregates: merges,
        schema: aggregate.schema.clone(),
        with_totals: false,
        sets: aggregate.sets,
        limit: None,
    }
}
