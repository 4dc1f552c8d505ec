//! Sums, averages, counts and bits of numbers.

pub(super) mod as_floats;
pub(super) mod average;
pub(super) mod average_weighted;
pub(super) mod bits;
pub(super) mod count;
pub(super) mod float_sums;
pub(super) mod kahan;
pub(super) mod mapped_arrays;
pub(super) mod sum;
pub(super) mod sum_count;
pub(super) mod wide;
