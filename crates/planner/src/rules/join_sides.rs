//! The right side of a join is held in memory. Where it is estimated to have many more rows than the left side, the sides change
//! places (ClickHouse's `query_plan_join_swap_table`); the rows are the same, in another order. So do those of an EXISTS or IN that became
//! a semi or anti join: the rows that are asked about are held, and each is marked once a partner comes by.

use std::sync::Arc;

use squall_types::Schema;

use super::cardinality::rows;
use crate::expression::Expression;
use crate::plan::{Join, JoinKey, JoinKind, JoinStrictness, Plan};

/// The right side stays where it is small, whatever the left one is.
const ROWS_MIN: f64 = 100_000.0;
/// So many times larger the right side must be.
const RATIO: f64 = 2.0;

pub(super) fn apply(plan: &mut Plan, mode: &str) {
    // Nothing below fails.
    let _ = plan.try_for_each_input(|input| {
        apply(input, mode);
        Ok(())
    });
    let Plan::Join(join) = plan else { return };
    // The rows of a table of the engine Join are held already.
    let is_held = matches!(&*join.right, Plan::Scan(scan) if scan.table.engine() == "Join");
    if is_held || !is_symmetric(join) {
        return;
    }
    // Asked last: a plan for which tables were asked for their rows is not kept.
    let is_larger = || match join.keys.is_empty() {
        true => counted(&join.left).zip(counted(&join.right)).is_some_and(|(left, right)| right > left),
        false => match (rows(&join.left), rows(&join.right)) {
            (Some(left), Some(right)) => right >= ROWS_MIN && right / RATIO > left,
            _ => false,
        },
    };
    let is_wanted = match mode {
        "true" | "1" => true,
        "false" | "0" => false,
        _ => is_larger(),
    };
    if is_wanted {
        swap(plan);
    }
}

/// The rows of a side of a join without keys, where ClickHouse knows them: of whole tables and of limits. Of such a join every pair is
/// seen, in the order of the side that is gone through; so it is the side that ClickHouse goes through, however small they are.
fn counted(plan: &Plan) -> Option<f64> {
    match plan {
        Plan::Scan(scan) => {
            let is_kept = scan.table.engine().ends_with("MergeTree") || scan.table.engine() == "Memory";
            (is_kept && scan.predicate.is_none()).then(|| scan.table.rows()).flatten().map(|rows| rows as f64)
        }
        Plan::Project { input, .. } => counted(input),
        Plan::Aggregate(aggregate) => counted(&aggregate.input),
        Plan::Sort { input, limit, .. } | Plan::Limit { input, limit, .. } => match (counted(input), limit) {
            (Some(rows), Some(limit)) => Some(rows.min(*limit as f64)),
            (rows, limit) => rows.or(limit.map(|limit| limit as f64)),
        },
        Plan::Join(join) if join.keys.is_empty() && is_symmetric(join) => {
            Some(counted(&join.left)? * counted(&join.right)?)
        }
        _ => None,
    }
}

/// Whether the rows are the same from either side.
fn is_symmetric(join: &Join) -> bool {
    match join.strictness {
        JoinStrictness::All => true,
        // Of several partners another one would be put out.
        JoinStrictness::Semi | JoinStrictness::Anti => {
            let others = if join.kind == JoinKind::Left { &join.right_columns } else { &join.left_columns };
            others.is_empty() && !join.keys.is_empty()
        }
        _ => false,
    }
}

fn swap(plan: &mut Plan) {
    plan.replace(|plan| match plan {
        Plan::Join(join) => {
            let schema = join.schema.clone();
            let (left, right) = (join.left_columns.len(), join.right_columns.len());
            let swapped = Plan::Join(swapped(join));
            let column = |at: usize| Expression::column(at, &swapped.schema().fields[at].1);
            let expressions = (right..right + left).chain(0..right).map(column).collect();
            Plan::Project { input: Box::new(swapped), expressions, schema }
        }
        other => other,
    });
}

fn swapped(join: Join) -> Join {
    let (left_width, right_width) = (join.left.schema().len(), join.right.schema().len());
    let condition = join
        .condition
        .map(|condition| condition.map_columns(&|at| if at < left_width { at + right_width } else { at - left_width }));
    let (of_left, of_right) = join.schema.fields.split_at(join.left_columns.len());
    let schema = Arc::new(Schema { fields: of_right.iter().chain(of_left).cloned().collect() });
    Join {
        left: join.right,
        right: join.left,
        kind: match join.kind {
            JoinKind::Left => JoinKind::Right,
            JoinKind::Right => JoinKind::Left,
            symmetric => symmetric,
        },
        strictness: join.strictness,
        keys: join.keys.into_iter().map(|key| JoinKey { left: key.right, right: key.left }).collect(),
        condition,
        nearest: join.nearest,
        runtime_filter: join.runtime_filter,
        left_columns: join.right_columns,
        right_columns: join.left_columns,
        schema,
    }
}
