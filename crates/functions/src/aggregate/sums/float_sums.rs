//! Functions whose state is a few sums of floats: how these are added up, merged and written is said once, here.

use std::fmt::Debug;
use std::sync::Arc;

use squall_types::{Column, DataType, Result, Value};

use crate::accumulator::AggregateFunction;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::results::value_column;
use crate::aggregate::values::number::floats;
use crate::aggregate::values::state_bytes::{Raw, take_floats};

/// A function of `N` sums.
pub(in crate::aggregate) trait FloatSums<const N: usize>: Debug + Send + Sync + 'static {
    /// How many of the sums are written as 64-bit integers, the first ones: numbers of rows.
    const COUNTS: usize = 0;

    fn return_type(&self) -> &DataType;

    /// Adds a row, given each argument's values.
    fn add(&self, sums: &mut [f64; N], arguments: &[Vec<f64>], row: usize);

    /// Adds the sums of other rows.
    fn merge(&self, into: &mut [f64; N], from: &[f64; N]) {
        into.iter_mut().zip(from).for_each(|(sum, other)| *sum += other);
    }

    /// The result.
    fn result(&self, sums: &[f64; N]) -> Result<Value>;
}

/// The [`AggregateFunction`] of [`FloatSums`].
pub(in crate::aggregate) fn function<const N: usize>(function: impl FloatSums<N>) -> Arc<dyn AggregateFunction> {
    grouped::function(SumsOf::<N, _>(function))
}

#[derive(Debug)]
struct SumsOf<const N: usize, F>(F);

impl<const N: usize, F: FloatSums<N>> StateFunction for SumsOf<N, F> {
    type State = [f64; N];
    type Rows<'a> = Vec<Vec<f64>>;

    fn return_type(&self) -> &DataType {
        self.0.return_type()
    }

    fn state(&self) -> [f64; N] {
        [0.0; N]
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        arguments.iter().map(floats).collect()
    }

    fn add(&self, state: &mut [f64; N], rows: &Self::Rows<'_>, row: usize) {
        self.0.add(state, rows, row);
    }

    fn merge(&self, into: &mut [f64; N], from: [f64; N]) -> Result<()> {
        self.0.merge(into, &from);
        Ok(())
    }

    fn write(&self, state: &[f64; N], out: &mut Vec<u8>) -> Result<()> {
        let (counts, sums) = state.split_at(F::COUNTS);
        counts.iter().for_each(|count| (*count as u64).put(out));
        sums.iter().for_each(|sum| sum.put(out));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<[f64; N]> {
        let mut sums = [0.0; N];
        for sum in &mut sums[..F::COUNTS] {
            *sum = u64::take(bytes)? as f64;
        }
        for sum in &mut sums[F::COUNTS..] {
            [*sum] = take_floats(bytes)?;
        }
        Ok(sums)
    }

    fn finish(&self, states: Vec<[f64; N]>) -> Result<Column> {
        let results = states.iter().map(|sums| self.0.result(sums)).collect::<Result<Vec<_>>>()?;
        value_column(self.0.return_type(), results)
    }
}
