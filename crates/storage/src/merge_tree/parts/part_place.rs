//! Where the bytes of a part are: in a file of its own, within that of another part, or in memory.

use std::io;
use std::sync::Arc;

use bytes::Bytes;

use super::part_life::PartLife;
use crate::disk::OpenFile;

/// Where the bytes of a part are.
pub(in crate::merge_tree) enum PartPlace {
    /// A file of its own, from so many bytes on: what a part has of a projection lies in the part's.
    File { life: Arc<PartLife>, first: u64 },
    /// In memory, for as long as another part is made of it.
    Memory(Bytes),
}

/// The bytes of a file from some place on.
pub(in crate::merge_tree) struct Within {
    pub(in crate::merge_tree) file: Box<dyn OpenFile>,
    pub(in crate::merge_tree) first: u64,
}

impl OpenFile for Within {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, self.first.saturating_add(offset))
    }
}

/// Bytes that are at hand.
pub(in crate::merge_tree) struct InMemory(pub(in crate::merge_tree) Bytes);

impl OpenFile for InMemory {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let end = usize::try_from(offset).ok().and_then(|start| Some((start, start.checked_add(bytes.len())?)));
        let found = end.and_then(|(start, end)| self.0.get(start..end)).ok_or(io::ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(found);
        Ok(())
    }
}
