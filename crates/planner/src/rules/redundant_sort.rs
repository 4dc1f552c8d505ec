//! An ORDER BY whose order nobody sees is dropped: below another ORDER BY, and below an aggregation whose functions do not care
//! (ClickHouse's `query_plan_remove_redundant_sorting`). Views and generated queries are full of them.

use squall_functions::ignores_order;

use crate::expression::Expression;
use crate::plan::{Aggregate, AggregateCall, JoinStrictness, Plan};

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
            remove(input, !aggregates.iter().all(ignores_order_of_rows));
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

/// Whether the aggregate's result is the same in any order of rows, to the last bit where it adds floats.
fn ignores_order_of_rows(call: &AggregateCall) -> bool {
    let name = call.function_name();
    let is_float = |argument: &Expression| argument.data_type().inner().is_float();
    // As in ClickHouse, whoever sorts the floats of a sum wants them added in this order. An average need not be exact.
    let adds_floats = name.starts_with("sum") && call.arguments.first().is_some_and(is_float);
    ignores_order(name) && !adds_floats
}
