//! Functions of two samples whose every value is kept: `mannWhitneyUTest`, `kolmogorovSmirnovTest`, `rankCorr`. The lists, how they
//! merge and how they are written are here, and what is computed of them in `rank_tests`.

use std::fmt::Debug;
use std::sync::Arc;

use squall_types::{Column, DataType, Error, Result, Value, grow};

use crate::accumulator::AggregateFunction;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::results::value_column;
use crate::aggregate::values::number::floats;
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_count, take_floats};

/// The values of two samples.
#[derive(Clone, Default)]
pub(in crate::aggregate) struct Samples {
    pub first: Vec<f64>,
    pub second: Vec<f64>,
}

/// What is computed of two samples.
pub(in crate::aggregate) trait OfSamples: Debug + Send + Sync + 'static {
    /// Whether the second argument tells which sample the first one belongs to; otherwise each row has a value of both.
    const INDEXED: bool;

    fn return_type(&self) -> &DataType;

    fn result(&self, samples: Samples) -> Result<Value>;
}

/// The [`AggregateFunction`] of [`OfSamples`].
pub(in crate::aggregate) fn function(function: impl OfSamples) -> Arc<dyn AggregateFunction> {
    grouped::function(Kept(function))
}

#[derive(Debug)]
struct Kept<F>(F);

impl<F: OfSamples> StateFunction for Kept<F> {
    type State = Samples;
    type Rows<'a> = (Vec<f64>, Vec<f64>);

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        self.0.return_type()
    }

    fn state(&self) -> Samples {
        Samples::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [left, right] = arguments else { return Err(Error::logical("two samples take two arguments")) };
        Ok((floats(left)?, floats(right)?))
    }

    fn add(&self, state: &mut Samples, (lefts, rights): &Self::Rows<'_>, row: usize) {
        let (left, right) = (lefts[row], rights[row]);
        if !F::INDEXED {
            state.first.push(left);
            state.second.push(right);
        } else if right == 0.0 {
            state.first.push(left);
        } else {
            state.second.push(left);
        }
    }

    fn merge(&self, into: &mut Samples, from: Samples) -> Result<()> {
        grow(&mut into.first, from.first.len())?;
        into.first.extend(from.first);
        grow(&mut into.second, from.second.len())?;
        into.second.extend(from.second);
        Ok(())
    }

    fn items(&self, state: &Samples) -> usize {
        state.first.len() + state.second.len()
    }

    fn write(&self, state: &Samples, out: &mut Vec<u8>) -> Result<()> {
        put_varint(state.first.len() as u64, out);
        put_varint(state.second.len() as u64, out);
        state.first.iter().chain(&state.second).for_each(|value| value.put(out));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Samples> {
        let (first, second) = (take_count(bytes)?, take_count(bytes)?);
        let mut list =
            |count: usize| (0..count).map(|_| take_floats(bytes).map(|[value]| value)).collect::<Result<_>>();
        Ok(Samples { first: list(first)?, second: list(second)? })
    }

    fn finish(&self, states: Vec<Samples>) -> Result<Column> {
        let results = states.into_iter().map(|samples| self.0.result(samples)).collect::<Result<Vec<_>>>()?;
        value_column(self.0.return_type(), results)
    }

    fn heap_bytes(&self, state: &Samples) -> usize {
        (state.first.capacity() + state.second.capacity()) * size_of::<f64>()
    }
}
