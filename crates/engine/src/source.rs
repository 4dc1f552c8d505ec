//! Sources that are not tables: blocks that are there already. Work whose results are blocks is in `units` and `works`.

use std::ops::ControlFlow;
use std::task::Waker;

use squall_storage::{Claim, Morsel, TableScan};
use squall_types::{Block, Result};

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering};

/// Blocks in memory, handed out one a morsel.
pub(crate) struct Blocks {
    blocks: Vec<Block>,
    next: AtomicUsize,
}

impl Blocks {
    pub(crate) fn new(blocks: Vec<Block>) -> Self {
        Self { blocks, next: AtomicUsize::new(0) }
    }
}

impl TableScan for Blocks {
    fn rows_total(&self) -> Option<u64> {
        None
    }

    fn claim(&self, _rows: u64, _waker: &Waker) -> Claim {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        if next < self.blocks.len() { Claim::Morsel(Morsel { first: next as u64, rows: 1 }) } else { Claim::Finished }
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        consume(self.blocks[morsel.first as usize].clone()).map(drop)
    }
}

/// Values that workers put into numbered places and take out again.
pub(crate) struct Places<T>(Vec<Mutex<Option<T>>>);

impl<T> Places<T> {
    pub(crate) fn new(values: impl IntoIterator<Item = T>) -> Self {
        Self(values.into_iter().map(|value| Mutex::new(Some(value))).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes what is in a place; a place is taken once.
    pub(crate) fn take(&self, place: usize) -> Option<T> {
        self.0.get(place)?.lock().take()
    }
}
