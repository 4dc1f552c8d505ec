//! A chunk as a scan from the disk has it: decoded, or as its bytes in the file, of which rows are decoded when they are read.

use std::ops::Range;

use arrow_array::UInt32Array;
use bytes::Bytes;
use squall_types::{Column, DataType, Result, Rows, reserve};

use crate::merge_tree::parts::chunk_bytes::EncodedChunk;
use crate::merge_tree::parts::part::Part;

/// More ranges of rows than this are not put together from slices, each of which costs more than a few rows.
const SLICES_MAX: usize = 16;

/// A column of a row group.
#[derive(Clone)]
pub(super) enum ChunkRows {
    Decoded(Rows),
    Encoded(EncodedChunk),
}

/// Where a chunk is.
#[derive(Clone, Copy)]
pub(super) struct ChunkPlace<'a> {
    pub part: &'a Part,
    pub row_group: usize,
    pub column: usize,
}

impl ChunkRows {
    /// A chunk that is decoded as it is read.
    pub fn encoded(bytes: Bytes) -> Self {
        Self::Encoded(EncodedChunk::shared(bytes))
    }

    /// Some rows of the chunk at a place, whose ranges ascend.
    ///
    /// # Errors
    /// `CORRUPTED_DATA`, `MEMORY_LIMIT_EXCEEDED`.
    pub fn read(&self, at: ChunkPlace<'_>, data_type: &DataType, ranges: &[Range<usize>]) -> Result<Column> {
        match self {
            Self::Encoded(chunk) => {
                let rows = at.part.decode_rows(at.row_group, at.column, chunk, ranges)?;
                Ok(Column::of_rows(data_type.clone(), rows))
            }
            Self::Decoded(rows) => {
                let slice =
                    |range: &Range<usize>| Column::of_rows(data_type.clone(), rows.slice(range.start, range.len()));
                match ranges {
                    [one] => Ok(slice(one)),
                    few if few.len() <= SLICES_MAX => Column::concat(&few.iter().map(slice).collect::<Vec<_>>()),
                    many => {
                        reserve(many.iter().map(ExactSizeIterator::len).sum::<usize>() * size_of::<u32>())?;
                        let places = many.iter().flat_map(|range| range.start as u32..range.end as u32);
                        let whole = Column::of_rows(data_type.clone(), rows.clone());
                        whole.take(&UInt32Array::from_iter_values(places))
                    }
                }
            }
        }
    }
}
