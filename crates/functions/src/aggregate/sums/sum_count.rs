//! `sumCount`: the total and the number of the values; `sumWithOverflow`: the total in the argument's own type, which wraps.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, PrimitiveArray, StructArray};
use squall_types::{Column, DataType, Error, Result};

use crate::accumulator::AggregateFunction;

use super::wide;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::number::{Number, with_number};
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_varint};

pub(in crate::aggregate) fn resolve_count(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let argument = call.argument()?;
    if let Some(function) = wide::sum_count(argument) {
        return Ok(function);
    }
    let total = match argument {
        number if number.is_unsigned_integer() => DataType::UInt64,
        number if number.is_signed_integer() => DataType::Int64,
        number if number.is_float() => DataType::Float64,
        other => return Err(call.illegal_type(other)),
    };
    let return_type = DataType::tuple([total, DataType::UInt64]);
    Ok(with_number!(argument, T => grouped::function(SumCount::<T> { return_type, number: PhantomData }),
        otherwise return Err(call.illegal_type(argument))))
}

#[derive(Debug)]
struct SumCount<T> {
    return_type: DataType,
    number: PhantomData<T>,
}

impl<T: Number> StateFunction for SumCount<T> {
    type State = (<T::Total as ArrowPrimitiveType>::Native, u64);
    type Rows<'a> = &'a [T::Native];

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        Self::State::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("sumCount takes one argument")) };
        Ok(column.as_primitive::<T>()?.values())
    }

    #[inline]
    fn add(&self, (total, count): &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        T::add(total, rows[row]);
        *count += 1;
    }

    fn add_all(&self, (total, all): &mut Self::State, rows: &Self::Rows<'_>, count: usize) {
        T::add_total(total, T::total(&rows[..count]));
        *all += count as u64;
    }

    fn merge(&self, (total, count): &mut Self::State, from: Self::State) -> Result<()> {
        T::add_total(total, from.0);
        *count += from.1;
        Ok(())
    }

    fn write(&self, (total, count): &Self::State, out: &mut Vec<u8>) -> Result<()> {
        total.put(out);
        put_varint(*count, out);
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        Ok((Raw::take(bytes)?, take_varint(bytes)?))
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let (totals, counts): (Vec<_>, Vec<_>) = states.into_iter().unzip();
        totals_and_counts(&self.return_type, Arc::new(PrimitiveArray::<T::Total>::from_iter_values(totals)), counts)
    }
}

/// The tuples of `sumCount`.
pub(in crate::aggregate) fn totals_and_counts(
    return_type: &DataType,
    totals: ArrayRef,
    counts: Vec<u64>,
) -> Result<Column> {
    let counts = Column::from_primitive::<UInt64Type>(DataType::UInt64, counts).to_array()?;
    let array = StructArray::try_new(return_type.arrow_fields(), vec![totals, counts], None)?;
    Ok(Column::new(return_type.clone(), Arc::new(array)))
}

pub(in crate::aggregate) fn resolve_with_overflow(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let argument = call.argument()?;
    if let Some(sum) = wide::sum_of_own_width(argument) {
        return Ok(sum);
    }
    if !argument.is_number() {
        return Err(call.illegal_type(argument));
    }
    let return_type = argument.clone();
    Ok(with_number!(argument, T => grouped::function(Wrapping::<T> { return_type, number: PhantomData }),
        otherwise return Err(call.illegal_type(argument))))
}

#[derive(Debug)]
struct Wrapping<T> {
    return_type: DataType,
    number: PhantomData<T>,
}

impl<T: Number> StateFunction for Wrapping<T> {
    type State = T::Native;
    type Rows<'a> = &'a [T::Native];

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        T::Native::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("sumWithOverflow takes one argument")) };
        Ok(column.as_primitive::<T>()?.values())
    }

    #[inline]
    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        *state = state.add_wrapping(rows[row]);
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        *into = into.add_wrapping(from);
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
        Ok(Column::from_primitive::<T>(self.return_type.clone(), states))
    }
}
