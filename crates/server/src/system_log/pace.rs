//! How fast logs are written: soon where CPUs are idle, and by no more than a hundredth of the CPUs where queries want all of them. What
//! the CPUs did is looked at while the logs rest: a thread that has slept gets its CPU at once, however many others want it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use squall_engine::QueryContext;
use squall_runtime::ProfileEvent;
use squall_runtime::cpu::logical_cpus;
use squall_runtime::cpu_times::{MachineCpuTime, machine_cpu_time, process_cpu_time};
use squall_runtime::thread_usage::thread_cpu_ns;

/// Where CPUs are wanted, logs take one part in so many of their time.
const SHARE: u32 = 100;
/// CPUs that are idle for less than this part of their time are wanted.
const IDLE_MIN: f64 = 0.25;
/// The rest between two parts where CPUs are idle: time enough to see whether they still are.
const REST_MIN: Duration = Duration::from_millis(100);
/// The longest rest; one where CPUs become idle meanwhile ends then.
const REST_MAX: Duration = Duration::from_secs(600);
/// Shorter times say nothing of the CPUs: the kernel counts in hundredths of a second.
const LOOK_MIN: Duration = Duration::from_millis(50);

/// How much is to be written at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Haste {
    /// Everything: somebody waits for it.
    Urgent,
    /// As CPUs are idle.
    Free,
    /// As others want the CPUs.
    Crowded,
}

/// The work of the thread since it began, and what the scheduler's workers do for it.
pub(super) struct Work {
    began_ns: u64,
    tasks: Vec<Arc<QueryContext>>,
}

impl Work {
    /// Work that begins now.
    pub(super) fn begin() -> Self {
        Self { began_ns: thread_cpu_ns(), tasks: Vec::new() }
    }

    /// Counts a task of the scheduler to it.
    pub(super) fn add(&mut self, task: Arc<QueryContext>) {
        self.tasks.push(task);
    }

    /// The CPU time that it took so far.
    pub(super) fn ran(&self) -> Duration {
        let of_task = |task: &Arc<QueryContext>| task.counters.get(ProfileEvent::OSCPUVirtualTimeMicroseconds);
        let own = Duration::from_nanos(thread_cpu_ns().saturating_sub(self.began_ns));
        own + Duration::from_micros(self.tasks.iter().map(of_task).sum())
    }
}

/// Rests and looks.
pub(super) struct Pace {
    since: Look,
    haste: Haste,
}

/// What was used up to a moment.
struct Look {
    at: Instant,
    machine: Option<MachineCpuTime>,
    process: Duration,
}

impl Look {
    fn now() -> Self {
        Self { at: Instant::now(), machine: machine_cpu_time(), process: process_cpu_time() }
    }
}

impl Pace {
    /// CPUs are thought idle before the first look.
    pub(super) fn begin() -> Self {
        Self { since: Look::now(), haste: Haste::Free }
    }

    /// Whether the CPUs were wanted since the last look, or since work ended.
    pub(super) fn look(&mut self) -> Haste {
        if self.since.at.elapsed() >= LOOK_MIN {
            let (before, now) = (&self.since, Look::now());
            let idle = match (before.machine, now.machine) {
                (Some(before), Some(now)) => before.idle_share(now),
                _ => None,
            };
            let available = now.at.duration_since(before.at).as_secs_f64() * logical_cpus() as f64;
            let own = now.process.saturating_sub(before.process).as_secs_f64() / available;
            self.haste = haste(idle, own);
            self.since = now;
        }
        self.haste
    }

    /// Work that took so much CPU time has ended: the rest that it calls for.
    pub(super) fn rest(&mut self, ran: Duration) -> Duration {
        self.since = Look::now();
        rest_after(ran, self.haste, logical_cpus())
    }
}

/// By the share of time in which the machine's CPUs were idle, where it is known, and the share of the CPUs that this process may use
/// in which it used them.
fn haste(idle: Option<f64>, own: f64) -> Haste {
    let is_crowded = idle.is_some_and(|idle| idle < IDLE_MIN) || own > 1.0 - IDLE_MIN;
    if is_crowded { Haste::Crowded } else { Haste::Free }
}

fn rest_after(ran: Duration, haste: Haste, cpus: usize) -> Duration {
    match haste {
        Haste::Urgent => Duration::ZERO,
        Haste::Free => REST_MIN,
        Haste::Crowded => {
            let share = u32::try_from(cpus).unwrap_or(u32::MAX).clamp(1, SHARE);
            (ran * SHARE / share).clamp(REST_MIN, REST_MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_crowded_cpus_call_for_long_rests() {
        let milliseconds = Duration::from_millis;
        assert_eq!(rest_after(milliseconds(1000), Haste::Free, 2), REST_MIN);
        assert_eq!(rest_after(milliseconds(10), Haste::Crowded, 2), milliseconds(500));
        assert_eq!(rest_after(milliseconds(10), Haste::Crowded, 64), REST_MIN);
        assert_eq!(rest_after(milliseconds(1000), Haste::Crowded, 64), milliseconds(1562) + Duration::from_micros(500));
        assert_eq!(rest_after(milliseconds(10_000), Haste::Crowded, 1), REST_MAX);
    }

    #[test]
    fn cpus_are_wanted_by_others_or_by_this_process() {
        assert_eq!(haste(Some(0.5), 0.5), Haste::Free);
        assert_eq!(haste(Some(0.1), 0.2), Haste::Crowded);
        assert_eq!(haste(Some(0.9), 0.99), Haste::Crowded);
        assert_eq!(haste(None, 0.1), Haste::Free);
    }

    #[test]
    fn a_short_time_changes_no_verdict() {
        let mut pace = Pace { haste: Haste::Crowded, ..Pace::begin() };
        assert_eq!(pace.look(), Haste::Crowded);
    }
}
