//! `covarPop`, `covarSamp` and `corr`, from sums of powers as `variance` does it.

use std::sync::Arc;

use squall_types::{Column, DataType, Error, Result};

use super::lanes::add_in_lanes;
use crate::accumulator::AggregateFunction;

use super::variance::float_column;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::number::floats;
use crate::aggregate::values::state_bytes::{Raw, take_floats};

/// What is asked of the sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::aggregate) enum Kind {
    Population,
    Sample,
    Correlation,
}

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let (left, right) = call.two_arguments()?;
    if let Some(illegal) = [left, right].into_iter().find(|side| !side.is_number() && **side != DataType::Bool) {
        return Err(call.illegal_type(illegal));
    }
    let narrow = *left == DataType::Float32 && *right == DataType::Float32;
    let kind = match call.name {
        "corr" => Kind::Correlation,
        "covarPop" => Kind::Population,
        _ => Kind::Sample,
    };
    Ok(grouped::function(Covariance { return_type: if narrow { DataType::Float32 } else { DataType::Float64 }, kind }))
}

#[derive(Debug)]
struct Covariance {
    return_type: DataType,
    kind: Kind,
}

/// Sums over the pairs.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::aggregate) struct Moments {
    count: f64,
    left: f64,
    right: f64,
    left_squares: f64,
    right_squares: f64,
    products: f64,
}

impl Moments {
    #[inline]
    pub fn add(&mut self, left: f64, right: f64) {
        self.count += 1.0;
        self.left += left;
        self.right += right;
        self.left_squares += left * left;
        self.right_squares += right * right;
        self.products += left * right;
    }

    /// Adds pairs `0..count`.
    pub fn add_all(&mut self, count: usize, pair: impl Fn(usize) -> (f64, f64)) {
        let Self { count: pairs, left, right, left_squares, right_squares, products } = *self;
        let mut sums = [pairs, left, right, left_squares, right_squares, products];
        add_in_lanes(&mut sums, count, |row| {
            let (left, right) = pair(row);
            [1.0, left, right, left * left, right * right, left * right]
        });
        let [count, left, right, left_squares, right_squares, products] = sums;
        *self = Self { count, left, right, left_squares, right_squares, products };
    }

    pub fn merge(&mut self, from: &Self) {
        self.count += from.count;
        self.left += from.left;
        self.right += from.right;
        self.left_squares += from.left_squares;
        self.right_squares += from.right_squares;
        self.products += from.products;
    }

    pub fn write(&self, kind: Kind, out: &mut Vec<u8>) {
        let Self { count, left, right, left_squares, right_squares, products } = *self;
        [count, left, right, products].into_iter().for_each(|sum| sum.put(out));
        // Only a correlation asks for the squares.
        if kind == Kind::Correlation {
            [left_squares, right_squares].into_iter().for_each(|sum| sum.put(out));
        }
    }

    pub fn read(kind: Kind, bytes: &mut &[u8]) -> Result<Self> {
        let [count, left, right, products] = take_floats(bytes)?;
        let [left_squares, right_squares] = if kind == Kind::Correlation { take_floats(bytes)? } else { [0.0; 2] };
        Ok(Self { count, left, right, left_squares, right_squares, products })
    }

    pub fn result(&self, kind: Kind) -> f64 {
        match kind {
            Kind::Population => (self.products - self.left * self.right / self.count) / self.count,
            Kind::Sample if self.count < 2.0 => f64::NAN,
            Kind::Sample => (self.products - self.left * self.right / self.count) / (self.count - 1.0),
            Kind::Correlation => {
                let spread = |sum: f64, squares: f64| self.count * squares - sum * sum;
                let root = (spread(self.left, self.left_squares) * spread(self.right, self.right_squares)).sqrt();
                (self.count * self.products - self.left * self.right) / root
            }
        }
    }
}

impl StateFunction for Covariance {
    type State = Moments;
    type Rows<'a> = (Vec<f64>, Vec<f64>);

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        Moments::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [left, right] = arguments else { return Err(Error::logical("a covariance takes two arguments")) };
        Ok((floats(left)?, floats(right)?))
    }

    #[inline]
    fn add(&self, state: &mut Self::State, (lefts, rights): &Self::Rows<'_>, row: usize) {
        state.add(lefts[row], rights[row]);
    }

    fn add_all(&self, state: &mut Self::State, (lefts, rights): &Self::Rows<'_>, count: usize) {
        state.add_all(count, |row| (lefts[row], rights[row]));
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        into.merge(&from);
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        state.write(self.kind, out);
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        Moments::read(self.kind, bytes)
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        Ok(float_column(&self.return_type, states.iter().map(|moments| moments.result(self.kind))))
    }
}
