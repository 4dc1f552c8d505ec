//! `squall storm experiment`: queries a second by `max_threads` and `total_max_threads`, on real servers that it starts, fills, measures and stops.
//! This file tells its story; `load` fills tables, `measure` takes one point, `requests` counts small ones,
//! `results` shows them, `gain` tells what is gained over the best fixed number of threads.

mod gain;
mod load;
mod measure;
mod requests;
mod results;

use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use squall_types::{Error, ErrorCode, Result};

use crate::datagen::{HITS_V1_ROWS, Hits};
use crate::scratch::Scratch;
use crate::server::{Kind, Server};
use measure::Tool;
use requests::{HTTP_CONNECTIONS, REQUESTS, RequestTool};
use results::{Point, Results, SmallRequest};

/// The query of the experiment.
const QUERY: &str = "select count(ClientIP) as total, ResolutionWidth from datasets.hits_v1 group by ResolutionWidth order by total desc limit 100";
/// The numbers of clients.
const CLIENTS: [usize; 2] = [1, 20];
/// The document's values of `total_max_threads`, in part b.
const TOTAL_MAX_THREADS: [i64; 6] = [8, 12, 16, 24, 32, 64];
/// `max_threads` of part b, in which `total_max_threads` varies.
const MAX_THREADS_OF_B: u32 = 16;
/// Before anything is measured, the query runs this often: columns are decoded, caches filled.
const WARM_UP_QUERIES: usize = 5;

/// Rounds in which the peer and small requests are measured, of whom no fine figure is wanted.
const COARSE_ROUNDS: u32 = 2;

/// Show that nobody needs to tune max_threads: queries a second for each value of it.
///
/// Measures one aggregation with 1 and with 20 clients, under each scheduling policy, and on ClickHouse where it is installed. Starts
/// servers on free local ports with data in a scratch folder, and stops them at the end.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder for the tables (CSV), the chart (SVG) and the summary.
    #[arg(long, value_name = "DIR", default_value = "storm-results")]
    output: PathBuf,
    /// Rows of datasets.hits_v1.
    #[arg(long, default_value_t = HITS_V1_ROWS)]
    rows: u64,
    /// Seed of the generated rows.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Seconds of one measurement.
    #[arg(long, default_value_t = 2.0, value_parser = parse_seconds)]
    seconds: f64,
    /// How often each of Squall's points is measured, in rounds over all points, so that a noisy moment of the machine does not fall on one
    /// of them; the mean of the middle half counts. ClickHouse's points are measured twice.
    #[arg(long, default_value_t = 13, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// The values of max_threads.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8,16,24,32,64,96")]
    max_threads: Vec<u32>,
    /// The values of total_max_threads in part b; by default 8,12,16,24,32,64, the number of CPUs and twice that.
    #[arg(long, value_delimiter = ',')]
    total_max_threads: Vec<i64>,
    /// Program of the server under test [default: this program].
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Do not measure ClickHouse, also where clickhouse-server is installed.
    #[arg(long)]
    no_clickhouse: bool,
    /// Send the queries from this program also where clickhouse-benchmark is installed.
    #[arg(long)]
    own_benchmark: bool,
    /// Folder for scratch data [default: the system's folder for temporary files].
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.05..=600.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected a number from 0.05 to 600".to_owned()),
    }
}

/// Runs `squall storm experiment`. Every server that it starts is stopped when it returns, also on an error, Ctrl-C and SIGTERM.
///
/// # Errors
/// A server that does not start or answer, a folder that cannot be written, an interruption.
pub fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string()))?;
    runtime.block_on(async {
        let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
            .map_err(|error| Error::logical(error.to_string()))?;
        // Dropping the experiment stops its servers and removes its scratch folder.
        tokio::select! {
            outcome = Experiment::new(args)?.run() => outcome,
            _ = tokio::signal::ctrl_c() => Err(interrupted()),
            _ = terminate.recv() => Err(interrupted()),
        }
    })
}

fn interrupted() -> Error {
    Error::new(ErrorCode::ABORTED, "Interrupted; every server was stopped")
}

struct Experiment<'a> {
    args: &'a Args,
    scratch: Scratch,
    tool: Tool,
    progress: ProgressBar,
    results: Results,
}

/// A configuration of Squall's, and what was measured with it.
struct Part {
    name: &'static str,
    policy: &'static str,
    total: i64,
    max_threads: Vec<u32>,
    points: Vec<Point>,
}

impl Part {
    fn new(name: &'static str, policy: &'static str, total: i64, max_threads: &[u32]) -> Self {
        Self { name, policy, total, max_threads: max_threads.to_vec(), points: Vec::new() }
    }

    fn server(&self, program: &Path) -> Kind {
        squall_server(program, self.policy, self.total)
    }
}

