//! `exponentialTimeDecayedSum(x)(value, time)` and its kin: values weigh less the longer ago they were, by a factor of e for each `x`,
//! as seen from the last row of a window's frame.

use std::sync::Arc;

use arrow_array::types::Float64Type;
use squall_types::{Column, DataType, Error, Result};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::number::floats;
use crate::aggregate::values::state_bytes::{Raw, take_floats};

/// What is made of the weighted values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Sum,
    Max,
    Count,
    Average,
}

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let [length] = call.parameters else {
        return Err(call.wrong_parameters("exactly one parameter"));
    };
    let length = length.as_f64().ok_or_else(|| call.bad_arguments("the parameter is a number"))?;
    let kind = match call.name {
        "exponentialTimeDecayedSum" => Kind::Sum,
        "exponentialTimeDecayedMax" => Kind::Max,
        "exponentialTimeDecayedCount" => Kind::Count,
        _ => Kind::Average,
    };
    let wanted = if kind == Kind::Count { 1 } else { 2 };
    if call.arguments.len() != wanted {
        return Err(call.wrong_arguments(if wanted == 1 { "exactly one argument" } else { "exactly two arguments" }));
    }
    let fits = |argument: &DataType| argument.is_number() || argument.is_date_or_time();
    match call.arguments.iter().find(|argument| !fits(argument)) {
        Some(illegal) => Err(call.illegal_type(illegal)),
        None => Ok(grouped::function(TimeDecayed { kind, length })),
    }
}

#[derive(Debug)]
struct TimeDecayed {
    kind: Kind,
    length: f64,
}

/// What the values so far weigh at a time.
#[derive(Clone, Copy, Debug)]
pub(in crate::aggregate) struct Weighted {
    sum: f64,
    greatest: f64,
    count: f64,
    time: f64,
}

impl TimeDecayed {
    fn moved_to(&self, state: Weighted, time: f64) -> Weighted {
        if state.count == 0.0 {
            return Weighted { time, ..state };
        }
        let scale = ((state.time - time) / self.length).exp();
        Weighted { sum: state.sum * scale, greatest: state.greatest * scale, count: state.count * scale, time }
    }
}

impl StateFunction for TimeDecayed {
    type State = Weighted;
    type Rows<'a> = (Vec<f64>, Vec<f64>);

    fn return_type(&self) -> &DataType {
        &DataType::Float64
    }

    fn state(&self) -> Weighted {
        Weighted { sum: 0.0, greatest: f64::NEG_INFINITY, count: 0.0, time: 0.0 }
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        match arguments {
            [times] => Ok((vec![1.0; times.rows()], floats(times)?)),
            [values, times] => Ok((floats(values)?, floats(times)?)),
            _ => Err(Error::logical("values have a time")),
        }
    }

    fn add(&self, state: &mut Weighted, (values, times): &Self::Rows<'_>, row: usize) {
        *state = self.moved_to(*state, times[row]);
        state.sum += values[row];
        state.greatest = state.greatest.max(values[row]);
        state.count += 1.0;
    }

    fn merge(&self, into: &mut Weighted, from: Weighted) -> Result<()> {
        if from.count > 0.0 {
            let moved = self.moved_to(*into, from.time);
            *into = Weighted {
                sum: moved.sum + from.sum,
                greatest: moved.greatest.max(from.greatest),
                count: moved.count + from.count,
                time: from.time,
            };
        }
        Ok(())
    }

    fn write(&self, state: &Weighted, out: &mut Vec<u8>) -> Result<()> {
        [state.sum, state.greatest, state.count, state.time].into_iter().for_each(|number| number.put(out));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Weighted> {
        take_floats(bytes).map(|[sum, greatest, count, time]| Weighted { sum, greatest, count, time })
    }

    fn finish(&self, states: Vec<Weighted>) -> Result<Column> {
        let result = |state: Weighted| match self.kind {
            Kind::Sum => state.sum,
            Kind::Max => state.greatest,
            Kind::Count => state.count,
            Kind::Average => state.sum / state.count,
        };
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, states.into_iter().map(result).collect()))
    }
}
