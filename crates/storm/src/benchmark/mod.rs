//! `squall benchmark`: sends queries over the native protocol from many connections at once and reports rates and latencies, with the flags
//! and the report of `clickhouse-benchmark`. It works against ClickHouse as well as Squall.

mod queries;
mod report;

pub(crate) use queries::statements;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::ArgMatches;
use clap::parser::ValueSource;
use squall_types::{Error, ErrorCode, Result, Settings};

use crate::file_error::file_error;
use crate::load::{Endpoint, Limit, Load, Measurement, Order, Outcome, Pace, QueryId, Statement, Stream};
use queries::Format;
use report::Report;
use squall_native::FailureKind;
use squall_native::Stage;

/// Send queries to a server over the native protocol and report rates and latencies, as clickhouse-benchmark does.
///
/// Queries are read from standard input, one a line, or given with --query. Every setting may stand on the command
/// line by its name (--max_threads=4); system.settings lists them. With several --host or --port each query goes to one of the servers
/// at random, and the report compares them.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
#[command(after_help = "Examples:
  echo 'SELECT 1' | squall benchmark -c 64 -t 10
  squall benchmark --query 'SELECT count() FROM hits' -i 1000 -d 0 --max_threads=1
  squall benchmark --port 9000 --port 9001 -i 1000 < queries.sql")]
