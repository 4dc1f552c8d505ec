//! A table in which a key is its own place: of integers that lie close together, as most keys of dimensions and of orders do. A
//! lookup hashes nothing, compares nothing, and reads four bytes where a hashed slot has sixteen.

use std::sync::atomic::{AtomicU32, Ordering};

use squall_types::{Result, reserve};

use super::NO_ROW;

/// So many places a row may take: in no more memory than slots for hashed keys.
const PLACES_PER_ROW: u64 = 8;
/// So many places are always worth it.
const PLACES_MIN: u64 = 4_096;

/// The first row of each key between two keys. Partitions of the keys may be filled at once.
#[derive(Debug)]
pub(super) struct DenseTable {
    least: u64,
    /// The row plus one; 0 where there is none.
    firsts: Box<[AtomicU32]>,
}

impl DenseTable {
    /// An empty table for keys between two keys; `None` where they are too far apart for so many rows.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub(super) fn between(least: u64, most: u64, rows: usize) -> Result<Option<Self>> {
        let places_max = (rows as u64).saturating_mul(PLACES_PER_ROW).max(PLACES_MIN);
        let Some(places) = (most - least).checked_add(1).filter(|places| *places <= places_max) else {
            return Ok(None);
        };
        reserve(places as usize * size_of::<AtomicU32>())?;
        // The system's pages are zero when they are touched first: nobody has to write them now.
        Ok(Some(Self { least, firsts: bytemuck::zeroed_slice_box(places as usize) }))
    }

    /// Makes `row` the first of a key; the row that was first before. With `keeps_first` the one that was there stays.
    #[inline]
    pub(super) fn insert(&self, key: u64, row: u32, keeps_first: bool) -> u32 {
        let Some(first) = self.firsts.get(key.wrapping_sub(self.least) as usize) else { return NO_ROW };
        // Keys of one place are all of one partition, which one thread fills.
        let before = first.load(Ordering::Relaxed).wrapping_sub(1);
        if before == NO_ROW || !keeps_first {
            first.store(row + 1, Ordering::Relaxed);
        }
        before
    }

    /// The first row of a key.
    #[inline]
    pub(super) fn find(&self, key: u64) -> u32 {
        let first = self.firsts.get(key.wrapping_sub(self.least) as usize);
        first.map_or(NO_ROW, |first| first.load(Ordering::Relaxed).wrapping_sub(1))
    }

    /// Whether a key is there.
    #[inline]
    pub(super) fn has(&self, key: u64) -> bool {
        let first = self.firsts.get(key.wrapping_sub(self.least) as usize);
        first.is_some_and(|first| first.load(Ordering::Relaxed) > 0)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.firsts)
    }
}
