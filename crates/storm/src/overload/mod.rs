//! `squall storm overload`: what is left of a server's throughput, and of the latency of those it serves, when more is asked of it than
//! it can do.

use std::path::PathBuf;
use std::time::Duration;

use squall_types::{Error, ErrorCode, Result};

use crate::file_error::file_error;
use crate::load::{Endpoint, Gaps, Load, Measurement, Order, Outcome, Pace, Statement, Stream};
use crate::scratch::Scratch;
use crate::server::{Kind, Server};
use squall_native::FailureKind;

/// About two milliseconds of work for one CPU.
const QUERY: &str = "SELECT sum(sipHash64(number)) FROM numbers(1000000)";
/// Connections that find out what the server can do, one request after the other on each.
const CLOSED_CONNECTIONS: usize = 8;
/// Loads, in shares of what the server can do.
const LOADS: [f64; 5] = [0.5, 0.9, 1.2, 2.0, 3.0];
/// A client that has no answer by then goes away.
const PATIENCE: Duration = Duration::from_secs(1);
/// In the first seconds of a load the server finds its limit.
const WARM_UP: Duration = Duration::from_secs(4);
/// How a server says that it runs as many queries as it may.
const TOO_MANY: FailureKind = FailureKind::Exception(ErrorCode::TOO_MANY_SIMULTANEOUS_QUERIES.0);
/// The most connections.
const CONNECTIONS_MAX: usize = 3_000;

/// Measure servers under overload: up to three times the requests that they can carry.
///
/// Requests come at their rate whether the server keeps up or not, and clients go away after a second. Compares Squall with
/// max_concurrent_queries = auto, Squall without a limit, and ClickHouse where it is installed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder for the table (CSV).
    #[arg(long, value_name = "DIR", default_value = "storm-results")]
    output: PathBuf,
    /// Seconds for which each load is measured.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Program of the server under test [default: this program].
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Do not measure ClickHouse, also where clickhouse-server is installed.
    #[arg(long)]
    no_clickhouse: bool,
}

/// Runs `squall storm overload`. Its servers are stopped when it returns.
///
/// # Errors
/// A server that does not start or answer, a folder that cannot be written.
pub fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string()))?;
    runtime.block_on(measure(args))
}

async fn measure(args: &Args) -> Result<()> {
    std::fs::create_dir_all(&args.output).map_err(|error| file_error(&args.output, &error))?;
    let squall =
        args.server.clone().map_or_else(std::env::current_exe, Ok).map_err(|error| file_error(&args.output, &error))?;
    let with_limit = |limit: &str| Kind::Squall {
        program: squall.clone(),
        settings: vec![("max_concurrent_queries", limit.to_owned())],
    };
    let mut servers = vec![("Squall, auto", with_limit("auto")), ("Squall, no limit", with_limit("0"))];
    if !args.no_clickhouse
        && let Some(clickhouse) = Kind::installed_clickhouse()
    {
        servers.push(("ClickHouse", clickhouse));
    }
    let scratch = Scratch::new(None)?;
    let mut csv = "server,load,offered_per_second,goodput_per_second,refused_per_second,late_per_second,failed_per_second,p50_ms,p99_ms,refusal_p99_ms\n".to_owned();
    println!(
        "{QUERY}\nover HTTP; {} CPUs, which the clients share; an answer counts that comes in {PATIENCE:?}\n",
        std::thread::available_parallelism().map_or(1, usize::from)
    );
    for (name, kind) in servers {
        let target = format!("/?query={}", QUERY.replace(' ', "+"));
        let server = Server::start(&kind, &scratch.folder(&name.replace([' ', ','], ""))?).await?;
        let capacity = closed_loop(server.http_port(), &target).await?;
        server.stop()?;
        println!("{name}: carries {capacity:.0} queries a second");
        println!(
            "  load  offered/s  goodput/s  of the best  refused/s   late/s  failed/s    p50 ms    p99 ms  p99 of a refusal"
        );
        let mut outcomes = Vec::new();
        for load in LOADS {
            // Each load meets a fresh server, without what an earlier one left behind.
            let server = Server::start(&kind, &scratch.folder(&name.replace([' ', ','], ""))?).await?;
            let outcome = open_loop(server.http_port(), &target, capacity * load, args.seconds).await?;
            outcomes.push((load, Figures::new(&outcome.total(), args.seconds as f64)));
            // One that still works on what nobody waits for need not end by itself.
            drop(server);
        }
        let best = outcomes.iter().map(|(_, figures)| figures.goodput()).fold(0.0, f64::max).max(1e-9);
        for (load, figures) in &outcomes {
            println!("{}", figures.line(*load, figures.goodput() / best));
            csv += &figures.csv_row(name, *load);
        }
        println!();
    }
    let file = args.output.join("overload.csv");
    std::fs::write(&file, csv).map_err(|error| file_error(&file, &error))?;
    println!("Written to {}", file.display());
    Ok(())
}

