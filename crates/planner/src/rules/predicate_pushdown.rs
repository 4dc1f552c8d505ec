//! Conditions move towards the rows that they test: through projections, sorts, DISTINCT and UNION, below an aggregation where
//! they test only keys, and into scans, which pass over parts and granules that cannot hold a match. ClickHouse's
//! `enable_optimize_predicate_expression` and `query_plan_filter_push_down`.

use std::collections::VecDeque;

use squall_functions::FunctionContext;
use squall_types::Result;

use super::disjunctions::{factored, implied};
use super::{all_of, cardinality, conjuncts};
use crate::analyzer::{as_join_key, equality, null_safe_equalities, sides_of};
use crate::expression::Expression;
use crate::plan::{Aggregate, Join, JoinKey, JoinKind, JoinStrictness, Plan, Scan, Window};

/// A condition that would become larger than this by putting a projection's expressions in place of its columns stays above
/// the projection.
const SIZE_MAX: usize = 128;

pub(super) fn apply(plan: &mut Plan, functions: &FunctionContext) -> Result<()> {
    push(plan, Vec::new(), functions)
}

/// Applies one more condition to a plan's rows, as far below as it can be.
pub(super) fn add(plan: &mut Plan, condition: Expression, functions: &FunctionContext) -> Result<()> {
    push(plan, vec![condition], functions)
}

