//! How fast logs are written: as fast as they come where a CPU is free, and hardly at all where queries want every CPU.

use std::time::Duration;

use squall_runtime::cpu_times::{CpuTimes, thread_cpu_times};

/// Where CPUs are wanted, one part in so many of one CPU's time goes into logs.
const REST_FACTOR: u32 = 64;
/// The longest rest.
const REST_MAX: Duration = Duration::from_secs(20);

/// How long to leave the CPUs to others after work that ran for `ran` and was ready, yet had no CPU, for `waited`.
pub(super) fn rest_after(ran: Duration, waited: Duration) -> Duration {
    if waited * 4 < ran { Duration::ZERO } else { (ran * REST_FACTOR).min(REST_MAX) }
}

/// The thread's work since it began.
pub(super) struct Work {
    began: Option<CpuTimes>,
}

impl Work {
    /// Work that begins now.
    pub(super) fn begin() -> Self {
        Self { began: thread_cpu_times() }
    }

    /// The rest that it calls for so far; none where the kernel does not tell.
    pub(super) fn rest(&self) -> Duration {
        let since = |now: u64, began: u64| Duration::from_micros(now.saturating_sub(began));
        match (self.began, thread_cpu_times()) {
            (Some(began), Some(now)) => {
                rest_after(since(now.busy_us, began.busy_us), since(now.wait_us, began.wait_us))
            }
            _ => Duration::ZERO,
        }
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
