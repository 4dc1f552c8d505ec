//! Windows of time: `tumble` cuts time into pieces of one length, `hop` lets a window of one length move on by another. Both are made of
//! `toStartOfInterval` and of sums.

use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, IntervalKind, Result, Value};

use crate::function::{Argument, BoundFunction};
use crate::registry::resolve_scalar;
use crate::scalar::simple::{Call, argument};
use crate::scalar::tuple::from_elements;

type Bound = Result<Arc<dyn BoundFunction>>;

/// Which part of a window is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Both,
    Start,
    End,
}

impl Part {
    fn of_name(name: &str) -> Self {
        match name {
            name if name.ends_with("Start") => Self::Start,
            name if name.ends_with("End") => Self::End,
            _ => Self::Both,
        }
    }
}

fn interval(call: &Call<'_>, at: usize) -> Result<IntervalKind> {
    let DataType::Interval(kind) = call.type_of(at) else { return Err(call.illegal(at)) };
    match call.constant(at).and_then(Value::as_i64) {
        None => Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("Illegal column of argument {} of function {}, must be constant", at + 1, call.name),
        )),
        Some(1..) => Ok(*kind),
        Some(_) => Err(Error::new(
            ErrorCode::ARGUMENT_OUT_OF_BOUND,
            format!("Value for argument {} of function {} must be positive", at + 1, call.name),
        )),
    }
}

/// `tumble(time, interval[, zone])`, `tumbleStart`, `tumbleEnd`; of a window that was made before, its part.
pub(super) fn resolve_tumble(call: &Call<'_>) -> Bound {
    resolve(call, 1)
}

/// `hop(time, step, window[, zone])`, `hopStart`, `hopEnd`: the last window that the time is in.
pub(super) fn resolve_hop(call: &Call<'_>) -> Bound {
    resolve(call, 2)
}

fn resolve(call: &Call<'_>, intervals: usize) -> Bound {
    let part = Part::of_name(call.name);
    if let (DataType::Tuple(elements), true) = (call.type_of(0), part != Part::Both) {
        call.arguments(1..=1)?;
        let at = usize::from(part == Part::End);
        let element = elements.get(at).ok_or_else(|| call.illegal(0))?.data_type.clone();
        return call.bind(element, move |arguments, _| {
            let mut parts = crate::scalar::tuple::elements(argument(arguments, 0)?)?;
            if at < parts.len() { Ok(parts.swap_remove(at)) } else { Err(Error::logical("a window has two parts")) }
        });
    }
    call.arguments(intervals + 1..=intervals + 2)?;
    if !matches!(call.type_of(0), DataType::DateTime(_)) {
        return Err(call.illegal(0));
    }
    let step = interval(call, 1)?;
    if intervals == 2 && interval(call, 2)? != step {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Illegal type of window and hop column of function {}, must be same", call.name),
        ));
    }
    let zone_at = intervals + 1;
    let start_arguments: Vec<Argument> = call
        .arguments
        .iter()
        .enumerate()
        .filter(|(at, _)| *at < 2 || *at == zone_at)
        .map(|(_, argument)| argument.clone())
        .collect();
    let start = resolve_scalar("toStartOfInterval", &start_arguments, call.context)?;
    let interval_argument = |at: usize| call.arguments.get(at).cloned().ok_or_else(|| call.illegal(at));
    let time = Argument::of(start.return_type().clone());
    let plus = resolve_scalar("plus", &[time.clone(), interval_argument(1)?], call.context)?;
    // A hopping window ends where the step that holds the time ends, and began a window's length before.
    let minus = match intervals {
        2 => Some(resolve_scalar(
            "minus",
            &[Argument::of(plus.return_type().clone()), interval_argument(2)?],
            call.context,
        )?),
        _ => None,
    };
    let bound = start.return_type().clone();
    let result = if part == Part::Both { DataType::tuple([bound.clone(), bound]) } else { bound };
    call.bind(result.clone(), move |arguments, rows| {
        let of_start: Vec<Column> = arguments
            .iter()
            .enumerate()
            .filter(|(at, _)| *at < 2 || *at == zone_at)
            .map(|(_, argument)| argument.clone())
            .collect();
        let first = start.execute(&of_start, rows)?;
        let end = plus.execute(&[first.clone(), argument(arguments, 1)?.clone()], rows)?;
        let first = match &minus {
            Some(minus) => minus.execute(&[end.clone(), argument(arguments, 2)?.clone()], rows)?,
            None => first,
        };
        match part {
            Part::Start => Ok(first),
            Part::End => Ok(end),
            Part::Both => from_elements(&result, &[first, end], rows),
        }
    })
}
