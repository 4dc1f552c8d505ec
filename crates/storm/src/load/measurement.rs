//! What was measured of one class of requests: latencies of answers and of failures, failures by kind, rows and bytes.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

use squall_native::Summary;
use squall_native::{Failure, FailureKind};

/// The percentiles that are reported.
pub const PERCENTILES: [f64; 9] = [0.0, 20.0, 50.0, 80.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// Latencies from a hundred nanoseconds to an hour, in nanoseconds with three significant digits.
fn histogram() -> Histogram<u64> {
    let latencies = Histogram::new_with_bounds(100, 3_600_000_000_000, 3).or_else(|_| Histogram::new(3));
    #[expect(clippy::expect_used, reason = "three significant digits are allowed: 0 to 5 are")]
    latencies.expect("a histogram of three digits")
}

fn record(latencies: &mut Histogram<u64>, took: Duration) {
    latencies.saturating_record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
}

/// Failures of one kind.
#[derive(Debug, Clone)]
pub struct Failed {
    /// How many.
    pub count: u64,
    /// What the first one said.
    pub example: String,
    latencies: Histogram<u64>,
}

impl Failed {
    fn new(example: String) -> Self {
        Failed { count: 0, example, latencies: histogram() }
    }
}

/// Requests of one class.
#[derive(Debug, Clone)]
pub struct Measurement {
    answers: Histogram<u64>,
    /// Failures by kind.
    pub failed: BTreeMap<FailureKind, Failed>,
    /// Rows and bytes of all answers.
    pub summary: Summary,
    /// The time in which they were answered.
    pub elapsed: Duration,
    /// Answers that came within exactly this time, where that was counted: those to earlier requests too, without those that came later.
    pub within: Option<u64>,
}

impl Default for Measurement {
    fn default() -> Self {
        Measurement {
            answers: histogram(),
            failed: BTreeMap::new(),
            summary: Summary::default(),
            elapsed: Duration::ZERO,
            within: None,
        }
    }
}

impl Measurement {
    /// Adds a request.
    pub fn record(&mut self, took: Duration, outcome: &Result<Summary, Failure>) {
        match outcome {
            Ok(summary) => {
                record(&mut self.answers, took);
                self.summary.add(summary);
            }
            Err(failure) => {
                let fresh = || Failed::new(failure.error.message.clone());
                let failed = self.failed.entry(failure.kind).or_insert_with(fresh);
                failed.count += 1;
                record(&mut failed.latencies, took);
            }
        }
    }

    /// Adds what was measured elsewhere at the same time.
    pub fn merge(&mut self, other: &Self) {
        // All have the same bounds, so that adding cannot fail.
        let _ = self.answers.add(&other.answers);
        for (kind, failed) in &other.failed {
            let own = self.failed.entry(*kind).or_insert_with(|| Failed::new(failed.example.clone()));
            own.count += failed.count;
            let _ = own.latencies.add(&failed.latencies);
        }
        self.summary.add(&other.summary);
        self.elapsed = self.elapsed.max(other.elapsed);
        self.within = match (self.within, other.within) {
            (Some(own), Some(other)) => Some(own + other),
            (own, other) => own.or(other),
        };
    }

    /// Requests that were answered, and rightly.
    pub fn answers(&self) -> u64 {
        self.answers.len()
    }

    /// Requests that failed, of any kind.
    pub fn failures(&self) -> u64 {
        self.failed.values().map(|failed| failed.count).sum()
    }

    /// Requests that failed in this way.
    pub fn failures_of(&self, kind: FailureKind) -> u64 {
        self.failed.get(&kind).map_or(0, |failed| failed.count)
    }

    /// Answers a second.
    pub fn rate(&self) -> f64 {
        self.per_second(self.within.unwrap_or_else(|| self.answers()))
    }

    /// So many in all, as so many a second.
    pub fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// The latency that this share of the answers (in percent) did not exceed, in seconds.
    pub fn percentile_seconds(&self, percent: f64) -> f64 {
        self.answers.value_at_quantile(percent / 100.0) as f64 / 1e9
    }

    /// The same of requests that failed in this way.
    pub fn failure_percentile_seconds(&self, kind: FailureKind, percent: f64) -> f64 {
        self.failed.get(&kind).map_or(0.0, |failed| failed.latencies.value_at_quantile(percent / 100.0) as f64 / 1e9)
    }

    /// The mean latency of answers and its standard deviation, in seconds.
    pub fn mean_seconds(&self) -> (f64, f64) {
        (self.answers.mean() / 1e9, self.answers.stdev() / 1e9)
    }

    /// The largest latency of an answer, in seconds.
    pub fn max_seconds(&self) -> f64 {
        self.answers.max() as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use squall_types::{Error, ErrorCode};

    use super::*;

    #[test]
    fn answers_and_failures_are_told_apart_and_merged() {
        let summary = Summary { read_rows: 10, read_bytes: 80, result_rows: 1, result_bytes: 8 };
        let refused = Failure::exception(Error::new(ErrorCode::TOO_MANY_SIMULTANEOUS_QUERIES, "Too many"));
        let mut one = Measurement::default();
        let mut two = Measurement { elapsed: Duration::from_secs(2), ..Measurement::default() };
        for milliseconds in 1..=100 {
            one.record(Duration::from_millis(milliseconds), &Ok(summary));
            two.record(Duration::from_millis(milliseconds), &Err(refused.clone()));
        }
        one.merge(&two);
        assert_eq!((one.answers(), one.failures(), one.summary.read_rows), (100, 100, 1000));
        assert_eq!(one.failures_of(FailureKind::Exception(202)), 100);
        assert_eq!(one.failures_of(FailureKind::Timeout), 0);
        assert_eq!(one.failed[&FailureKind::Exception(202)].example, "Too many");
        assert_eq!(one.rate(), 50.0);
        let close = |value: f64, expected: f64| (value / expected - 1.0).abs() < 2e-3;
        assert!(
            close(one.percentile_seconds(99.0), 0.099)
                && close(one.failure_percentile_seconds(FailureKind::Exception(202), 50.0), 0.05)
        );
        assert!(close(one.percentile_seconds(0.0), 0.001) && close(one.max_seconds(), 0.1));
    }
}
