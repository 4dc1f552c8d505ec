//! `squall storm`: measures of servers under load. The experiment of the `total_max_threads` proposal, and overload.

use squall_types::Result;

use crate::{experiment, overload};

/// Measure servers under load, on this machine, with servers that are started and stopped for it.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Debug, clap::Subcommand)]
enum Suite {
    Experiment(experiment::Args),
    Overload(overload::Args),
}

/// Runs `squall storm`.
///
/// # Errors
/// As the suite that was asked for.
pub fn run(args: &Args) -> Result<()> {
    match &args.suite {
        Suite::Experiment(args) => experiment::run(args),
        Suite::Overload(args) => overload::run(args),
    }
}
