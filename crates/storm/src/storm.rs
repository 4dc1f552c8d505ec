//! `squall storm`: measures of servers under load. A load of one's own, the suite of scenarios, the experiment over `max_threads`, overload, and analytical
//! workloads beside peers.

use squall_types::Result;

use crate::{analytics, experiment, load, overload, report, suite};

/// Measure servers under load.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    measure: Measure,
}

#[derive(Debug, clap::Subcommand)]
enum Measure {
    Run(Box<load::run::Args>),
    Suite(suite::Args),
    Experiment(experiment::Args),
    Overload(overload::Args),
    Analytics(Box<analytics::Args>),
    Report(report::Args),
    Compare(report::compare::Args),
}

/// Runs `squall storm`.
///
/// # Errors
/// As the suite that was asked for.
pub fn run(args: &Args) -> Result<()> {
    match &args.measure {
        Measure::Run(args) => load::run::run(args),
        Measure::Suite(args) => suite::run(args),
        Measure::Experiment(args) => experiment::run(args),
        Measure::Overload(args) => overload::run(args),
        Measure::Analytics(args) => analytics::run(args),
        Measure::Report(args) => report::run(args),
        Measure::Compare(args) => report::compare::run(args),
    }
}
