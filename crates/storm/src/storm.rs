//! `squall storm`: measures of servers under load. A load of one's own, the experiment of the `total_max_threads` proposal, and overload.

use squall_types::Result;

use crate::{experiment, load, overload};

/// Measure servers under load.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Debug, clap::Subcommand)]
enum Suite {
    Run(Box<load::run::Args>),
    Experiment(experiment::Args),
    Overload(overload::Args),
}

/// Runs `squall storm`.
///
/// # Errors
/// As the suite that was asked for.
pub fn run(args: &Args) -> Result<()> {
    match &args.suite {
        Suite::Run(args) => load::run::run(args),
        Suite::Experiment(args) => experiment::run(args),
        Suite::Overload(args) => overload::run(args),
    }
}
