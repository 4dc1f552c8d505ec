//! Who holds files: this machine's disk, or somebody else who opens and takes them.

use std::fmt;
use std::io::{Read, Write};
use std::sync::Arc;

use bytes::Bytes;
use squall_formats::ReadAt;
use squall_types::Result;

use crate::compression::Compression;
use crate::file::{Placed, open_plain};
use crate::path::Found;

/// Files that are elsewhere than on this machine's disk. Everything here waits for an answer.
pub trait Elsewhere: Send + Sync + fmt::Debug {
    /// Reads a file from its beginning.
    ///
    /// # Errors
    /// Where it is not there, or may not be read.
    fn open(&self, wanted: Wanted<'_>) -> Result<Box<dyn Read + Send>>;

    /// Reads some bytes of a file whose size is known.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    fn read_at(&self, wanted: Wanted<'_>, offset: u64, length: usize) -> Result<Bytes>;

    /// Begins to write a file. Dropped before its [commit](Upload::commit) it leaves nothing behind, where that can be had.
    ///
    /// # Errors
    /// Where it may not be written.
    fn create(&self, location: &str) -> Result<Box<dyn Upload>>;

    /// Whether it knows the states of files by tags, which the column `_etag` tells.
    fn has_etags(&self) -> bool {
        false
    }
}

/// A file that is to be read, as it was when it was found.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// By what its holder knows it.
    pub location: &'a str,
    /// Its size, where that is known.
    pub size: Option<u64>,
    /// The tag of its state, where the holder gave one.
    pub etag: Option<&'a str>,
}

/// A file on its way to elsewhere.
pub trait Upload: Write + Send {
    /// All bytes were written: waits until the other side has them.
    ///
    /// # Errors
    /// Where it does not take them.
    fn commit(self: Box<Self>) -> Result<()>;
}

/// A file that is elsewhere.
#[derive(Clone, Debug, Default)]
pub struct FileElsewhere {
    /// By what its holder knows it.
    pub location: String,
    /// Its path, as `_path` tells it; the ending tells its format and compression.
    pub path: String,
    /// Its size, where it can be read by place.
    pub size: Option<u64>,
    /// When it was changed last, in seconds since 1970.
    pub changed: Option<u32>,
    /// The tag of its state, where its holder has such.
    pub etag: Option<Arc<str>>,
}

/// Who holds the files of a table.
#[derive(Clone, Debug, Default)]
pub(crate) enum Holder {
    #[default]
    Disk,
    Elsewhere(Arc<dyn Elsewhere>),
}

impl Holder {
    /// The plain bytes of a file.
    pub fn open(&self, found: &Found, compression: Compression) -> Result<Box<dyn Read + Send>> {
        match self {
            Self::Disk => open_plain(&found.path, compression),
            Self::Elsewhere(holder) => compression.reader(holder.open(found.wanted())?),
        }
    }

    /// A file that is read by place.
    pub fn placed(&self, found: &Found) -> Result<Box<dyn ReadAt>> {
        Ok(match self {
            Self::Disk => Box::new(Placed::open(found)?),
            Self::Elsewhere(holder) => Box::new(PlacedElsewhere { holder: holder.clone(), found: found.clone() }),
        })
    }

    /// Whether files have tags of their states.
    pub fn has_etags(&self) -> bool {
        match self {
            Self::Disk => false,
            Self::Elsewhere(holder) => holder.has_etags(),
        }
    }
}

struct PlacedElsewhere {
    holder: Arc<dyn Elsewhere>,
    found: Found,
}

impl ReadAt for PlacedElsewhere {
    fn length(&self) -> u64 {
        self.found.size.unwrap_or_default()
    }

    fn read_at(&self, offset: u64, length: usize) -> Result<Bytes> {
        self.holder.read_at(self.found.wanted(), offset, length)
    }
}
