//! `covarPopMatrix`, `covarSampMatrix`, `corrMatrix`: the covariance or correlation of each pair of arguments, as one matrix.

use std::sync::Arc;

use squall_types::{Column, DataType, Result, Value};

use crate::accumulator::AggregateFunction;

use super::covariance::{Kind, Moments};
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::results::{float_array, value_column};
use crate::aggregate::values::number::floats;

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    call.numbers(call.arguments.len())?;
    let kind = match call.name {
        "corrMatrix" => Kind::Correlation,
        "covarPopMatrix" => Kind::Population,
        _ => Kind::Sample,
    };
    let arguments = call.arguments.len();
    let return_type = DataType::array(DataType::array(DataType::Float64));
    Ok(grouped::function(MomentMatrix { kind, arguments, return_type }))
}

#[derive(Debug)]
struct MomentMatrix {
    kind: Kind,
    arguments: usize,
    return_type: DataType,
}

impl MomentMatrix {
    /// Each pair of an argument and one that does not come after it.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let arguments = self.arguments;
        (0..arguments).flat_map(|left| (0..=left).map(move |right| (left, right)))
    }
}

impl StateFunction for MomentMatrix {
    type State = Box<[Moments]>;
    type Rows<'a> = Vec<Vec<f64>>;

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        self.pairs().map(|_| Moments::default()).collect()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        arguments.iter().map(floats).collect()
    }

    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        for (moments, (left, right)) in state.iter_mut().zip(self.pairs()) {
            moments.add(rows[left][row], rows[right][row]);
        }
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        into.iter_mut().zip(&from).for_each(|(into, from)| into.merge(from));
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        state.iter().for_each(|moments| moments.write(self.kind, out));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        self.pairs().map(|_| Moments::read(self.kind, bytes)).collect()
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let matrix = |state: Self::State| {
            let at = |left: usize, right: usize| {
                let (left, right) = (left.max(right), left.min(right));
                state[left * (left + 1) / 2 + right].result(self.kind)
            };
            let lines =
                (0..self.arguments).map(|left| float_array((0..self.arguments).map(move |right| at(left, right))));
            Value::Array(lines.collect())
        };
        value_column(&self.return_type, states.into_iter().map(matrix))
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        size_of_val(&**state)
    }
}
