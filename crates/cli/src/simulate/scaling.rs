//! `squall simulate scaling`: what more cores would make of queries that were measured on one thread and on two. Each query is taken apart
//! into what one thread does alone, what can be shared, and what each further worker adds; the simulator puts it together again on
//! machines of any size.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use squall_scheduler::simulator::workload::{CORES_MAX, MachineOptions, QueryClass, RunOptions, SchedulerConfig};
use squall_scheduler::simulator::{Workload, simulate};
use squall_storm::chart::{Chart, Line};
use squall_storm::csv::records;
use squall_types::{Error, ErrorCode, Result};

use super::{bad, write};

/// Simulate how queries that `squall storm analytics` measured with --threads 1,2 would run on more cores
#[derive(ClapArgs, Debug)]
#[command(after_help = "Examples:
  squall storm analytics clickbench --work bench --threads 1,2
  squall simulate scaling storm-results/clickbench.csv --output simulated")]
pub struct Args {
    /// The CSV of squall storm analytics
    file: PathBuf,
    /// Physical cores
    #[arg(long, value_delimiter = ',', value_name = "N,…", default_value = "1,2,4,8,16,32,64,128,256")]
    cores: Vec<usize>,
    /// Cores that take all that memory gives, for the share --memory-bound of the work; 0 is no such limit
    #[arg(long, default_value_t = 0.0, value_name = "CORES")]
    bandwidth_cores: f64,
    /// The share of the work that waits for memory
    #[arg(long, default_value_t = 0.5, value_name = "SHARE")]
    memory_bound: f64,
    /// Seed of what is random
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Folder for scaling.csv and scaling.svg
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// What a worker pays that comes to a query: it is woken. Cold caches are in what was measured.
const WAKE_UP_US: f64 = 5.0;

/// A query, as it was measured.
#[derive(Debug, PartialEq)]
struct Measured {
    name: String,
    /// Milliseconds on one thread and on two.
    times_ms: [f64; 2],
    /// CPU time on one thread and on two.
    cpu_ms: [f64; 2],
}

/// What a query is made of, in milliseconds of one core.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pieces {
    /// What one thread does while nothing else can be done.
    alone_ms: f64,
    /// What threads share.
    shared_ms: f64,
    /// What each worker adds.
    worker_ms: f64,
}

impl Pieces {
    /// One worker takes `alone + shared + worker`, two take `alone + (shared + 2 worker) / 2` and `worker` more of CPU time.
    fn of(measured: &Measured) -> Self {
        let ([one_ms, two_ms], [cpu_one_ms, cpu_two_ms]) = (measured.times_ms, measured.cpu_ms);
        let worker_ms = (cpu_two_ms - cpu_one_ms).clamp(0.0, one_ms / 2.0);
        let shared_ms = (2.0 * (one_ms - two_ms)).clamp(0.0, one_ms - worker_ms);
        Self { alone_ms: one_ms - worker_ms - shared_ms, shared_ms, worker_ms }
    }

    /// Milliseconds from the query to its answer on so many cores.
    fn simulated_ms(self, args: &Args, cores: usize) -> Result<f64> {
        const QUERIES: f64 = 20.0;
        let all_ms = self.alone_ms + self.shared_ms + self.worker_ms;
        let workload = Workload {
            machine: MachineOptions {
                cores,
                smt: false,
                bandwidth_cores: args.bandwidth_cores,
                switch_us: WAKE_UP_US,
                ..MachineOptions::default()
            },
            run: RunOptions { warm_up_ms: 2.0 * all_ms, duration_ms: QUERIES * all_ms, ..RunOptions::default() },
            queries: vec![QueryClass {
                name: "query".to_owned(),
                clients: 1,
                plan_ms: self.alone_ms.max(0.01),
                work_ms: self.shared_ms,
                worker_ms: self.worker_ms,
                finish_ms: 0.0,
                memory_bound: if args.bandwidth_cores > 0.0 { args.memory_bound } else { 0.0 },
                parallelism: CORES_MAX,
                ..QueryClass::default()
            }],
            scheduler: SchedulerConfig::default(),
        };
        let outcome = simulate(&workload, args.seed).map_err(bad)?;
        Ok(1e3 / outcome.queries_per_second().max(1e-9))
    }
}

