//! `quantile` and its kin. The plain one keeps a uniform random sample of 8,192 values (reservoir sampling: Vitter, *Random Sampling
//! with a Reservoir*, 1985), so it is exact up to that many; the `Exact` ones keep every value, and look for those at the levels in
//! steps. NaN is skipped.

use std::cmp::Ordering;
use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::ArrowPrimitiveType;
use arrow_array::types::Float64Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::accumulator::AggregateFunction;

use super::levels::{Levels, levels};
use super::ranks::{FEW, Ranks};
use super::wide_quantile;
use crate::aggregate::arrays::pcg::Pcg;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::element::{Element, Primitive};
use crate::aggregate::values::number::{Number, with_number};
use crate::aggregate::values::state_bytes::{Raw, put_string, put_varint, take_count, take_string};
use crate::aggregate::values::value_list::ValueList;

/// How a level becomes a value of the sorted ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Between the two nearest of a sample.
    Sampled,
    /// The value at level × count.
    Exact,
    /// As `Exact`, but of two middle values the lower.
    Low,
    /// As `Exact`.
    High,
    /// Between the two nearest: Excel's PERCENTILE.INC.
    Inclusive,
    /// Between the two nearest: Excel's PERCENTILE.EXC.
    Exclusive,
}

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let many = call.name.starts_with("quantiles");
    let kind = match call.name.trim_start_matches("quantiles").trim_start_matches("quantile") {
        "Exact" => Kind::Exact,
        "ExactLow" => Kind::Low,
        "ExactHigh" => Kind::High,
        "ExactInclusive" => Kind::Inclusive,
        "ExactExclusive" => Kind::Exclusive,
        _ => Kind::Sampled,
    };
    let levels = levels(call, call.parameters, many)?;
    if kind == Kind::Exclusive && levels.iter().any(|level| *level <= 0.0 || *level >= 1.0) {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            "QuantileExactExclusive cannot interpolate for the percentiles 1 and 0",
        ));
    }
    let wide = match (kind, call.arguments) {
        (Kind::Sampled, [argument]) if argument.is_decimal() => Some((argument, wide_quantile::Rule::Sampled)),
        (Kind::High | Kind::Low, [argument]) if argument.is_wide_integer() => return Err(call.illegal_type(argument)),
        (Kind::Exact | Kind::High, [argument]) => Some((argument, wide_quantile::Rule::Exact)),
        (Kind::Low, [argument]) => Some((argument, wide_quantile::Rule::Low)),
        _ => None,
    };
    if let Some((argument, rule)) = wide.filter(|(argument, _)| argument.is_decimal() || argument.is_wide_integer())
        && let Some(function) =
            wide_quantile::resolve(argument, rule, &Levels::new(levels.clone(), argument.clone(), many))
    {
        return Ok(function);
    }
    if call.arguments.iter().any(DataType::is_wide_integer)
        && let Some(function) = crate::aggregate::sums::as_floats::resolve(call, resolve)?
    {
        return Ok(function);
    }
    let argument = call.argument()?;
    let interpolates = matches!(kind, Kind::Sampled | Kind::Inclusive | Kind::Exclusive);
    let item = match argument {
        number if (number.is_number() || *number == DataType::Bool) && interpolates => DataType::Float64,
        number if number.is_number() || *number == DataType::Bool => number.clone(),
        DataType::Date | DataType::DateTime(_) if matches!(kind, Kind::Inclusive | Kind::Exclusive) => {
            DataType::Float64
        }
        DataType::Date | DataType::DateTime(_) => argument.clone(),
        DataType::DateTime64(..) | DataType::Decimal(..=18, _)
            if !matches!(kind, Kind::Inclusive | Kind::Exclusive) =>
        {
            argument.clone()
        }
        other => return Err(call.illegal_type(other)),
    };
    let levels = Levels::new(levels, item, many);
    Ok(with_number!(argument, T => match kind {
        Kind::Sampled => grouped::function(Sampled::<T> { levels, number: PhantomData }),
        _ => grouped::function(Exact::<T> { levels, kind, number: PhantomData }),
    }, otherwise return Err(call.illegal_type(argument))))
}

/// The value between `sorted[floor(at)]` and its neighbour.
pub(in crate::aggregate) fn between(sorted: &[f64], at: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let left = (at.max(0.0) as usize).min(last);
    if left == last {
        return sorted[last];
    }
    let (left_share, right_share) = ((left + 1) as f64 - at, at - left as f64);
    sorted[left] * left_share + sorted[left + 1] * right_share
}

fn column_of<T: Number>(arguments: &[Column]) -> Result<&[T::Native]> {
    let [column] = arguments else { return Err(Error::logical("quantile takes one argument")) };
    Ok(column.as_primitive::<T>()?.values())
}

/// Values in a reservoir.
pub(in crate::aggregate) const SAMPLE_MAX: usize = 8192;

#[derive(Debug)]
struct Sampled<T> {
    levels: Levels,
    number: PhantomData<T>,
}

/// A uniform sample of `total` values.
#[derive(Clone, Debug)]
pub(in crate::aggregate) struct Reservoir<V> {
    pub sample: Vec<V>,
    pub total: u64,
    pub random: Pcg,
}

