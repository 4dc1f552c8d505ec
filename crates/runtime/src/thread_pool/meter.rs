//! What a pool counts, under ClickHouse's names: `Global…` for the pools of threads, `Local…` for the pools over them. Events of a
//! query's jobs are counted for the query.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::current_metrics::CurrentMetric;
use crate::profile_events::{Counters, GLOBAL, ProfileEvent};

/// Whom events are counted for: a query.
pub trait CountFor: Send + Sync {
    /// Where to count now: the query's own counters, or the process's once the query's were added to them.
    fn counters(&self) -> &Counters;
}

/// The query that a job runs for.
pub type Owner = Arc<dyn CountFor>;

/// The names that one kind of pool counts under.
pub(crate) struct Meter {
    pub(crate) threads: CurrentMetric,
    pub(crate) active: CurrentMetric,
    pub(crate) scheduled: CurrentMetric,
    pub(crate) expansions: ProfileEvent,
    pub(crate) shrinks: ProfileEvent,
    pub(crate) thread_creation_us: ProfileEvent,
    pub(crate) lock_wait_us: ProfileEvent,
    pub(crate) jobs: ProfileEvent,
    pub(crate) job_wait_us: ProfileEvent,
    pub(crate) busy_us: Option<ProfileEvent>,
}

pub(crate) static GLOBAL_METER: Meter = Meter {
    threads: CurrentMetric::GlobalThread,
    active: CurrentMetric::GlobalThreadActive,
    scheduled: CurrentMetric::GlobalThreadScheduled,
    expansions: ProfileEvent::GlobalThreadPoolExpansions,
    shrinks: ProfileEvent::GlobalThreadPoolShrinks,
    thread_creation_us: ProfileEvent::GlobalThreadPoolThreadCreationMicroseconds,
    lock_wait_us: ProfileEvent::GlobalThreadPoolLockWaitMicroseconds,
    jobs: ProfileEvent::GlobalThreadPoolJobs,
    job_wait_us: ProfileEvent::GlobalThreadPoolJobWaitTimeMicroseconds,
    busy_us: None,
};

pub(crate) static LOCAL_METER: Meter = Meter {
    threads: CurrentMetric::LocalThread,
    active: CurrentMetric::LocalThreadActive,
    scheduled: CurrentMetric::LocalThreadScheduled,
    expansions: ProfileEvent::LocalThreadPoolExpansions,
    shrinks: ProfileEvent::LocalThreadPoolShrinks,
    thread_creation_us: ProfileEvent::LocalThreadPoolThreadCreationMicroseconds,
    lock_wait_us: ProfileEvent::LocalThreadPoolLockWaitMicroseconds,
    jobs: ProfileEvent::LocalThreadPoolJobs,
    job_wait_us: ProfileEvent::LocalThreadPoolJobWaitTimeMicroseconds,
    busy_us: Some(ProfileEvent::LocalThreadPoolBusyMicroseconds),
};

/// Counts an event for a query, or for the process alone.
pub(crate) fn count(owner: Option<&Owner>, event: ProfileEvent, amount: u64) {
    owner.map_or(&GLOBAL, |owner| owner.counters()).add(event, amount);
}

/// Durations, most of them shorter than a microsecond, that add up to whole ones.
#[derive(Default)]
pub(crate) struct Microseconds {
    ns: AtomicU64,
}

impl Microseconds {
    /// The microseconds that this duration completes.
    pub(crate) fn add(&self, duration: Duration) -> u64 {
        let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let before_ns = self.ns.fetch_add(ns, Ordering::Relaxed);
        before_ns.wrapping_add(ns) / 1_000 - before_ns / 1_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_durations_add_up() {
        let sum = Microseconds::default();
        let told: u64 = (0..10_000).map(|_| sum.add(Duration::from_nanos(150))).sum();
        assert_eq!(told, 1_500);
    }
}
