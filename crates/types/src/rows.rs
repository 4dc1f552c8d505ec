//! How rows are held: written out, as one row that stands for all, sparse, or as codes. What a column and a chunk of the column cache have in common.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType as ArrowType;

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

    /// Rows `offset..offset + rows`, without copying values.
    #[must_use]
    pub fn slice(&self, offset: usize, rows: usize) -> Self {
        match self {
            Self::Whole(array) if offset == 0 && rows == array.len() => Self::Whole(array.clone()),
            Self::Whole(array) => Self::Whole(own_items(array.slice(offset, rows))),
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

/// A slice of an array whose lists have their own items and no others: what computes with items takes all there are.
fn own_items(array: ArrayRef) -> ArrayRef {
    let cut = match array.data_type() {
        ArrowType::List(item) => {
            let lists = array.as_list::<i32>();
            let ends = lists.value_offsets();
            let (first, last) = (ends.first().copied().unwrap_or(0), ends.last().copied().unwrap_or(0));
            let items = (last - first) as usize;
            if items == lists.values().len() {
                return array;
            }
            let ends = OffsetBuffer::new(ends.iter().map(|end| end - first).collect());
            let values = own_items(lists.values().slice(first as usize, items));
            ListArray::try_new(item.clone(), ends, values, lists.nulls().cloned())
                .map(|lists| Arc::new(lists) as ArrayRef)
        }
        ArrowType::Struct(fields) => {
            let parts = array.as_struct();
            let columns = parts.columns().iter().cloned().map(own_items).collect();
            StructArray::try_new_with_length(fields.clone(), columns, parts.nulls().cloned(), parts.len())
                .map(|parts| Arc::new(parts) as ArrayRef)
        }
        _ => return array,
    };
    cut.unwrap_or(array)
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int64Type;

    use super::*;

    #[test]
    fn a_slice_of_lists_has_no_items_of_others() {
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([
            Some(vec![Some(1), Some(2)]),
            None,
            Some(vec![]),
            Some(vec![Some(3), None]),
            Some(vec![Some(4)]),
        ]);
        let lists: ArrayRef = Arc::new(lists);
        let item = Arc::new(arrow_schema::Field::new("item", lists.data_type().clone(), true));
        let outer = ListArray::new(item, OffsetBuffer::from_lengths([2, 3]), lists.clone(), None);
        let tuple: ArrayRef = Arc::new(StructArray::from(vec![(
            Arc::new(arrow_schema::Field::new("1", lists.data_type().clone(), true)),
            lists.clone(),
        )]));
        for (rows, offset, count) in
            [(&lists, 1, 3), (&lists, 0, 5), (&tuple, 3, 2), (&(Arc::new(outer) as ArrayRef), 1, 1)]
        {
            let slice = Rows::Whole(rows.clone()).slice(offset, count);
            assert_eq!(slice.array(), &rows.slice(offset, count));
        }
        let slice = Rows::Whole(lists).slice(3, 1);
        assert_eq!(slice.array().as_list::<i32>().values().len(), 2);
    }
}
