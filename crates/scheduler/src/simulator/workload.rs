//! What is simulated: a machine, classes of queries with those who send them, and the policy; as read from a TOML file. Times are
//! those of one thread on a core of its own.

use serde::Deserialize;
use thiserror::Error;

use crate::policy::PolicyKind;

/// The most cores, clients and milliseconds that a simulation may have: it must fit into memory and patience.
pub const CORES_MAX: usize = 4_096;
/// See [`CORES_MAX`].
pub const CLIENTS_MAX: usize = 65_536;
/// See [`CORES_MAX`].
pub const DURATION_MAX_MS: f64 = 3_600_000.0;

/// A workload file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// What runs it.
    #[serde(default)]
    pub machine: MachineOptions,
    /// Who decides.
    #[serde(default)]
    pub scheduler: SchedulerConfig,
    /// How long.
    #[serde(default)]
    pub run: RunOptions,
    /// The classes of queries.
    #[serde(rename = "query")]
    pub queries: Vec<QueryClass>,
}

/// The machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MachineOptions {
    /// Logical cores.
    pub cores: usize,
    /// Whether each physical core is two logical ones; `cores` is even then.
    pub smt: bool,
    /// The speed of each of two logical cores that share a busy physical one, as a share of its speed alone.
    pub smt_speed: f64,
    /// Busy cores at which memory gives no more; 0 is no ceiling. Acts on the `memory_bound` share of a query's work.
    pub bandwidth_cores: f64,
    /// What a core pays to run another thread than before: the switch itself and cold caches.
    pub switch_us: f64,
    /// The shortest turn that the operating system gives a thread while others wait, and the time in which it would like all that
    /// wait on one core to have had theirs.
    pub slice_min_us: f64,
    /// See `slice_min_us`.
    pub slice_period_us: f64,
    /// How long the lock of `stride` is held for one decision; workers queue for it.
    pub lock_ns: f64,
}

impl Default for MachineOptions {
    fn default() -> Self {
        Self {
            cores: 16,
            smt: true,
            smt_speed: 0.644,
            bandwidth_cores: 0.0,
            switch_us: 760.0,
            slice_min_us: 2_600.0,
            slice_period_us: 24_000.0,
            lock_ns: 250.0,
        }
    }
}

/// The policy under which all queries run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SchedulerConfig {
    /// `concurrent_threads_scheduler`.
    pub policy: String,
    /// `total_max_threads`; 0 is unused.
    pub total_max_threads: i64,
    /// Workers, and threads of a query without `max_threads`, for each physical core of a machine whose cores are two logical ones each:
    /// 2 or 1.
    pub workers_per_core: usize,
}

impl Default for SchedulerConfig {
    fn default() -> Self {
        Self { policy: PolicyKind::default().to_string(), total_max_threads: 0, workers_per_core: 2 }
    }
}

/// How long is simulated, and what of it counts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunOptions {
    /// Virtual time at the start that is not measured.
    pub warm_up_ms: f64,
    /// Virtual time that is.
    pub duration_ms: f64,
    /// No runnable query may wait longer for its first or next worker.
    pub starvation_ms: f64,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { warm_up_ms: 500.0, duration_ms: 2_000.0, starvation_ms: 60_000.0 }
    }
}

/// Queries of one kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QueryClass {
    /// Its name in the results.
    pub name: String,
    /// Clients that each send the next query when the one before has been answered.
    pub clients: usize,
    /// Time that such a client takes between an answer and the next query, on average.
    pub think_ms: f64,
    /// Or: queries that arrive by themselves, at random, on average.
    pub arrivals_per_second: f64,
    /// Work before anything is parallel: parsing, planning.
    pub plan_ms: f64,
    /// Work that can be shared.
    pub work_ms: f64,
    /// Work that each worker adds: starting, a state of its own, having it merged.
    pub worker_ms: f64,
    /// Work after all that was shared: the last merge, the answer.
    pub finish_ms: f64,
    /// By how much the work of one query differs from that of another, as a share, at most.
    pub spread: f64,
    /// The share of the work that waits for memory.
    pub memory_bound: f64,
    /// Threads that the plan can use.
    pub parallelism: usize,
    /// `max_threads`; 0 is the number of workers.
    pub max_threads: usize,
    /// The share relative to other classes.
    pub weight: f64,
}

impl Default for QueryClass {
    fn default() -> Self {
        Self {
            name: "query".into(),
            clients: 0,
            think_ms: 0.0,
            arrivals_per_second: 0.0,
            plan_ms: 0.0,
            work_ms: 10.0,
            worker_ms: 0.0,
            finish_ms: 0.0,
            spread: 0.05,
            memory_bound: 0.0,
            parallelism: 1_024,
            max_threads: 0,
            weight: 1.0,
        }
    }
}