impl<'a> Experiment<'a> {
    fn new(args: &'a Args) -> Result<Self> {
        std::fs::create_dir_all(&args.output).map_err(|error| {
            Error::new(ErrorCode::CANNOT_CREATE_DIRECTORY, format!("{}: {error}", args.output.display()))
        })?;
        let scratch = Scratch::new(args.scratch.as_deref())?;
        let tool = if args.own_benchmark { Tool::Own } else { Tool::installed() };
        let progress = ProgressBar::no_length();
        if let Ok(style) = ProgressStyle::with_template("{elapsed_precise} {bar:30} {pos}/{len} {msg}") {
            progress.set_style(style);
        }
        Ok(Experiment { args, scratch, tool, progress, results: Results::new(args.rows, args.seconds, args.rounds) })
    }

    async fn run(mut self) -> Result<()> {
        let squall = self.args.server.clone().map_or_else(std::env::current_exe, Ok);
        let squall = squall.map_err(|error| Error::new(ErrorCode::CANNOT_OPEN_FILE, error.to_string()))?;
        self.results.tool = self.tool.name().to_owned();

        let clickhouse = self.start_clickhouse().await?;
        self.start_and_load(&squall, clickhouse.as_ref()).await?;
        self.measure_parts(&squall, clickhouse.as_ref()).await?;

        // Requests that need no work.
        let server = self.start(&squall_server(&squall, "stride", 0), "squall").await?;
        warm_up(&server).await?;
        let mut servers = vec![&server];
        servers.extend(&clickhouse);
        self.small_requests(&servers).await?;
        server.stop()?;
        if let Some(clickhouse) = clickhouse {
            clickhouse.stop()?;
        }
        self.progress.finish_and_clear();

        println!("{}", self.results);
        let written = self.results.write(&self.args.output)?;
        println!("Written to {}: {}", self.args.output.display(), written.join(", "));
        Ok(())
    }

    /// Notes how Squall starts and what it takes while it is idle, and loads the rows into it and into ClickHouse.
    async fn start_and_load(&mut self, squall: &Path, clickhouse: Option<&Server>) -> Result<()> {
        let fixed = squall_server(squall, "fixed_at_start", 0);
        let server = self.start(&fixed, "squall").await?;
        (self.results.cold_start, self.results.idle) = (server.started_in(), server.memory());
        self.say(format!(
            "{} answered {:.0} ms after it was started; idle it takes {:.0} MB and {} threads",
            server.name(),
            server.started_in().as_secs_f64() * 1e3,
            server.memory().resident_bytes as f64 / 1e6,
            server.memory().threads
        ));
        self.load(&server).await?;
        if let Some(clickhouse) = clickhouse {
            self.load(clickhouse).await?;
            load::compare(&server, clickhouse).await?;
        }
        server.stop()
    }

    /// Measures what the document's tables are about, round by round.
    async fn measure_parts(&mut self, squall: &Path, clickhouse: Option<&Server>) -> Result<()> {
        // The document's tables: a) the first three, b) the fourth, and c) the default policy, beside ClickHouse.
        let mut parts: Vec<Part> = vec![Part::new("a", "fixed_at_start", 0, &self.args.max_threads)];
        let budgets = self.budgets();
        parts.extend(budgets.iter().map(|total| Part::new("b", "fixed_at_start", *total, &[MAX_THREADS_OF_B])));
        parts.push(Part::new("c", "stride", 0, &self.args.max_threads));
        let mut peer_points = Vec::new();
        if let Some(clickhouse) = clickhouse {
            warm_up(clickhouse).await?;
            self.results.peer = Some(clickhouse.name().to_owned());
        }
        let samples: usize = parts.iter().map(|part| part.max_threads.len() * CLIENTS.len()).sum();
        let of_peer = usize::from(clickhouse.is_some()) * self.args.max_threads.len() * CLIENTS.len();
        self.heading(
            "a) fixed_at_start by max_threads, b) by total_max_threads, c) stride, the default policy, by max_threads",
        );
        let length = samples as u64 * u64::from(self.args.rounds) + of_peer as u64 * u64::from(self.coarse_rounds());
        self.progress.set_length(length);
        for round in 0..self.args.rounds {
            // Each round begins at another part, and at another point of each: what comes and goes with the rounds stays with none of them.
            let places = (0..parts.len()).map(|at| (at + round as usize) % parts.len()).collect::<Vec<_>>();
            for at in places {
                let part = &mut parts[at];
                let server = self.start(&part.server(squall), "squall").await?;
                warm_up(&server).await?;
                let peer = clickhouse.filter(|_| part.name == "c" && round < self.coarse_rounds());
                let mut series = vec![(&server, &mut part.points)];
                series.extend(peer.map(|clickhouse| (clickhouse, &mut peer_points)));
                self.measure_round(round, &part.max_threads, &mut series).await?;
                server.stop()?;
            }
        }
        for part in parts {
            match part.name {
                "a" => self.results.fixed_at_start = part.points,
                "b" => self.results.total_max_threads.extend(part.points.into_iter().map(|point| (part.total, point))),
                _ => self.results.stride = part.points,
            }
        }
        self.results.clickhouse = peer_points;
        Ok(())
    }

