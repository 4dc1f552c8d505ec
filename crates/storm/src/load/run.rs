//! `squall storm run`: one load on one server, from the command line, and what became of it as a table, JSON or CSV.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use squall_types::{Error, ErrorCode, Result};

use super::{
    Endpoint, Expectation, Gaps, Limit, Load, Measurement, Order, Outcome, PERCENTILES, Pace, Parameter, Protocol,
    Statement, Stream,
};

/// Put a load on a server and report rates, latencies and errors.
///
/// One process drives up to ten thousand connections over HTTP or the native protocol, with TLS or without.
/// In the closed loop (the default) each client sends its next request when it has its answer. With --rate requests come at that rate
/// whether the server keeps up or not, and a request's latency counts from the moment at which it was due.
///
/// A query is [CLASS[@WEIGHT]=]SQL: classes are reported apart, and queries are drawn by their weights. {NAME} in a query stands for a
/// value of the --parameter NAME.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  squall storm run http://127.0.0.1:8123/ping -c 64
  squall storm run http://127.0.0.1:8123 -q 'SELECT 1' -c 1000 --reconnect
  squall storm run tcp://127.0.0.1:9000 -q 'SELECT count() FROM hits' --rate 200 -d 30 --warm-up 5
  squall storm run https://db.example:8443 --ca ca.pem --user me --password secret -q 'SELECT 1'
  squall storm run tcp://127.0.0.1:9000 -c 64 -p 'id=zipf(1, 20000000, 1.1)' --check none \\
      -q 'lookup@95=SELECT value FROM int20M WHERE id = {id}' -q 'report@5=SELECT max(value) FROM int20M'
  squall storm run tcp://127.0.0.1:9000 -c 1 -q 'SELECT 1' --beside '8=SELECT sum(sipHash64(number)) FROM numbers(100000000)'")]
pub struct Args {
    /// The server: http, https, tcp or tcps, then ://[USER[:PASSWORD]@]HOST[:PORT][/PATH]; without a query the path is what is asked for
    url: String,
    /// A query to send; several are drawn by their weights
    #[arg(long = "query", short, value_name = "[CLASS[@WEIGHT]=]SQL")]
    queries: Vec<String>,
    /// A file with such queries, one a line
    #[arg(long, short = 'f', value_name = "FILE")]
    queries_file: Option<PathBuf>,
    /// Clients of the closed loop, each with a connection; with --rate the most connections
    #[arg(long, short, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=65_000))]
    connections: u32,
    /// Requests a second of an open loop
    #[arg(long, short)]
    rate: Option<f64>,
    /// How the gaps of the open loop are distributed
    #[arg(long, value_enum, default_value_t)]
    gaps: Gaps,
    /// Seconds to measure
    #[arg(long, short, value_name = "SECONDS", value_parser = parse_seconds)]
    duration: Option<f64>,
    /// Stop after so many requests; without --duration there is no other limit
    #[arg(long, short = 'n', value_name = "COUNT")]
    requests: Option<u64>,
    /// Seconds before that, which do not count
    #[arg(long, short, value_name = "SECONDS", default_value = "0", value_parser = parse_seconds)]
    warm_up: f64,
    /// A parameter of the queries: NAME=range(LOW, HIGH), NAME=zipf(LOW, HIGH, EXPONENT) or NAME=file(PATH), a line of a file
    #[arg(long = "parameter", short, value_name = "NAME=VALUES", value_parser = parse_parameter)]
    parameters: Vec<(String, Parameter)>,
    /// A heavy query beside the load: so many clients send it without end, reported as a class of its own
    #[arg(long, value_name = "CLIENTS=SQL")]
    beside: Vec<String>,
    /// A setting of all queries
    #[arg(long = "setting", short, value_name = "NAME=VALUE", value_parser = parse_setting)]
    settings: Vec<(String, String)>,
    /// A new connection for each request
    #[arg(long)]
    reconnect: bool,
    /// Compress: native blocks (on without it), HTTP responses (off without it)
    #[arg(long, value_name = "on|off", value_parser = parse_switch)]
    compression: Option<bool>,
    /// Send queries over HTTP as bodies (POST)
    #[arg(long)]
    post: bool,
    /// What a right answer is: the same as the first one to that query, or any. Queries with parameters have any
    #[arg(long, value_enum, default_value_t)]
    check: Check,
    /// What every answer must be, as TSV
    #[arg(long, value_name = "TEXT", conflicts_with = "check")]
    expect: Option<String>,
    /// Connections that are opened and left idle beside the load
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    idle: u32,
    /// Seconds after which a request has failed
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = parse_seconds)]
    timeout: f64,
    /// User
    #[arg(long)]
    user: Option<String>,
    /// Password
    #[arg(long)]
    password: Option<String>,
    /// Database that unqualified names mean
    #[arg(long)]
    database: Option<String>,
    /// Under TLS, the file with the authorities that are trusted (PEM); the machine's own without it
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Under TLS, take any certificate
    #[arg(long)]
    insecure: bool,
    /// Threads of the generator; one a CPU without it
    #[arg(long, value_name = "COUNT")]
    threads: Option<usize>,
    /// What is drawn depends on it alone
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How to print what was found
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum Check {
    #[default]
    First,
    None,
}

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum Format {
    #[default]
    Table,
    Json,
    Csv,
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.0..=1e8).contains(&seconds) => Ok(seconds),
        _ => Err("expected seconds".to_owned()),
    }
}

