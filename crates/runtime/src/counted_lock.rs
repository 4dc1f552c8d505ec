//! A mutex whose waits are counted, for the few locks that many wait for.

use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use crate::current_metrics::{CurrentMetric, MetricGuard};
use crate::profile_events::{ProfileEvent, count};

/// What is counted of a lock.
#[derive(Debug)]
pub struct LockCounts {
    /// How often it was taken.
    pub taken: ProfileEvent,
    /// For how long it was waited for.
    pub waited: ProfileEvent,
    /// The unit of that.
    pub unit: Duration,
    /// How many wait.
    pub waiting: CurrentMetric,
    /// How many hold such a lock, where that is counted.
    pub holding: Option<CurrentMetric>,
}

/// The lock of what all queries share, in ClickHouse's words: of the list of queries.
pub static CONTEXT_LOCK: LockCounts = LockCounts {
    taken: ProfileEvent::ContextLock,
    waited: ProfileEvent::ContextLockWaitMicroseconds,
    unit: Duration::from_micros(1),
    waiting: CurrentMetric::ContextLockWait,
    holding: None,
};

/// The lock of statements that change which tables there are.
pub static TABLES_LOCK: LockCounts = LockCounts {
    taken: ProfileEvent::RWLockAcquiredWriteLocks,
    waited: ProfileEvent::RWLockWritersWaitMilliseconds,
    unit: Duration::from_millis(1),
    waiting: CurrentMetric::RWLockWaitingWriters,
    holding: Some(CurrentMetric::RWLockActiveWriters),
};

/// Ends the holding of a lock when dropped.
#[derive(Debug)]
pub struct CountedGuard<'a, T> {
    guard: MutexGuard<'a, T>,
    _holding: Option<MetricGuard>,
}

impl<T> std::ops::Deref for CountedGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> std::ops::DerefMut for CountedGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// Takes a lock. Where nobody has it this is an addition more.
pub fn lock<'a, T>(mutex: &'a Mutex<T>, counts: &'static LockCounts) -> CountedGuard<'a, T> {
    count(counts.taken, 1);
    let guard = mutex.try_lock().unwrap_or_else(|| {
        let _waiting = counts.waiting.hold(1);
        let began = Instant::now();
        let guard = mutex.lock();
        count(counts.waited, (began.elapsed().as_nanos() / counts.unit.as_nanos()) as u64);
        guard
    });
    CountedGuard { guard, _holding: counts.holding.map(|metric| metric.hold(1)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile_events::GLOBAL;

    #[test]
    fn waits_are_counted() {
        let mutex = Mutex::new(0);
        let before = GLOBAL.get(ProfileEvent::ContextLock);
        let held = lock(&mutex, &CONTEXT_LOCK);
        let waited = GLOBAL.get(ProfileEvent::ContextLockWaitMicroseconds);
        std::thread::scope(|scope| {
            scope.spawn(|| *lock(&mutex, &CONTEXT_LOCK) += 1);
            while CurrentMetric::ContextLockWait.get() == 0 {
                std::thread::yield_now();
            }
            // It waits for a time that can be told.
            std::thread::sleep(Duration::from_millis(2));
            drop(held);
        });
        assert_eq!((*mutex.lock(), GLOBAL.get(ProfileEvent::ContextLock) - before), (1, 2));
        assert!(GLOBAL.get(ProfileEvent::ContextLockWaitMicroseconds) > waited);
        assert_eq!(CurrentMetric::ContextLockWait.get(), 0);
    }
}
