//! Sources that are not tables: blocks that are there already, and numbered units of work whose results are blocks.

use std::ops::ControlFlow;
use std::sync::OnceLock;
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
        claim_unit(&self.next, self.blocks.len())
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        consume(self.blocks[morsel.first as usize].clone()).map(drop)
    }
}

/// Claims one of `units` numbered units.
pub(crate) fn claim_unit(next: &AtomicUsize, units: usize) -> Claim {
    let unit = next.fetch_add(1, Ordering::Relaxed);
    if unit < units { Claim::Morsel(Morsel { first: unit as u64, rows: 1 }) } else { Claim::Finished }
}

/// Work that a sink leaves behind when all its rows have come: so many units, each run once, on any worker.
pub(crate) trait Units: Send + Sync {
    /// How many units there are; asked once the work may begin.
    fn units(&self) -> usize;
    /// Runs a unit; its rows go to `consume`.
    fn run(&self, unit: usize, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()>;
}

/// The source that hands out units of work.
pub(crate) struct UnitSource<U> {
    work: U,
    units: OnceLock<usize>,
    next: AtomicUsize,
}

impl<U: Units> UnitSource<U> {
    pub(crate) fn new(work: U) -> Self {
        Self { work, units: OnceLock::new(), next: AtomicUsize::new(0) }
    }

    fn units(&self) -> usize {
        *self.units.get_or_init(|| self.work.units())
    }
}

impl<U: Units> TableScan for UnitSource<U> {
    /// A unit counts as a row. Asked once the work may begin.
    fn rows_total(&self) -> Option<u64> {
        Some(self.units() as u64)
    }

    fn claim(&self, _rows: u64, _waker: &Waker) -> Claim {
        claim_unit(&self.next, self.units())
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        self.work.run(morsel.first as usize, consume)
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
