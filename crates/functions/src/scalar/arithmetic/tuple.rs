//! Operators over tuples: element by element, and tuples of intervals as what is added to a time.

use std::sync::Arc;

use squall_types::{Column, DataType, Result};

use crate::function::{Argument, BoundFunction};
use crate::registry::resolve_scalar;
use crate::scalar::simple::{Call, argument};
use crate::scalar::tuple::elements;

/// What a function does with tuples, by the functions that have names of their own for it; `None` where no argument is a tuple, nor both
/// are intervals of different kinds.
pub(super) fn bind(call: &Call<'_>) -> Result<Option<Arc<dyn BoundFunction>>> {
    let types: Vec<&DataType> = call.arguments.iter().map(|argument| &argument.data_type).collect();
    let is_sum = matches!(call.name, "plus" | "minus");
    match types[..] {
        [DataType::Tuple(_)] if call.name == "negate" => of_name(call, "tupleNegate", &[0]),
        [time, tuple] if is_sum && time.is_date_or_time() && is_of_intervals(tuple) => {
            let name = if call.name == "plus" { "addTupleOfIntervals" } else { "subtractTupleOfIntervals" };
            of_name(call, name, &[0, 1])
        }
        [tuple, time] if call.name == "plus" && time.is_date_or_time() && is_of_intervals(tuple) => {
            of_name(call, "addTupleOfIntervals", &[1, 0])
        }
        [DataType::Interval(left), DataType::Interval(right)] if is_sum && left != right => appended(call),
        [tuple, DataType::Interval(_)] if is_sum && is_of_intervals(tuple) => appended(call),
        [DataType::Tuple(_), DataType::Tuple(_)] => match call.name {
            "plus" => of_name(call, "tuplePlus", &[0, 1]),
            "minus" => of_name(call, "tupleMinus", &[0, 1]),
            "multiply" => of_name(call, "dotProduct", &[0, 1]),
            _ => Ok(None),
        },
        [DataType::Tuple(_), number] if number.is_any_number() => match call.name {
            "multiply" => of_name(call, "tupleMultiplyByNumber", &[0, 1]),
            "divide" => of_name(call, "tupleDivideByNumber", &[0, 1]),
            "intDiv" => of_name(call, "tupleIntDivByNumber", &[0, 1]),
            "intDivOrZero" => of_name(call, "tupleIntDivOrZeroByNumber", &[0, 1]),
            "modulo" => of_name(call, "tupleModuloByNumber", &[0, 1]),
            _ => Ok(None),
        },
        [number, DataType::Tuple(_)] if number.is_any_number() && call.name == "multiply" => {
            of_name(call, "tupleMultiplyByNumber", &[1, 0])
        }
        _ => Ok(None),
    }
}

fn is_of_intervals(data_type: &DataType) -> bool {
    let is_interval = |data_type: &DataType| matches!(data_type, DataType::Interval(_));
    matches!(data_type, DataType::Tuple(elements)
        if !elements.is_empty() && elements.iter().all(|element| is_interval(&element.data_type)))
}

/// A function over some of the arguments.
fn of_name(call: &Call<'_>, name: &str, order: &'static [usize]) -> Result<Option<Arc<dyn BoundFunction>>> {
    let arguments: Vec<Argument> = order.iter().filter_map(|at| call.arguments.get(*at).cloned()).collect();
    let function = resolve_scalar(name, &arguments, call.context)?;
    let bound = call.bind(function.return_type().clone(), move |arguments, rows| {
        let arguments = order.iter().map(|at| argument(arguments, *at).cloned()).collect::<Result<Vec<Column>>>()?;
        function.execute(&arguments, rows)
    })?;
    Ok(Some(bound))
}

/// An interval behind another, or behind a tuple of them; where the last one is of its kind, added to that.
fn appended(call: &Call<'_>) -> Result<Option<Arc<dyn BoundFunction>>> {
    let (Some(left), Some(right)) = (call.arguments.first(), call.arguments.get(1)) else { return Ok(None) };
    let mut types: Vec<DataType> = match &left.data_type {
        DataType::Tuple(elements) => elements.iter().map(|element| element.data_type.clone()).collect(),
        interval => vec![interval.clone()],
    };
    let is_tuple = matches!(left.data_type, DataType::Tuple(_));
    let sum = match types.last() {
        Some(last) if *last == right.data_type => {
            let pair = [Argument::of(last.clone()), Argument::of(right.data_type.clone())];
            Some(resolve_scalar(call.name, &pair, call.context)?)
        }
        _ => None,
    };
    let negated = match call.name {
        "minus" => Some(resolve_scalar("negate", std::slice::from_ref(right), call.context)?),
        _ => None,
    };
    if sum.is_none() {
        types.push(right.data_type.clone());
    }
    let members: Vec<Argument> = types.iter().cloned().map(Argument::of).collect();
    let tuple = resolve_scalar("tuple", &members, call.context)?;
    let bound = call.bind(tuple.return_type().clone(), move |arguments, rows| {
        let (left, right) = (argument(arguments, 0)?, argument(arguments, 1)?);
        let mut all = if is_tuple { elements(left)? } else { vec![left.clone()] };
        match (&sum, &negated) {
            (Some(sum), _) => {
                if let Some(last) = all.pop() {
                    all.push(sum.execute(&[last, right.clone()], rows)?);
                }
            }
            (None, Some(negated)) => all.push(negated.execute(std::slice::from_ref(right), rows)?),
            (None, None) => all.push(right.clone()),
        }
        tuple.execute(&all, rows)
    })?;
    Ok(Some(bound))
}
