//! Rows on their way into groups, which are kept until they are looked up: what their groups are found by, and the arguments of each function.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, ArrowPrimitiveType, BinaryArray, PrimitiveArray, UInt32Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType as ArrowType;
use squall_types::{Column, Error, ErrorCode, Result, grow, match_primitive};

/// Rows that no group has yet.
pub(super) struct InputRows {
    /// What the table of their groups keeps of their keys.
    pub(super) keys: Vec<Column>,
    pub(super) arguments: Vec<Column>,
    pub(super) rows: usize,
}

/// Where each row of several [`InputRows`] goes that come one after the other.
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

    /// The values of columns that come one after the other, in their places.
    fn apply(&self, columns: &[Column]) -> Result<Column> {
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

impl InputRows {
    /// Rows one after the other, in their places.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`.
    pub(super) fn in_places(all: &[Self], places: &RowPlaces) -> Result<Self> {
        let in_places = |columns: fn(&Self) -> &[Column]| {
            let count = all.first().map_or(0, |first| columns(first).len());
            let column = |at: usize| -> Result<Column> {
                places.apply(&all.iter().map(|rows| columns(rows)[at].clone()).collect::<Vec<_>>())
            };
            (0..count).map(column).collect::<Result<Vec<_>>>()
        };
        let (keys, arguments) = (in_places(|rows| &rows.keys)?, in_places(|rows| &rows.arguments)?);
        Ok(Self { keys, arguments, rows: places.places.len() })
    }

    /// Rows `offset..offset + rows`, without copying.
    pub(super) fn slice(&self, offset: usize, rows: usize) -> Self {
        let slices = |columns: &[Column]| columns.iter().map(|column| column.slice(offset, rows)).collect();
        Self { keys: slices(&self.keys), arguments: slices(&self.arguments), rows }
    }

    /// Bytes of the values.
    pub(super) fn value_bytes(&self) -> usize {
        self.keys.iter().chain(&self.arguments).map(Column::value_bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::UInt16Type;
    use squall_types::{DataType, Value};

    use super::*;

    #[test]
    fn rows_are_found_in_their_places() {
        let strings = |values: &[&str]| Column::from_strings(values);
        let numbers = |values: &[u16]| Column::from_primitive::<UInt16Type>(DataType::UInt16, values.to_vec());
        let constant = |rows| Column::constant(DataType::UInt16, &Value::UInt64(7), rows).unwrap();
        let rows = |keys: Column, number: Column| {
            let (rows, constant) = (keys.rows(), constant(keys.rows()));
            InputRows { keys: vec![keys], arguments: vec![number, constant], rows }
        };
        let first = rows(strings(&["a", "b", "c"]), numbers(&[1, 2, 3]));
        let second = rows(strings(&["d", "e"]), numbers(&[4, 5]));
        let all = InputRows::in_places(&[first, second], &RowPlaces::new(vec![4, 0, 2, 1, 3])).unwrap();
        let part = all.slice(1, 3);
        assert_eq!((all.rows, part.rows), (5, 3));
        let texts = |column: &Column| (0..column.rows()).map(|row| column.value(row).to_string()).collect::<Vec<_>>();
        assert_eq!(texts(&all.keys[0]), ["'b'", "'d'", "'c'", "'e'", "'a'"]);
        assert_eq!(texts(&part.keys[0]), ["'d'", "'c'", "'e'"]);
        assert_eq!(texts(&part.arguments[0]), ["4", "3", "5"]);
        assert_eq!(texts(&part.arguments[1]), ["7", "7", "7"]);
    }
}
