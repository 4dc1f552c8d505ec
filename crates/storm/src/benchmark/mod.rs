//! `squall benchmark`: sends queries over the native protocol from many connections at once and reports rates and latencies, with the flags
//! and the report of `clickhouse-benchmark`. It works against ClickHouse as well as Squall.

mod report;

use std::io::BufRead;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::ArgMatches;
use clap::parser::ValueSource;
use squall_types::{Error, ErrorCode, Result, Settings};
use tokio::task::JoinSet;

use crate::datagen::Random;
use crate::native::{Connection, Options, Query, Stage};
pub use report::{PERCENTILES, Report};

/// Queries that may be loaded, and the bytes of all of them.
const QUERIES_BYTES_MAX: usize = 1 << 30;

/// Send the queries on standard input, one a line, to a server, and report rates and latencies.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// Print help.
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
    /// Number of queries in flight: one connection each.
    #[arg(long, short, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    concurrency: u32,
    /// Seconds between intermediate reports; 0 is none.
    #[arg(long, short, default_value_t = 1.0)]
    delay: f64,
    /// Up to which stage the server processes the queries: complete, fetch_columns, with_mergeable_state.
    #[arg(long, default_value = "complete", value_parser = parse_stage)]
    stage: Stage,
    /// Number of queries to send; 0 is no limit.
    #[arg(long, short, default_value_t = 0)]
    iterations: u64,
    /// Seconds after which no more queries are sent; 0 is no limit.
    #[arg(long, short, default_value_t = 0.0)]
    timelimit: f64,
    /// Send the queries in random order.
    #[arg(long, short, value_name = "0|1", num_args = 0..=1, default_value = "0", default_missing_value = "1", value_parser = parse_flag, action = clap::ArgAction::Set)]
    randomize: bool,
    /// Write the final report to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Server's name or address.
    #[arg(long, short = 'h', default_value = "localhost")]
    host: String,
    /// Port of the native protocol.
    #[arg(long, default_value_t = 9000)]
    port: u16,
    /// User.
    #[arg(long, default_value = "default")]
    user: String,
    /// Password.
    #[arg(long, default_value = "")]
    password: String,
    /// Database that unqualified names mean.
    #[arg(long, default_value = "default")]
    database: String,
    /// Any setting, also one that this program does not know.
    #[arg(long = "setting", value_name = "NAME=VALUE", value_parser = parse_setting)]
    other_settings: Vec<(String, String)>,
    #[command(flatten)]
    settings: QuerySettings,
}

/// The settings of a query as flags of their own names: `--max_threads=16`.
#[derive(Debug, Default)]
struct QuerySettings(Vec<(String, String)>);

impl clap::Args for QuerySettings {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.next_help_heading("Settings of the queries").args(Settings::ALL.iter().map(|setting| {
            clap::Arg::new(setting.name)
                .long(setting.name)
                .value_name(setting.setting_type.name())
                .help(setting.description)
                .allow_hyphen_values(true)
        }))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for QuerySettings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given =
            Settings::ALL.iter().filter(|setting| matches.value_source(setting.name) == Some(ValueSource::CommandLine));
        let values = given
            .filter_map(|setting| Some((setting.name.to_owned(), matches.get_one::<String>(setting.name)?.clone())));
        Ok(QuerySettings(values.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = <Self as clap::FromArgMatches>::from_arg_matches(matches)?;
        Ok(())
    }
}

fn parse_stage(text: &str) -> Result<Stage, String> {
    match text {
        "complete" => Ok(Stage::Complete),
        "fetch_columns" => Ok(Stage::FetchColumns),
        "with_mergeable_state" => Ok(Stage::WithMergeableState),
        other => Err(format!("Unknown query processing stage: {other}")),
    }
}

fn parse_flag(text: &str) -> Result<bool, String> {
    match text {
        "0" | "false" => Ok(false),
        "1" | "true" => Ok(true),
        other => Err(format!("{other} is neither 0 nor 1")),
    }
}

fn parse_setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Runs `squall benchmark`: queries from standard input, reports to standard error, as `clickhouse-benchmark` has it.
///
/// # Errors
/// No queries; no server; the first exception that a query meets, which stops the run.
pub fn run(args: &Args) -> Result<()> {
    let queries = read_queries(std::io::stdin().lock())?;
    println!("Loaded {} queries.\n", queries.len());
    let load = Load {
        options: Options {
            host: args.host.clone(),
            port: args.port,
            user: args.user.clone(),
            password: args.password.clone(),
            database: args.database.clone(),
            ..Options::local(args.port)
        },
        queries,
        settings: args.settings.0.iter().chain(&args.other_settings).cloned().collect(),
        stage: args.stage,
        concurrency: args.concurrency as usize,
        iterations: if args.iterations == 0 { u64::MAX } else { args.iterations },
        time_limit: seconds(args.timelimit),
        randomize: args.randomize,
        report_every: seconds(args.delay),
        announce: true,
    };
    // One client needs one thread; hand-offs between threads would only be measured as the server's time.
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(load.concurrency);
    let runtime = if threads == 1 {
        tokio::runtime::Builder::new_current_thread().enable_all().build()
    } else {
        tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()
    };
    let runtime = runtime.map_err(|error| Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string()))?;
    let report = runtime.block_on(load.run())?;
    eprintln!("{report}");
    if let Some(path) = &args.json {
        std::fs::write(path, report.to_json())
            .map_err(|error| Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("{}: {error}", path.display())))?;
    }
    Ok(())
}

