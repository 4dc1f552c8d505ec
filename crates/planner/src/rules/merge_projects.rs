//! A projection on a projection, or an aggregation on one, becomes one step: the inner expressions are put in place of the
//! columns, as long as nothing is computed twice by that. Projections that only pass their input on disappear. The analyzer
//! makes one step per SELECT; subqueries that rename would otherwise cost a step each.

use squall_types::Result;

use super::fold;
use crate::expression::Expression;
use crate::plan::{Aggregate, Plan};

pub(super) fn apply(plan: &mut Plan) -> Result<()> {
    merge(plan, true)
}

/// `names_matter`: whether the names of the plan's columns are those of the whole plan's.
fn merge(plan: &mut Plan, names_matter: bool) -> Result<()> {
    let passes_names_on = matches!(
        plan,
        Plan::Filter { .. }
            | Plan::Sort { .. }
            | Plan::Fill(_)
            | Plan::Limit { .. }
            | Plan::LimitBy { .. }
            | Plan::Distinct { .. }
    );
    let names_matter_below = names_matter && passes_names_on;
    plan.try_for_each_input(|input| {
        merge(input, names_matter_below)?;
        if !names_matter_below {
            drop_identity(input);
        }
        Ok(())
    })?;
    match plan {
        Plan::Project { input, expressions, .. } => {
            let Plan::Project { expressions: inner, .. } = &**input else { return Ok(()) };
            if can_substitute(inner, expressions.iter()) {
                expressions.iter_mut().for_each(|expression| *expression = put_in(expression, inner));
                skip(input);
            }
        }
        Plan::Aggregate(Aggregate { input, keys, aggregates, .. }) => {
            let Plan::Project { expressions: inner, .. } = &**input else { return Ok(()) };
            let arguments = || aggregates.iter().flat_map(|call| &call.arguments);
            if can_substitute(inner, keys.iter().chain(arguments())) {
                let arguments = aggregates.iter_mut().flat_map(|call| &mut call.arguments);
                for expression in keys.iter_mut().chain(arguments) {
                    *expression = put_in(expression, inner);
                }
                skip(input);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Removes a projection that passes all columns of its input on as they are. Only names change by that.
fn drop_identity(plan: &mut Plan) {
    let Plan::Project { input, expressions, .. } = plan else { return };
    let passes_on = |(at, expression): (usize, &Expression)| matches!(expression, Expression::Column { position, .. } if *position == at);
    if input.schema().len() == expressions.len() && expressions.iter().enumerate().all(passes_on) {
        plan.replace(|plan| match plan {
            Plan::Project { input, .. } => *input,
            other => other,
        });
    }
}

/// Whether putting `inner` in place of the columns computes nothing twice.
fn can_substitute<'a>(inner: &[Expression], outer: impl Iterator<Item = &'a Expression>) -> bool {
    let mut uses = vec![0u32; inner.len()];
    for expression in outer {
        expression.visit_columns(&mut |position| {
            if let Some(count) = uses.get_mut(position) {
                *count += 1;
            }
        });
    }
    inner.iter().zip(uses).all(|(inner, uses)| match inner {
        Expression::Column { .. } | Expression::Constant { .. } => true,
        Expression::Function { .. } | Expression::HigherOrder { .. } => uses <= 1,
    })
}

fn put_in(expression: &Expression, inner: &[Expression]) -> Expression {
    match expression {
        Expression::Column { position, .. } => inner.get(*position).unwrap_or(expression).clone(),
        other => fold(other.map_children(|child| put_in(child, inner))),
    }
}

/// Replaces a projection by its input.
fn skip(plan: &mut Plan) {
    plan.replace(|plan| match plan {
        Plan::Project { input, .. } => *input,
        other => other,
    });
}
