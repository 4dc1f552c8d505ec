//! `squall simulate`: the scheduler under virtual time, as tables, CSV and charts. What is simulated is `squall_scheduler::simulator`'s.

mod scaling;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};
use squall_scheduler::PolicyKind;
use squall_scheduler::simulator::workload::{CLIENTS_MAX, CORES_MAX};
use squall_scheduler::simulator::{Outcome, Workload, measured_machine, random_workload, simulate};
use squall_storm::chart::{Chart, Line};
use squall_types::{Error, ErrorCode, Result};

/// Run the scheduler under virtual time on virtual cores: the code that decides is the server's, the machine is as large as you like.
///
/// The same seed gives the same run. Invariants are checked at every step; one that does not hold ends the run with the seed that
/// replays it. docs/simulator.md says what things cost and on what that was calibrated.
#[derive(ClapArgs, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Run(RunArgs),
    Experiment(ExperimentArgs),
    Check(CheckArgs),
    Scaling(scaling::Args),
}

/// Run a workload file, for each policy, number of cores and number of clients that is asked for
#[derive(ClapArgs, Debug)]
#[command(after_help = "Examples:
  squall simulate run docs/workloads/short_beside_long.toml
  squall simulate run docs/workloads/aggregation.toml --cores 64,256,1024 --clients 1,4,16,64,256,1024,4096 --output simulated")]
struct RunArgs {
    /// The workload, TOML
    file: PathBuf,
    /// Logical cores instead of the file's
    #[arg(long, value_delimiter = ',', value_name = "N,…")]
    cores: Vec<usize>,
    /// Clients of the file's first class instead of the file's
    #[arg(long, value_delimiter = ',', value_name = "N,…")]
    clients: Vec<usize>,
    /// Policies instead of the file's
    #[arg(long, value_delimiter = ',', value_name = "POLICY,…")]
    policies: Vec<String>,
    /// Workers for each physical core of two logical ones, 2 or 1, instead of the file's
    #[arg(long, value_delimiter = ',', value_name = "N,…")]
    workers_per_core: Vec<usize>,
    /// Seed of what is random
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Folder for simulation.csv and simulation.svg
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Simulate `storm experiment` on a model of the machine of its document, beside what was measured there
#[derive(ClapArgs, Debug)]
struct ExperimentArgs {
    /// Seed of what is random
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Folder for experiment.csv and experiment.svg
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Check the invariants at every step of random workloads
#[derive(ClapArgs, Debug)]
struct CheckArgs {
    /// How many workloads
    #[arg(long, default_value_t = 1_000)]
    seeds: u64,
    /// The first one's seed; with --seeds 1, the one to replay
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Machines of so many cores and up to 4,096 clients of each class, instead of up to 64 cores and a hundred clients
    #[arg(long, value_delimiter = ',', value_name = "N,…")]
    cores: Vec<usize>,
}

/// Runs `squall simulate`.
///
/// # Errors
/// A file that cannot be read or written, a workload that makes no sense, an invariant that did not hold.
pub fn run(args: &Args) -> Result<()> {
    match &args.command {
        Command::Run(args) => run_workload(args),
        Command::Experiment(args) => run_experiment(args),
        Command::Check(args) => check(args),
        Command::Scaling(args) => scaling::run(args),
    }
}

fn bad(why: impl ToString) -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, why.to_string())
}

/// The values of an option, or the file's one.
fn or_one<T: Clone>(values: &[T], one: T) -> Vec<T> {
    if values.is_empty() { vec![one] } else { values.to_vec() }
}

