//! `gini`: the Gini coefficient of values that are not negative.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::types::Float64Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint, grow};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::number::{Number, with_number};
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_count};

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let argument = call.argument()?;
    let illegal = || {
        Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Illegal type {argument} of argument of aggregate function {}, must be a number", call.name),
        )
    };
    if !argument.is_number() {
        return Err(illegal());
    }
    Ok(with_number!(argument, T => grouped::function(Gini::<T>(PhantomData)), otherwise return Err(illegal())))
}

#[derive(Debug)]
struct Gini<T>(PhantomData<T>);

impl<T: Number> StateFunction for Gini<T> {
    type State = Vec<T::Native>;
    type Rows<'a> = &'a [T::Native];

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &DataType::Float64
    }

    fn state(&self) -> Self::State {
        Vec::new()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("gini takes one argument")) };
        let values = column.as_primitive::<T>()?.values();
        let refuse = |what: &str| {
            Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("Aggregate function `gini` does not support {what} values"),
            ))
        };
        if values.iter().any(|value| T::to_f64(*value).is_infinite()) {
            return refuse("infinite");
        }
        if values.iter().any(|value| T::to_f64(*value) < 0.0) {
            return refuse("negative");
        }
        Ok(values)
    }

    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        if !T::to_f64(rows[row]).is_nan() {
            state.push(rows[row]);
        }
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        grow(into, from.len())?;
        into.extend(from);
        Ok(())
    }

    fn items(&self, state: &Self::State) -> usize {
        state.len()
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        put_varint(state.len() as u64, out);
        state.iter().for_each(|value| value.put(out));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        (0..take_count(bytes)?).map(|_| Raw::take(bytes)).collect()
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let mut results = Vec::with_capacity(states.len());
        for state in states {
            checkpoint(state.len() * 50)?;
            let mut values: Vec<f64> = state.into_iter().map(T::to_f64).collect();
            values.sort_unstable_by(f64::total_cmp);
            let count = values.len() as f64;
            let total: f64 = values.iter().sum();
            // Each step from one value to the next is seen by every pair of a value before and one behind it.
            let steps = values.windows(2).enumerate().map(|(at, pair)| {
                let before = at as f64 + 1.0;
                (pair[1] - pair[0]) * before * (count - before)
            });
            results.push(if total > 0.0 && count > 1.0 { steps.sum::<f64>() / (count * total) } else { f64::NAN });
        }
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, results))
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.capacity() * size_of::<T::Native>()
    }
}