impl<V: Copy> Reservoir<V> {
    /// What the random numbers begin with: the same for the same values, so that results repeat.
    const BEGIN: u64 = 123_456;

    pub fn new() -> Self {
        Self { sample: Vec::new(), total: 0, random: Pcg::new(Self::BEGIN) }
    }

    #[inline]
    pub fn add(&mut self, value: V) {
        self.total += 1;
        if self.sample.len() < SAMPLE_MAX {
            self.sample.push(value);
            return;
        }
        let at = self.random.below(self.total) as usize;
        if let Some(slot) = self.sample.get_mut(at) {
            *slot = value;
        }
    }

    pub fn merge(&mut self, mut other: Self) {
        if other.total > SAMPLE_MAX as u64 && self.total <= SAMPLE_MAX as u64 {
            std::mem::swap(&mut self.sample, &mut other.sample);
            std::mem::swap(&mut self.total, &mut other.total);
        }
        if other.total <= SAMPLE_MAX as u64 {
            other.sample.into_iter().for_each(|value| self.add(value));
            return;
        }
        // Of two full samples the other's share of all values is replaced, at even distances.
        self.total += other.total;
        let distance = self.total as f64 / other.total as f64;
        if distance * 2.0 >= SAMPLE_MAX as f64 {
            let at = self.random.below(distance as u64) as usize;
            if let (Some(slot), Some(value)) = (self.sample.get_mut(at), other.sample.get(at)) {
                *slot = *value;
            }
            return;
        }
        let mut at = 0.0;
        while let (Some(slot), Some(value)) = (self.sample.get_mut(at as usize), other.sample.get(at as usize)) {
            *slot = *value;
            at += distance;
        }
    }
}

impl<T: Number> StateFunction for Sampled<T> {
    type State = Reservoir<T::Native>;
    type Rows<'a> = &'a [T::Native];

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &self.levels.return_type
    }

    fn state(&self) -> Self::State {
        Reservoir::new()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        column_of::<T>(arguments)
    }

    #[inline]
    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        if !T::to_f64(rows[row]).is_nan() {
            state.add(rows[row]);
        }
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        into.merge(from);
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        (SAMPLE_MAX as u64).put(out);
        state.total.put(out);
        put_string(state.random.text().as_bytes(), out);
        state.sample.iter().for_each(|value| value.put(out));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        if u64::take(bytes)? != SAMPLE_MAX as u64 {
            return Err(Error::new(ErrorCode::INCORRECT_DATA, "A sample of another size"));
        }
        let total = u64::take(bytes)?;
        let random = Pcg::parse(take_string(bytes)?)?;
        let count = total.min(SAMPLE_MAX as u64);
        let sample = (0..count).map(|_| Raw::take(bytes)).collect::<Result<Vec<T::Native>>>()?;
        Ok(Reservoir { sample, total, random })
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let groups = states.len();
        let mut values = Vec::with_capacity(groups * self.levels.levels.len());
        for state in states {
            let mut sample: Vec<f64> = state.sample.into_iter().map(T::to_f64).collect();
            sample.sort_unstable_by(f64::total_cmp);
            let last = sample.len().saturating_sub(1) as f64;
            values.extend(self.levels.levels.iter().map(|level| between(&sample, level * last)));
        }
        self.levels.result(self.levels.interpolated(values), groups)
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.sample.capacity() * size_of::<T::Native>()
    }
}

#[derive(Debug)]
struct Exact<T> {
    levels: Levels,
    kind: Kind,
    number: PhantomData<T>,
}

impl<T: Number> Exact<T> {
    /// The position of a level among `count` sorted values, at least one.
    fn position(&self, level: f64, count: usize) -> usize {
        if self.kind == Kind::Low && level == 0.5 {
            return (count - 1) / 2;
        }
        if level < 1.0 { ((level * count as f64) as usize).min(count - 1) } else { count - 1 }
    }
}

impl<T: Number> Exact<T> {
    /// Where a level is among `count` values, from 1 on and between two of them: the places of the values are 1 to their number, of which
    /// the exclusive kind takes the levels of one more.
    fn place(&self, level: f64, count: usize) -> f64 {
        match self.kind {
            Kind::Inclusive => level * (count as f64 - 1.0) + 1.0,
            _ => level * (count as f64 + 1.0),
        }
    }

    /// Whether results are between two values.
    fn interpolates(&self) -> bool {
        matches!(self.kind, Kind::Inclusive | Kind::Exclusive)
    }

    /// The positions of the values that the results are made of, among `count` sorted ones, at least one: one for each level, or two
    /// where it is between them.
    fn positions(&self, count: usize) -> Vec<usize> {
        let levels = self.levels.levels.iter();
        if !self.interpolates() {
            return levels.map(|level| self.position(*level, count)).collect();
        }
        let last = count - 1;
        let neighbours = |level: &f64| match self.place(*level, count) as usize {
            0 => [0, 0],
            place if place > last => [last, last],
            place => [place - 1, place],
        };
        levels.flat_map(neighbours).collect()
    }
}