fn parse_parameter(text: &str) -> Result<(String, Parameter), String> {
    let (name, values) = text.split_once('=').ok_or("expected NAME=VALUES")?;
    Ok((name.to_owned(), values.parse()?))
}

fn parse_setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn parse_switch(text: &str) -> Result<bool, String> {
    match text {
        "on" | "1" | "true" => Ok(true),
        "off" | "0" | "false" => Ok(false),
        _ => Err("expected on or off".to_owned()),
    }
}

/// Splits `[CLASS[@WEIGHT]=]SQL`; SQL itself never begins with a word and an equals sign.
fn split_query(text: &str) -> Option<(&str, f64, &str)> {
    let (label, query) = text.split_once('=')?;
    let (class, weight) = label.split_once('@').unwrap_or((label, "1"));
    let is_word = !class.is_empty() && class.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let weight = weight.parse().ok().filter(|weight| (1e-9..1e9).contains(weight))?;
    is_word.then_some((class, weight, query))
}

impl Args {
    fn load(&self) -> Result<Load> {
        let bad = |what: String| Error::new(ErrorCode::BAD_ARGUMENTS, what);
        let mut endpoint = Endpoint::parse(&self.url, self.ca.as_deref(), self.insecure)?;
        for (given, field) in [
            (&self.user, &mut endpoint.user),
            (&self.password, &mut endpoint.password),
            (&self.database, &mut endpoint.database),
        ] {
            if let Some(given) = given {
                field.clone_from(given);
            }
        }
        endpoint.settings.clone_from(&self.settings);
        endpoint.keep_alive = !self.reconnect;
        endpoint.compression = self.compression.unwrap_or(endpoint.compression);
        let mut queries = self.queries.clone();
        if let Some(path) = &self.queries_file {
            let text = std::fs::read_to_string(path).map_err(|error| bad(format!("{}: {error}", path.display())))?;
            queries.extend(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned));
        }
        let expectation = |is_fixed: bool| match (&self.expect, self.check) {
            (Some(text), _) => Expectation::Text(text.trim_end().as_bytes().into()),
            (None, Check::First) if is_fixed => Expectation::First(Arc::default()),
            (None, _) => Expectation::Anything,
        };
        let statement = |text: &String| {
            let (class, weight, query) = split_query(text).unwrap_or(("all", 1.0, text));
            let mut statement = Statement::with_parameters(class, query, &self.parameters);
            statement.weight = weight;
            statement.expectation = expectation(statement.fixed_text().is_some());
            statement
        };
        let mut statements: Vec<Statement> = queries.iter().map(statement).collect();
        if statements.is_empty() {
            if endpoint.protocol == Protocol::Native {
                return Err(bad("Nothing to send: give a --query".to_owned()));
            }
            let mut statement = Statement::path("all", &endpoint.path);
            statement.expectation = expectation(true);
            statements.push(statement);
        }
        let clients = self.connections as usize;
        let pace = match self.rate {
            None => Pace::Closed { clients },
            Some(rate) => Pace::Open { rate, gaps: self.gaps, connections_max: clients },
        };
        let mut streams = vec![Stream { pace, endpoints: vec![endpoint.clone()], statements, order: Order::Weighted }];
        for beside in &self.beside {
            let parsed = beside.split_once('=').and_then(|(clients, query)| Some((clients.parse().ok()?, query)));
            let (clients, query) = parsed.ok_or_else(|| bad(format!("{beside}: expected CLIENTS=SQL")))?;
            streams.push(Stream::closed(endpoint.clone(), Statement::query("beside", query), clients));
        }
        let duration = match (self.duration, self.requests) {
            (None, None) => Some(10.0),
            (duration, _) => duration,
        };
        Ok(Load {
            warm_up: Duration::from_secs_f64(self.warm_up),
            limit: Limit { duration: duration.map(Duration::from_secs_f64), requests: self.requests },
            timeout: Duration::from_secs_f64(self.timeout),
            is_post: self.post,
            idle_connections: self.idle as usize,
            threads: self.threads,
            seed: self.seed,
            ..Load::new(streams, Duration::ZERO)
        })
    }
}

