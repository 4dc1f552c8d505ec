//! `sumKahan`: a sum of floats that carries along what rounding lost (Kahan, *Further Remarks on Reducing Truncation Errors*, 1965).

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
    call.numbers(1)?;
    Ok(grouped::function(Kahan))
}

#[derive(Debug)]
struct Kahan;

/// The sum, and what it lacks.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::aggregate) struct Compensated {
    sum: f64,
    compensation: f64,
}

impl StateFunction for Kahan {
    type State = Compensated;
    type Rows<'a> = Vec<f64>;

    fn return_type(&self) -> &DataType {
        &DataType::Float64
    }

    fn state(&self) -> Compensated {
        Compensated::default()
    }

    fn rows(&self, arguments: &[Column]) -> Result<Vec<f64>> {
        let [column] = arguments else { return Err(Error::logical("sumKahan takes one argument")) };
        floats(column)
    }

    #[inline]
    fn add(&self, state: &mut Compensated, rows: &Vec<f64>, row: usize) {
        let value = rows[row] - state.compensation;
        let sum = state.sum + value;
        state.compensation = (sum - state.sum) - value;
        state.sum = sum;
    }

    fn merge(&self, into: &mut Compensated, from: Compensated) -> Result<()> {
        let sum = into.sum + from.sum;
        let added = sum - into.sum;
        let lost = ((from.sum - added) + (into.sum - (sum - added))) + into.compensation + from.compensation;
        into.sum = sum + lost;
        into.compensation = lost - (into.sum - sum);
        Ok(())
    }

    fn write(&self, state: &Compensated, out: &mut Vec<u8>) -> Result<()> {
        state.sum.put(out);
        state.compensation.put(out);
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Compensated> {
        Ok(Compensated { sum: Raw::take(bytes)?, compensation: Raw::take(bytes)? })
    }

    fn finish(&self, states: Vec<Compensated>) -> Result<Column> {
        let sums = states.into_iter().map(|state| state.sum).collect();
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, sums))
    }
}
