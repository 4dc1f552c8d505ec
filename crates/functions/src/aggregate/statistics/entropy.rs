//! `entropy`: Shannon's entropy of the distinct values, in bits.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::types::Float64Type;
use squall_types::{Column, DataType, Result, checkpoint};

use crate::accumulator::AggregateFunction;
use crate::aggregate::distinct::uniq_exact::{HashKeys, Keys, PrimitiveKeys, at_least_one_argument};
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::number::with_number;
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_count};
use crate::aggregate::values::tally::Tally;

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    at_least_one_argument(call)?;
    Ok(match call.arguments {
        [one] => with_number!(one, T => grouped::function(Entropy::<PrimitiveKeys<T>> { keys: PhantomData }),
            otherwise grouped::function(Entropy::<HashKeys> { keys: PhantomData })),
        _ => grouped::function(Entropy::<HashKeys> { keys: PhantomData }),
    })
}

#[derive(Debug)]
struct Entropy<K> {
    keys: PhantomData<K>,
}

impl<K: Keys<Key: Ord + std::hash::Hash>> StateFunction for Entropy<K> {
    type State = Tally<K::Key, u64>;
    type Rows<'a> = std::borrow::Cow<'a, [K::Key]>;

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &DataType::Float64
    }

    fn state(&self) -> Self::State {
        Tally::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        K::keys(arguments)
    }

    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        *state.of(rows[row]) += 1;
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        checkpoint(from.len() * 100)?;
        from.iter().for_each(|(key, count)| *into.of(key) += count);
        Ok(())
    }

    fn items(&self, state: &Self::State) -> usize {
        state.len()
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        put_varint(state.len() as u64, out);
        state.sorted().into_iter().for_each(|(key, count)| {
            K::put(key, out);
            count.put(out);
        });
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let mut state = Tally::default();
        for _ in 0..take_count(bytes)? {
            *state.of(K::take(bytes)?) = Raw::take(bytes)?;
        }
        Ok(state)
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let entropy = |state: Self::State| {
            let total = state.iter().map(|(_, count)| count).sum::<u64>() as f64;
            let part = |(_, count): (K::Key, u64)| {
                let share = count as f64 / total;
                share * share.log2()
            };
            let sum: f64 = state.sorted().into_iter().map(part).sum();
            0.0 - sum
        };
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, states.into_iter().map(entropy).collect()))
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.heap_bytes()
    }
}
