//! `groupUniqArray`: the distinct values of a group, up to a number of them, in the order of ClickHouse's hash tables.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

use squall_types::{Column, DataType, Error, Result, checkpoint};

use super::distinct_values::{CutValues, Keyed, Values};
use crate::accumulator::AggregateFunction;
use crate::aggregate::distinct::hash_set::SetKey;
use crate::aggregate::distinct::parted::{Part, Parted, part_of};
use crate::aggregate::distinct::uniq_exact::{HashKeys, Keys, PrimitiveKeys};
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::element::{Element, Primitive, with_element};
use crate::aggregate::values::number::with_number;
use crate::aggregate::values::slot_order::by_slots;
use crate::aggregate::values::state_bytes::put_varint;
use crate::aggregate::values::value_list::{ValueList, item_type, list_column, read_list, write_list};

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    Ok(function(call.argument()?, call.limit()?.unwrap_or(usize::MAX), true))
}

/// The function over values of a type, but with values in the order in which they came, as `-Distinct` wants them.
pub(in crate::aggregate) fn as_they_came(argument: &DataType) -> Arc<dyn AggregateFunction> {
    function(argument, usize::MAX, false)
}

fn function(argument: &DataType, limit: usize, by_slots: bool) -> Arc<dyn AggregateFunction> {
    let data_type = DataType::array(argument.clone());
    // A NULL, which only `-Distinct` lets through, is no number.
    let of_any = |data_type| with_element!(argument, E => grouped::function(GroupUniqArray::<E, HashKeys>::new(data_type, limit, by_slots)));
    if argument.is_nullable() {
        return of_any(data_type);
    }
    with_number!(argument,
        T => grouped::function(GroupUniqArray::<Primitive<T>, PrimitiveKeys<T>>::new(data_type, limit, by_slots)),
        otherwise of_any(data_type))
}

#[derive(Debug)]
struct GroupUniqArray<E, K> {
    data_type: DataType,
    limit: usize,
    /// Whether results are in the order of ClickHouse's hash tables.
    by_slots: bool,
    kinds: PhantomData<(E, K)>,
}

impl<E, K> GroupUniqArray<E, K> {
    fn new(data_type: DataType, limit: usize, by_slots: bool) -> Self {
        Self { data_type, limit, by_slots, kinds: PhantomData }
    }
}

/// A group's values. Where they are many they become a list when the group is finished, and are no longer in the set.
pub(in crate::aggregate) struct Distinct<E: Element<Owned: Keyed<K>>, K: SetKey> {
    set: Parted<Values<K, E::Owned>>,
    list: Option<Box<ValueList<E>>>,
    /// A part of what was cut: its list is put together with others before it becomes a column.
    is_part: bool,
}

impl<E: Element<Owned: Keyed<K>>, K: SetKey> Clone for Distinct<E, K> {
    fn clone(&self) -> Self {
        Self { set: self.set.clone(), list: self.list.clone(), is_part: self.is_part }
    }
}

impl<E: Element<Owned: Keyed<K>>, K: SetKey> Distinct<E, K> {
    fn new(set: Parted<Values<K, E::Owned>>) -> Self {
        Self { set, list: None, is_part: false }
    }

    /// Adds a value unless there are `limit` already. A set with a limit is not cut: it would not be known how many there are.
    #[inline]
    fn add(&mut self, key: K, limit: usize, value: impl FnOnce() -> E::Owned) {
        match &mut self.set {
            Parted::Whole(set) => {
                set.add(key, limit, value);
                if limit == usize::MAX {
                    self.set.cut_if_large();
                }
            }
            Parted::Parts(parts) => parts[part_of(key.hash())].add(key, value),
        }
    }
}

