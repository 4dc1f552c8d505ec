//! How much memory a query, a user and the server hold, and their limits. Adding and taking away are relaxed atomic additions,
//! whether a limit is passed or not: a free never waits for anybody (document 004: an exclusive lock there cost a large machine its speed).

use std::fs;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use thiserror::Error;

use super::allocator::{UNTRACKED_MAX_BYTES, flush};
use super::cached::{cached_bytes, give_way};
use super::profiler::{Charge, MemoryProfile, MemoryProfiler};

/// What a tracker counts for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MemoryLevel {
    /// One query: `max_memory_usage`.
    #[default]
    Query,
    /// All queries of a user: `max_memory_usage_for_user`.
    User,
    /// Everything: `max_server_memory_usage`.
    Server,
}

/// The memory of the whole process: every allocation counts here too.
pub static SERVER: MemoryTracker = MemoryTracker {
    level: MemoryLevel::Server,
    bytes: AtomicI64::new(0),
    peak_bytes: AtomicI64::new(0),
    limit_bytes: AtomicI64::new(0),
    temporary_bytes: AtomicI64::new(0),
    profiler: OnceLock::new(),
    untracked_max_bytes: AtomicI64::new(UNTRACKED_MAX_BYTES),
    parent: None,
};

/// Memory that somebody holds.
#[derive(Debug, Default)]
pub struct MemoryTracker {
    level: MemoryLevel,
    bytes: AtomicI64,
    peak_bytes: AtomicI64,
    /// 0 is unlimited.
    limit_bytes: AtomicI64,
    /// Bytes of temporary data on disk.
    temporary_bytes: AtomicI64,
    profiler: OnceLock<MemoryProfiler>,
    /// A thread's allocations up to this many bytes may be missing here.
    untracked_max_bytes: AtomicI64,
    /// Counts what this one counts. [`SERVER`] is above every tracker and named by none.
    parent: Option<Arc<MemoryTracker>>,
}

/// A tracker holds more than its limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("would use {bytes} bytes, maximum: {limit_bytes} bytes")]
pub struct MemoryLimitExceeded {
    /// Whose limit it is.
    pub level: MemoryLevel,
    /// What is held.
    pub bytes: i64,
    /// What may be held.
    pub limit_bytes: i64,
}

impl MemoryTracker {
    /// A user's tracker without a limit.
    pub fn user() -> Self {
        Self::new(MemoryLevel::User, 0, None)
    }

    /// A query's tracker with a limit in bytes, 0 for none, which counts for `user` too.
    pub fn query(limit_bytes: u64, user: Option<Arc<Self>>) -> Self {
        Self::new(MemoryLevel::Query, limit_bytes, user)
    }

    fn new(level: MemoryLevel, limit_bytes: u64, parent: Option<Arc<Self>>) -> Self {
        let limit_bytes = AtomicI64::new(i64::try_from(limit_bytes).unwrap_or(i64::MAX));
        Self {
            level,
            bytes: AtomicI64::default(),
            peak_bytes: AtomicI64::default(),
            limit_bytes,
            temporary_bytes: AtomicI64::default(),
            profiler: OnceLock::new(),
            untracked_max_bytes: AtomicI64::new(UNTRACKED_MAX_BYTES),
            parent,
        }
    }

    /// Has it noted where memory is taken, from the beginning on, and charges allocations in steps of at most `untracked_max_bytes`.
    pub fn profile(&self, profile: MemoryProfile, untracked_max_bytes: u64) {
        // A step is seen when it is charged.
        let step = Some(profile.step_bytes).filter(|step| *step > 0).unwrap_or(u64::MAX);
        let untracked = i64::try_from(untracked_max_bytes.min(step)).unwrap_or(i64::MAX);
        self.untracked_max_bytes.store(untracked.min(UNTRACKED_MAX_BYTES), Ordering::Relaxed);
        let _ = self.profiler.set(MemoryProfiler::new(profile));
    }

    pub(super) fn untracked_max_bytes(&self) -> i64 {
        self.untracked_max_bytes.load(Ordering::Relaxed)
    }

    /// The calling thread's allocations were charged here.
    pub(super) fn note(&self, charge: Charge) {
        if let Some(profiler) = self.profiler.get() {
            profiler.note(self, charge);
        }
    }

