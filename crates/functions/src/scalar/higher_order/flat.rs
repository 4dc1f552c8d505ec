//! Arrays that advance together, flattened: the items of all rows one after the other, and where each row's begin.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, UInt32Array};
use arrow_buffer::OffsetBuffer;
use squall_types::cast::{CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, PieceRows, Result, checkpoint};

use crate::higher_order::Lambda;
use crate::scalar::array::list_column;

/// A lambda is called for so many items at a time: what it computes on the way then stays in the cache, and is bounded.
const CALLS_MAX: usize = 1 << 16;

/// Where the items of each row are in the flattened arrays.
pub(super) struct Flat {
    /// Begins at 0; one more than rows.
    offsets: OffsetBuffer<i32>,
}

impl Flat {
    /// Flattens arrays; the second value is the items of each.
    ///
    /// # Errors
    /// `SIZES_OF_ARRAYS_DONT_MATCH`, `TOO_LARGE_ARRAY_SIZE`.
    pub fn of(name: &str, arrays: &[Column], rows: usize) -> Result<(Self, Vec<Column>)> {
        let mut flat: Option<Self> = None;
        let mut all_items = Vec::with_capacity(arrays.len());
        for (at, array) in arrays.iter().enumerate() {
            let (own, items) = Self::of_one(array, rows)?;
            if let Some(first) = &flat {
                own.check_lengths(first, name, at + 2)?;
            } else {
                flat = Some(own);
            }
            all_items.push(items);
        }
        let flat = flat.ok_or_else(|| Error::logical("no arrays to flatten"))?;
        Ok((flat, all_items))
    }

    /// The items of arrays, or the entries of maps, dictionaries written out.
    fn of_one(array: &Column, rows: usize) -> Result<(Self, Column)> {
        let item_type = match array.data_type() {
            DataType::Array(item) => (**item).clone(),
            map @ DataType::Map(..) => map.map_entry_type(),
            other => return Err(Error::logical(format!("{other} is no array"))),
        };
        let list = array.array().as_list_opt::<i32>().ok_or_else(|| Error::logical("list expected"))?;
        if array.is_constant() {
            let repeated = list.values().len().checked_mul(rows).filter(|items| i32::try_from(*items).is_ok());
            repeated.ok_or_else(too_large)?;
        }
        let array = array.to_array()?;
        let list = array.as_list_opt::<i32>().ok_or_else(|| Error::logical("list expected"))?;
        let offsets = list.offsets();
        let (start, end) = (offsets[0], offsets[list.len()]);
        let items = list.values().slice(start as usize, (end - start) as usize);
        let offsets = match start {
            0 => offsets.clone(),
            _ => OffsetBuffer::new(offsets.iter().map(|offset| offset - start).collect()),
        };
        let items = Column::new(item_type, items);
        let plain = without_dictionaries(items.data_type());
        let items = if plain == *items.data_type() { items } else { cast(&items, &plain, &CastOptions::default())? };
        Ok((Self { offsets }, items))
    }

    fn check_lengths(&self, first: &Self, name: &str, argument: usize) -> Result<()> {
        if self.offsets[..] == first.offsets[..] {
            return Ok(());
        }
        for row in 0..self.rows() {
            let (own, wanted) = (self.range(row).len(), first.range(row).len());
            if own != wanted {
                return Err(Error::new(
                    ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                    format!(
                        "Arrays passed to {name} must have equal size. Argument {argument} has size {own} which differs \
                         with the size of another argument, {wanted}"
                    ),
                ));
            }
        }
        Ok(())
    }

    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The positions of a row's items.
    #[inline]
    pub fn range(&self, row: usize) -> Range<usize> {
        self.offsets[row] as usize..self.offsets[row + 1] as usize
    }

    /// The positions of each row's items.
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.offsets.windows(2).map(|pair| pair[0] as usize..pair[1] as usize)
    }

    /// The number of items of all rows.
    pub fn items(&self) -> usize {
        self.offsets[self.rows()] as usize
    }

    /// Arrays of the same lengths with these items.
    pub fn arrays(&self, item_type: &DataType, items: &Column) -> Result<Column> {
        let items = items.to_array()?;
        let field = Arc::new(arrow_schema::Field::new("item", items.data_type().clone(), true));
        let list = arrow_array::ListArray::try_new(field, self.offsets.clone(), items, None)?;
        Ok(Column::new(DataType::array(item_type.clone()), Arc::new(list)))
    }

    /// The lambda's results for all items; a constant where it gave one.
    ///
    /// # Errors
    /// Those of the lambda.
    pub fn call(&self, lambda: &dyn Lambda, arguments: &[Column]) -> Result<Column> {
        let items = self.items();
        let call = |piece: Range<usize>| {
            let arguments: Vec<Column> =
                arguments.iter().map(|argument| argument.slice(piece.start, piece.len())).collect();
            lambda.call(&arguments, piece.len(), &|| self.rows_of(piece.clone()))
        };
        if !lambda.is_deterministic() {
            let starts = (0..items.max(1)).step_by(CALLS_MAX);
            let results = starts.map(|start| call(start..items.min(start + CALLS_MAX))).collect::<Result<Vec<_>>>()?;
            return Column::concat(&results);
        }
        let piece_rows = PieceRows::default();
        let mut results = Vec::new();
        for start in (0..items.max(1)).step_by(CALLS_MAX) {
            let count = CALLS_MAX.min(items - start);
            let of_piece = |piece: Range<usize>| call(start + piece.start..start + piece.end);
            let _ = piece_rows.each(count, of_piece, |_, result| {
                checkpoint(result.rows())?;
                results.push(result);
                Ok(ControlFlow::Continue(()))
            })?;
        }
        if let [one] = &results[..] {
            return Ok(one.clone());
        }
        Column::concat(&results)
    }

    /// The row of each of these items.
    fn rows_of(&self, items: Range<usize>) -> UInt32Array {
        let mut rows = Vec::with_capacity(items.len());
        let first = self.offsets.partition_point(|offset| *offset as usize <= items.start).saturating_sub(1);
        for row in first..self.rows() {
            let own = self.range(row);
            let (start, end) = (own.start.max(items.start), own.end.min(items.end));
            rows.extend(std::iter::repeat_n(row as u32, end.saturating_sub(start)));
            if own.end >= items.end {
                break;
            }
        }
        UInt32Array::from(rows)
    }
}

fn too_large() -> Error {
    Error::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, "More than 2^31 items of arrays in one block")
}

/// The type with dictionaries written out, also within arrays, tuples and maps: lambdas see no others.
pub(in crate::scalar) fn without_dictionaries(data_type: &DataType) -> DataType {
    match data_type {
        DataType::LowCardinality(inner) => without_dictionaries(inner),
        DataType::Array(item) => DataType::array(without_dictionaries(item)),
        DataType::Map(key, value) => {
            DataType::Map(Arc::new(without_dictionaries(key)), Arc::new(without_dictionaries(value)))
        }
        DataType::Tuple(elements) => DataType::Tuple(
            elements
                .iter()
                .map(|element| squall_types::TupleElement {
                    name: element.name.clone(),
                    data_type: without_dictionaries(&element.data_type),
                })
                .collect(),
        ),
        other => other.clone(),
    }
}

/// Arrays that are built row by row from positions of items.
pub(super) fn arrays_of(items: &Column, positions: Vec<u32>, ends: Vec<i32>) -> Result<Column> {
    let taken = squall_types::kernels::take(&**items.array(), &UInt32Array::from(positions))?;
    list_column(items.data_type(), ends, taken)
}
