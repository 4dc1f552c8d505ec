//! Aggregate functions as functions of one row: over values of the row (`initializeAggregation`), over states (`finalizeAggregation`,
//! `runningAccumulate`).

use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use super::simple::{Call, Function, argument};
use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};
use crate::aggregate::{of_states, of_text};
use crate::function::{BoundFunction, ScalarFunction};

/// Every function of this module.
pub const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("finalizeAggregation", finalize).with_nulls(),
    &Function::new("initializeAggregation", initialize).with_nulls(),
    &Function::new("runningAccumulate", accumulate).with_nulls().with_constants(),
];

/// The aggregate function that the first argument names.
fn named(call: &Call<'_>, arguments: &[DataType]) -> Result<Arc<dyn AggregateFunction>> {
    let name = call.constant(0).and_then(Value::as_str).ok_or_else(|| {
        Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("First argument for function {} must be constant string: name of aggregate function.", call.name),
        )
    })?;
    if name.is_empty() {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("First argument (name of aggregate function) for function {} cannot be empty.", call.name),
        ));
    }
    of_text(name, arguments)
}

fn at_least(call: &Call<'_>, count: usize) -> Result<()> {
    if call.arguments.len() >= count {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        format!(
            "Number of arguments for function {} doesn't match: passed {}, should be at least {count}.",
            call.name,
            call.arguments.len()
        ),
    ))
}

/// The results of groups `0..groups`.
fn results(mut accumulator: Box<dyn Accumulator>, groups: usize) -> Result<Column> {
    while !accumulator.settle()? {}
    accumulator.finish(groups)
}

fn initialize(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    at_least(call, 2)?;
    let types: Vec<DataType> = (1..call.arguments.len()).map(|at| call.type_of(at).clone()).collect();
    let function = named(call, &types)?;
    call.bind(function.return_type().clone(), move |arguments, rows| {
        let columns =
            arguments.get(1..).unwrap_or_default().iter().map(Column::materialize).collect::<Result<Vec<_>>>()?;
        let columns = if function.needs_arguments() { &columns[..] } else { &[] };
        let groups: Vec<u32> = (0..rows as u32).collect();
        let mut accumulator = function.accumulator();
        accumulator.update(GroupIds::Each(&groups), rows, columns, rows)?;
        results(accumulator, rows)
    })
}

/// The function of the states that the first argument has.
fn of_argument(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    match call.type_of(0) {
        DataType::AggregateFunction(state) => of_states(state),
        other => Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Argument for function '{}' must have type AggregateFunction - state of aggregate function. Got '{other}' instead",
                call.name
            ),
        )),
    }
}

fn finalize(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    let function = of_argument(call)?;
    call.bind(function.return_type().clone(), move |arguments, rows| {
        let column = argument(arguments, 0)?.materialize()?;
        let states = column.as_binary()?;
        let mut accumulator = function.accumulator();
        for row in 0..rows {
            checkpoint(64)?;
            if !states.value(row).is_empty() {
                accumulator.merge_serialized(row, &mut states.value(row))?;
            }
        }
        results(accumulator, rows)
    })
}

fn accumulate(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    let function = of_argument(call)?;
    call.bind(function.return_type().clone(), move |arguments, rows| {
        let column = argument(arguments, 0)?.materialize()?;
        let states = column.as_binary()?;
        let groups = arguments.get(1);
        let mut running = function.accumulator();
        let mut finished = function.accumulator();
        for row in 0..rows {
            checkpoint(200)?;
            if let Some(groups) = groups
                && row > 0
                && groups.value(row) != groups.value(row - 1)
            {
                running = function.accumulator();
            }
            if !states.value(row).is_empty() {
                running.merge_serialized(0, &mut states.value(row))?;
            }
            let mut state = Vec::new();
            running.serialize(0, &mut state)?;
            finished.merge_serialized(row, &mut &state[..])?;
        }
        results(finished, rows)
    })
}
