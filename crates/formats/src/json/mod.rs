//! The JSON formats.

pub(super) mod column_reader;
pub(super) mod columns;
pub(super) mod lines;
pub(super) mod output;
pub(super) mod progress;
pub(super) mod rows;
pub(super) mod whole;
