//! `aggThrow(probability)(…)`: fails with a probability, to see what becomes of the others.

use std::sync::Arc;

use arrow_array::types::UInt8Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use crate::accumulator::AggregateFunction;

use super::family::Call;
use super::grouped::{self, StateFunction};
use super::values::state_bytes::Raw;

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let probability = match call.parameters {
        [] => 1.0,
        [Value::Float64(probability)] => *probability,
        [other] => {
            return Err(Error::new(
                ErrorCode::BAD_GET,
                format!("Bad get: has {}, requested Float64", other.literal_type()),
            ));
        }
        _ => return Err(call.wrong_parameters("one parameter")),
    };
    Ok(grouped::function(Throw(probability)))
}

#[derive(Debug)]
struct Throw(f64);

impl StateFunction for Throw {
    type State = ();
    type Rows<'a> = ();

    fn return_type(&self) -> &DataType {
        &DataType::UInt8
    }

    fn state(&self) -> Self::State {}

    fn rows<'a>(&self, _: &'a [Column]) -> Result<Self::Rows<'a>> {
        if rand::random::<f64>() >= self.0 {
            return Ok(());
        }
        Err(Error::new(
            ErrorCode::AGGREGATE_FUNCTION_THROW,
            "Aggregate function aggThrow has thrown exception successfully",
        ))
    }

    fn add(&self, (): &mut Self::State, (): &Self::Rows<'_>, _: usize) {}

    fn merge(&self, (): &mut Self::State, (): Self::State) -> Result<()> {
        Ok(())
    }

    fn write(&self, (): &Self::State, out: &mut Vec<u8>) -> Result<()> {
        out.push(0);
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        u8::take(bytes).map(drop)
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        Ok(Column::from_primitive::<UInt8Type>(DataType::UInt8, vec![0; states.len()]))
    }
}
