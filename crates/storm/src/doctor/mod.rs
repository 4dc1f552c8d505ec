//! `squall doctor`: whether a server shows the five symptoms of a thread pool that stands in its own way (document 002), and what helps.
//! `evidence` is what was seen, `finding` judges it, and this file prints.

mod evidence;
mod finding;

use std::process::ExitCode;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use squall_types::{Error, ErrorCode, Result};

use crate::http_client::ServerArgs;
use evidence::{Evidence, Machine};
use finding::{Finding, Verdict, diagnose};

/// Examine a running server, Squall or ClickHouse, for threads that wait for each other.
///
/// Looks at the server for some seconds, and into its metric_log where it has one, for five symptoms, and names the remedy of each. Only
/// reads. The exit status is 0 where nothing was found, 1 where something was, 2 where the server could not be examined. ClickHouse from
/// 18.16 on will do.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  squall doctor
  squall doctor --url http://db.example:8123 --user monitor --password secret --seconds 60
  squall doctor --url http://old.example:8123 --load-average 78.3 --idle 38
  squall doctor --json | jq '.findings[] | select(.verdict == \"found\")'")]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    /// For how many seconds to look, once a second.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// How many hours to look back in the metric_log.
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u64).range(1..=8_760))]
    history_hours: u64,
    /// The load average of the server's machine over the last minute, as its `uptime` says; for servers that do not tell it themselves,
    /// as ClickHouse before 21.9.
    #[arg(long, value_name = "LOAD", value_parser = not_negative)]
    load_average: Option<f64>,
    /// How much of the CPUs' time was idle meanwhile, in percent, as `top` or `vmstat` says.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    idle: Option<f64>,
    /// The number of its CPUs, where the server does not tell it.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    cpus: Option<u32>,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// Runs `squall doctor`; the process's exit status is the result.
///
/// # Errors
/// A server that cannot be reached or does not let the user in; a URL that is none.
pub fn run(args: &Args) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string()))?;
    let client = args.server.client()?;
    let progress = ProgressBar::new(args.seconds);
    if let Ok(style) = ProgressStyle::with_template("looking {bar:30} {pos}/{len} s") {
        progress.set_style(style);
    }
    let mut evidence =
        runtime.block_on(Evidence::gather(&client, args.seconds, args.history_hours, || progress.inc(1)))?;
    evidence.machine =
        Machine { load_average: args.load_average, idle_share: args.idle.map(|percent| percent / 100.0) };
    evidence.cpus = args.cpus.map(f64::from).or(evidence.cpus);
    progress.finish_and_clear();
    let findings = diagnose(&evidence);
    if args.json {
        let report = serde_json::json!({ "url": args.server.url, "evidence": evidence, "findings": findings });
        println!("{report:#}");
    } else {
        print!("{}", report(&args.server.url, &evidence, &findings));
    }
    let is_sick = findings.iter().any(|finding| finding.verdict == Verdict::Found);
    Ok(if is_sick { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn not_negative(text: &str) -> std::result::Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "a number is wanted".to_owned())?;
    if number.is_finite() && number >= 0.0 { Ok(number) } else { Err("a number from 0 on is wanted".to_owned()) }
}

fn percent(text: &str) -> std::result::Result<f64, String> {
    not_negative(text)
        .ok()
        .filter(|number| *number <= 100.0)
        .ok_or_else(|| "a number from 0 to 100 is wanted".to_owned())
}

/// The findings for a person.
fn report(url: &str, evidence: &Evidence, findings: &[Finding]) -> String {
    let mut out = format!("{url}: version {}\n\n", evidence.version);
    for finding in findings {
        let mark = match finding.verdict {
            Verdict::Found => "FOUND",
            Verdict::NotFound => "ok   ",
            Verdict::Unknown => "?    ",
        };
        out += &format!("{mark}  {}\n       {}\n", finding.symptom, finding.evidence);
        for remedy in &finding.remedies {
            out += &format!("       → {remedy}\n");
        }
    }
    let found = findings.iter().filter(|finding| finding.verdict == Verdict::Found).count();
    out += &match found {
        0 => "\nNo symptom was found.\n".to_owned(),
        1 => "\nOne symptom was found.\n".to_owned(),
        _ => format!("\n{found} symptoms were found.\n"),
    };
    out
}

/// How long one question may take: a server that freezes is to be seen freezing.
const PATIENCE: Duration = Duration::from_secs(10);
