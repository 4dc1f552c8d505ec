//! `rank() OVER (PARTITION BY a ORDER BY b) <= 10`: of each partition only the first rows are wanted. The sort below the window says so, so
//! that what comes later in its partition need not be sorted. The condition and the window stay as they are.

use squall_types::Value;

use super::conjuncts;
use crate::expression::Expression;
use crate::plan::{GroupLimit, Inequality, Plan, SortKey, Window, WindowCallFunction};

/// More rows of a group than these are not worth the memory that knowing the first of them takes.
const ROWS_MAX: u64 = 4_096;

pub(super) fn apply(plan: &mut Plan) {
    let _ = plan.try_for_each_input(|input| {
        apply(input);
        Ok(())
    });
    let Plan::Filter { input, predicate } = plan else { return };
    let mut conditions = Vec::new();
    conjuncts(predicate.clone(), &mut conditions);
    let most = conditions.iter().filter_map(upper_bound).filter_map(|(column, rows)| {
        let (window, call) = window_below(input, column)?;
        (window.calls.len() > call && limits_rows(window)).then_some(rows)
    });
    let Some(rows) = most.min().filter(|rows| *rows <= ROWS_MAX) else { return };
    if let Some(window) = window_of(input) {
        let (keys, order) = (window.partition_by.len(), window.order_by.len());
        if let Plan::Sort { group_limit, .. } = &mut *window.input {
            debug_assert!(order > 0);
            *group_limit = Some(GroupLimit { keys, rows: rows.max(1) });
        }
    }
}

/// The column that a condition bounds from above by a number.
fn upper_bound(condition: &Expression) -> Option<(usize, u64)> {
    let Expression::Function { name, arguments, .. } = condition else { return None };
    let [left, right] = &arguments[..] else { return None };
    let number = |value: &Value| value.as_f64().filter(|number| *number >= 0.0).map(|number| number as u64);
    let (column, most, inequality) = match (left, right) {
        (Expression::Column { position, .. }, Expression::Constant { value, .. }) => {
            (*position, number(value)?, Inequality::of_function(name))
        }
        (Expression::Constant { value, .. }, Expression::Column { position, .. }) => {
            (*position, number(value)?, Inequality::of_function(name).map(Inequality::mirrored))
        }
        _ => return None,
    };
    match inequality {
        Some(Inequality::Less | Inequality::LessOrEquals) => Some((column, most)),
        None if &**name == "equals" => Some((column, most)),
        Some(Inequality::Greater | Inequality::GreaterOrEquals) | None => None,
    }
}

/// The window right below a condition, through projections, and the number of the call that is a column.
fn window_below(plan: &Plan, column: usize) -> Option<(&Window, usize)> {
    match plan {
        Plan::Project { input, expressions, .. } => match expressions.get(column)? {
            Expression::Column { position, .. } => window_below(input, *position),
            _ => None,
        },
        Plan::Window(window) => Some((window, column.checked_sub(window.input.schema().len())?)),
        _ => None,
    }
}

fn window_of(plan: &mut Plan) -> Option<&mut Window> {
    match plan {
        Plan::Project { input, .. } => window_of(input),
        Plan::Window(window) => Some(window),
        _ => None,
    }
}

/// Whether rows behind others are nothing to the window's functions, and are known by the order of its input.
fn limits_rows(window: &Window) -> bool {
    let counts = |function: &WindowCallFunction| match function {
        WindowCallFunction::Own(function) => function.counts_rows_before(),
        WindowCallFunction::Aggregate(_) => false,
    };
    let Plan::Sort { keys, limit: None, .. } = &*window.input else { return false };
    let (of_groups, of_order) = keys.split_at(window.partition_by.len().min(keys.len()));
    let is_same = |(known, key): (&SortKey, &SortKey)| {
        known.expression.same(&key.expression)
            && known.descending == key.descending
            && known.nulls_first == key.nulls_first
    };
    window.calls.iter().all(|call| counts(&call.function))
        && !window.order_by.is_empty()
        && of_groups.len() == window.partition_by.len()
        && of_groups.iter().zip(&window.partition_by).all(|(key, expression)| key.expression.same(expression))
        && of_order.len() == window.order_by.len()
        && of_order.iter().zip(&window.order_by).all(is_same)
}
