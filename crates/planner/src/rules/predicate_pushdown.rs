//! Conditions move towards the rows that they test: through projections, sorts, DISTINCT and UNION, below an aggregation where
//! they test only keys, and into scans, which pass over parts and granules that cannot hold a match. ClickHouse's
//! `enable_optimize_predicate_expression` and `query_plan_filter_push_down`.

use squall_functions::FunctionContext;
use squall_types::Result;

use super::{all_of, conjuncts};
use crate::expression::Expression;
use crate::plan::{Aggregate, Plan, Scan, Window};

/// A condition that would become larger than this by putting a projection's expressions in place of its columns stays above
/// the projection.
const SIZE_MAX: usize = 128;

pub(super) fn apply(plan: &mut Plan, functions: &FunctionContext) -> Result<()> {
    push(plan, Vec::new(), functions)
}

/// Applies `conditions`, over the plan's columns, as far below as they can be.
fn push(plan: &mut Plan, mut conditions: Vec<Expression>, functions: &FunctionContext) -> Result<()> {
    if let Plan::Filter { .. } = plan {
        let mut own = Vec::new();
        plan.replace(|plan| match plan {
            Plan::Filter { input, predicate } => {
                conjuncts(predicate, &mut own);
                *input
            }
            other => other,
        });
        // The filter's own conditions first: they were tested before those above.
        own.append(&mut conditions);
        return push(plan, own, functions);
    }
    let mut above = Vec::new();
    let mut below = Vec::new();
    match plan {
        Plan::Project { input, expressions, .. } => {
            for condition in conditions {
                if can_substitute(&condition, expressions) {
                    below.push(condition.substitute(expressions));
                } else {
                    above.push(condition);
                }
            }
            push(input, below, functions)?;
        }
        Plan::Aggregate(Aggregate { input, keys, with_totals, .. }) => {
            for condition in conditions {
                let mut tests_keys = condition.is_deterministic() && !*with_totals && !keys.is_empty();
                condition.visit_columns(&mut |position| tests_keys &= position < keys.len());
                if tests_keys && can_substitute(&condition, keys) {
                    below.push(condition.substitute(keys));
                } else {
                    above.push(condition);
                }
            }
            push(input, below, functions)?;
        }
        Plan::Sort { input, limit: None, .. } | Plan::Distinct { input } => {
            split_random(conditions, &mut below, &mut above);
            push(input, below, functions)?;
        }
        Plan::Union { inputs, .. } => {
            split_random(conditions, &mut below, &mut above);
            for input in inputs {
                push(input, below.clone(), functions)?;
            }
        }
        Plan::ArrayJoin { input, .. } => {
            let columns = input.schema().len();
            for condition in conditions {
                let mut is_of_input = condition.is_deterministic();
                condition.visit_columns(&mut |position| is_of_input &= position < columns);
                if is_of_input { below.push(condition) } else { above.push(condition) }
            }
            push(input, below, functions)?;
        }
        Plan::Window(Window { input, partition_by, .. }) => {
            // What tests only the partition's keys leaves whole partitions out.
            let is_key = |position: usize| {
                partition_by
                    .iter()
                    .any(|key| matches!(key, Expression::Column { position: known, .. } if *known == position))
            };
            for condition in conditions {
                let mut tests_keys = condition.is_deterministic();
                condition.visit_columns(&mut |position| tests_keys &= is_key(position));
                if tests_keys { below.push(condition) } else { above.push(condition) }
            }
            push(input, below, functions)?;
        }
        Plan::Scan(Scan { predicate, limit: None, .. }) => {
            split_random(conditions, &mut below, &mut above);
            if let Some(known) = predicate.take() {
                below.insert(0, known);
            }
            *predicate = all_of(below, functions)?;
        }
        _ => {
            above = conditions;
            plan.try_for_each_input(|input| push(input, Vec::new(), functions))?;
        }
    }
    if let Some(predicate) = all_of(above, functions)? {
        plan.replace(|plan| Plan::Filter { input: Box::new(plan), predicate });
    }
    Ok(())
}

/// Random conditions must be tested once for every row that gets to them, so they stay where they are.
fn split_random(conditions: Vec<Expression>, below: &mut Vec<Expression>, above: &mut Vec<Expression>) {
    for condition in conditions {
        if condition.is_deterministic() { below.push(condition) } else { above.push(condition) }
    }
}

/// Whether a condition may be tested on a projection's input.
fn can_substitute(condition: &Expression, expressions: &[Expression]) -> bool {
    let mut size = condition.size();
    let mut is_deterministic = condition.is_deterministic();
    condition.visit_columns(&mut |position| {
        if let Some(inner) = expressions.get(position) {
            is_deterministic &= inner.is_deterministic();
            size = size.saturating_add(inner.size());
        }
    });
    is_deterministic && size <= SIZE_MAX
}
