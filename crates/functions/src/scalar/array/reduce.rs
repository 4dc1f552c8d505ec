//! `arrayReduce` and `arrayReduceInRanges`: aggregate functions over the items of arrays. Every array, or range of one, is a group of one
//! accumulator for the whole block.

use std::sync::Arc;

use arrow_array::UInt32Array;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint, grow};

use super::{Lists, list_column};
use crate::accumulator::{AggregateFunction, GroupIds};
use crate::aggregate;
use crate::function::BoundFunction;
use crate::scalar::simple::{Call, integers};
use crate::scalar::tuple::elements;

type Bound = Result<Arc<dyn BoundFunction>>;

/// The aggregate function that the first argument names, with its parameters: `quantiles(0.5, 0.9)`.
fn function(call: &Call<'_>, items: &[DataType]) -> Result<Arc<dyn AggregateFunction>> {
    let text = call.constant(0).and_then(Value::as_str).ok_or_else(|| {
        Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("First argument for function {} must be constant string: name of aggregate function", call.name),
        )
    })?;
    let (name, parameters) = match text.split_once('(') {
        None => (text.trim(), Vec::new()),
        Some((name, rest)) => {
            let inner = rest.trim_end().strip_suffix(')').ok_or_else(|| bad_parameters(text))?;
            let parameters = inner.split(',').filter(|part| !part.trim().is_empty());
            (
                name.trim(),
                parameters
                    .map(|part| parameter(part.trim()))
                    .collect::<Option<_>>()
                    .ok_or_else(|| bad_parameters(text))?,
            )
        }
    };
    if !aggregate::exists(name) {
        let message = format!("Unknown aggregate function {name}");
        return Err(Error::new(ErrorCode::UNKNOWN_AGGREGATE_FUNCTION, message));
    }
    crate::registry::check_aggregate_allowed(name, call.context)?;
    aggregate::resolve(name, &parameters, items)
}

fn bad_parameters(text: &str) -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, format!("Cannot read the parameters of aggregate function {text}"))
}

/// A literal among the parameters.
fn parameter(text: &str) -> Option<Value> {
    if let Some(quoted) = text.strip_prefix('\'') {
        return Some(Value::string(quoted.strip_suffix('\'')?));
    }
    if let Ok(number) = text.parse::<u64>() {
        return Some(Value::UInt64(number));
    }
    if let Ok(number) = text.parse::<i64>() {
        return Some(Value::Int64(number));
    }
    text.parse::<f64>().ok().map(Value::Float64)
}

/// The item types of the arrays from an argument on.
fn items_of(call: &Call<'_>, from: usize) -> Result<Vec<DataType>> {
    let types = (from..call.arguments.len()).map(|at| match call.type_of(at) {
        DataType::Array(item) => Ok((**item).clone()),
        other => Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Argument {at} for function {} must be an array but it has type {other}", call.name),
        )),
    });
    types.collect()
}

/// The items at these positions, each of which belongs to a group.
fn reduce(
    function: &dyn AggregateFunction,
    columns: &[(Column, Vec<u32>)],
    groups: &[u32],
    count: usize,
) -> Result<Column> {
    let mut accumulator = function.accumulator();
    let rows = groups.len();
    let items = columns.iter().map(|(items, positions)| items.take(&UInt32Array::from(positions.clone())));
    let items = if function.needs_arguments() { items.collect::<Result<Vec<_>>>()? } else { Vec::new() };
    checkpoint(16 * rows)?;
    accumulator.update(GroupIds::Each(groups), count, &items, rows)?;
    while !accumulator.settle()? {}
    accumulator.finish(count)
}

/// `arrayReduce('function', array, …)`.
pub(super) fn resolve(call: &Call<'_>) -> Bound {
    call.arguments(2..=usize::MAX)?;
    let items = items_of(call, 1)?;
    let function = function(call, &items)?;
    let name = call.name;
    call.bind(function.return_type().clone(), move |arguments, rows| {
        let lists = arguments.iter().skip(1).map(Lists::of_column).collect::<Result<Vec<_>>>()?;
        let mut groups: Vec<u32> = Vec::new();
        let mut positions = vec![Vec::new(); lists.len()];
        for row in 0..rows {
            let length = lists.first().map_or(0, |lists| lists.range(row).len());
            if lists.iter().any(|lists| lists.range(row).len() != length) {
                return Err(Error::new(
                    ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                    format!("Lengths of all arrays passed to {name} must be equal"),
                ));
            }
            grow(&mut groups, length)?;
            groups.extend(std::iter::repeat_n(row as u32, length));
            for (positions, lists) in positions.iter_mut().zip(&lists) {
                grow(positions, length)?;
                positions.extend(lists.range(row).map(|at| at as u32));
            }
        }
        let columns: Vec<(Column, Vec<u32>)> = lists.into_iter().map(|lists| lists.items).zip(positions).collect();
        reduce(&*function, &columns, &groups, rows)
    })
}

/// `arrayReduceInRanges('function', [(start, length), …], array, …)`: starts count from 1, negative ones from the end.
pub(super) fn resolve_in_ranges(call: &Call<'_>) -> Bound {
    call.arguments(3..=usize::MAX)?;
    let is_range = match call.type_of(1) {
        DataType::Array(item) => match &**item {
            DataType::Tuple(elements) => {
                elements.len() == 2 && elements.iter().all(|element| element.data_type.is_integer())
            }
            _ => false,
        },
        _ => false,
    };
    if !is_range {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Second argument of function {} must be array of tuples of integers (start, length)", call.name),
        ));
    }
    let items = items_of(call, 2)?;
    let function = function(call, &items)?;
    let item = function.return_type().clone();
    call.bind(DataType::array(item.clone()), move |arguments, rows| {
        let ranges = Lists::of(arguments, 1)?;
        let bounds = elements(&ranges.items)?;
        let count = ranges.items.rows();
        let (starts, lengths) = (integers(&bounds, 0, count)?, integers(&bounds, 1, count)?);
        let lists = arguments.iter().skip(2).map(Lists::of_column).collect::<Result<Vec<_>>>()?;
        let mut groups: Vec<u32> = Vec::new();
        let mut positions = vec![Vec::new(); lists.len()];
        let (mut ends, mut results) = (vec![0], 0_u32);
        for row in 0..rows {
            for range in ranges.range(row) {
                let own = lists.first().map_or(0, |lists| lists.range(row).len()) as i64;
                let start = match starts[range] {
                    start @ 1.. => start - 1,
                    start => own.saturating_add(start),
                };
                // Before the first item no range begins.
                let wanted = if start < 0 { 0 } else { lengths[range].max(0) };
                let end = start.saturating_add(wanted).clamp(0, own);
                let start = start.clamp(0, end);
                let length = (end - start) as usize;
                grow(&mut groups, length)?;
                groups.extend(std::iter::repeat_n(results, length));
                for (positions, lists) in positions.iter_mut().zip(&lists) {
                    grow(positions, length)?;
                    let first = lists.range(row).start + start as usize;
                    positions.extend((first..first + length).map(|at| at as u32));
                }
                results += 1;
            }
            ends.push(results as i32);
        }
        let columns: Vec<(Column, Vec<u32>)> = lists.into_iter().map(|lists| lists.items).zip(positions).collect();
        let reduced = reduce(&*function, &columns, &groups, results as usize)?;
        list_column(&item, ends, reduced.to_array()?)
    })
}
