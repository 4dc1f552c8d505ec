//! `sum` and `avg` of decimals and of integers past 64 bits: added up in 128 bits where these hold the sum's type, otherwise in 256.

use std::borrow::Cow;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::types::Float64Type;
use squall_types::integer::{I256, U256};
use squall_types::{Column, DataType, Error, Integer, Physical, Result, match_integer};

use crate::accumulator::AggregateFunction;

use super::sum_count::totals_and_counts;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::state_bytes::{put_varint, take_bytes, take_varint};

/// `sum` of a decimal or a wide integer; `None` for other types.
pub(in crate::aggregate) fn sum(argument: &DataType) -> Option<Arc<dyn AggregateFunction>> {
    bind(argument, Made::Sum)
}

/// The sum of a decimal or a wide integer in its own width, which wraps; `None` for other types.
pub(in crate::aggregate) fn sum_of_own_width(argument: &DataType) -> Option<Arc<dyn AggregateFunction>> {
    if !matches!(argument, DataType::Decimal(..)) && !argument.is_wide_integer() {
        return None;
    }
    Some(match_integer!(argument, T => grouped::function(Sum {
        return_type: argument.clone(),
        numbers: PhantomData::<fn(T) -> T>,
    }), _ => return None))
}

/// `avg` of a decimal or a wide integer; `None` for other types.
pub(in crate::aggregate) fn average(argument: &DataType) -> Option<Arc<dyn AggregateFunction>> {
    bind(argument, Made::Average)
}

/// `sumCount` of a decimal or a wide integer; `None` for other types.
pub(in crate::aggregate) fn sum_count(argument: &DataType) -> Option<Arc<dyn AggregateFunction>> {
    bind(argument, Made::SumAndCount)
}

/// What is made of the values.
#[derive(Clone, Copy)]
enum Made {
    Sum,
    Average,
    SumAndCount,
}

fn bind(argument: &DataType, made: Made) -> Option<Arc<dyn AggregateFunction>> {
    let total_type = match argument {
        DataType::Decimal(..=38, scale) => DataType::Decimal(38, *scale),
        DataType::Decimal(_, scale) => DataType::decimal_of_width(32, *scale),
        wide if wide.is_wide_integer() => wide.clone(),
        _ => return None,
    };
    macro_rules! of {
        ($value:ty, $total:ty) => {{
            let numbers = PhantomData::<fn($value) -> $total>;
            match made {
                Made::Average => {
                    let divisor = 10f64.powi(argument.scale().into());
                    grouped::function(Average { return_type: DataType::Float64, divisor, numbers })
                }
                Made::Sum => grouped::function(Sum { return_type: total_type, numbers }),
                Made::SumAndCount => {
                    let return_type = DataType::tuple([total_type.clone(), DataType::UInt64]);
                    grouped::function(SumCount { return_type, sum: Sum { return_type: total_type, numbers } })
                }
            }
        }};
    }
    Some(match argument.physical() {
        Physical::Int32 => of!(i32, i128),
        Physical::Int64 => of!(i64, i128),
        Physical::Int128 => of!(i128, i128),
        Physical::Int256 => of!(I256, I256),
        Physical::UInt128 => of!(u128, u128),
        Physical::UInt256 => of!(U256, U256),
        _ => return None,
    })
}

/// The value as one of the total's type, which is no narrower.
#[inline(always)]
fn widen<V: Integer, T: Integer>(value: V) -> T {
    if T::BYTES <= 16 && V::BYTES <= 8 {
        T::wrap(value.small().unwrap_or_default())
    } else {
        T::wrap_large(value.large())
    }
}

/// The sum of all values, modulo the width. Those of a decimal of 128 bits are far from its end.
fn total<V: Integer, T: Integer>(values: &[V]) -> T {
    values.iter().fold(T::default(), |total, value| total.wrapping_plus(widen(*value)))
}

fn values<V: Integer>(arguments: &[Column]) -> Result<Cow<'_, [V]>> {
    let [column] = arguments else { return Err(Error::logical("one argument is added up")) };
    Ok(V::values(&**column.array()))
}

#[derive(Debug)]
struct Sum<V, T> {
    return_type: DataType,
    numbers: PhantomData<fn(V) -> T>,
}

impl<V: Integer, T: Integer> StateFunction for Sum<V, T> {
    type State = T;
    type Rows<'a> = Cow<'a, [V]>;