/// Runs `squall simulate scaling`.
///
/// # Errors
/// A file that cannot be read or is no such CSV; a folder that cannot be written.
pub fn run(args: &Args) -> Result<()> {
    if args.cores.is_empty() || args.cores.iter().any(|cores| !(1..=CORES_MAX).contains(cores)) {
        return Err(bad(format!("expected 1 to {CORES_MAX} cores")));
    }
    let text = std::fs::read_to_string(&args.file)
        .map_err(|error| Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("{}: {error}", args.file.display())))?;
    let queries = measured(&text).map_err(|why| bad(format!("{}: {why}", args.file.display())))?;
    let mut csv = String::from("query,alone_ms,shared_ms,worker_ms");
    args.cores.iter().for_each(|cores| {
        // Writing to a String cannot fail; so below.
        let _ = write!(csv, ",cores_{cores}_ms");
    });
    csv.push('\n');
    let mut times = vec![Vec::new(); args.cores.len()];
    for query in &queries {
        let pieces = Pieces::of(query);
        let _ = write!(csv, "{},{:.3},{:.3},{:.3}", query.name, pieces.alone_ms, pieces.shared_ms, pieces.worker_ms);
        for (cores, times) in args.cores.iter().zip(&mut times) {
            let ms = pieces.simulated_ms(args, *cores)?;
            let _ = write!(csv, ",{ms:.3}");
            times.push(ms);
        }
        csv.push('\n');
    }
    let one: Vec<f64> = queries.iter().map(|query| query.times_ms[0]).collect();
    let two: Vec<f64> = queries.iter().map(|query| query.times_ms[1]).collect();
    println!("{} queries; against one thread as it was measured\n", queries.len());
    println!("{:>9} {:>12} {:>22} {:>18}", "cores", "sum, ms", "speed-up, geom. mean", "of the sum");
    let line = |name: &str, times: &[f64]| {
        let (gain, of_sum) = (speed_up(&one, times), one.iter().sum::<f64>() / times.iter().sum::<f64>());
        println!("{name:>9} {:>12.1} {gain:>22.2} {of_sum:>18.2}", times.iter().sum::<f64>());
        gain
    };
    line("2 (real)", &two);
    let gains: Vec<f64> = args.cores.iter().zip(&times).map(|(cores, times)| line(&cores.to_string(), times)).collect();
    let values = |gains: &mut dyn Iterator<Item = f64>| -> Vec<(u32, f64)> {
        args.cores.iter().map(|cores| u32::try_from(*cores).unwrap_or(u32::MAX)).zip(gains).collect()
    };
    let of_sum = times.iter().map(|times| one.iter().sum::<f64>() / times.iter().sum::<f64>());
    let chart = Chart {
        title: "Simulated speed-up over one thread".into(),
        panels: vec![(
            format!("{} queries", queries.len()),
            vec![
                Line::new("geometric mean", values(&mut gains.iter().copied())),
                Line::new("of the sum of times", values(&mut of_sum.into_iter())),
            ],
        )],
        x_label: "cores".into(),
        y_label: "times as fast".into(),
        ..Chart::default()
    };
    write(args.output.as_deref(), "scaling", &csv, &chart)
}

fn speed_up(one: &[f64], other: &[f64]) -> f64 {
    let logarithms = one.iter().zip(other).map(|(one, other)| (one / other.max(1e-9)).ln());
    (logarithms.sum::<f64>() / one.len().max(1) as f64).exp()
}

/// Squall's queries that were measured on one thread and on two, with their CPU times.
fn measured(text: &str) -> Result<Vec<Measured>, String> {
    let records = records(text);
    let (head, rows) = records.split_first().ok_or("the file is empty")?;
    let column = |name: &str| {
        head.iter()
            .position(|field| field == name)
            .ok_or_else(|| format!("there is no column {name}: it is not of squall storm analytics"))
    };
    let [engine, query, threads, hot_ms, cpu_ms] = ["engine", "query", "threads", "hot_ms", "cpu_ms"].map(column);
    let (engine, query, threads, hot_ms, cpu_ms) = (engine?, query?, threads?, hot_ms?, cpu_ms?);
    let number = |row: &[String], at: usize| row.get(at).and_then(|field| field.parse::<f64>().ok());
    let times_of = |row: &[String]| Some((number(row, hot_ms)?, number(row, cpu_ms)?));
    let is = |row: &[String], at: usize, value: &str| row.get(at).is_some_and(|field| field == value);
    let of_squall = || rows.iter().filter(|row| is(row, engine, "squall"));
    let queries: Vec<Measured> = of_squall()
        .filter(|row| is(row, threads, "1"))
        .filter_map(|first| {
            let name = first.get(query)?;
            let second = of_squall().find(|row| is(row, threads, "2") && is(row, query, name))?;
            let ((one_ms, cpu_one_ms), (two_ms, cpu_two_ms)) = (times_of(first)?, times_of(second)?);
            Some(Measured { name: name.clone(), times_ms: [one_ms, two_ms], cpu_ms: [cpu_one_ms, cpu_two_ms] })
        })
        .collect();
    if queries.is_empty() {
        return Err("no query of Squall was measured with --threads 1,2 and its CPU time".to_owned());
    }
    Ok(queries)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: &str = "workload,query,engine,threads,rows,run1_ms,hot_ms,cpu_ms,error\n\
        ssb,q1,squall,1,1,9,100,100,\nssb,q1,squall,2,1,9,55,110,\nssb,q1,chdb,1,1,9,7,,\n\
        ssb,q2,squall,1,1,9,10,10,\nssb,q2,squall,2,1,,,,failed\n";

    #[test]
    fn queries_are_taken_apart_and_put_together() {
        let queries = measured(CSV).unwrap();
        let [query] = &queries[..] else { panic!("{queries:?}") };
        assert_eq!(*query, Measured { name: "q1".to_owned(), times_ms: [100.0, 55.0], cpu_ms: [100.0, 110.0] });
        let pieces = Pieces::of(query);
        assert_eq!(pieces, Pieces { alone_ms: 0.0, shared_ms: 90.0, worker_ms: 10.0 });
        let args = Args {
            file: PathBuf::new(),
            cores: Vec::new(),
            bandwidth_cores: 0.0,
            memory_bound: 0.5,
            seed: 0,
            output: None,
        };
        for (cores, expected_ms) in [(1, 100.0), (2, 55.0), (8, 22.0)] {
            let ms = pieces.simulated_ms(&args, cores).unwrap();
            assert!((ms / expected_ms - 1.0).abs() < 0.15, "{cores} cores: {ms} ms");
        }
    }

    #[test]
    fn other_files_are_refused() {
        assert!(measured("").is_err() && measured("a,b\n1,2\n").is_err());
        assert!(measured(&CSV.replace(",squall,2,", ",squall,4,")).unwrap_err().contains("--threads 1,2"));
    }
}
