//! `min` and `max` of any type that has an order. NaN counts only where there is nothing else.

use std::marker::PhantomData;
use std::sync::Arc;

use squall_types::{Column, DataType, Error, Result};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::comparable;
use crate::aggregate::values::element::{Element, with_element};

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let argument = call.argument()?;
    comparable::check(call.name, argument)?;
    let (data_type, greatest) = (argument.clone(), call.name == "max");
    Ok(with_element!(argument, E => grouped::function(Extreme::<E> { data_type, greatest, element: PhantomData })))
}

#[derive(Debug)]
struct Extreme<E> {
    data_type: DataType,
    greatest: bool,
    element: PhantomData<E>,
}

impl<E: Element> Extreme<E> {
    #[inline]
    fn offer(&self, state: &mut Option<E::Owned>, value: E::Ref<'_>) {
        match state {
            Some(best) if !E::replaces(value, E::as_ref(best), self.greatest) => {}
            _ => *state = Some(E::own(value)),
        }
    }
}

impl<E: Element> StateFunction for Extreme<E> {
    type State = Option<E::Owned>;
    type Rows<'a> = E::Rows<'a>;

    const HAS_HEAP: bool = E::HAS_HEAP;

    fn return_type(&self) -> &DataType {
        &self.data_type
    }

    fn state(&self) -> Self::State {
        None
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("min and max take one argument")) };
        E::rows(column)
    }

    #[inline]
    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        self.offer(state, E::get(rows, row));
    }

    fn add_all(&self, state: &mut Self::State, rows: &Self::Rows<'_>, count: usize) {
        match E::extreme(rows, count, self.greatest) {
            Some(extreme) => self.offer(state, extreme),
            None => (0..count).for_each(|row| self.offer(state, E::get(rows, row))),
        }
    }

    fn add_times(&self, state: &mut Self::State, rows: &Self::Rows<'_>, _: usize) -> bool {
        self.add(state, rows, 0);
        true
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        match (&*into, &from) {
            (_, None) => {}
            (Some(best), Some(value)) if !E::replaces(E::as_ref(value), E::as_ref(best), self.greatest) => {}
            _ => *into = from,
        }
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        E::write_one(&self.data_type, state.as_ref(), out)
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        E::read_one(&self.data_type, bytes)
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        E::column(&self.data_type, states.into_iter().map(|state| state.unwrap_or_else(|| E::default(&self.data_type))))
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.as_ref().map_or(0, E::heap_bytes)
    }
}
