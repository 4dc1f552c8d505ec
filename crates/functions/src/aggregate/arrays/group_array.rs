//! `groupArray`: the values of a group, in the order in which they came by, up to a number of them.

use std::marker::PhantomData;
use std::sync::Arc;

use squall_types::{Column, DataType, Error, Result};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::element::{Element, with_element};
use crate::aggregate::values::value_list::{ValueList, list_column, read_list, write_list};

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let argument = call.argument()?;
    let limit = call.limit()?.unwrap_or(usize::MAX);
    let data_type = DataType::array(argument.clone());
    Ok(with_element!(argument, E => grouped::function(GroupArray::<E> { data_type, limit, element: PhantomData })))
}

#[derive(Debug)]
struct GroupArray<E> {
    data_type: DataType,
    limit: usize,
    element: PhantomData<E>,
}

impl<E: Element> StateFunction for GroupArray<E> {
    type State = ValueList<E>;
    type Rows<'a> = E::Rows<'a>;

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &self.data_type
    }

    fn state(&self) -> Self::State {
        ValueList::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("groupArray takes one argument")) };
        E::rows(column)
    }

    fn make_room(&self, state: &mut Self::State, rows: usize) -> Result<()> {
        state.make_room(rows.min(self.limit.saturating_sub(state.len())))
    }

    #[inline]
    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        if state.len() < self.limit {
            state.push(E::own(E::get(rows, row)));
        }
    }

    fn merge(&self, into: &mut Self::State, mut from: Self::State) -> Result<()> {
        from.truncate(self.limit.saturating_sub(into.len()));
        into.append(from);
        Ok(())
    }

    fn items(&self, state: &Self::State) -> usize {
        state.len()
    }

    fn settle(&self, state: &mut Self::State, items: &mut usize) -> Result<bool> {
        state.settle(items)
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        write_list::<E>(&self.data_type, state.len(), state.iter(), out)
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        read_list::<E>(&self.data_type, bytes).map(ValueList::from)
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        list_column::<E>(&self.data_type, states.into_iter())
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.memory_bytes()
    }
}
