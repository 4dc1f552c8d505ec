//! The order of rows by a sorting key.

pub(super) mod key_bytes;
pub(super) mod radix;
pub(super) mod sorting;