/// Runs `squall storm run`. Ctrl-C ends it early, with a report of what there is.
///
/// # Errors
/// Arguments that make no load; a load that was not answered once.
pub fn run(args: &Args) -> Result<()> {
    let load = args.load()?;
    let description = describe(&args.url, &load);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string()))?;
    let outcome = runtime.block_on(async {
        let mut running = load.start().await?;
        tokio::select! {
            () = running.wait() => {}
            _ = tokio::signal::ctrl_c() => {
                running.stop();
                running.wait().await;
            }
        }
        Ok::<_, Error>(running.finish())
    })?;
    match args.format {
        Format::Table => print!("{description}\n\n{}", table(&outcome)),
        Format::Json => println!("{:#}", to_json(&args.url, &outcome)),
        Format::Csv => print!("{}", csv(&outcome)),
    }
    let total = outcome.total();
    if total.answers() == 0 {
        let reason = total.failed.values().next().map_or("nothing was sent", |failed| failed.example.as_str());
        return Err(Error::new(ErrorCode::NETWORK_ERROR, format!("No request was answered: {reason}")));
    }
    Ok(())
}

/// What is sent how, in a line.
fn describe(url: &str, load: &Load) -> String {
    let Some(stream) = load.streams.first() else { return url.to_owned() };
    let pace = match stream.pace {
        Pace::Closed { clients: 1 } => "1 client".to_owned(),
        Pace::Closed { clients } => format!("{clients} clients"),
        Pace::Open { rate, gaps, .. } => format!("{rate} requests a second, {gaps:?} gaps").to_lowercase(),
    };
    let how = stream.endpoints.first().map(Endpoint::description).unwrap_or_default();
    format!("{url}: {how}; {pace}")
}

/// A number of seconds as milliseconds of a width that suits a table.
fn milliseconds(seconds: f64) -> String {
    let value = seconds * 1e3;
    let digits = if value < 10.0 {
        3
    } else if value < 1000.0 {
        2
    } else {
        0
    };
    format!("{value:.digits$}")
}

fn table(outcome: &Outcome) -> String {
    let mut out = String::new();
    let mut classes: Vec<(&str, &Measurement)> =
        outcome.classes.iter().map(|(name, measurement)| (name.as_str(), measurement)).collect();
    let total = outcome.total();
    if classes.len() > 1 {
        classes.push(("all", &total));
    }
    let width = classes.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max(5);
    // Writing to a String cannot fail; so below.
    let _ = writeln!(out, "{:width$}  requests/s    answers     errors   read rows/s   result MB/s   max ms", "class");
    for (name, measurement) in &classes {
        let _ = writeln!(
            out,
            "{name:width$}  {:>10.1}  {:>9}  {:>9}  {:>12.0}  {:>12.3}  {:>7}",
            measurement.rate(),
            measurement.answers(),
            measurement.failures(),
            measurement.per_second(measurement.summary.read_rows),
            measurement.per_second(measurement.summary.result_bytes) / 1e6,
            milliseconds(measurement.max_seconds())
        );
    }
    let heads = PERCENTILES.iter().map(|percent| format!("{:>9}", format!("{percent} %"))).collect::<String>();
    let _ = writeln!(out, "\n{:width$}  latency in ms\n{:width$}  {heads}", "class", "");
    for (name, measurement) in &classes {
        let _ = write!(out, "{name:width$}  ");
        for percent in PERCENTILES {
            let _ = write!(out, "{:>9}", milliseconds(measurement.percentile_seconds(percent)));
        }
        out.push('\n');
    }
    if total.failures() > 0 {
        out.push_str("\nErrors\n");
        for (kind, failed) in &total.failed {
            let _ =
                writeln!(out, "{:>10}  {kind}: {}", failed.count, failed.example.lines().next().unwrap_or_default());
        }
    }
    if outcome.idle_asked > 0 {
        let _ =
            writeln!(out, "\n{} of {} idle connections were open at the end", outcome.idle_open, outcome.idle_asked);
    }
    let _ = writeln!(
        out,
        "\nThe generator took {:.0} % of the machine's CPUs, {:.0} % of all work on them.",
        100.0 * outcome.effort.of_machine,
        100.0 * outcome.effort.of_work
    );
    if let Some(warning) = outcome.effort.warning() {
        let _ = writeln!(out, "Warning: {warning}.");
    }
    out
}

