//! A 128-bit hash of a row's values, for functions that tell rows of any types apart. Two different rows meet with a chance so
//! small that ClickHouse, too, takes equal hashes for equal rows.

use std::hash::Hasher;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_schema::DataType as ArrowType;
use siphasher::sip128::{Hasher128, SipHasher13};
use squall_types::{Column, Value};

/// The hashes of rows `0..rows` of these columns, which are neither constants nor dictionaries.
pub(super) fn row_hashes(columns: &[Column], rows: usize) -> Vec<u128> {
    if let [column] = columns
        && let Some(strings) = column.array().as_binary_opt::<i32>()
        && column.nulls().is_none()
    {
        let hash = |row| {
            let mut hasher = SipHasher13::new();
            hasher.write(strings.value(row));
            hasher.finish128().as_u128()
        };
        return (0..rows).map(hash).collect();
    }
    let mut hashers = vec![SipHasher13::new(); rows];
    for column in columns {
        add_column(&mut hashers, column);
    }
    hashers.into_iter().map(|hasher| hasher.finish128().as_u128()).collect()
}

fn add_column(hashers: &mut [SipHasher13], column: &Column) {
    fn primitive<T: ArrowPrimitiveType>(
        hashers: &mut [SipHasher13],
        array: &dyn Array,
        bits: impl Fn(T::Native) -> u64,
    ) {
        let values = array.as_primitive::<T>().values();
        hashers.iter_mut().zip(values.iter()).for_each(|(hasher, &value)| hasher.write_u64(bits(value)));
    }
    let array = &**column.array();
    if array.null_count() > 0 {
        for (row, hasher) in hashers.iter_mut().enumerate() {
            add_value(hasher, &column.value(row));
        }
        return;
    }
    match array.data_type() {
        ArrowType::UInt8 => primitive::<UInt8Type>(hashers, array, u64::from),
        ArrowType::UInt16 => primitive::<UInt16Type>(hashers, array, u64::from),
        ArrowType::UInt32 => primitive::<UInt32Type>(hashers, array, u64::from),
        ArrowType::UInt64 => primitive::<UInt64Type>(hashers, array, |value| value),
        ArrowType::Int8 => primitive::<Int8Type>(hashers, array, |value| value as u64),
        ArrowType::Int16 => primitive::<Int16Type>(hashers, array, |value| value as u64),
        ArrowType::Int32 => primitive::<Int32Type>(hashers, array, |value| value as u64),
        ArrowType::Int64 => primitive::<Int64Type>(hashers, array, |value| value as u64),
        ArrowType::Float32 => primitive::<Float32Type>(hashers, array, |value| f64::from(value).to_bits()),
        ArrowType::Float64 => primitive::<Float64Type>(hashers, array, f64::to_bits),
        ArrowType::Binary => {
            let strings = array.as_binary::<i32>();
            hashers.iter_mut().zip(strings.iter()).for_each(|(hasher, value)| add_bytes(hasher, value.unwrap_or(&[])));
        }
        _ => hashers.iter_mut().enumerate().for_each(|(row, hasher)| add_value(hasher, &column.value(row))),
    }
}

fn add_bytes(hasher: &mut SipHasher13, bytes: &[u8]) {
    hasher.write_u64(bytes.len() as u64);
    hasher.write(bytes);
}

/// Adds a value so that it hashes as the same value in a column without NULLs does; a NULL is marked by a byte.
fn add_value(hasher: &mut SipHasher13, value: &Value) {
    match value {
        Value::Null => hasher.write_u8(0xFF),
        Value::Bool(value) => hasher.write_u64(u64::from(*value)),
        Value::UInt64(value) => hasher.write_u64(*value),
        Value::Int64(value) => hasher.write_u64(*value as u64),
        Value::Int256(value) | Value::Decimal(value, _) => hasher.write(&value.to_le_bytes()),
        Value::UInt256(value) => hasher.write(&value.to_le_bytes()),
        Value::Float64(value) => hasher.write_u64(value.to_bits()),
        Value::String(bytes) => add_bytes(hasher, bytes),
        Value::Uuid(bytes) => add_bytes(hasher, bytes),
        Value::Array(items) | Value::Tuple(items) => {
            hasher.write_u64(items.len() as u64);
            items.iter().for_each(|item| add_value(hasher, item));
        }
        Value::Map(entries) => {
            hasher.write_u64(entries.len() as u64);
            entries.iter().for_each(|(key, value)| {
                add_value(hasher, key);
                add_value(hasher, value);
            });
        }
    }
}

/// 64-bit hashes of the rows, every bit of which may be relied on: for samples and sketches.
pub(super) fn value_hashes(columns: &[Column]) -> Vec<u64> {
    let rows = columns.first().map_or(0, Column::rows);
    if let [column] = columns {
        let array = &**column.array();
        fn mixed<T: ArrowPrimitiveType>(array: &dyn Array, bits: impl Fn(T::Native) -> u64) -> Vec<u64> {
            array.as_primitive::<T>().values().iter().map(|&value| mix(bits(value))).collect()
        }
        match array.data_type() {
            ArrowType::UInt8 => return mixed::<UInt8Type>(array, u64::from),
            ArrowType::UInt16 => return mixed::<UInt16Type>(array, u64::from),
            ArrowType::UInt32 => return mixed::<UInt32Type>(array, u64::from),
            ArrowType::UInt64 => return mixed::<UInt64Type>(array, |value| value),
            ArrowType::Int8 => return mixed::<Int8Type>(array, |value| value as u64),
            ArrowType::Int16 => return mixed::<Int16Type>(array, |value| value as u64),
            ArrowType::Int32 => return mixed::<Int32Type>(array, |value| value as u64),
            ArrowType::Int64 => return mixed::<Int64Type>(array, |value| value as u64),
            ArrowType::Float32 => return mixed::<Float32Type>(array, |value| u64::from(value.to_bits())),
            ArrowType::Float64 => return mixed::<Float64Type>(array, f64::to_bits),
            _ => {}
        }
    }
    row_hashes(columns, rows).into_iter().map(|hash| hash as u64).collect()
}

/// The finalizer of MurmurHash3: a bijection of 64 bits in which every input bit changes every output bit half of the time.
#[inline]
fn mix(mut bits: u64) -> u64 {
    bits ^= bits >> 33;
    bits = bits.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    bits ^= bits >> 33;
    bits = bits.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    bits ^ (bits >> 33)
}
