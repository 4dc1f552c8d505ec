//! `deltaSum`: the sum of what a value grew by from row to row, falls left out; `deltaSumTimestamp`, which merges its parts in the order
//! of their times; `boundingRatio`: the slope between the first and the last point.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::ArrowNativeTypeOp;
use arrow_array::types::Float64Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::number::{Number, floats, with_number};
use crate::aggregate::values::state_bytes::{Raw, take_floats};

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let argument = call.argument()?;
    if !argument.is_number() {
        return Err(call.illegal_type(argument));
    }
    let return_type = argument.clone();
    Ok(with_number!(argument, T => grouped::function(DeltaSum::<T> { return_type, number: PhantomData }),
        otherwise return Err(call.illegal_type(argument))))
}

#[derive(Debug)]
struct DeltaSum<T> {
    return_type: DataType,
    number: PhantomData<T>,
}

/// The growth so far, and the values that its ends have.
#[derive(Clone, Copy, Default)]
pub(in crate::aggregate) struct Growth<V> {
    sum: V,
    first: V,
    last: V,
    seen: bool,
}

impl<V: ArrowNativeTypeOp> Growth<V> {
    fn add(&mut self, value: V) {
        if self.seen && self.last.is_lt(value) {
            self.sum = self.sum.add_wrapping(value.sub_wrapping(self.last));
        }
        self.last = value;
        if !self.seen {
            self.first = value;
            self.seen = true;
        }
    }

    /// Adds what came after, in time or in order.
    fn append(&mut self, later: Self) {
        if !later.seen {
            return;
        }
        if !self.seen {
            *self = later;
            return;
        }
        if self.last.is_lt(later.first) {
            self.sum = self.sum.add_wrapping(later.first.sub_wrapping(self.last));
        }
        self.sum = self.sum.add_wrapping(later.sum);
        self.last = later.last;
    }
}

impl<T: Number> StateFunction for DeltaSum<T> {
    type State = Growth<T::Native>;
    type Rows<'a> = &'a [T::Native];

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        Growth::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("deltaSum takes one argument")) };
        Ok(column.as_primitive::<T>()?.values())
    }

    #[inline]
    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        state.add(rows[row]);
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        into.append(from);
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        [state.sum, state.first, state.last].into_iter().for_each(|value| value.put(out));
        out.push(u8::from(state.seen));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let (sum, first, last) = (Raw::take(bytes)?, Raw::take(bytes)?, Raw::take(bytes)?);
        Ok(Growth { sum, first, last, seen: u8::take(bytes)? != 0 })
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let sums = states.into_iter().map(|state| state.sum).collect();
        Ok(Column::from_primitive::<T>(self.return_type.clone(), sums))
    }
}

pub(in crate::aggregate) fn resolve_timestamp(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let (value, time) = call.two_arguments()?;
    if let Some(illegal) = Some(value)
        .filter(|value| !value.is_number())
        .or(Some(time).filter(|time| !time.is_number() && !time.is_date_or_time()))
    {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Illegal type {illegal} of argument for aggregate function {}, this type is not supported",
                call.name
            ),
        ));
    }
    let return_type = value.clone();
    let illegal = || call.illegal_type(time);
    Ok(
        with_number!(value, T => with_number!(time, S => grouped::function(Timed::<T, S> { return_type, types: PhantomData }),
        otherwise return Err(illegal())), otherwise return Err(call.illegal_type(value))),
    )
}

#[derive(Debug)]
struct Timed<T, S> {
    return_type: DataType,
    types: PhantomData<(T, S)>,
}

