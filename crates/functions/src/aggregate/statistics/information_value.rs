//! `categoricalInformationValue(category, …, tag)`: how well each binary category tells the rows with the tag from those without.

use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::results::{float_array, value_column};
use crate::aggregate::values::state_bytes::Raw;

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    if call.arguments.len() < 2 {
        return Err(call.wrong_arguments("two or more arguments."));
    }
    if call.arguments.iter().any(|argument| !matches!(argument, DataType::UInt8 | DataType::Bool)) {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("All the arguments of aggregate function {} should be UInt8.", call.name),
        ));
    }
    let categories = call.arguments.len() - 1;
    Ok(grouped::function(InformationValue { return_type: DataType::array(DataType::Float64), categories }))
}

#[derive(Debug)]
struct InformationValue {
    return_type: DataType,
    categories: usize,
}

impl StateFunction for InformationValue {
    /// For each category, and then for all rows: how many have no tag, and how many have it.
    type State = Box<[[u64; 2]]>;
    type Rows<'a> = Vec<&'a [u8]>;

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        vec![[0; 2]; self.categories + 1].into()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let values = |column: &'a Column| Ok(&**column.as_primitive::<arrow_array::types::UInt8Type>()?.values());
        arguments.iter().map(values).collect()
    }

    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        let tag = usize::from(rows[self.categories][row] != 0);
        for (counts, category) in state.iter_mut().zip(&rows[..self.categories]) {
            counts[tag] += u64::from(category[row] != 0);
        }
        state[self.categories][tag] += 1;
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        into.as_flattened_mut().iter_mut().zip(from.as_flattened()).for_each(|(into, from)| *into += from);
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        state.as_flattened().iter().for_each(|count| count.put(out));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        (0..=self.categories).map(|_| Ok([Raw::take(bytes)?, Raw::take(bytes)?])).collect()
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let values = |state: Self::State| {
            let [without, with] = state[self.categories];
            float_array(state[..self.categories].iter().map(|counts| {
                let share_without = counts[0] as f64 / without as f64;
                let share_with = counts[1] as f64 / with as f64;
                (share_with - share_without) * (share_with.ln() - share_without.ln())
            }))
        };
        value_column(&self.return_type, states.into_iter().map(values))
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        size_of_val(&**state)
    }
}
