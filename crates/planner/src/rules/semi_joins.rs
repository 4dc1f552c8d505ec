//! `SELECT DISTINCT a.k FROM a, b WHERE a.k = b.k AND a.x <> b.x` asks whether a row of `a` has a partner, not how many it has. Where nobody
//! above counts rows (below DISTINCT, GROUP BY without aggregates, the set of IN) and all columns come from one side, an inner join
//! becomes a semi join: it ends at the first partner and puts each row out once.

use std::sync::Arc;

use squall_functions::FunctionContext;
use squall_types::{Result, Schema};

use super::{all_of, conjuncts};
use crate::expression::Expression;
use crate::plan::{Join, JoinKey, JoinKind, JoinStrictness, Plan};

pub(super) fn apply(plan: &mut Plan, functions: &FunctionContext) -> Result<()> {
    rewrite(plan, None, functions)
}

/// `wanted`: where it does not matter how often a row comes, the columns that somebody above reads.
fn rewrite(plan: &mut Plan, wanted: Option<Vec<usize>>, functions: &FunctionContext) -> Result<()> {
    match plan {
        Plan::Distinct { input } => {
            let all = (0..input.schema().len()).collect();
            rewrite(input, Some(all), functions)
        }
        Plan::Aggregate(aggregate) => {
            let counts_rows = !aggregate.aggregates.is_empty() || aggregate.with_totals || aggregate.keys.is_empty();
            let wanted = (!counts_rows).then(|| read_by(&aggregate.keys));
            rewrite(&mut aggregate.input, wanted, functions)
        }
        Plan::Project { input, expressions, .. } => {
            let wanted = wanted.filter(|_| expressions.iter().all(Expression::is_deterministic));
            let wanted = wanted.map(|wanted| {
                let used: Vec<Expression> = wanted.iter().filter_map(|at| expressions.get(*at).cloned()).collect();
                read_by(&used)
            });
            rewrite(input, wanted, functions)
        }
        Plan::Filter { predicate, .. } => {
            let wanted = wanted.filter(|_| predicate.is_deterministic());
            let Some(wanted) = wanted else {
                return plan.try_for_each_input(|input| rewrite(input, None, functions));
            };
            if take_condition(plan, functions)? {
                return rewrite(plan, Some(wanted), functions);
            }
            let Plan::Filter { input, predicate } = plan else { return Ok(()) };
            let mut below = read_by(std::slice::from_ref(predicate));
            below.extend(wanted);
            rewrite(input, Some(below), functions)
        }
        Plan::Join(join) => {
            rewrite_sides(join, wanted.as_deref(), functions)?;
            if let Some(wanted) = wanted {
                plan.replace(|plan| match plan {
                    Plan::Join(join) => as_semi(join, &wanted),
                    other => other,
                });
            }
            Ok(())
        }
        Plan::Union { inputs, .. } => inputs.iter_mut().try_for_each(|input| rewrite(input, wanted.clone(), functions)),
        _ => plan.try_for_each_input(|input| rewrite(input, None, functions)),
    }
}

/// The sides of a join, of which it does not matter how often a row comes where that holds of the join itself; of what a semi or anti join
/// looks up it never does.
fn rewrite_sides(join: &mut Join, wanted: Option<&[usize]>, functions: &FunctionContext) -> Result<()> {
    let first = join.left.schema().len();
    let width = join.left_columns.len();
    let (mut of_left, mut of_right) = (Vec::new(), Vec::new());
    let all: Vec<usize> = (0..join.schema.len()).collect();
    for column in wanted.unwrap_or(&all) {
        match column.checked_sub(width) {
            Some(column) => of_right.extend(join.right_columns.get(column)),
            None => of_left.extend(join.left_columns.get(*column)),
        }
    }
    let ignores_duplicates = wanted.is_some();
    for JoinKey { left, right } in &join.keys {
        left.visit_columns(&mut |column| of_left.push(column));
        right.visit_columns(&mut |column| of_right.push(column));
    }
    if let Some(condition) = &join.condition {
        condition.visit_columns(&mut |column| match column.checked_sub(first) {
            Some(column) => of_right.push(column),
            None => of_left.push(column),
        });
    }
    let is_deterministic = is_deterministic(join);
    let only_exists = matches!(join.strictness, JoinStrictness::Semi | JoinStrictness::Anti);
    let keeps_count = |is_looked_up: bool| match join.strictness {
        JoinStrictness::All => !ignores_duplicates,
        _ if only_exists => !(ignores_duplicates || is_looked_up),
        _ => true,
    };
    let left = (is_deterministic && !keeps_count(only_exists && join.kind == JoinKind::Right)).then_some(of_left);
    let right = (is_deterministic && !keeps_count(only_exists && join.kind == JoinKind::Left)).then_some(of_right);
    rewrite(&mut join.left, left, functions)?;
    rewrite(&mut join.right, right, functions)
}

