//! What functions may ask of the server and the session around a query. Whoever runs queries implements it.

use std::fmt::Debug;
use std::sync::Arc;

use squall_types::{Block, Result, Value};

use crate::regions::EmbeddedRegions;
use crate::top_level_domains::TopLevelDomains;

/// Bytes of a disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiskSpace {
    /// Of the whole disk.
    pub capacity: u64,
    /// That nobody uses.
    pub unreserved: u64,
    /// That this process may use.
    pub available: u64,
}

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

    /// The number of the server, which it keeps.
    fn server_uuid(&self) -> [u8; 16];

    /// The space on the disk where data are.
    ///
    /// # Errors
    /// `UNKNOWN_DISK`, and where the system does not tell.
    fn disk_space(&self, disk: &str) -> Result<DiskSpace>;

    /// What the server's certificate says of itself; nothing where there is none.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn certificate(&self) -> Result<Vec<(&'static str, String)>>;

    /// Refuses users who may not read files.
    ///
    /// # Errors
    /// `ACCESS_DENIED`.
    fn check_may_read_files(&self) -> Result<()>;

    /// The bytes of a file that the user may read.
    ///
    /// # Errors
    /// `FILE_DOESNT_EXIST`, `DATABASE_ACCESS_DENIED`, and where it cannot be read.
    fn read_file(&self, path: &str) -> Result<Vec<u8>>;

    /// A list of the configuration's `top_level_domains_lists`.
    fn top_level_domains(&self, list: &str) -> Option<Arc<TopLevelDomains>>;

    /// The regions of the configuration; `None` where it names none.
    fn regions(&self) -> Option<Arc<EmbeddedRegions>>;

    /// The names of the user's settings profiles.
    fn profiles(&self) -> Vec<Arc<str>>;
}
