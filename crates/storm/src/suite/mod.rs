//! `squall storm suite`: scenarios from files, measured step by step on servers that it starts, or that are up. This file tells its story;
//! `scenario` reads the files, `plan` says what is measured, `peer` starts servers and makes their data, `nginx` what stands before them, `row` is what
//! one of them gave, `results` keeps the rows, `summary` shows them.

mod nginx;
mod peer;
mod plan;
pub mod results;
pub mod row;
mod scenario;
mod summary;
mod values;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use indicatif::{ProgressBar, ProgressStyle};
use squall_types::{Error, ErrorCode, Result};

use crate::file_error::file_error;
use crate::load::{Endpoint, Expectation, Gaps, Limit, Load, Order, Pace, Statement, Stream, Wire};
use peer::{Peer, Target};
use plan::{Stage, Step, Wish};
use results::Results;
use row::{BESIDE, MEASURED, Row};
use scenario::{Query, Scenario, Variant};
use values::{Values, fill};

/// Where the scenarios are that come with Squall, beside the program's sources.
const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios");
/// The file of results in the output folder.
const RESULTS: &str = "results.csv";
/// The file beside it that says where and how they were measured.
pub const ABOUT: &str = "about.txt";
/// A client waits this long for an answer where the scenario does not say otherwise, as the published suite has it.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The part of a step that does not count.
const WARM_UP: f64 = 0.1;
/// Before an open loop counts, the server may find its limit.
const OPEN_WARM_UP: Duration = Duration::from_secs(2);
/// The most connections of an open loop.
const OPEN_CONNECTIONS_MAX: usize = 3_000;

/// Run the stress suite: every scenario at every number of clients, on each server, into one CSV.
///
/// Servers are started with each scenario's configuration and data, and stopped. What was measured before in the same folder is not measured
/// again: an interrupted suite goes on. Logs and configuration of every server stay beside the results.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  squall storm suite --short
  squall storm suite --only select_1 --server squall --server clickhouse --rounds 3
  squall storm suite --scenarios ./my-scenarios --server 'prod=http://db1:8123,tcp://db1:9000'

