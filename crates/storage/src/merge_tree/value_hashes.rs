//! Hashes of a column's values that stay the same for as long as the data do: files and the catalog hold what is made of them.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, ToByteSlice};
use squall_types::binary::put_row;
use squall_types::{Coded, Column, DataType, Result, match_primitive};
use twox_hash::XxHash3_64;

use crate::merge_tree::chunks::value_chunk::extremes;
use crate::merge_tree::order::sorting::plain_array;

/// Calls `visit` with the hash of each value of a column that is not NULL, or of each item of its arrays. Equal values have equal hashes.
///
/// # Errors
/// Where the column cannot be had as an array.
pub(super) fn hashes_of(column: &Column, visit: &mut impl FnMut(u64)) -> Result<()> {
    hash_array(column, false, visit).map(drop)
}

/// As [`hashes_of`], but equal values may be given once: most columns repeat theirs, and to see that costs less than to hash each of them.
/// Returns how many values, or items of arrays, are not NULL.
///
/// # Errors
/// Where the column cannot be had as an array.
pub(super) fn distinct_hashes_of(column: &Column, visit: &mut impl FnMut(u64)) -> Result<usize> {
    hash_array(column, true, visit)
}

fn hash_array(column: &Column, is_once: bool, visit: &mut impl FnMut(u64)) -> Result<usize> {
    if let Some(coded) = column.coded() {
        hash_coded(coded, is_once, visit);
        return Ok(coded.codes().len() - coded.codes().null_count());
    }
    let (data_type, array) = (column.data_type().inner(), plain_array(column)?);
    if let DataType::Array(item) = data_type {
        let list = array.as_list::<i32>();
        let (first, end) = match list.value_offsets() {
            [first, .., end] => (*first as usize, *end as usize),
            _ => return Ok(0),
        };
        let items = list.values().slice(first, end - first);
        return hash_array(&Column::new((**item).clone(), items), is_once, visit);
    }
    match array.data_type() {
        arrow_schema::DataType::Binary => {
            let strings = array.as_binary::<i32>().iter().flatten();
            each(strings, is_once, |string| visit(XxHash3_64::oneshot(string)));
        }
        // Both zeros are equal.
        arrow_schema::DataType::Float32 => {
            let numbers = array.as_primitive::<Float32Type>().iter().flatten();
            each(numbers, is_once, |number| visit(XxHash3_64::oneshot(&(number + 0.0).to_le_bytes())));
        }
        arrow_schema::DataType::Float64 => {
            let numbers = array.as_primitive::<Float64Type>().iter().flatten();
            each(numbers, is_once, |number| visit(XxHash3_64::oneshot(&(number + 0.0).to_le_bytes())));
        }
        other => match_primitive!(other, T => {
            let numbers = array.as_primitive::<T>();
            let mut hash = |number| visit(XxHash3_64::oneshot(ToByteSlice::to_byte_slice(&number)));
            if !(is_once && hash_near(numbers, &mut hash)) {
                each(numbers.iter().flatten(), is_once, hash);
            }
        }, _ => {
            let mut bytes = Vec::new();
            for row in (0..array.len()).filter(|row| array.is_valid(*row)) {
                bytes.clear();
                put_row(data_type, &array, row, &mut bytes)?;
                visit(XxHash3_64::oneshot(&bytes));
            }
        }),
    }
    Ok(array.len() - array.null_count())
}

/// Hashes each string once, wherever its code is met; if `is_once`, that is all that is told of it.
fn hash_coded(coded: &Coded, is_once: bool, visit: &mut impl FnMut(u64)) {
    let strings = coded.values().as_binary::<i32>();
    let mut hashes: Vec<Option<u64>> = vec![None; strings.len()];
    for code in coded.codes().iter().flatten() {
        let Some(known) = hashes.get_mut(code as usize) else { continue };
        match known {
            Some(hash) if !is_once => visit(*hash),
            Some(_) => {}
            none => visit(*none.insert(XxHash3_64::oneshot(strings.value(code as usize)))),
        }
    }
}

/// Hashes values; if `is_once`, one of several equal ones that come one after the other.
fn each<V: Copy + PartialEq>(values: impl Iterator<Item = V>, is_once: bool, mut hash: impl FnMut(V)) {
    let mut last = None;
    for value in values {
        if !is_once || last != Some(value) {
            hash(value);
            last = Some(value);
        }
    }
}

