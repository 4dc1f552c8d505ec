//! `-Distinct`: each combination of arguments reaches the function once a group. The arguments themselves are kept, since two
//! accumulators can only be merged by the values that one has and the other has not.

use std::sync::Arc;

use squall_types::{Column, ColumnBuilder, DataType, Error, Result, Value, checkpoint};

use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};
use crate::aggregate::distinct::hash_set::HashSet;
use crate::aggregate::grouped::same;
use crate::aggregate::values::row_hash::row_hashes;
use crate::aggregate::values::state_bytes::{put_value, put_varint, take_count, take_value};

/// A function of distinct values.
#[derive(Debug)]
pub(super) struct Distinct {
    function: Arc<dyn AggregateFunction>,
    arguments: Arc<[DataType]>,
}

impl Distinct {
    pub fn new(function: Arc<dyn AggregateFunction>, arguments: &[DataType]) -> Self {
        Self { function, arguments: arguments.into() }
    }
}

impl AggregateFunction for Distinct {
    fn return_type(&self) -> &DataType {
        self.function.return_type()
    }

    fn accumulator(&self) -> Box<dyn Accumulator> {
        Box::new(DistinctRows {
            function: self.function.clone(),
            arguments: self.arguments.clone(),
            groups: Vec::new(),
        })
    }
}

struct DistinctRows {
    function: Arc<dyn AggregateFunction>,
    arguments: Arc<[DataType]>,
    groups: Vec<Rows>,
}

/// The distinct arguments of one group, in the order in which they came.
#[derive(Default)]
struct Rows {
    hashes: HashSet<u128>,
    rows: Vec<(u128, Box<[Value]>)>,
}

impl Rows {
    fn add(&mut self, hash: u128, row: impl FnOnce() -> Box<[Value]>) {
        if self.hashes.insert(hash) {
            self.rows.push((hash, row()));
        }
    }
}

impl DistinctRows {
    fn grow(&mut self, groups: usize) {
        if groups > self.groups.len() {
            self.groups.resize_with(groups, Rows::default);
        }
    }
}

impl Accumulator for DistinctRows {
    fn update(&mut self, group_ids: GroupIds<'_>, groups: usize, arguments: &[Column], rows: usize) -> Result<()> {
        self.grow(groups);
        for (row, hash) in row_hashes(arguments, rows)?.into_iter().enumerate() {
            let group = match group_ids {
                GroupIds::Single => 0,
                GroupIds::Direct8(ids) => usize::from(ids[row]),
                GroupIds::Direct16(ids) => usize::from(ids[row]),
                GroupIds::Each(ids) => ids[row] as usize,
            };
            self.groups[group].add(hash, || arguments.iter().map(|argument| argument.value(row)).collect());
        }
        Ok(())
    }

    fn take(&mut self, groups: &[u32]) -> Result<Box<dyn Accumulator>> {
        let take = |group: &u32| self.groups.get_mut(*group as usize).map(std::mem::take).unwrap_or_default();
        let groups = groups.iter().map(take).collect();
        Ok(Box::new(Self { function: self.function.clone(), arguments: self.arguments.clone(), groups }))
    }

    fn merge_range(&mut self, other: &mut dyn Accumulator, first: usize, to: &[u32], groups: usize) -> Result<()> {
        let other = same::<Self>(other)?;
        self.grow(groups);
        for (from, &to) in other.groups.iter_mut().skip(first).zip(to) {
            let into = &mut self.groups[to as usize];
            for (hash, row) in std::mem::take(from).rows {
                checkpoint(64)?;
                into.add(hash, || row);
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>, groups: usize) -> Result<Column> {
        let mut builders: Vec<ColumnBuilder> = self.arguments.iter().cloned().map(ColumnBuilder::new).collect();
        let mut ids = Vec::new();
        for (group, rows) in self.groups.iter().enumerate() {
            for (_, row) in &rows.rows {
                checkpoint(64)?;
                ids.push(group as u32);
                builders.iter_mut().zip(row).try_for_each(|(builder, value)| builder.append(value))?;
            }
        }
        let columns = builders.into_iter().map(ColumnBuilder::finish).collect::<Result<Vec<_>>>()?;
        let mut nested = self.function.accumulator();
        nested.update(GroupIds::Each(&ids), groups, &columns, ids.len())?;
        nested.finish(groups)
    }

    fn serialize(&mut self, group: usize, out: &mut Vec<u8>) -> Result<()> {
        let rows = self.groups.get(group).map_or(&[][..], |group| &group.rows[..]);
        put_varint(rows.len() as u64, out);
        for (_, row) in rows {
            for (value, data_type) in row.iter().zip(&*self.arguments) {
                put_value(value, data_type, out)?;
            }
        }
        Ok(())
    }

    fn merge_serialized(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        let count = take_count(bytes)?;
        let mut builders: Vec<ColumnBuilder> = self.arguments.iter().cloned().map(ColumnBuilder::new).collect();
        for _ in 0..count {
            for (builder, data_type) in builders.iter_mut().zip(&*self.arguments) {
                builder.append(&take_value(bytes, data_type)?)?;
            }
        }
        // The same rows as the arguments of an update: their hashes are not written.
        let columns = builders.into_iter().map(ColumnBuilder::finish).collect::<Result<Vec<_>>>()?;
        let group_number = u32::try_from(group).map_err(|_| Error::logical("a group beyond 32 bits"))?;
        let groups = self.groups.len().max(group + 1);
        self.update(GroupIds::Each(&vec![group_number; count]), groups, &columns, count)
    }

    fn memory_bytes(&self) -> usize {
        let of_rows = |rows: &Rows| {
            rows.hashes.memory_bytes() + rows.rows.capacity() * (32 + self.arguments.len() * 2 * size_of::<Value>())
        };
        self.groups.iter().map(of_rows).sum::<usize>() + self.groups.capacity() * size_of::<Rows>()
    }
}
