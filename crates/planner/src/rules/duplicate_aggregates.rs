//! Aggregates that compute the same are computed once: `count(a)` and `count(b)` of columns that are never NULL both count rows.
//! (Aggregates that are written alike are one already when the plan is made.)

use std::sync::Arc;

use squall_functions::canonical_name;
use squall_types::{Result, Schema};

use crate::expression::Expression;
use crate::plan::{AggregateCall, Plan};

pub(super) fn apply(plan: &mut Plan) -> Result<()> {
    plan.try_for_each_input(apply)?;
    let Plan::Aggregate(aggregate) = plan else { return Ok(()) };
    let mut kept: Vec<usize> = Vec::with_capacity(aggregate.aggregates.len());
    let mut positions: Vec<usize> = Vec::with_capacity(aggregate.aggregates.len());
    for (at, call) in aggregate.aggregates.iter().enumerate() {
        let known =
            kept.iter().position(|known| aggregate.aggregates.get(*known).is_some_and(|known| is_same(known, call)));
        positions.push(known.unwrap_or(kept.len()));
        if known.is_none() {
            kept.push(at);
        }
    }
    if kept.len() == aggregate.aggregates.len() {
        return Ok(());
    }
    let keys = aggregate.keys.len();
    let schema = aggregate.schema.clone();
    let expressions = schema
        .types()
        .enumerate()
        .map(|(at, data_type)| {
            let position = at.checked_sub(keys).and_then(|at| positions.get(at)).map_or(at, |at| keys + at);
            Expression::column(position, data_type)
        })
        .collect();
    let is_kept = |at: usize| at < keys || kept.contains(&(at - keys));
    let fields = schema.fields.iter().enumerate().filter(|(at, _)| is_kept(*at)).map(|(_, field)| field.clone());
    aggregate.schema = Arc::new(Schema { fields: fields.collect() });
    let mut at = 0;
    aggregate.aggregates.retain(|_| {
        at += 1;
        kept.contains(&(at - 1))
    });
    plan.replace(|plan| Plan::Project { input: Box::new(plan), expressions, schema });
    Ok(())
}

/// Whether two aggregates have the same result.
pub(super) fn is_same(left: &AggregateCall, right: &AggregateCall) -> bool {
    if left.counts_rows() && right.counts_rows() {
        return true;
    }
    // Parameters are part of the name as shown, so functions that may have some must be shown alike.
    let is_plain_sum = |call: &AggregateCall| {
        let name = call.function_name();
        matches!(canonical_name(name).unwrap_or(name), "sum" | "min" | "max" | "avg" | "count")
    };
    let same_function = left.name == right.name
        || is_plain_sum(left)
            && is_plain_sum(right)
            && canonical_name(left.function_name()) == canonical_name(right.function_name());
    same_function
        && left.function.return_type() == right.function.return_type()
        && left.arguments.len() == right.arguments.len()
        && left.arguments.iter().zip(&right.arguments).all(|(left, right)| left.same(right))
}
