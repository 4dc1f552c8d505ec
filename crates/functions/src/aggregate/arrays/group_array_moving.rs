//! `groupArrayMovingSum` and `groupArrayMovingAvg`: sums and averages over the values so far, or over a window of the last ones.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::types::Float64Type;
use arrow_array::{ArrowNativeTypeOp, ArrowPrimitiveType};
use squall_types::cast::{CastOptions, cast};
use squall_types::integer::I256;
use squall_types::{Column, DataType, Error, ErrorCode, Integer, Result, Value, checkpoint};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::results::value_column;
use crate::aggregate::values::element::{Element, Primitive};
use crate::aggregate::values::number::{Number, with_number};
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_count};
use crate::aggregate::values::value_list::{ValueList, list_column};

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let window = call.limit()?;
    let argument = call.argument()?;
    let is_average = call.name == "groupArrayMovingAvg";
    if let DataType::Decimal(..=38, scale) = argument {
        let return_type = DataType::array(DataType::Decimal(38, *scale));
        return Ok(grouped::function(MovingDecimals { return_type, window, is_average }));
    }
    let total = match argument {
        number if number.is_float() || number.is_integer() && is_average => DataType::Float64,
        number if number.is_unsigned_integer() => DataType::UInt64,
        number if number.is_signed_integer() => DataType::Int64,
        other => {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("Illegal type {other} of argument for aggregate function {}", call.name),
            ));
        }
    };
    let return_type = DataType::array(total);
    Ok(with_number!(argument, T => match is_average {
        true => grouped::function(Moving::<T, Average> { return_type, window, number: PhantomData }),
        false => grouped::function(Moving::<T, Sum> { return_type, window, number: PhantomData }),
    }, otherwise return Err(call.illegal_type(argument))))
}

/// A running total of values, in a type of its own.
trait Running<T: Number>: std::fmt::Debug + Send + Sync + 'static {
    /// The type of totals and results.
    type Total: Number<Native: Raw>;

    fn add(
        total: <Self::Total as ArrowPrimitiveType>::Native,
        value: T::Native,
    ) -> <Self::Total as ArrowPrimitiveType>::Native;

    /// What a window of so many values gives, by the totals at its ends.
    fn result(
        end: <Self::Total as ArrowPrimitiveType>::Native,
        begin: <Self::Total as ArrowPrimitiveType>::Native,
        window: usize,
    ) -> <Self::Total as ArrowPrimitiveType>::Native;
}

/// Sums in the type of `sum`.
#[derive(Debug)]
struct Sum;

impl<T: Number<Total: Number>> Running<T> for Sum {
    type Total = T::Total;

    fn add(mut total: Total<T>, value: T::Native) -> Total<T> {
        T::add(&mut total, value);
        total
    }

    fn result(end: Total<T>, begin: Total<T>, _: usize) -> Total<T> {
        end.sub_wrapping(begin)
    }
}

/// Averages as floats.
#[derive(Debug)]
struct Average;

impl<T: Number> Running<T> for Average {
    type Total = Float64Type;

    fn add(total: f64, value: T::Native) -> f64 {
        total + T::to_f64(value)
    }

    fn result(end: f64, begin: f64, window: usize) -> f64 {
        (end - begin) / window as f64
    }
}

type Total<T> = <<T as Number>::Total as ArrowPrimitiveType>::Native;

/// The sums over all values so far make the sums over windows: each is the difference of two.
#[derive(Debug)]
struct Moving<T, R> {
    return_type: DataType,
    window: Option<usize>,
    number: PhantomData<(T, R)>,
}

