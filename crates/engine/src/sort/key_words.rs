//! Keys as numbers, column by column: of values of up to eight bytes, without the bytes of [`keys`](super::keys) being written. They are
//! the first bytes of the same keys, in the same order.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use squall_planner::SortKey;
use squall_types::{Column, DataType, Physical};

use super::entry::PREFIX_BYTES;
use super::keys::Direction;

/// A part of the keys of all rows: numbers of so many bytes each.
struct Word {
    bytes: usize,
    values: Vec<u64>,
}

/// The bytes of a key of this type, where all have as many and its value is a number of up to eight bytes.
fn key_bytes(data_type: &DataType) -> Option<usize> {
    if data_type.is_of_alternatives() {
        return None;
    }
    let value = match data_type.physical() {
        Physical::UInt8 | Physical::Int8 => 1,
        Physical::UInt16 | Physical::Int16 => 2,
        Physical::UInt32 | Physical::Int32 => 4,
        Physical::UInt64 | Physical::Int64 | Physical::Float32 | Physical::Float64 => 8,
        _ => return None,
    };
    Some(value + usize::from(data_type.is_nullable()))
}

/// Whether the [beginnings](key_beginnings) of values of this type are their whole keys.
pub(super) fn are_whole_keys(data_type: &DataType) -> bool {
    key_bytes(data_type).is_some_and(|bytes| bytes <= size_of::<u64>())
}

/// The whole keys of rows `0..rows`, the first byte the highest, where they take no more than a prefix: numbers, and behind them one column
/// of short strings at most.
pub(super) fn whole_keys(columns: &[(Column, Direction)], rows: usize) -> Option<Vec<u128>> {
    let (numbers, strings) = match columns.split_last() {
        Some((last, numbers)) if key_bytes(last.0.data_type()).is_none() => (numbers, Some(last)),
        _ => (columns, None),
    };
    let bytes = numbers.iter().map(|(column, _)| key_bytes(column.data_type()));
    let bytes = bytes.sum::<Option<usize>>().filter(|bytes| *bytes <= PREFIX_BYTES)?;
    let strings = match strings {
        Some((column, direction)) => Some(keys_of_strings(column, *direction, PREFIX_BYTES - bytes)?),
        None => None,
    };
    let mut keys = vec![0; rows];
    for (column, direction) in numbers {
        for word in words(column, *direction)? {
            let shift = 8 * word.bytes;
            keys.iter_mut().zip(word.values).for_each(|(key, value)| *key = *key << shift | u128::from(value));
        }
    }
    if (1..PREFIX_BYTES).contains(&bytes) {
        keys.iter_mut().for_each(|key| *key <<= 8 * (PREFIX_BYTES - bytes));
    }
    if let Some(strings) = strings {
        keys.iter_mut().zip(strings).for_each(|(key, string)| *key |= string >> (8 * bytes));
    }
    Some(keys)
}

/// The whole keys of a column of strings without NULL, the first byte the highest; `None` where one of them takes more than `room` bytes
/// or has a zero byte, which keys escape.
fn keys_of_strings(column: &Column, direction: Direction, room: usize) -> Option<Vec<u128>> {
    match column.data_type() {
        DataType::String => {
            let strings = column.array().as_binary_opt::<i32>()?;
            strings.iter().map(|string| key_of_string(string?, &[], direction, room)).collect()
        }
        DataType::LowCardinality(entry) if **entry == DataType::String => {
            let dictionary = column.array().as_dictionary_opt::<UInt32Type>()?;
            let strings = dictionary.values().as_binary_opt::<i32>()?;
            if strings.len() > dictionary.len() {
                return None;
            }
            let class = [direction.class_of_value()];
            let keys = strings.iter().map(|string| key_of_string(string?, &class, direction, room));
            let keys = keys.collect::<Option<Vec<u128>>>()?;
            dictionary.keys().iter().map(|code| keys.get(code? as usize).copied()).collect()
        }
        _ => None,
    }
}

fn key_of_string(string: &[u8], class: &[u8], direction: Direction, room: usize) -> Option<u128> {
    // Two zeros end the string.
    let end = class.len() + string.len() + 2;
    if end > room || string.contains(&0) {
        return None;
    }
    let mut key = [0; PREFIX_BYTES];
    let (before, value) = key.split_at_mut(class.len());
    before.copy_from_slice(class);
    value[..string.len()].copy_from_slice(string);
    if direction.descending {
        value[..string.len() + 2].iter_mut().for_each(|byte| *byte = !*byte);
    }
    Some(u128::from_be_bytes(key))
}