/// 0 means no limit.
fn seconds(value: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(value).ok().filter(|duration| !duration.is_zero())
}

fn read_queries(input: impl BufRead) -> Result<Vec<String>> {
    let mut bytes = 0;
    let mut queries = Vec::new();
    for line in input.lines() {
        let line = line.map_err(|error| Error::new(ErrorCode::CANNOT_READ_FROM_ISTREAM, error.to_string()))?;
        bytes += line.len();
        if bytes > QUERIES_BYTES_MAX {
            return Err(Error::new(
                ErrorCode::LIMIT_EXCEEDED,
                format!("More than {QUERIES_BYTES_MAX} bytes of queries"),
            ));
        }
        if !line.trim().is_empty() {
            queries.push(line);
        }
    }
    if queries.is_empty() {
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "Empty list of queries."));
    }
    Ok(queries)
}

/// What to send, to whom, and for how long.
#[derive(Debug, Clone)]
pub struct Load {
    /// The server.
    pub options: Options,
    /// The queries, sent in turn.
    pub queries: Vec<String>,
    /// Settings of every query.
    pub settings: Vec<(String, String)>,
    /// How far the server processes them.
    pub stage: Stage,
    /// Connections, each with one query in flight.
    pub concurrency: usize,
    /// Queries to send in all.
    pub iterations: u64,
    /// When to send no more.
    pub time_limit: Option<Duration>,
    /// Whether queries are sent in random order rather than in turn.
    pub randomize: bool,
    /// How often to print what happened since the last report.
    pub report_every: Option<Duration>,
    /// Whether to print why the run ended and which query failed, as `clickhouse-benchmark` does.
    pub announce: bool,
}

/// What the clients of one run share.
#[derive(Debug)]
struct Run {
    load: Load,
    sent: AtomicU64,
    stop: AtomicBool,
    until: Option<Instant>,
    /// Since the beginning, and since the last intermediate report.
    reports: Mutex<(Report, Report)>,
}

