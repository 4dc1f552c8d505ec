//! Byte strings one after the other in one piece of memory: the keys of a hash table.

use squall_types::{Result, grow, prefetch};

/// Strings, numbered from 0.
#[derive(Default)]
pub(super) struct Arena {
    pub(super) bytes: Vec<u8>,
    /// The end of each string.
    pub(super) ends: Vec<usize>,
}

impl Arena {
    /// Makes room for so many strings that have so many bytes together.
    #[inline]
    pub(super) fn make_room(&mut self, strings: usize, bytes: usize) -> Result<()> {
        grow(&mut self.ends, strings)?;
        grow(&mut self.bytes, bytes)
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
    }

    /// Where a string begins.
    #[inline]
    pub(super) fn start(&self, at: usize) -> usize {
        if at == 0 { 0 } else { self.ends[at - 1] }
    }

    pub(super) fn get(&self, at: usize) -> &[u8] {
        &self.bytes[self.start(at)..self.ends[at]]
    }

    /// Has brought near where a string lies.
    #[inline]
    pub(super) fn prefetch_end(&self, at: usize) {
        prefetch(&self.ends, at);
    }

    /// Has a string brought near, where its place is so already.
    #[inline]
    pub(super) fn prefetch_bytes(&self, at: usize) {
        prefetch(&self.bytes, self.start(at));
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>()
    }
}
