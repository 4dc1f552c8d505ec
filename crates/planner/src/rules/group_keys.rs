//! `GROUP BY ClientIP, ClientIP - 1, ClientIP - 2` makes the same groups as `GROUP BY ClientIP`: a key that is a function of other
//! keys is dropped and computed from them afterwards, once a group instead of once a row, and the hash table's keys are
//! narrow. ClickHouse's `optimize_group_by_function_keys`; ClickBench's Q35.

use std::sync::Arc;

use squall_types::{Result, Schema};

use crate::expression::Expression;
use crate::plan::{Aggregate, Plan};

pub(super) fn apply(plan: &mut Plan) -> Result<()> {
    plan.try_for_each_input(apply)?;
    let Plan::Aggregate(aggregate) = plan else { return Ok(()) };
    // The row of totals has default keys, of which functions are not the default.
    if aggregate.with_totals || aggregate.sets.is_some() || aggregate.keys.len() < 2 {
        return Ok(());
    }
    let mut is_kept = vec![true; aggregate.keys.len()];
    // From the last: of two keys that are functions of each other the first stays.
    for at in (0..aggregate.keys.len()).rev() {
        let Some(key) = aggregate.keys.get(at) else { continue };
        if !key.is_call() || !key.is_deterministic() {
            continue;
        }
        let is_other = |other: usize| other != at && is_kept.get(other) == Some(&true);
        if over_keys(key, &aggregate.keys, &is_other).is_some() {
            is_kept[at] = false;
        }
    }
    if is_kept.iter().all(|kept| *kept) {
        return Ok(());
    }
    plan.replace(|plan| match plan {
        Plan::Aggregate(aggregate) => without_keys(aggregate, &is_kept),
        other => other,
    });
    Ok(())
}

/// The expression with keys in place of what they compute, where nothing else is left; columns are keys' numbers.
pub(crate) fn over_keys(
    expression: &Expression,
    keys: &[Expression],
    is_key: &impl Fn(usize) -> bool,
) -> Option<Expression> {
    let key = keys.iter().enumerate().find(|(at, key)| is_key(*at) && key.same(expression));
    if let Some((position, key)) = key {
        return Some(Expression::column(position, key.data_type()));
    }
    match expression {
        Expression::Column { .. } => None,
        Expression::Constant { .. } => Some(expression.clone()),
        call => {
            let mut call = call.clone();
            for child in call.children_mut() {
                *child = over_keys(child, keys, is_key)?;
            }
            Some(call)
        }
    }
}

/// The aggregation by the keys that are kept, and a projection that brings the others back.
fn without_keys(mut aggregate: Aggregate, is_kept: &[bool]) -> Plan {
    let schema = aggregate.schema.clone();
    let is_key = |at: usize| is_kept.get(at) == Some(&true);
    // Where each kept key goes.
    let new_position = |at: usize| is_kept.iter().take(at).filter(|kept| **kept).count();
    let mut expressions: Vec<Expression> = Vec::with_capacity(schema.len());
    for (at, key) in aggregate.keys.iter().enumerate() {
        let expression = if is_key(at) {
            Expression::column(at, key.data_type())
        } else {
            over_keys(key, &aggregate.keys, &is_key).unwrap_or_else(|| key.clone())
        };
        expressions.push(expression.map_columns(&new_position));
    }
    let kept = new_position(is_kept.len());
    for (at, call) in aggregate.aggregates.iter().enumerate() {
        expressions.push(Expression::column(kept + at, call.function.return_type()));
    }
    let mut at = 0;
    aggregate.keys.retain(|_| {
        at += 1;
        is_key(at - 1)
    });
    let fields = schema.fields.iter().enumerate();
    let fields = fields.filter(|(at, _)| *at >= is_kept.len() || is_key(*at)).map(|(_, field)| field.clone()).collect();
    aggregate.schema = Arc::new(Schema { fields });
    Plan::Project { input: Box::new(Plan::Aggregate(aggregate)), expressions, schema }
}
