//! `squall-fuzz`: runs targets, each in a process of its own, since a stack that overflows ends a process.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use squall_fuzz::coverage::Coverage;
use squall_fuzz::runner::{self, Bounds};
use squall_fuzz::targets::{self, Target};
use squall_runtime::TrackingAllocator;

/// Counts what inputs take.
#[global_allocator]
static ALLOCATOR: TrackingAllocator<std::alloc::System> = TrackingAllocator(std::alloc::System);

/// Gives hostile bytes to everything that reads bytes.
#[derive(Parser, Debug)]
struct Args {
    /// Targets; all of them where none is named
    targets: Vec<String>,
    /// Inputs for each target
    #[arg(long, default_value_t = 100_000)]
    inputs: u64,
    /// Seconds for each target
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// What random numbers begin with
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Targets that run at once
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Folder for inputs that took many branches for the first time: a folder for each target, as in fuzz/corpus
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Folder for inputs that something was wrong with
    #[arg(long, default_value = "fuzz-findings")]
    output: PathBuf,
    /// Give one input of a file to one target
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Run in this process
    #[arg(long, hide = true)]
    here: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let is_wanted = |target: &&Target| args.targets.is_empty() || args.targets.iter().any(|name| name == target.name);
    let wanted: Vec<&Target> = targets::ALL.iter().filter(is_wanted).collect();
    if wanted.is_empty() {
        let names: Vec<&str> = targets::ALL.iter().map(|target| target.name).collect();
        eprintln!("There is no such target; there are {}", names.join(", "));
        return ExitCode::FAILURE;
    }
    if let Some(file) = &args.replay {
        return replay(&wanted, file);
    }
    if let Err(error) = fs::create_dir_all(&args.output) {
        eprintln!("{}: {error}", args.output.display());
        return ExitCode::FAILURE;
    }
    let is_well = if args.here {
        wanted.iter().filter(|target| !run_here(target, &args)).count() == 0
    } else {
        run_all_apart(&wanted, &args)
    };
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs targets, `--jobs` at once.
fn run_all_apart(wanted: &[&Target], args: &Args) -> bool {
    let (next, is_well) = (AtomicUsize::new(0), AtomicBool::new(true));
    std::thread::scope(|scope| {
        for _ in 0..args.jobs.clamp(1, wanted.len()) {
            scope.spawn(|| {
                while let Some(target) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                    is_well.fetch_and(run_apart(target, args), Ordering::Relaxed);
                }
            });
        }
    });
    is_well.into_inner()
}

fn replay(wanted: &[&Target], file: &Path) -> ExitCode {
    let ([target], Ok(input)) = (wanted, fs::read(file)) else {
        eprintln!("--replay wants one target and a file that can be read");
        return ExitCode::FAILURE;
    };
    match runner::give(target, &input) {
        Ok(()) => ExitCode::SUCCESS,
        Err(finding) => {
            eprintln!("{}: {finding}", target.name);
            ExitCode::FAILURE
        }
    }
}

/// The file that holds the input that is being given.
fn current(target: &Target, args: &Args) -> PathBuf {
    args.output.join(format!("{}-current", target.name))
}

fn run_here(target: &Target, args: &Args) -> bool {
    std::panic::set_hook(Box::new(|_| {}));
    let mut file = fs::File::create(current(target, args)).ok();
    let bounds = Bounds { inputs: args.inputs, time: Duration::from_secs(args.seconds), seed: args.seed };
    let began = Instant::now();
    let report = runner::run(target, bounds, |input| {
        let Some(file) = &mut file else { return };
        let written = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(input));
        let _ = written.and_then(|()| file.set_len(input.len() as u64));
    });
    let coverage = if Coverage::is_there() { format!(", {} branches", report.branches) } else { String::new() };
    println!(
        "{:10} {:>9} inputs in {:>5} s, {:>5} kept{coverage}, {} findings",
        target.name,
        report.inputs,
        began.elapsed().as_secs(),
        report.corpus,
        report.findings.len()
    );
    if let Some(folder) = args.keep.as_ref().map(|folder| folder.join(target.name)) {
        let _ = fs::create_dir_all(&folder);
        for input in &report.worth {
            let _ = fs::write(folder.join(format!("{:016x}", cityhash_rs::cityhash_102_128(input) as u64)), input);
        }
    }
    for (number, (finding, input)) in report.findings.iter().enumerate() {
        let path = args.output.join(format!("{}-{number}", target.name));
        let _ = fs::write(&path, input);
        println!("  {}: {}", path.display(), finding.lines().next().unwrap_or_default());
    }
    report.findings.is_empty()
}

/// Runs a target in a process of its own. What ends the process is a finding, too.
fn run_apart(target: &Target, args: &Args) -> bool {
    let Ok(program) = std::env::current_exe() else { return false };
    let status = Command::new(program)
        .args([target.name, "--here", "--inputs", &args.inputs.to_string(), "--seconds", &args.seconds.to_string()])
        .args(["--seed", &args.seed.to_string(), "--output"])
        .arg(&args.output)
        .args(args.keep.iter().flat_map(|folder| ["--keep".as_ref(), folder.as_os_str()]))
        .status();
    let current = current(target, args);
    match status {
        Ok(status) if status.code().is_some() => {
            let _ = fs::remove_file(current);
            status.success()
        }
        Ok(status) => {
            let path = args.output.join(format!("{}-fatal", target.name));
            let _ = fs::rename(current, &path);
            println!("{:10} the process ended: {status}: {}", target.name, path.display());
            false
        }
        Err(error) => {
            println!("{:10} cannot be run: {error}", target.name);
            false
        }
    }
}
