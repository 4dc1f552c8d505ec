//! `avg`: the total, added up as `sum` does, over the number of values. Dates and times have an average too, of their own type.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::ArrowPrimitiveType;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt16Type, UInt32Type};
use squall_types::{Column, DataType, Error, Result};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::number::{Number, with_number};
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_varint};

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let argument = call.argument()?;
    if let Some(average) = super::wide::average(argument) {
        return Ok(average);
    }
    let return_type = match argument {
        DataType::Bool => DataType::Float64,
        number if number.is_number() => DataType::Float64,
        date if date.is_date_or_time() => date.clone(),
        other => return Err(call.illegal_type(other)),
    };
    Ok(with_number!(argument, T => grouped::function(Average::<T> { return_type, number: PhantomData }),
        otherwise return Err(call.illegal_type(argument))))
}

#[derive(Debug)]
struct Average<T> {
    return_type: DataType,
    number: PhantomData<T>,
}

/// A total and how many values made it.
#[derive(Clone, Default)]
pub(in crate::aggregate) struct Mean<Total> {
    total: Total,
    count: u64,
}

impl<T: Number> StateFunction for Average<T> {
    type State = Mean<<T::Total as ArrowPrimitiveType>::Native>;
    type Rows<'a> = &'a [T::Native];

    const ADDS_UP: bool = T::IS_EXACT;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        Mean::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("avg takes one argument")) };
        Ok(column.as_primitive::<T>()?.values())
    }

    #[inline]
    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        T::add(&mut state.total, rows[row]);
        state.count += 1;
    }

    fn add_all(&self, state: &mut Self::State, rows: &Self::Rows<'_>, count: usize) {
        T::add_total(&mut state.total, T::total(&rows[..count]));
        state.count += count as u64;
    }

    fn add_times(&self, state: &mut Self::State, rows: &Self::Rows<'_>, times: usize) -> bool {
        T::add_total(&mut state.total, T::times(rows[0], times));
        state.count += times as u64;
        true
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        T::add_total(&mut into.total, from.total);
        into.count += from.count;
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        state.total.put(out);
        put_varint(state.count, out);
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        Ok(Mean { total: Raw::take(bytes)?, count: take_varint(bytes)? })
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let means = states.into_iter().map(|state| T::as_f64(state.total) / state.count as f64);
        let data_type = self.return_type.clone();
        // No value at all is the epoch: `as` makes 0 of NaN.
        Ok(match data_type {
            DataType::Date => {
                Column::from_primitive::<UInt16Type>(data_type, means.map(|mean| mean.round() as u16).collect())
            }
            DataType::Date32 => {
                Column::from_primitive::<Int32Type>(data_type, means.map(|mean| mean.round() as i32).collect())
            }
            DataType::DateTime(_) => {
                Column::from_primitive::<UInt32Type>(data_type, means.map(|mean| mean.round() as u32).collect())
            }
            DataType::DateTime64(..) => {
                Column::from_primitive::<Int64Type>(data_type, means.map(|mean| mean.round() as i64).collect())
            }
            _ => Column::from_primitive::<Float64Type>(data_type, means.collect()),
        })
    }
}
