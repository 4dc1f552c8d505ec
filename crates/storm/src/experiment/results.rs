//! What the experiment found: the document's tables as text and CSV, and how far the results go beyond what was asked for.

use std::fmt::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use squall_types::Result;

use super::gain::Gains;
use super::measure::Sample;
use super::requests::HTTP_CONNECTIONS;
use super::{CLIENTS, QUERY};
use crate::chart::{Chart, Line, Scale};
use crate::file_error::file_error;
use crate::server::Memory;

/// The document sends so many queries at each point; times are given for as many.
const QUERIES: f64 = 1000.0;

/// One row of a table: what was measured at one `max_threads` with some clients.
#[derive(Debug, Clone)]
pub struct Point {
    pub max_threads: u32,
    pub clients: usize,
    samples: Vec<Sample>,
}

impl Point {
    /// A point with its first sample.
    pub fn new(max_threads: u32, clients: usize, sample: Sample) -> Self {
        Point { max_threads, clients, samples: vec![sample] }
    }

    /// Whether it is the point of these two.
    pub fn is(&self, max_threads: u32, clients: usize) -> bool {
        (self.max_threads, self.clients) == (max_threads, clients)
    }

    /// Adds a further sample.
    pub fn add(&mut self, sample: Sample) {
        self.samples.push(sample);
    }

    /// Queries a second.
    pub fn qps(&self) -> f64 {
        self.middle(|sample| sample.queries as f64 / sample.seconds.max(1e-9))
    }

    /// The time for the document's thousand queries, in seconds.
    pub fn time(&self) -> f64 {
        QUERIES / self.qps().max(1e-9)
    }

    /// The same in each round.
    pub fn times(&self) -> Vec<f64> {
        self.samples.iter().map(|sample| QUERIES * sample.seconds / (sample.queries as f64).max(1e-9)).collect()
    }

    /// The share of the CPUs' time that was worked, in percent.
    pub fn cpu_load(&self) -> f64 {
        let busy: u64 = self.samples.iter().map(|sample| sample.busy_ticks).sum();
        let all: u64 = self.samples.iter().map(|sample| sample.all_ticks).sum();
        100.0 * busy as f64 / all.max(1) as f64
    }

    /// The mean of the middle half of what the samples say: moments in which the machine did something else do not count.
    fn middle(&self, of: impl Fn(&Sample) -> f64) -> f64 {
        let mut values: Vec<f64> = self.samples.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        let quarter = values.len() / 4;
        let half = values.get(quarter..values.len() - quarter).unwrap_or_default();
        half.iter().sum::<f64>() / half.len().max(1) as f64
    }
}

/// A request over HTTP that costs next to nothing, measured on Squall and, where it is there, on the peer.
#[derive(Debug, Clone)]
pub struct SmallRequest {
    pub name: &'static str,
    /// Responses and the seconds they took, by server.
    pub rates: Vec<(u64, f64)>,
}

impl SmallRequest {
    /// Responses a second of the server at `position`, if it was measured.
    fn rate(&self, position: usize) -> Option<f64> {
        self.rates.get(position).map(|&(responses, seconds)| responses as f64 / seconds.max(1e-9))
    }
}

/// All that was measured.
#[derive(Debug, Clone)]
pub struct Results {
    rows: u64,
    seconds: f64,
    rounds: u32,
    /// What sent the queries.
    pub tool: String,
    /// What sent the small requests.
    pub request_tool: String,
    /// The peer, where there is one.
    pub peer: Option<String>,
    /// From the start of the process to its first answer.
    pub cold_start: Duration,
    /// Then.
    pub idle: Memory,
    /// Part a.
    pub fixed_at_start: Vec<Point>,
    /// Part b: `total_max_threads` and the point.
    pub total_max_threads: Vec<(i64, Point)>,
    /// Part c.
    pub stride: Vec<Point>,
    /// The peer.
    pub clickhouse: Vec<Point>,
    /// Requests a second.
    pub small_requests: Vec<SmallRequest>,
}

