//! A query under its user's quota: what it takes is counted while it runs, and where that is more than may be, it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use squall_engine::{OutsideLimit, QueryContext};
use squall_types::Result;

use super::entity::Resource;
use super::now_seconds;
use super::quota_usage::Usage;

/// What running queries take.
const TAKEN: [Resource; 6] = [
    Resource::ReadRows,
    Resource::ReadBytes,
    Resource::WrittenBytes,
    Resource::ResultRows,
    Resource::ResultBytes,
    Resource::ExecutionTime,
];

/// A query under its user's quota.
#[derive(Debug)]
pub struct QuotaWatch {
    usage: Arc<Usage>,
    /// How much of what the query has taken is counted already.
    counted: [AtomicU64; TAKEN.len()],
}

impl QuotaWatch {
    /// A query that begins now.
    pub fn new(usage: Arc<Usage>) -> Self {
        Self { usage, counted: Default::default() }
    }

    /// The query has ended. What is exceeded now, the user's next query is told.
    pub fn end(&self, context: &QueryContext, has_failed: bool) {
        let _ = self.check(context);
        if has_failed {
            let _ = self.usage.add(Resource::Errors, 1, now_seconds());
        }
    }
}

impl OutsideLimit for QuotaWatch {
    /// Counts what the query has taken since this was last asked.
    fn check(&self, context: &QueryContext) -> Result<()> {
        let (now, progress) = (now_seconds(), &context.progress);
        let mut result = Ok(());
        for (resource, counted) in TAKEN.iter().zip(&self.counted) {
            let taken = match resource {
                Resource::ReadRows => progress.read_rows.load(Ordering::Relaxed),
                Resource::ReadBytes => progress.read_bytes.load(Ordering::Relaxed),
                Resource::WrittenBytes => progress.written_bytes.load(Ordering::Relaxed),
                Resource::ResultRows => progress.result_rows.load(Ordering::Relaxed),
                Resource::ResultBytes => progress.result_bytes.load(Ordering::Relaxed),
                _ => u64::try_from(context.started.elapsed().as_nanos()).unwrap_or(u64::MAX),
            };
            // Several threads may be here at once: each counts what none did before.
            let before = counted.fetch_max(taken, Ordering::AcqRel);
            if taken > before {
                result = result.and(self.usage.add(*resource, taken - before, now));
            }
        }
        result
    }
}
