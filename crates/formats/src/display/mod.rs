//! Formats for people and documents: tables as text, Markdown and XML.

pub(super) mod cells;
pub(super) mod colors;
pub(super) mod markdown;
pub(super) mod pretty;
pub(super) mod pretty_fit;
pub(super) mod pretty_json;
pub(super) mod tabular;
pub(super) mod vertical;
pub(super) mod xml;