    /// Sets the limit in bytes; 0 is none.
    pub fn set_limit(&self, limit_bytes: u64) {
        self.limit_bytes.store(i64::try_from(limit_bytes).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    /// Bytes held now.
    pub fn bytes(&self) -> i64 {
        self.bytes.load(Ordering::Relaxed).max(0)
    }

    /// The most bytes held so far.
    pub fn peak_bytes(&self) -> i64 {
        self.peak_bytes.load(Ordering::Relaxed)
    }

    /// The limit in bytes; 0 is none.
    pub fn limit_bytes(&self) -> i64 {
        self.limit_bytes.load(Ordering::Relaxed)
    }

    /// Bytes held beyond the limit; 0 within it, and without one.
    pub fn excess_bytes(&self) -> i64 {
        self.check_own().err().map_or(0, |exceeded| exceeded.bytes - exceeded.limit_bytes)
    }

    /// Adds bytes here and above, or takes them away; [`SERVER`] is the caller's.
    pub fn add(&self, bytes: i64) {
        let now = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if bytes > 0 && now > self.peak_bytes.load(Ordering::Relaxed) {
            self.peak_bytes.fetch_max(now, Ordering::Relaxed);
        }
        if let Some(parent) = &self.parent {
            parent.add(bytes);
        }
    }

    /// The user's tracker above a query's.
    pub fn parent(&self) -> Option<&Self> {
        self.parent.as_deref()
    }

    /// Bytes that may still be taken under the narrowest limit, this one's, those above, and the server's, whose caches give way; `None`
    /// without any limit.
    pub fn available_bytes(&self) -> Option<i64> {
        let own = |tracker: &Self| match tracker.limit_bytes() {
            limit if limit > 0 => Some(limit - tracker.bytes()),
            _ => None,
        };
        let above = match &self.parent {
            Some(parent) => parent.available_bytes(),
            None if self.level == MemoryLevel::Server => None,
            None => own(&SERVER).map(|bytes| bytes.saturating_add(cached_bytes())),
        };
        own(self).into_iter().chain(above).min()
    }

    /// Adds bytes of temporary data on disk here, above, and for the server, or takes them away.
    pub fn add_temporary(&self, bytes: i64) {
        self.temporary_bytes.fetch_add(bytes, Ordering::Relaxed);
        match &self.parent {
            Some(parent) => parent.add_temporary(bytes),
            None if self.level == MemoryLevel::Server => {}
            None => SERVER.add_temporary(bytes),
        }
    }

    /// Bytes of temporary data on disk.
    pub fn temporary_bytes(&self) -> u64 {
        u64::try_from(self.temporary_bytes.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Whether the limits hold, this one's, those above, and the server's, once its caches have given way.
    ///
    /// # Errors
    /// The narrowest that does not.
    pub fn check(&self) -> Result<(), MemoryLimitExceeded> {
        /// What caches let go of beyond what is too much, so that the next morsels need not ask.
        const SPARE_BYTES: i64 = 32 << 20;
        if self.level != MemoryLevel::Server {
            self.check_own()?;
            return self.parent.as_deref().unwrap_or(&SERVER).check();
        }
        let checked = self.check_own();
        match checked {
            Err(exceeded)
                if give_way((exceeded.bytes - exceeded.limit_bytes).saturating_add(SPARE_BYTES).unsigned_abs()) =>
            {
                // What this thread freed counts at once.
                flush();
                self.check_own()
            }
            checked => checked,
        }
    }

    fn check_own(&self) -> Result<(), MemoryLimitExceeded> {
        let (level, bytes, limit_bytes) = (self.level, self.bytes(), self.limit_bytes());
        if limit_bytes > 0 && bytes > limit_bytes {
            Err(MemoryLimitExceeded { level, bytes, limit_bytes })
        } else {
            Ok(())
        }
    }
}

/// What is freed on another account than it was charged to leaves a rest here. It was never memory of those above once this one is gone.
impl Drop for MemoryTracker {
    fn drop(&mut self) {
        if let Some(parent) = &self.parent {
            parent.add(-self.bytes.load(Ordering::Relaxed));
        }
    }
}

/// The memory that this process may use: the machine's, or less where its cgroup says so; 0 where nobody says.
pub fn machine_memory_bytes() -> u64 {
    let physical = fs::read_to_string("/proc/meminfo").ok().and_then(|text| parse_mem_total(&text));
    let of_cgroup = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .iter()
        .find_map(|path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok());
    match (physical, of_cgroup) {
        (Some(physical), Some(limit)) => physical.min(limit),
        (Some(bytes), None) | (None, Some(bytes)) => bytes,
        (None, None) => 0,
    }
}

/// `"MemTotal:       24736000 kB"` in bytes.
fn parse_mem_total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_counts_for_its_user() {
        let user = Arc::new(MemoryTracker::user());
        let (first, second) =
            (MemoryTracker::query(0, Some(user.clone())), MemoryTracker::query(50, Some(user.clone())));
        first.add(60);
        second.add(40);
        assert_eq!((first.bytes(), second.bytes(), user.bytes()), (60, 40, 100));
        assert!(first.check().is_ok() && second.check().is_ok());
        second.add(20);
        assert_eq!(second.check().unwrap_err().level, MemoryLevel::Query);
        user.set_limit(100);
        let exceeded = first.check().unwrap_err();
        assert_eq!((exceeded.level, exceeded.bytes, exceeded.limit_bytes), (MemoryLevel::User, 120, 100));
        second.add(-60);
        assert!(first.check().is_ok());
        assert_eq!((user.bytes(), user.peak_bytes()), (60, 120));
    }

    #[test]
    fn what_a_query_leaves_is_not_its_users() {
        let user = Arc::new(MemoryTracker::user());
        let (leaves, frees) =
            (MemoryTracker::query(0, Some(user.clone())), MemoryTracker::query(0, Some(user.clone())));
        leaves.add(70);
        drop(leaves);
        assert_eq!(user.bytes(), 0);
        frees.add(10);
        // Memory that was charged to the first.
        frees.add(-70);
        drop(frees);
        user.add(5);
        assert_eq!(user.bytes(), 5);
    }

    #[test]
    fn what_is_available_is_what_the_narrowest_limit_leaves() {
        let user = Arc::new(MemoryTracker::user());
        let query = MemoryTracker::query(100, Some(user.clone()));
        query.add(30);
        assert_eq!(query.available_bytes(), Some(70));
        user.set_limit(50);
        assert_eq!(query.available_bytes(), Some(20));
        query.add_temporary(7);
        query.add_temporary(-2);
        assert_eq!((query.temporary_bytes(), user.temporary_bytes()), (5, 5));
    }

    #[test]
    fn the_machines_memory_is_read() {
        assert_eq!(parse_mem_total("MemTotal:       1000 kB\nMemFree: 5 kB\n"), Some(1_024_000));
        assert!(machine_memory_bytes() > 0);
    }
}
