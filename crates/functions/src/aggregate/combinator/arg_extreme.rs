//! `-ArgMin` and `-ArgMax`: the function of the rows with the least or greatest last argument alone.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::UInt32Array;
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint};

use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};
use crate::aggregate::grouped::same;
use crate::aggregate::values::comparable;
use crate::aggregate::values::element::{Element, with_element};

pub(super) fn nested_arguments(arguments: &[DataType]) -> Result<Vec<DataType>> {
    arguments.split_last().map(|(_, nested)| nested.to_vec()).ok_or_else(|| {
        Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Incorrect number of arguments for aggregate function with ArgMin or ArgMax suffix",
        )
    })
}

pub(super) fn apply(
    function: Arc<dyn AggregateFunction>,
    arguments: &[DataType],
    greatest: bool,
) -> Result<Arc<dyn AggregateFunction>> {
    let key = arguments.last().ok_or_else(|| Error::logical("-ArgMin without a key"))?;
    comparable::check(if greatest { "with ArgMax suffix" } else { "with ArgMin suffix" }, key)?;
    let key_type = key.clone();
    Ok(with_element!(key, E => {
        let new = |nested, key_type, greatest| -> Box<dyn Accumulator> {
            Box::new(States::<E> { nested, count: 0, best: Vec::new(), key_type, greatest })
        };
        Arc::new(OfExtreme { function, key_type, greatest, new })
    }))
}

/// A function of the rows with an extreme key.
struct OfExtreme {
    function: Arc<dyn AggregateFunction>,
    key_type: DataType,
    greatest: bool,
    new: fn(Box<dyn Accumulator>, DataType, bool) -> Box<dyn Accumulator>,
}

impl std::fmt::Debug for OfExtreme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OfExtreme({:?})", self.function)
    }
}

impl AggregateFunction for OfExtreme {
    fn return_type(&self) -> &DataType {
        self.function.return_type()
    }

    fn accumulator(&self) -> Box<dyn Accumulator> {
        (self.new)(self.function.accumulator(), self.key_type.clone(), self.greatest)
    }
}

/// A better key takes a fresh state of the function: those of the keys before are left behind.
struct States<E: Element> {
    nested: Box<dyn Accumulator>,
    /// The states of `nested`.
    count: u32,
    /// The best key of each group so far, and the state of its rows.
    best: Vec<Option<(E::Owned, u32)>>,
    key_type: DataType,
    greatest: bool,
}

/// How a key compares with the best one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Compared {
    Better,
    Same,
    Worse,
}

impl<E: Element> States<E> {
    fn grow(&mut self, groups: usize) {
        if groups > self.best.len() {
            self.best.resize_with(groups, || None);
        }
    }

    fn compare(&self, key: E::Ref<'_>, group: usize) -> Compared {
        match &self.best[group] {
            None => Compared::Better,
            Some((best, _)) if E::replaces(key, E::as_ref(best), self.greatest) => Compared::Better,
            Some((best, _)) if E::replaces(E::as_ref(best), key, self.greatest) => Compared::Worse,
            Some(_) => Compared::Same,
        }
    }

    fn fresh(&mut self) -> u32 {
        self.count += 1;
        self.count - 1
    }

    /// Drops the states that were left behind once they are most of all.
    fn compact(&mut self) -> Result<()> {
        let live = self.best.iter().flatten().count();
        if (self.count as usize) < 1024 + 2 * live {
            return Ok(());
        }
        let states: Vec<u32> = self.best.iter().flatten().map(|(_, state)| *state).collect();
        self.nested = self.nested.take(&states)?;
        self.best.iter_mut().flatten().zip(0..).for_each(|((_, state), new)| *state = new);
        self.count = states.len() as u32;
        Ok(())
    }
}

impl<E: Element> Accumulator for States<E> {
    fn update(&mut self, group_ids: GroupIds<'_>, groups: usize, arguments: &[Column], rows: usize) -> Result<()> {
        self.grow(groups.max(1));
        let (key, nested) = arguments.split_last().ok_or_else(|| Error::logical("-ArgMin without a key"))?;
        let keys = E::rows(key)?;
        let group = |row: usize| match group_ids {
            GroupIds::Single => 0,
            GroupIds::Direct8(ids) => usize::from(ids[row]),
            GroupIds::Direct16(ids) => usize::from(ids[row]),
            GroupIds::Each(ids) => ids[row] as usize,
        };
        let mut bettered = vec![false; self.best.len()];
        for row in 0..rows {
            let key = E::get(&keys, row);
            let group = group(row);
            if self.compare(key, group) == Compared::Better {
                // One fresh state serves a block: only the rows with the block's best key come to it.
                let state = match &self.best[group] {
                    Some((_, state)) if bettered[group] => *state,
                    _ => self.fresh(),
                };
                bettered[group] = true;
                self.best[group] = Some((E::own(key), state));
            }
        }
        let (mut chosen, mut states) = (Vec::new(), Vec::new());
        for row in 0..rows {
            let group = group(row);
            if self.compare(E::get(&keys, row), group) == Compared::Same
                && let Some((_, state)) = &self.best[group]
            {
                chosen.push(row as u32);
                states.push(*state);
            }
        }
        let chosen = UInt32Array::from(chosen);
        let nested = nested.iter().map(|column| column.take(&chosen)?.materialize()).collect::<Result<Vec<_>>>()?;
        self.nested.update(GroupIds::Each(&states), self.count as usize, &nested, states.len())?;
        self.compact()
    }

