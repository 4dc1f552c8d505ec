//! `varPopStable`, `covarPopStable`, `corrStable` and their kin: means and sums of squared distances from them, kept up to date row by row
//! (Welford, *Note on a Method for Calculating Corrected Sums of Squares and Products*, 1962) and merged pairwise (Chan, Golub, LeVeque,
//! 1979). Without enough values the result is infinite. Slower than sums of powers, and exact where those lose digits.

use std::sync::Arc;

use arrow_array::types::Float64Type;
use squall_types::{Column, DataType, Error, Result};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::number::floats;
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_floats, take_varint};

/// What is asked of the sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Population,
    Sample,
    Correlation,
}

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    call.numbers(1)?;
    let kind = if call.name.contains("Pop") { Kind::Population } else { Kind::Sample };
    Ok(grouped::function(Spread { kind, root: call.name.starts_with("stddev") }))
}

pub(in crate::aggregate) fn resolve_pair(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    call.numbers(2)?;
    let kind = match call.name {
        "corrStable" => Kind::Correlation,
        "covarPopStable" => Kind::Population,
        _ => Kind::Sample,
    };
    Ok(grouped::function(Together { kind }))
}

#[derive(Debug)]
struct Spread {
    kind: Kind,
    root: bool,
}

/// The number of values, their mean, and the sum of the squares of their distances from it.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::aggregate) struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
}

impl StateFunction for Spread {
    type State = Moments;
    type Rows<'a> = Vec<f64>;

    fn return_type(&self) -> &DataType {
        &DataType::Float64
    }

    fn state(&self) -> Moments {
        Moments::default()
    }

    fn rows(&self, arguments: &[Column]) -> Result<Vec<f64>> {
        let [column] = arguments else { return Err(Error::logical("a variance takes one argument")) };
        floats(column)
    }

    #[inline]
    fn add(&self, state: &mut Moments, rows: &Vec<f64>, row: usize) {
        let value = rows[row];
        state.count += 1;
        let before = value - state.mean;
        state.mean += before / state.count as f64;
        state.squares += before * (value - state.mean);
    }

    fn merge(&self, into: &mut Moments, from: Moments) -> Result<()> {
        if from.count == 0 {
            return Ok(());
        }
        let (mine, other) = (into.count as f64, from.count as f64);
        let apart = into.mean - from.mean;
        into.squares += from.squares + apart * apart * (mine * other / (mine + other));
        into.mean = mean_of_both(into.mean, mine, from.mean, other);
        into.count += from.count;
        Ok(())
    }

    fn write(&self, state: &Moments, out: &mut Vec<u8>) -> Result<()> {
        put_varint(state.count, out);
        state.mean.put(out);
        state.squares.put(out);
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Moments> {
        Ok(Moments { count: take_varint(bytes)?, mean: Raw::take(bytes)?, squares: Raw::take(bytes)? })
    }

    fn finish(&self, states: Vec<Moments>) -> Result<Column> {
        let result = |state: Moments| {
            let variance = match self.kind {
                Kind::Population if state.count == 0 => f64::INFINITY,
                Kind::Population => state.squares / state.count as f64,
                _ if state.count < 2 => f64::INFINITY,
                _ => state.squares / (state.count - 1) as f64,
            };
            if self.root { variance.sqrt() } else { variance }
        };
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, states.into_iter().map(result).collect()))
    }
}

/// The mean of the values of two parts: near one another by their difference, which keeps digits; else by the sums.
fn mean_of_both(left: f64, lefts: f64, right: f64, rights: f64) -> f64 {
    let total = lefts + rights;
    let ratio = lefts.min(rights) / lefts.max(rights);
    if (1.0 - ratio).abs() < 0.001 && lefts.max(rights) > 10_000.0 {
        (left * lefts + right * rights) / total
    } else if lefts >= rights {
        left + (right - left) * (rights / total)
    } else {
        right + (left - right) * (lefts / total)
    }
}

#[derive(Debug)]
struct Together {
    kind: Kind,
}

/// As [`Moments`], of pairs.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::aggregate) struct PairMoments {
    count: u64,
    left: f64,
    right: f64,
    products: f64,
    left_squares: f64,
    right_squares: f64,
}

impl StateFunction for Together {
    type State = PairMoments;
    type Rows<'a> = (Vec<f64>, Vec<f64>);

    fn return_type(&self) -> &DataType {
        &DataType::Float64
    }

    fn state(&self) -> PairMoments {
        PairMoments::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [left, right] = arguments else { return Err(Error::logical("a covariance takes two arguments")) };
        Ok((floats(left)?, floats(right)?))
    }

    #[inline]
    fn add(&self, state: &mut PairMoments, (lefts, rights): &Self::Rows<'_>, row: usize) {
        let (left, right) = (lefts[row], rights[row]);
        let (left_before, right_before) = (left - state.left, right - state.right);
        state.count += 1;
        state.left += left_before / state.count as f64;
        state.right += right_before / state.count as f64;
        state.products += (left - state.left) * right_before;
        state.left_squares += left_before * (left - state.left);
        state.right_squares += right_before * (right - state.right);
    }

    fn merge(&self, into: &mut PairMoments, from: PairMoments) -> Result<()> {
        if from.count == 0 {
            return Ok(());
        }
        let (mine, other) = (into.count as f64, from.count as f64);
        let factor = mine * other / (mine + other);
        let (left, right) = (into.left - from.left, into.right - from.right);
        into.products += from.products + left * right * factor;
        into.left_squares += from.left_squares + left * left * factor;
        into.right_squares += from.right_squares + right * right * factor;
        into.left = mean_of_both(into.left, mine, from.left, other);
        into.right = mean_of_both(into.right, mine, from.right, other);
        into.count += from.count;
        Ok(())
    }

    fn write(&self, state: &PairMoments, out: &mut Vec<u8>) -> Result<()> {
        put_varint(state.count, out);
        [state.left, state.right, state.products].into_iter().for_each(|sum| sum.put(out));
        if self.kind == Kind::Correlation {
            [state.left_squares, state.right_squares].into_iter().for_each(|sum| sum.put(out));
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<PairMoments> {
        let count = take_varint(bytes)?;
        let [left, right, products] = take_floats(bytes)?;
        let [left_squares, right_squares] = if self.kind == Kind::Correlation { take_floats(bytes)? } else { [0.0; 2] };
        Ok(PairMoments { count, left, right, products, left_squares, right_squares })
    }

    fn finish(&self, states: Vec<PairMoments>) -> Result<Column> {
        let result = |state: PairMoments| match self.kind {
            Kind::Population if state.count == 0 => f64::INFINITY,
            Kind::Population => state.products / state.count as f64,
            Kind::Sample if state.count < 2 => f64::INFINITY,
            Kind::Sample => state.products / (state.count - 1) as f64,
            Kind::Correlation if state.count < 2 => f64::INFINITY,
            Kind::Correlation => state.products / (state.left_squares.sqrt() * state.right_squares.sqrt()),
        };
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, states.into_iter().map(result).collect()))
    }
}
