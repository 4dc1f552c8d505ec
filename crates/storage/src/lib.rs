//! Databases, tables and their data: engines, parts, primary indexes, the column cache, inserts. Knows plans only as far as a
//! predicate over columns; knows nothing of pipelines and protocols.

pub mod table;

pub use table::{Claim, InsertWriter, Insertion, Morsel, ScanRequest, Table, TableHandle, TableScan};
