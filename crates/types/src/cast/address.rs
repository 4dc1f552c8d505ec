//! Addresses as each other, and as truth values.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt32Type};
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, PrimitiveArray};

use super::CastOptions;
use super::number::collect_valid;
use crate::error::{Error, ErrorCode, Result};

/// Addresses of IPv4 as those of IPv6 into which they are mapped.
pub(super) fn to_ipv6(array: &ArrayRef) -> Result<ArrayRef> {
    let values = array.as_primitive::<UInt32Type>();
    let bytes: Vec<u8> =
        values.values().iter().flat_map(|bits| Ipv4Addr::from_bits(*bits).to_ipv6_mapped().octets()).collect();
    Ok(Arc::new(FixedSizeBinaryArray::try_new(16, bytes.into(), None)?))
}

/// The addresses of IPv4 that are mapped into those of IPv6.
pub(super) fn to_ipv4(array: &ArrayRef, options: &CastOptions) -> Result<ArrayRef> {
    let values = array.as_fixed_size_binary();
    let read = |row: usize| {
        let octets: [u8; 16] = values.value(row).try_into().unwrap_or_default();
        Ipv6Addr::from(octets).to_ipv4_mapped().map(Ipv4Addr::to_bits)
    };
    collect_valid::<UInt32Type>(array, options, read, |_| {
        Error::new(ErrorCode::CANNOT_CONVERT_TYPE, "IPv6 address is not an IPv4 address mapped to IPv6")
    })
}

/// Whether any bit of 16 bytes is set.
pub(super) fn to_bool(array: &ArrayRef) -> ArrayRef {
    let bytes = array.as_fixed_size_binary();
    let is_true = |row: usize| u8::from(bytes.value(row).iter().any(|byte| *byte != 0));
    Arc::new(PrimitiveArray::<UInt8Type>::new((0..bytes.len()).map(is_true).collect::<Vec<u8>>().into(), None))
}
