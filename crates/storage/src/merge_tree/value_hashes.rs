//! Hashes of a column's values that stay the same for as long as the data do: files and the catalog hold what is made of them.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::ToByteSlice;
use squall_types::binary::put_row;
use squall_types::{Column, DataType, Result, match_primitive};
use twox_hash::XxHash3_64;

use crate::merge_tree::order::sorting::plain_array;

/// Calls `visit` with the hash of each value of a column that is not NULL, or of each item of its arrays. Equal values have equal hashes.
///
/// # Errors
/// Where the column cannot be had as an array.
pub(super) fn hashes_of(column: &Column, visit: &mut impl FnMut(u64)) -> Result<()> {
    let array = plain_array(column)?;
    hash_array(column.data_type().inner(), &array, visit)
}

fn hash_array(data_type: &DataType, array: &ArrayRef, visit: &mut impl FnMut(u64)) -> Result<()> {
    if let DataType::Array(item) = data_type {
        let list = array.as_list::<i32>();
        let (first, end) = match list.value_offsets() {
            [first, .., end] => (*first as usize, *end as usize),
            _ => return Ok(()),
        };
        let items = list.values().slice(first, end - first);
        return hashes_of(&Column::new((**item).clone(), items), visit);
    }
    let is_valid = |row: usize| array.is_valid(row);
    match array.data_type() {
        arrow_schema::DataType::Binary => {
            let values = array.as_binary::<i32>();
            (0..values.len())
                .filter(|row| is_valid(*row))
                .for_each(|row| visit(XxHash3_64::oneshot(values.value(row))));
        }
        // Both zeros are equal.
        arrow_schema::DataType::Float32 => {
            let values = array.as_primitive::<arrow_array::types::Float32Type>().values();
            let hash = |value: &f32| XxHash3_64::oneshot(&(*value + 0.0).to_le_bytes());
            values.iter().enumerate().filter(|(row, _)| is_valid(*row)).for_each(|(_, value)| visit(hash(value)));
        }
        arrow_schema::DataType::Float64 => {
            let values = array.as_primitive::<arrow_array::types::Float64Type>().values();
            let hash = |value: &f64| XxHash3_64::oneshot(&(*value + 0.0).to_le_bytes());
            values.iter().enumerate().filter(|(row, _)| is_valid(*row)).for_each(|(_, value)| visit(hash(value)));
        }
        other => match_primitive!(other, T => {
            let values = array.as_primitive::<T>().values();
            let hash = |value: &<T as arrow_array::ArrowPrimitiveType>::Native| XxHash3_64::oneshot(value.to_byte_slice());
            values.iter().enumerate().filter(|(row, _)| is_valid(*row)).for_each(|(_, value)| visit(hash(value)));
        }, _ => {
            let mut bytes = Vec::new();
            for row in (0..array.len()).filter(|row| is_valid(*row)) {
                bytes.clear();
                put_row(data_type, array, row, &mut bytes)?;
                visit(XxHash3_64::oneshot(&bytes));
            }
        }),
    }
    Ok(())
}