/// Applies `conditions`, over the plan's columns, as far below as they can be.
fn push(plan: &mut Plan, conditions: Vec<Expression>, functions: &FunctionContext) -> Result<()> {
    if let Plan::Filter { .. } = plan {
        return push_with_filter(plan, conditions, functions);
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
        Plan::Aggregate(aggregate) => above = push_into_aggregate(aggregate, conditions, functions)?,
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
        Plan::Window(window) => above = push_into_window(window, conditions, functions)?,
        Plan::Join(join) => above = push_into_join(join, conditions, functions)?,
        Plan::Scan(scan) if scan.limit.is_none() => above = push_into_scan(scan, conditions, functions)?,
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

/// Applies a filter's conditions and others above it as far below the filter as they can be; the filter itself goes.
fn push_with_filter(plan: &mut Plan, mut conditions: Vec<Expression>, functions: &FunctionContext) -> Result<()> {
    let mut own = Vec::new();
    plan.replace(|plan| match plan {
        Plan::Filter { input, predicate } => {
            conjuncts(predicate, &mut own);
            *input
        }
        other => other,
    });
    own = factored(own, functions)?;
    // The filter's own conditions first: they were tested before those above.
    own.append(&mut conditions);
    push(plan, own, functions)
}

/// Puts the conditions that test only keys below an aggregation. Gives the others.
fn push_into_aggregate(
    aggregate: &mut Aggregate,
    conditions: Vec<Expression>,
    functions: &FunctionContext,
) -> Result<Vec<Expression>> {
    let Aggregate { input, keys, with_totals, sets, .. } = aggregate;
    let (mut above, mut below) = (Vec::new(), Vec::new());
    for condition in conditions {
        let mut tests_keys = condition.is_deterministic() && !*with_totals && sets.is_none() && !keys.is_empty();
        condition.visit_columns(&mut |position| tests_keys &= position < keys.len());
        if tests_keys && can_substitute(&condition, keys) {
            below.push(condition.substitute(keys));
        } else {
            above.push(condition);
        }
    }
    push(input, below, functions)?;
    Ok(above)
}

/// Puts the conditions that test only a window's partitions below it: whole partitions are left out. Gives the others.
fn push_into_window(
    window: &mut Window,
    conditions: Vec<Expression>,
    functions: &FunctionContext,
) -> Result<Vec<Expression>> {
    let Window { input, partition_by, .. } = window;
    let is_key = |position: usize| {
        partition_by.iter().any(|key| matches!(key, Expression::Column { position: known, .. } if *known == position))
    };
    let (mut above, mut below) = (Vec::new(), Vec::new());
    for condition in conditions {
        let mut tests_keys = condition.is_deterministic();
        condition.visit_columns(&mut |position| tests_keys &= is_key(position));
        if tests_keys { below.push(condition) } else { above.push(condition) }
    }
    push(input, below, functions)?;
    Ok(above)
}

/// Adds the conditions that a scan can test to its own. Gives the others.
fn push_into_scan(
    scan: &mut Scan,
    mut conditions: Vec<Expression>,
    functions: &FunctionContext,
) -> Result<Vec<Expression>> {
    let (mut above, mut below) = (Vec::new(), Vec::new());
    if scan.hides_rows {
        (conditions, above) = conditions.into_iter().partition(cannot_fail);
    }
    split_random(conditions, &mut below, &mut above);
    let mut all = Vec::new();
    if let Some(known) = scan.predicate.take() {
        conjuncts(known, &mut all);
    }
    for condition in below {
        if !all.iter().any(|known| known.same(&condition)) {
            all.push(condition);
        }
    }
    scan.predicate = all_of(all, functions)?;
    Ok(above)
}

/// Puts the conditions that test one side of a join below it, where the rows that the other side gets stay the same, and makes
/// equalities of both sides keys of an inner join. Gives the others.
fn push_into_join(
    join: &mut Join,
    conditions: Vec<Expression>,
    functions: &FunctionContext,
) -> Result<Vec<Expression>> {
    use JoinStrictness::{All, Any, Asof, Paste, RightAny, Semi};
    let (mut above, mut of_left, mut of_right) = (Vec::new(), Vec::new(), Vec::new());
    let first = join.left_columns.len();
    // A side whose rows may be missing is tested after the join. ANY, SEMI and ASOF choose rows of the other side: which ones,
    // depends on all that are there. PASTE counts them.
    let left_is_free = match join.kind {
        JoinKind::Inner => !matches!(join.strictness, Any | Paste),
        JoinKind::Left => true,
        JoinKind::Right | JoinKind::Full => false,
    };
    let right_is_free = match join.kind {
        JoinKind::Inner => !matches!(join.strictness, Any | RightAny | Semi | Asof | Paste),
        JoinKind::Right => join.strictness != RightAny,
        JoinKind::Left | JoinKind::Full => false,
    };
    let mut conditions: VecDeque<Expression> = conditions.into();
    while let Some(condition) = conditions.pop_front() {
        let to_left = |at: usize| join.left_columns.get(at).copied().unwrap_or(at);
        let to_right = |at: usize| join.right_columns.get(at.wrapping_sub(first)).copied().unwrap_or(at);
        if !condition.is_deterministic() {
            above.push(condition);
            continue;
        }
        match sides_of(&condition, first) {
            (true, false) if left_is_free => of_left.push(condition.map_columns(&to_left)),
            (false, true) if right_is_free => of_right.push(condition.map_columns(&to_right)),
            (true, true) if join.kind == JoinKind::Inner && join.strictness == All => {
                if let Some(equalities) = null_safe_equalities(&condition, first, functions)? {
                    conditions.extend(equalities);
                    continue;
                }
                match equality(&condition, first).map(|(left, right)| as_join_key(&left, &right, functions)) {
                    Some(Some(JoinKey { left, right })) => {
                        join.keys
                            .push(JoinKey { left: left.map_columns(&to_left), right: right.map_columns(&to_right) });
                    }
                    _ => {
                        if let Some(left) =
                            implied(&condition, &|part| sides_of(part, first) == (true, false), functions)?
                        {
                            of_left.push(left.map_columns(&to_left));
                        }
                        if let Some(right) =
                            implied(&condition, &|part| sides_of(part, first) == (false, true), functions)?
                        {
                            of_right.push(right.map_columns(&to_right));
                        }
                        above.push(condition);
                    }
                }
            }
            _ => above.push(condition),
        }
    }
    // A row whose partners are all left out comes out only where its own side keeps such rows. PASTE joins rows by their places.
    if join.strictness != Paste {
        let sides = |key: &JoinKey| [key.left.clone(), key.right.clone()];
        let of_keys: Vec<[Expression; 2]> = join.keys.iter().map(sides).collect();
        let to_right: Vec<Expression> = match join.kind.keeps_right() {
            true => Vec::new(),
            false => of_left.iter().filter_map(|part| carried_over(part, &of_keys, 0)).collect(),
        };
        if !join.kind.keeps_left() {
            of_left.extend(of_right.iter().filter_map(|part| carried_over(part, &of_keys, 1)));
        }
        of_right.extend(to_right);
    }
    push(&mut join.left, of_left, functions)?;
    push(&mut join.right, of_right, functions)?;
    Ok(above)
}

/// What a condition of a key's column says of the column that equals it on the other side of a join: of `a.x = b.y`, `a.x > 5` leaves
/// rows out on both sides. `side`: the one that the condition is of, 0 the left.
fn carried_over(condition: &Expression, keys: &[[Expression; 2]], side: usize) -> Option<Expression> {
    let column = cardinality::only_column(condition)?;
    let is_key = |key: &Expression| matches!(key, Expression::Column { position, .. } if *position == column);
    let key = keys.iter().find(|key| is_key(&key[side]) && key[0].data_type() == key[1].data_type())?;
    match &key[1 - side] {
        Expression::Column { position, .. } if !condition.may_throw() => Some(condition.map_columns(&|_| *position)),
        _ => None,
    }
}

/// Whether a condition is made of comparisons of columns with constants of their own kind: it says nothing of rows that it lets not pass.
fn cannot_fail(condition: &Expression) -> bool {
    match condition {
        Expression::Column { .. } | Expression::Constant { .. } => true,
        Expression::Function { name, arguments, .. } => match &**name {
            "equals" | "notEquals" | "less" | "lessOrEquals" | "greater" | "greaterOrEquals" | "in" | "notIn" => {
                arguments
                    .iter()
                    .all(|argument| matches!(argument, Expression::Column { .. } | Expression::Constant { .. }))
            }
            "and" | "or" | "not" | "isNull" | "isNotNull" => arguments.iter().all(cannot_fail),
            _ => false,
        },
        _ => false,
    }
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
