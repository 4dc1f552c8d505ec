//! Aggregate functions as functions of one row: over values of the row (`initializeAggregation`), over states (`finalizeAggregation`,
//! `runningAccumulate`).

use std::sync::Arc;

use arrow_array::types::Float64Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use super::other::refuse_deprecated;
use super::simple::{Call, Function, Strings, StringsBuilder, argument, floats, integers};
use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};
use crate::aggregate::{of_states, of_text, regression_of};
use crate::function::{BoundFunction, ScalarFunction};

/// Every function of this module.
pub const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("evalMLMethod", predict),
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

/// `evalMLMethod(model, feature, …)`: what a model says of a row.
fn predict(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    at_least(call, 1)?;
    let illegal = |what: &str, at: usize, expected: &str| {
        Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "A value of illegal type was provided as argument '{what}' to function '{}'. Expected: {expected}, got: {}",
                call.name,
                call.type_of(at)
            ),
        )
    };
    let DataType::AggregateFunction(state) = call.type_of(0) else {
        return Err(illegal("model", 0, "AggregateFunctionState"));
    };
    let model = regression_of(state)?
        .ok_or_else(|| Error::not_implemented(format!("Prediction is not supported for {}", state.function)))?;
    if let Some(at) = (1..call.arguments.len()).find(|at| !call.type_of(*at).is_number()) {
        return Err(illegal("xi", at, "Float* or (U)Int*"));
    }
    if call.arguments.len() != model.features() + 1 {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!(
                "Predict got incorrect number of arguments. Got: {}. Required: {}",
                call.arguments.len(),
                model.features() + 1
            ),
        ));
    }
    call.bind(DataType::Float64, move |arguments, rows| {
        let features = (1..arguments.len()).map(|at| floats(arguments, at, rows)).collect::<Result<Vec<_>>>()?;
        let models = Strings::of(arguments, 0)?;
        let mut learnt = model.learnt(models.get(0))?;
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            checkpoint(4 * features.len())?;
            if row > 0 && !matches!(models, Strings::Constant(_)) {
                learnt = model.learnt(models.get(row))?;
            }
            values.push(model.predict(&learnt, features.iter().map(|feature| feature[row])));
        }
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, values))
    })
}

fn accumulate(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    refuse_deprecated(call)?;
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

/// `state + state`: what both have seen; `None` for other types.
pub(super) fn bind_plus(call: &Call<'_>) -> Result<Option<Arc<dyn BoundFunction>>> {
    let (DataType::AggregateFunction(left), DataType::AggregateFunction(right)) = (call.type_of(0), call.type_of(1))
    else {
        return Ok(None);
    };
    if left != right {
        return Err(Error::new(
            ErrorCode::CANNOT_ADD_DIFFERENT_AGGREGATE_STATES,
            format!("Cannot add aggregate states of different functions: {left} and {right}"),
        ));
    }
    let (function, result) = (of_states(left)?, call.type_of(0).clone());
    let bound = call.bind(result.clone(), move |arguments, rows| {
        let sides = [argument(arguments, 0)?.materialize()?, argument(arguments, 1)?.materialize()?];
        states(&result, rows, |row, out| {
            let mut sum = function.accumulator();
            for side in &sides {
                merge_into(&mut *sum, side.as_binary()?.value(row))?;
            }
            sum.serialize(0, out)
        })
    });
    bound.map(Some)
}

/// `state * number`: the state so many times over; `None` for other types.
pub(super) fn bind_multiply(call: &Call<'_>) -> Result<Option<Arc<dyn BoundFunction>>> {
    let at = match (call.type_of(0), call.type_of(1)) {
        (DataType::AggregateFunction(_), number) if number.is_unsigned_integer() => 0,
        (number, DataType::AggregateFunction(_)) if number.is_unsigned_integer() => 1,
        _ => return Ok(None),
    };
    let DataType::AggregateFunction(state) = call.type_of(at) else { return Ok(None) };
    if call.constant(1 - at).is_none() {
        return Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!(
                "Illegal column {} of argument of aggregation state multiply. Should be integer constant",
                call.type_of(1 - at)
            ),
        ));
    }
    let (function, result) = (of_states(state)?, call.type_of(at).clone());
    let bound = call.bind(result.clone(), move |arguments, rows| {
        let column = argument(arguments, at)?.materialize()?;
        let times = integers(arguments, 1 - at, rows)?;
        states(&result, rows, |row, out| {
            // By doubling: the state of 2, 4, 8, … times is merged where the number has that bit.
            let mut left = times[row].unsigned_abs();
            let mut power = column.as_binary()?.value(row).to_vec();
            let mut product = function.accumulator();
            while left > 0 {
                if left & 1 == 1 {
                    merge_into(&mut *product, &power)?;
                }
                left >>= 1;
                if left > 0 {
                    checkpoint(128 + power.len())?;
                    let mut twice = function.accumulator();
                    merge_into(&mut *twice, &power)?;
                    merge_into(&mut *twice, &power)?;
                    power.clear();
                    twice.serialize(0, &mut power)?;
                }
            }
            // An accumulator that has seen nothing has no group yet.
            if times[row] == 0 { Ok(()) } else { product.serialize(0, out) }
        })
    });
    bound.map(Some)
}

fn merge_into(accumulator: &mut dyn Accumulator, mut state: &[u8]) -> Result<()> {
    checkpoint(64 + state.len())?;
    // No bytes are a state without rows.
    if state.is_empty() {
        return Ok(());
    }
    accumulator.merge_serialized(0, &mut state)
}

/// A column of states.
fn states(result: &DataType, rows: usize, mut make: impl FnMut(usize, &mut Vec<u8>) -> Result<()>) -> Result<Column> {
    let mut builder = StringsBuilder::new(rows, 16 * rows)?;
    for row in 0..rows {
        make(row, &mut builder.bytes)?;
        builder.end_row()?;
    }
    Ok(Column::new(result.clone(), Arc::new(builder.finish_array()?)))
}
