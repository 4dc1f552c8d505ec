//! What an aggregation computes of its input. Where that may be much longer than the input (`repeat`, `range`), a projection computes it
//! before, piece by piece, and the aggregation reads columns.

use std::sync::Arc;

use squall_planner::{Aggregate, AggregateCall, Expression, Plan};
use squall_types::Schema;

/// Bytes of a value that do not count as much.
const SMALL_BYTES: usize = 64;

/// Whether the values may be much longer than what they are computed of: some of them have no fixed width, or a large one.
fn may_expand(expression: &Expression) -> bool {
    let is_small = || expression.data_type().inner().fixed_width_bytes().is_some_and(|width| width <= SMALL_BYTES);
    expression.is_call() && !is_small() || expression.children().iter().any(may_expand)
}

/// The same aggregation over a projection, where its input is better computed before.
pub(crate) fn projected(aggregate: &Aggregate) -> Option<Aggregate> {
    let arguments = aggregate.aggregates.iter().flat_map(|call| &call.arguments);
    if !aggregate.keys.iter().chain(arguments).any(may_expand) {
        return None;
    }
    let mut expressions = Vec::new();
    let mut column = |expression: &Expression| match expression {
        Expression::Constant { .. } => expression.clone(),
        computed => {
            expressions.push(computed.clone());
            Expression::column(expressions.len() - 1, computed.data_type())
        }
    };
    let keys = aggregate.keys.iter().map(&mut column).collect();
    let mut call = |call: &AggregateCall| AggregateCall {
        arguments: call.arguments.iter().map(&mut column).collect(),
        ..call.clone()
    };
    let aggregates = aggregate.aggregates.iter().map(&mut call).collect();
    let types = expressions.iter().map(|expression| expression.data_type().clone()).enumerate();
    let schema = Arc::new(Schema::new(types.map(|(at, data_type)| (at.to_string(), data_type))));
    let input = Box::new(Plan::Project { input: aggregate.input.clone(), expressions, schema });
    Some(Aggregate { input, keys, aggregates, ..aggregate.clone() })
}
