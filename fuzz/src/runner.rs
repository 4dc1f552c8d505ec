//! Gives a target inputs, and holds it to its limits: no panic, no input over a second, no memory beyond what a query may have.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use squall_runtime::MemoryTracker;
use squall_runtime::memory::{attach, take_thread_bytes};

use crate::coverage::Coverage;
use crate::mutator::{Random, mutate};
use crate::targets::Target;

/// What an input may take.
const TIME_MAX: Duration = Duration::from_secs(1);
/// What the query has whose input it is, and how far one step may go beyond.
const QUERY_BYTES_MAX: u64 = 256 << 20;
const OVERRUN_BYTES_MAX: i64 = 64 << 20;
/// Inputs that are kept to be changed further.
const CORPUS_MAX: usize = 4096;
/// Branches that nobody took before make an input worth keeping for later runs, if they are so many.
const WORTH_BRANCHES: usize = 10;

/// What a run came to.
#[derive(Debug, Default)]
pub struct Report {
    /// Inputs that were given.
    pub inputs: u64,
    /// Those that are worth changing.
    pub corpus: usize,
    /// Branches that were taken, where they are counted.
    pub branches: usize,
    /// Inputs that took many branches for the first time.
    pub worth: Vec<Vec<u8>>,
    /// What was wrong, each with the input.
    pub findings: Vec<(String, Vec<u8>)>,
}

/// When a run ends.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Inputs beside those of the corpus.
    pub inputs: u64,
    /// The longest that it takes.
    pub time: Duration,
    /// What the random numbers begin with.
    pub seed: u64,
}

/// The folder of the corpora.
pub fn corpora() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// Runs a target on its corpus and on what is made of it. `before` sees each input before it is given: it may be the last.
pub fn run(target: &Target, bounds: Bounds, mut before: impl FnMut(&[u8])) -> Report {
    let mut corpus = (target.seeds)();
    if let Ok(files) = std::fs::read_dir(corpora().join(target.name)) {
        let mut files: Vec<_> = files.flatten().map(|file| file.path()).collect();
        files.sort();
        corpus.extend(files.iter().filter_map(|file| std::fs::read(file).ok()));
    }
    let mut coverage = Coverage::default();
    let mut report = Report::default();
    let mut give = |input: &[u8], report: &mut Report| {
        before(input);
        report.inputs += 1;
        if let Err(finding) = give(target, input) {
            report.findings.push((finding, input.to_vec()));
        }
        let before = coverage.branches;
        let is_new = coverage.take();
        report.branches = coverage.branches;
        (is_new, coverage.branches - before)
    };
    for input in &corpus {
        give(input, &mut report);
    }
    let mut random = Random::new(bounds.seed);
    let end = Instant::now() + bounds.time;
    for number in 0..bounds.inputs {
        if number % 64 == 0 && (Instant::now() > end || report.findings.len() > 16) {
            break;
        }
        let input = mutate(&mut random, &corpus, target.words);
        let (is_new, branches) = give(&input, &mut report);
        if branches >= WORTH_BRANCHES {
            report.worth.push(input.clone());
        }
        if is_new {
            if corpus.len() < CORPUS_MAX {
                corpus.push(input);
            } else {
                let at = random.below(CORPUS_MAX);
                corpus.get_mut(at).into_iter().for_each(|place| place.clone_from(&input));
            }
        }
    }
    report.corpus = corpus.len();
    report
}

/// Gives one input.
///
/// # Errors
/// What was wrong.
pub fn give(target: &Target, input: &[u8]) -> Result<(), String> {
    let began = Instant::now();
    let query = Arc::new(MemoryTracker::query(QUERY_BYTES_MAX, None));
    let attached = attach(query.clone());
    take_thread_bytes();
    let result = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let peak_bytes = take_thread_bytes().peak_bytes;
    drop(attached);
    let elapsed = began.elapsed();
    if let Err(panic) = result {
        let text = panic.downcast_ref::<String>().cloned();
        return Err(text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default());
    }
    if elapsed > TIME_MAX {
        return Err(format!("took {elapsed:?}"));
    }
    if peak_bytes > QUERY_BYTES_MAX as i64 + OVERRUN_BYTES_MAX {
        return Err(format!("took {} MiB of memory", peak_bytes >> 20));
    }
    Ok(())
}
