//! What a LIMIT says of the steps below: a sort under it need only keep its first rows, an aggregation any few groups, a scan need not
//! read on, and below LIMIT 0 nothing need be computed. The LIMIT itself stays where it is.

use crate::plan::{JoinKind, JoinStrictness, Plan, Scan};

/// `counts_all`: all rows and all groups must come that there are, as somebody counts them.
pub(super) fn apply(plan: &mut Plan, counts_all: bool) {
    push(plan, None, counts_all);
}

/// `wanted`: how many first rows the steps above look at.
fn push(plan: &mut Plan, wanted: Option<u64>, counts_all: bool) {
    let push = |plan: &mut Plan, wanted: Option<u64>| push(plan, wanted, counts_all);
    match plan {
        Plan::Limit { input, offset, limit, ties } => {
            let own = match (*limit, &*ties) {
                (Some(limit), None) => limit.checked_add(*offset),
                _ => None,
            };
            let from_above = wanted.and_then(|wanted| wanted.checked_add(*offset));
            let below = match (own, from_above) {
                (Some(own), Some(from_above)) => Some(own.min(from_above)),
                (own, from_above) => own.or(from_above),
            };
            if own.is_some() && *limit == Some(0) && !gives_totals(input) {
                let schema = input.schema().clone();
                **input = Plan::Values { schema, blocks: Vec::new() };
            }
            // With ties, more rows than the LIMIT says may pass.
            push(input, if ties.is_some() { None } else { below });
        }
        Plan::Sort { input, limit, .. } => {
            *limit = wanted;
            push(input, None);
        }
        Plan::Project { input, .. } => push(input, wanted),
        Plan::LateColumns(late) => push(&mut late.input, wanted),
        // Every row of the input makes at least one.
        Plan::ArrayJoin { input, is_left: true, .. } => push(input, wanted),
        Plan::Union { inputs, .. } => inputs.iter_mut().for_each(|input| push(input, wanted)),
        Plan::Scan(Scan { predicate: None, limit, table, .. }) => {
            // Numbers that nobody wants are not made to be counted.
            *limit = wanted.filter(|_| !counts_all || table.engine() == "SystemNumbers");
        }
        Plan::CommonSubplan { rows, input, .. } => {
            push(rows, None);
            push(input, wanted);
        }
        Plan::Scan(_) | Plan::Values { .. } | Plan::CommonRows(_) => {}
        Plan::Filter { input, .. }
        | Plan::Distinct { input }
        | Plan::LimitBy { input, .. }
        | Plan::ArrayJoin { input, .. } => push(input, None),
        Plan::Aggregate(aggregate) => {
            // Totals are of all rows, and the sets of keys have one group that nobody may leave out.
            aggregate.limit = wanted.filter(|_| !counts_all && !aggregate.with_totals && aggregate.sets.is_none());
            push(&mut aggregate.input, None);
        }
        Plan::Window(window) => push(&mut window.input, None),
        Plan::Fill(fill) => push(&mut fill.input, None),
        Plan::Join(join) => {
            // Every row of the left side makes at least one.
            let keeps_all =
                join.kind == JoinKind::Left && !matches!(join.strictness, JoinStrictness::Semi | JoinStrictness::Anti);
            let is_paste = join.strictness == JoinStrictness::Paste;
            push(&mut join.left, if keeps_all || is_paste { wanted } else { None });
            push(&mut join.right, if is_paste { wanted } else { None });
        }
    }
}

/// Whether a row of totals may come out beside the rows.
fn gives_totals(plan: &Plan) -> bool {
    matches!(plan, Plan::Aggregate(aggregate) if aggregate.with_totals) || plan.inputs().any(gives_totals)
}
