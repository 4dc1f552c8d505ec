//! Builds `Array(String)` columns.

use std::sync::Arc;

use arrow_array::ListArray;
use arrow_buffer::OffsetBuffer;
use squall_types::{Column, DataType, Result, checkpoint, grow};

use crate::scalar::simple::StringsBuilder;

/// Builds lists of strings: items are pushed, and [`end_row`](Self::end_row) makes a list of what is new.
pub(super) struct ListBuilder {
    pub items: StringsBuilder,
    count: i32,
    offsets: Vec<i32>,
}

impl ListBuilder {
    pub fn new(rows: usize) -> Result<Self> {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        Ok(Self { items: StringsBuilder::new(rows, 0)?, count: 0, offsets })
    }

    /// Appends an item to the list of this row.
    pub fn push(&mut self, item: &[u8]) -> Result<()> {
        checkpoint(32 + item.len())?;
        self.items.push(item)?;
        // Items are no more than bytes and rows; the builder of strings fails first where they could overflow.
        self.count = self.count.checked_add(1).ok_or_else(crate::scalar::simple::too_large)?;
        Ok(())
    }

    /// Ends the list of a row.
    pub fn end_row(&mut self) -> Result<()> {
        grow(&mut self.offsets, 1)?;
        self.offsets.push(self.count);
        Ok(())
    }

    pub fn finish(self) -> Result<Column> {
        let items = self.items.finish_array()?;
        let offsets = OffsetBuffer::new(self.offsets.into());
        let list = ListArray::try_new(DataType::String.arrow_list_item(), offsets, Arc::new(items), None)?;
        Ok(Column::new(DataType::array(DataType::String), Arc::new(list)))
    }
}

/// A column of lists of strings, one for each row, filled by `append(list, row)`.
pub(super) fn list_column(
    rows: usize,
    mut append: impl FnMut(&mut ListBuilder, usize) -> Result<()>,
) -> Result<Column> {
    let mut lists = ListBuilder::new(rows)?;
    for row in 0..rows {
        append(&mut lists, row)?;
        lists.end_row()?;
    }
    lists.finish()
}
