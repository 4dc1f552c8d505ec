//! `analysisOfVariance(value, group)`: the one-way F-test of whether groups have the same mean.

use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::accumulator::AggregateFunction;

use super::distributions::f_tail;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::results::{float_tuple, float_values, value_column};
use crate::aggregate::values::number::floats;
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_count};

/// No group has a higher number.
const GROUPS_MAX: usize = 1024 * 1024;

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let (value, group) = call.two_arguments()?;
    let wrong = |which: &str, what: &str| {
        Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("{which} argument of aggregate function {} should be a {what}.", call.name),
        )
    };
    if !value.is_number() {
        return Err(wrong("First", "number"));
    }
    if !group.is_unsigned_integer() {
        return Err(wrong("Second", "native unsigned integer"));
    }
    Ok(grouped::function(Analysis { return_type: float_tuple(&["f_statistic", "p_value"]) }))
}

#[derive(Debug)]
struct Analysis {
    return_type: DataType,
}

/// The sums of a group.
#[derive(Clone, Copy, Default)]
pub(in crate::aggregate) struct Sums {
    sum: f64,
    squares: f64,
    count: u64,
}

impl Sums {
    fn add(&mut self, other: Self) {
        self.sum += other.sum;
        self.squares += other.squares;
        self.count += other.count;
    }
}

impl StateFunction for Analysis {
    type State = Vec<Sums>;
    type Rows<'a> = (Vec<f64>, Vec<f64>);

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        Vec::new()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [values, groups] = arguments else { return Err(Error::logical("analysisOfVariance takes two arguments")) };
        let groups = floats(groups)?;
        if groups.iter().any(|group| *group >= GROUPS_MAX as f64) {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("Too many groups for analysis of variance (should be no more than {GROUPS_MAX})"),
            ));
        }
        Ok((floats(values)?, groups))
    }

    fn add(&self, state: &mut Self::State, (values, groups): &Self::Rows<'_>, row: usize) {
        let group = groups[row] as usize;
        if group >= state.len() {
            state.resize(group + 1, Sums::default());
        }
        state[group].add(Sums { sum: values[row], squares: values[row] * values[row], count: 1 });
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        if from.len() > into.len() {
            squall_types::grow(into, from.len() - into.len())?;
            into.resize(from.len(), Sums::default());
        }
        into.iter_mut().zip(from).for_each(|(into, from)| into.add(from));
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        put_varint(state.len() as u64, out);
        state.iter().for_each(|sums| sums.sum.put(out));
        put_varint(state.len() as u64, out);
        state.iter().for_each(|sums| sums.squares.put(out));
        put_varint(state.len() as u64, out);
        state.iter().for_each(|sums| sums.count.put(out));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let mut state = vec![Sums::default(); take_count(bytes)?];
        let wrong = || Error::new(ErrorCode::INCORRECT_DATA, "A state of analysisOfVariance with lists of two lengths");
        for sums in &mut state {
            sums.sum = Raw::take(bytes)?;
        }
        if take_count(bytes)? != state.len() {
            return Err(wrong());
        }
        for sums in &mut state {
            sums.squares = Raw::take(bytes)?;
        }
        if take_count(bytes)? != state.len() {
            return Err(wrong());
        }
        for sums in &mut state {
            sums.count = Raw::take(bytes)?;
        }
        Ok(state)
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let result = |groups: Self::State| {
            let wrong = |what: &str| Err(Error::new(ErrorCode::BAD_ARGUMENTS, what));
            if groups.len() == 1 {
                return wrong("There should be more than one group to calculate f-statistics");
            }
            let count: u64 = groups.iter().map(|group| group.count).sum();
            if count as usize <= groups.len() {
                return wrong("There is only one observation in each group");
            }
            let mean = groups.iter().map(|group| group.sum).sum::<f64>() / count as f64;
            let (mut between, mut within) = (0.0, 0.0);
            for group in &groups {
                let own = group.sum / group.count as f64;
                between += (own - mean) * (own - mean) * group.count as f64;
                within += group.squares + group.count as f64 * own * own - 2.0 * own * group.sum;
            }
            let (between_degrees, within_degrees) = (groups.len() as f64 - 1.0, (count as usize - groups.len()) as f64);
            let f = between * within_degrees / (within * between_degrees);
            let p = if f.is_finite() { f_tail(f, between_degrees, within_degrees) } else { f64::NAN };
            Ok(float_values(&if p.is_nan() { [f64::NAN; 2] } else { [f, p] }))
        };
        let results = states.into_iter().map(result).collect::<Result<Vec<_>>>()?;
        value_column(&self.return_type, results)
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.capacity() * size_of::<Sums>()
    }
}
