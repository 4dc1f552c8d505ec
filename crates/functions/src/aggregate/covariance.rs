//! `covarPop`, `covarSamp` and `corr`, from sums of powers as `variance` does it.

use std::sync::Arc;

use squall_types::{Column, DataType, Error, Result};

use crate::accumulator::AggregateFunction;

use super::family::Call;
use super::grouped::{self, StateFunction};
use super::number::floats;
use super::state_bytes::{Raw, take_floats};
use super::variance::float_column;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Population,
    Sample,
    Correlation,
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
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
pub(super) struct Moments {
    count: f64,
    left: f64,
    right: f64,
    left_squares: f64,
    right_squares: f64,
    products: f64,
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
        let (left, right) = (lefts[row], rights[row]);
        state.count += 1.0;
        state.left += left;
        state.right += right;
        state.left_squares += left * left;
        state.right_squares += right * right;
        state.products += left * right;
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        into.count += from.count;
        into.left += from.left;
        into.right += from.right;
        into.left_squares += from.left_squares;
        into.right_squares += from.right_squares;
        into.products += from.products;
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        let Moments { count, left, right, left_squares, right_squares, products } = *state;
        [count, left, right, products].into_iter().for_each(|sum| sum.put(out));
        if self.kind == Kind::Correlation {
            [left_squares, right_squares].into_iter().for_each(|sum| sum.put(out));
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let [count, left, right, products] = take_floats(bytes)?;
        // Only a correlation asks for the squares.
        let [left_squares, right_squares] = if self.kind == Kind::Correlation { take_floats(bytes)? } else { [0.0; 2] };
        Ok(Moments { count, left, right, left_squares, right_squares, products })
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let result = |m: Moments| match self.kind {
            Kind::Population => (m.products - m.left * m.right / m.count) / m.count,
            Kind::Sample if m.count < 2.0 => f64::NAN,
            Kind::Sample => (m.products - m.left * m.right / m.count) / (m.count - 1.0),
            Kind::Correlation => {
                let spread = |sum: f64, squares: f64| m.count * squares - sum * sum;
                let root = (spread(m.left, m.left_squares) * spread(m.right, m.right_squares)).sqrt();
                (m.count * m.products - m.left * m.right) / root
            }
        };
        Ok(float_column(&self.return_type, states.into_iter().map(result)))
    }
}
