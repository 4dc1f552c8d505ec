//! Handing out the rows of a scan to threads: one atomic addition a claim.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::table::{Claim, Morsel};

/// The largest claim: keeps the counter from wrapping, far above what anyone asks for.
const CLAIM_ROWS_MAX: u64 = 1 << 40;

/// Rows `0..total`, handed out in order.
pub(crate) struct RowClaims {
    next: AtomicU64,
    total: u64,
}

impl RowClaims {
    pub(crate) fn new(total: u64) -> Self {
        Self { next: AtomicU64::new(0), total }
    }

    /// How many rows there are to hand out.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Whether all rows were handed out.
    pub(crate) fn is_over(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= self.total
    }

    /// Claims the next rows, at most `rows` of them and at least one.
    pub(crate) fn claim(&self, rows: u64) -> Claim {
        let rows = rows.clamp(1, CLAIM_ROWS_MAX);
        // Looking first bounds how far the counter overshoots when many ask after the end.
        if self.next.load(Ordering::Relaxed) >= self.total {
            return Claim::Finished;
        }
        let first = self.next.fetch_add(rows, Ordering::Relaxed);
        if first >= self.total {
            return Claim::Finished;
        }
        Claim::Morsel(Morsel { first, rows: rows.min(self.total - first) })
    }
}
