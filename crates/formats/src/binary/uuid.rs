//! The order of a UUID's bytes: columns hold them as they are read in text; ClickHouse's binary formats hold two little-endian
//! 64-bit halves.

/// From the one order to the other, which is the same both ways.
pub fn swap_halves(mut bytes: [u8; 16]) -> [u8; 16] {
    bytes[..8].reverse();
    bytes[8..].reverse();
    bytes
}
