//! Rows that functions find by key: dictionaries and tables of the engine `Join`, as `dictGet` and `joinGet` see them. Whoever
//! keeps the rows implements these traits.

use std::fmt::Debug;
use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result};

/// Where dictionaries and tables of the engine `Join` are found by name.
pub trait Lookups: Send + Sync + Debug {
    /// A table of the engine `Join`, `table` or `database.table`.
    ///
    /// # Errors
    /// `UNKNOWN_TABLE`, `ILLEGAL_TYPE_OF_ARGUMENT` for tables of other engines, `INCOMPATIBLE_TYPE_OF_JOIN` for tables of other joins.
    fn join_table(&self, name: &str) -> Result<Arc<dyn KeyedRows>>;

    /// A dictionary, `name` or `database.name`.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where there is none.
    fn dictionary(&self, name: &str) -> Result<Arc<dyn KeyedRows>>;
}

/// Rows by key. What is found is what is there at the moment of the look, however long this is kept.
pub trait KeyedRows: Send + Sync + Debug {
    /// The names and types of the key's columns.
    fn keys(&self) -> &[(Arc<str>, DataType)];

    /// Whether the key is one number.
    fn is_simple(&self) -> bool;

    /// The type of a point, where a row holds for a range of them: then a column of points follows the key's.
    fn range(&self) -> Option<&DataType> {
        None
    }

    /// Whether the key is a network, which is found by an address in it: then the key's column is of IPv6 addresses.
    fn is_of_networks(&self) -> bool {
        false
    }

    /// All rows: the key's columns, then the attributes.
    ///
    /// # Errors
    /// Where the rows are not there to be looked at, or never are all there.
    fn all(&self) -> Result<(Vec<Column>, Arc<[Column]>)> {
        Err(Error::new(ErrorCode::UNSUPPORTED_METHOD, "Dictionary does not support hierarchy"))
    }

    /// The columns beside the key.
    fn attributes(&self) -> &[Attribute];

    /// The rows of these keys, whose columns have the types of [`keys`](Self::keys), and of [`range`](Self::range), and are no
    /// constants.
    ///
    /// # Errors
    /// Where the rows are not there to be looked at.
    fn find(&self, keys: &[Column], rows: usize) -> Result<Found>;
}

/// A column that is found.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub data_type: DataType,
    /// Its value for keys that are not there: one row.
    pub default: Column,
    /// Whether it is the key of the row above in a hierarchy.
    pub is_hierarchical: bool,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// A column for each attribute.
    pub attributes: Arc<[Column]>,
    /// For each key its row; [`MISSING`] where there is none.
    pub rows: Vec<u32>,
}

/// No row.
pub const MISSING: u32 = u32::MAX;