pub struct Args {
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
    /// Query to send; standard input is read without it
    #[arg(long, short)]
    query: Option<String>,
    /// How queries stand in standard input: tsv, one a line with \t, \n and \\ for what they mean, or script, with semicolons between them
    #[arg(long, value_enum, default_value_t)]
    queries_format: Format,
    /// Id of all queries
    #[arg(long = "query_id", value_name = "ID")]
    query_id: Option<String>,
    /// What the ids of queries begin with; an underscore and a UUID of their own follow
    #[arg(long = "query_id_prefix", value_name = "PREFIX", conflicts_with = "query_id")]
    query_id_prefix: Option<String>,
    /// Number of queries in flight: one connection each
    #[arg(long, short, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_000))]
    concurrency: u32,
    /// From --concurrency up to so many queries in flight, one more each --delay, with a report of each number
    #[arg(long = "max_concurrency", short = 'C', value_name = "CONCURRENCY", value_parser = clap::value_parser!(u32).range(1..=65_000))]
    concurrency_max: Option<u32>,
    /// Seconds between intermediate reports; 0 is none
    #[arg(long, short, default_value_t = 1.0)]
    delay: f64,
    /// Up to which stage the server processes the queries: complete, fetch_columns, with_mergeable_state, with_mergeable_state_after_aggregation,
    /// with_mergeable_state_after_aggregation_and_limit
    #[arg(long, default_value = "complete", value_parser = parse_stage)]
    stage: Stage,
    /// Number of queries to send; 0 is no limit
    #[arg(long, short, default_value_t = 0)]
    iterations: u64,
    /// Seconds after which no more queries are sent; 0 is no limit
    #[arg(long, short, default_value_t = 0.0)]
    timelimit: f64,
    /// Send the queries in random order
    #[arg(long, short, value_name = "0|1", num_args = 0..=1, default_value = "0", default_missing_value = "1", value_parser = parse_flag, action = clap::ArgAction::Set)]
    randomize: bool,
    /// Write the final report to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Server's name or address; several are compared
    #[arg(long = "host", short = 'h', value_name = "HOST", default_value = "localhost")]
    hosts: Vec<String>,
    /// Port of the native protocol, of each host; 9440 with --secure
    #[arg(long = "port", value_name = "PORT", default_value = "9000")]
    ports: Vec<u16>,
    /// Connect under TLS
    #[arg(long, short)]
    secure: bool,
    /// Under TLS, take any certificate
    #[arg(long)]
    accept_invalid_certificate: bool,
    /// With several servers, report them as one
    #[arg(long)]
    roundrobin: bool,
    /// User; without it CLICKHOUSE_USER of the environment, or default
    #[arg(long, short)]
    user: Option<String>,
    /// Password; without it CLICKHOUSE_PASSWORD of the environment
    #[arg(long)]
    password: Option<String>,
    /// Quota key, where the user's quota is kept by keys that clients say; without it CLICKHOUSE_QUOTA_KEY of the environment
    #[arg(long = "quota_key", visible_alias = "quota-key", value_name = "KEY")]
    quota_key: Option<String>,
    /// Whether packets are framed in chunks: this program's are not, so notchunked, notchunked_optional and chunked_optional are taken, also with
    /// send_ or recv_ before them, and separated by commas
    #[arg(long = "proto_caps", value_name = "CAPABILITIES", value_parser = parse_proto_caps)]
    proto_caps: Option<String>,
    /// Database that unqualified names mean
    #[arg(long, default_value = "default")]
    database: String,
    /// Report what happened since the beginning rather than since the last report
    #[arg(long)]
    cumulative: bool,
    /// How sure a difference between two servers must be: 0 (80%), 1 (90%), 2 (95%), 3 (98%), 4 (99%), 5 (99.5%)
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u8).range(0..=5))]
    confidence: u8,
    /// Go on when a query fails, and count it
    #[arg(long = "continue_on_errors", visible_alias = "ignore-error")]
    continue_on_errors: bool,
    /// Stop when so many queries in a row have failed; before that failures are counted
    #[arg(long = "max-consecutive-errors", value_name = "COUNT", default_value_t = 0)]
    max_consecutive_errors: u64,
    /// A new connection after so many queries; 0 is never
    #[arg(long, value_name = "QUERIES", num_args = 0..=1, default_value_t = 0, default_missing_value = "1")]
    reconnect: u64,
    /// Taken for scripts' sake: times are always the client's
    #[arg(long)]
    client_side_time: bool,
    /// Taken for scripts' sake: --help always tells of every setting
    #[arg(long)]
    verbose: bool,
    /// Taken for scripts' sake: exceptions are printed as the server sent them
    #[arg(long)]
    stacktrace: bool,
    /// Any setting, also one that this program does not know
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
        command.args(Settings::ALL.iter().map(|setting| {
            clap::Arg::new(setting.name)
                .long(setting.name)
                .value_name(setting.setting_type.name())
                .help(setting.description)
                // Hundreds of lines would bury the options of the tool.
                .hide(true)
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
        "with_mergeable_state_after_aggregation" => Ok(Stage::WithMergeableStateAfterAggregation),
        "with_mergeable_state_after_aggregation_and_limit" => Ok(Stage::WithMergeableStateAfterAggregationAndLimit),
        other => Err(format!("Unknown query processing stage: {other}")),
    }
}

fn parse_proto_caps(text: &str) -> Result<String, String> {
    for capability in text.split(',') {
        let of_direction = capability.strip_prefix("send_").or_else(|| capability.strip_prefix("recv_"));
        match of_direction.unwrap_or(capability) {
            "notchunked" | "notchunked_optional" | "chunked_optional" => {}
            "chunked" => return Err("the chunked protocol is not implemented, chunked_optional is taken".to_owned()),
            _ => return Err(format!("proto_caps option is incorrect ({text})")),
        }
    }
    Ok(text.to_owned())
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

/// How long a client waits for an answer: for as long as a query may run.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

impl Args {
    /// The servers: hosts and ports go together by position; of the shorter list the defaults are taken.
    fn endpoints(&self) -> Result<Vec<Endpoint>> {
        let count = self.hosts.len().max(self.ports.len());
        let endpoint = |number: usize| {
            let host = self.hosts.get(number).map_or("localhost", String::as_str);
            let port = self.ports.get(number).copied().unwrap_or(9000);
            let (scheme, port) = match self.secure {
                false => ("tcp", port),
                true => ("tcps", if self.ports == [9000] { 9440 } else { port }),
            };
            let mut endpoint =
                Endpoint::parse(&format!("{scheme}://{host}:{port}"), None, self.accept_invalid_certificate)?;
            let given = |given: &Option<String>, variable: &str| given.clone().or_else(|| std::env::var(variable).ok());
            endpoint.user = given(&self.user, "CLICKHOUSE_USER").unwrap_or_else(|| "default".to_owned());
            endpoint.password = given(&self.password, "CLICKHOUSE_PASSWORD").unwrap_or_default();
            endpoint.quota_key = given(&self.quota_key, "CLICKHOUSE_QUOTA_KEY").unwrap_or_default();
            endpoint.database.clone_from(&self.database);
            endpoint.settings = self.settings.0.iter().chain(&self.other_settings).cloned().collect();
            endpoint.keep_alive = self.reconnect != 1;
            endpoint.requests_max = Some(self.reconnect).filter(|&queries| queries > 1);
            endpoint.query_id = match (&self.query_id, &self.query_id_prefix) {
                (Some(id), _) => QueryId::Fixed(id.clone()),
                (None, Some(prefix)) => QueryId::Prefixed(prefix.clone()),
                (None, None) => QueryId::Server,
            };
            Ok(endpoint)
        };
        (0..count).map(endpoint).collect()
    }

    /// So many of the queries at once.
    fn load(&self, queries: &[String], concurrency: u32) -> Result<Load> {
        let endpoints = self.endpoints()?;
        let class = endpoints.first().map(|first| format!("{}:{}", first.host, first.address.port()));
        let class = class.unwrap_or_default();
        let stream = Stream {
            pace: Pace::Closed { clients: concurrency as usize },
            endpoints,
            statements: queries.iter().map(|query| Statement::query(&class, query)).collect(),
            order: if self.randomize { Order::Weighted } else { Order::InTurn },
        };
        Ok(Load {
            limit: Limit {
                duration: seconds(self.timelimit),
                requests: Some(self.iterations).filter(|&iterations| iterations > 0),
            },
            stage: self.stage,
            timeout: PATIENCE,
            failures_max: (!self.continue_on_errors).then_some(self.max_consecutive_errors.max(1)),
            ..Load::new(vec![stream], Duration::ZERO)
        })
    }

    fn report(&self, mut servers: Vec<(String, Measurement)>, loaded: usize, executed: u64) -> Report {
        if self.roundrobin && servers.len() > 1 {
            let rest = servers.split_off(1);
            if let Some((name, first)) = servers.first_mut() {
                for (other, measurement) in rest {
                    name.push_str(&format!(", {other}"));
                    first.merge(&measurement);
                }
            }
        }
        Report { servers, loaded, executed, confidence: self.confidence.into() }
    }
}

/// Runs `squall benchmark`: queries from standard input, reports to standard error, as `clickhouse-benchmark` has it.
///
/// # Errors
/// No queries; no server; the first exception that a query meets, which stops the run.
pub fn run(args: &Args) -> Result<()> {
    let queries = match &args.query {
        Some(query) => vec![query.clone()],
        None => queries::read(std::io::stdin().lock(), args.queries_format)?,
    };
    eprintln!("Loaded {} queries.\n", queries.len());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string()))?;
    let outcome = runtime.block_on(async {
        // The steps up to the number that was asked for, each as long as the time between reports.
        for concurrency in args.concurrency..args.concurrency_max.unwrap_or(0) {
            let mut load = args.load(&queries, concurrency)?;
            load.limit.duration = seconds(args.delay).or(Some(Duration::from_secs(1)));
            let outcome = load.run().await?;
            if has_failed(args, &outcome) {
                return Ok(outcome);
            }
            let total = outcome.total();
            eprintln!("\nConcurrency: {concurrency}");
            eprint!("{}", args.report(outcome.classes, queries.len(), total.answers() + total.failures()));
        }
        let concurrency = args.concurrency_max.unwrap_or(0).max(args.concurrency);
        let mut load = args.load(&queries, concurrency)?;
        if args.concurrency_max.is_some() {
            eprintln!("\nConcurrency: {concurrency}");
            load.limit.duration = load.limit.duration.or(seconds(args.delay)).or(Some(Duration::from_secs(1)));
        }
        follow(args, load, queries.len()).await
    })?;
    let executed = outcome.total();
    let executed = executed.answers() + executed.failures();
    let failure = outcome.total().failed.into_iter().next();
    let Some((kind, failed)) = failure.filter(|_| has_failed(args, &outcome)) else {
        let report = args.report(outcome.classes, queries.len(), executed);
        eprint!("{report}");
        if let Some(path) = &args.json {
            std::fs::write(path, report.to_json()).map_err(|error| file_error(path, &error))?;
        }
        if let Some(warning) = outcome.effort.warning() {
            eprintln!("\nWarning: {warning}.");
        }
        return Ok(());
    };
    if let [query] = queries.as_slice() {
        eprintln!("An error occurred while processing query:\n{query}");
    }
    let code = match kind {
        FailureKind::Exception(code) => ErrorCode(code),
        FailureKind::Timeout => ErrorCode::SOCKET_TIMEOUT,
        _ => ErrorCode::NETWORK_ERROR,
    };
    Err(Error::new(code, failed.example))
}