/// For each row of a column not more than the first eight bytes of its encoded key, as a number of the same order; `None` for values of
/// which that is not known without encoding them.
pub(super) fn key_beginnings(key: &SortKey, column: &Column) -> Option<Vec<u64>> {
    const BITS: usize = u64::BITS as usize;
    let (data_type, direction) = (column.data_type(), Direction::of(key));
    let words = if data_type.physical() == Physical::Bytes && !data_type.is_of_alternatives() {
        let strings = column.array().as_binary_opt::<i32>()?;
        let values = (0..strings.len()).map(|row| beginning_of_string(strings.value(row), key.descending)).collect();
        with_classes(Word { bytes: size_of::<u64>(), values }, column, direction)
    } else {
        words(column, direction)?
    };
    let mut beginnings: Option<Vec<u64>> = None;
    let mut known = 0;
    for Word { bytes, mut values } in words {
        let shift = BITS - 8 * bytes;
        values.iter_mut().for_each(|value| *value = *value << shift >> known);
        match &mut beginnings {
            None => beginnings = Some(values),
            Some(all) => all.iter_mut().zip(values).for_each(|(beginning, value)| *beginning |= value),
        }
        known += 8 * bytes;
    }
    beginnings
}

/// The parts of the keys of a column's rows; `None` where these are not numbers.
fn words(column: &Column, direction: Direction) -> Option<Vec<Word>> {
    let (array, data_type) = (column.array(), column.data_type());
    let bytes = key_bytes(data_type)? - usize::from(data_type.is_nullable());
    let inverted = if direction.descending { u64::MAX >> (64 - 8 * bytes) } else { 0 };
    fn of<T: ArrowPrimitiveType>(array: &ArrayRef, bits: impl Fn(T::Native) -> u64) -> Vec<u64> {
        array.as_primitive::<T>().values().iter().map(|value| bits(*value)).collect()
    }
    let values = match data_type.physical() {
        Physical::UInt8 => of::<UInt8Type>(array, |value| u64::from(value) ^ inverted),
        Physical::UInt16 => of::<UInt16Type>(array, |value| u64::from(value) ^ inverted),
        Physical::UInt32 => of::<UInt32Type>(array, |value| u64::from(value) ^ inverted),
        Physical::UInt64 => of::<UInt64Type>(array, |value| value ^ inverted),
        Physical::Int8 => of::<Int8Type>(array, |value| u64::from(value as u8 ^ 1 << 7) ^ inverted),
        Physical::Int16 => of::<Int16Type>(array, |value| u64::from(value as u16 ^ 1 << 15) ^ inverted),
        Physical::Int32 => of::<Int32Type>(array, |value| u64::from(value as u32 ^ 1 << 31) ^ inverted),
        Physical::Int64 => of::<Int64Type>(array, |value| value as u64 ^ 1 << 63 ^ inverted),
        Physical::Float32 => of::<Float32Type>(array, |value| direction.bits_of_float(value.into()) ^ inverted),
        Physical::Float64 => of::<Float64Type>(array, |value| direction.bits_of_float(value) ^ inverted),
        _ => return None,
    };
    Some(with_classes(Word { bytes, values }, column, direction))
}

/// The values of a column behind what tells NULL from a value, where the column has NULL.
fn with_classes(mut word: Word, column: &Column, direction: Direction) -> Vec<Word> {
    if !column.data_type().is_nullable() {
        return vec![word];
    }
    let mut classes = vec![u64::from(direction.class_of_value()); word.values.len()];
    if let Some(nulls) = column.array().nulls().filter(|nulls| nulls.null_count() > 0) {
        for row in (0..classes.len()).filter(|row| nulls.is_null(*row)) {
            (classes[row], word.values[row]) = (direction.class_of_null().into(), 0);
        }
    }
    vec![Word { bytes: 1, values: classes }, word]
}

/// Not more than the first eight bytes of a string's key: what follows a short string is taken for zeros.
fn beginning_of_string(string: &[u8], descending: bool) -> u64 {
    let mut bytes = [0; 8];
    let known = string.len().min(bytes.len());
    match string.first_chunk::<8>() {
        Some(first) => bytes = *first,
        None => bytes[..known].copy_from_slice(string),
    }
    if !descending {
        // A zero that the key escapes makes it greater.
        return u64::from_be_bytes(bytes);
    }
    if bytes[..known].contains(&0) {
        return 0;
    }
    let inverted = !u64::from_be_bytes(bytes);
    // Two zeros end the string.
    match known + 2 {
        bytes @ ..8 => inverted & !(u64::MAX >> (8 * bytes)),
        _ => inverted,
    }
}

#[cfg(test)]
mod tests {
    use squall_planner::Expression;
    use squall_types::{Block, ColumnBuilder, Value};

