//! What a benchmark measured, in the words of `clickhouse-benchmark`: a line of rates for each server and a table of latency percentiles, as
//! text and as JSON, and the t-test that compares two servers.

use std::fmt::{self, Write as _};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::load::Measurement;
use crate::statistics::Sample;

/// The percentiles of the table.
const PERCENTILES: [f64; 14] = [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.9, 99.99];
/// The levels of confidence of `--confidence`, in percent.
const CONFIDENCE: [f64; 6] = [80.0, 90.0, 95.0, 98.0, 99.0, 99.5];

const MIB: f64 = 1_048_576.0;

/// Queries of a stretch of time.
#[derive(Debug, Clone)]
pub struct Report {
    /// By server.
    pub servers: Vec<(String, Measurement)>,
    /// Queries that were loaded, and that have ended since the beginning of the run.
    pub loaded: usize,
    /// See `loaded`.
    pub executed: u64,
    /// Which of the levels of confidence a difference must have.
    pub confidence: usize,
}

impl Report {
    /// Sets the length of the stretch.
    pub fn took(mut self, elapsed: Duration) -> Self {
        self.servers.iter_mut().for_each(|(_, measurement)| measurement.elapsed = elapsed);
        self
    }

    /// The report as `clickhouse-benchmark --json` writes it: an object a server. Where there is one server its figures stand at the top as
    /// well, where versions before 20 had them.
    pub fn to_json(&self) -> String {
        let mut report = Map::new();
        for (name, measurement) in &self.servers {
            let percentiles: Map<String, Value> = PERCENTILES
                .iter()
                .map(|&percent| (percent.to_string(), measurement.percentile_seconds(percent).into()))
                .collect();
            let summary = &measurement.summary;
            let statistics = json!({
                "QPS": measurement.rate(),
                "RPS": measurement.per_second(summary.read_rows),
                "MiBPS": measurement.per_second(summary.read_bytes) / MIB,
                "RPS_result": measurement.per_second(summary.result_rows),
                "MiBPS_result": measurement.per_second(summary.result_bytes) / MIB,
                "num_queries": measurement.answers(),
                "num_errors": measurement.failures(),
            });
            if self.servers.len() == 1 {
                report.insert("statistics".to_owned(), statistics.clone());
                report.insert("query_time_percentiles".to_owned(), percentiles.clone().into());
            }
            report.insert(name.clone(), json!({ "statistics": statistics, "query_time_percentiles": percentiles }));
        }
        format!("{:#}\n", Value::Object(report))
    }

    /// What the t-test says of two servers.
    fn comparison(&self) -> Option<String> {
        let [(left_name, left), (right_name, right)] = self.servers.as_slice() else { return None };
        let level = CONFIDENCE[self.confidence.min(CONFIDENCE.len() - 1)];
        let sample = |measurement: &Measurement| {
            let (mean, deviation) = measurement.mean_seconds();
            Sample { count: measurement.answers(), mean, deviation }
        };
        let difference = sample(left).difference(&sample(right), level)?;
        Some(if difference.is_proven() {
            format!(
                "Difference at {level:.1}% confidence: {right_name} takes {:.3} +/- {:.3} ms more than {left_name}",
                difference.mean * 1e3,
                difference.error * 1e3
            )
        } else {
            format!("No difference proven at {level:.1}% confidence")
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\nQueries executed: {}", self.executed)?;
        if self.loaded > 1 {
            write!(f, " ({:.3}%)", self.executed as f64 * 100.0 / self.loaded as f64)?;
        }
        f.write_str(".\n\n")?;
        for (name, measurement) in &self.servers {
            if measurement.answers() == 0 && measurement.failures() == 0 {
                return Ok(());
            }
            let summary = &measurement.summary;
            write!(f, "{name}, queries {}, ", measurement.answers())?;
            if measurement.failures() > 0 {
                write!(f, "errors {}, ", measurement.failures())?;
            }
            writeln!(
                f,
                "QPS: {:.3}, RPS: {:.3}, MiB/s: {:.3}, result RPS: {:.3}, result MiB/s: {:.3}.",
                measurement.rate(),
                measurement.per_second(summary.read_rows),
                measurement.per_second(summary.read_bytes) / MIB,
                measurement.per_second(summary.result_rows),
                measurement.per_second(summary.result_bytes) / MIB,
            )?;
        }
        f.write_char('\n')?;
        for percent in PERCENTILES {
            write!(f, "{percent:.3}%\t\t")?;
            for (_, measurement) in &self.servers {
                write!(f, "{:.3} sec.\t", measurement.percentile_seconds(percent))?;
            }
            f.write_char('\n')?;
        }
        if let Some(comparison) = self.comparison() {
            writeln!(f, "\n{comparison}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_native::Summary;

    fn measured(milliseconds: std::ops::RangeInclusive<u64>) -> Measurement {
        let mut measurement = Measurement::default();
        for milliseconds in milliseconds {
            let summary = Summary { read_rows: 10, read_bytes: 1 << 20, result_rows: 1, result_bytes: 8 };
            measurement.record(Duration::from_millis(milliseconds), &Ok(summary));
        }
        measurement
    }

    fn report(servers: Vec<(String, Measurement)>) -> Report {
        Report { servers, loaded: 2, executed: 100, confidence: 5 }.took(Duration::from_secs(2))
    }

    #[test]
    fn report_reads_like_clickhouse_benchmark() {
        let report = report(vec![("localhost:9000".to_owned(), measured(1..=100))]);
        let text = report.to_string();
        assert!(
            text.starts_with(
                "\nQueries executed: 100 (5000.000%).\n\nlocalhost:9000, queries 100, QPS: 50.000, RPS: 500.000, MiB/s: 50.000, result RPS: \
                 50.000, result MiB/s: 0.000.\n\n0.000%\t\t0.001 sec.\t\n10.000%\t\t0.010 sec.\t\n"
            ),
            "{text}"
        );
        assert!(text.ends_with("99.990%\t\t0.100 sec.\t\n"));
        let json: Value = serde_json::from_str(&report.to_json()).unwrap();
        for statistics in [&json["statistics"], &json["localhost:9000"]["statistics"]] {
            assert_eq!((&statistics["num_queries"], &statistics["QPS"]), (&json!(100), &json!(50.0)));
        }
        assert_eq!(json["query_time_percentiles"].as_object().unwrap().len(), PERCENTILES.len());
    }

    #[test]
    fn two_servers_are_compared() {
        let name = |name: &str| name.to_owned();
        let alike = report(vec![(name("a"), measured(1..=100)), (name("b"), measured(2..=101))]).to_string();
        assert!(alike.ends_with("\nNo difference proven at 99.5% confidence\n"), "{alike}");
        let apart = report(vec![(name("a"), measured(1..=100)), (name("b"), measured(51..=150))]).to_string();
        assert!(apart.contains("\nDifference at 99.5% confidence: b takes 50.0"), "{apart}");
    }
}
