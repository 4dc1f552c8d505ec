//! Groups by one `LowCardinality` key: the dictionary's values are looked up once per dictionary, rows only by their codes.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, DictionaryArray, UInt32Array};
use squall_functions::GroupIds;
use squall_types::{Column, DataType, Error, Result};

use super::bounds::Bounds;
use super::coded_keys::CodedKeys;
use super::key_table::{KeyKind, KeyTable, downcast_table};

/// A table of the values, which rows find by their codes.
pub(crate) struct DictionaryTable {
    /// `LowCardinality(…)`.
    data_type: DataType,
    values: Box<dyn KeyTable>,
    codes: CodedKeys,
}

impl DictionaryTable {
    /// A table for a key of this `LowCardinality` type.
    pub(crate) fn new(data_type: &DataType) -> Self {
        let plain = [data_type.remove_low_cardinality().clone()];
        // Values come one by one, so that a direct table's sparseness would gain nothing.
        let values = match KeyKind::of(&plain, Bounds::default()) {
            KeyKind::Direct8 | KeyKind::Direct16 { .. } => KeyKind::Packed4,
            kind => kind,
        };
        Self::of_values(data_type.clone(), values.table(&plain))
    }

    fn of_values(data_type: DataType, values: Box<dyn KeyTable>) -> Self {
        Self { data_type, values, codes: CodedKeys::default() }
    }
}

impl KeyTable for DictionaryTable {
    fn group_ids<'a>(&mut self, keys: &'a [Column], _: usize, scratch: &'a mut Vec<u32>) -> Result<GroupIds<'a>> {
        let Self { values, codes, .. } = self;
        let is_found = codes.find(keys, scratch, |keys, rows| {
            let plain = keys.iter().map(Column::without_low_cardinality).collect::<Result<Vec<_>>>()?;
            let mut scratch = Vec::new();
            match values.group_ids(&plain, rows, &mut scratch)? {
                GroupIds::Each(groups) => Ok(groups.to_vec()),
                _ => Err(Error::logical("a dictionary's values are hashed")),
            }
        })?;
        if is_found {
            Ok(GroupIds::Each(scratch))
        } else {
            Err(Error::logical("a dictionary table without a dictionary"))
        }
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
        self.values.memory_bytes() + self.codes.memory_bytes()
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