/// Makes the conditions of a filter right above an inner join conditions of the join. Whether it did.
fn take_condition(plan: &mut Plan, functions: &FunctionContext) -> Result<bool> {
    let is_above_join = match plan {
        Plan::Filter { input, .. } => matches!(&**input, Plan::Join(join) if is_plain(join)),
        _ => false,
    };
    if !is_above_join {
        return Ok(false);
    }
    plan.replace_with(|plan| {
        let Plan::Filter { input, predicate } = plan else { return Ok(plan) };
        let Plan::Join(mut join) = *input else { return Ok(Plan::Filter { input, predicate }) };
        let (width, first) = (join.left_columns.len(), join.left.schema().len());
        let mut conditions = Vec::new();
        if let Some(condition) = join.condition.take() {
            conjuncts(condition, &mut conditions);
        }
        let to_input = |at: usize| match join.left_columns.get(at) {
            Some(column) => *column,
            None => first + join.right_columns.get(at - width).copied().unwrap_or_default(),
        };
        conjuncts(predicate.map_columns(&to_input), &mut conditions);
        join.condition = all_of(conditions, functions)?;
        Ok(Plan::Join(join))
    })?;
    Ok(true)
}

/// Whether a join puts out every pair that its keys and its condition let pass, of the types that its sides have.
fn is_plain(join: &Join) -> bool {
    join.kind == JoinKind::Inner
        && join.strictness == JoinStrictness::All
        && !join.keys.is_empty()
        && is_deterministic(join)
}

fn is_deterministic(join: &Join) -> bool {
    join.condition.as_ref().is_none_or(Expression::is_deterministic)
        && join.keys.iter().all(|key| key.left.is_deterministic() && key.right.is_deterministic())
}

/// The join as a semi join, where all wanted columns are of one side; the other columns are those of its rows that come first, or defaults.
fn as_semi(join: Join, wanted: &[usize]) -> Plan {
    let width = join.left_columns.len();
    let of_left = wanted.iter().all(|column| *column < width);
    let of_right = wanted.iter().all(|column| *column >= width);
    if !is_plain(&join) || !of_left && !of_right {
        return Plan::Join(join);
    }
    let schema = join.schema.clone();
    let (kept, kind) = if of_left { (0..width, JoinKind::Left) } else { (width..schema.len(), JoinKind::Right) };
    let fields = schema.fields.get(kept.clone()).unwrap_or_default().to_vec();
    // Nobody reads the others.
    let expressions = schema.types().enumerate().map(|(at, data_type)| match kept.contains(&at) {
        true => Expression::column(at - kept.start, data_type),
        false => Expression::Constant { value: squall_types::default_value(data_type), data_type: data_type.clone() },
    });
    let expressions: Vec<Expression> = expressions.collect();
    let semi = Join {
        kind,
        strictness: JoinStrictness::Semi,
        left_columns: if of_left { join.left_columns } else { Vec::new() },
        right_columns: if of_left { Vec::new() } else { join.right_columns },
        schema: Arc::new(Schema { fields }),
        ..join
    };
    Plan::Project { input: Box::new(Plan::Join(semi)), expressions, schema }
}

/// The columns that expressions read.
fn read_by(expressions: &[Expression]) -> Vec<usize> {
    let mut columns = Vec::new();
    expressions.iter().for_each(|expression| expression.visit_columns(&mut |column| columns.push(column)));
    columns
}
