//! Cyclic redundancy checks. `CRC32` is zlib's; the other two begin with zero and are not inverted.

use std::sync::Arc;

use arrow_array::types::{UInt32Type, UInt64Type};
use squall_types::{DataType, Result};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, primitive_column};

/// The remainders of all bytes for a polynomial with its bits reversed.
const fn table(polynomial: u64) -> [u64; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            remainder = if remainder & 1 == 1 { remainder >> 1 ^ polynomial } else { remainder >> 1 };
            bit += 1;
        }
        table[byte] = remainder;
        byte += 1;
    }
    table
}

/// The polynomial of IEEE 802.3.
static IEEE: [u64; 256] = table(0xEDB8_8320);

/// The polynomial of ECMA-182.
static ECMA: [u64; 256] = table(0xC96C_5795_D787_0F42);

/// The polynomial of CRC-32C.
static CASTAGNOLI: [u64; 256] = table(0x82F6_3B78);

fn remainder(table: &[u64; 256], start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |rest, &byte| table[usize::from(rest as u8 ^ byte)] ^ rest >> 8)
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    if call.name == "CRC64" {
        return call.bind(DataType::UInt64, |arguments, rows| {
            let strings = Strings::of(arguments, 0)?;
            let check = |row| remainder(&ECMA, 0, strings.get(row));
            Ok(primitive_column::<UInt64Type>(DataType::UInt64, rows, check))
        });
    }
    let inversion = if call.name == "CRC32" { u32::MAX } else { 0 };
    call.bind(DataType::UInt32, move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let check = |row| remainder(&IEEE, inversion.into(), strings.get(row)) as u32 ^ inversion;
        Ok(primitive_column::<UInt32Type>(DataType::UInt32, rows, check))
    })
}

/// CRC-32C of a number's bytes after those that gave `crc`, as processors compute it: neither begun nor ended with an inversion.
pub(crate) fn crc32c(crc: u32, number: u64) -> u32 {
    remainder(&CASTAGNOLI, crc.into(), &number.to_le_bytes()) as u32
}
