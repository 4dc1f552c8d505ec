//! `anyHeavy`: a value that makes up more than half of a group, if there is one (Boyer and Moore's majority vote, by Misra and Gries).
//! `singleValueOrNull`: the value of a group that has only one.

use std::marker::PhantomData;
use std::sync::Arc;

use squall_types::{Column, DataType, Error, Result};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::element::{Element, with_element};
use crate::aggregate::values::state_bytes::Raw;

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let argument = call.argument()?;
    let data_type = argument.clone();
    Ok(with_element!(argument, E => grouped::function(AnyHeavy::<E> { data_type, element: PhantomData })))
}

#[derive(Debug)]
struct AnyHeavy<E> {
    data_type: DataType,
    element: PhantomData<E>,
}

/// Whether two values are the same: neither is less.
fn same<E: Element>(left: E::Ref<'_>, right: E::Ref<'_>) -> bool {
    !E::replaces(left, right, true) && !E::replaces(left, right, false)
}

/// The value that leads, and by how many.
#[derive(Clone)]
pub(in crate::aggregate) struct Leader<V> {
    value: Option<V>,
    lead: u64,
}

impl<E: Element> StateFunction for AnyHeavy<E> {
    type State = Leader<E::Owned>;
    type Rows<'a> = E::Rows<'a>;

    const HAS_HEAP: bool = E::HAS_HEAP;

    fn return_type(&self) -> &DataType {
        &self.data_type
    }

    fn state(&self) -> Self::State {
        Leader { value: None, lead: 0 }
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("anyHeavy takes one argument")) };
        E::rows(column)
    }

    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        let value = E::get(rows, row);
        match &state.value {
            Some(leader) if same::<E>(E::as_ref(leader), value) => state.lead += 1,
            Some(_) if state.lead > 0 => state.lead -= 1,
            _ => *state = Leader { value: Some(E::own(value)), lead: 1 },
        }
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        match (&into.value, &from.value) {
            (_, None) => {}
            (Some(mine), Some(other)) if same::<E>(E::as_ref(mine), E::as_ref(other)) => into.lead += from.lead,
            (Some(_), Some(_)) if into.lead >= from.lead => into.lead -= from.lead,
            _ => {
                let lead = from.lead - into.lead;
                *into = Leader { lead, ..from };
            }
        }
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        E::write_one(&self.data_type, state.value.as_ref(), out)?;
        state.lead.put(out);
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        Ok(Leader { value: E::read_one(&self.data_type, bytes)?, lead: Raw::take(bytes)? })
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let value = |state: Self::State| state.value.unwrap_or_else(|| E::default(&self.data_type));
        E::column(&self.data_type, states.into_iter().map(value))
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.value.as_ref().map_or(0, E::heap_bytes)
    }
}

pub(in crate::aggregate) fn resolve_single(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let argument = call.argument()?;
    let return_type = argument.to_nullable();
    if !return_type.is_nullable() {
        return Err(Error::new(
            squall_types::ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Nested type {argument} cannot be inside Nullable type"),
        ));
    }
    let data_type = argument.clone();
    Ok(with_element!(argument, E => grouped::function(Single::<E> { data_type, return_type, element: PhantomData })))
}

#[derive(Debug)]
struct Single<E> {
    data_type: DataType,
    return_type: DataType,
    element: PhantomData<E>,
}

/// The value, and whether there were others.
#[derive(Clone)]
pub(in crate::aggregate) struct First<V> {
    value: Option<V>,
    others: bool,
}

impl<E: Element> StateFunction for Single<E> {
    type State = First<E::Owned>;
    type Rows<'a> = E::Rows<'a>;

    const HAS_HEAP: bool = E::HAS_HEAP;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        First { value: None, others: false }
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("singleValueOrNull takes one argument")) };
        E::rows(column)
    }

    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        let value = E::get(rows, row);
        match &state.value {
            None => state.value = Some(E::own(value)),
            Some(first) => state.others |= !same::<E>(E::as_ref(first), value),
        }
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        match (&into.value, &from.value) {
            (_, None) => {}
            (None, _) => *into = from,
            (Some(mine), Some(other)) => {
                into.others |= from.others || !same::<E>(E::as_ref(mine), E::as_ref(other));
            }
        }
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        E::write_one(&self.data_type, state.value.as_ref(), out)?;
        // ClickHouse's form has no place for it. What it reads as a value that is there, with no string as none, leaves room for it.
        if state.others
            && let Some(flag) = out.get_mut(start)
        {
            if self.data_type == DataType::String {
                out.truncate(start);
                (-2_i32).put(out);
            } else {
                *flag = 3;
            }
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let others = match self.data_type {
            DataType::String => bytes.starts_with(&(-2_i32).to_le_bytes()),
            _ => bytes.first() == Some(&3),
        };
        let value = E::read_one(&self.data_type, bytes)?;
        let value = if others { value.or_else(|| Some(E::default(&self.data_type))) } else { value };
        Ok(First { value, others })
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let is_single = states.iter().map(|state| state.value.is_some() && !state.others);
        let valid = arrow_buffer::NullBuffer::from_iter(is_single);
        let value = |state: Self::State| state.value.unwrap_or_else(|| E::default(&self.data_type));
        let column = E::column(&self.data_type, states.into_iter().map(value))?;
        column.to_nullable(arrow_buffer::NullBuffer::union(column.nulls(), Some(&valid)))
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.value.as_ref().map_or(0, E::heap_bytes)
    }
}
