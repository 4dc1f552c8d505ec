//! Combinators that keep several states of the function under them for each group: one for each place of arrays (`-ForEach`), for each
//! key of maps (`-Map`), for each interval of a number (`-Resample`). The states are groups of one accumulator, and each group here
//! knows which of them are its own.

use std::ops::Range;
use std::sync::Arc;

use squall_types::{Column, DataType, Error, Result, checkpoint};

use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};
use crate::aggregate::grouped::same;
use arrow_array::UInt32Array;

/// Which states a group has.
pub(super) trait Places: Default + Clone + Send + 'static {
    /// The states, in the order of the places.
    fn states(&self) -> impl Iterator<Item = u32>;

    /// The same places with other states: the next of `states` each, in order.
    #[must_use]
    fn with_states(&self, states: &mut dyn Iterator<Item = u32>) -> Self;

    /// The states of another group's places here, in that group's order; `fresh` gives a state for a place that is new.
    fn find(&mut self, other: &Self, fresh: &mut dyn FnMut() -> u32) -> Vec<u32>;

    fn heap_bytes(&self) -> usize;
}

/// A list of places that are numbered.
impl Places for Vec<u32> {
    fn states(&self) -> impl Iterator<Item = u32> {
        self.iter().copied()
    }

    fn with_states(&self, states: &mut dyn Iterator<Item = u32>) -> Self {
        states.take(self.len()).collect()
    }

    fn find(&mut self, other: &Self, fresh: &mut dyn FnMut() -> u32) -> Vec<u32> {
        while self.len() < other.len() {
            self.push(fresh());
        }
        self[..other.len()].to_vec()
    }

    fn heap_bytes(&self) -> usize {
        self.capacity() * size_of::<u32>()
    }
}

/// Where the items of a row go, what a group's results make together, and how its state is written.
pub(super) trait Fan: Clone + Send + Sync + 'static {
    type Places: Places;

    /// The places of a new group.
    fn places(&self, _fresh: &mut dyn FnMut() -> u32) -> Self::Places {
        Self::Places::default()
    }

    /// The arguments of the function under the combinator, one row for each item, and the state of each item.
    fn split(
        &self,
        arguments: &[Column],
        rows: usize,
        group: &dyn Fn(usize) -> usize,
        groups: &mut [Self::Places],
        fresh: &mut dyn FnMut() -> u32,
    ) -> Result<(Vec<Column>, Vec<u32>)>;

    /// The results, given those of all places of each group one after the other.
    fn finish(&self, return_type: &DataType, groups: &[Self::Places], results: Column) -> Result<Column>;

    /// Appends a group's state; `state` appends that of a place.
    fn write(
        &self,
        places: &Self::Places,
        state: &mut dyn FnMut(u32, &mut Vec<u8>) -> Result<()>,
        out: &mut Vec<u8>,
    ) -> Result<()>;

    /// Takes a group's state from the front of `bytes`; `state` takes that of a place into a state.
    fn read(
        &self,
        places: &mut Self::Places,
        fresh: &mut dyn FnMut() -> u32,
        state: &mut dyn FnMut(u32, &mut &[u8]) -> Result<()>,
        bytes: &mut &[u8],
    ) -> Result<()>;
}

/// A function with several states for each group.
pub(super) struct Fanned<F> {
    function: Arc<dyn AggregateFunction>,
    return_type: DataType,
    fan: F,
}

impl<F> std::fmt::Debug for Fanned<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Fanned({:?})", self.function)
    }
}

impl<F: Fan> Fanned<F> {
    pub fn boxed(function: Arc<dyn AggregateFunction>, return_type: DataType, fan: F) -> Arc<dyn AggregateFunction> {
        Arc::new(Self { function, return_type, fan })
    }
}

impl<F: Fan> AggregateFunction for Fanned<F> {
    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn accumulator(&self) -> Box<dyn Accumulator> {
        Box::new(States {
            nested: self.function.accumulator(),
            count: 0,
            groups: Vec::new(),
            return_type: self.return_type.clone(),
            fan: self.fan.clone(),
        })
    }
}

struct States<F: Fan> {
    nested: Box<dyn Accumulator>,
    /// The states of `nested`.
    count: u32,
    groups: Vec<F::Places>,
    return_type: DataType,
    fan: F,
}

impl<F: Fan> States<F> {
    fn grow(&mut self, groups: usize) -> Result<()> {
        if groups > self.groups.len() {
            let more = groups - self.groups.len();
            squall_types::grow(&mut self.groups, more)?;
            let Self { fan, count, groups: all, .. } = self;
            all.resize_with(groups, || fan.places(&mut || next(count)));
        }
        Ok(())
    }
}