impl Results {
    /// Nothing yet.
    pub fn new(rows: u64, seconds: f64, rounds: u32) -> Self {
        Results {
            rows,
            seconds,
            rounds,
            tool: String::new(),
            request_tool: String::new(),
            peer: None,
            cold_start: Duration::ZERO,
            idle: Memory::default(),
            fixed_at_start: Vec::new(),
            total_max_threads: Vec::new(),
            stride: Vec::new(),
            clickhouse: Vec::new(),
            small_requests: Vec::new(),
        }
    }

    /// Writes the tables, the chart and the summary to a folder; returns the files' names.
    ///
    /// # Errors
    /// `CANNOT_OPEN_FILE`.
    pub fn write(&self, folder: &Path) -> Result<Vec<&'static str>> {
        let mut files = vec![
            ("a_fixed_at_start.csv", csv(&self.fixed_at_start)),
            ("b_total_max_threads.csv", self.total_max_threads_csv()),
            ("c_stride.csv", csv(&self.stride)),
            ("small_requests.csv", self.small_requests_csv()),
            ("chart.svg", self.chart()),
            ("summary.txt", self.to_string()),
        ];
        if !self.clickhouse.is_empty() {
            files.push(("clickhouse.csv", csv(&self.clickhouse)));
        }
        for (name, text) in &files {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(|error| file_error(&path, &error))?;
        }
        Ok(files.into_iter().map(|(name, _)| name).collect())
    }

    fn total_max_threads_csv(&self) -> String {
        let mut out = format!("total_max_threads,{CSV_HEADER}\n");
        for (total, point) in &self.total_max_threads {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{total},{}", csv_row(point));
        }
        out
    }

    fn small_requests_csv(&self) -> String {
        self.small_requests.iter().fold("request,Squall,peer\n".to_owned(), |out, request| {
            let rate = |position| request.rate(position).map_or_else(String::new, |rate| format!("{rate:.0}"));
            format!("{out}{},{},{}\n", request.name, rate(0), rate(1))
        })
    }

    fn chart(&self) -> String {
        let panel = |clients: usize| {
            let line = |name: &str, points: &[Point]| {
                Line::new(name, of_clients(points, clients).map(|point| (point.max_threads, point.qps())))
            };
            let mut lines = vec![
                line("Squall, stride (default)", &self.stride),
                line("Squall, fixed_at_start", &self.fixed_at_start),
            ];
            if let Some(version) = &self.peer {
                lines.push(line(version, &self.clickhouse));
            }
            (title(clients), lines)
        };
        Chart {
            title: "Queries a second by max_threads".to_owned(),
            panels: CLIENTS.map(panel).into(),
            x_label: "max_threads".to_owned(),
            y_label: "queries a second".to_owned(),
            scale: Scale::Linear,
        }
        .to_svg()
    }

    /// The targets, each with what was measured.
    fn verdicts(&self) -> Vec<(String, bool)> {
        let mut verdicts = Vec::new();
        let mut verdict = |text: String, holds: bool| verdicts.push((text, holds));
        let start_ms = self.cold_start.as_secs_f64() * 1e3;
        verdict(format!("cold start to first answer {start_ms:.0} ms (target: under 200)"), start_ms < 200.0);
        let idle_mb = self.idle.resident_bytes as f64 / 1e6;
        verdict(format!("idle resident memory {idle_mb:.0} MB (target: under 100)"), idle_mb < 100.0);
        let best_and_worst = |points: &[Point], clients: usize| {
            let qps = || of_clients(points, clients).map(Point::qps);
            (qps().fold(0.0, f64::max), qps().fold(f64::INFINITY, f64::min))
        };
        let (crowd_best, crowd_worst) = best_and_worst(&self.stride, 20);
        if crowd_best > 0.0 {
            let cost = 100.0 * (1.0 - crowd_worst / crowd_best);
            verdict(
                format!(
                    "20 clients, stride: the worst max_threads costs {cost:.1} % of the best (target: at most 3 %)"
                ),
                cost <= 3.0,
            );
        }
        if let (false, Some(peer)) = (self.clickhouse.is_empty(), &self.peer) {
            let (single, _) = best_and_worst(&self.stride, 1);
            let (peer_single, _) = best_and_worst(&self.clickhouse, 1);
            let (peer_crowd, _) = best_and_worst(&self.clickhouse, 20);
            let ratio = single / peer_single.max(1e-9);
            verdict(format!("1 client: {ratio:.1} times the best of {peer} (target: at least 5)"), ratio >= 5.0);
            let ratio = crowd_worst / peer_crowd.max(1e-9);
            verdict(
                format!(
                    "20 clients: the worst max_threads gives {ratio:.1} times the best of {peer} (target: at least 10)"
                ),
                ratio >= 10.0,
            );
        }
        for (request, target) in self.small_requests.iter().zip([2.0, 4.0]) {
            if let (Some(ours), Some(theirs), Some(peer)) = (request.rate(0), request.rate(1), &self.peer) {
                let ratio = ours / theirs.max(1e-9);
                verdict(
                    format!("{}: {ratio:.1} times {peer} (target: at least {target})", request.name),
                    ratio >= target,
                );
            }
        }
        verdicts
    }
}

