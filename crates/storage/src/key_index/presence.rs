//! Which keys between the least and the greatest are there, a bit each: of integers too far apart for a dense table. Most keys that a
//! selective join looks up are not there; then one bit, mostly in the core's own cache, answers in place of a hash and a slot.

use std::sync::atomic::{AtomicU64, Ordering};

use squall_types::{Result, reserve};

use super::Keys;

/// So many places a row may take: no more memory than two slots for hashed keys.
const PLACES_PER_ROW: u64 = 256;
/// So many places are always worth it: their bits stay in a core's cache.
const PLACES_MIN: u64 = 1 << 19;

/// A bit for each key between two keys. Partitions of the keys may be added at once.
#[derive(Debug)]
pub(super) struct Presence {
    least: u64,
    words: Box<[AtomicU64]>,
}

impl Presence {
    /// No key, of those between two keys; `None` where so many rows are not worth the bits.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub(super) fn between(least: u64, most: u64, rows: usize) -> Result<Option<Self>> {
        let places_max = (rows as u64).saturating_mul(PLACES_PER_ROW).max(PLACES_MIN);
        let Some(places) = (most - least).checked_add(1).filter(|places| *places <= places_max) else {
            return Ok(None);
        };
        let words = places.div_ceil(64) as usize;
        reserve(words * size_of::<AtomicU64>())?;
        Ok(Some(Self { least, words: bytemuck::zeroed_slice_box(words) }))
    }

    /// Notes that a key is there.
    #[inline]
    pub(super) fn add(&self, key: u64) {
        let place = key.wrapping_sub(self.least);
        if let Some(word) = self.words.get((place / 64) as usize) {
            word.fetch_or(1 << (place % 64), Ordering::Relaxed);
        }
    }

    /// Whether a key is there.
    #[inline]
    pub(super) fn has(&self, key: u64) -> bool {
        let place = key.wrapping_sub(self.least);
        self.words.get((place / 64) as usize).is_some_and(|word| word.load(Ordering::Relaxed) >> (place % 64) & 1 == 1)
    }

    /// The rows whose keys are there.
    pub(super) fn rows(&self, keys: &Keys, values: &[u64]) -> Vec<u32> {
        let mut rows = vec![0; values.len()];
        let mut found = 0;
        let all_have_keys = keys.have_all_keys();
        for (row, key) in values.iter().enumerate() {
            let is_there = self.has(*key) && (all_have_keys || keys.has_key(row));
            if let Some(place) = rows.get_mut(found) {
                *place = row as u32;
            }
            found += usize::from(is_there);
        }
        rows.truncate(found);
        rows
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.words)
    }
}
