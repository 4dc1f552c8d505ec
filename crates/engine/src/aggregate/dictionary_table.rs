//! Groups by one `LowCardinality` key: the dictionary's values are looked up once per dictionary, rows only by their codes.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, UInt32Array};
use squall_functions::GroupIds;
use squall_types::{Column, DataType, Error, Result};

use super::bounds::Bounds;
use super::key_table::{KeyKind, KeyTable, downcast_table};

/// A code whose value has not been looked up.
const UNKNOWN: u32 = u32::MAX;

/// A table of the values, and which group each code of the current dictionary has.
pub(crate) struct DictionaryTable {
    /// `LowCardinality(…)`.
    data_type: DataType,
    values: Box<dyn KeyTable>,
    /// The dictionary that the codes below belong to.
    dictionary: Option<ArrayRef>,
    group_of_code: Vec<u32>,
    group_of_null: u32,
}

impl DictionaryTable {
    /// A table for a key of this `LowCardinality` type.
    pub(crate) fn new(data_type: &DataType) -> Self {
        let plain = [data_type.remove_low_cardinality().clone()];
        // Values come one by one, so that a direct table's sparseness would gain nothing.
        let values = match KeyKind::of(&plain, Bounds::default()) {
            KeyKind::Direct8 | KeyKind::Direct16 { .. } => KeyKind::Packed8,
            kind => kind,
        };
        Self::of_values(data_type.clone(), values.table(&plain))
    }

    fn of_values(data_type: DataType, values: Box<dyn KeyTable>) -> Self {
        Self { data_type, values, dictionary: None, group_of_code: Vec::new(), group_of_null: UNKNOWN }
    }

    /// Looks up the values of codes that rows use for the first time.
    fn look_up(&mut self, dictionary: &DictionaryArray<UInt32Type>) -> Result<()> {
        let (keys, values) = (dictionary.keys(), dictionary.values());
        if !self.dictionary.as_ref().is_some_and(|known| Arc::ptr_eq(known, values)) {
            self.dictionary = Some(values.clone());
            self.group_of_code = vec![UNKNOWN; values.len()];
        }
        const WANTED: u32 = UNKNOWN - 1;
        let mut new_codes: Vec<Option<u32>> = Vec::new();
        for row in 0..keys.len() {
            if keys.is_null(row) {
                if self.group_of_null == UNKNOWN {
                    self.group_of_null = WANTED;
                    new_codes.push(None);
                }
            } else if let Some(group) = self.group_of_code.get_mut(keys.value(row) as usize)
                && *group == UNKNOWN
            {
                *group = WANTED;
                new_codes.push(Some(keys.value(row)));
            }
        }
        if new_codes.is_empty() {
            return Ok(());
        }
        let new_values = arrow_select::take::take(values, &UInt32Array::from(new_codes.clone()), None)?;
        let column = [Column::new(self.data_type.remove_low_cardinality().clone(), new_values)];
        let mut scratch = Vec::new();
        let GroupIds::Each(groups) = self.values.group_ids(&column, new_codes.len(), &mut scratch)? else {
            return Err(Error::logical("a dictionary's values are hashed"));
        };
        for (code, group) in new_codes.into_iter().zip(groups) {
            match code {
                Some(code) => self.group_of_code[code as usize] = *group,
                None => self.group_of_null = *group,
            }
        }
        Ok(())
    }
}

impl KeyTable for DictionaryTable {
    fn group_ids<'a>(&mut self, keys: &'a [Column], _: usize, scratch: &'a mut Vec<u32>) -> Result<GroupIds<'a>> {
        let key = keys.first().and_then(|key| key.array().as_dictionary_opt::<UInt32Type>());
        let dictionary = key.ok_or_else(|| Error::logical("a dictionary table without a dictionary"))?;
        self.look_up(dictionary)?;
        let codes = dictionary.keys();
        scratch.clear();
        match codes.nulls() {
            None => scratch.extend(codes.values().iter().map(|code| self.group_of_code[*code as usize])),
            Some(nulls) => scratch.extend(codes.values().iter().zip(nulls).map(|(code, is_valid)| {
                if is_valid { self.group_of_code[*code as usize] } else { self.group_of_null }
            })),
        }
        Ok(GroupIds::Each(scratch))
    }

    fn groups(&self) -> usize {
        self.values.groups()
    }

    fn partition(&self, groups: Range<usize>, lists: &mut [Vec<u32>]) {
        self.values.partition(groups, lists);
    }

    fn part(&self, groups: &[u32]) -> Result<Box<dyn KeyTable>> {
        Ok(Box::new(Self::of_values(self.data_type.clone(), self.values.part(groups)?)))
    }

    fn merge(&mut self, other: &dyn KeyTable, groups: Range<usize>, to: &mut Vec<u32>) -> Result<()> {
        self.values.merge(&*downcast_table::<Self>(other)?.values, groups, to)
    }

    fn reserve_groups(&mut self, groups: usize) -> Result<()> {
        self.values.reserve_groups(groups)
    }

    fn memory_bytes(&self) -> usize {
        self.values.memory_bytes() + self.group_of_code.capacity() * size_of::<u32>()
    }

    fn columns(&self, groups: Range<usize>) -> Result<Vec<Column>> {
        let values = self.values.columns(groups)?;
        let array = values.first().map(Column::array).ok_or_else(|| Error::logical("a table without a key"))?;
        // The values are distinct already: they are the dictionary, and each row is its own code.
        let valid = |row: usize| (!array.is_null(row)).then_some(row as u32);
        let keys: UInt32Array = (0..array.len()).map(valid).collect();
        let dictionary = DictionaryArray::try_new(keys, array.clone())?;
        Ok(vec![Column::new(self.data_type.clone(), Arc::new(dictionary))])
    }
}
