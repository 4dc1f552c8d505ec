//! TTL: which rows and values expire, what parts know of it, and which parts are merged for it.

pub(super) mod ttl;
pub(super) mod ttl_range;
pub(super) mod ttl_selection;
