//! Tables without hashing: no keys at all, or one key of 8 or 16 bits whose distance from the least one is the group's number.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::{Int8Type, Int16Type, UInt8Type, UInt16Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use squall_functions::GroupIds;
use squall_types::{Column, DataType, Error, Result};

use super::key_table::{KeyTable, downcast_table};

/// The one group of an aggregation without keys.
pub(crate) struct SingleTable;

impl KeyTable for SingleTable {
    fn group_ids<'a>(&mut self, _: &'a [Column], _: usize, _: &'a mut Vec<u32>) -> Result<GroupIds<'a>> {
        Ok(GroupIds::Single)
    }

    fn groups(&self) -> usize {
        1
    }

    fn partition(&self, _: Range<usize>, _: &mut [Vec<u32>]) {}

    fn part(&self, _: &[u32]) -> Result<Box<dyn KeyTable>> {
        Err(Error::logical("the only group is not cut"))
    }

    fn merge(&mut self, _: &dyn KeyTable, groups: Range<usize>, to: &mut Vec<u32>) -> Result<()> {
        to.clear();
        to.resize(groups.len(), 0);
        Ok(())
    }

    fn columns(&self, _: Range<usize>) -> Result<Vec<Column>> {
        Ok(Vec::new())
    }

    fn memory_bytes(&self) -> usize {
        0
    }
}

/// One key whose bits, less those of the first one, are the group's number. Groups `0..slots` all have a state; which exist only the counts
/// tell. A part of a table is a range of its groups.
pub(crate) struct DirectTable {
    data_type: DataType,
    /// The bits of the first group's key. Numbers go round: behind a signed key of -1 comes 0.
    first: u16,
    slots: usize,
}

impl DirectTable {
    /// A table for a key of 8 or 16 bits that is one of `slots` values from `first` on. Keys of 8 bits begin with 0.
    pub(crate) fn new(types: &[DataType], first: u16, slots: usize) -> Self {
        Self { data_type: types.first().cloned().unwrap_or(DataType::UInt8), first, slots }
    }
}

impl KeyTable for DirectTable {
    fn group_ids<'a>(&mut self, keys: &'a [Column], _: usize, scratch: &'a mut Vec<u32>) -> Result<GroupIds<'a>> {
        let array = keys.first().map(Column::array).ok_or_else(|| Error::logical("a direct table without a key"))?;
        let bits = direct_ids(array).ok_or_else(|| Error::logical(format!("a direct table of {}", self.data_type)))?;
        let (GroupIds::Direct16(keys), first @ 1..) = (bits, self.first) else { return Ok(bits) };
        scratch.clear();
        scratch.resize(keys.len().div_ceil(2), 0);
        let ids = &mut bytemuck::cast_slice_mut::<u32, u16>(scratch)[..keys.len()];
        ids.iter_mut().zip(keys).for_each(|(id, key)| *id = key.wrapping_sub(first));
        Ok(GroupIds::Direct16(ids))
    }

    fn groups(&self) -> usize {
        self.slots
    }

    fn is_sparse(&self) -> bool {
        true
    }

    fn partition(&self, groups: Range<usize>, lists: &mut [Vec<u32>]) {
        let of_list = self.slots.div_ceil(lists.len()).max(1);
        groups.for_each(|group| lists[group / of_list].push(group as u32));
    }

    fn part(&self, groups: &[u32]) -> Result<Box<dyn KeyTable>> {
        let first = self.first.wrapping_add(groups.first().map_or(0, |group| *group as u16));
        Ok(Box::new(Self { data_type: self.data_type.clone(), first, slots: groups.len() }))
    }

    fn merge(&mut self, other: &dyn KeyTable, groups: Range<usize>, to: &mut Vec<u32>) -> Result<()> {
        downcast_table::<Self>(other)?;
        to.clear();
        to.extend(groups.map(|group| group as u32));
        Ok(())
    }

    fn columns(&self, groups: Range<usize>) -> Result<Vec<Column>> {
        fn values<T: arrow_array::ArrowPrimitiveType>(
            slots: impl Iterator<Item = u16>,
            of: impl Fn(u16) -> T::Native,
        ) -> ArrayRef {
            Arc::new(PrimitiveArray::<T>::new(slots.map(of).collect::<Vec<_>>().into(), None))
        }
        let groups = groups.map(|group| self.first.wrapping_add(group as u16));
        let array = match self.data_type.arrow_type() {
            arrow_schema::DataType::UInt8 => values::<UInt8Type>(groups, |slot| slot as u8),
            arrow_schema::DataType::Int8 => values::<Int8Type>(groups, |slot| slot as i8),
            arrow_schema::DataType::UInt16 => values::<UInt16Type>(groups, |slot| slot),
            arrow_schema::DataType::Int16 => values::<Int16Type>(groups, |slot| slot as i16),
            other => return Err(Error::logical(format!("a direct table of {other}"))),
        };
        Ok(vec![Column::new(self.data_type.clone(), array)])
    }

    fn memory_bytes(&self) -> usize {
        0
    }
}

/// The values of an 8- or 16-bit array as unsigned group numbers, without copying.
fn direct_ids(array: &ArrayRef) -> Option<GroupIds<'_>> {
    let any = array.as_any();
    if let Some(array) = any.downcast_ref::<PrimitiveArray<UInt8Type>>() {
        return Some(GroupIds::Direct8(array.values()));
    }
    if let Some(array) = any.downcast_ref::<PrimitiveArray<UInt16Type>>() {
        return Some(GroupIds::Direct16(array.values()));
    }
    if let Some(array) = any.downcast_ref::<PrimitiveArray<Int8Type>>() {
        return Some(GroupIds::Direct8(bytemuck::cast_slice(&array.values()[..])));
    }
    let array = any.downcast_ref::<PrimitiveArray<Int16Type>>()?;
    Some(GroupIds::Direct16(bytemuck::cast_slice(&array.values()[..])))
}