fn of_clients(points: &[Point], clients: usize) -> impl Iterator<Item = &Point> {
    points.iter().filter(move |point| point.clients == clients)
}

fn title(clients: usize) -> String {
    if clients == 1 { "1 client thread".to_owned() } else { format!("{clients} client threads") }
}

const CSV_HEADER: &str =
    "max_threads,clients,QPS,time_seconds_per_1000_queries,cpu_load_percent,median_seconds,p99_seconds";

fn csv(points: &[Point]) -> String {
    points.iter().fold(format!("{CSV_HEADER}\n"), |out, point| out + &csv_row(point) + "\n")
}

fn csv_row(point: &Point) -> String {
    format!(
        "{},{},{:.2},{:.3},{:.1},{:.6},{:.6}",
        point.max_threads,
        point.clients,
        point.qps(),
        point.time(),
        point.cpu_load(),
        point.middle(|sample| sample.median_seconds),
        point.middle(|sample| sample.p99_seconds),
    )
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{QUERY}")?;
        writeln!(f, "on {} rows, sent by {}; {} logical CPUs", self.rows, self.tool, cpus())?;
        writeln!(
            f,
            "Each sample took {} s. A point of Squall's is the mean of the middle half of {} samples, one of ClickHouse's of two.\n\
             Times are scaled to 1000 queries.",
            self.seconds, self.rounds
        )?;
        let sweeps = [
            ("a) Squall, fixed_at_start, without total_max_threads".to_owned(), &self.fixed_at_start),
            ("c) Squall, stride (the default policy)".to_owned(), &self.stride),
            (format!("{} in the same minutes", self.peer.as_deref().unwrap_or_default()), &self.clickhouse),
        ];
        let [a, c, peer] = &sweeps;
        sweep(f, &a.0, a.1)?;
        writeln!(f, "\nb) Squall, fixed_at_start, using total_max_threads with max_threads=16\n")?;
        writeln!(f, "total_max_threads  client threads     QPS    time  CPU load")?;
        for pair in self.total_max_threads.chunks(CLIENTS.len()) {
            for (total, point) in pair {
                writeln!(
                    f,
                    "{total:>17}  {:>14}  {:>6.1}  {:>6.1}  {:>7.1}%",
                    point.clients,
                    point.qps(),
                    point.time(),
                    point.cpu_load()
                )?;
            }
            writeln!(f, "total time: {:.1}", pair.iter().map(|(_, point)| point.time()).sum::<f64>())?;
        }
        sweep(f, &c.0, c.1)?;
        if !peer.1.is_empty() {
            sweep(f, &peer.0, peer.1)?;
        }
        if let Some(gains) = Gains::of(&self.fixed_at_start, &self.total_max_threads, &self.stride) {
            write!(f, "{gains}")?;
        }
        writeln!(
            f,
            "\nRequests a second over HTTP, on {HTTP_CONNECTIONS} connections that stay open, sent by {}\n",
            self.request_tool
        )?;
        for request in &self.small_requests {
            write!(f, "{:<10}  {:>8.0}", request.name, request.rate(0).unwrap_or(0.0))?;
            match (request.rate(1), &self.peer) {
                (Some(rate), Some(peer)) => writeln!(f, "  {peer} {rate:>8.0}")?,
                _ => writeln!(f)?,
            }
        }
        writeln!(f, "\nTargets\n")?;
        for (text, holds) in self.verdicts() {
            writeln!(f, "{} {text}", if holds { "yes" } else { "NO " })?;
        }
        Ok(())
    }
}