impl<T: Number, S: Number> StateFunction for Timed<T, S> {
    /// The growth, and the times of its ends.
    type State = (Growth<T::Native>, S::Native, S::Native);
    type Rows<'a> = (&'a [T::Native], &'a [S::Native]);

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        Self::State::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [values, times] = arguments else { return Err(Error::logical("deltaSumTimestamp takes two arguments")) };
        Ok((values.as_primitive::<T>()?.values(), times.as_primitive::<S>()?.values()))
    }

    #[inline]
    fn add(&self, (growth, first, last): &mut Self::State, (values, times): &Self::Rows<'_>, row: usize) {
        if !growth.seen {
            *first = times[row];
        }
        growth.add(values[row]);
        *last = times[row];
    }

    fn merge(&self, into: &mut Self::State, mut from: Self::State) -> Result<()> {
        let (_, my_first, my_last) = *into;
        let (other, first, last) = &mut from;
        if !other.seen {
            return Ok(());
        }
        if !into.0.seen {
            *into = from;
            return Ok(());
        }
        let other_is_later =
            my_last.is_lt(*first) || my_last.is_eq(*first) && (my_last.is_lt(*last) || my_first.is_lt(my_last));
        let other_is_earlier =
            last.is_lt(my_first) || last.is_eq(my_first) && (last.is_lt(my_last) || first.is_lt(*last));
        if other_is_later {
            into.0.append(*other);
            into.2 = *last;
        } else if other_is_earlier {
            other.append(into.0);
            *into = (*other, *first, my_last);
        } else if into.0.first.is_lt(other.first) {
            // Overlapping times have no order: the part that begins higher stands for both.
            *into = from;
        }
        Ok(())
    }

    fn write(&self, (growth, first, last): &Self::State, out: &mut Vec<u8>) -> Result<()> {
        [growth.sum, growth.first, growth.last].into_iter().for_each(|value| value.put(out));
        [first, last].into_iter().for_each(|time| time.put(out));
        out.push(u8::from(growth.seen));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let (sum, first, last) = (Raw::take(bytes)?, Raw::take(bytes)?, Raw::take(bytes)?);
        let (first_time, last_time) = (Raw::take(bytes)?, Raw::take(bytes)?);
        Ok((Growth { sum, first, last, seen: u8::take(bytes)? != 0 }, first_time, last_time))
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let sums = states.into_iter().map(|(growth, ..)| growth.sum).collect();
        Ok(Column::from_primitive::<T>(self.return_type.clone(), sums))
    }
}

pub(in crate::aggregate) fn resolve_bounding_ratio(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    call.two_arguments()?;
    let illegal = call.arguments.iter().any(|argument| !argument.is_number() && !argument.is_date_or_time());
    if illegal {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Illegal types of arguments of aggregate function {}, must have number representation.", call.name),
        ));
    }
    Ok(grouped::function(BoundingRatio))
}

#[derive(Debug)]
struct BoundingRatio;

impl StateFunction for BoundingRatio {
    /// The points with the least and the greatest first number.
    type State = Option<[[f64; 2]; 2]>;
    type Rows<'a> = (Vec<f64>, Vec<f64>);

    fn return_type(&self) -> &DataType {
        &DataType::Float64
    }

    fn state(&self) -> Self::State {
        None
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [x, y] = arguments else { return Err(Error::logical("boundingRatio takes two arguments")) };
        Ok((floats(x)?, floats(y)?))
    }

    fn add(&self, state: &mut Self::State, (xs, ys): &Self::Rows<'_>, row: usize) {
        let point = [xs[row], ys[row]];
        match state {
            None => *state = Some([point; 2]),
            Some([least, _]) if point[0] < least[0] => *least = point,
            Some([_, greatest]) if point[0] > greatest[0] => *greatest = point,
            Some(_) => {}
        }
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        match (&mut *into, from) {
            (_, None) => {}
            (None, from) => *into = from,
            (Some([least, greatest]), Some([other_least, other_greatest])) => {
                if other_least[0] < least[0] {
                    *least = other_least;
                }
                if other_greatest[0] > greatest[0] {
                    *greatest = other_greatest;
                }
            }
        }
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        // A flag says that there is no point.
        out.push(u8::from(state.is_none()));
        state.iter().flatten().flatten().for_each(|number| number.put(out));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        if u8::take(bytes)? != 0 {
            return Ok(None);
        }
        Ok(Some([take_floats(bytes)?, take_floats(bytes)?]))
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let ratio = |state: Self::State| {
            state.map_or(f64::NAN, |[least, greatest]| (greatest[1] - least[1]) / (greatest[0] - least[0]))
        };
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, states.into_iter().map(ratio).collect()))
    }
}
