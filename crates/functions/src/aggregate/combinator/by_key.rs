//! `-Map`: the function for each key of maps, which makes a map of results, in the order of the keys.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ListArray, StructArray};
use arrow_buffer::OffsetBuffer;
use hashbrown::HashMap;
use squall_types::{Column, ColumnBuilder, DataType, Error, ErrorCode, Result, checkpoint};

use super::fanned::{Fan, Fanned, Places};
use crate::accumulator::AggregateFunction;
use crate::aggregate::plain::plain;
use crate::aggregate::values::row_hash::row_hashes;
use crate::aggregate::values::state_bytes::{put_value, put_varint, take_count, take_value};
use crate::aggregate::values::value_key::ValueKey as Key;

pub(super) fn nested_arguments(arguments: &[DataType]) -> Result<Vec<DataType>> {
    let wrong =
        |what: &str| Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, format!("Aggregate function Map requires {what}"));
    match arguments {
        [DataType::Map(_, value)] => Ok(vec![value.remove_low_cardinality().clone()]),
        [] => Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Incorrect number of arguments for aggregate function with Map suffix",
        )),
        _ => Err(wrong("map as argument")),
    }
}

pub(super) fn apply(
    function: Arc<dyn AggregateFunction>,
    arguments: &[DataType],
) -> Result<Arc<dyn AggregateFunction>> {
    let [DataType::Map(key, _)] = arguments else { return Err(Error::logical("-Map of no map")) };
    let return_type = DataType::Map(key.clone(), Arc::new(function.return_type().clone()));
    Ok(Fanned::boxed(function, return_type, ByKey { key: (**key).clone() }))
}

impl Places for BTreeMap<Key, u32> {
    fn states(&self) -> impl Iterator<Item = u32> {
        self.values().copied()
    }

    fn with_states(&self, states: &mut dyn Iterator<Item = u32>) -> Self {
        self.keys().cloned().zip(states).collect()
    }

    fn find(&mut self, other: &Self, fresh: &mut dyn FnMut() -> u32) -> Vec<u32> {
        other.keys().map(|key| *self.entry(key.clone()).or_insert_with(&mut *fresh)).collect()
    }

    fn heap_bytes(&self) -> usize {
        self.len() * 2 * size_of::<(Key, u32)>()
    }
}

#[derive(Clone)]
struct ByKey {
    key: DataType,
}

impl Fan for ByKey {
    type Places = BTreeMap<Key, u32>;

    fn split(
        &self,
        arguments: &[Column],
        rows: usize,
        group: &dyn Fn(usize) -> usize,
        groups: &mut [Self::Places],
        fresh: &mut dyn FnMut() -> u32,
    ) -> Result<(Vec<Column>, Vec<u32>)> {
        let wrong = || Error::logical("-Map over a column that is no map");
        let [column] = arguments else { return Err(wrong()) };
        let DataType::Map(key, value) = column.data_type() else { return Err(wrong()) };
        let list = column.array().as_list_opt::<i32>().ok_or_else(wrong)?;
        let entries = list.values().as_struct_opt().ok_or_else(wrong)?;
        let (start, end) = (list.value_offsets()[0] as usize, list.value_offsets()[rows] as usize);
        let part = |at: usize, data_type: &DataType| {
            Column::new(data_type.clone(), entries.column(at).slice(start, end - start))
        };
        let (keys, values) = (plain(&part(0, key))?, plain(&part(1, value))?);
        let hashes = row_hashes(std::slice::from_ref(&keys), end - start)?;
        // Rows mostly have the keys of others: these are looked up by their hashes.
        let mut known: HashMap<(usize, u128), u32> = HashMap::new();
        let mut states = Vec::with_capacity(end - start);
        for (row, length) in list.offsets().lengths().take(rows).enumerate() {
            let group = group(row);
            for _ in 0..length {
                checkpoint(64)?;
                let item = states.len();
                let state = known
                    .entry((group, hashes[item]))
                    .or_insert_with(|| *groups[group].entry(Key(keys.value(item))).or_insert_with(&mut *fresh));
                states.push(*state);
            }
        }
        Ok((vec![values], states))
    }

    fn finish(&self, return_type: &DataType, groups: &[Self::Places], results: Column) -> Result<Column> {
        let mut keys = ColumnBuilder::new(self.key.clone());
        for key in groups.iter().flat_map(BTreeMap::keys) {
            checkpoint(64)?;
            keys.append(&key.0)?;
        }
        let entry = return_type.map_entry_type();
        let columns = vec![keys.finish()?.to_array()?, results.to_array()?];
        let entries = StructArray::try_new(entry.arrow_fields(), columns, None)?;
        let offsets = OffsetBuffer::from_lengths(groups.iter().map(BTreeMap::len));
        let array = ListArray::try_new(entry.arrow_list_item(), offsets, Arc::new(entries), None)?;
        Ok(Column::new(return_type.clone(), Arc::new(array)))
    }

    fn write(
        &self,
        places: &Self::Places,
        state: &mut dyn FnMut(u32, &mut Vec<u8>) -> Result<()>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        put_varint(places.len() as u64, out);
        for (key, place) in places {
            put_value(&key.0, &self.key, out)?;
            state(*place, out)?;
        }
        Ok(())
    }

    fn read(
        &self,
        places: &mut Self::Places,
        fresh: &mut dyn FnMut() -> u32,
        state: &mut dyn FnMut(u32, &mut &[u8]) -> Result<()>,
        bytes: &mut &[u8],
    ) -> Result<()> {
        for _ in 0..take_count(bytes)? {
            checkpoint(64)?;
            let key = Key(take_value(bytes, &self.key)?);
            state(*places.entry(key).or_insert_with(&mut *fresh), bytes)?;
        }
        Ok(())
    }
}
