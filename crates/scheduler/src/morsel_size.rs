//! How many rows the next morsel should have, so that it runs for about the target time, and so that all workers finish together
//! at the end. Pure; one sizer per pipeline.
//!
//! Source: Wagner, Kohn, Neumann, *Self-Tuning Query Scheduling for Analytical Workloads*, SIGMOD 2021, section 3.1: grow from a
//! small first morsel to the measured throughput, shrink when the remaining work would not fill every worker's target.

use std::sync::atomic::{AtomicU64, Ordering};

/// Rows of the very first morsel: enough to measure, little enough to be short even for slow operators.
pub const FIRST_ROWS: u64 = 512;
/// A morsel is never smaller, unless fewer rows are left.
pub const ROWS_MIN: u64 = 64;
/// The share of the target below which morsels do not shrink at a pipeline's end: claiming must stay cheap beside running.
const SHRINK_MAX: u64 = 32;
/// A morsel is never larger: limits act between morsels.
pub const ROWS_MAX: u64 = 16 << 20;

/// A worker is worth calling for so much work: waking it takes some microseconds of whoever does so and tens of its own, and its part of the
/// result has to be put to the others'.
const WORKER_NS: u64 = 200_000;
/// As much work, by rows, before anything is measured.
const WORKER_ROWS: u64 = 1 << 16;

/// The measured throughput of one pipeline.
#[derive(Debug, Default)]
pub struct MorselSizer {
    /// Nanoseconds per 1,024 rows, a moving average; 0 before the first measurement. One atomic: a lost update costs only a
    /// sample.
    ns_per_kilorow: AtomicU64,
}

impl MorselSizer {
    /// Rows for the next morsel: `target_ns` worth by the measured throughput, and not more than half of an equal share of what
    /// is left (`rows_left`, where known) among `workers`.
    pub fn rows(&self, target_ns: u64, rows_left: Option<u64>, workers: usize) -> u64 {
        let ns_per_kilorow = self.ns_per_kilorow.load(Ordering::Relaxed);
        let by_time = (target_ns * 1024).checked_div(ns_per_kilorow).unwrap_or(FIRST_ROWS);
        let share = match rows_left {
            // Halving the share makes the last morsels small, so that no worker is left alone with a long one.
            Some(left) if workers > 1 => left / (2 * workers as u64),
            _ => u64::MAX,
        };
        by_time.min(share.max(by_time / SHRINK_MAX)).clamp(ROWS_MIN, ROWS_MAX)
    }

    /// How many workers have enough to do with the rows that are left, at least one.
    pub fn workers(&self, rows_left: u64) -> usize {
        let workers = match self.ns_per_kilorow.load(Ordering::Relaxed) {
            0 => rows_left / WORKER_ROWS,
            ns_per_kilorow => (u128::from(rows_left) * u128::from(ns_per_kilorow) / 1024 / u128::from(WORKER_NS))
                .try_into()
                .unwrap_or(u64::MAX),
        };
        usize::try_from(workers).unwrap_or(usize::MAX).max(1)
    }

    /// Takes note that `rows` rows ran for `elapsed_ns`. Whether this was the first measurement.
    pub fn ran(&self, rows: u64, elapsed_ns: u64) -> bool {
        // Very short morsels measure mostly the clock.
        if rows < ROWS_MIN / 2 {
            return false;
        }
        let sample = (elapsed_ns * 1024 / rows).max(1);
        let before = self.ns_per_kilorow.load(Ordering::Relaxed);
        let after = if before == 0 { sample } else { (before * 3 + sample) / 4 };
        self.ns_per_kilorow.store(after.max(1), Ordering::Relaxed);
        before == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET_NS: u64 = 1_500_000;

    /// Runs a pipeline of `total` rows at a fixed cost on `workers` virtual workers; gives each worker's finishing time and the
    /// durations of all morsels.
    fn simulate(total: u64, ns_per_row: f64, workers: usize) -> (Vec<u64>, Vec<u64>) {
        let sizer = MorselSizer::default();
        let (mut clock, mut left, mut durations) = (vec![0u64; workers], total, Vec::new());
        while left > 0 {
            let worker = (0..workers).min_by_key(|worker| clock[*worker]).unwrap();
            let rows = sizer.rows(TARGET_NS, Some(left), workers).min(left);
            left -= rows;
            let ns = (rows as f64 * ns_per_row) as u64;
            sizer.ran(rows, ns);
            clock[worker] += ns;
            durations.push(ns);
        }
        (clock, durations)
    }

    #[test]
    fn morsels_take_the_target_whatever_a_row_costs() {
        for ns_per_row in [0.5, 5.0, 100.0, 3000.0] {
            let (_, durations) = simulate((4e8 / ns_per_row) as u64, ns_per_row, 2);
            let full = durations.iter().filter(|ns| (1_000_000..=2_000_000).contains(*ns)).sum::<u64>();
            let all = durations.iter().sum::<u64>();
            assert!(
                full as f64 > 0.9 * all as f64,
                "{ns_per_row} ns a row: {full} of {all} ns in morsels of 1 to 2 ms"
            );
        }
    }

    #[test]
    fn workers_are_worth_calling_by_the_time_that_is_left() {
        let sizer = MorselSizer::default();
        assert_eq!([0, 20_000, 300_000, 10_000_000].map(|rows| sizer.workers(rows)), [1, 1, 4, 152]);
        assert!(sizer.ran(512, 512 * 5), "the first measurement");
        assert!(!sizer.ran(512, 512 * 5));
        assert_eq!([20_000, 1_000_000].map(|rows| sizer.workers(rows)), [1, 25], "5 ns a row");
        let slow = MorselSizer::default();
        slow.ran(512, 512 * 100_000);
        assert_eq!([1, 10, 3_000].map(|rows| slow.workers(rows)), [1, 5, 1_500], "a lambda");
    }

    #[test]
    fn workers_finish_together() {
        for workers in [2, 3, 16, 64] {
            let (clock, _) = simulate(8_873_898, 5.0, workers);
            let (first, last) = (clock.iter().min().unwrap(), clock.iter().max().unwrap());
            assert!(last - first < 100_000, "{workers} workers end within {} ns", last - first);
        }
    }
}
