//! A chunk as a scan from the disk has it: decoded, or as its bytes in the file, of which rows are decoded when they are read.

use std::ops::Range;

use bytes::Bytes;
use squall_types::{Column, DataType, Result, Rows};

use crate::merge_tree::parts::part::Part;

/// A column of a row group.
#[derive(Clone)]
pub(super) enum ChunkRows {
    Decoded(Rows),
    Encoded(Bytes),
}

/// Where a chunk is.
#[derive(Clone, Copy)]
pub(super) struct ChunkPlace<'a> {
    pub part: &'a Part,
    pub row_group: usize,
    pub column: usize,
}

impl ChunkRows {
    /// Some rows of the chunk at a place, whose ranges ascend.
    ///
    /// # Errors
    /// `CORRUPTED_DATA`, `MEMORY_LIMIT_EXCEEDED`.
    pub fn read(&self, at: ChunkPlace<'_>, data_type: &DataType, ranges: &[Range<usize>]) -> Result<Column> {
        match self {
            Self::Encoded(bytes) => {
                let rows = at.part.decode_rows(at.row_group, at.column, bytes.clone(), ranges)?;
                Ok(Column::new(data_type.clone(), rows))
            }
            Self::Decoded(rows) => {
                let slice =
                    |range: &Range<usize>| Column::of_rows(data_type.clone(), rows.slice(range.start, range.len()));
                match ranges {
                    [one] => Ok(slice(one)),
                    several => Column::concat(&several.iter().map(slice).collect::<Vec<_>>()),
                }
            }
        }
    }
}
