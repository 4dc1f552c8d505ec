//! Values as aggregate functions see them: read from columns, kept, hashed, put in order, written as the bytes of states.

pub(super) mod comparable;
pub(super) mod element;
pub(super) mod literals;
pub(super) mod number;
pub(super) mod ordered;
pub(super) mod row_bytes;
pub(crate) mod row_hash;
pub(super) mod selection;
pub(super) mod slot_order;
pub(crate) mod state_bytes;
pub(super) mod tally;
pub(super) mod value_key;
pub(super) mod value_list;
