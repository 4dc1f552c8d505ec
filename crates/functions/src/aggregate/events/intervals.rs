//! `intervalLengthSum`: the length of the union of intervals; `maxIntersections` and `maxIntersectionsPosition`: how many of them lie
//! over one another at most, and where that is first so.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::ArrowNativeTypeOp;
use arrow_array::types::{Float64Type, UInt64Type};
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint, grow};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::number::{Number, with_number};
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_count};

pub(in crate::aggregate) fn resolve_length(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let (start, end) = call.two_arguments()?;
    let illegal = |why: &str| {
        Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Illegal types {start} and {end} of arguments of aggregate function {}, {why}", call.name),
        )
    };
    if start != end {
        return Err(illegal("both arguments should have same data type."));
    }
    if !start.is_number() && !matches!(start, DataType::Date | DataType::DateTime(_) | DataType::Date32) {
        return Err(illegal("expected native integer, float, Date or DateTime"));
    }
    let return_type = if start.is_float() { DataType::Float64 } else { DataType::UInt64 };
    Ok(with_number!(start, T => grouped::function(LengthSum::<T> { return_type, number: PhantomData }),
        otherwise return Err(illegal("unsupported"))))
}

#[derive(Debug)]
struct LengthSum<T> {
    return_type: DataType,
    number: PhantomData<T>,
}

/// Intervals, and whether they are in the order of their starts.
#[derive(Clone, Default)]
pub(in crate::aggregate) struct Segments<V> {
    segments: Vec<(V, V)>,
    sorted: bool,
}

impl<T: Number> LengthSum<T> {
    fn length(state: &Segments<T::Native>) -> f64 {
        let mut segments: Vec<(f64, f64)> =
            state.segments.iter().map(|(start, end)| (T::to_f64(*start), T::to_f64(*end))).collect();
        segments.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
        let (mut total, mut reached) = (0.0, f64::NEG_INFINITY);
        for (start, end) in segments {
            total += (end - start.max(reached)).max(0.0);
            reached = reached.max(end);
        }
        total
    }
}

impl<T: Number> StateFunction for LengthSum<T> {
    type State = Segments<T::Native>;
    type Rows<'a> = (&'a [T::Native], &'a [T::Native]);

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        Segments { segments: Vec::new(), sorted: false }
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [start, end] = arguments else { return Err(Error::logical("an interval has two ends")) };
        Ok((start.as_primitive::<T>()?.values(), end.as_primitive::<T>()?.values()))
    }

    fn add(&self, state: &mut Self::State, (starts, ends): &Self::Rows<'_>, row: usize) {
        let (start, end) = (starts[row], ends[row]);
        if start.is_eq(end) {
            return;
        }
        let segment = if end.is_lt(start) { (end, start) } else { (start, end) };
        if state.sorted
            && let Some(last) = state.segments.last()
        {
            state.sorted = last.0.is_le(segment.0);
        }
        state.segments.push(segment);
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        grow(&mut into.segments, from.segments.len())?;
        into.sorted = false;
        into.segments.extend(from.segments);
        Ok(())
    }

    fn items(&self, state: &Self::State) -> usize {
        state.segments.len()
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        out.push(u8::from(state.sorted));
        (state.segments.len() as u64).put(out);
        for (start, end) in &state.segments {
            start.put(out);
            end.put(out);
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let sorted = u8::take(bytes)? != 0;
        let mut segments = Vec::new();
        for _ in 0..u64::take(bytes)? {
            checkpoint(4)?;
            segments.push((Raw::take(bytes)?, Raw::take(bytes)?));
        }
        Ok(Segments { segments, sorted })
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let mut lengths = Vec::with_capacity(states.len());
        for state in &states {
            checkpoint(state.segments.len() * 40)?;
            lengths.push(Self::length(state));
        }
        Ok(match self.return_type {
            DataType::Float64 => Column::from_primitive::<Float64Type>(DataType::Float64, lengths),
            _ => Column::from_primitive::<UInt64Type>(
                DataType::UInt64,
                lengths.into_iter().map(|length| length as u64).collect(),
            ),
        })
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.segments.capacity() * 2 * size_of::<T::Native>()
    }
}

pub(in crate::aggregate) fn resolve_most(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let (start, end) = call.two_arguments()?;
    if !start.is_number() {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Illegal types {start} and {end} of argument for aggregate function {}", call.name),
        ));
    }
    if start != end {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("{}: arguments must have the same type", call.name),
        ));
    }
    let position = call.name == "maxIntersectionsPosition";
    let return_type = if position { start.clone() } else { DataType::UInt64 };
    Ok(with_number!(start, T => grouped::function(Most::<T> { return_type, position, number: PhantomData }),
        otherwise return Err(call.illegal_type(start))))
}

#[derive(Debug)]
struct Most<T> {
    return_type: DataType,
    /// Whether the place is asked for.
    position: bool,
    number: PhantomData<T>,
}

impl<T: Number> StateFunction for Most<T> {
    /// The ends of all intervals, and what each adds to the number of those that are open.
    type State = Vec<(T::Native, i64)>;
    type Rows<'a> = (&'a [T::Native], &'a [T::Native]);

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        Vec::new()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [start, end] = arguments else { return Err(Error::logical("an interval has two ends")) };
        Ok((start.as_primitive::<T>()?.values(), end.as_primitive::<T>()?.values()))
    }

    fn add(&self, state: &mut Self::State, (starts, ends): &Self::Rows<'_>, row: usize) {
        state.push((starts[row], 1));
        state.push((ends[row], -1));
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
        for (place, change) in state {
            place.put(out);
            change.put(out);
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        (0..take_count(bytes)?).map(|_| Ok((Raw::take(bytes)?, Raw::take(bytes)?))).collect()
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let (mut most_of_all, mut places) = (Vec::with_capacity(states.len()), Vec::with_capacity(states.len()));
        for mut ends in states {
            checkpoint(ends.len() * 50)?;
            ends.sort_by(|left, right| left.0.compare(right.0));
            let (mut open, mut most, mut place) = (0_i64, 0, T::Native::default());
            for (at, change) in ends {
                open = open.saturating_add(change);
                if open > most {
                    (most, place) = (open, at);
                }
            }
            most_of_all.push(most as u64);
            places.push(place);
        }
        Ok(match self.position {
            true => Column::from_primitive::<T>(self.return_type.clone(), places),
            false => Column::from_primitive::<UInt64Type>(DataType::UInt64, most_of_all),
        })
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.capacity() * size_of::<(T::Native, i64)>()
    }
}
