//! `varPop`, `varSamp`, `stddevPop`, `stddevSamp`, from the sums of powers that ClickHouse's functions of these names keep: fast,
//! mergeable, and inexact where the mean is far larger than the spread.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::types::{Float32Type, Float64Type};
use squall_types::{Column, DataType, Error, Result};

use super::lanes::add_in_lanes;
use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::number::{Number, with_number};
use crate::aggregate::values::state_bytes::{Raw, take_floats};

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    if let Some(function) = crate::aggregate::sums::as_floats::resolve(call, resolve)? {
        return Ok(function);
    }
    let argument = call.argument()?;
    if !argument.is_number() && !matches!(argument, DataType::Bool | DataType::Enum8(_) | DataType::Enum16(_)) {
        return Err(call.illegal_type(argument));
    }
    let return_type = if *argument == DataType::Float32 { DataType::Float32 } else { DataType::Float64 };
    let (of_sample, root) = (call.name.ends_with("Samp"), call.name.starts_with("stddev"));
    Ok(
        with_number!(argument, T => grouped::function(Variance::<T> { return_type, of_sample, root, number: PhantomData }),
        otherwise return Err(call.illegal_type(argument))),
    )
}

/// `values` as a `Float64` column, or a `Float32` one where the arguments were of that type.
pub(in crate::aggregate) fn float_column(return_type: &DataType, values: impl Iterator<Item = f64>) -> Column {
    match return_type {
        DataType::Float32 => {
            Column::from_primitive::<Float32Type>(DataType::Float32, values.map(|value| value as f32).collect())
        }
        _ => Column::from_primitive::<Float64Type>(DataType::Float64, values.collect()),
    }
}

#[derive(Debug)]
struct Variance<T> {
    return_type: DataType,
    of_sample: bool,
    root: bool,
    number: PhantomData<T>,
}

/// The sums of the zeroth, first and second powers.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::aggregate) struct Moments {
    count: f64,
    sum: f64,
    squares: f64,
}

impl<T: Number> StateFunction for Variance<T> {
    type State = Moments;
    type Rows<'a> = &'a [T::Native];

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        Moments::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("a variance takes one argument")) };
        Ok(column.as_primitive::<T>()?.values())
    }

    #[inline]
    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        let value = T::to_f64(rows[row]);
        state.count += 1.0;
        state.sum += value;
        state.squares += value * value;
    }

    fn add_all(&self, state: &mut Self::State, rows: &Self::Rows<'_>, count: usize) {
        let mut sums = [state.count, state.sum, state.squares];
        add_in_lanes(&mut sums, count, |row| {
            let value = T::to_f64(rows[row]);
            [1.0, value, value * value]
        });
        [state.count, state.sum, state.squares] = sums;
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        into.count += from.count;
        into.sum += from.sum;
        into.squares += from.squares;
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        [state.count, state.sum, state.squares].into_iter().for_each(|sum| sum.put(out));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let [count, sum, squares] = take_floats(bytes)?;
        Ok(Moments { count, sum, squares })
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let result = |state: Moments| {
            let Moments { count, sum, squares } = state;
            let divisor = if self.of_sample { count - 1.0 } else { count };
            let variance = if divisor > 0.0 { ((squares - sum * sum / count) / divisor).max(0.0) } else { f64::NAN };
            if self.root { variance.sqrt() } else { variance }
        };
        Ok(float_column(&self.return_type, states.into_iter().map(result)))
    }
}
