//! `SERVER_OVERLOADED`: how long this process's threads waited for a CPU in the last second, and whether a query is refused for it.
//! The rule is `squall_scheduler::admission::CpuOverload`; here are its figures and its dice.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use squall_runtime::cpu_times::{CpuTimes, process_cpu_times};
use squall_runtime::{ProfileEvent, profile_events};
use squall_scheduler::admission::CpuOverload;
use squall_types::{Error, ErrorCode, Result, Settings};

/// The last second's figures.
#[derive(Debug, Default)]
pub struct OverloadMonitor {
    busy_us: AtomicU64,
    wait_us: AtomicU64,
    /// A query has asked since the last sample: without one nothing is measured.
    is_wanted: AtomicBool,
    before: Mutex<Option<CpuTimes>>,
}

impl OverloadMonitor {
    /// Whether a query may start; by chance, the more likely refused the longer threads wait.
    ///
    /// # Errors
    /// `SERVER_OVERLOADED`.
    pub fn check(&self, settings: &Settings, busy_us_min: u64) -> Result<()> {
        let rule = CpuOverload {
            ratio_min: settings.min_os_cpu_wait_time_ratio_to_throw,
            ratio_max: settings.max_os_cpu_wait_time_ratio_to_throw,
            busy_us_min,
        };
        if rule.ratio_max <= 0.0 {
            return Ok(());
        }
        self.is_wanted.store(true, Ordering::Relaxed);
        let (busy_us, wait_us) = (self.busy_us.load(Ordering::Relaxed), self.wait_us.load(Ordering::Relaxed));
        if rand::random::<f64>() >= rule.probability(busy_us, wait_us) {
            return Ok(());
        }
        profile_events::GLOBAL.add(ProfileEvent::ServerOverloadedRejections, 1);
        let message = format!(
            "CPU is overloaded, CPU is waiting for execution way more than executing, ratio of wait time \
             (OSCPUWaitMicroseconds metric) to busy time (OSCPUVirtualTimeMicroseconds metric) is {:.2}. Min ratio for \
             error {}, max ratio for error {}",
            wait_us as f64 / busy_us.max(1) as f64,
            rule.ratio_min,
            rule.ratio_max
        );
        Err(Error::new(ErrorCode::SERVER_OVERLOADED, message).with_retry_after_s(1))
    }

    /// Forgets the last figures: for a while no query has run.
    pub fn rest(&self) {
        *self.before.lock() = None;
        self.busy_us.store(0, Ordering::Relaxed);
        self.wait_us.store(0, Ordering::Relaxed);
    }

    /// Takes the figures since the last call, which was a second ago; without queries that want them, nothing.
    pub fn sample(&self) {
        if !self.is_wanted.swap(false, Ordering::Relaxed) {
            return self.rest();
        }
        let mut before = self.before.lock();
        let now = process_cpu_times();
        if let Some(before) = before.replace(now) {
            self.busy_us.store(now.busy_us.saturating_sub(before.busy_us), Ordering::Relaxed);
            self.wait_us.store(now.wait_us.saturating_sub(before.wait_us), Ordering::Relaxed);
        }
    }
}
