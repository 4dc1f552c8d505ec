//! `sum`: integers in 64 bits that wrap, floats in `Float64`.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::{ArrowNativeTypeOp, ArrowPrimitiveType};
use squall_types::{Column, DataType, Error, Result};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::number::{Number, with_number};
use crate::aggregate::values::state_bytes::Raw;

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let argument = call.argument()?;
    if let Some(sum) = super::wide::sum(argument) {
        return Ok(sum);
    }
    let return_type = match argument {
        DataType::Bool => DataType::UInt64,
        number if number.is_unsigned_integer() => DataType::UInt64,
        number if number.is_signed_integer() => DataType::Int64,
        DataType::Enum8(_) | DataType::Enum16(_) => DataType::Int64,
        number if number.is_float() => DataType::Float64,
        other => return Err(call.illegal_type(other)),
    };
    Ok(with_number!(argument, T => grouped::function(Sum::<T> { return_type, number: PhantomData }),
        otherwise return Err(call.illegal_type(argument))))
}

#[derive(Debug)]
struct Sum<T> {
    return_type: DataType,
    number: PhantomData<T>,
}

impl<T: Number> StateFunction for Sum<T> {
    type State = <T::Total as ArrowPrimitiveType>::Native;
    type Rows<'a> = &'a [T::Native];

    const ADDS_UP: bool = T::IS_EXACT;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        Self::State::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("sum takes one argument")) };
        Ok(column.as_primitive::<T>()?.values())
    }

    #[inline]
    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        T::add(state, rows[row]);
    }

    fn add_all(&self, state: &mut Self::State, rows: &Self::Rows<'_>, count: usize) {
        T::add_total(state, T::total(&rows[..count]));
    }

    fn add_times(&self, state: &mut Self::State, rows: &Self::Rows<'_>, times: usize) -> bool {
        T::add_total(state, T::times(rows[0], times));
        true
    }

    fn is_neutral(&self, rows: &Self::Rows<'_>) -> bool {
        rows[0].is_zero()
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        T::add_total(into, from);
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        state.put(out);
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        Raw::take(bytes)
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        Ok(Column::from_primitive::<T::Total>(self.return_type.clone(), states))
    }
}