fn measurement_json(measurement: &Measurement) -> Value {
    let percentiles: Map<String, Value> = PERCENTILES
        .iter()
        .map(|&percent| (percent.to_string(), measurement.percentile_seconds(percent).into()))
        .collect();
    let errors: Map<String, Value> =
        measurement.failed.iter().map(|(kind, failed)| (kind.to_string(), failed.count.into())).collect();
    let (mean, deviation) = measurement.mean_seconds();
    json!({
        "requests_per_second": measurement.rate(),
        "answers": measurement.answers(),
        "errors": measurement.failures(),
        "errors_by_kind": errors,
        "elapsed_seconds": measurement.elapsed.as_secs_f64(),
        "latency_seconds": percentiles,
        "latency_mean_seconds": mean,
        "latency_stddev_seconds": deviation,
        "latency_max_seconds": measurement.max_seconds(),
        "read_rows": measurement.summary.read_rows,
        "read_bytes": measurement.summary.read_bytes,
        "result_rows": measurement.summary.result_rows,
        "result_bytes": measurement.summary.result_bytes,
    })
}

fn to_json(url: &str, outcome: &Outcome) -> Value {
    let classes: Map<String, Value> =
        outcome.classes.iter().map(|(name, measurement)| (name.clone(), measurement_json(measurement))).collect();
    json!({
        "url": url,
        "total": measurement_json(&outcome.total()),
        "classes": classes,
        "idle_connections_open": outcome.idle_open,
        "generator": {
            "share_of_machine": outcome.effort.of_machine,
            "share_of_work": outcome.effort.of_work,
            "busiest_thread": outcome.effort.busiest_thread,
            "warning": outcome.effort.warning(),
        },
    })
}

fn csv(outcome: &Outcome) -> String {
    let mut out = "class,requests_per_second,answers,errors,elapsed_seconds".to_owned();
    for percent in PERCENTILES {
        let _ = write!(out, ",latency_{percent}_percentile_seconds");
    }
    out.push_str(",latency_max_seconds,read_rows,result_bytes,generator_share_of_work\n");
    for (name, measurement) in &outcome.classes {
        let _ = write!(
            out,
            "{name},{:.3},{},{},{:.6}",
            measurement.rate(),
            measurement.answers(),
            measurement.failures(),
            measurement.elapsed.as_secs_f64()
        );
        for percent in PERCENTILES {
            let _ = write!(out, ",{:.9}", measurement.percentile_seconds(percent));
        }
        let _ = writeln!(
            out,
            ",{:.9},{},{},{:.4}",
            measurement.max_seconds(),
            measurement.summary.read_rows,
            measurement.summary.result_bytes,
            outcome.effort.of_work
        );
    }
    out
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

    fn load(arguments: &[&str]) -> Result<Load> {
        Program::try_parse_from(["run"].iter().chain(arguments)).unwrap().args.load()
    }

    #[test]
    fn arguments_make_a_load() {
        let load = load(&[
            "tcp://127.0.0.1:1",
            "-q",
            "lookup@95=SELECT v FROM t WHERE id = {id}",
            "-q",
            "SELECT 1 = 1",
            "-p",
            "id=range(1, 9)",
            "--rate",
            "50",
            "--beside",
            "8=SELECT 2",
            "--requests",
            "7",
        ])
        .unwrap();
        let [main, beside] = load.streams.as_slice() else { panic!("two streams") };
        assert_eq!(main.pace, Pace::Open { rate: 50.0, gaps: Gaps::Poisson, connections_max: 8 });
        assert_eq!((main.statements[0].class.as_str(), main.statements[0].weight), ("lookup", 95.0));
        assert!(main.statements[0].fixed_text().is_none() && !main.statements[0].expectation.looks());
        assert_eq!((main.statements[1].class.as_str(), main.statements[1].fixed_text()), ("all", Some("SELECT 1 = 1")));
        assert_eq!(beside.pace, Pace::Closed { clients: 8 });
        assert_eq!((load.limit.duration, load.limit.requests), (None, Some(7)));
    }

    #[test]
    fn what_makes_no_load_is_refused() {
        assert_eq!(load(&["tcp://127.0.0.1:1"]).unwrap_err().code, ErrorCode::BAD_ARGUMENTS);
        assert_eq!(load(&["http://127.0.0.1:1", "--beside", "SELECT 1"]).unwrap_err().code, ErrorCode::BAD_ARGUMENTS);
    }

    #[test]
    fn outcomes_are_told_in_three_ways() {
        let mut measurement = Measurement::default();
        measurement.elapsed = Duration::from_secs(2);
        measurement.record(Duration::from_millis(5), &Ok(Default::default()));
        let outcome = Outcome {
            classes: vec![("a".to_owned(), measurement)],
            elapsed: Duration::from_secs(2),
            effort: Default::default(),
            idle_open: 0,
            idle_asked: 0,
            is_broken_off: false,
        };
        assert!(table(&outcome).contains("a             0.5          1          0"), "{}", table(&outcome));
        assert_eq!(to_json("u", &outcome)["classes"]["a"]["requests_per_second"], 0.5);
        let csv = csv(&outcome);
        let [head, row] = csv.lines().collect::<Vec<_>>()[..] else { panic!("{csv}") };
        assert_eq!(head.split(',').count(), row.split(',').count());
    }
}
