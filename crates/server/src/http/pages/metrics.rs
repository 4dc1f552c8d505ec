//! The page for Prometheus: events, current metrics, asynchronous metrics and errors in its text format, under ClickHouse's names.

use std::fmt::Write as _;

use squall_runtime::histogram::{self, Histogram};
use squall_runtime::{CurrentMetric, ProfileEvent, profile_events};

use crate::server::Server;
use crate::version::{self, SQUALL_VERSION, VERSION};

/// The type of the page.
pub(in crate::http) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=UTF-8";

/// What the page tells, and under which path: the element `prometheus`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrometheusConfig {
    /// A port that serves nothing but the page.
    pub port: Option<u16>,
    /// The page's path.
    pub endpoint: String,
    /// Whether current metrics are told.
    pub metrics: bool,
    /// Whether events are told.
    pub events: bool,
    /// Whether histograms are told.
    pub histograms: bool,
    /// Whether asynchronous metrics are told.
    pub asynchronous_metrics: bool,
    /// Whether errors are told.
    pub errors: bool,
}

impl Default for PrometheusConfig {
    fn default() -> Self {
        let endpoint = "/metrics".to_owned();
        Self {
            port: None,
            endpoint,
            metrics: true,
            events: true,
            histograms: true,
            asynchronous_metrics: true,
            errors: true,
        }
    }
}

/// Writes the page.
pub(in crate::http) fn page(server: &Server) -> String {
    let config = &server.config.load().prometheus;
    let mut page = String::with_capacity(64 << 10);
    add_build_info(&mut page);
    if config.events {
        for event in ProfileEvent::ALL {
            let value = profile_events::GLOBAL.get(*event);
            add(&mut page, "ProfileEvents", event.name(), event.description(), "counter", value);
        }
    }
    if config.metrics {
        for metric in CurrentMetric::ALL {
            add(&mut page, "Metrics", metric.name(), metric.description(), "gauge", metric.get());
        }
    }
    if config.histograms {
        for family in histogram::ALL.chunk_by(|one, next| one.name == next.name) {
            add_histograms(&mut page, family);
        }
    }
    if config.asynchronous_metrics {
        for measure in server.asynchronous_metrics.get().iter() {
            add(&mut page, "AsyncMetrics", &measure.name, measure.description, "gauge", measure.value);
        }
    }
    if config.errors {
        let mut all = 0;
        for (code, count) in server.errors.counts() {
            all += count;
            let description = format!("The number of {} errors since last server restart", code.name());
            add(&mut page, "ErrorMetric", code.name(), &description, "counter", count);
        }
        add(&mut page, "ErrorMetric", "ALL", "The total number of errors since last server restart", "counter", all);
    }
    page
}

/// Writes which build this is: a constant 1 whose labels tell, as Prometheus's own exporters do.
fn add_build_info(page: &mut String) {
    let commit = version::commit();
    let _ = write!(
        page,
        "# HELP squall_build_info The build of this server, in labels.\n# TYPE squall_build_info gauge\n\
        squall_build_info{{version=\"{SQUALL_VERSION}\",clickhouse_version=\"{VERSION}\",revision=\"{commit}\"}} 1\n"
    );
}

/// Writes one metric. Other letters than Prometheus knows become `_`.
fn add(page: &mut String, family: &str, name: &str, description: &str, kind: &str, value: impl std::fmt::Display) {
    let name: String = name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    let name = format!("ClickHouse{family}_{name}");
    let description = description.replace('\\', "\\\\").replace('\n', "\\n");
    // Writing to a String does not fail.
    let _ = write!(page, "# HELP {name} {description}\n# TYPE {name} {kind}\n{name} {value}\n");
}

/// Writes the buckets, the sum and the count of histograms that share a name.
fn add_histograms(page: &mut String, family: &[&Histogram]) {
    let Some(first) = family.first() else { return };
    let name = format!("ClickHouseHistogramMetrics_{}", first.name);
    let _ = write!(page, "# HELP {name} {}\n# TYPE {name} histogram\n", first.description);
    for histogram in family {
        let label = histogram.label.map(|(label, value)| format!("{label}=\"{value}\""));
        let mut all = 0;
        for (bound, count) in histogram.cumulative() {
            let bound = bound.map_or_else(|| "+Inf".to_owned(), |bound| bound.to_string());
            let others = label.as_ref().map_or_else(String::new, |label| format!("{label},"));
            let _ = writeln!(page, "{name}_bucket{{{others}le=\"{bound}\"}} {count}");
            all = count;
        }
        let label = label.map_or_else(String::new, |label| format!("{{{label}}}"));
        let _ = write!(page, "{name}_sum{label} {}\n{name}_count{label} {all}\n", histogram.sum_us());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_written_as_prometheus_reads_them() {
        let mut page = String::new();
        add(&mut page, "AsyncMetrics", "Network-x.y", "One\nline", "gauge", 1.5);
        let expected = "# HELP ClickHouseAsyncMetrics_Network_x_y One\\nline\n\
            # TYPE ClickHouseAsyncMetrics_Network_x_y gauge\nClickHouseAsyncMetrics_Network_x_y 1.5\n";
        assert_eq!(page, expected);
    }

    #[test]
    fn histograms_of_one_name_are_one_family() {
        let mut page = String::new();
        add_histograms(&mut page, &[&histogram::SELECT_DURATION, &histogram::INSERT_DURATION]);
        assert_eq!(page.matches("# TYPE ").count(), 1);
        for line in [
            "query_duration_microseconds_bucket{query_kind=\"Select\",le=\"10\"} ",
            "query_duration_microseconds_bucket{query_kind=\"Insert\",le=\"+Inf\"} ",
            "query_duration_microseconds_count{query_kind=\"Insert\"} ",
        ] {
            assert!(page.contains(line), "{line} is missing in {page}");
        }
    }
}