impl<E: Element<Owned: Keyed<K::Key>>, K: Keys> StateFunction for GroupUniqArray<E, K> {
    type State = Distinct<E, K::Key>;
    type Rows<'a> = (Cow<'a, [K::Key]>, E::Rows<'a>);

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &self.data_type
    }

    fn state(&self) -> Self::State {
        Distinct::new(Parted::default())
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("groupUniqArray takes one argument")) };
        Ok((K::keys(arguments)?, E::rows(column)?))
    }

    fn make_room(&self, state: &mut Self::State, rows: usize) -> Result<()> {
        match &state.set {
            Parted::Whole(set) => set.make_room(rows),
            Parted::Parts(_) => squall_types::reserve(rows.saturating_mul(4 * size_of::<(K::Key, E::Owned)>())),
        }
    }

    #[inline]
    fn add(&self, state: &mut Self::State, (keys, rows): &Self::Rows<'_>, row: usize) {
        state.add(keys[row], self.limit, || E::own(E::get(rows, row)));
    }

    const BRINGS_NEAR: bool = true;

    #[inline]
    fn bring_near(&self, state: &Self::State, (keys, _): &Self::Rows<'_>, row: usize) {
        let key = keys[row];
        match &state.set {
            Parted::Whole(set) => set.bring_near(key),
            Parted::Parts(parts) => parts[part_of(key.hash())].bring_near(key),
        }
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        if let Some(list) = from.list {
            into.list.get_or_insert_default().append(*list);
        }
        if self.can_cut() {
            return into.set.merge(from.set);
        }
        let Parted::Whole(values) = from.set else { return Err(Error::logical("a set with a limit was cut")) };
        values.into_iter().for_each(|(key, value)| into.add(key, self.limit, || value));
        Ok(())
    }

    fn items(&self, state: &Self::State) -> usize {
        state.set.len() + state.list.as_ref().map_or(0, |list| list.len())
    }

    fn can_cut(&self) -> bool {
        self.limit == usize::MAX
    }

    fn cut(&self, state: Self::State) -> Result<Vec<Self::State>> {
        let part = |part| Distinct { is_part: true, ..Distinct::new(Parted::Parts(vec![part])) };
        Ok(state.set.into_parts().into_iter().map(part).collect())
    }

    fn settle(&self, state: &mut Self::State, items: &mut usize) -> Result<bool> {
        if !state.set.is_cut() && !state.is_part && state.list.is_none() {
            *items = items.saturating_sub(state.set.len());
            return Ok(true);
        }
        let list = state.list.get_or_insert_default();
        if !state.set.is_taken() {
            if let Parted::Whole(set) = &mut state.set {
                *items = items.saturating_sub(set.len());
                std::mem::take(set).into_iter().for_each(|(_, value)| list.push(value));
            }
            for part in state.set.take_parts(*items) {
                *items = items.saturating_sub(part.len());
                checkpoint(8 * part.len())?;
                part.give(&mut |value| list.push(value));
            }
            return Ok(state.is_part && state.set.is_taken());
        }
        if state.is_part { Ok(true) } else { list.settle(items) }
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        match &state.set {
            Parted::Whole(set) => write_list::<E>(&self.data_type, set.len(), set.iter(), out),
            Parted::Parts(parts) => {
                let (mut count, mut written) = (0, Ok(()));
                parts.iter().for_each(|part| part.visit(&mut |_| count += 1));
                put_varint(count, out);
                let item = item_type(&self.data_type)?;
                let mut write = |value: &E::Owned| {
                    if written.is_ok() {
                        written = E::write(item, value, out);
                    }
                };
                parts.iter().for_each(|part| part.visit(&mut write));
                written
            }
        }
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let values = read_list::<E>(&self.data_type, bytes)?;
        // Keys are not written: they are those of a column of the values.
        let DataType::Array(item) = &self.data_type else { return Err(Error::logical("a set that is no array")) };
        let column = E::column(item, values.iter().cloned())?;
        let keys = K::keys(std::slice::from_ref(&column))?;
        let mut state = self.state();
        keys.iter().zip(values).for_each(|(&key, value)| state.add(key, self.limit, || value));
        Ok(state)
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let list = |state: Self::State| {
            let mut list = state.list.map(|list| *list).unwrap_or_default();
            match state.set {
                Parted::Whole(set) => {
                    list.append(ValueList::from(set.into_iter().map(|(_, value)| value).collect::<Vec<_>>()))
                }
                Parted::Parts(parts) => parts.into_iter().for_each(|part| part.give(&mut |value| list.push(value))),
            }
            list
        };
        let lists = list_column::<E>(&self.data_type, states.into_iter().map(list))?;
        if self.by_slots { by_slots(lists) } else { Ok(lists) }
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        let mut heap_bytes = 0;
        if E::HAS_HEAP {
            let mut add = |value: &E::Owned| heap_bytes += E::heap_bytes(value);
            match &state.set {
                Parted::Whole(set) => set.iter().for_each(add),
                Parted::Parts(parts) => parts.iter().for_each(|part| part.visit(&mut add)),
            }
        }
        state.set.memory_bytes() + heap_bytes + state.list.as_ref().map_or(0, |list| list.memory_bytes())
    }
}