impl Load {
    /// Sends the queries and reports on all of them.
    ///
    /// # Errors
    /// The first failure of any connection or query.
    pub async fn run(self) -> Result<Report> {
        // All connections stand before the clock starts.
        let mut connections = Vec::with_capacity(self.concurrency);
        for _ in 0..self.concurrency {
            connections.push(Connection::connect(&self.options).await?);
        }
        let started = Instant::now();
        let until = self.time_limit.map(|limit| started + limit);
        let report_every = self.report_every;
        let loaded = self.queries.len();
        let run = Arc::new(Run {
            load: self,
            sent: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            until,
            reports: Mutex::new((Report::new(loaded), Report::new(loaded))),
        });
        let mut clients = JoinSet::new();
        for (number, connection) in connections.into_iter().enumerate() {
            clients.spawn(run.clone().client(number as u64, connection));
        }
        let mut interval = tokio::time::interval(report_every.unwrap_or(Duration::MAX / 4));
        interval.tick().await;
        let mut interval_started = started;
        let mut outcome = Ok(());
        loop {
            tokio::select! {
                client = clients.join_next() => match client {
                    None => break,
                    Some(Ok(Ok(()))) => {}
                    Some(Ok(Err(error))) => {
                        run.stop.store(true, Ordering::Relaxed);
                        outcome = outcome.and(Err(error));
                    }
                    Some(Err(error)) => return Err(Error::logical(error.to_string())),
                },
                _ = interval.tick() => {
                    let mut reports = run.reports.lock().unwrap_or_else(PoisonError::into_inner);
                    let fresh = Report::new(loaded);
                    let mut since_last = std::mem::replace(&mut reports.1, fresh);
                    since_last.finish(interval_started.elapsed(), reports.0.queries());
                    drop(reports);
                    interval_started = Instant::now();
                    eprintln!("{since_last}");
                },
                _ = tokio::signal::ctrl_c() => {
                    println!("Stopping launch of queries. SIGINT received.");
                    run.stop.store(true, Ordering::Relaxed);
                },
            }
        }
        outcome?;
        if run.load.announce && run.until.is_some_and(|until| Instant::now() >= until) {
            println!("Stopping launch of queries. Requested time limit is exhausted.");
        }
        let mut reports = run.reports.lock().unwrap_or_else(PoisonError::into_inner);
        let mut total = std::mem::replace(&mut reports.0, Report::new(loaded));
        let queries = total.queries();
        total.finish(started.elapsed(), queries);
        Ok(total)
    }
}

impl Run {
    /// One client: a query at a time until there are no more to send.
    async fn client(self: Arc<Self>, number: u64, mut connection: Connection) -> Result<()> {
        let load = &self.load;
        let mut random = Random::new(number, 0);
        loop {
            if self.stop.load(Ordering::Relaxed) || self.until.is_some_and(|until| Instant::now() >= until) {
                return Ok(());
            }
            let sequence = self.sent.fetch_add(1, Ordering::Relaxed);
            if sequence >= load.iterations {
                return Ok(());
            }
            let loaded = load.queries.len() as u64;
            let position = if load.randomize { random.below(loaded) } else { sequence % loaded };
            let text = load.queries[position as usize].as_str();
            let started = Instant::now();
            let query = Query { text, stage: load.stage, settings: &load.settings, ..Query::default() };
            let summary = match connection.execute(&query).await {
                Ok(summary) => summary,
                Err(error) => {
                    if load.announce {
                        eprintln!("An error occurred while processing query:\n{text}");
                    }
                    return Err(error);
                }
            };
            let took = started.elapsed();
            let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
            reports.0.record(took, &summary);
            reports.1.record(took, &summary);
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn flags_are_those_of_clickhouse_benchmark() {
        let program = Program::try_parse_from([
            "benchmark",
            "--host=h",
            "-c",
            "20",
            "-i",
            "1000",
            "-d",
            "0",
            "--max_threads=16",
            "-r",
            "1",
            "--max_block_size",
            "8",
            "-t",
            "2.5",
            "--setting",
            "unheard_of=x",
            "--json",
            "out.json",
            "--stage",
            "fetch_columns",
            "--user",
            "u",
            "--password",
            "p",
            "--database",
            "d",
            "--port",
            "1",
        ])
        .unwrap();
        let args = program.args;
        assert_eq!((args.concurrency, args.iterations, args.delay, args.timelimit), (20, 1000, 0.0, 2.5));
        assert!(args.randomize && args.stage == Stage::FetchColumns);
        assert_eq!(
            args.settings.0,
            [("max_threads".to_owned(), "16".to_owned()), ("max_block_size".to_owned(), "8".to_owned())]
        );
        assert_eq!(args.other_settings, [("unheard_of".to_owned(), "x".to_owned())]);
        assert!(Program::try_parse_from(["benchmark", "-c", "0"]).is_err());
        assert!(Program::try_parse_from(["benchmark", "--no_such_setting=1"]).is_err());
    }

    #[test]
    fn queries_are_lines() {
        assert_eq!(read_queries(&b"select 1\n\nselect 2"[..]).unwrap(), ["select 1", "select 2"]);
        assert_eq!(read_queries(&b"\n"[..]).unwrap_err().code, ErrorCode::BAD_ARGUMENTS);
    }
}