/// The document's three tables of one sweep.
fn sweep(f: &mut fmt::Formatter<'_>, heading: &str, points: &[Point]) -> fmt::Result {
    writeln!(f, "\n{heading}")?;
    for clients in CLIENTS.into_iter().rev() {
        writeln!(f, "\n{}\n\nmax_threads     QPS    time  CPU load", title(clients))?;
        for point in of_clients(points, clients) {
            writeln!(
                f,
                "{:>11}  {:>6.1}  {:>6.1}  {:>7.1}%",
                point.max_threads,
                point.qps(),
                point.time(),
                point.cpu_load()
            )?;
        }
    }
    writeln!(f, "\nTotal time for all two cases: 1 and 20 client threads.\n\nmax_threads    time")?;
    for point in of_clients(points, CLIENTS[0]) {
        let same: f64 = points.iter().filter(|other| other.max_threads == point.max_threads).map(Point::time).sum();
        writeln!(f, "{:>11}  {same:>6.1}", point.max_threads)?;
    }
    Ok(())
}

pub(super) fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(max_threads: u32, clients: usize, qps: u64) -> Point {
        let sample = Sample {
            queries: qps,
            seconds: 1.0,
            median_seconds: 0.01,
            p99_seconds: 0.02,
            busy_ticks: 50,
            all_ticks: 100,
        };
        Point::new(max_threads, clients, sample)
    }

    #[test]
    fn tables_and_targets_follow_from_the_points() {
        let mut results = Results::new(1000, 3.0, 1);
        results.fixed_at_start = vec![point(1, 1, 100), point(1, 20, 200)];
        results.total_max_threads = vec![(8, point(16, 1, 100)), (8, point(16, 20, 200))];
        results.stride = vec![point(1, 1, 100), point(2, 1, 150), point(1, 20, 300), point(2, 20, 290)];
        results.clickhouse = vec![point(1, 1, 30), point(1, 20, 29)];
        results.peer = Some("ClickHouse 18.16.1".to_owned());
        let text = results.to_string();
        assert!(text.contains(
            "20 client threads\n\nmax_threads     QPS    time  CPU load\n          1   200.0     5.0     50.0%"
        ));
        assert!(text.contains("total time: 15.0"));
        assert!(text.contains("NO  20 clients, stride: the worst max_threads costs 3.3 %"));
        assert!(text.contains("yes 1 client: 5.0 times the best of ClickHouse 18.16.1"));
        assert!(text.contains("yes 20 clients: the worst max_threads gives 10.0 times"));
        assert_eq!(csv(&results.fixed_at_start).lines().nth(1), Some("1,1,100.00,10.000,50.0,0.010000,0.020000"));
        assert!(results.chart().starts_with("<svg"));

        // One bad moment does not count.
        let mut repeated = point(1, 1, 100);
        repeated.add(Sample { queries: 20, seconds: 1.0, ..Sample::default() });
        repeated.add(Sample { queries: 104, seconds: 1.0, ..Sample::default() });
        repeated.add(Sample { queries: 110, seconds: 1.0, ..Sample::default() });
        assert_eq!(repeated.qps(), 102.0);
    }
}
