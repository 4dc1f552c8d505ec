//! Hash functions. Their values are part of what users store and compare, so every one is ClickHouse's to the bit: for numbers,
//! strings, arrays and tuples, and for several arguments.

mod any;
pub(crate) mod checksum;
pub(crate) mod city;
mod digest;
mod iceberg;
pub(crate) mod integer;
mod java;
mod jump;
mod keyed;
mod kostik;
mod metro;
mod murmur;
mod similar;
pub(crate) mod sip;
mod wy;

use super::simple::Function;
use crate::function::ScalarFunction;

/// Every function of this module.
pub const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("CRC32", checksum::resolve).never_throws(),
    &Function::new("CRC32IEEE", checksum::resolve).never_throws(),
    &Function::new("CRC64", checksum::resolve).never_throws(),
    &Function::new("BLAKE3", digest::resolve).never_throws(),
    &Function::new("MD4", digest::resolve).never_throws(),
    &Function::new("RIPEMD160", digest::resolve).never_throws(),
    &Function::new("SHA1", digest::resolve).never_throws(),
    &Function::new("SHA512_256", digest::resolve).never_throws(),
    &Function::new("keccak256", digest::resolve).never_throws(),
    &Function::new("farmFingerprint64", any::resolve64).never_throws().with_halves().with_variants(),
    &Function::new("farmHash64", any::resolve64).never_throws().with_halves().with_variants(),
    &Function::new("metroHash64", any::resolve64).never_throws().with_halves().with_variants(),
    &Function::new("HMAC", keyed::resolve_hmac),
    &Function::new("javaHashUTF16LE", java::resolve_utf16),
    &Function::new("MD5", digest::resolve).never_throws(),
    &Function::new("SHA224", digest::resolve).never_throws(),
    &Function::new("SHA256", digest::resolve).never_throws(),
    &Function::new("SHA384", digest::resolve).never_throws(),
    &Function::new("SHA512", digest::resolve).never_throws(),
    &Function::new("URLHash", city::resolve_url),
    &Function::new("cityHash64", any::resolve64).never_throws().with_halves().with_variants(),
    &Function::new("gccMurmurHash", any::resolve64).never_throws().with_halves().with_variants(),
    &Function::new("halfMD5", any::resolve64).never_throws().with_halves().with_variants(),
    &Function::new("hiveHash", any::resolve_hive).never_throws(),
    &Function::new("intHash32", integer::resolve32).never_throws(),
    &Function::new("intHash64", integer::resolve64).never_throws(),
    &Function::new("javaHash", java::resolve).never_throws(),
    &Function::new("jumpConsistentHash", jump::resolve),
    &Function::new("kostikConsistentHash", kostik::resolve),
    &Function::new("kafkaMurmurHash", any::resolve32).never_throws().with_halves().with_variants(),
    &Function::new("murmurHash2_32", any::resolve32).never_throws().with_halves().with_variants(),
    &Function::new("murmurHash2_64", any::resolve64).never_throws().with_halves().with_variants(),
    &Function::new("murmurHash3_128", any::resolve128).never_throws().with_halves().with_variants(),
    &Function::new("murmurHash3_32", any::resolve32).never_throws().with_halves().with_variants(),
    &Function::new("murmurHash3_64", any::resolve64).never_throws().with_halves().with_variants(),
    &Function::new("ngramMinHash", similar::resolve_min),
    &Function::new("ngramMinHashArg", similar::resolve_arg),
    &Function::new("ngramMinHashArgCaseInsensitive", similar::resolve_arg),
    &Function::new("ngramMinHashArgCaseInsensitiveUTF8", similar::resolve_arg),
    &Function::new("ngramMinHashArgUTF8", similar::resolve_arg),
    &Function::new("ngramMinHashCaseInsensitive", similar::resolve_min),
    &Function::new("ngramMinHashCaseInsensitiveUTF8", similar::resolve_min),
    &Function::new("ngramMinHashUTF8", similar::resolve_min),
    &Function::new("ngramSimHash", similar::resolve_sim),
    &Function::new("ngramSimHashCaseInsensitive", similar::resolve_sim),
    &Function::new("ngramSimHashCaseInsensitiveUTF8", similar::resolve_sim),
    &Function::new("ngramSimHashUTF8", similar::resolve_sim),
    &Function::new("wordShingleMinHash", similar::resolve_min),
    &Function::new("wordShingleMinHashArg", similar::resolve_arg),
    &Function::new("wordShingleMinHashArgCaseInsensitive", similar::resolve_arg),
    &Function::new("wordShingleMinHashArgCaseInsensitiveUTF8", similar::resolve_arg),
    &Function::new("wordShingleMinHashArgUTF8", similar::resolve_arg),
    &Function::new("wordShingleMinHashCaseInsensitive", similar::resolve_min),
    &Function::new("wordShingleMinHashCaseInsensitiveUTF8", similar::resolve_min),
    &Function::new("wordShingleMinHashUTF8", similar::resolve_min),
    &Function::new("wordShingleSimHash", similar::resolve_sim),
    &Function::new("wordShingleSimHashCaseInsensitive", similar::resolve_sim),
    &Function::new("wordShingleSimHashCaseInsensitiveUTF8", similar::resolve_sim),
    &Function::new("wordShingleSimHashUTF8", similar::resolve_sim),
    &Function::new("sipHash128", any::resolve128).never_throws().with_halves().with_variants(),
    &Function::new("sipHash128Reference", any::resolve128).never_throws().with_halves().with_variants(),
    &Function::new("sipHash128Keyed", any::resolve_keyed128).with_halves().with_variants(),
    &Function::new("sipHash128ReferenceKeyed", any::resolve_keyed128).with_halves().with_variants(),
    &Function::new("sipHash64Keyed", any::resolve_keyed64).with_halves().with_variants(),
    &Function::new("xxHash64Spark", any::resolve_spark).never_throws(),
    &Function::new("xxh3_128", any::resolve_xxh3_128).never_throws().with_halves().with_variants(),
    &Function::new("icebergHash", iceberg::resolve_hash).never_throws(),
    &Function::new("icebergBucket", iceberg::resolve_bucket),
    &Function::new("icebergTruncate", iceberg::resolve_truncate),
    &Function::new("sipHash64", any::resolve64).never_throws().with_halves().with_variants(),
    &Function::new("wyHash64", any::resolve64).never_throws().with_halves().with_variants(),
    &Function::new("xxHash32", any::resolve32).never_throws().with_halves().with_variants(),
    &Function::new("xxHash64", any::resolve64).never_throws().with_halves().with_variants(),
    &Function::new("xxh3", any::resolve64).never_throws().with_halves().with_variants(),
];