    fn take(&mut self, groups: &[u32]) -> Result<Box<dyn Accumulator>> {
        let mut states = Vec::new();
        let mut best = Vec::with_capacity(groups.len());
        for group in groups {
            let taken = self.best.get_mut(*group as usize).and_then(Option::take);
            best.push(taken.map(|(key, state)| {
                states.push(state);
                (key, states.len() as u32 - 1)
            }));
        }
        Ok(Box::new(Self {
            nested: self.nested.take(&states)?,
            count: states.len() as u32,
            best,
            key_type: self.key_type.clone(),
            greatest: self.greatest,
        }))
    }

    fn merge_range(&mut self, other: &mut dyn Accumulator, first: usize, to: &[u32], groups: usize) -> Result<()> {
        let other = same::<Self>(other)?;
        self.grow(groups);
        let (mut from, mut into) = (Vec::new(), Vec::new());
        for (best, to) in other.best.iter_mut().skip(first).zip(to) {
            checkpoint(64)?;
            let Some((key, state)) = best.take() else { continue };
            let to = *to as usize;
            match self.compare(E::as_ref(&key), to) {
                Compared::Worse => continue,
                Compared::Same => {}
                Compared::Better => {
                    let fresh = self.fresh();
                    self.best[to] = Some((key, fresh));
                }
            }
            if let Some((_, mine)) = &self.best[to] {
                from.push(state);
                into.push(*mine);
            }
        }
        let mut taken = other.nested.take(&from)?;
        self.nested.merge_range(&mut *taken, 0, &into, self.count as usize)?;
        self.compact()
    }

    fn items(&self, groups: Range<usize>) -> usize {
        let best = self.best.get(groups.start.min(self.best.len())..groups.end.min(self.best.len()));
        let of_state = |(_, state): &(E::Owned, u32)| self.nested.items(*state as usize..*state as usize + 1);
        best.unwrap_or_default().iter().flatten().map(of_state).sum()
    }

    fn settle(&mut self) -> Result<bool> {
        self.nested.settle()
    }

    fn finish(mut self: Box<Self>, groups: usize) -> Result<Column> {
        self.grow(groups);
        // A group without rows has the result of a fresh state.
        let none = self.fresh();
        let results = self.nested.finish(self.count as usize)?;
        let states = self.best.iter().take(groups).map(|best| best.as_ref().map_or(none, |(_, state)| *state));
        results.take(&UInt32Array::from_iter_values(states))
    }

    fn serialize(&mut self, group: usize, out: &mut Vec<u8>) -> Result<()> {
        let best = self.best.get(group).and_then(Option::as_ref);
        // A state past the last one is a fresh one.
        let state = best.map_or(self.count, |(_, state)| *state);
        self.nested.serialize(state as usize, out)?;
        E::write_one(&self.key_type, best.map(|(key, _)| key), out)
    }

    fn merge_serialized(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        self.grow(group + 1);
        // The key comes behind the state.
        let fresh = self.fresh();
        self.nested.merge_serialized(fresh as usize, bytes)?;
        let Some(key) = E::read_one(&self.key_type, bytes)? else { return Ok(()) };
        match self.compare(E::as_ref(&key), group) {
            Compared::Worse => {}
            Compared::Better => self.best[group] = Some((key, fresh)),
            Compared::Same => {
                if let Some((_, mine)) = &self.best[group] {
                    let mut taken = self.nested.take(&[fresh])?;
                    self.nested.merge_range(&mut *taken, 0, &[*mine], self.count as usize)?;
                }
            }
        }
        self.compact()
    }

    fn memory_bytes(&self) -> usize {
        let keys: usize = self.best.iter().flatten().map(|(key, _)| E::heap_bytes(key)).sum();
        self.nested.memory_bytes() + self.best.capacity() * size_of::<Option<(E::Owned, u32)>>() + keys
    }
}
