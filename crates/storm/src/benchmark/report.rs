//! What a benchmark measured, in the words of `clickhouse-benchmark`: rates and a table of latency percentiles, as text and as JSON.

use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Map, Value, json};

use crate::native::Summary;

/// The percentiles of the table.
pub const PERCENTILES: [f64; 14] = [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.9, 99.99];

const MIB: f64 = 1_048_576.0;

/// Queries of a stretch of time.
#[derive(Debug, Clone)]
pub struct Report {
    /// Latencies in nanoseconds, with three significant digits.
    latencies: Histogram<u64>,
    summary: Summary,
    /// Queries that were loaded, and that were executed since the beginning of the run.
    loaded: usize,
    executed: u64,
    elapsed: Duration,
}

impl Report {
    /// Nothing yet, of `loaded` queries.
    pub fn new(loaded: usize) -> Self {
        // One hundred nanoseconds to one hour; the histogram grows as far as it is needed.
        let latencies = Histogram::new_with_bounds(100, 3_600_000_000_000, 3).or_else(|_| Histogram::new(3));
        #[expect(clippy::expect_used, reason = "three significant digits are allowed: 0 to 5 are")]
        let latencies = latencies.expect("a histogram of three digits");
        Report { latencies, summary: Summary::default(), loaded, executed: 0, elapsed: Duration::ZERO }
    }

    /// Adds one query.
    pub fn record(&mut self, took: Duration, summary: &Summary) {
        self.latencies.saturating_record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        self.summary.read_rows += summary.read_rows;
        self.summary.read_bytes += summary.read_bytes;
        self.summary.result_rows += summary.result_rows;
        self.summary.result_bytes += summary.result_bytes;
    }

    /// Ends the stretch, which was `elapsed` long; `executed` queries ended since the beginning of the run.
    pub fn finish(&mut self, elapsed: Duration, executed: u64) {
        self.elapsed = elapsed;
        self.executed = executed;
    }

    /// The number of queries in this stretch.
    pub fn queries(&self) -> u64 {
        self.latencies.len()
    }

    /// Queries a second.
    pub fn queries_per_second(&self) -> f64 {
        self.per_second(self.queries())
    }

    /// The latency that this share of the queries (in percent) did not exceed, in seconds.
    pub fn percentile_seconds(&self, percent: f64) -> f64 {
        self.latencies.value_at_quantile(percent / 100.0) as f64 / 1e9
    }

    fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// The report as `clickhouse-benchmark --json` writes it; MiBPS is in MiB, as it has been since ClickHouse 19.
    pub fn to_json(&self) -> String {
        let percentiles: Map<String, Value> =
            PERCENTILES.iter().map(|&percent| (percent.to_string(), self.percentile_seconds(percent).into())).collect();
        let report = json!({
            "statistics": {
                "QPS": self.queries_per_second(),
                "RPS": self.per_second(self.summary.read_rows),
                "MiBPS": self.per_second(self.summary.read_bytes) / MIB,
                "RPS_result": self.per_second(self.summary.result_rows),
                "MiBPS_result": self.per_second(self.summary.result_bytes) / MIB,
                "num_queries": self.queries(),
            },
            "query_time_percentiles": percentiles,
        });
        format!("{report:#}\n")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\nQueries executed: {}", self.executed)?;
        if self.loaded > 1 {
            write!(f, " ({:.3}%)", self.executed as f64 * 100.0 / self.loaded as f64)?;
        }
        write!(
            f,
            ".\n\nQPS: {:.3}, RPS: {:.3}, MiB/s: {:.3}, result RPS: {:.3}, result MiB/s: {:.3}.",
            self.queries_per_second(),
            self.per_second(self.summary.read_rows),
            self.per_second(self.summary.read_bytes) / MIB,
            self.per_second(self.summary.result_rows),
            self.per_second(self.summary.result_bytes) / MIB,
        )?;
        PERCENTILES
            .iter()
            .try_for_each(|&percent| write!(f, "\n{percent:.3}%\t{:.3} sec.", self.percentile_seconds(percent)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_reads_like_clickhouse_benchmark() {
        let mut report = Report::new(2);
        for milliseconds in 1..=100 {
            let summary = Summary { read_rows: 10, read_bytes: 1 << 20, result_rows: 1, result_bytes: 8 };
            report.record(Duration::from_millis(milliseconds), &summary);
        }
        report.finish(Duration::from_secs(2), 100);
        let text = report.to_string();
        assert!(text.starts_with(
            "\nQueries executed: 100 (5000.000%).\n\nQPS: 50.000, RPS: 500.000, MiB/s: 50.000, result RPS: 50.000, result MiB/s: 0.000.\n\
             0.000%\t0.001 sec.\n10.000%\t0.010 sec.\n"
        ));
        assert!(text.ends_with("99.990%\t0.100 sec."));
        let json: Value = serde_json::from_str(&report.to_json()).unwrap();
        assert_eq!(json["statistics"]["num_queries"], 100);
        assert_eq!(json["statistics"]["QPS"], 50.0);
        assert_eq!(json["query_time_percentiles"].as_object().unwrap().len(), PERCENTILES.len());
    }
}
