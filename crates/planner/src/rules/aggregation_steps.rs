//! An aggregation in two steps: the first makes smaller groups, and the second merges what those have in common. Rules that put something
//! between the two steps share this.

use std::sync::Arc;

use squall_functions::{AggregateFunction, aggregate_merged_by, resolve_aggregate, state_and_merge};
use squall_types::Schema;

use crate::expression::Expression;
use crate::plan::{Aggregate, AggregateCall, Plan};

/// One aggregate in two steps: what the first gives, and what merges it.
pub(super) struct Steps {
    pub(super) first: AggregateCall,
    pub(super) merge: Arc<dyn AggregateFunction>,
}

impl Steps {
    /// Of an aggregate whose results over parts of the rows merge as they stand: a sum of sums, a sum of counts.
    pub(super) fn by_results(call: &AggregateCall) -> Option<Self> {
        let merge = aggregate_merged_by(call.function_name())?;
        let merge = resolve_aggregate(merge, &[], std::slice::from_ref(call.function.return_type())).ok()?;
        (merge.return_type() == call.function.return_type()).then(|| Self { first: call.clone(), merge })
    }

    /// Of any other one, by its states.
    pub(super) fn by_states(call: &AggregateCall) -> Self {
        let (state, merge) = state_and_merge(&call.function);
        Self { first: AggregateCall { function: state, ..call.clone() }, merge }
    }
}

/// The first step: groups of a plan's rows by columns. Its columns are these, then one for each aggregate.
pub(super) fn first_step(input: Plan, columns: &[usize], steps: &[Steps]) -> Plan {
    let keys = columns.iter().filter_map(|column| Some((*column, input.schema().fields.get(*column)?)));
    let mut fields: Vec<_> = keys.clone().map(|(_, field)| field.clone()).collect();
    let keys = keys.map(|(column, (_, data_type))| Expression::column(column, data_type)).collect();
    fields.extend(steps.iter().map(|step| (step.first.name.clone(), step.first.function.return_type().clone())));
    Plan::Aggregate(Aggregate {
        input: Box::new(input),
        keys,
        aggregates: steps.iter().map(|step| step.first.clone()).collect(),
        schema: Arc::new(Schema { fields }),
        with_totals: false,
        sets: None,
        limit: None,
    })
}

/// The aggregates of the second step, under the names of `calls`. The results of the first are columns from `partial` on.
pub(super) fn second_step(steps: &[Steps], calls: &[AggregateCall], partial: usize) -> Vec<AggregateCall> {
    let merges = steps.iter().zip(calls).enumerate().map(|(at, (step, call))| AggregateCall {
        name: call.name.clone(),
        function: step.merge.clone(),
        arguments: vec![Expression::column(partial + at, step.first.function.return_type())],
    });
    merges.collect()
}