A scenario is a folder with scenario.toml and, where it needs them, setup.sql, config.d/*.xml and users.d/*.xml; those that come with
Squall, and a README, are in crates/storm/scenarios.")]
pub struct Args {
    /// Folder of scenarios
    #[arg(long, value_name = "DIR", default_value = SHIPPED, hide_default_value = true)]
    scenarios: PathBuf,
    /// Only scenarios whose name contains this, with the values of their matrix in it; several are any of them
    #[arg(long, value_name = "TEXT", value_delimiter = ',')]
    only: Vec<String>,
    /// A server: squall, clickhouse (where it is installed), or one that is up; without it Squall and ClickHouse
    #[arg(long = "server", value_name = "squall|clickhouse|NAME=URL[,URL]")]
    servers: Vec<String>,
    /// The program of the Squall under test; this one without it
    #[arg(long, value_name = "FILE")]
    squall: Option<PathBuf>,
    /// Folder for results, logs and configuration
    #[arg(long, value_name = "DIR", default_value = "storm-results")]
    output: PathBuf,
    /// The short form: fewer steps of a second each, on less data
    #[arg(long)]
    short: bool,
    /// Seconds of a step, whatever the scenarios say
    #[arg(long, value_parser = parse_positive)]
    seconds: Option<f64>,
    /// Numbers of clients, whatever the scenarios say
    #[arg(long, value_delimiter = ',')]
    concurrency: Option<Vec<usize>>,
    /// What the scenarios' numbers of rows are multiplied by; 0.05 in the short form
    #[arg(long, value_parser = parse_positive)]
    scale: Option<f64>,
    /// How often everything is measured: storm compare needs more than once
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Begin anew, also where there are results
    #[arg(long)]
    fresh: bool,
    /// Say what would be measured, and how long it takes
    #[arg(long)]
    list: bool,
}

fn parse_positive(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|&number| number > 0.0 && number < 1e6)
        .ok_or_else(|| "expected a number above 0".to_owned())
}

/// Runs `squall storm suite`. Every server that it starts is stopped when it returns, also on an error, Ctrl-C and SIGTERM.
///
/// # Errors
/// Scenarios that cannot be read, a folder that cannot be written, an interruption. What a server lacks is said and left out.
pub fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string()))?;
    runtime.block_on(async {
        let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
            .map_err(|error| Error::logical(error.to_string()))?;
        // Dropping the suite stops its servers.
        tokio::select! {
            outcome = async { Suite::new(args)?.run().await } => outcome,
            _ = tokio::signal::ctrl_c() => Err(interrupted()),
            _ = terminate.recv() => Err(interrupted()),
        }
    })
}

fn interrupted() -> Error {
    Error::new(
        ErrorCode::ABORTED,
        "Interrupted; every server was stopped. The same command goes on where this one stopped",
    )
}

struct Suite<'a> {
    args: &'a Args,
    scenarios: Vec<(Scenario, Vec<Stage>)>,
    targets: Vec<Target>,
    results: Results,
    tls: (PathBuf, PathBuf),
    progress: ProgressBar,
    /// What was left out, and why.
    skipped: BTreeSet<String>,
}

impl<'a> Suite<'a> {
    fn new(args: &'a Args) -> Result<Self> {
        let wish = Wish {
            is_short: args.short,
            seconds: args.seconds,
            concurrency: args.concurrency.clone(),
            scale: args.scale,
            rounds: args.rounds,
        };
        let is_wanted =
            |stage: &Stage| args.only.is_empty() || args.only.iter().any(|text| stage.name.contains(text.as_str()));
        let scenarios: Vec<(Scenario, Vec<Stage>)> = scenario::read_all(&args.scenarios)?
            .into_iter()
            .map(|scenario| {
                let stages = plan::stages(&scenario, &wish).into_iter().filter(is_wanted).collect();
                (scenario, stages)
            })
            .filter(|(_, stages): &(Scenario, Vec<Stage>)| !stages.is_empty())
            .collect();
        if scenarios.is_empty() {
            let message = format!("No scenario in {} is asked for", args.scenarios.display());
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        let squall = args.squall.clone().map_or_else(std::env::current_exe, Ok);
        let squall = squall.map_err(|error| Error::new(ErrorCode::CANNOT_OPEN_FILE, error.to_string()))?;
        let mut targets =
            args.servers.iter().map(|text| Target::parse(text, &squall)).collect::<Result<Vec<Target>>>()?;
        if targets.is_empty() {
            targets.push(Target::squall(&squall));
            targets.extend(Target::parse("clickhouse", &squall).ok());
        }
        std::fs::create_dir_all(&args.output).map_err(|error| file_error(&args.output, &error))?;
        let progress = ProgressBar::no_length();
        if let Ok(style) = ProgressStyle::with_template("{elapsed_precise} {bar:30} {msg}") {
            progress.set_style(style);
        }
        Ok(Suite {
            args,
            scenarios,
            targets,
            results: Results::open(&args.output.join(RESULTS), args.fresh)?,
            tls: certificate(&args.output)?,
            progress,
            skipped: BTreeSet::new(),
        })
    }

    async fn run(mut self) -> Result<()> {
        let scenarios = std::mem::take(&mut self.scenarios);
        let seconds =
            |stages: &[Stage]| -> f64 { stages.iter().map(|stage| plan::estimate(stage, self.targets.len())).sum() };
        let all: f64 = scenarios.iter().map(|(_, stages)| seconds(stages)).sum();
        let steps: usize = scenarios.iter().flat_map(|(_, stages)| stages).map(|stage| stage.steps.len()).sum();
        self.say(format!(
            "{} scenarios, {steps} steps on each of {} servers: about {}, and the time to make data",
            scenarios.len(),
            self.targets.len(),
            minutes(all)
        ));
        if self.args.list {
            for (scenario, stages) in &scenarios {
                for stage in stages {
                    let time = minutes(plan::estimate(stage, self.targets.len()));
                    println!("{:40} {:4} steps, {time}: {}", stage.name, stage.steps.len(), scenario.description);
                }
            }
            return Ok(());
        }
        self.write_about(&scenarios)?;
        self.progress.set_length(all as u64);
        let mut done = 0.0;
        for (scenario, stages) in &scenarios {
            for stage in stages {
                self.stage(scenario, stage, done, all).await?;
                done += plan::estimate(stage, self.targets.len());
                self.progress.set_position(done as u64);
            }
        }
        self.progress.finish_and_clear();
        let summary = summary::table(self.results.rows(), &self.skipped);
        println!("{summary}");
        let path = self.args.output.join("summary.txt");
        std::fs::write(&path, &summary).map_err(|error| file_error(&path, &error))?;
        println!("Written to {}: {RESULTS}, summary.txt, servers/", self.args.output.display());
        Ok(())
    }

    /// Says where and how it is measured, once for each time that the suite was begun or went on.
    fn write_about(&self, scenarios: &[(Scenario, Vec<Stage>)]) -> Result<()> {
        let path = self.args.output.join(ABOUT);
        let earlier = if self.args.fresh { String::new() } else { std::fs::read_to_string(&path).unwrap_or_default() };
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let command: Vec<String> = std::env::args().collect();
        let mut text = format!("{earlier}{}\ncommand: {}\nbegun at {now} s since 1970\n", machine(), command.join(" "));
        for (scenario, _) in scenarios {
            for told in scenario.told() {
                let line = format!("{}, {told}\n", scenario.name);
                // Once, also where the suite goes on.
                if !text.contains(&line) {
                    text.push_str(&line);
                }
            }
        }
        std::fs::write(&path, text).map_err(|error| file_error(&path, &error))
    }

    /// Measures what is not measured yet of a stage, on its servers in turns.
    async fn stage(&mut self, scenario: &Scenario, stage: &Stage, done: f64, all: f64) -> Result<()> {
        let is_due = |results: &Results, target: &Target| {
            stage.steps.iter().any(|step| results.find(&Row::of_step(target.name(), scenario, stage, step)).is_none())
        };
        let due: Vec<Target> = self.targets.iter().filter(|target| is_due(&self.results, target)).cloned().collect();
        let mut peers = Vec::new();
        for target in &due {
            self.progress.set_message(format!("{}: data for {}", stage.name, target.name()));
            let folder = self.args.output.join("servers").join(&stage.name).join(target.name());
            match Peer::start(target, scenario, stage, &folder, &self.tls).await {
                Ok(peer) => {
                    if !scenario.files.setup.is_empty() {
                        let seconds = peer.setup.as_secs_f64();
                        let cpu = peer.setup_cpu.map_or_else(String::new, |cpu| {
                            format!(" with {:.1} s of its CPU time", cpu.as_secs_f64())
                        });
                        self.say(format!("{}: {} has its data, made in {seconds:.1} s{cpu}", stage.name, peer.name));
                    }
                    peers.push(peer);
                }
                Err(error) => {
                    let needs = scenario.needs.as_ref().map_or_else(String::new, |needs| format!(" (needs {needs})"));
                    self.skip(format!("{} on {}{needs}: {}", stage.name, target.name(), first_line(&error)));
                }
            }
        }
        // Of queries that a server does not understand, or protocols that it does not speak.
        let mut refused: Vec<(String, usize, Variant)> = Vec::new();
        let step_seconds = plan::estimate(stage, 1) / stage.steps.len().max(1) as f64;
        let begun = Instant::now();
        for (number, step) in stage.steps.iter().enumerate() {
            for peer in &peers {
                let asked = (peer.name.clone(), step.query, Variant { keep_alive: true, ..step.variant });
                let mut row = Row::of_step(&peer.name, scenario, stage, step);
                if refused.contains(&asked) || self.results.find(&row).is_some() {
                    continue;
                }
                let left = all - done - step_seconds * (number * self.targets.len()) as f64;
                self.progress.set_message(format!("{} left; {}", minutes(left), row.label()));
                self.progress.set_position((done + begun.elapsed().as_secs_f64()) as u64);
                match self.measure(peer, scenario, step, &mut row).await {
                    Ok(()) => {
                        self.say(format!("{}, {} left", row.line(), minutes(left)));
                        self.results.add(row)?;
                    }
                    Err(error) => {
                        refused.push(asked);
                        self.skip(format!("{}: {}", row.label(), first_line(&error)));
                    }
                }
            }
        }
        for peer in peers {
            let name = peer.name.clone();
            if let Err(error) = peer.stop() {
                self.skip(format!("{} on {name}: {error}", stage.name));
            }
        }
        Ok(())
    }

    /// Measures a step and fills its row.
    async fn measure(&self, peer: &Peer, scenario: &Scenario, step: &Step, row: &mut Row) -> Result<()> {
        let query = &scenario.query[step.query];
        let mut endpoint = peer.endpoint(&step.variant)?.clone();
        endpoint.keep_alive = step.variant.keep_alive;
        if matches!(step.variant.protocol, Wire::Tcp | Wire::Tcps) {
            endpoint.compression = step.variant.compression;
        }
        let settings = scenario.settings.iter().filter(|(name, _)| !query.settings.contains_key(*name));
        endpoint.settings = settings
            .chain(&query.settings)
            .map(|(name, value)| (name.clone(), fill(&value.to_string(), &peer.values)))
            .collect();
        let statement = statement(query, &peer.values)?;
        // Whether it is understood at all, before seconds are spent on what is not.
        let mut probe = Load::new(vec![Stream::closed(endpoint.clone(), statement.clone(), 1)], TIMEOUT);
        (probe.limit.requests, probe.timeout) = (Some(1), TIMEOUT);
        if let Some(failed) = probe.run().await?.total().failed.into_values().next() {
            return Err(Error::new(ErrorCode::NOT_IMPLEMENTED, failed.example));
        }
        let mut load = self.load(&endpoint, statement, query, step, peer);
        if let Some(times) = step.overload {
            let closed = row.of_closed_loop();
            let carried = self.results.find(&closed).and_then(|row| row.number("QPS")).unwrap_or(0.0);
            row.set("offered_per_second", format!("{:.1}", carried * times));
            load.warm_up = OPEN_WARM_UP;
            if let Some(stream) = load.streams.first_mut() {
                stream.pace = Pace::Open {
                    rate: (carried * times).max(1.0),
                    gaps: Gaps::Poisson,
                    connections_max: OPEN_CONNECTIONS_MAX.max(step.concurrency),
                };
            }
        }
        let (before, begun) = (peer.server.as_ref().map(crate::server::Server::cpu_time), Instant::now());
        let outcome = load.run().await?;
        let cpus = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        if let (Some(server), Some(before)) = (&peer.server, before) {
            let share = (server.cpu_time().saturating_sub(before)).as_secs_f64() / begun.elapsed().as_secs_f64() / cpus;
            row.set("server_cpu_share", format!("{share:.3}"));
            row.set("server_memory_bytes", server.memory_now().resident_bytes);
            row.set("server_threads", server.memory_now().threads);
        }
        row.set("server_version", &peer.version);
        row.put_outcome(&outcome);
        Ok(())
    }

    fn load(&self, endpoint: &Endpoint, statement: Statement, query: &Query, step: &Step, peer: &Peer) -> Load {
        let mut streams = vec![Stream {
            pace: Pace::Closed { clients: step.concurrency },
            endpoints: vec![endpoint.clone()],
            statements: vec![statement],
            order: Order::Weighted,
        }];
        if let Some(beside) = &query.beside {
            // Each client is a class, so that their shares can be told.
            for client in 1..=beside.clients {
                let heavy = Statement::query(&format!("{BESIDE}{client}"), &fill(&beside.sql, &peer.values));
                streams.push(Stream::closed(endpoint.clone(), heavy, 1));
            }
        }
        Load {
            warm_up: Duration::from_secs_f64(step.seconds * WARM_UP),
            limit: Limit { duration: Some(Duration::from_secs_f64(step.seconds)), requests: None },
            timeout: query.timeout.map_or(TIMEOUT, Duration::from_secs_f64),
            idle_connections: step.idle,
            ..Load::new(streams, Duration::ZERO)
        }
    }

    fn skip(&mut self, what: String) {
        self.say(format!("Left out: {what}"));
        self.skipped.insert(what);
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

fn statement(query: &Query, values: &Values) -> Result<Statement> {
    let mut statement = match (&query.sql, &query.path) {
        (Some(sql), _) => {
            let bad = |error: String| Error::new(ErrorCode::BAD_ARGUMENTS, error);
            let parameters = query
                .parameters
                .iter()
                .map(|(name, values_of)| Ok((name.clone(), fill(values_of, values).parse().map_err(bad)?)))
                .collect::<Result<Vec<_>>>()?;
            Statement::with_parameters(MEASURED, &fill(sql, values), &parameters)
        }
        (None, path) => Statement::path(MEASURED, path.as_deref().unwrap_or("/ping")),
    };
    statement.expectation = match &query.expect {
        Some(expected) => Expectation::Text(fill(expected, values).trim_end().as_bytes().into()),
        None if query.any_answer || statement.fixed_text().is_none() => Expectation::Anything,
        None => Expectation::First(Arc::default()),
    };
    Ok(statement)
}

fn minutes(seconds: f64) -> String {
    let seconds = seconds.max(0.0);
    if seconds < 90.0 {
        format!("{seconds:.0} s")
    } else if seconds < 5400.0 {
        format!("{:.0} min", seconds / 60.0)
    } else {
        format!("{:.1} h", seconds / 3600.0)
    }
}

fn first_line(error: &Error) -> String {
    error.message.lines().next().unwrap_or_default().chars().take(300).collect()
}

/// The machine, as Linux describes it.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_once(':').map_or_else(String::new, |(_, value)| value.trim().to_owned())
    };
    format!(
        "machine: {} logical CPUs, {}; memory {}\nkernel: {}",
        std::thread::available_parallelism().map_or(1, usize::from),
        field(&read("/proc/cpuinfo"), "model name"),
        field(&read("/proc/meminfo"), "MemTotal"),
        read("/proc/version").trim()
    )
}

/// A certificate for servers on this machine, signed by itself, and its key: files of the output folder.
fn certificate(folder: &Path) -> Result<(PathBuf, PathBuf)> {
    let folder = folder.canonicalize().map_err(|error| file_error(folder, &error))?;
    let (certificate_file, key_file) = (folder.join("server.crt"), folder.join("server.key"));
    if !(certificate_file.exists() && key_file.exists()) {
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names)
            .map_err(|error| Error::new(ErrorCode::OPENSSL_ERROR, error.to_string()))?;
        for (path, text) in [(&certificate_file, made.cert.pem()), (&key_file, made.signing_key.serialize_pem())] {
            std::fs::write(path, text).map_err(|error| file_error(path, &error))?;
        }
    }
    Ok((certificate_file, key_file))
}
