//! Folds calls whose arguments have become constants (a subquery's `1 AS x`), and simplifies conditions: what always holds is
//! dropped, what never holds makes no rows, so that nothing is read for them.

use squall_functions::{FunctionContext, Lazy};
use squall_types::Result;

use super::{all_of, conjuncts, fold, known_condition};
use crate::expression::Expression;
use crate::plan::Plan;

pub(super) fn apply(plan: &mut Plan, functions: &FunctionContext) -> Result<()> {
    plan.try_for_each_input(|input| apply(input, functions))?;
    match plan {
        Plan::Project { expressions, .. } => expressions.iter_mut().for_each(fold_within),
        Plan::Filter { predicate, .. } => {
            fold_within(predicate);
            return simplify_filter(plan, functions);
        }
        _ => {}
    }
    Ok(())
}

fn simplify_filter(plan: &mut Plan, functions: &FunctionContext) -> Result<()> {
    let Plan::Filter { predicate, .. } = plan else { return Ok(()) };
    let is_conjunction = matches!(predicate, Expression::Function { name, .. } if &**name == "and");
    if !is_conjunction && known_condition(predicate).is_none() {
        return Ok(());
    }
    let mut conditions = Vec::new();
    conjuncts(predicate.clone(), &mut conditions);
    let count = conditions.len();
    let mut kept: Vec<Expression> = Vec::with_capacity(count);
    for condition in conditions {
        match known_condition(&condition) {
            Some(true) => {}
            Some(false) => {
                let schema = plan.schema().clone();
                *plan = Plan::no_rows(schema);
                return Ok(());
            }
            None if kept.iter().any(|known| known.same(&condition)) => {}
            None => kept.push(condition),
        }
    }
    if kept.len() == count {
        return Ok(());
    }
    match all_of(kept, functions)? {
        Some(remaining) => *predicate = remaining,
        None => plan.replace(|plan| match plan {
            Plan::Filter { input, .. } => *input,
            other => other,
        }),
    }
    Ok(())
}

fn fold_within(expression: &mut Expression) {
    expression.children_mut().iter_mut().for_each(fold_within);
    if expression.is_call() && expression.children().iter().all(|child| child.constant().is_some()) {
        *expression = fold(expression.clone());
    }
    // Of `if` with a known condition one branch is left.
    if let Expression::Function { function, arguments, .. } = &*expression
        && function.properties().lazy == Some(Lazy::If)
        && let [condition, then, otherwise] = &arguments[..]
        && let Some(holds) = known_condition(condition)
    {
        let branch = if holds { then } else { otherwise };
        if branch.data_type() == function.return_type() {
            *expression = branch.clone();
        }
    }
}
