//! Rows of columns put in an order that is known by where each row goes: each value is read in the order in which it lies, and copied once.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, ArrowPrimitiveType, BinaryArray, PrimitiveArray, UInt32Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType as ArrowType;
use squall_types::{Column, Error, ErrorCode, Result, grow, match_primitive};

/// Where each row of columns goes that come one after the other. One serves all columns of the same rows.
pub(super) struct RowPlaces {
    /// The place of each row.
    places: Vec<u32>,
    /// The row at each place.
    positions: UInt32Array,
}

impl RowPlaces {
    /// `places` are each there once, from 0 on.
    pub(super) fn new(places: Vec<u32>) -> Self {
        let mut positions = vec![0; places.len()];
        for (row, place) in (0..).zip(&places) {
            positions[*place as usize] = row;
        }
        Self { places, positions: positions.into() }
    }

    pub(super) fn rows(&self) -> usize {
        self.places.len()
    }

    /// The values of columns that come one after the other, in their places.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`.
    pub(super) fn apply(&self, columns: &[Column]) -> Result<Column> {
        if let [one] = columns {
            return one.take(&self.positions);
        }
        match self.scatter(columns)? {
            Some(array) => Ok(Column::new(columns[0].data_type().clone(), array)),
            None => Column::concat(columns)?.take(&self.positions),
        }
    }

    /// The same for numbers and strings none of which is NULL: each is read in the order in which it lies, and copied once. `None` for other
    /// columns.
    fn scatter(&self, columns: &[Column]) -> Result<Option<ArrayRef>> {
        let is_written_out = |column: &Column| !column.is_constant() && column.coded().is_none();
        if !columns.iter().all(|column| is_written_out(column) && column.nulls().is_none()) {
            return Ok(None);
        }
        let Some(first) = columns.first() else { return Ok(None) };
        let arrow_type = first.data_type().arrow_type();
        if arrow_type == ArrowType::Binary {
            return self.scatter_strings(columns).map(Some);
        }
        match_primitive!(&arrow_type, T => {
            let mut values: Vec<<T as ArrowPrimitiveType>::Native> = Vec::new();
            grow(&mut values, self.places.len())?;
            values.resize(self.places.len(), Default::default());
            let mut places = &self.places[..];
            for column in columns {
                let (own, rest) = places.split_at(column.rows());
                for (value, place) in column.array().as_primitive::<T>().values().iter().zip(own) {
                    values[*place as usize] = *value;
                }
                places = rest;
            }
            Ok(Some(Arc::new(PrimitiveArray::<T>::new(values.into(), None)) as ArrayRef))
        }, _ => Ok(None))
    }

    fn scatter_strings(&self, columns: &[Column]) -> Result<ArrayRef> {
        let too_large = || Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of strings in one block");
        let strings = columns.iter().map(Column::as_binary).collect::<Result<Vec<_>>>()?;
        // After each place the length of its string, and then where it ends.
        let mut offsets = vec![0; self.places.len() + 1];
        let mut places = self.places.iter();
        for array in &strings {
            for (ends, place) in array.value_offsets().windows(2).zip(&mut places) {
                offsets[*place as usize + 1] = ends[1] - ends[0];
            }
        }
        let mut end = 0_i32;
        for offset in &mut offsets {
            end = end.checked_add(*offset).ok_or_else(too_large)?;
            *offset = end;
        }
        let mut bytes: Vec<u8> = Vec::new();
        grow(&mut bytes, end as usize)?;
        bytes.resize(end as usize, 0);
        let mut places = self.places.iter();
        for array in &strings {
            let values = array.value_data();
            for (ends, place) in array.value_offsets().windows(2).zip(&mut places) {
                let string = &values[ends[0] as usize..ends[1] as usize];
                let start = offsets[*place as usize] as usize;
                bytes[start..start + string.len()].copy_from_slice(string);
            }
        }
        let offsets = OffsetBuffer::new(offsets.into());
        Ok(Arc::new(BinaryArray::try_new(offsets, bytes.into(), None)?))
    }
}
