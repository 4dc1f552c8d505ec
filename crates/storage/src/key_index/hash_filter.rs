//! Which hashes are there, a bit for some of their bits: of keys that are no numbers close together. Most keys that a selective join looks
//! up are not there; then one bit in the core's own cache answers in place of a slot beyond it, or of a search whose end no branch
//! predictor knows.

use std::sync::atomic::{AtomicU64, Ordering};

use squall_types::{Result, reserve};

/// So many bits a row gets, at least: one of sixteen lookups of keys that are not there finds its bit set.
const BITS_PER_ROW: usize = 16;
/// A filter of more bytes than this would not stay in a core's cache.
const BYTES_MAX: usize = 512 << 10;
/// A word at least.
const BYTES_MIN: usize = 8;

/// A bit for each value of some bits of hashes. Partitions of the keys may be added at once.
#[derive(Debug)]
pub(super) struct HashFilter {
    words: Box<[AtomicU64]>,
}

impl HashFilter {
    /// No hash, of so many rows; `None` where a filter is not worth its bits.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub(super) fn of_rows(rows: usize) -> Result<Option<Self>> {
        let bytes = rows.saturating_mul(BITS_PER_ROW).checked_next_power_of_two().unwrap_or(usize::MAX) / 8;
        let bytes = bytes.max(BYTES_MIN);
        if bytes > BYTES_MAX {
            return Ok(None);
        }
        reserve(bytes)?;
        Ok(Some(Self { words: bytemuck::zeroed_slice_box(bytes / 8) }))
    }

    /// The word of a hash and the bit within: by bits of the middle, as slots go by the low ones and partitions by the high ones.
    #[inline]
    fn place(&self, hash: u64) -> (usize, u64) {
        ((hash >> 26) as usize & (self.words.len() - 1), 1 << (hash >> 20 & 63))
    }

    /// Notes that a hash is there.
    #[inline]
    pub(super) fn add(&self, hash: u64) {
        let (word, bit) = self.place(hash);
        if let Some(word) = self.words.get(word) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Whether a hash may be there.
    #[inline]
    pub(super) fn has(&self, hash: u64) -> bool {
        let (word, bit) = self.place(hash);
        self.words.get(word).is_some_and(|word| word.load(Ordering::Relaxed) & bit != 0)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.words)
    }
}
