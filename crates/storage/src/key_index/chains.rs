//! The rows of a key one after the other: for each row the next one of its key. Any number of threads write at once, each the rows of its
//! partition. Rows of unique keys, which are most, take nothing: memory is there for blocks of rows of which one has a next one.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::NO_ROW;

/// Rows of a block.
const BLOCK_ROWS: usize = 1 << 14;

/// For each row the next of the same key.
#[derive(Debug)]
pub(super) struct Chains {
    /// The next row plus one; 0 is the end of a chain.
    blocks: Vec<OnceLock<Box<[AtomicU32]>>>,
    rows: usize,
}

impl Chains {
    /// Every row is alone.
    pub(super) fn new(rows: usize) -> Self {
        Self { blocks: std::iter::repeat_with(OnceLock::new).take(rows.div_ceil(BLOCK_ROWS)).collect(), rows }
    }

    /// The chains of rows with these next ones, [`NO_ROW`] at their ends.
    pub(super) fn of(rows: usize, next: impl Iterator<Item = u32>) -> Self {
        let chains = Self::new(rows);
        (0u32..).zip(next).filter(|(_, next)| *next != NO_ROW).for_each(|(row, next)| chains.set(row, next));
        chains
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The next row of the same key; [`NO_ROW`] after the last.
    #[inline]
    pub(super) fn next(&self, row: u32) -> u32 {
        match self.blocks[row as usize / BLOCK_ROWS].get() {
            // 0 becomes NO_ROW.
            Some(block) => block[row as usize % BLOCK_ROWS].load(Ordering::Relaxed).wrapping_sub(1),
            None => NO_ROW,
        }
    }

    pub(super) fn set(&self, row: u32, next: u32) {
        let block = self.blocks[row as usize / BLOCK_ROWS]
            .get_or_init(|| std::iter::repeat_with(AtomicU32::default).take(BLOCK_ROWS).collect());
        block[row as usize % BLOCK_ROWS].store(next.wrapping_add(1), Ordering::Relaxed);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let blocks = self.blocks.iter().filter(|block| block.get().is_some()).count();
        blocks * BLOCK_ROWS * size_of::<AtomicU32>() + size_of_val(&self.blocks[..])
    }
}