/// Whether failures ended the run.
fn has_failed(args: &Args, outcome: &Outcome) -> bool {
    !args.continue_on_errors && outcome.total().failures() > 0 && outcome.is_broken_off
}

/// Runs the load to its end, with a report at every interval.
async fn follow(args: &Args, load: Load, loaded: usize) -> Result<Outcome> {
    let delay = seconds(args.delay);
    let until = load.limit.duration.map(|duration| Instant::now() + duration);
    let mut running = load.start().await?;
    let mut interval = tokio::time::interval(delay.unwrap_or(Duration::from_secs(3600)));
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    interval.tick().await;
    let begun = Instant::now();
    let mut interval_begun = begun;
    let mut sum: Vec<(String, Measurement)> = Vec::new();
    let mut interrupted = false;
    loop {
        tokio::select! {
            () = running.wait() => break,
            _ = interval.tick(), if delay.is_some() => {
                let mut servers = running.take_interval();
                let mut from = interval_begun;
                interval_begun = Instant::now();
                if args.cumulative {
                    if sum.is_empty() {
                        sum = servers;
                    } else {
                        sum.iter_mut().zip(&servers).for_each(|((_, sum), (_, since))| sum.merge(since));
                    }
                    servers = sum.clone();
                    from = begun;
                }
                let report = args.report(servers, loaded, running.ended()).took(from.elapsed());
                eprint!("{report}");
            },
            _ = tokio::signal::ctrl_c(), if !interrupted => {
                println!("Stopping launch of queries. SIGINT received.");
                interrupted = true;
                running.stop();
            },
        }
    }
    if !interrupted && until.is_some_and(|until| Instant::now() >= until) {
        println!("Stopping launch of queries. Requested time limit is exhausted.");
    }
    Ok(running.finish())
}

