//! What a simulation measured.

use std::fmt;

/// Of one class of queries, in the measured time.
#[derive(Clone, Debug, Default)]
pub struct ClassOutcome {
    /// Its name.
    pub name: String,
    /// Latencies of the queries that ended, ascending, in nanoseconds.
    pub latencies_ns: Vec<u64>,
    /// CPU time that each client's queries had, where clients send them.
    pub client_cpu_ns: Vec<u64>,
}

impl ClassOutcome {
    /// The latency that such a share of the queries did not exceed, in milliseconds.
    pub fn latency_ms(&self, share: f64) -> f64 {
        let rank = (share * self.latencies_ns.len() as f64).ceil() as usize;
        self.latencies_ns.get(rank.saturating_sub(1)).map_or(f64::NAN, |latency_ns| *latency_ns as f64 / 1e6)
    }

    /// Jain's index of the CPU time that clients had: 1 where all had the same.
    pub fn fairness(&self) -> f64 {
        let of = self.client_cpu_ns.iter().map(|cpu_ns| *cpu_ns as f64);
        let (sum, squares) = of.fold((0.0, 0.0), |(sum, squares), cpu| (sum + cpu, squares + cpu * cpu));
        if squares == 0.0 { 1.0 } else { sum * sum / (self.client_cpu_ns.len() as f64 * squares) }
    }
}

/// Of one run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// By class, in the order of the workload.
    pub classes: Vec<ClassOutcome>,
    /// The measured time.
    pub duration_ns: u64,
    /// Time that cores were busy, all together.
    pub busy_ns: u64,
    /// Logical cores.
    pub cores: usize,
    /// Decisions that took the lock of `stride`, and those that did not.
    pub locked_decisions: u64,
    /// See `locked_decisions`.
    pub lock_free_decisions: u64,
    /// The longest that a runnable query waited for a worker or thread.
    pub longest_wait_ns: u64,
    /// Events that were simulated.
    pub steps: u64,
}

impl Outcome {
    /// Queries a second, of all classes.
    pub fn queries_per_second(&self) -> f64 {
        let queries: usize = self.classes.iter().map(|class| class.latencies_ns.len()).sum();
        queries as f64 * 1e9 / self.duration_ns as f64
    }

    /// The share of the machine that was busy.
    pub fn cpu_load(&self) -> f64 {
        self.busy_ns as f64 / (self.duration_ns as f64 * self.cores as f64)
    }
}

/// An invariant that did not hold; with the seed it can be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The seed of the run.
    pub seed: u64,
    /// When, in virtual time.
    pub at_ns: u64,
    /// What was wrong.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}, at {:.6} s: {}", self.seed, self.at_ns as f64 / 1e9, self.what)
    }
}

impl std::error::Error for Violation {}
