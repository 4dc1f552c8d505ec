//! What does not fit into memory: temporary files of a query, written and read by threads that may wait for the disk, while the workers
//! go on with something else. Sorts, aggregations and joins decide what they put there and when ([`Threshold`]).

mod file;
mod folder;
mod frame;
mod offload;
mod packing;
mod threshold;
mod writer;

pub(crate) use file::Frame;
pub use file::{SpillFile, SpillKind};
pub use folder::TemporaryFolder;
pub(crate) use frame::decode_frame;
pub(crate) use threshold::Threshold;
pub(crate) use writer::SpillWriter;

use std::sync::Arc;

use squall_runtime::ThreadPool;

/// Where a query's temporary data go, and who waits for the disk.
#[derive(Clone)]
pub(crate) struct Temporary {
    pub(crate) folder: Arc<TemporaryFolder>,
    pub(crate) pool: ThreadPool,
}

impl std::fmt::Debug for Temporary {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.folder.fmt(formatter)
    }
}

impl Default for Temporary {
    fn default() -> Self {
        Self { folder: Arc::default(), pool: ThreadPool::global().clone() }
    }
}
