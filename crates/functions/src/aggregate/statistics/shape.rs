//! `skewPop`, `skewSamp`, `kurtPop`, `kurtSamp`: the shape of a distribution, from sums of powers as `variance` does it.

use std::sync::Arc;

use squall_types::{Column, DataType, Error, Result};

use super::lanes::add_in_lanes;
use crate::accumulator::AggregateFunction;

use super::variance::float_column;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::number::floats;
use crate::aggregate::values::state_bytes::Raw;

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    if let Some(function) = crate::aggregate::sums::as_floats::resolve(call, resolve)? {
        return Ok(function);
    }
    let argument = call.argument()?;
    if !argument.is_number() {
        return Err(call.illegal_type(argument));
    }
    let return_type = if *argument == DataType::Float32 { DataType::Float32 } else { DataType::Float64 };
    let (of_sample, kurtosis) = (call.name.ends_with("Samp"), call.name.starts_with("kurt"));
    Ok(grouped::function(Shape { return_type, of_sample, kurtosis }))
}

#[derive(Debug)]
struct Shape {
    return_type: DataType,
    of_sample: bool,
    kurtosis: bool,
}

/// The sums of the powers 0 to 4.
pub(in crate::aggregate) type Powers = [f64; 5];

impl Shape {
    fn powers(&self) -> usize {
        if self.kurtosis { 5 } else { 4 }
    }
}

impl StateFunction for Shape {
    type State = Powers;
    type Rows<'a> = Vec<f64>;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        Powers::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("a shape takes one argument")) };
        floats(column)
    }

    #[inline]
    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        let mut power = 1.0;
        for sum in state {
            *sum += power;
            power *= rows[row];
        }
    }

    fn add_all(&self, state: &mut Self::State, rows: &Self::Rows<'_>, count: usize) {
        add_in_lanes(state, count, |row| {
            let value = rows[row];
            let (square, cube) = (value * value, value * value * value);
            [1.0, value, square, cube, cube * value]
        });
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        into.iter_mut().zip(from).for_each(|(sum, other)| *sum += other);
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        // Skewness does not ask for the fourth power.
        state[..self.powers()].iter().for_each(|sum| sum.put(out));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let mut powers = Powers::default();
        for sum in &mut powers[..self.powers()] {
            *sum = Raw::take(bytes)?;
        }
        Ok(powers)
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let result = |[count, sum1, sum2, sum3, sum4]: Powers| {
            let divisor = if self.of_sample { count - 1.0 } else { count };
            let variance = if divisor > 0.0 { ((sum2 - sum1 * sum1 / count) / divisor).max(0.0) } else { f64::NAN };
            if variance.is_nan() || variance <= 0.0 {
                return f64::NAN;
            }
            if self.kurtosis {
                let inner = 6.0 * sum2 - 3.0 * sum1 * sum1 / count;
                let moment = sum4 - (4.0 * sum3 - inner * sum1 / count) * sum1 / count;
                moment / count / (variance * variance)
            } else {
                let moment = sum3 - (3.0 * sum2 - 2.0 * sum1 * sum1 / count) * sum1 / count;
                moment / count / variance.powf(1.5)
            }
        };
        Ok(float_column(&self.return_type, states.into_iter().map(result)))
    }
}