/// Hashes each different number once, if none is NULL and the largest is less above the smallest than there are rows; whether it did.
fn hash_near<T: ArrowPrimitiveType>(numbers: &PrimitiveArray<T>, hash: &mut impl FnMut(T::Native)) -> bool {
    let values = numbers.values();
    let bounds = extremes(values.iter().copied()).filter(|_| numbers.null_count() == 0);
    let bounds = bounds.and_then(|(low, high)| low.to_i64().zip(high.to_i64()));
    let Some((low, high)) = bounds else { return false };
    let spread = high.wrapping_sub(low) as u64;
    if spread >= values.len() as u64 {
        return false;
    }
    // A row that has the number, from 1 on.
    let mut rows = vec![0_u32; spread as usize + 1];
    for (value, row) in values.iter().zip(1..) {
        let place = value.to_i64().and_then(|value| rows.get_mut(value.wrapping_sub(low) as usize));
        if let Some(place) = place {
            *place = row;
        }
    }
    let found = rows.iter().filter_map(|row| values.get((*row as usize).checked_sub(1)?));
    found.copied().for_each(hash);
    true
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use arrow_array::BinaryArray;
    use squall_types::{Coder, ColumnBuilder, Rows, Value};

    use super::*;

    /// The hashes of a column's values, those that are hashed once, and how many of these there were.
    fn both(name: &str, values: &[Value]) -> (Vec<u64>, Vec<u64>, usize) {
        let mut builder = ColumnBuilder::new(DataType::parse(name).unwrap());
        values.iter().for_each(|value| builder.append(value).unwrap());
        let column = builder.finish().unwrap();
        let (mut all, mut once) = (Vec::new(), Vec::new());
        hashes_of(&column, &mut |hash| all.push(hash)).unwrap();
        let valid = distinct_hashes_of(&column, &mut |hash| once.push(hash)).unwrap();
        (all, once, valid)
    }

    #[test]
    fn values_that_are_hashed_once_are_all_the_values() {
        let null_or = |row: usize, value: Value| if row.is_multiple_of(5) { Value::Null } else { value };
        type Make = fn(usize) -> Value;
        let columns: [(&str, Make); 8] = [
            ("UInt8", |row| Value::UInt64(row as u64 % 7)),
            ("Int64", |row| Value::Int64(row as i64 % 9 - 4)),
            ("Int64", |row| Value::Int64(if row.is_multiple_of(2) { i64::MIN } else { i64::MAX })),
            ("UInt64", |row| Value::UInt64(u64::MAX - row as u64 % 3)),
            ("DateTime", |row| Value::UInt64(row as u64 * 1000)),
            ("Float64", |row| Value::Float64([0.0, -0.0, 1.5][row % 3])),
            ("String", |row| Value::from(format!("{}", row / 10).as_str())),
            ("UUID", |row| Value::Uuid([row as u8 % 5; 16])),
        ];
        for (name, value) in columns {
            let values: Vec<Value> = (0..1000).map(value).collect();
            let (all, once, valid) = both(name, &values);
            assert_eq!((all.len(), valid), (1000, 1000), "{name}");
            assert_eq!(all.iter().collect::<BTreeSet<_>>(), once.iter().collect::<BTreeSet<_>>(), "{name}");
            let values: Vec<Value> = values.into_iter().enumerate().map(|(row, value)| null_or(row, value)).collect();
            let (all, once, valid) = both(&format!("Nullable({name})"), &values);
            assert_eq!((all.len(), valid), (800, 800), "{name}");
            assert_eq!(all.iter().collect::<BTreeSet<_>>(), once.iter().collect::<BTreeSet<_>>(), "{name}");
        }
    }

    #[test]
    fn strings_by_codes_have_the_hashes_of_strings() {
        let strings = (0..1000).map(|row| (row % 5 > 0).then(|| format!("{}", row % 7)));
        let strings: BinaryArray = strings.map(|string| string.map(String::into_bytes)).collect();
        let mut coder = Coder::new(strings.len()).unwrap().unwrap();
        assert!(coder.append(&strings).unwrap());
        let data_type = DataType::String.to_nullable();
        let coded = Column::of_rows(data_type.clone(), Rows::Coded(coder.finish().unwrap()));
        let whole = Column::new(data_type, Arc::new(strings));
        let hashes = |column: &Column| {
            let (mut all, mut once) = (Vec::new(), BTreeSet::new());
            hashes_of(column, &mut |hash| all.push(hash)).unwrap();
            let valid = distinct_hashes_of(column, &mut |hash| {
                once.insert(hash);
            })
            .unwrap();
            (all, once, valid)
        };
        assert_eq!(hashes(&coded), hashes(&whole));
        assert_eq!(hashes(&coded).2, 800);
    }

    #[test]
    fn near_numbers_and_runs_of_strings_are_hashed_once() {
        let numbers: Vec<Value> = (0..1000).map(|row| Value::UInt64(row % 7)).collect();
        assert_eq!(both("UInt32", &numbers).1.len(), 7);
        let runs: Vec<Value> = (0..1000).map(|row| Value::from(format!("{}", row / 100).as_str())).collect();
        assert_eq!(both("String", &runs).1.len(), 10);
    }
}
