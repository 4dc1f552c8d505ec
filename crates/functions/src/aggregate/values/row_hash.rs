//! Hashes of rows, for functions that tell rows of any types apart, as ClickHouse computes them: states hold them, and clients see
//! states. Two different rows meet in 128 bits with a chance so small that equal hashes are taken for equal rows.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_schema::DataType as ArrowType;
use squall_types::{Column, DataType, Result};

use super::row_bytes::RowBytes;
use crate::scalar::hash::{city, sip};

/// The columns' values as bytes; a tuple counts as its elements.
fn bytes_of(columns: &[Column]) -> Result<Vec<RowBytes>> {
    let columns = columns.iter().map(|column| RowBytes::new(column.data_type(), column.array()));
    let mut columns = columns.collect::<Result<Vec<_>>>()?;
    if let [RowBytes::Tuple(elements)] = &mut columns[..] {
        columns = std::mem::take(elements);
    }
    Ok(columns)
}

/// 128-bit hashes of rows `0..rows` of these columns, which are neither constants nor dictionaries. Of one UUID they are its own bits.
pub(in crate::aggregate) fn row_hashes(columns: &[Column], rows: usize) -> Result<Vec<u128>> {
    if let [column] = columns
        && let Some(strings) = column.array().as_binary_opt::<i32>()
        && column.nulls().is_none()
        && *column.data_type() == DataType::String
    {
        // Of many columns most strings are empty.
        let of_empty = sip::hash128(&[]);
        let hash = |string: &[u8]| if string.is_empty() { of_empty } else { sip::hash128(string) };
        return Ok((0..rows).map(|row| hash(strings.value(row))).collect());
    }
    let is_one = columns.len() == 1;
    let is_uuid = is_one && columns.iter().all(|column| *column.data_type() == DataType::UUID);
    let columns = bytes_of(columns)?;
    let mut bytes = Vec::new();
    let hash = |row| {
        bytes.clear();
        match &columns[..] {
            [column] if is_one => column.append_plain(row, &mut bytes),
            _ => columns.iter().for_each(|column| column.append(row, &mut bytes)),
        }
        match <[u8; 16]>::try_from(&bytes[..]) {
            Ok(uuid) if is_uuid => u128::from_le_bytes(uuid),
            _ => sip::hash128(&bytes),
        }
    };
    Ok((0..rows).map(hash).collect())
}

/// CityHash64 of each value's bytes.
pub(in crate::aggregate) fn byte_hashes(column: &Column) -> Result<Vec<u64>> {
    let source = RowBytes::new(column.data_type(), column.array())?;
    let mut bytes = Vec::new();
    let hash = |row| match source.contiguous(row) {
        Some(bytes) => city::hash64(bytes),
        None => {
            bytes.clear();
            source.append_plain(row, &mut bytes);
            city::hash64(&bytes)
        }
    };
    Ok((0..column.rows()).map(hash).collect())
}

/// Numbers of up to 64 bits as they are, with their sign; `None` of other columns.
pub(crate) fn number_bits(column: &Column) -> Option<Vec<u64>> {
    fn bits<T: ArrowPrimitiveType>(array: &dyn Array, bits: impl Fn(T::Native) -> u64) -> Option<Vec<u64>> {
        Some(array.as_primitive_opt::<T>()?.values().iter().map(|&value| bits(value)).collect())
    }
    let array = &**column.array();
    match array.data_type() {
        ArrowType::UInt8 => bits::<UInt8Type>(array, u64::from),
        ArrowType::UInt16 => bits::<UInt16Type>(array, u64::from),
        ArrowType::UInt32 => bits::<UInt32Type>(array, u64::from),
        ArrowType::UInt64 => bits::<UInt64Type>(array, |value| value),
        ArrowType::Int8 => bits::<Int8Type>(array, |value| value as u64),
        ArrowType::Int16 => bits::<Int16Type>(array, |value| value as u64),
        ArrowType::Int32 => bits::<Int32Type>(array, |value| value as u64),
        ArrowType::Int64 => bits::<Int64Type>(array, |value| value as u64),
        ArrowType::Float32 => bits::<Float32Type>(array, |value| u64::from(value.to_bits())),
        ArrowType::Float64 => bits::<Float64Type>(array, f64::to_bits),
        _ => None,
    }
}

/// A number for each row that is the same for equal rows: a number's own bits, otherwise a hash.
pub(in crate::aggregate) enum Keys {
    /// Numbers: not yet hashed.
    Numbers(Vec<u64>),
    /// Hashes of one string or another single value.
    Values(Vec<u64>),
    /// Hashes of several values.
    Rows(Vec<u64>),
}

/// The keys of rows `0..rows`.
pub(in crate::aggregate) fn keys(columns: &[Column], rows: usize) -> Result<Keys> {
    if let [column] = columns {
        if let Some(bits) = number_bits(column) {
            return Ok(Keys::Numbers(bits));
        }
        if matches!(column.data_type(), DataType::String | DataType::FixedString(_) | DataType::IPv6) {
            return Ok(Keys::Values(byte_hashes(column)?));
        }
        if *column.data_type() == DataType::UUID {
            // Of a UUID as of any wide integer.
            let source = RowBytes::new(column.data_type(), column.array())?;
            let mut bytes = Vec::new();
            let hash = |row| {
                bytes.clear();
                source.append(row, &mut bytes);
                sip::hash128(&bytes) as u64
            };
            return Ok(Keys::Values((0..rows).map(hash).collect()));
        }
    }
    let sources = bytes_of(columns)?;
    if !sources.iter().all(RowBytes::is_simple) {
        return Ok(Keys::Rows(row_hashes(columns, rows)?.into_iter().map(|hash| hash as u64).collect()));
    }
    let mut bytes = Vec::new();
    let hash = |row| {
        let hashes = sources.iter().map(|source| match source.contiguous(row) {
            Some(bytes) => city::hash64(bytes),
            None => {
                bytes.clear();
                source.append_plain(row, &mut bytes);
                city::hash64(&bytes)
            }
        });
        hashes.reduce(|all, hash| city::combine(hash, all)).unwrap_or_default()
    };
    Ok(Keys::Rows((0..rows).map(hash).collect()))
}

/// The finalizer of MurmurHash3: a bijection of 64 bits in which every input bit changes every output bit half of the time.
#[inline]
pub(in crate::aggregate) fn mix(mut bits: u64) -> u64 {
    bits ^= bits >> 33;
    bits = bits.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    bits ^= bits >> 33;
    bits = bits.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    bits ^ (bits >> 33)
}
