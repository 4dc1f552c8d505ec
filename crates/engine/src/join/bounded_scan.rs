//! A scan on the probe side of joins: between which values their keys lie is known once their build sides are complete. Then the scan
//! begins, and passes over parts and granules without such rows.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use std::task::Waker;

use squall_storage::{Claim, ColumnBounds, Morsel, ScanRequest, ScanSelection, Table, TableScan};
use squall_types::{Block, Result};

use super::build::JoinTable;

/// A key of a join's build side whose values bound a column of a table.
pub(crate) struct KeyBound {
    /// The build side.
    pub(crate) table: Arc<JoinTable>,
    /// The position of the key among the join's.
    pub(crate) key: usize,
    /// The position of the column among the table's.
    pub(crate) column: usize,
}

/// A scan that begins when it is first asked for rows. Whoever asks waits for the build sides before.
pub(crate) struct BoundedScan {
    table: Arc<dyn Table>,
    request: ScanRequest,
    /// The scan without bounds.
    whole: Arc<dyn TableScan>,
    bounds: Vec<KeyBound>,
    scan: OnceLock<Result<Arc<dyn TableScan>>>,
}

impl BoundedScan {
    pub(crate) fn new(
        table: Arc<dyn Table>,
        request: ScanRequest,
        whole: Arc<dyn TableScan>,
        bounds: Vec<KeyBound>,
    ) -> Self {
        Self { table, request, whole, bounds, scan: OnceLock::new() }
    }

    fn scan(&self) -> &Result<Arc<dyn TableScan>> {
        self.scan.get_or_init(|| {
            let known = |bound: &KeyBound| {
                let ends = bound.table.key_ends(bound.key)?.ends;
                Some(ColumnBounds { column: bound.column, ends })
            };
            let bounds: Vec<ColumnBounds> = self.bounds.iter().filter_map(known).collect();
            if bounds.is_empty() {
                return Ok(self.whole.clone());
            }
            self.table.scan(&ScanRequest { bounds, ..self.request.clone() })
        })
    }
}

impl TableScan for BoundedScan {
    fn rows_total(&self) -> Option<u64> {
        match self.scan.get() {
            Some(Ok(scan)) => scan.rows_total(),
            Some(Err(_)) | None => self.whole.rows_total(),
        }
    }

    fn selection(&self) -> ScanSelection {
        self.whole.selection()
    }

    fn take_left_out(&self) -> u64 {
        self.scan.get().and_then(|scan| scan.as_ref().ok()).map_or(0, |scan| scan.take_left_out())
    }

    fn claim(&self, rows: u64, waker: &Waker) -> Claim {
        match self.scan() {
            Ok(scan) => scan.claim(rows, waker),
            // Whoever reads it finds the error.
            Err(_) => Claim::Morsel(Morsel { first: 0, rows: 0 }),
        }
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        self.scan().as_ref().map_err(Clone::clone)?.read(morsel, consume)
    }
}
