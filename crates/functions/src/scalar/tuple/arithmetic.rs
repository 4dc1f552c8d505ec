//! Arithmetic element by element: `tuplePlus` and its like. Each is a function of numbers over the elements.

use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, TupleElement};

use super::{elements, from_elements};
use crate::function::{Argument, BoundFunction};
use crate::registry::resolve_scalar;
use crate::scalar::simple::{Call, argument};

type Bound = Result<Arc<dyn BoundFunction>>;

/// The elements of an argument that must be a tuple.
pub(in crate::scalar) fn elements_of<'a>(call: &Call<'a>, at: usize) -> Result<&'a [TupleElement]> {
    match call.type_of(at) {
        DataType::Tuple(elements) => Ok(elements),
        other => Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Argument {at} of function {} should be tuple, got {other}", call.name),
        )),
    }
}

/// A function over the elements of a tuple and, where there is a second argument, over those of another, or that number itself.
fn each(call: &Call<'_>, of_numbers: &str, second: Second) -> Bound {
    let arity = if matches!(second, Second::None) { 1 } else { 2 };
    call.arguments(arity..=arity)?;
    let left = elements_of(call, 0)?;
    let right: Vec<Argument> = match second {
        Second::None => Vec::new(),
        Second::Number => vec![call.arguments.get(1).cloned().ok_or_else(|| call.illegal(1))?; left.len()],
        Second::Tuple => {
            let right = elements_of(call, 1)?;
            if right.len() != left.len() {
                return Err(Error::new(
                    ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    format!(
                        "Expected tuples of the same size as arguments 0 and 1 of function {}, got {} and {}",
                        call.name,
                        call.type_of(0),
                        call.type_of(1)
                    ),
                ));
            }
            right.iter().map(|element| Argument::of(element.data_type.clone())).collect()
        }
    };
    let functions = left.iter().enumerate().map(|(at, element)| {
        let first = Argument::of(element.data_type.clone());
        let arguments: Vec<Argument> = std::iter::once(first).chain(right.get(at).cloned()).collect();
        resolve_scalar(of_numbers, &arguments, call.context)
    });
    let functions = functions.collect::<Result<Vec<_>>>()?;
    let result = DataType::tuple(functions.iter().map(|function| function.return_type().clone()));
    call.bind(result.clone(), move |arguments, rows| {
        let left = elements(argument(arguments, 0)?)?;
        let right: Vec<Column> = match second {
            Second::None => Vec::new(),
            Second::Number => vec![argument(arguments, 1)?.clone(); left.len()],
            Second::Tuple => elements(argument(arguments, 1)?)?,
        };
        let columns = functions.iter().zip(left).enumerate().map(|(at, (function, left))| {
            let arguments: Vec<Column> = std::iter::once(left).chain(right.get(at).cloned()).collect();
            function.execute(&arguments, rows)
        });
        from_elements(&result, &columns.collect::<Result<Vec<_>>>()?, rows)
    })
}

#[derive(Clone, Copy)]
enum Second {
    None,
    Number,
    Tuple,
}

/// `tuplePlus(tuple, tuple, …)` and the like, from the left.
pub(super) fn of_tuples(call: &Call<'_>, of_numbers: &str) -> Bound {
    if call.arguments.len() <= 2 {
        return each(call, of_numbers, Second::Tuple);
    }
    let mut steps: Vec<Arc<dyn BoundFunction>> = Vec::new();
    let mut left = call.arguments.first().cloned().ok_or_else(|| call.illegal(0))?;
    for right in call.arguments.iter().skip(1) {
        let sides = [left, right.clone()];
        let step = each(&Call { arguments: &sides, ..*call }, of_numbers, Second::Tuple)?;
        left = Argument::of(step.return_type().clone());
        steps.push(step);
    }
    call.bind(left.data_type, move |arguments, rows| {
        let first = argument(arguments, 0)?.clone();
        let others = arguments.iter().skip(1);
        steps.iter().zip(others).try_fold(first, |left, (step, right)| step.execute(&[left, right.clone()], rows))
    })
}

/// `tupleMultiplyByNumber(tuple, number)` and the like.
pub(super) fn by_number(call: &Call<'_>, of_numbers: &str) -> Bound {
    each(call, of_numbers, Second::Number)
}

/// `tupleNegate(tuple)`.
pub(super) fn of_one(call: &Call<'_>, of_numbers: &str) -> Bound {
    each(call, of_numbers, Second::None)
}
