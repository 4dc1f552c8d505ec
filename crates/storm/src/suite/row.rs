//! A row of results: what tells a step from others, what it gave, and both in words.

use std::collections::HashMap;
use std::time::SystemTime;

use super::plan::{self, Stage};
use super::scenario::{Proxy, Scenario};
use crate::load::{Measurement, Outcome};
use crate::statistics::fairness;

/// What makes rows of several servers and rounds the same step.
pub const STEP: [&str; 10] = [
    "test_name",
    "test_subtype1",
    "test_subtype2",
    "test_subtype3",
    "protocol",
    "proxy",
    "http_keepalive",
    "load",
    "idle_connections",
    "concurrency",
];

/// What tells a row from others of its step.
const WITHIN_STEP: [&str; 4] = ["server", "class", "round", "client_version"];

/// A step's name and what tells it from others; the number of clients stands last.
pub type Step<'a> = [&'a str; STEP.len()];

/// The class of the query that is measured.
pub const MEASURED: &str = "measured";
/// What classes of clients beside it begin with.
pub const BESIDE: &str = "beside ";

/// A row, by the names of its columns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row(HashMap<String, String>);

impl FromIterator<(String, String)> for Row {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(columns: I) -> Self {
        Self(columns.into_iter().collect())
    }
}

impl Row {
    /// Sets a column.
    pub fn set(&mut self, column: &'static str, value: impl ToString) {
        self.0.insert(column.to_owned(), value.to_string());
    }

    /// A column's text; empty where it has none.
    pub fn get(&self, column: &str) -> &str {
        self.0.get(column).map_or("", String::as_str)
    }

    /// A column's number.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.get(column).parse().ok()
    }

    /// The step.
    pub fn step(&self) -> Step<'_> {
        STEP.map(|column| self.get(column))
    }

    /// Whether this row measures the same as another one.
    pub fn is_same(&self, other: &Row) -> bool {
        self.step() == other.step() && WITHIN_STEP.iter().all(|column| self.get(column) == other.get(column))
    }

    /// What tells a step's row from others, before it is measured.
    pub fn of_step(server: &str, scenario: &Scenario, stage: &Stage, step: &plan::Step) -> Self {
        let query = &scenario.query[step.query];
        let mut row = Row::default();
        row.set("server", server);
        row.set("client_version", concat!("squall storm ", env!("CARGO_PKG_VERSION")));
        row.set("test_name", &stage.name);
        let [one, two, three] = plan::subtypes(query, &stage.values);
        row.set("test_subtype1", one);
        row.set("test_subtype2", two);
        row.set("test_subtype3", three);
        row.set("protocol", step.variant.protocol.name());
        row.set("proxy", step.variant.proxy.map_or("", Proxy::name));
        row.set("http_keepalive", u8::from(step.variant.keep_alive));
        row.set("concurrency", step.concurrency);
        row.set("load", step.overload.map_or_else(String::new, |load| load.to_string()));
        row.set("idle_connections", step.idle);
        row.set("class", MEASURED);
        row.set("round", step.round);
        row
    }

    /// The row of the closed loop that belongs to one of an open loop.
    pub fn of_closed_loop(&self) -> Self {
        let mut closed = self.clone();
        closed.set("load", "");
        closed
    }

    /// Puts in what was measured.
    pub fn put_outcome(&mut self, outcome: &Outcome) {
        let empty = Measurement::default();
        let measured = outcome.class(MEASURED).unwrap_or(&empty);
        self.set("QPS", format!("{:.3}", measured.rate()));
        self.set("num_queries", measured.answers());
        self.set("MiBPS_result", format!("{:.6}", measured.per_second(measured.summary.result_bytes) / 1_048_576.0));
        for (column, percent) in [
            ("latency_0percentile", 0.0),
            ("latency_20percentile", 20.0),
            ("latency_50percentile", 50.0),
            ("latency_80percentile", 80.0),
            ("latency_90percentile", 90.0),
            ("latency_95percentile", 95.0),
            ("latency_99percentile", 99.0),
            ("latency_999percentile", 99.9),
            ("latency_9999percentile", 99.99),
        ] {
            self.set(column, format!("{:.9}", measured.percentile_seconds(percent)));
        }
        self.set("latency_max", format!("{:.9}", measured.max_seconds()));
        self.set("duration", measured.elapsed.as_micros());
        self.set("errors", measured.failures());
        let kinds: Vec<String> =
            measured.failed.iter().map(|(kind, failed)| format!("{kind}: {}", failed.count)).collect();
        self.set("errors_by_kind", kinds.join("; "));
        self.set("read_rows_per_second", format!("{:.1}", measured.per_second(measured.summary.read_rows)));
        self.set("idle_connections_open", outcome.idle_open);
        let beside: Vec<&Measurement> = outcome
            .classes
            .iter()
            .filter(|(class, _)| class.starts_with(BESIDE))
            .map(|(_, measured)| measured)
            .collect();
        if !beside.is_empty() {
            // In a closed loop a client's share is what its requests take, turned round: finer than a count of few.
            let share = |measured: &&Measurement| match measured.mean_seconds() {
                (mean, _) if mean > 0.0 => 1.0 / mean,
                _ => 0.0,
            };
            let shares: Vec<f64> = beside.iter().map(share).collect();
            self.set("beside_per_second", format!("{:.3}", shares.iter().sum::<f64>()));
            self.set("beside_fairness", format!("{:.4}", fairness(&shares)));
        }
        self.set("generator_work_share", format!("{:.3}", outcome.effort.of_work));
        self.set("generator_warning", outcome.effort.warning().unwrap_or_default());
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.set("measured_at", now.as_secs());
    }

    /// A step in words.
    pub fn label(&self) -> String {
        let mut label = format!("{} {}", self.get("test_name"), self.get("protocol"));
        if !self.get("proxy").is_empty() {
            label.push_str(&format!(" behind {}", self.get("proxy")));
        }
        if self.get("http_keepalive") == "0" {
            label.push_str(", a new connection each");
        }
        for column in ["test_subtype1", "test_subtype2", "test_subtype3"] {
            if !self.get(column).is_empty() {
                label.push_str(&format!(", {}", self.get(column)));
            }
        }
        label.push_str(&format!(", {} clients", self.get("concurrency")));
        if !self.get("load").is_empty() {
            label.push_str(&format!(", {} times the load", self.get("load")));
        }
        if self.get("idle_connections") != "0" {
            label.push_str(&format!(", {} idle", self.get("idle_connections")));
        }
        format!("{label}, {}", self.get("server"))
    }

    /// A step and what it gave.
    pub fn line(&self) -> String {
        let ms = |column: &str| self.number(column).unwrap_or(0.0) * 1e3;
        let mut line = format!(
            "{}: {:.0}/s, p50 {:.3} ms, p99 {:.3} ms",
            self.label(),
            self.number("QPS").unwrap_or(0.0),
            ms("latency_50percentile"),
            ms("latency_99percentile")
        );
        if let (Some(rate), Some(fairness)) = (self.number("beside_per_second"), self.number("beside_fairness")) {
            line.push_str(&format!("; beside it {rate:.2}/s, fairness {fairness:.3}"));
        }
        if self.get("errors") != "0" {
            line.push_str(&format!(", {} errors ({})", self.get("errors"), self.get("errors_by_kind")));
        }
        if !self.get("generator_warning").is_empty() {
            line.push_str(", the generator is the limit");
        }
        line
    }
}
