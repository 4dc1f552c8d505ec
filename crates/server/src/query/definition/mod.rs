//! Statements that define things: tables, views, dictionaries, functions, users.

pub(super) mod access;
pub(super) mod create;
mod dependents;
pub(super) mod describe;
pub(super) mod dictionary;
pub(super) mod drop;
pub(super) mod drop_limit;
pub(super) mod object;
pub(super) mod rename;
pub(super) mod required;
pub(super) mod show;
pub(super) mod show_access;
