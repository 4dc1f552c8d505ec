//! `avgWeighted(value, weight)`.

use std::sync::Arc;

use arrow_array::types::Float64Type;
use squall_types::{Column, DataType, Error, Result};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::number::floats;
use crate::aggregate::values::state_bytes::Raw;

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let (value, weight) = call.two_arguments()?;
    match [value, weight].into_iter().find(|argument| !argument.is_number()) {
        Some(illegal) => Err(call.illegal_type(illegal)),
        None => Ok(grouped::function(AverageWeighted)),
    }
}

#[derive(Debug)]
struct AverageWeighted;

/// The totals of the values times their weights, and of the weights.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::aggregate) struct Totals {
    weighted: f64,
    weights: f64,
}

impl StateFunction for AverageWeighted {
    type State = Totals;
    type Rows<'a> = (Vec<f64>, Vec<f64>);

    fn return_type(&self) -> &DataType {
        &DataType::Float64
    }

    fn state(&self) -> Self::State {
        Totals::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [values, weights] = arguments else { return Err(Error::logical("avgWeighted takes two arguments")) };
        Ok((floats(values)?, floats(weights)?))
    }

    #[inline]
    fn add(&self, state: &mut Self::State, (values, weights): &Self::Rows<'_>, row: usize) {
        state.weighted += values[row] * weights[row];
        state.weights += weights[row];
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        into.weighted += from.weighted;
        into.weights += from.weights;
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        state.weighted.put(out);
        state.weights.put(out);
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        Ok(Totals { weighted: Raw::take(bytes)?, weights: Raw::take(bytes)? })
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let averages = states.into_iter().map(|state| state.weighted / state.weights).collect();
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, averages))
    }
}
