//! Numbers and bytes written in other ways: base32 and base58, space-filling curves, sqids, the bits of a number as an array.

mod bases;
mod bits;
mod curve;
mod sqid;

use super::simple::Function;
use crate::function::ScalarFunction;

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("base32Decode", bases::resolve_decode),
    &Function::new("base32Encode", bases::resolve_encode).never_throws(),
    &Function::new("base58Decode", bases::resolve_decode),
    &Function::new("base58Encode", bases::resolve_encode).never_throws(),
    &Function::new("bitPositionsToArray", bits::resolve_positions).never_throws(),
    &Function::new("bitmaskToArray", bits::resolve_powers).never_throws(),
    &Function::new("hilbertDecode", curve::resolve_hilbert_decode),
    &Function::new("hilbertEncode", curve::resolve_hilbert_encode),
    &Function::new("mortonDecode", curve::resolve_morton_decode),
    &Function::new("mortonEncode", curve::resolve_morton_encode),
    &Function::new("sqidDecode", sqid::resolve_decode).never_throws(),
    &Function::new("sqidEncode", sqid::resolve_encode),
    &Function::new("tryBase32Decode", bases::resolve_decode).never_throws(),
    &Function::new("tryBase58Decode", bases::resolve_decode).never_throws(),
];
