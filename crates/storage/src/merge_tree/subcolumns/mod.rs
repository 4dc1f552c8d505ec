//! Subcolumns as columns: paths of the documents in a `JSON` column. A part keeps paths without types in one list, so the chunk of such a
//! path is made of the column's chunk once a scan wants it, and then lives in the column cache as any other.

mod hot_subcolumns;
mod subcolumn_decoder;
mod subcolumn_table;
mod wanted_columns;

pub(super) use hot_subcolumns::HotSubcolumns;
pub(super) use subcolumn_table::SubcolumnTable;
pub use wanted_columns::WantedColumns;
pub(super) use wanted_columns::{ComputedSubcolumns, WantedColumn};
