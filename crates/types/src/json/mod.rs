//! JSON: documents, and columns of objects.

pub mod document;
pub mod paths;
