//! `any` and `anyLast`: the first and the last value that came by, in the order of the blocks as the engine hands them over;
//! with `_respect_nulls`, NULL is a value like any other.

use std::marker::PhantomData;
use std::sync::Arc;

use squall_types::{Column, DataType, Error, Result};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::element::{Element, with_element};

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let argument = call.argument()?;
    let (data_type, last) = (argument.clone(), call.name.starts_with("anyLast"));
    Ok(with_element!(argument, E => grouped::function(AnyOne::<E> { data_type, last, element: PhantomData })))
}

#[derive(Debug)]
struct AnyOne<E> {
    data_type: DataType,
    last: bool,
    element: PhantomData<E>,
}

impl<E: Element> StateFunction for AnyOne<E> {
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
        let [column] = arguments else { return Err(Error::logical("any takes one argument")) };
        E::rows(column)
    }

    #[inline]
    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        if self.last || state.is_none() {
            *state = Some(E::own(E::get(rows, row)));
        }
    }

    fn add_all(&self, state: &mut Self::State, rows: &Self::Rows<'_>, count: usize) {
        if count > 0 {
            self.add(state, rows, if self.last { count - 1 } else { 0 });
        }
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        if into.is_none() || self.last && from.is_some() {
            *into = from;
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