/// 0 means no limit.
fn seconds(value: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(value).ok().filter(|duration| !duration.is_zero())
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
        let load = args.load(&["SELECT 1".to_owned()], args.concurrency).unwrap_err();
        assert_eq!(load.code, ErrorCode::DNS_ERROR, "h is no host");
        let args =
            Program::try_parse_from(["benchmark", "-h", "127.0.0.1", "--port", "1", "--port", "2"]).unwrap().args;
        let load = args.load(&["SELECT 1".to_owned()], args.concurrency).unwrap();
        let ports: Vec<u16> = load.streams[0].endpoints.iter().map(|endpoint| endpoint.address.port()).collect();
        assert_eq!((ports, load.limit.duration, load.limit.requests), (vec![1, 2], None, None));
        assert_eq!((load.failures_max, load.streams[0].order), (Some(1), Order::InTurn));
        let newer = "benchmark -h 127.0.0.1 -q x --query_id_prefix p --max-consecutive-errors 3 --reconnect 5 -C 9 --queries-format script -u me --roundrobin \
            --quota_key k --verbose --proto_caps send_chunked_optional,recv_notchunked";
        let args = Program::try_parse_from(newer.split(' ')).unwrap().args;
        let load = args.load(&["SELECT 1".to_owned()], 9).unwrap();
        let endpoint = &load.streams[0].endpoints[0];
        assert_eq!((load.failures_max, endpoint.requests_max, endpoint.keep_alive), (Some(3), Some(5), true));
        assert_eq!((&endpoint.query_id, endpoint.user.as_str()), (&QueryId::Prefixed("p".to_owned()), "me"));
        assert_eq!(endpoint.native_options().quota_key, "k");
        for refused in ["chunked", "recv_chunked", "send_", "notchunked,x"] {
            assert!(Program::try_parse_from(["benchmark", "--proto_caps", refused]).is_err(), "{refused}");
        }
        assert!(Program::try_parse_from(["benchmark", "-c", "0"]).is_err());
        assert!(Program::try_parse_from(["benchmark", "--no_such_setting=1"]).is_err());
    }
}
