//! How rows are held: written out, as one row that stands for all, sparse, or as codes. What a column and a chunk of the column cache have in common.

use arrow_array::{Array, ArrayRef};

use crate::coded::Coded;
use crate::error::Result;
use crate::sparse::Sparse;

/// How the rows of a column are held.
#[derive(Clone, Debug)]
pub enum Rows {
    /// An array of all of them.
    Whole(ArrayRef),
    /// The one row that stands for so many.
    Constant(ArrayRef, usize),
    /// Those that are not like most, and where they are.
    Sparse(Sparse),
    /// Codes of few strings.
    Coded(Coded),
}

impl Rows {
    /// What takes these rows in memory, shared buffers counted in full.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Whole(array) | Self::Constant(array, _) => array.get_array_memory_size(),
            Self::Sparse(sparse) => sparse.memory_bytes(),
            Self::Coded(coded) => coded.memory_bytes(),
        }
    }

    /// The rows of an array, sparse where more of them than this share are zeros or empty strings.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub fn of(array: ArrayRef, ratio_of_defaults: f64) -> Result<Self> {
        Ok(Sparse::of_mostly_zeros(&array, ratio_of_defaults)?.map_or(Self::Whole(array), Self::Sparse))
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Whole(array) => array.len(),
            Self::Constant(_, rows) => *rows,
            Self::Sparse(sparse) => sparse.rows(),
            Self::Coded(coded) => coded.rows(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rows `offset..offset + rows`, without copying.
    #[must_use]
    pub fn slice(&self, offset: usize, rows: usize) -> Self {
        match self {
            Self::Whole(array) => Self::Whole(array.slice(offset, rows)),
            Self::Constant(one, _) => Self::Constant(one.clone(), rows),
            Self::Sparse(sparse) => Self::Sparse(sparse.slice(offset, rows)),
            Self::Coded(coded) => Self::Coded(coded.slice(offset, rows)),
        }
    }

    pub(crate) fn arrow_type(&self) -> &arrow_schema::DataType {
        match self {
            Self::Whole(array) | Self::Constant(array, _) => array.data_type(),
            Self::Sparse(sparse) => sparse.values().data_type(),
            Self::Coded(coded) => coded.values().data_type(),
        }
    }

    /// The array of all rows, or of the one row of a constant.
    pub fn array(&self) -> &ArrayRef {
        match self {
            Self::Whole(array) | Self::Constant(array, _) => array,
            Self::Sparse(sparse) => sparse.whole(),
            Self::Coded(coded) => coded.whole(),
        }
    }
}
