//! `exponentialMovingAverage(half)(value, time)`: the values weighted by how long ago they were: half after each `half`.

use std::sync::Arc;

use arrow_array::types::Float64Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::number::floats;
use crate::aggregate::values::state_bytes::{Raw, take_floats};

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let [half] = call.parameters else {
        return Err(call.wrong_parameters("exactly one parameter: half decay time."));
    };
    let half = half.as_f64().ok_or_else(|| call.bad_arguments("the half decay time is a number"))?;
    call.two_arguments()?;
    if call.arguments.iter().any(|argument| !argument.is_number() && !argument.is_date_or_time()) {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Both arguments for aggregate function {} must have numeric type", call.name),
        ));
    }
    Ok(grouped::function(MovingAverage { half }))
}

#[derive(Debug)]
struct MovingAverage {
    half: f64,
}

/// A sum of values as they weigh at a time.
#[derive(Clone, Copy, Default)]
pub(in crate::aggregate) struct Decayed {
    sum: f64,
    time: f64,
}

impl MovingAverage {
    fn scale(&self, passed: f64) -> f64 {
        (-passed / self.half).exp2()
    }

    /// What a value weighs: all values so far, had they been the same, would weigh 1.
    fn all(&self) -> f64 {
        1.0 / (1.0 - self.scale(1.0))
    }

    fn at(&self, state: Decayed, time: f64) -> f64 {
        state.sum * self.scale(time - state.time)
    }

    fn join(&self, left: Decayed, right: Decayed) -> Decayed {
        let time = left.time.max(right.time);
        Decayed { sum: self.at(left, time) + self.at(right, time), time }
    }
}

impl StateFunction for MovingAverage {
    type State = Decayed;
    type Rows<'a> = (Vec<f64>, Vec<f64>);

    fn return_type(&self) -> &DataType {
        &DataType::Float64
    }

    fn state(&self) -> Decayed {
        Decayed::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [values, times] = arguments else { return Err(Error::logical("a moving average takes two arguments")) };
        Ok((floats(values)?, floats(times)?))
    }

    fn add(&self, state: &mut Decayed, (values, times): &Self::Rows<'_>, row: usize) {
        *state = self.join(*state, Decayed { sum: values[row], time: times[row] });
    }

    fn merge(&self, into: &mut Decayed, from: Decayed) -> Result<()> {
        *into = self.join(*into, from);
        Ok(())
    }

    fn write(&self, state: &Decayed, out: &mut Vec<u8>) -> Result<()> {
        state.sum.put(out);
        state.time.put(out);
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Decayed> {
        take_floats(bytes).map(|[sum, time]| Decayed { sum, time })
    }

    fn finish(&self, states: Vec<Decayed>) -> Result<Column> {
        let averages = states.into_iter().map(|state| state.sum / self.all()).collect();
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, averages))
    }
}
