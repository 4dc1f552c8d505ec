//! `intHash32` and `intHash64`, which other functions use for numbers and to mix hashes.

use std::sync::Arc;

use arrow_array::types::{UInt32Type, UInt64Type};
use squall_types::{Column, DataType, Result};

use crate::function::BoundFunction;
use crate::scalar::simple::Call;

/// `intHash64`: MurmurHash3's finalizer behind a salt.
#[inline]
pub(super) fn hash64(value: u64) -> u64 {
    let mut bits = value ^ 0x4CF2_D2BA_AE6D_A887;
    bits ^= bits >> 33;
    bits = bits.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    bits ^= bits >> 33;
    bits = bits.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    bits ^ (bits >> 33)
}

/// `intHash32`: Thomas Wang's hash of 64 to 32 bits behind a salt.
#[inline]
pub(super) fn hash32(value: u64) -> u32 {
    unsalted32(value ^ 0x75D9_543D_E018_BF45)
}

/// The same without the salt.
#[inline]
pub(crate) fn unsalted32(mut bits: u64) -> u32 {
    bits = (!bits).wrapping_add(bits << 18);
    bits ^= bits.rotate_right(31);
    bits = bits.wrapping_mul(21);
    bits ^= bits.rotate_right(11);
    bits = bits.wrapping_add(bits << 6);
    bits ^= bits.rotate_right(22);
    bits as u32
}

/// The arguments as 64 bits: signed ones keep their sign.
fn resolve(call: &Call<'_>) -> Result<()> {
    call.arguments(1..=1)?;
    call.each([0], |data_type| {
        data_type.is_integer() || matches!(data_type, DataType::Bool | DataType::Date | DataType::DateTime(_))
    })
}

fn values(arguments: &[Column], rows: usize) -> Result<Vec<u64>> {
    let column = crate::scalar::simple::argument(arguments, 0)?;
    if *column.data_type() == DataType::UInt64 {
        return Ok(column.materialize()?.as_primitive::<UInt64Type>()?.values().to_vec());
    }
    Ok(crate::scalar::simple::integers(arguments, 0, rows)?.into_iter().map(|value| value as u64).collect())
}

pub(super) fn resolve32(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    resolve(call)?;
    call.bind(DataType::UInt32, |arguments, rows| {
        let hashes = values(arguments, rows)?.into_iter().map(hash32).collect();
        Ok(Column::from_primitive::<UInt32Type>(DataType::UInt32, hashes))
    })
}

pub(super) fn resolve64(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    resolve(call)?;
    call.bind(DataType::UInt64, |arguments, rows| {
        let hashes = values(arguments, rows)?.into_iter().map(hash64).collect();
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, hashes))
    })
}