/// A group's values, or the search among them.
pub(in crate::aggregate) enum Values<T>
where
    T: Number,
    Primitive<T>: Element<Owned = T::Native>,
{
    Collected(ValueList<Primitive<T>>),
    Searched(Box<Ranks<T::Native>>),
}

impl<T> Clone for Values<T>
where
    T: Number,
    Primitive<T>: Element<Owned = T::Native>,
{
    fn clone(&self) -> Self {
        match self {
            Self::Collected(values) => Self::Collected(values.clone()),
            Self::Searched(ranks) => Self::Searched(ranks.clone()),
        }
    }
}

impl<T> Values<T>
where
    T: Number,
    T::Native: PartialOrd,
    Primitive<T>: Element<Owned = T::Native>,
{
    fn len(&self) -> usize {
        match self {
            Self::Collected(values) => values.len(),
            Self::Searched(ranks) => ranks.len(),
        }
    }

    /// The values at these positions of the order.
    fn at(self, positions: &[usize]) -> Vec<T::Native> {
        let values = match self {
            Self::Searched(ranks) => return ranks.found().to_vec(),
            Self::Collected(values) => values,
        };
        let order = |left: &T::Native, right: &T::Native| left.partial_cmp(right).unwrap_or(Ordering::Equal);
        let mut values = values.into_chunks().concat();
        match positions {
            [position] if *position < values.len() => vec![*values.select_nth_unstable_by(*position, order).1],
            _ => {
                values.sort_unstable_by(order);
                positions.iter().filter_map(|position| values.get(*position).copied()).collect()
            }
        }
    }
}

impl<T: Number> StateFunction for Exact<T>
where
    T::Native: PartialOrd,
    Primitive<T>: Element<Owned = T::Native>,
{
    type State = Values<T>;
    type Rows<'a> = &'a [T::Native];

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &self.levels.return_type
    }

    fn state(&self) -> Self::State {
        Values::Collected(ValueList::default())
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        column_of::<T>(arguments)
    }

    fn make_room(&self, state: &mut Self::State, rows: usize) -> Result<()> {
        match state {
            Values::Collected(values) => values.make_room(rows),
            Values::Searched(_) => Ok(()),
        }
    }

    #[inline]
    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        if let Values::Collected(values) = state
            && !T::to_f64(rows[row]).is_nan()
        {
            values.push(rows[row]);
        }
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        match (into, from) {
            (Values::Collected(into), Values::Collected(from)) => {
                into.append(from);
                Ok(())
            }
            _ => Err(Error::logical("values come after the search among them has begun")),
        }
    }

    fn items(&self, state: &Self::State) -> usize {
        state.len()
    }

    fn settle(&self, state: &mut Self::State, items: &mut usize) -> Result<bool> {
        let count = state.len();
        if let Values::Collected(values) = state {
            if count <= FEW {
                *items = items.saturating_sub(count);
                return Ok(true);
            }
            let chunks = std::mem::take(values).into_chunks();
            *state = Values::Searched(Box::new(Ranks::new(chunks, self.positions(count))));
        }
        match state {
            Values::Searched(ranks) => Ok(ranks.step(items)),
            Values::Collected(_) => Ok(true),
        }
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        let Values::Collected(values) = state else {
            return Err(Error::logical("a state is written after the search in it has begun"));
        };
        put_varint(values.len() as u64, out);
        values.iter().for_each(|value| value.put(out));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let values = (0..take_count(bytes)?).map(|_| Raw::take(bytes)).collect::<Result<Vec<_>>>()?;
        Ok(Values::Collected(ValueList::from(values)))
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let groups = states.len();
        let levels = &self.levels.levels;
        if self.interpolates() {
            let mut results = Vec::with_capacity(groups * levels.len());
            for state in states {
                let count = state.len();
                if count == 0 {
                    results.extend(levels.iter().map(|_| f64::NAN));
                    continue;
                }
                let positions = self.positions(count);
                let values = state.at(&positions);
                for (level, pair) in levels.iter().zip(values.chunks(2).zip(positions.chunks(2))) {
                    let (left, right) = (T::to_f64(pair.0[0]), T::to_f64(pair.0[1]));
                    let is_between = pair.1[0] != pair.1[1];
                    let share = self.place(*level, count).fract();
                    results.push(if is_between { left + share * (right - left) } else { left });
                }
            }
            return self.levels.result(Column::from_primitive::<Float64Type>(DataType::Float64, results), groups);
        }
        let mut results = Vec::with_capacity(groups * levels.len());
        for state in states {
            match state.len() {
                0 => {
                    let none = if self.levels.is_many() { T::Native::default() } else { T::without_values() };
                    results.extend(levels.iter().map(|_| none));
                }
                count => results.extend(state.at(&self.positions(count))),
            }
        }
        self.levels.result(Column::from_primitive::<T>(self.levels.item.clone(), results), groups)
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        match state {
            Values::Collected(values) => values.memory_bytes(),
            Values::Searched(ranks) => ranks.len() * size_of::<<T as ArrowPrimitiveType>::Native>(),
        }
    }
}
