//! Formats of separated and escaped text.

pub(super) mod csv;
pub(super) mod custom;
pub(super) mod escaping;
pub(super) mod field;
pub(super) mod form;
mod null_parts;
pub(super) mod prometheus;
pub(super) mod quantity;
pub(super) mod regexp;
pub(super) mod scan;
pub(super) mod sql_insert;
pub(super) mod tab_separated;
pub(super) mod template;
pub(super) mod utf8;
pub(super) mod values;
