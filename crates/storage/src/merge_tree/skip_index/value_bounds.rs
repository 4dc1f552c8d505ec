//! The smallest and the largest value of some rows of a column, and their bytes in an index.

use std::cmp::Ordering;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use squall_types::binary::{put_value, take_byte, take_value};
use squall_types::{Column, DataType, Result, Value, checkpoint, match_primitive};

use super::super::order::sorting::plain_array;
use super::super::parts::part_encoder::BOUND_BYTES_MAX;
use super::page::corrupted;
use crate::key_condition::{ValueRange, successor};

/// The bounds of a column's rows. NULL and NaN lie outside of them.
///
/// # Errors
/// Where the column cannot be had as an array.
pub(super) fn bounds_of(column: &Column) -> Result<ValueRange> {
    let data_type = column.data_type().inner().clone();
    let plain = Column::new(data_type.clone(), plain_array(column)?);
    let array = plain.array();
    let mut incomparable = array.null_count() > 0;
    // The rows of the smallest and the largest value.
    let mut ends: Option<(usize, usize)> = None;
    let rows = (0..array.len()).filter(|row| array.is_valid(*row));
    let has_own_order =
        data_type.physical().rank().is_none() && !data_type.is_nested() && !data_type.is_of_alternatives();
    let other_order =
        |ends: &mut Option<(usize, usize)>, incomparable: &mut bool, rows: &mut dyn Iterator<Item = usize>| {
            for row in rows {
                checkpoint(100)?;
                let value = plain.value(row);
                if value.is_null() {
                    *incomparable = true;
                    continue;
                }
                *ends = Some(match *ends {
                    None => (row, row),
                    Some((low, _)) if value.compare(&plain.value(low)) == Ordering::Less => {
                        (row, ends.map_or(row, |ends| ends.1))
                    }
                    Some((low, high)) if value.compare(&plain.value(high)) == Ordering::Greater => (low, row),
                    known => known.unwrap_or((row, row)),
                });
            }
            Ok::<_, squall_types::Error>(())
        };
    match array.data_type() {
        _ if !has_own_order => other_order(&mut ends, &mut incomparable, &mut { rows })?,
        arrow_schema::DataType::Binary => {
            let values = array.as_binary::<i32>();
            ends = ends_by(rows, |left, right| values.value(left).cmp(values.value(right)));
        }
        arrow_schema::DataType::FixedSizeBinary(_) => {
            let values = array.as_fixed_size_binary();
            ends = ends_by(rows, |left, right| values.value(left).cmp(values.value(right)));
        }
        other => match_primitive!(other, T => {
            let values = array.as_primitive::<T>().values();
            #[expect(clippy::eq_op, reason = "NaN alone does not equal itself")]
            let is_number = |row: &usize| values.get(*row).is_some_and(|value| value == value);
            let mut numbers = 0;
            let valid = array.len() - array.null_count();
            let counted = rows.filter(is_number).inspect(|_| numbers += 1);
            ends = ends_by(counted, |left, right| {
                let pair = values.get(left).zip(values.get(right));
                pair.and_then(|(left, right)| left.partial_cmp(right)).unwrap_or(Ordering::Equal)
            });
            incomparable |= numbers < valid;
        }, _ => other_order(&mut ends, &mut incomparable, &mut { rows })?),
    }
    let Some((low, high)) = ends else {
        // No row has a value that compares with anything.
        return Ok(ValueRange { low: None, high: None, incomparable: true });
    };
    let (low, high) = (shortened(plain.value(low), false), shortened(plain.value(high), true));
    Ok(ValueRange { low, high, incomparable })
}

fn ends_by(rows: impl Iterator<Item = usize>, compare: impl Fn(usize, usize) -> Ordering) -> Option<(usize, usize)> {
    rows.fold(None, |ends, row| {
        Some(match ends {
            None => (row, row),
            Some((low, high)) if compare(row, low).is_lt() => (row, high),
            Some((low, high)) if compare(row, high).is_gt() => (low, row),
            Some(ends) => ends,
        })
    })
}

/// A bound without the end of a long string.
fn shortened(value: Value, is_high: bool) -> Option<Value> {
    match value.as_bytes().filter(|bytes| bytes.len() > BOUND_BYTES_MAX && !matches!(value, Value::Uuid(_))) {
        Some(bytes) => {
            let start = bytes.get(..BOUND_BYTES_MAX).unwrap_or_default();
            if is_high { successor(start).map(Value::string) } else { Some(Value::string(start)) }
        }
        None => Some(value),
    }
}

/// Appends bounds.
///
/// # Errors
/// Where a bound is no value of the type.
pub(super) fn put_bounds(range: &ValueRange, data_type: &DataType, out: &mut Vec<u8>) -> Result<()> {
    let flags = [range.low.is_some(), range.high.is_some(), range.incomparable];
    out.push(flags.iter().enumerate().map(|(bit, is)| u8::from(*is) << bit).sum());
    // What was shortened is no longer as wide as a `FixedString`.
    let data_type = if data_type.is_string_or_fixed_string() { &DataType::String } else { data_type };
    range.low.iter().chain(&range.high).try_for_each(|bound| put_value(bound, data_type, out))
}

/// Takes what [`put_bounds`] appended.
///
/// # Errors
/// `CORRUPTED_DATA`.
pub(super) fn take_bounds(bytes: &mut &[u8], data_type: &DataType) -> Result<ValueRange> {
    let data_type = if data_type.is_string_or_fixed_string() { &DataType::String } else { data_type };
    let flags = take_byte(bytes).map_err(|_| corrupted())?;
    let mut bound = |bit: u8| {
        let is_there = flags & 1 << bit != 0;
        is_there.then(|| take_value(bytes, data_type).map_err(|_| corrupted())).transpose()
    };
    Ok(ValueRange { low: bound(0)?, high: bound(1)?, incomparable: flags & 4 != 0 })
}

#[cfg(test)]
mod tests {
    use squall_types::ColumnBuilder;

    use super::*;

    fn column(data_type: &str, values: &[Value]) -> Column {
        let mut builder = ColumnBuilder::new(DataType::parse(data_type).unwrap());
        values.iter().for_each(|value| builder.append(value).unwrap());
        builder.finish().unwrap()
    }

    #[test]
    fn bounds_come_back_and_leave_out_what_has_no_order() {
        let float = Value::Float64;
        let numbers = column("Nullable(Float64)", &[float(2.0), float(f64::NAN), Value::Null, float(-1.0), float(9.0)]);
        let range = bounds_of(&numbers).unwrap();
        assert!(range.incomparable);
        let mut bytes = Vec::new();
        put_bounds(&range, &DataType::Float64, &mut bytes).unwrap();
        let back = take_bounds(&mut &bytes[..], &DataType::Float64).unwrap();
        assert_eq!((back.low, back.high, back.incomparable), (Some(float(-1.0)), Some(float(9.0)), true));
        let long = "x".repeat(100);
        let texts = column("LowCardinality(String)", &[Value::from("b"), Value::string(&long), Value::from("c")]);
        let range = bounds_of(&texts).unwrap();
        assert_eq!(range.low, Some(Value::from("b")));
        let high = range.high.unwrap();
        assert!(high.as_bytes().unwrap().len() <= BOUND_BYTES_MAX && high.compare(&Value::string(&long)).is_gt());
    }
}
