//! Distributions of durations since the start, for `system.histogram_metrics` and Prometheus. Observing is one relaxed addition to a
//! bucket and one to the sum.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The buckets' upper bounds in microseconds, inclusive; what is longer falls into one more bucket.
pub const BOUNDS_US: [u64; 19] = [
    10,
    50,
    100,
    250,
    500,
    1_000,
    1_500,
    2_000,
    3_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    500_000,
    2_000_000,
    10_000_000,
    60_000_000,
    600_000_000,
];

/// How long something took, over all times that it happened.
#[derive(Debug)]
pub struct Histogram {
    /// Its name in `system.histogram_metrics`.
    pub name: &'static str,
    /// What is measured.
    pub description: &'static str,
    /// What tells it from others of its name: a label and its value.
    pub label: Option<(&'static str, &'static str)>,
    counts: [AtomicU64; BOUNDS_US.len() + 1],
    sum_us: AtomicU64,
}

/// How long a worker was held by one step of a query.
pub static SCHEDULER_STEP: Histogram = Histogram::new(
    "scheduler_step_microseconds",
    "Squall: time that one step of a query held a worker, in microseconds; steps aim at 1,500",
    None,
);

/// How long a query that could run waited for a worker, each time that it got one.
pub static SCHEDULER_QUEUE_WAIT: Histogram = Histogram::new(
    "scheduler_queue_wait_microseconds",
    "Squall: time that a query that could run waited for a worker, in microseconds",
    None,
);

/// How long a query waited to be admitted, where it had to wait.
pub static ADMISSION_QUEUE_WAIT: Histogram = Histogram::new(
    "admission_queue_wait_microseconds",
    "Squall: time that a query waited to be admitted, in microseconds; queries that need not wait are not counted",
    None,
);

/// How long a query took, from its arrival to its end.
pub static SELECT_DURATION: Histogram = query_duration("Select");
/// See [`SELECT_DURATION`].
pub static INSERT_DURATION: Histogram = query_duration("Insert");
/// See [`SELECT_DURATION`].
pub static OTHER_DURATION: Histogram = query_duration("Other");

/// All histograms; those that share a name follow each other.
pub static ALL: [&Histogram; 6] = [
    &ADMISSION_QUEUE_WAIT,
    &SELECT_DURATION,
    &INSERT_DURATION,
    &OTHER_DURATION,
    &SCHEDULER_QUEUE_WAIT,
    &SCHEDULER_STEP,
];

const fn query_duration(kind: &'static str) -> Histogram {
    let description = "Squall: time from a query's arrival to its end, in microseconds, by the query's kind";
    Histogram::new("query_duration_microseconds", description, Some(("query_kind", kind)))
}

impl Histogram {
    const fn new(name: &'static str, description: &'static str, label: Option<(&'static str, &'static str)>) -> Self {
        let counts = [const { AtomicU64::new(0) }; BOUNDS_US.len() + 1];
        Self { name, description, label, counts, sum_us: AtomicU64::new(0) }
    }

    /// Counts one duration.
    pub fn observe(&self, duration: Duration) {
        let us = duration.as_micros() as u64;
        let bucket = BOUNDS_US.partition_point(|bound| *bound < us);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum_us.fetch_add(us, Ordering::Relaxed);
    }

    /// For each bound how many durations were at most so long, then, without a bound, how many there were.
    pub fn cumulative(&self) -> Vec<(Option<u64>, u64)> {
        let mut below = 0;
        let bounds = BOUNDS_US.iter().copied().map(Some).chain([None]);
        bounds
            .zip(&self.counts)
            .map(|(bound, count)| {
                below += count.load(Ordering::Relaxed);
                (bound, below)
            })
            .collect()
    }

    /// The sum of all durations in microseconds.
    pub fn sum_us(&self) -> u64 {
        self.sum_us.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_fall_into_the_buckets_of_their_bounds() {
        let histogram = Histogram::new("h", "", None);
        [10, 11, 2_000, 2_001, 9_000_000].iter().for_each(|us| histogram.observe(Duration::from_micros(*us)));
        let at = |bound: Option<u64>| histogram.cumulative().iter().find(|(other, _)| *other == bound).unwrap().1;
        assert_eq!([at(Some(10)), at(Some(50)), at(Some(2_000)), at(Some(3_000)), at(None)], [1, 2, 3, 4, 5]);
        assert_eq!(histogram.sum_us(), 9_004_022);
    }
}
