//! Databases, tables and their data: engines, parts, primary indexes, the column cache, inserts. Knows plans only as far as a
//! predicate over columns; knows nothing of pipelines and protocols.

mod databases;
mod generated;
mod identity;
mod key_condition;
mod memory;
mod null;
mod row_claims;
mod session_catalog;
pub mod table;

pub use databases::{DatabaseDescription, Databases, TableDescription};
pub use generated::table_function;
pub use identity::TableName;
pub use session_catalog::SessionCatalog;
pub use table::{Claim, InsertWriter, Insertion, Morsel, ScanRequest, Table, TableHandle, TableScan};