/// Requests a second that the server answers to clients who ask again when they have their answer.
async fn closed_loop(port: u16, target: &str) -> Result<f64> {
    let stream = Stream::closed(Endpoint::http(port), Statement::path("all", target), CLOSED_CONNECTIONS);
    let total = Load::new(vec![stream], Duration::from_secs(3)).run().await?.total();
    match total.failed.values().next() {
        None => Ok(total.rate()),
        Some(failed) => Err(Error::new(ErrorCode::INCORRECT_DATA, failed.example.clone())),
    }
}

/// Requests that come at a rate.
async fn open_loop(port: u16, target: &str, rate: f64, seconds: u64) -> Result<Outcome> {
    let stream = Stream {
        pace: Pace::Open { rate, gaps: Gaps::Poisson, connections_max: CONNECTIONS_MAX },
        endpoints: vec![Endpoint::http(port)],
        statements: vec![Statement::path("all", target)],
        order: Order::Weighted,
    };
    let load = Load {
        warm_up: WARM_UP,
        timeout: PATIENCE,
        // One process plays all clients; a second thread would take the server's CPU while it waits for its turn.
        threads: Some(1),
        ..Load::new(vec![stream], Duration::from_secs(seconds))
    };
    load.run().await
}

/// The figures of a load: rates of requests a second by their fate, and latencies in milliseconds.
struct Figures {
    /// Offered, answered, refused, late, failed.
    rates: [f64; 5],
    /// Half of the answers, 99 % of them, 99 % of the refusals.
    latencies_ms: [f64; 3],
}

impl Figures {
    fn new(measured: &Measurement, seconds: f64) -> Self {
        let refused = measured.failures_of(TOO_MANY);
        let late = measured.failures_of(FailureKind::Timeout);
        let failed = measured.failures() - refused - late;
        let offered = measured.answers() + measured.failures();
        let latencies = [
            measured.percentile_seconds(50.0),
            measured.percentile_seconds(99.0),
            measured.failure_percentile_seconds(TOO_MANY, 99.0),
        ];
        Self {
            rates: [offered, measured.answers(), refused, late, failed].map(|count| count as f64 / seconds),
            latencies_ms: latencies.map(|seconds| seconds * 1e3),
        }
    }

    /// Answers a second.
    fn goodput(&self) -> f64 {
        self.rates[1]
    }

    /// A line of the table; `share` is that of the best load's goodput.
    fn line(&self, load: f64, share: f64) -> String {
        let [offered, answered, refused, late, failed] = self.rates;
        let [p50_ms, p99_ms, refusal_p99_ms] = self.latencies_ms;
        let share = 100.0 * share;
        format!(
            "{load:>6.1}  {offered:>9.0}  {answered:>9.0}  {share:>9.1} %  {refused:>9.0}  {late:>7.0}  {failed:>8.0}  \
             {p50_ms:>8.1}  {p99_ms:>8.1}  {refusal_p99_ms:>13.1} ms"
        )
    }

    fn csv_row(&self, name: &str, load: f64) -> String {
        let rates = self.rates.map(|rate| format!("{rate:.1}")).join(",");
        let latencies = self.latencies_ms.map(|latency_ms| format!("{latency_ms:.3}")).join(",");
        format!("\"{name}\",{load},{rates},{latencies}\n")
    }
}
