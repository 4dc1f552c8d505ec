//! How fast logs are written: as fast as they come where a CPU is free, and hardly at all where queries want every CPU.

use std::sync::Arc;
use std::time::Duration;

use squall_engine::QueryContext;
use squall_runtime::ProfileEvent;
use squall_runtime::cpu_times::{CpuTimes, thread_cpu_times};

/// Where CPUs are wanted, one part in so many of one CPU's time goes into logs.
const REST_FACTOR: u32 = 64;
/// The longest rest.
const REST_MAX: Duration = Duration::from_secs(20);

/// How long to leave the CPUs to others after work that ran for `ran` and was ready, yet had no CPU, for `waited`.
pub(super) fn rest_after(ran: Duration, waited: Duration) -> Duration {
    if waited * 4 < ran { Duration::ZERO } else { (ran * REST_FACTOR).min(REST_MAX) }
}

/// The work of the thread since it began, and what the scheduler's workers do for it.
pub(super) struct Work {
    began: Option<CpuTimes>,
    tasks: Vec<Arc<QueryContext>>,
}

impl Work {
    /// Work that begins now.
    pub(super) fn begin() -> Self {
        Self { began: thread_cpu_times(), tasks: Vec::new() }
    }

    /// Counts a task of the scheduler to it.
    pub(super) fn add(&mut self, task: Arc<QueryContext>) {
        self.tasks.push(task);
    }

    /// The rest that it calls for so far; none where the kernel does not tell.
    pub(super) fn rest(&self) -> Duration {
        let (Some(began), Some(now)) = (self.began, thread_cpu_times()) else { return Duration::ZERO };
        let of_tasks = |events: &[ProfileEvent]| -> u64 {
            let all = self.tasks.iter().flat_map(|task| events.iter().map(|event| task.counters.get(*event)));
            all.sum()
        };
        let ran = now.busy_us.saturating_sub(began.busy_us) + of_tasks(&[ProfileEvent::OSCPUVirtualTimeMicroseconds]);
        let waited = now.wait_us.saturating_sub(began.wait_us)
            + of_tasks(&[ProfileEvent::OSCPUWaitMicroseconds, ProfileEvent::SchedulerQueueWaitMicroseconds]);
        rest_after(Duration::from_micros(ran), Duration::from_micros(waited))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_crowded_cpus_call_for_rest() {
        let milliseconds = Duration::from_millis;
        assert_eq!(rest_after(milliseconds(100), milliseconds(10)), Duration::ZERO);
        assert_eq!(rest_after(milliseconds(10), milliseconds(10)), milliseconds(640));
        assert_eq!(rest_after(milliseconds(1000), milliseconds(1000)), REST_MAX);
    }
}