fn run_workload(args: &RunArgs) -> Result<()> {
    let text = std::fs::read_to_string(&args.file)
        .map_err(|error| Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("{}: {error}", args.file.display())))?;
    let workload = Workload::from_toml(&text).map_err(|error| bad(format!("{}: {error}", args.file.display())))?;
    let policies = or_one(&args.policies, workload.scheduler.policy.clone());
    let cores = or_one(&args.cores, workload.machine.cores);
    let workers_per_core = or_one(&args.workers_per_core, workload.scheduler.workers_per_core);
    let clients = or_one(&args.clients, workload.queries.first().map_or(0, |class| class.clients));
    if cores.iter().any(|cores| *cores > CORES_MAX) || clients.iter().any(|clients| *clients > CLIENTS_MAX) {
        return Err(bad(format!("expected up to {CORES_MAX} cores and {CLIENTS_MAX} clients")));
    }
    let mut csv = String::from(
        "policy,cores,workers,clients,class,queries_per_second,p50_ms,p95_ms,p99_ms,fairness,cpu_load,locked_decisions,lock_free_decisions,longest_wait_ms\n",
    );
    println!(
        "{:<16} {:>5} {:>7} {:>7} {:<12} {:>10} {:>9} {:>9} {:>9} {:>8} {:>5} {:>9}",
        "policy",
        "cores",
        "workers",
        "clients",
        "class",
        "QPS",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "fairness",
        "CPU %",
        "lock-free"
    );
    let mut chart = Chart {
        title: "Simulated queries a second by number of clients".into(),
        panels: Vec::new(),
        x_label: "clients".into(),
        y_label: "queries a second".into(),
        ..Chart::default()
    };
    for cores in &cores {
        let mut lines = Vec::new();
        let ways = policies.iter().flat_map(|policy| workers_per_core.iter().map(move |workers| (policy, *workers)));
        for (policy, workers) in ways {
            let mut values = Vec::new();
            for clients in &clients {
                let mut workload = workload.clone();
                workload.machine.cores = *cores;
                workload.scheduler.workers_per_core = workers;
                workload.scheduler.policy.clone_from(policy);
                if let Some(class) = workload.queries.first_mut() {
                    class.clients = *clients;
                }
                let outcome = simulate(&workload, args.seed).map_err(bad)?;
                report(&mut csv, &workload, *clients, &outcome);
                values.push((u32::try_from(*clients).unwrap_or(u32::MAX), outcome.queries_per_second()));
            }
            let name = match &workers_per_core[..] {
                [_] => policy.clone(),
                _ => format!("{policy}, {workers} workers a core"),
            };
            lines.push(Line::new(&name, values));
        }
        chart.panels.push((format!("{cores} cores"), lines));
    }
    write(args.output.as_deref(), "simulation", &csv, &chart)
}

fn report(csv: &mut String, workload: &Workload, clients: usize, outcome: &Outcome) {
    let (policy, cores, workers) = (&workload.scheduler.policy, workload.machine.cores, workload.workers());
    for class in &outcome.classes {
        let rate = class.latencies_ns.len() as f64 * 1e9 / outcome.duration_ns as f64;
        let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|share| class.latency_ms(share));
        let (fairness, load) = (class.fairness(), outcome.cpu_load());
        let (locked, lock_free) = (outcome.locked_decisions, outcome.lock_free_decisions);
        let lock_free_share = 100.0 * lock_free as f64 / ((locked + lock_free) as f64).max(1.0);
        println!(
            "{policy:<16} {cores:>5} {workers:>7} {clients:>7} {:<12} {rate:>10.1} {p50:>9.2} {p95:>9.2} {p99:>9.2} {fairness:>8.3} {:>5.1} {lock_free_share:>8.1}%",
            class.name,
            100.0 * load
        );
        // Writing to a String cannot fail; so below.
        let _ = writeln!(
            csv,
            "{policy},{cores},{workers},{clients},{},{rate:.3},{p50:.4},{p95:.4},{p99:.4},{fairness:.4},{load:.4},{locked},{lock_free},{:.3}",
            class.name,
            outcome.longest_wait_ns as f64 / 1e6
        );
    }
}

fn run_experiment(args: &ExperimentArgs) -> Result<()> {
    let rate = |policy, clients, max_threads, total_max_threads| -> Result<f64> {
        let workload = measured_machine::workload(policy, clients, max_threads, total_max_threads);
        Ok(simulate(&workload, args.seed).map_err(bad)?.queries_per_second())
    };
    let mut table = RateTable::new();
    let (mut fixed, mut stride) = (Vec::new(), Vec::new());
    let (mut best_fixed, mut best_budget, mut worst_stride) = (f64::MAX, f64::MAX, 0.0_f64);
    for (threads, one, twenty) in measured_machine::MEASURED {
        let policy = PolicyKind::FixedAtStart;
        let simulated = (rate(policy, 1, threads, 0)?, rate(policy, 20, threads, 0)?);
        best_fixed = best_fixed.min(table.row("max_threads", threads as i64, Some((one, twenty)), simulated));
        fixed.push((threads as u32, simulated));
    }
    for (total, one, twenty) in measured_machine::MEASURED_WITH_BUDGET {
        let policy = PolicyKind::FixedAtStart;
        let simulated = (rate(policy, 1, 16, total)?, rate(policy, 20, 16, total)?);
        let seconds = table.row("total_max_threads", total, Some((one, twenty)), simulated);
        if (16..=32).contains(&total) {
            best_budget = best_budget.min(seconds);
        }
    }
    for (threads, _, _) in measured_machine::MEASURED {
        let simulated = (rate(PolicyKind::Stride, 1, threads, 0)?, rate(PolicyKind::Stride, 20, threads, 0)?);
        let seconds = table.row("stride", threads as i64, None, simulated);
        if threads >= 16 {
            worst_stride = worst_stride.max(seconds);
        }
        stride.push((threads as u32, simulated));
    }
    let gain = |seconds: f64| 100.0 * (1.0 - seconds / best_fixed);
    println!(
        "\nover the best fixed max_threads: total_max_threads {:.1} %, stride (max_threads from 16 on, the worst) {:.1} %",
        gain(best_budget),
        gain(worst_stride)
    );
    write(args.output.as_deref(), "experiment", &table.csv, &rate_chart(&fixed, &stride))
}