/// The number of a new state.
fn next(count: &mut u32) -> u32 {
    let state = *count;
    *count += 1;
    state
}

impl<F: Fan> Accumulator for States<F> {
    fn update(&mut self, group_ids: GroupIds<'_>, groups: usize, arguments: &[Column], rows: usize) -> Result<()> {
        self.grow(groups.max(1))?;
        let group = |row: usize| match group_ids {
            GroupIds::Single => 0,
            GroupIds::Direct8(ids) => usize::from(ids[row]),
            GroupIds::Direct16(ids) => usize::from(ids[row]),
            GroupIds::Each(ids) => ids[row] as usize,
        };
        let Self { nested, count, groups: all, fan, .. } = self;
        let (items, states) = fan.split(arguments, rows, &group, all, &mut || next(count))?;
        nested.update(GroupIds::Each(&states), *count as usize, &items, states.len())
    }

    fn take(&mut self, groups: &[u32]) -> Result<Box<dyn Accumulator>> {
        let mut states = Vec::new();
        let mut taken = Vec::with_capacity(groups.len());
        let mut count = 0;
        for group in groups {
            checkpoint(64)?;
            let places = match self.groups.get_mut(*group as usize) {
                Some(places) => std::mem::take(places),
                None => self.fan.places(&mut || next(&mut self.count)),
            };
            states.extend(places.states());
            taken.push(places.with_states(&mut std::iter::from_fn(|| Some(next(&mut count)))));
        }
        Ok(Box::new(Self {
            nested: self.nested.take(&states)?,
            count,
            groups: taken,
            return_type: self.return_type.clone(),
            fan: self.fan.clone(),
        }))
    }

    fn merge_range(&mut self, other: &mut dyn Accumulator, first: usize, to: &[u32], groups: usize) -> Result<()> {
        let other = same::<Self>(other)?;
        self.grow(groups)?;
        let (mut from, mut into) = (Vec::new(), Vec::new());
        for (places, to) in other.groups.iter().skip(first).zip(to) {
            checkpoint(64)?;
            from.extend(places.states());
            let count = &mut self.count;
            into.extend(self.groups[*to as usize].find(places, &mut || next(count)));
        }
        let mut taken = other.nested.take(&from)?;
        self.nested.merge_range(&mut *taken, 0, &into, self.count as usize)
    }

    fn items(&self, groups: Range<usize>) -> usize {
        let places = self.groups.get(groups.start.min(self.groups.len())..groups.end.min(self.groups.len()));
        let of_state = |state: u32| 1 + self.nested.items(state as usize..state as usize + 1);
        places.unwrap_or_default().iter().flat_map(Places::states).map(of_state).sum()
    }

    fn settle(&mut self) -> Result<bool> {
        self.nested.settle()
    }

    fn finish(mut self: Box<Self>, groups: usize) -> Result<Column> {
        self.grow(groups)?;
        self.groups.truncate(groups);
        let results = self.nested.finish(self.count as usize)?;
        let states = UInt32Array::from_iter_values(self.groups.iter().flat_map(Places::states));
        self.fan.finish(&self.return_type, &self.groups, results.take(&states)?.materialize()?)
    }

    fn serialize(&mut self, group: usize, out: &mut Vec<u8>) -> Result<()> {
        self.grow(group + 1)?;
        let Self { nested, groups, fan, .. } = self;
        fan.write(&groups[group], &mut |state, out| nested.serialize(state as usize, out), out)
    }

    fn merge_serialized(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        self.grow(group + 1)?;
        let Self { nested, groups, fan, count, .. } = self;
        let mut read = |state: u32, bytes: &mut &[u8]| nested.merge_serialized(state as usize, bytes);
        fan.read(&mut groups[group], &mut || next(count), &mut read, bytes)
    }

    fn memory_bytes(&self) -> usize {
        let places: usize = self.groups.iter().map(Places::heap_bytes).sum();
        self.nested.memory_bytes() + self.groups.capacity() * size_of::<F::Places>() + places
    }
}

/// The column of arrays whose items are `results`, as many for each group as `lengths` says.
pub(super) fn arrays(return_type: &DataType, lengths: impl Iterator<Item = usize>, results: &Column) -> Result<Column> {
    let DataType::Array(item) = return_type else { return Err(Error::logical("results that are no arrays")) };
    let offsets = arrow_buffer::OffsetBuffer::from_lengths(lengths);
    let array = arrow_array::ListArray::try_new(item.arrow_list_item(), offsets, results.array().clone(), None)?;
    Ok(Column::new(return_type.clone(), Arc::new(array)))
}