    use super::super::entry::prefix;
    use super::super::keys::{encode_keys, key_columns};
    use super::*;

    #[test]
    fn numbers_are_the_first_bytes_of_the_keys() {
        let strings =
            ["", "a", "a\0", "\0", "abcdef", "abcdefg", "abcdefgh", "abcdefghi", "abc\0defgh", "\u{FF}\u{FF}"];
        let numbers = [-128, -1, 0, 1, 5, 127].map(Value::Int64);
        let floats = [f64::NAN, f64::NEG_INFINITY, -1.5, 0.0, 2.5, f64::INFINITY].map(Value::Float64);
        let or_null = |values: &[Value]| [values, &[Value::Null]].concat();
        let short = ["", "a", "b", "ab", "abcde", "abcdef"].map(Value::from);
        for (data_type, values) in [
            ("String", &strings.map(Value::from)[..]),
            ("Int8", &numbers),
            ("Int16", &numbers),
            ("Int32", &numbers),
            ("Int64", &numbers),
            ("String", &short),
            ("LowCardinality(String)", &short),
            ("Nullable(String)", &or_null(&strings.map(Value::from))),
            ("Nullable(Int8)", &or_null(&numbers)),
            ("Nullable(Int64)", &or_null(&numbers)),
            ("Float32", &floats),
            ("Float64", &floats),
            ("Nullable(Float64)", &or_null(&floats)),
            ("UInt8", &[0, 1, 200, 255].map(Value::UInt64)),
            ("UInt64", &[0, 1, u64::MAX].map(Value::UInt64)),
            ("DateTime", &[0, 1, 4_000_000_000].map(Value::UInt64)),
        ] {
            let mut builder = ColumnBuilder::new(DataType::parse(data_type).unwrap());
            values.iter().for_each(|value| builder.append(value).unwrap());
            let column = builder.finish().unwrap();
            let key_of = |position| Expression::Column { position, data_type: column.data_type().clone() };
            let block = Block::from_columns([("x", column.clone()), ("y", column.clone())]).unwrap();
            for (descending, nulls_first) in [(false, false), (true, false), (false, true), (true, true)] {
                let keys = [0, 1].map(|position| SortKey { expression: key_of(position), descending, nulls_first });
                let rows = encode_keys(&keys, &block).unwrap();
                let beginnings = key_beginnings(&keys[0], &column);
                let is_whole = are_whole_keys(column.data_type());
                for (row, beginning) in beginnings.into_iter().flatten().enumerate() {
                    let encoded = (prefix(rows.key(row)) >> 64) as u64;
                    assert!(beginning <= encoded, "{data_type} {descending} {row}");
                    let bytes = key_bytes(column.data_type()).unwrap_or(0);
                    assert!(!is_whole || bytes < 8 || beginning == encoded, "{data_type} {descending} {row}");
                }
                for keys in [&keys[..1], &keys] {
                    let rows = encode_keys(keys, &block).unwrap();
                    if let Some(whole) = whole_keys(&key_columns(keys, &block).unwrap(), values.len()) {
                        // Blocks of one sort may have either.
                        for (row, key) in whole.into_iter().enumerate() {
                            assert_eq!(key, prefix(rows.key(row)), "{data_type} {descending} {row}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn strings_behind_null_are_at_the_place_of_those_behind_a_number() {
        let number = |value: Option<i32>| value.map_or(Value::Null, |value| Value::Int64(value.into()));
        let column = |data_type: &str, values: &[Value]| {
            let mut builder = ColumnBuilder::new(DataType::parse(data_type).unwrap());
            values.iter().for_each(|value| builder.append(value).unwrap());
            builder.finish().unwrap()
        };
        let numbers = column("Nullable(Int32)", &[Some(5), None, Some(-7), None].map(number));
        let strings = column("String", &["z", "a", "", "zz"].map(Value::from));
        let block = Block::from_columns([("n", numbers.clone()), ("s", strings.clone())]).unwrap();
        for (descending, nulls_first) in [(false, false), (true, false), (false, true), (true, true)] {
            let key = |position: usize, column: &Column| SortKey {
                expression: Expression::Column { position, data_type: column.data_type().clone() },
                descending,
                nulls_first,
            };
            let keys = [key(0, &numbers), key(1, &strings)];
            let whole = whole_keys(&key_columns(&keys, &block).unwrap(), 4).unwrap();
            let rows = encode_keys(&keys, &block).unwrap();
            (0..4).for_each(|row| assert_eq!(whole[row], prefix(rows.key(row)), "{descending} {nulls_first} {row}"));
        }
    }
}