/// A workload that cannot be simulated.
#[derive(Debug, Error)]
pub enum WorkloadError {
    /// Not TOML, or not a workload.
    #[error(transparent)]
    Toml(#[from] toml::de::Error),
    /// A value out of its range.
    #[error("{0}")]
    Value(String),
}

impl Workload {
    /// Reads and checks a workload file.
    ///
    /// # Errors
    /// [`WorkloadError`].
    pub fn from_toml(text: &str) -> Result<Self, WorkloadError> {
        let workload: Self = toml::from_str(text)?;
        workload.check()?;
        Ok(workload)
    }

    /// The policy.
    ///
    /// # Errors
    /// Where there is none of that name.
    pub fn policy(&self) -> Result<PolicyKind, WorkloadError> {
        self.scheduler.policy.parse().map_err(WorkloadError::Value)
    }

    /// Workers under `stride`, and threads of a query without `max_threads`.
    pub fn workers(&self) -> usize {
        if self.machine.smt { self.machine.cores / 2 * self.scheduler.workers_per_core } else { self.machine.cores }
    }

    /// Checks that every value makes sense.
    ///
    /// # Errors
    /// The first that does not.
    pub fn check(&self) -> Result<(), WorkloadError> {
        self.policy()?;
        let machine = &self.machine;
        let check = |is_right: bool, what: &str| {
            if is_right { Ok(()) } else { Err(WorkloadError::Value(what.to_owned())) }
        };
        let is_time = |value: f64| (0.0..=DURATION_MAX_MS * 1_000.0).contains(&value);
        check((1..=CORES_MAX).contains(&machine.cores), "machine.cores: expected 1 to 4096")?;
        check(!machine.smt || machine.cores.is_multiple_of(2), "machine.cores: expected an even number with smt")?;
        check((1..=2).contains(&self.scheduler.workers_per_core), "scheduler.workers_per_core: expected 1 or 2")?;
        check((0.01..=1.0).contains(&machine.smt_speed), "machine.smt_speed: expected 0.01 to 1")?;
        check(machine.bandwidth_cores >= 0.0, "machine.bandwidth_cores: expected a number that is not negative")?;
        let times = [machine.switch_us, machine.slice_period_us, machine.lock_ns, self.run.warm_up_ms];
        check(times.into_iter().all(is_time), "a time is out of range")?;
        check((1.0..=1e6).contains(&machine.slice_min_us), "machine.slice_min_us: expected 1 to 1000000")?;
        check((0.0..=DURATION_MAX_MS).contains(&self.run.duration_ms), "run.duration_ms: expected up to an hour")?;
        check((1..=64).contains(&self.queries.len()), "expected 1 to 64 classes of queries")?;
        check(self.queries.iter().map(|class| class.clients).sum::<usize>() <= CLIENTS_MAX, "too many clients")?;
        for class in &self.queries {
            let times = [class.think_ms, class.plan_ms, class.work_ms, class.worker_ms, class.finish_ms];
            let is_right = times.into_iter().all(is_time)
                && class.plan_ms + class.work_ms >= 0.001
                && (0.0..=1e6).contains(&class.arrivals_per_second)
                && (0.0..=0.99).contains(&class.spread)
                && (0.0..=1.0).contains(&class.memory_bound)
                && class.parallelism > 0
                && class.weight > 0.0;
            check(is_right, &format!("query '{}': a value is out of range", class.name))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_and_checked() {
        let text = "[machine]\ncores = 64\nbandwidth_cores = 24\n[scheduler]\npolicy = \"max_min_fair\"\n\
            total_max_threads = 128\n[[query]]\nname = \"short\"\nclients = 8\nwork_ms = 5\n\
            [[query]]\nname = \"long\"\narrivals_per_second = 0.5\nwork_ms = 4000\nmemory_bound = 0.6";
        let workload = Workload::from_toml(text).unwrap();
        assert_eq!(workload.policy().unwrap(), PolicyKind::MaxMinFair);
        assert_eq!((workload.machine.cores, workload.queries.len()), (64, 2));
        for wrong in [
            "",
            "[[query]]\nwork = 5",
            "[machine]\ncores = 0\n[[query]]\nclients = 1",
            "[machine]\ncores = 3\n[[query]]\nclients = 1",
            "[scheduler]\npolicy = \"best\"\n[[query]]\nclients = 1",
            "[[query]]\nclients = 1000000",
            "[[query]]\nwork_ms = -1.0",
            "[[query]]\nwork_ms = nan",
        ] {
            assert!(Workload::from_toml(wrong).is_err(), "{wrong}");
        }
    }
}
