//! Cryptographic digests as `FixedString`s, and `halfMD5`.

use std::sync::Arc;

use arrow_array::FixedSizeBinaryArray;
use md4::Md4;
use md5::Md5;
use ripemd::Ripemd160;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512, Sha512_256};
use sha3::Keccak256;
use squall_types::{Column, DataType, Result};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings};

/// The first eight bytes of an MD5, most significant first.
pub(super) fn half_md5(bytes: &[u8]) -> u64 {
    Md5::digest(bytes).first_chunk().map_or(0, |half| u64::from_be_bytes(*half))
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.each([0], |data_type| data_type.is_string_or_fixed_string() || *data_type == DataType::IPv6)?;
    type Append = fn(&mut Vec<u8>, &[u8]);
    let (length, append): (usize, Append) = match call.name {
        "MD4" => (16, |out, bytes| out.extend_from_slice(&Md4::digest(bytes))),
        "RIPEMD160" => (20, |out, bytes| out.extend_from_slice(&Ripemd160::digest(bytes))),
        "SHA1" => (20, |out, bytes| out.extend_from_slice(&Sha1::digest(bytes))),
        "SHA512_256" => (32, |out, bytes| out.extend_from_slice(&Sha512_256::digest(bytes))),
        "keccak256" => (32, |out, bytes| out.extend_from_slice(&Keccak256::digest(bytes))),
        "BLAKE3" => (32, |out, bytes| out.extend_from_slice(blake3::hash(bytes).as_bytes())),
        "MD5" => (16, |out, bytes| out.extend_from_slice(&Md5::digest(bytes))),
        "SHA224" => (28, |out, bytes| out.extend_from_slice(&Sha224::digest(bytes))),
        "SHA256" => (32, |out, bytes| out.extend_from_slice(&Sha256::digest(bytes))),
        "SHA384" => (48, |out, bytes| out.extend_from_slice(&Sha384::digest(bytes))),
        _ => (64, |out, bytes| out.extend_from_slice(&Sha512::digest(bytes))),
    };
    let return_type = DataType::FixedString(length);
    call.bind(return_type.clone(), move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let mut digests = Vec::with_capacity(rows * length);
        (0..rows).for_each(|row| append(&mut digests, strings.get(row)));
        let array = FixedSizeBinaryArray::try_new(length as i32, digests.into(), None)?;
        Ok(Column::new(return_type.clone(), Arc::new(array)))
    })
}
