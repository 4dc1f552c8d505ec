//! `groupUniqArray`: the distinct values of a group, in the order in which each first came by, up to a number of them.

use std::marker::PhantomData;
use std::sync::Arc;

use squall_types::{Column, DataType, Error, Result};

use crate::accumulator::AggregateFunction;

use super::element::{Element, list_column, read_list, with_element, write_list};
use super::family::Call;
use super::grouped::{self, StateFunction};
use super::hash_set::HashSet;
use super::row_hash::row_hashes;

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let argument = call.argument()?;
    let limit = call.limit()?.unwrap_or(usize::MAX);
    let data_type = DataType::array(argument.clone());
    Ok(with_element!(argument, E => grouped::function(GroupUniqArray::<E> { data_type, limit, element: PhantomData })))
}

#[derive(Debug)]
struct GroupUniqArray<E> {
    data_type: DataType,
    limit: usize,
    element: PhantomData<E>,
}

/// Distinct values with their hashes.
#[derive(Clone)]
pub(super) struct Values<V> {
    hashes: HashSet<u128>,
    values: Vec<(u128, V)>,
}

impl<V> Values<V> {
    #[inline]
    fn add(&mut self, hash: u128, limit: usize, value: impl FnOnce() -> V) {
        if self.values.len() < limit && self.hashes.insert(hash) {
            self.values.push((hash, value()));
        }
    }
}

impl<E: Element> StateFunction for GroupUniqArray<E> {
    type State = Values<E::Owned>;
    type Rows<'a> = (Vec<u128>, E::Rows<'a>);

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &self.data_type
    }

    fn state(&self) -> Self::State {
        Values { hashes: HashSet::default(), values: Vec::new() }
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("groupUniqArray takes one argument")) };
        Ok((row_hashes(arguments, column.rows()), E::rows(column)?))
    }

    fn make_room(&self, state: &mut Self::State, rows: usize) -> Result<()> {
        state.hashes.make_room(rows)
    }

    #[inline]
    fn add(&self, state: &mut Self::State, (hashes, rows): &Self::Rows<'_>, row: usize) {
        state.add(hashes[row], self.limit, || E::own(E::get(rows, row)));
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) {
        if into.values.is_empty() {
            *into = from;
            return;
        }
        from.values.into_iter().for_each(|(hash, value)| into.add(hash, self.limit, || value));
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        write_list::<E>(&self.data_type, state.values.iter().map(|(_, value)| value), out)
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let values = read_list::<E>(&self.data_type, bytes)?;
        // Hashes are not written: they are those of a column of the values.
        let DataType::Array(item) = &self.data_type else { return Err(Error::logical("a set that is no array")) };
        let column = E::column(item, values.iter().cloned())?;
        let hashes = row_hashes(std::slice::from_ref(&column), values.len());
        let mut state = self.state();
        hashes.into_iter().zip(values).for_each(|(hash, value)| state.add(hash, self.limit, || value));
        Ok(state)
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let lists =
            states.into_iter().map(|state| state.values.into_iter().map(|(_, value)| value).collect()).collect();
        list_column::<E>(&self.data_type, lists)
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        let values = state.values.capacity() * size_of::<(u128, E::Owned)>();
        state.hashes.memory_bytes() + values + state.values.iter().map(|(_, value)| E::heap_bytes(value)).sum::<usize>()
    }
}
