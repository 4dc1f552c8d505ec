//! `squall flamegraph`: from the traces in a server's `system.trace_log` to a picture. The server counts and names them
//! (`flameGraph`), the `inferno` library draws.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use inferno::flamegraph::color::{MultiPalette, Palette};
use inferno::flamegraph::{Options, from_lines};
use squall_types::{Error, ErrorCode, Result};

use crate::http_client::{Failure, ServerArgs};

/// How long the server may take: the first time it reads its own debug information for the names.
const PATIENCE: Duration = Duration::from_secs(120);

/// Draw where a server's threads spent their time, as a flame graph in SVG.
///
/// The traces are those that the sampling profiler left in system.trace_log, of Squall or of ClickHouse from 23.8 on: of queries whose
/// settings query_profiler_cpu_time_period_ns and query_profiler_real_time_period_ns are not 0, which by default take one each second.
/// Open the SVG in a browser: frames can be clicked and searched.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  squall flamegraph --minutes 10 --output cpu.svg
  squall flamegraph --type real --query-id 3f0c4d5e-… --output waits.svg
  squall flamegraph --where \"query_id IN (SELECT query_id FROM system.query_log WHERE user = 'reports')\" > reports.svg
  squall flamegraph --collapsed | sort -t' ' -k2 -n
  curl 'http://127.0.0.1:8123/?query_profiler_cpu_time_period_ns=1000000&query_id=slow' -d 'SELECT …' && squall flamegraph --query-id slow > slow.svg")]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    /// Which traces: of CPU time used, or of real time, which shows waits too.
    #[arg(long = "type", value_enum, default_value_t = TraceType::Cpu)]
    trace_type: TraceType,
    /// Of one query only.
    #[arg(long, value_name = "ID")]
    query_id: Option<String>,
    /// How far to look back.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=5_256_000))]
    minutes: u64,
    /// A further condition over system.trace_log, in SQL.
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,
    /// Write lines of "outermost;…;innermost count" instead of a picture.
    #[arg(long)]
    collapsed: bool,
    /// Where to write; standard output without it.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum TraceType {
    Cpu,
    Real,
}

impl Args {
    /// The statement that gives the lines.
    fn sql(&self) -> String {
        let kind = match self.trace_type {
            TraceType::Cpu => "CPU",
            TraceType::Real => "Real",
        };
        let seconds = self.minutes * 60;
        let mut sql = format!(
            "SELECT arrayJoin(flameGraph(arrayReverse(trace))) FROM system.trace_log WHERE trace_type = '{kind}' \
             AND event_date >= toDate(now() - {seconds}) AND event_time >= now() - {seconds}"
        );
        if let Some(query_id) = &self.query_id {
            sql += &format!(" AND query_id = '{}'", query_id.replace('\\', "\\\\").replace('\'', "\\'"));
        }
        if let Some(condition) = &self.condition {
            sql += &format!(" AND ({condition})");
        }
        sql + " SETTINGS allow_introspection_functions = 1 FORMAT TSVRaw"
    }

    fn title(&self) -> String {
        let time = match self.trace_type {
            TraceType::Cpu => "CPU time",
            TraceType::Real => "Real time",
        };
        match &self.query_id {
            Some(query_id) => format!("{time} of query {query_id}"),
            None => format!("{time} of {}", self.server.url),
        }
    }
}

/// Runs `squall flamegraph`.
///
/// # Errors
/// A server that cannot be reached or does not answer; no traces; a file that cannot be written.
pub fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string()))?;
    let client = args.server.client()?;
    let lines = runtime.block_on(async {
        // Traces of the last seconds may wait to be written. Who may not ask for that does without them.
        let _ = client.query("SYSTEM FLUSH LOGS", PATIENCE).await;
        client.query(&args.sql(), PATIENCE).await
    });
    let lines = lines.map_err(|failure| match failure {
        Failure::Error(error) => error,
        Failure::Timeout => {
            Error::new(ErrorCode::TIMEOUT_EXCEEDED, format!("No answer within {} s", PATIENCE.as_secs()))
        }
    })?;
    let picture = if args.collapsed { lines.into_bytes() } else { draw(&lines, &args.title())? };
    let written = match &args.output {
        Some(path) => std::fs::write(path, &picture),
        None => std::io::stdout().lock().write_all(&picture),
    };
    written.map_err(|error| Error::new(ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR, error.to_string()))
}

/// The picture of collapsed stacks.
///
/// # Errors
/// `BAD_ARGUMENTS` where there are none.
fn draw(lines: &str, title: &str) -> Result<Vec<u8>> {
    if lines.trim().is_empty() {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            "No traces. Is trace_log among the server's logs, did queries run longer than the periods \
             query_profiler_cpu_time_period_ns and query_profiler_real_time_period_ns, and within --minutes?",
        ));
    }
    let mut options = Options::default();
    title.clone_into(&mut options.title);
    options.colors = Palette::Multi(MultiPalette::Rust);
    let mut picture = Vec::new();
    from_lines(&mut options, lines.lines(), &mut picture)
        .map_err(|error| Error::new(ErrorCode::BAD_ARGUMENTS, format!("Cannot draw the traces: {error}")))?;
    Ok(picture)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    fn args(words: &[&str]) -> Args {
        Command::try_parse_from([&["flamegraph"], words].concat()).unwrap().args
    }

    #[test]
    fn arguments_become_a_condition() {
        let sql = args(&["--type", "real", "--minutes", "2", "--query-id", "it's", "--where", "a OR b"]).sql();
        assert!(sql.contains("WHERE trace_type = 'Real' AND"), "{sql}");
        assert!(sql.contains("event_time >= now() - 120 AND query_id = 'it\\'s' AND (a OR b) SETTINGS"), "{sql}");
        assert!(args(&[]).sql().contains("trace_type = 'CPU'"));
    }

    #[test]
    fn stacks_become_a_picture() {
        let picture = draw("main;f<T>;g 3\nmain;h 1\n", "T").unwrap();
        let text = String::from_utf8(picture).unwrap();
        assert!(text.contains("<svg") && text.contains("<title>f&lt;T&gt; (3 samples, 75.00%)</title>"), "{text}");
        assert_eq!(draw("\n", "T").unwrap_err().code, ErrorCode::BAD_ARGUMENTS);
    }
}
