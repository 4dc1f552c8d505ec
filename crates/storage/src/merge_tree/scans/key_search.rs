//! Where values stand in a sorted array of keys: the primary index, or a decoded chunk of the key's column, in which the rows themselves
//! are the index.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_schema::DataType as ArrowType;
use squall_types::Integer;
use squall_types::{DataType, Value};

use crate::key_condition::Interval;

/// Whether values of a type can be searched for: those whose arrays are in the order of [`Value::compare`], without NULL or NaN.
pub(in crate::merge_tree) fn is_searchable(data_type: &DataType) -> bool {
    match data_type {
        DataType::String | DataType::FixedString(_) | DataType::Bool | DataType::IPv4 => true,
        DataType::Enum8(_) | DataType::Enum16(_) => true,
        data_type => data_type.is_integer() || data_type.is_date_or_time(),
    }
}

/// The rows among `rows` of an ascending array whose values lie in an interval; all of them where that cannot be told.
pub(in crate::merge_tree) fn rows_within(array: &dyn Array, rows: Range<usize>, interval: &Interval) -> Range<usize> {
    let low =
        interval.low.as_ref().map_or(Some(rows.start), |(value, is_in)| position(array, rows.clone(), value, !is_in));
    let high =
        interval.high.as_ref().map_or(Some(rows.end), |(value, is_in)| position(array, rows.clone(), value, *is_in));
    let (low, high) = (low.unwrap_or(rows.start), high.unwrap_or(rows.end));
    low..high.max(low)
}

/// The first of `rows` whose value is not less than `bound` or, where it is to be `above` it, not equal either; the end where there is
/// none. `None` for arrays and bounds that are not compared here.
fn position(array: &dyn Array, rows: Range<usize>, bound: &Value, above: bool) -> Option<usize> {
    macro_rules! integers {
        ($($arrow:ident => $type:ty),*) => {
            match (array.data_type(), bound) {
                $((ArrowType::$arrow, bound) => {
                    let bound = match bound {
                        Value::UInt64(bound) => i128::from(*bound),
                        Value::Int64(bound) => i128::from(*bound),
                        Value::Bool(bound) => i128::from(*bound),
                        // The values are its digits.
                        Value::Decimal(bound, _) => i128::fit_large(**bound)?,
                        _ => return None,
                    };
                    integer_position::<$type>(array, rows, bound + i128::from(above))
                })*
                (ArrowType::Binary, Value::String(bound)) => {
                    let values = array.as_binary::<i32>();
                    Some(first(rows, |row| is_before(values.value(row), bound, above)))
                }
                (ArrowType::FixedSizeBinary(_), Value::String(bound)) => {
                    let values = array.as_fixed_size_binary();
                    Some(first(rows, |row| is_before(values.value(row), bound, above)))
                }
                _ => None,
            }
        };
    }
    integers!(UInt8 => UInt8Type, UInt16 => UInt16Type, UInt32 => UInt32Type, UInt64 => UInt64Type,
        Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, Int64 => Int64Type)
}

fn integer_position<T: ArrowPrimitiveType>(array: &dyn Array, rows: Range<usize>, bound: i128) -> Option<usize>
where
    i128: From<T::Native>,
{
    let values = array.as_primitive_opt::<T>()?.values().get(rows.clone())?;
    Some(rows.start + values.partition_point(|value| i128::from(*value) < bound))
}

fn is_before(value: &[u8], bound: &[u8], above: bool) -> bool {
    if above { value <= bound } else { value < bound }
}

/// The first of `rows` that is not before what is looked for, where those before it stand first.
fn first(rows: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (rows.start, rows.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use arrow_array::{BinaryArray, FixedSizeBinaryArray, Int16Array, UInt64Array};

    use super::*;

    fn interval(low: Option<(Value, bool)>, high: Option<(Value, bool)>) -> Interval {
        Interval { low, high }
    }

    #[test]
    fn rows_are_found_by_value() {
        let array = UInt64Array::from(vec![1, 3, 3, 3, 7, u64::MAX]);
        let value = |value: u64| Some((Value::UInt64(value), true));
        let open = |value: i64| Some((Value::Int64(value), false));
        let within = |low, high| rows_within(&array, 0..6, &interval(low, high));
        assert_eq!(within(value(3), value(3)), 1..4);
        assert_eq!(within(value(4), value(6)), 4..4);
        assert_eq!(within(value(u64::MAX), value(u64::MAX)), 5..6);
        assert_eq!(within(open(3), None), 4..6);
        assert_eq!(within(None, open(3)), 0..1);
        assert_eq!(within(open(-5), open(0)), 0..0);
        assert_eq!(rows_within(&array, 2..4, &interval(value(3), value(3))), 2..4);
        let signed = Int16Array::from(vec![-5, 0, 5]);
        assert_eq!(rows_within(&signed, 0..3, &interval(open(-5), value(5))), 1..3);
    }

    #[test]
    fn rows_are_found_by_bytes() {
        let bytes = |text: &str| Some((Value::string(text), true));
        let strings = BinaryArray::from(vec![b"a" as &[u8], b"ab", b"b", b"ba"]);
        assert_eq!(rows_within(&strings, 0..4, &interval(bytes("ab"), bytes("b"))), 1..3);
        let fixed = FixedSizeBinaryArray::try_from_iter([b"aa", b"ab", b"ba"].into_iter()).unwrap();
        assert_eq!(rows_within(&fixed, 0..3, &interval(bytes("ab"), bytes("ab"))), 1..2);
        // What is not compared rules nothing out.
        assert_eq!(rows_within(&fixed, 0..3, &interval(Some((Value::UInt64(1), true)), None)), 0..3);
    }
}
