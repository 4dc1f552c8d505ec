//! When a query's data go to disk: ClickHouse's pairs of settings, a number of bytes and a share of the memory that is available.

use std::sync::Arc;

use crate::query_context::QueryContext;
use crate::works::Works;

/// The memory of the query from which on a step puts what it holds on disk.
pub(crate) struct Threshold {
    context: Arc<QueryContext>,
    bytes: Option<u64>,
    /// What the settings say in bytes.
    set_bytes: Option<u64>,
}

impl Threshold {
    /// `bytes` and `ratio` are the settings; 0 is none. The ratio is one of what the query may still take under the narrowest limit
    /// on memory, its own, the user's or the server's.
    pub(crate) fn new(context: Arc<QueryContext>, bytes: u64, ratio: f64) -> Self {
        /// Where next to nothing is available, less would make many files and gain nothing.
        const BY_RATIO_MIN: u64 = 1 << 20;
        let available = context.memory.available_bytes().filter(|_| ratio > 0.0);
        let by_ratio = available.map(|bytes| ((bytes.max(0) as f64 * ratio) as u64).max(BY_RATIO_MIN));
        let by_bytes = (bytes > 0).then_some(bytes);
        Self { context, bytes: by_bytes.into_iter().chain(by_ratio).min(), set_bytes: by_bytes }
    }

    /// Whether a worker should put the bytes that it holds, `own`, on disk: the query holds too much, and it is worth the while.
    pub(crate) fn is_passed(&self, own: impl FnOnce() -> usize) -> bool {
        self.bytes.is_some_and(|bytes| self.holds(bytes, own))
    }

    /// Whether a worker should try to hold less: the query holds half of what may stay in memory, and the worker a good part of that.
    pub(crate) fn is_half_passed(&self, own: impl FnOnce() -> usize) -> bool {
        self.bytes.is_some_and(|bytes| self.holds(bytes / 2, own))
    }

    /// Whether the query holds so many bytes, and the worker a good part of its share.
    fn holds(&self, bytes: u64, own: impl FnOnce() -> usize) -> bool {
        /// A worker whose bytes are less than its share by this factor does not matter.
        const SHARE: u64 = 2;
        let workers = self.context.peak_threads().max(1) as u64;
        self.held() >= bytes && (own() as u64).saturating_mul(workers * SHARE) >= bytes
    }

    /// Whether so many bytes more may be had under the limits, or nothing may go to disk anyway.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        if self.bytes.is_none() {
            return true;
        }
        self.context
            .memory
            .available_bytes()
            .is_none_or(|available| available >= i64::try_from(bytes).unwrap_or(i64::MAX))
    }

    /// Whether a step should put its own bytes on disk instead of putting them together in memory, which takes as much again. It should if
    /// the memory limits leave less than one and a half times as much, or if the query would pass the bytes that the settings say.
    pub(crate) fn is_near(&self, own: usize) -> bool {
        let more = own as u64 / 2 * 3;
        let would_pass = |bytes: u64| self.held() >= bytes / 5 * 3 && own as u64 >= bytes / 4;
        self.set_bytes.is_some_and(would_pass) || !self.has_room(usize::try_from(more).unwrap_or(usize::MAX))
    }

    /// Whether no more rows should come while `works` put something on disk: the query holds too much, or they are many.
    pub(crate) fn is_full(&self, works: &Works) -> bool {
        const MANY: usize = 2;
        let works = works.count();
        works >= MANY || works > 0 && self.bytes.is_some_and(|bytes| self.held() >= bytes)
    }

    /// Bytes of a buffer that may take one part in `divisor` of the memory from which on data go to disk, at most `most`.
    pub(crate) fn part(&self, divisor: u64, most: usize) -> usize {
        const LEAST: u64 = 1 << 20;
        let part = self.bytes.map_or(u64::MAX, |bytes| (bytes / divisor).max(LEAST));
        usize::try_from(part).unwrap_or(usize::MAX).min(most)
    }

    /// Bytes that the query holds, but for what its threads have not counted yet.
    fn held(&self) -> u64 {
        u64::try_from(self.context.memory.bytes()).unwrap_or(0)
    }
}