    const ADDS_UP: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> T {
        T::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Cow<'a, [V]>> {
        values(arguments)
    }

    #[inline]
    fn add(&self, state: &mut T, rows: &Cow<'_, [V]>, row: usize) {
        *state = state.wrapping_plus(widen(rows[row]));
    }

    fn add_all(&self, state: &mut T, rows: &Cow<'_, [V]>, count: usize) {
        *state = state.wrapping_plus(total(&rows[..count]));
    }

    fn add_times(&self, state: &mut T, rows: &Cow<'_, [V]>, times: usize) -> bool {
        *state = state.wrapping_plus(widen::<V, T>(rows[0]).wrapping_times(T::wrap(times as i128)));
        true
    }

    fn is_neutral(&self, rows: &Cow<'_, [V]>) -> bool {
        rows[0] == V::default()
    }

    fn merge(&self, into: &mut T, from: T) -> Result<()> {
        *into = into.wrapping_plus(from);
        Ok(())
    }

    fn write(&self, state: &T, out: &mut Vec<u8>) -> Result<()> {
        state.append_bytes(out);
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<T> {
        Ok(T::from_bytes(take_bytes(bytes, T::BYTES)?))
    }

    fn finish(&self, states: Vec<T>) -> Result<Column> {
        Ok(Column::new(self.return_type.clone(), T::array(states, None)?))
    }
}

/// The sum and the number of the values.
#[derive(Debug)]
struct SumCount<V, T> {
    return_type: DataType,
    sum: Sum<V, T>,
}

impl<V: Integer, T: Integer> StateFunction for SumCount<V, T> {
    type State = (T, u64);
    type Rows<'a> = Cow<'a, [V]>;

    const ADDS_UP: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        Self::State::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Cow<'a, [V]>> {
        values(arguments)
    }

    fn add(&self, (total, count): &mut Self::State, rows: &Cow<'_, [V]>, row: usize) {
        self.sum.add(total, rows, row);
        *count += 1;
    }

    fn merge(&self, (total, count): &mut Self::State, from: Self::State) -> Result<()> {
        *count += from.1;
        self.sum.merge(total, from.0)
    }

    fn write(&self, (total, count): &Self::State, out: &mut Vec<u8>) -> Result<()> {
        self.sum.write(total, out)?;
        put_varint(*count, out);
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        Ok((self.sum.read(bytes)?, take_varint(bytes)?))
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let (totals, counts): (Vec<_>, Vec<_>) = states.into_iter().unzip();
        totals_and_counts(&self.return_type, T::array(totals, None)?, counts)
    }
}

#[derive(Debug)]
struct Average<V, T> {
    return_type: DataType,
    /// What a decimal's digits are divided by.
    divisor: f64,
    numbers: PhantomData<fn(V) -> T>,
}

/// A total and how many values made it.
#[derive(Clone, Default)]
struct Mean<T> {
    total: T,
    count: u64,
}

impl<V: Integer, T: Integer> StateFunction for Average<V, T> {
    type State = Mean<T>;
    type Rows<'a> = Cow<'a, [V]>;

    const ADDS_UP: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Mean<T> {
        Mean::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Cow<'a, [V]>> {
        values(arguments)
    }

    #[inline]
    fn add(&self, state: &mut Mean<T>, rows: &Cow<'_, [V]>, row: usize) {
        state.total = state.total.wrapping_plus(widen(rows[row]));
        state.count += 1;
    }

    fn add_all(&self, state: &mut Mean<T>, rows: &Cow<'_, [V]>, count: usize) {
        state.total = state.total.wrapping_plus(total(&rows[..count]));
        state.count += count as u64;
    }

    fn merge(&self, into: &mut Mean<T>, from: Mean<T>) -> Result<()> {
        into.total = into.total.wrapping_plus(from.total);
        into.count += from.count;
        Ok(())
    }

    fn write(&self, state: &Mean<T>, out: &mut Vec<u8>) -> Result<()> {
        state.total.append_bytes(out);
        put_varint(state.count, out);
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Mean<T>> {
        Ok(Mean { total: T::from_bytes(take_bytes(bytes, T::BYTES)?), count: take_varint(bytes)? })
    }

    fn finish(&self, states: Vec<Mean<T>>) -> Result<Column> {
        let means = states.into_iter().map(|state| state.total.as_float() / self.divisor / state.count as f64);
        Ok(Column::from_primitive::<Float64Type>(self.return_type.clone(), means.collect()))
    }
}