    async fn start_clickhouse(&self) -> Result<Option<Server>> {
        let kind = match Kind::installed_clickhouse() {
            _ if self.args.no_clickhouse => return Ok(None),
            Some(kind) => kind,
            None => {
                self.say("clickhouse-server is not installed: Squall is measured alone");
                return Ok(None);
            }
        };
        let server = self.start(&kind, "clickhouse").await?;
        self.say(format!(
            "{} answered {:.0} ms after it was started",
            server.name(),
            server.started_in().as_secs_f64() * 1e3
        ));
        Ok(Some(server))
    }

    async fn start(&self, kind: &Kind, folder: &str) -> Result<Server> {
        Server::start(kind, &self.scratch.folder(folder)?).await
    }

    async fn load(&self, server: &Server) -> Result<()> {
        let hits = Hits::new(self.args.seed, self.args.rows);
        self.progress.reset();
        self.progress.set_length(hits.chunks());
        self.progress.set_message(format!("chunks into {}", server.name()));
        let took = load::load(server, hits, &self.progress).await?;
        self.say(format!(
            "Loaded {} rows of 105 columns into {} in {:.1} s, with {:.1} s of its CPU time",
            self.args.rows,
            server.name(),
            took.elapsed.as_secs_f64(),
            took.cpu.as_secs_f64()
        ));
        Ok(())
    }

    /// The values of `total_max_threads`, ascending.
    fn budgets(&self) -> Vec<i64> {
        if !self.args.total_max_threads.is_empty() {
            return self.args.total_max_threads.clone();
        }
        let cpus = i64::try_from(results::cpus()).unwrap_or(i64::MAX / 2);
        let mut budgets = [&TOTAL_MAX_THREADS[..], &[cpus, 2 * cpus]].concat();
        budgets.sort_unstable();
        budgets.dedup();
        budgets
    }

    /// How often a point is measured that needs no fine figure.
    fn coarse_rounds(&self) -> u32 {
        COARSE_ROUNDS.min(self.args.rounds)
    }

    /// Measures every point of each server once, one server after the other at each point.
    async fn measure_round(
        &self,
        round: u32,
        max_threads: &[u32],
        series: &mut [(&Server, &mut Vec<Point>)],
    ) -> Result<()> {
        let (first, rest) = max_threads.split_at(round as usize % max_threads.len().max(1));
        for clients in CLIENTS {
            for &max_threads in rest.iter().chain(first) {
                for (server, points) in &mut *series {
                    let clients_are = if clients == 1 { "client" } else { "clients" };
                    self.progress.set_message(format!(
                        "round {}: {}, {clients} {clients_are}, max_threads {max_threads}",
                        round + 1,
                        server.name()
                    ));
                    let seconds = self.args.seconds;
                    let sample = self.tool.measure(server, QUERY, clients, max_threads, seconds, &self.scratch).await?;
                    match points.iter_mut().find(|point| point.is(max_threads, clients)) {
                        Some(point) => point.add(sample),
                        None => points.push(Point::new(max_threads, clients, sample)),
                    }
                    self.progress.inc(1);
                }
            }
        }
        Ok(())
    }

    /// Measures how many requests a second each server answers that cost it next to nothing.
    async fn small_requests(&mut self, servers: &[&Server]) -> Result<()> {
        let rounds = self.coarse_rounds();
        self.heading(&format!("small requests over HTTP, {HTTP_CONNECTIONS} connections"));
        self.progress.set_length((REQUESTS.len() * servers.len()) as u64 * u64::from(rounds));
        let tool = if self.args.own_benchmark { RequestTool::Own } else { RequestTool::installed() };
        let mut measured = REQUESTS.map(|(name, _)| SmallRequest { name, rates: vec![(0, 0.0); servers.len()] });
        for _ in 0..rounds {
            for (request, (name, target)) in measured.iter_mut().zip(REQUESTS) {
                for (server, rate) in servers.iter().zip(&mut request.rates) {
                    self.progress.set_message(format!("{name}, {}", server.name()));
                    let (responses, seconds) = tool.measure(server, target, self.args.seconds).await?;
                    *rate = (rate.0 + responses, rate.1 + seconds);
                    self.progress.inc(1);
                }
            }
        }
        self.results.request_tool = tool.name().to_owned();
        self.results.small_requests = measured.into();
        Ok(())
    }

    fn heading(&self, text: &str) {
        self.say(text);
        self.progress.reset();
    }

    /// Prints a line above the progress bar, or as it is where there is no terminal.
    fn say(&self, text: impl AsRef<str>) {
        if self.progress.is_hidden() {
            println!("{}", text.as_ref());
        } else {
            self.progress.println(text);
        }
    }
}

async fn warm_up(server: &Server) -> Result<()> {
    let mut connection = server.connect().await?;
    for _ in 0..WARM_UP_QUERIES {
        connection.ask(QUERY).await?;
    }
    Ok(())
}

/// Squall with the two settings that the experiment varies; 0 leaves `total_max_threads` out.
fn squall_server(program: &Path, policy: &str, total_max_threads: i64) -> Kind {
    let mut settings = vec![("concurrent_threads_scheduler", policy.to_owned())];
    if total_max_threads != 0 {
        settings.push(("total_max_threads", total_max_threads.to_string()));
    }
    Kind::Squall { program: program.to_owned(), settings }
}
