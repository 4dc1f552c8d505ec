//! One measurement: a number of clients send one query over and over for some seconds, and the machine's CPU load is watched.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use squall_types::{Error, ErrorCode, Result};
use tokio::io::AsyncWriteExt;

use crate::load::{CpuTicks, Endpoint, Load, Statement, Stream};
use crate::process::find_program;
use crate::scratch::Scratch;
use crate::server::Server;

/// What clickhouse-benchmark says where no query was answered.
const NOTHING_TO_REPORT: &str = "empty ReservoirSampler";
/// It is tried again with more time up to about this many seconds.
const SECONDS_MAX: f64 = 30.0;

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(600);

/// What sends the queries.
#[derive(Debug, Clone)]
pub enum Tool {
    /// Debian's program.
    ClickHouseBenchmark(PathBuf),
    /// This program.
    Own,
}

/// What one measurement found.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sample {
    /// Queries that were answered.
    pub queries: u64,
    /// The time they took.
    pub seconds: f64,
    /// The latency that half of the queries did not exceed, in seconds.
    pub median_seconds: f64,
    /// The latency that 99 % did not exceed.
    pub p99_seconds: f64,
    /// Time that the CPUs worked, client included, and time that there was, in ticks of all CPUs.
    pub busy_ticks: u64,
    /// See `busy_ticks`.
    pub all_ticks: u64,
}

impl Tool {
    /// Debian's program where it is installed.
    pub fn installed() -> Self {
        find_program("clickhouse-benchmark").map_or(Tool::Own, Tool::ClickHouseBenchmark)
    }

    /// What to call it.
    pub fn name(&self) -> &'static str {
        match self {
            Tool::ClickHouseBenchmark(_) => "clickhouse-benchmark",
            Tool::Own => "squall benchmark",
        }
    }

    /// Sends `query` from `clients` connections for `seconds`.
    ///
    /// # Errors
    /// The first query that fails.
    pub async fn measure(
        &self,
        server: &Server,
        query: &str,
        clients: usize,
        max_threads: u32,
        seconds: f64,
        scratch: &Scratch,
    ) -> Result<Sample> {
        let before = CpuTicks::now();
        let mut sample = match self {
            Tool::ClickHouseBenchmark(program) => {
                let json = scratch.file("benchmark.json");
                let mut seconds = seconds;
                loop {
                    let mut command = tokio::process::Command::new(program);
                    command
                        .args(["--host=127.0.0.1", "--delay=0"])
                        .arg(format!("--port={}", server.port()))
                        .arg(format!("--concurrency={clients}"))
                        .arg(format!("--timelimit={seconds}"))
                        .arg(format!("--max_threads={max_threads}"))
                        .arg("--json")
                        .arg(&json);
                    match run_tool(command, query).await {
                        Ok(()) => break,
                        // Where no query ends in the time, the program has nothing to report.
                        Err(error) if error.message.contains(NOTHING_TO_REPORT) && seconds < SECONDS_MAX => {
                            seconds *= 3.0
                        }
                        Err(error) => return Err(error),
                    }
                }
                read_report(&json)?
            }
            Tool::Own => {
                let mut endpoint = Endpoint::native(server.port());
                endpoint.settings = vec![("max_threads".to_owned(), max_threads.to_string())];
                let stream = Stream::closed(endpoint, Statement::query("all", query), clients);
                let mut load = Load::new(vec![stream], Duration::from_secs_f64(seconds));
                load.failures_max = Some(1);
                load.timeout = PATIENCE;
                let total = load.run().await?.total();
                if let Some(failed) = total.failed.values().next() {
                    return Err(Error::new(ErrorCode::INCORRECT_DATA, failed.example.clone()));
                }
                Sample {
                    queries: total.answers(),
                    seconds: total.elapsed.as_secs_f64(),
                    median_seconds: total.percentile_seconds(50.0),
                    p99_seconds: total.percentile_seconds(99.0),
                    ..Sample::default()
                }
            }
        };
        let worked = CpuTicks::now().since(before);
        (sample.busy_ticks, sample.all_ticks) = (worked.busy, worked.all);
        if sample.queries == 0 {
            return Err(Error::new(ErrorCode::TOO_SLOW, format!("{} answered no query in {seconds} s", server.name())));
        }
        Ok(sample)
    }
}

/// Runs clickhouse-benchmark with the query on its standard input. Dropped halfway, the process is killed.
async fn run_tool(mut command: tokio::process::Command, query: &str) -> Result<()> {
    let failed =
        |what: String| Error::new(ErrorCode::CANNOT_READ_FROM_ISTREAM, format!("clickhouse-benchmark: {what}"));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut process = command.spawn().map_err(|error| failed(error.to_string()))?;
    if let Some(mut input) = process.stdin.take() {
        input.write_all(format!("{query}\n").as_bytes()).await.map_err(|error| failed(error.to_string()))?;
    }
    let output = process.wait_with_output().await.map_err(|error| failed(error.to_string()))?;
    if output.status.success() { Ok(()) } else { Err(failed(String::from_utf8_lossy(&output.stderr).into_owned())) }
}

/// Reads the file that `clickhouse-benchmark --json` wrote.
fn read_report(path: &std::path::Path) -> Result<Sample> {
    let text = fs::read_to_string(path).map_err(|error| Error::new(ErrorCode::CANNOT_OPEN_FILE, error.to_string()))?;
    let report: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| Error::new(ErrorCode::INCORRECT_DATA, format!("clickhouse-benchmark's report: {error}")))?;
    let statistic = |name: &str| report["statistics"][name].as_f64().unwrap_or(0.0);
    let percentile = |name: &str| report["query_time_percentiles"][name].as_f64().unwrap_or(0.0);
    let queries = statistic("num_queries");
    Ok(Sample {
        queries: queries as u64,
        seconds: queries / statistic("QPS").max(1e-9),
        median_seconds: percentile("50"),
        p99_seconds: percentile("99"),
        ..Sample::default()
    })
}
