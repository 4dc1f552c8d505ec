//! What the kernel says that this thread has used: CPU time in user and kernel mode, page faults, time on the run queue.

use crate::profile_events::{Counters, ProfileEvent};

/// A thread's use of the machine since it began.
#[derive(Clone, Copy, Default, Debug)]
pub struct ThreadUsage {
    user_us: u64,
    system_us: u64,
    soft_page_faults: u64,
    hard_page_faults: u64,
}

impl ThreadUsage {
    /// Of the calling thread, until now; one system call.
    pub fn now() -> Self {
        // SAFETY: an all-zero rusage is valid and the kernel fills it.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
            usage
        };
        let microseconds = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
        Self {
            user_us: microseconds(usage.ru_utime),
            system_us: microseconds(usage.ru_stime),
            soft_page_faults: usage.ru_minflt as u64,
            hard_page_faults: usage.ru_majflt as u64,
        }
    }

    /// Adds what this thread has used since `self` to `counters`.
    pub fn add_since(&self, counters: &Counters) {
        let now = Self::now();
        let (user, system) = (now.user_us.saturating_sub(self.user_us), now.system_us.saturating_sub(self.system_us));
        counters.add(ProfileEvent::UserTimeMicroseconds, user);
        counters.add(ProfileEvent::SystemTimeMicroseconds, system);
        counters.add(ProfileEvent::OSCPUVirtualTimeMicroseconds, user + system);
        counters.add(ProfileEvent::SoftPageFaults, now.soft_page_faults.saturating_sub(self.soft_page_faults));
        counters.add(ProfileEvent::HardPageFaults, now.hard_page_faults.saturating_sub(self.hard_page_faults));
    }
}

/// The kernel's id of the calling thread, as in `system.query_log.thread_ids`; asked once per thread.
pub fn thread_id() -> u64 {
    thread_local! {
        // SAFETY: gettid has no arguments and cannot fail.
        static ID: u64 = unsafe { libc::gettid() } as u64;
    }
    ID.with(|id| *id)
}

/// CPU time of the calling thread in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    // SAFETY: the kernel fills the timespec.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time);
        time
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_costs_cpu_time() {
        let (before, counters) = (ThreadUsage::now(), Counters::new());
        let cpu_ns = thread_cpu_ns();
        let mut sum = 0u64;
        while thread_cpu_ns() < cpu_ns + 20_000_000 {
            sum = std::hint::black_box(sum + 1);
        }
        before.add_since(&counters);
        assert!(counters.get(ProfileEvent::OSCPUVirtualTimeMicroseconds) > 0);
        assert!(thread_id() > 0);
    }
}
