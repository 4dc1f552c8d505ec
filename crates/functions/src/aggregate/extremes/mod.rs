//! Values that are picked out: the least, the greatest, the first, the most frequent.

pub(super) mod any;
pub(super) mod any_heavy;
pub(super) mod arg_min_max;
pub(super) mod min_max;
pub(super) mod top_k;
