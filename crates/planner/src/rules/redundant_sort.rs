//! An ORDER BY whose order nobody sees is dropped: below another ORDER BY, and below an aggregation whose functions do not care
//! (ClickHouse's `query_plan_remove_redundant_sorting`). Views and generated queries are full of them.

use squall_functions::ignores_order;

use crate::plan::{Aggregate, JoinStrictness, Plan};

pub(super) fn apply(plan: &mut Plan) {
    remove(plan, true);
}

fn remove(plan: &mut Plan, order_matters: bool) {
    if !order_matters {
        while let Plan::Sort { .. } = plan {
            plan.replace(|plan| match plan {
                Plan::Sort { input, .. } => *input,
                other => other,
            });
        }
    }
    match plan {
        Plan::CommonSubplan { rows, input, .. } => {
            remove(rows, true);
            remove(input, order_matters);
        }
        Plan::Scan(_) | Plan::Values { .. } | Plan::CommonRows(_) => {}
        Plan::Sort { input, .. } => remove(input, false),
        Plan::Aggregate(Aggregate { input, aggregates, .. }) => {
            let is_orderless = aggregates.iter().all(|call| ignores_order(call.function_name()));
            remove(input, !is_orderless);
        }
        // A window's rows must come in its order.
        Plan::Window(window) => remove(&mut window.input, true),
        Plan::Fill(fill) => remove(&mut fill.input, true),
        Plan::LateColumns(late) => remove(&mut late.input, true),
        // Which rows pass depends on the order.
        Plan::Limit { input, .. } | Plan::LimitBy { input, .. } => remove(input, true),
        Plan::Filter { input, .. }
        | Plan::Project { input, .. }
        | Plan::Distinct { input }
        | Plan::ArrayJoin { input, .. } => remove(input, order_matters),
        Plan::Union { inputs, .. } => inputs.iter_mut().for_each(|input| remove(input, order_matters)),
        Plan::Join(join) => {
            // Of several partners ANY takes the first.
            let order_matters = order_matters || join.strictness != JoinStrictness::All;
            remove(&mut join.left, order_matters);
            remove(&mut join.right, order_matters);
        }
    }
}
