//! A sorted block with its rows' keys.

use std::ops::Range;

use arrow_array::UInt32Array;
use squall_types::memory::reserve;
use squall_types::{Block, Result};

use super::entry::Entry;
use super::row_keys::{Key, RowKeys};

/// A block whose rows are in the order of their keys. So the rows of a range lie one behind the other, and are read fast when it is merged.
pub(super) struct Piece {
    pub(super) block: Block,
    pub(super) keys: RowKeys,
}

impl Piece {
    /// Sorts a block by its rows' keys; rows of equal keys stay as they came.
    pub(super) fn sorted(block: Block, keys: RowKeys) -> Result<Self> {
        reserve(block.rows() * size_of::<Entry>())?;
        let order = keys.order(block.rows());
        if order.iter().zip(0..).all(|(row, at)| *row == at) {
            return Ok(Self { block, keys });
        }
        Self { block, keys }.take(order)
    }

    /// A block whose rows are in the order of their keys.
    pub(super) fn in_order(block: Block, keys: RowKeys) -> Self {
        Self { block, keys }
    }

    /// These rows alone, which are named in the order of their keys.
    pub(super) fn take(self, rows: Vec<u32>) -> Result<Self> {
        let (keys, count, rows) = (self.keys.take(&rows), rows.len(), UInt32Array::from(rows));
        // Each range would write a constant out anew.
        let columns = self.block.columns().iter().map(|column| column.take(&rows)?.without_constant());
        let block = Block::new(self.block.schema().clone(), columns.collect::<Result<_>>()?, count);
        Ok(Self { block, keys })
    }

    /// The first rows alone, whose memory stays that of all.
    pub(super) fn cut(self, count: usize) -> Self {
        let rows: Vec<u32> = (0..count.min(self.rows()) as u32).collect();
        Self { block: self.block.slice(0, rows.len()), keys: self.keys.take(&rows) }
    }

    pub(super) fn rows(&self) -> usize {
        self.block.rows()
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> usize {
        self.block.value_bytes() + self.keys.bytes()
    }

    /// A row among those that are merged.
    pub(super) fn entry(&self, row: usize, piece: u32) -> Entry {
        self.keys.entry(row, piece)
    }

    /// A row's key; nothing where prefixes decide.
    pub(super) fn long_key(&self, row: u32) -> &[u8] {
        self.keys.long(row as usize)
    }

    /// The key of a row.
    pub(super) fn key_at(&self, row: usize) -> Option<Key> {
        (row < self.rows()).then(|| self.keys.key(row))
    }

    /// How many of its rows are before `bound`.
    pub(super) fn rows_before(&self, bound: &Key) -> usize {
        self.rows_while(0..self.rows(), |row| self.keys.compare(row, bound).is_lt())
    }

    /// The same where at least `from` rows are, and not many more are expected to be.
    pub(super) fn rows_before_from(&self, from: usize, bound: &Key) -> usize {
        let is_before = |row: usize| self.keys.compare(row, bound).is_lt();
        let (mut low, mut step) = (from, 16);
        while low + step < self.rows() && is_before(low + step) {
            low += step + 1;
            step *= 2;
        }
        self.rows_while(low..self.rows().min(low + step), is_before)
    }

    /// How many of its rows are not beyond `bound`.
    pub(super) fn rows_up_to(&self, bound: &Key) -> usize {
        self.rows_while(0..self.rows(), |row| self.keys.compare(row, bound).is_le())
    }

    /// The first of these rows of which this does not hold, or their end: it holds of those before it.
    fn rows_while(&self, rows: Range<usize>, holds: impl Fn(usize) -> bool) -> usize {
        let (mut low, mut high) = (rows.start, rows.end);
        while low < high {
            let middle = low.midpoint(high);
            if holds(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

impl AsRef<Piece> for Piece {
    fn as_ref(&self) -> &Self {
        self
    }
}

#[cfg(test)]
impl Piece {
    /// These strings, sorted.
    pub(super) fn of_strings(values: &[String]) -> Self {
        use squall_planner::{Expression, SortKey};
        use squall_types::{Column, DataType};

        let block = Block::from_columns([("s", Column::from_strings(values))]).unwrap();
        let expression = Expression::Column { position: 0, data_type: DataType::String };
        let keys = [SortKey { expression, descending: false, nulls_first: false }];
        Self::sorted(block.clone(), RowKeys::of(&keys, &block).unwrap()).unwrap()
    }
}
