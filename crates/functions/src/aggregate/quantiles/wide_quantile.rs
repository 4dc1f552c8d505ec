//! Quantiles of decimals and integers past 64 bits that are values of the argument's own type: `quantile` of decimals, the exact ones,
//! and those with weights.

use std::borrow::Cow;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;

use squall_types::integer::integer_of_float;
use squall_types::{Column, DataType, Error, ErrorCode, Integer, Physical, Result, checkpoint};

use crate::accumulator::AggregateFunction;

use super::levels::Levels;
use super::quantile::{Reservoir, SAMPLE_MAX, between};
use super::weighted_values::{self, Sorted};
use crate::aggregate::arrays::pcg::Pcg;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::row_hash::number_bits;
use crate::aggregate::values::state_bytes::{Raw, put_string, put_varint, take_bytes, take_count, take_string};

/// How a level becomes a value of the sorted ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::aggregate) enum Rule {
    /// Between the two nearest of a sample.
    Sampled,
    /// The value at level × count.
    Exact,
    /// As `Exact`, but of two middle values the lower.
    Low,
    /// Of values with weights.
    Weighted(weighted_values::Rule),
}

/// The quantiles of an argument whose values are held in 128 or 256 bits; `None` for others.
pub(in crate::aggregate) fn resolve(
    argument: &DataType,
    rule: Rule,
    levels: &Levels,
) -> Option<Arc<dyn AggregateFunction>> {
    macro_rules! of {
        ($value:ty) => {{
            let (levels, numbers) = (levels.clone(), PhantomData::<fn($value) -> $value>);
            match rule {
                Rule::Sampled => grouped::function(Sampled { levels, numbers }),
                _ => grouped::function(Exact { levels, rule, numbers }),
            }
        }};
    }
    Some(match argument.physical() {
        Physical::Int128 => of!(i128),
        Physical::UInt128 => of!(u128),
        Physical::Int256 => of!(squall_types::integer::I256),
        Physical::UInt256 => of!(squall_types::integer::U256),
        _ => return None,
    })
}

fn cut<V: Integer>(value: f64) -> V {
    V::wrap_large(integer_of_float(value))
}

fn column<V: Integer>(levels: &Levels, values: Vec<V>, groups: usize) -> Result<Column> {
    levels.result(Column::new(levels.item.clone(), V::array(values, None)?), groups)
}

fn values<V: Integer>(arguments: &[Column]) -> Result<Cow<'_, [V]>> {
    let column = arguments.first().ok_or_else(|| Error::logical("quantiles take an argument"))?;
    Ok(V::values(&**column.array()))
}

#[derive(Debug)]
struct Sampled<V> {
    levels: Levels,
    numbers: PhantomData<fn(V) -> V>,
}

impl<V: Integer> StateFunction for Sampled<V> {
    type State = Reservoir<V>;
    type Rows<'a> = Cow<'a, [V]>;

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &self.levels.return_type
    }

    fn state(&self) -> Self::State {
        Reservoir::new()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        values(arguments)
    }

    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        state.add(rows[row]);
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        into.merge(from);
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        (SAMPLE_MAX as u64).put(out);
        state.total.put(out);
        put_string(state.random.text().as_bytes(), out);
        state.sample.iter().for_each(|value| value.append_bytes(out));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        if u64::take(bytes)? != SAMPLE_MAX as u64 {
            return Err(Error::new(ErrorCode::INCORRECT_DATA, "A sample of another size"));
        }
        let total = u64::take(bytes)?;
        let random = Pcg::parse(take_string(bytes)?)?;
        let count = total.min(SAMPLE_MAX as u64);
        let sample = (0..count).map(|_| Ok(V::from_bytes(take_bytes(bytes, V::BYTES)?))).collect::<Result<_>>()?;
        Ok(Reservoir { sample, total, random })
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let groups = states.len();
        let mut results = Vec::with_capacity(groups * self.levels.levels.len());
        for state in states {
            let mut sample: Vec<f64> = state.sample.into_iter().map(V::as_float).collect();
            sample.sort_unstable_by(f64::total_cmp);
            let last = sample.len().saturating_sub(1) as f64;
            results.extend(self.levels.levels.iter().map(|level| cut::<V>(between(&sample, level * last))));
        }
        column(&self.levels, results, groups)
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.sample.capacity() * size_of::<V>()
    }
}

#[derive(Debug)]
struct Exact<V> {
    levels: Levels,
    rule: Rule,
    numbers: PhantomData<fn(V) -> V>,
}

/// The values of a block, and how often each counts.
struct Rows<'a, V: Integer> {
    values: Cow<'a, [V]>,
    weights: Option<Vec<u64>>,
}

impl<V: Integer> Exact<V> {
    fn is_weighted(&self) -> bool {
        matches!(self.rule, Rule::Weighted(_))
    }

    /// The value at a level of sorted ones, at least one.
    fn value_at(&self, sorted: &Sorted<V>, level: f64) -> V {
        match self.rule {
            Rule::Weighted(weighted_values::Rule::Exact) => sorted.exact(level),
            Rule::Weighted(weighted_values::Rule::Middles) => cut(sorted.middles(level, V::as_float)),
            Rule::Weighted(weighted_values::Rule::Positions) => cut(sorted.positions(level, V::as_float)),
            Rule::Sampled | Rule::Exact | Rule::Low => {
                let count = sorted.len();
                let at = match self.rule {
                    Rule::Low if level == 0.5 => (count - 1) / 2,
                    _ => ((level * count as f64) as usize).min(count - 1),
                };
                sorted.value(at)
            }
        }
    }
}

impl<V: Integer> StateFunction for Exact<V> {
    type State = Vec<(V, u64)>;
    type Rows<'a> = Rows<'a, V>;

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &self.levels.return_type
    }

    fn state(&self) -> Self::State {
        Vec::new()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let weights = match (self.is_weighted(), arguments) {
            (true, [_, weights]) => Some(number_bits(weights).ok_or_else(|| Error::logical("weights are numbers"))?),
            _ => None,
        };
        Ok(Rows { values: values(arguments)?, weights })
    }

    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        state.push((rows.values[row], rows.weights.as_ref().map_or(1, |weights| weights[row])));
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        into.extend(from);
        Ok(())
    }

    fn items(&self, state: &Self::State) -> usize {
        state.len()
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        if !self.is_weighted() {
            put_varint(state.len() as u64, out);
            state.iter().for_each(|(value, _)| value.append_bytes(out));
            return Ok(());
        }
        let distinct = Sorted::distinct(state.clone());
        put_varint(distinct.len() as u64, out);
        for (value, weight) in distinct.iter() {
            value.append_bytes(out);
            weight.put(out);
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let value = |bytes: &mut &[u8]| -> Result<V> { Ok(V::from_bytes(take_bytes(bytes, V::BYTES)?)) };
        let count = take_count(bytes)?;
        (0..count).map(|_| Ok((value(bytes)?, if self.is_weighted() { Raw::take(bytes)? } else { 1 }))).collect()
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let groups = states.len();
        let mut results = Vec::with_capacity(groups * self.levels.levels.len());
        for state in states {
            checkpoint(state.len() * 50)?;
            let sorted = if self.is_weighted() { Sorted::distinct(state) } else { Sorted::all(state) };
            let value = |level: &f64| if sorted.len() == 0 { V::default() } else { self.value_at(&sorted, *level) };
            results.extend(self.levels.levels.iter().map(value));
        }
        column(&self.levels, results, groups)
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.capacity() * size_of::<(V, u64)>()
    }
}
