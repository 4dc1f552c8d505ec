//! Files as tables: which files a path means and who may read them, what compresses them, what columns they have, and the scan that reads
//! many of them at once with a bounded amount of memory. What bytes mean is the formats' business, what runs a scan the engine's.

mod account;
mod compression;
mod decoder;
mod fetcher;
mod file;
pub mod glob;
mod holder;
mod part;
mod partition;
mod path;
mod scan;
mod schema;
mod sqlite;
mod table;
mod write;

pub use account::Account;
pub use compression::Compression;
pub use file::open_plain;
pub use holder::{Elsewhere, FileElsewhere, Upload, Wanted};
pub use partition::{PARTITION_ID, PartitionedTarget, Partitions};
pub use path::Reach;
pub use sqlite::SqliteTable;
pub use table::{Data, DeclaredColumns, Defaults, FileTable, FileTableOptions, Stream};
pub use write::TargetFile;