/// Queries a second of 1 client and of 20.
type Rates = (f64, f64);

/// What was measured beside what is simulated: printed row by row, and collected as CSV.
struct RateTable {
    csv: String,
}

impl RateTable {
    /// A table without rows; its head is printed.
    fn new() -> Self {
        println!(
            "{:<18} {:>7} {:>19} {:>19} {:>19}\n{:<26} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
            "",
            "",
            "QPS, 1 client",
            "QPS, 20 clients",
            "seconds together",
            "",
            "measured",
            "simulated",
            "measured",
            "simulated",
            "measured",
            "simulated"
        );
        let csv = "part,threads,clients_1_measured,clients_1_simulated,clients_20_measured,clients_20_simulated,\
                   total_s_measured,total_s_simulated\n";
        Self { csv: csv.to_owned() }
    }

    /// Adds a row; gives the seconds that the simulated queries take together.
    fn row(&mut self, part: &str, threads: i64, measured: Option<Rates>, simulated: Rates) -> f64 {
        let seconds = measured_machine::total_seconds(simulated.0, simulated.1);
        let text = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.1}"));
        let measured_seconds = measured.map(|(one, twenty)| measured_machine::total_seconds(one, twenty));
        let (one, twenty) = (text(measured.map(|rates| rates.0)), text(measured.map(|rates| rates.1)));
        let measured_seconds = text(measured_seconds);
        println!(
            "{part:<18} {threads:>7} {one:>9} {:>9.1} {twenty:>9} {:>9.1} {measured_seconds:>9} {seconds:>9.1}",
            simulated.0, simulated.1
        );
        let _ = writeln!(
            self.csv,
            "{part},{threads},{one},{:.1},{twenty},{:.1},{measured_seconds},{seconds:.1}",
            simulated.0, simulated.1
        );
        seconds
    }
}

/// The rates by `max_threads`, measured and simulated.
fn rate_chart(fixed: &[(u32, Rates)], stride: &[(u32, Rates)]) -> Chart {
    let line = |name: &str, rates: &[(u32, Rates)], of: fn(&Rates) -> f64| {
        Line::new(name, rates.iter().map(|(threads, rates)| (*threads, of(rates))))
    };
    let measured: Vec<(u32, Rates)> =
        measured_machine::MEASURED.iter().map(|(threads, one, twenty)| (*threads as u32, (*one, *twenty))).collect();
    let panel = |title: &str, of: fn(&Rates) -> f64| {
        let lines = vec![
            line("measured", &measured, of),
            line("fixed, simulated", fixed, of),
            line("stride, simulated", stride, of),
        ];
        (title.to_owned(), lines)
    };
    Chart {
        title: "Queries a second by max_threads, measured and simulated".into(),
        panels: vec![panel("1 client", |rates| rates.0), panel("20 clients", |rates| rates.1)],
        x_label: "max_threads".into(),
        y_label: "queries a second".into(),
        ..Chart::default()
    }
}

fn check(args: &CheckArgs) -> Result<()> {
    let machines: Vec<Option<usize>> = match &args.cores[..] {
        [] => vec![None],
        cores => cores.iter().copied().map(Some).collect(),
    };
    for cores in machines {
        let (option, on) =
            cores.map_or_else(Default::default, |cores| (format!(" --cores {cores}"), format!(" on {cores} cores")));
        let mut steps = 0;
        for seed in args.seed..args.seed.saturating_add(args.seeds) {
            let outcome = simulate(&random_workload(seed, cores), seed).map_err(|violation| {
                let replay = format!("squall simulate check --seeds 1 --seed {seed}{option}");
                Error::logical(format!("{violation}\nreplay it with: {replay}"))
            })?;
            steps += outcome.steps;
        }
        println!("{} workloads{on}, {steps} steps: every invariant held", args.seeds);
    }
    Ok(())
}

fn write(folder: Option<&Path>, name: &str, csv: &str, chart: &Chart) -> Result<()> {
    let Some(folder) = folder else { return Ok(()) };
    let failed =
        |error: std::io::Error| Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    std::fs::write(folder.join(format!("{name}.csv")), csv).map_err(failed)?;
    std::fs::write(folder.join(format!("{name}.svg")), chart.to_svg()).map_err(failed)
}
