//! `squall storm experiment`: the experiment of the `total_max_threads` proposal, on real servers that it starts, fills, measures and stops.
//! This file tells its story; `load` fills tables, `measure` takes one point, `requests` counts small ones, `results` shows them.

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
/// `max_threads` of part b, in which `total_max_threads` varies.
const MAX_THREADS_OF_B: u32 = 16;
/// Before anything is measured, the query runs this often: columns are decoded, caches filled.
const WARM_UP_QUERIES: usize = 5;

/// Rounds in which all points are measured; in the others only the fine ones are.
const COARSE_ROUNDS: u32 = 2;

/// Run the experiment that total_max_threads was asked for with: how many queries a second for each max_threads, with 1 and with 20
/// clients, under each policy, and on ClickHouse where it is installed. Servers run on free local ports with data in a scratch folder, and are
/// stopped at the end.
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
    /// How often each point of the default policy with 20 clients is measured, in rounds over all points, so that a noisy moment of the
    /// machine does not fall on one of them; the mean of the middle half counts. All other points are measured twice.
    #[arg(long, default_value_t = 13, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// The values of max_threads.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8,16,24,32,64,96")]
    max_threads: Vec<u32>,
    /// The values of total_max_threads in part b.
    #[arg(long, value_delimiter = ',', default_value = "8,12,16,24,32,64")]
    total_max_threads: Vec<i64>,
    /// Program of the server under test; this program without it.
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Do not measure ClickHouse, also where clickhouse-server is installed.
    #[arg(long)]
    no_clickhouse: bool,
    /// Send the queries from this program also where clickhouse-benchmark is installed.
    #[arg(long)]
    own_benchmark: bool,
    /// Folder in which the scratch folder is made; the system's folder for temporary files without it.
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

/// What is measured in one place: a server and a column of a results' table.
struct Series<'a> {
    server: &'a Server,
    points: &'a mut Vec<Point>,
    /// The points with 20 clients are told apart by a few percent, so they are measured in every round.
    is_fine: bool,
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
        let fixed = squall_server(&squall, "fixed_at_start", 0);
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
        if let Some(clickhouse) = &clickhouse {
            self.load(clickhouse).await?;
            load::compare(&server, clickhouse).await?;
        }

        // a) The document's first three tables.
        let points = self.args.max_threads.clone();
        let mut a = Vec::new();
        self.heading("a) fixed_at_start, no total_max_threads");
        warm_up(&server).await?;
        self.sweep(&points, &mut [Series { server: &server, points: &mut a, is_fine: false }]).await?;
        server.stop()?;
        self.results.fixed_at_start = a;

        // b) Its fourth.
        self.heading("b) fixed_at_start, max_threads = 16, by total_max_threads");
        self.progress.set_length((self.args.total_max_threads.len() * CLIENTS.len()) as u64);
        let seconds = self.args.seconds * f64::from(self.coarse_rounds());
        for &total_max_threads in &self.args.total_max_threads.clone() {
            let kind = squall_server(&squall, "fixed_at_start", total_max_threads);
            let server = self.start(&kind, "squall").await?;
            warm_up(&server).await?;
            for clients in CLIENTS {
                self.progress.set_message(format!("total_max_threads {total_max_threads}, {clients} clients"));
                let sample =
                    self.tool.measure(&server, QUERY, clients, MAX_THREADS_OF_B, seconds, &self.scratch).await?;
                self.results.total_max_threads.push((total_max_threads, Point::new(MAX_THREADS_OF_B, clients, sample)));
                self.progress.inc(1);
            }
            server.stop()?;
        }

        // c) The default policy, beside ClickHouse: point by point, so that both meet the same noise.
        let kind = squall_server(&squall, "stride", 0);
        let server = self.start(&kind, "squall").await?;
        let beside = if clickhouse.is_some() { ", beside ClickHouse" } else { "" };
        self.heading(&format!("c) stride, the default policy{beside}"));
        warm_up(&server).await?;
        let (mut c, mut peer) = (Vec::new(), Vec::new());
        let mut series = vec![Series { server: &server, points: &mut c, is_fine: true }];
        if let Some(clickhouse) = &clickhouse {
            warm_up(clickhouse).await?;
            self.results.peer = Some(clickhouse.name().to_owned());
            series.push(Series { server: clickhouse, points: &mut peer, is_fine: false });
        }
        self.sweep(&points, &mut series).await?;
        (self.results.stride, self.results.clickhouse) = (c, peer);

        // Requests that need no work, on the same servers.
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

    /// How often a point is measured that needs no fine figure.
    fn coarse_rounds(&self) -> u32 {
        COARSE_ROUNDS.min(self.args.rounds)
    }

    /// Measures every series at every point, in rounds.
    async fn sweep(&self, max_threads: &[u32], series: &mut [Series<'_>]) -> Result<()> {
        let [single, crowd] = CLIENTS;
        let samples = |series: &Series<'_>| {
            self.coarse_rounds() + if series.is_fine { self.args.rounds } else { self.coarse_rounds() }
        };
        let all: u32 = series.iter().map(samples).sum();
        self.progress.set_length(u64::from(all) * max_threads.len() as u64);
        for round in 0..self.args.rounds {
            let is_coarse = round < self.coarse_rounds();
            // Each round begins at another point: what comes and goes with the rounds does not stay with one of them.
            let (first, rest) = max_threads.split_at(round as usize % max_threads.len().max(1));
            for clients in [single, crowd] {
                for &max_threads in rest.iter().chain(first) {
                    for Series { server, points, is_fine } in &mut *series {
                        let is_due = is_coarse || *is_fine && clients == crowd;
                        if !is_due {
                            continue;
                        }
                        let clients_are = if clients == 1 { "client" } else { "clients" };
                        self.progress.set_message(format!(
                            "round {}: {}, {clients} {clients_are}, max_threads {max_threads}",
                            round + 1,
                            server.name()
                        ));
                        let seconds = self.args.seconds;
                        let sample =
                            self.tool.measure(server, QUERY, clients, max_threads, seconds, &self.scratch).await?;
                        match points.iter_mut().find(|point| point.is(max_threads, clients)) {
                            Some(point) => point.add(sample),
                            None => points.push(Point::new(max_threads, clients, sample)),
                        }
                        self.progress.inc(1);
                    }
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