impl<T: Number, R: Running<T>> StateFunction for Moving<T, R>
where
    Primitive<R::Total>: Element<Owned = <R::Total as ArrowPrimitiveType>::Native>,
{
    type State = Vec<<R::Total as ArrowPrimitiveType>::Native>;
    type Rows<'a> = &'a [T::Native];

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        Vec::new()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("a moving sum takes one argument")) };
        Ok(column.as_primitive::<T>()?.values())
    }

    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        state.push(R::add(state.last().copied().unwrap_or_default(), rows[row]));
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        checkpoint(from.len())?;
        squall_types::grow(into, from.len())?;
        let before = into.last().copied().unwrap_or_default();
        into.extend(from.into_iter().map(|total| before.add_wrapping(total)));
        Ok(())
    }

    fn items(&self, state: &Self::State) -> usize {
        state.len()
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        put_varint(state.len() as u64, out);
        state.iter().for_each(|total| total.put(out));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        (0..take_count(bytes)?).map(|_| Raw::take(bytes)).collect()
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let list = |totals: Self::State| {
            let window = self.window.unwrap_or(totals.len()).max(1);
            let result = |at: usize| {
                let begin = at.checked_sub(window).map(|at| totals[at]).unwrap_or_default();
                R::result(totals[at], begin, window)
            };
            ValueList::<Primitive<R::Total>>::from((0..totals.len()).map(result).collect::<Vec<_>>())
        };
        list_column::<Primitive<R::Total>>(&self.return_type, states.into_iter().map(list))
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.capacity() * size_of::<<R::Total as ArrowPrimitiveType>::Native>()
    }
}

/// Sums or averages of decimals, whose digits are added up in 128 bits.
#[derive(Debug)]
struct MovingDecimals {
    return_type: DataType,
    window: Option<usize>,
    is_average: bool,
}

impl StateFunction for MovingDecimals {
    type State = Vec<i128>;
    type Rows<'a> = Vec<i128>;

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Vec<i128> {
        Vec::new()
    }

    fn rows(&self, arguments: &[Column]) -> Result<Vec<i128>> {
        let [column] = arguments else { return Err(Error::logical("a moving sum takes one argument")) };
        let DataType::Array(wide) = &self.return_type else { return Err(Error::logical("an array that is none")) };
        let wide = cast(column, wide, &CastOptions::default())?;
        Ok(i128::values(&**wide.array()).into_owned())
    }

    fn add(&self, state: &mut Vec<i128>, rows: &Vec<i128>, row: usize) {
        state.push(state.last().copied().unwrap_or_default().wrapping_add(rows[row]));
    }

    fn merge(&self, into: &mut Vec<i128>, from: Vec<i128>) -> Result<()> {
        checkpoint(from.len())?;
        squall_types::grow(into, from.len())?;
        let before = into.last().copied().unwrap_or_default();
        into.extend(from.into_iter().map(|total| before.wrapping_add(total)));
        Ok(())
    }

    fn items(&self, state: &Vec<i128>) -> usize {
        state.len()
    }

    fn write(&self, state: &Vec<i128>, out: &mut Vec<u8>) -> Result<()> {
        put_varint(state.len() as u64, out);
        state.iter().for_each(|total| (*total as u128).put(out));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Vec<i128>> {
        (0..take_count(bytes)?).map(|_| Ok(u128::take(bytes)? as i128)).collect()
    }

    fn finish(&self, states: Vec<Vec<i128>>) -> Result<Column> {
        let DataType::Array(item) = &self.return_type else { return Err(Error::logical("an array that is none")) };
        let DataType::Decimal(_, scale) = &**item else { return Err(Error::logical("a decimal that is none")) };
        let list = |totals: Vec<i128>| {
            let window = self.window.unwrap_or(totals.len()).max(1);
            let value = |at: usize| {
                let begin = at.checked_sub(window).map(|at| totals[at]).unwrap_or_default();
                let sum = totals[at].wrapping_sub(begin);
                let result = if self.is_average { sum / window as i128 } else { sum };
                Value::Decimal(Box::new(I256::from(result)), *scale)
            };
            Value::Array((0..totals.len()).map(value).collect())
        };
        value_column(&self.return_type, states.into_iter().map(list))
    }

    fn heap_bytes(&self, state: &Vec<i128>) -> usize {
        state.capacity() * size_of::<i128>()
    }
}
