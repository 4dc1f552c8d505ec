//! DISTINCT is an aggregation without aggregates: it runs with the same hash tables, specialised by the keys' width and merged in
//! parallel. Below a LIMIT it stays, because there it can stop as soon as enough rows were found.

use crate::fill::Fill;
use crate::plan::{Aggregate, Plan, Window};

pub(super) fn apply(plan: &mut Plan) {
    rewrite(plan, false);
}

/// `is_limited`: whether the steps above want only some first rows.
fn rewrite(plan: &mut Plan, is_limited: bool) {
    match plan {
        Plan::Distinct { input } => {
            let below_is_ordered = is_ordered(input);
            rewrite(input, is_limited);
            // An aggregation would end the way of totals.
            if !is_limited && !below_is_ordered && !input.schema().is_empty() && !has_totals(input) {
                plan.replace(|plan| match plan {
                    Plan::Distinct { input } => group_by_all(input),
                    other => other,
                });
            }
        }
        Plan::Limit { input, limit, .. } => rewrite(input, limit.is_some()),
        Plan::Project { input, .. } | Plan::Filter { input, .. } => rewrite(input, is_limited),
        Plan::Aggregate(Aggregate { input, .. })
        | Plan::Window(Window { input, .. })
        | Plan::Fill(Fill { input, .. }) => rewrite(input, false),
        Plan::Sort { input, .. } | Plan::LimitBy { input, .. } | Plan::ArrayJoin { input, .. } => rewrite(input, false),
        Plan::LateColumns(late) => rewrite(&mut late.input, false),
        Plan::Union { inputs, .. } => inputs.iter_mut().for_each(|input| rewrite(input, is_limited)),
        Plan::Join(join) => {
            rewrite(&mut join.left, false);
            rewrite(&mut join.right, false);
        }
        Plan::CommonSubplan { rows, input, .. } => {
            rewrite(rows, false);
            rewrite(input, is_limited);
        }
        Plan::Scan(_) | Plan::Values { .. } | Plan::CommonRows(_) => {}
    }
}

/// Whether a row of WITH TOTALS goes through a plan.
fn has_totals(plan: &Plan) -> bool {
    match plan {
        Plan::Aggregate(aggregate) => aggregate.with_totals,
        Plan::Scan(_) | Plan::Values { .. } => false,
        other => other.inputs().any(has_totals),
    }
}

/// Whether rows come in an order that DISTINCT keeps and an aggregation would not.
fn is_ordered(plan: &Plan) -> bool {
    match plan {
        Plan::Sort { .. } | Plan::Fill(_) | Plan::LateColumns(_) => true,
        Plan::Filter { input, .. }
        | Plan::Project { input, .. }
        | Plan::Limit { input, .. }
        | Plan::LimitBy { input, .. }
        | Plan::Distinct { input }
        | Plan::CommonSubplan { input, .. }
        | Plan::ArrayJoin { input, .. } => is_ordered(input),
        Plan::Scan(_)
        | Plan::Values { .. }
        | Plan::Aggregate(_)
        | Plan::Window(_)
        | Plan::Join(_)
        | Plan::CommonRows(_)
        | Plan::Union { .. } => false,
    }
}

fn group_by_all(input: Box<Plan>) -> Plan {
    let schema = input.schema().clone();
    let keys = schema.types().enumerate().map(|(at, data_type)| crate::Expression::column(at, data_type)).collect();
    Plan::Aggregate(Aggregate {
        input,
        keys,
        aggregates: Vec::new(),
        schema,
        with_totals: false,
        sets: None,
        limit: None,
    })
}
