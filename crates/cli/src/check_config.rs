//! `squall check-config`: what a server would make of a configuration, without starting one.

use std::path::PathBuf;
use std::process::ExitCode;

use squall_server::config::{ConfigSource, Findings};

/// Columns of a line of names.
const LINE_COLUMNS: usize = 100;

/// Say what each element of a configuration would do, without starting a server.
///
/// Every element is in force, has no effect and needs none, is not implemented and warned of, or guards something that nothing would guard: the
/// last stops the start. conf.d, config.d, users.xml and users.d beside the file are read too.
#[derive(clap::Args, Debug)]
#[command(after_help = "The exit code is 0 where a server would start, and 1 where it would not.

Examples:
  squall check-config /etc/clickhouse-server/config.xml
  squall check-config config.xml && squall server --config-file config.xml")]
pub struct Args {
    /// ClickHouse's config.xml
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Checks, and prints what was found.
pub fn run(args: Args) -> ExitCode {
    let source = ConfigSource { config_file: Some(args.file.clone()), ..ConfigSource::default() };
    match squall_server::check_config(&source) {
        Ok(findings) => {
            print!("{}", report(&findings));
            let starts = findings.stops.is_empty();
            let verdict = if starts { "would start" } else { "would not start" };
            println!("A server with {} {verdict}.", args.file.display());
            if starts { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn report(findings: &Findings) -> String {
    let mut text = String::new();
    for (title, lines) in [
        ("Stops the start, because nothing would guard what it guards", &findings.stops),
        ("Warned of when a server starts", &findings.warnings),
        ("Without effect, and needs none", &findings.harmless),
        ("In force", &names(&findings.in_force)),
    ] {
        if !lines.is_empty() {
            text.push_str(&format!("{title}:\n"));
            lines.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
            text.push('\n');
        }
    }
    text
}

/// Names in lines that fit.
fn names(names: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        match lines.last_mut() {
            Some(line) if line.len() + name.len() + 2 <= LINE_COLUMNS => {
                line.push_str(", ");
                line.push_str(name);
            }
            _ => lines.push(name.clone()),
        }
    }
    lines
}
