//! What functions may ask of the server and the session around a query. Whoever runs queries implements it.

use std::fmt::Debug;
use std::sync::Arc;

use squall_types::{Block, Result, Value};

/// A server and a session.
pub trait Surroundings: Send + Sync + Debug {
    /// Rows in an output format, each by itself.
    ///
    /// # Errors
    /// `UNKNOWN_FORMAT`, and whatever the format says of the columns.
    fn format_rows(&self, format: &str, block: &Block) -> Result<Vec<Vec<u8>>>;

    /// Whether a table has a column.
    ///
    /// # Errors
    /// `UNKNOWN_TABLE`.
    fn has_column(&self, database: &str, table: &str, column: &str) -> Result<bool>;

    /// A setting of the server.
    fn server_setting(&self, name: &str) -> Option<Value>;

    /// A setting of tables that name none.
    fn merge_tree_setting(&self, name: &str) -> Option<Value>;

    /// A port by its element of the configuration.
    fn port(&self, name: &str) -> Option<u16>;

    /// A macro of the configuration.
    fn macro_value(&self, name: &str) -> Option<Arc<str>>;

    /// The names of the user's roles: those granted by default, and those that are enabled.
    fn roles(&self) -> (Vec<Arc<str>>, Vec<Arc<str>>);

    /// The names of the user's settings profiles.
    fn profiles(&self) -> Vec<Arc<str>>;
}
