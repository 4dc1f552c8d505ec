//! What the kernel says that this thread has used: CPU time in user and kernel mode, page faults, time ready without a CPU. Asking costs
//! system calls, and a storm's queries are shorter than those: a stretch of work that follows closely on another one of its thread
//! begins where that ended.

use std::cell::{Cell, OnceCell};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use crate::profile_events::{Counters, ProfileEvent};
use crate::thread_io::ThreadIo;

/// Work that begins so soon after the last reading begins with that reading: what lies between is mostly the request being read.
const REUSE: Duration = Duration::from_micros(20);
/// What shorter work read and wrote is not asked for: it counts for what the thread does next. Most queries of a storm are shorter.
const IO_MIN: Duration = Duration::from_millis(1);
/// Shorter work is not read at all: it counts for what the thread does next.
const SHORTEST: Duration = Duration::from_micros(3);
/// Time off the CPU from which on the kernel is asked whether the thread was ready meanwhile.
const WAIT_MIN_US: u64 = 50;

/// A thread's use of the machine since it began.
#[derive(Clone, Copy, Default, Debug)]
struct Reading {
    user_us: u64,
    system_us: u64,
    soft_page_faults: u64,
    hard_page_faults: u64,
}

thread_local! {
    /// The last reading, and when it was taken.
    static LAST: Cell<Option<(Instant, Reading)>> = const { Cell::new(None) };
    /// The thread's `schedstat`, open, and its wait time when it was last looked at.
    static SCHEDSTAT: OnceCell<Option<File>> = const { OnceCell::new() };
    static LAST_WAIT_US: Cell<u64> = const { Cell::new(0) };
    static LAST_IO: Cell<ThreadIo> = const { Cell::new(ThreadIo::NOTHING) };
}

/// A stretch of work of the calling thread.
#[derive(Clone, Copy, Debug)]
pub struct ThreadUsage {
    began: Instant,
    reading: Reading,
}

/// What a stretch of work has used so far.
#[derive(Clone, Copy, Debug)]
pub struct Used {
    /// CPU time, in microseconds.
    pub cpu_us: u64,
    /// That part of it that the kernel took.
    pub system_us: u64,
    /// About how long the thread was ready and had no CPU.
    pub wait_us: u64,
    /// Pages that were touched for the first time.
    pub soft_page_faults: u64,
}

impl ThreadUsage {
    /// Work that begins now; one system call at most.
    pub fn now() -> Self {
        let began = Instant::now();
        let reading = match LAST.get() {
            Some((at, reading)) if began.duration_since(at) < REUSE => reading,
            Some(_) => read_usage(),
            None => {
                // Waits from before the thread's first work are nobody's.
                LAST_WAIT_US.set(read_wait_us().unwrap_or(0));
                LAST_IO.set(ThreadIo::of_this_thread().unwrap_or_default());
                read_usage()
            }
        };
        Self { began, reading }
    }

    /// What this thread has used since `self`, for whoever asks on the way to [`add_since`](Self::add_since).
    pub fn used(&self) -> Used {
        let (before, now) = (&self.reading, read_usage());
        let system_us = now.system_us.saturating_sub(before.system_us);
        let cpu_us = now.user_us.saturating_sub(before.user_us) + system_us;
        let off_cpu_us = (self.began.elapsed().as_micros() as u64).saturating_sub(cpu_us);
        let wait_us = read_wait_us().unwrap_or(0).saturating_sub(LAST_WAIT_US.get());
        Used {
            cpu_us,
            system_us,
            wait_us: wait_us.min(off_cpu_us),
            soft_page_faults: now.soft_page_faults.saturating_sub(before.soft_page_faults),
        }
    }

    /// Adds what this thread has used since `self` to `counters`.
    pub fn add_since(&self, counters: &Counters) {
        let elapsed = self.began.elapsed();
        if elapsed < SHORTEST {
            return;
        }
        let (before, now) = (&self.reading, read_usage());
        LAST.set(Some((Instant::now(), now)));
        let user = now.user_us.saturating_sub(before.user_us);
        let system = now.system_us.saturating_sub(before.system_us);
        counters.add(ProfileEvent::UserTimeMicroseconds, user);
        counters.add(ProfileEvent::SystemTimeMicroseconds, system);
        counters.add(ProfileEvent::OSCPUVirtualTimeMicroseconds, user + system);
        counters.add(ProfileEvent::SoftPageFaults, now.soft_page_faults.saturating_sub(before.soft_page_faults));
        counters.add(ProfileEvent::HardPageFaults, now.hard_page_faults.saturating_sub(before.hard_page_faults));
        if elapsed >= IO_MIN
            && let Some(io) = ThreadIo::of_this_thread()
        {
            io.add_since(LAST_IO.replace(io), counters);
        }
        let off_cpu_us = (elapsed.as_micros() as u64).saturating_sub(user + system);
        if off_cpu_us >= WAIT_MIN_US
            && let Some(wait_us) = read_wait_us()
        {
            // The kernel may tell of waits before this work too, but not of longer ones than fit into it.
            let waited = wait_us.saturating_sub(LAST_WAIT_US.replace(wait_us));
            counters.add(ProfileEvent::OSCPUWaitMicroseconds, waited.min(off_cpu_us));
        }
    }
}

fn read_usage() -> Reading {
    // SAFETY: an all-zero rusage is valid and the kernel fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    let microseconds = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    Reading {
        user_us: microseconds(usage.ru_utime),
        system_us: microseconds(usage.ru_stime),
        soft_page_faults: usage.ru_minflt as u64,
        hard_page_faults: usage.ru_majflt as u64,
    }
}

/// How long the calling thread was ready and had no CPU, since it began.
fn read_wait_us() -> Option<u64> {
    SCHEDSTAT.with(|file| {
        let file = file.get_or_init(|| File::open("/proc/thread-self/schedstat").ok()).as_ref()?;
        let mut text = [0; 64];
        let bytes = file.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(text.get(..bytes)?).ok()?;
        Some(crate::cpu_times::parse(text)?.wait_us)
    })
}

/// The kernel's id of the calling thread, as in `system.query_log.thread_ids`; asked once per thread.
pub fn thread_id() -> u64 {
    thread_local! {
        static ID: Cell<u64> = const { Cell::new(0) };
    }
    ID.with(|id| match id.get() {
        0 => {
            // The C library has a function for it since glibc 2.30 alone.
            // SAFETY: the call has no arguments and cannot fail.
            let found = unsafe { libc::syscall(libc::SYS_gettid) } as u64;
            id.set(found);
            found
        }
        known => known,
    })
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

    fn work(cpu_ns: u64) {
        let before = thread_cpu_ns();
        while thread_cpu_ns() < before + cpu_ns {
            std::hint::black_box(());
        }
    }

    #[test]
    fn work_costs_cpu_time() {
        let (usage, counters) = (ThreadUsage::now(), Counters::new());
        work(20_000_000);
        usage.add_since(&counters);
        let cpu_us = counters.get(ProfileEvent::OSCPUVirtualTimeMicroseconds);
        assert!((10_000..1_000_000).contains(&cpu_us), "{cpu_us}");
        assert!(thread_id() > 0);
    }

    #[test]
    fn sleep_is_no_wait_for_a_cpu() {
        let (usage, counters) = (ThreadUsage::now(), Counters::new());
        std::thread::sleep(Duration::from_millis(200));
        usage.add_since(&counters);
        assert!(counters.get(ProfileEvent::OSCPUVirtualTimeMicroseconds) < 200_000);
        assert!(read_wait_us().is_some());
    }

    #[test]
    fn many_threads_for_few_cpus_wait() {
        let threads = 4 * crate::cpu::logical_cpus();
        let waited = std::thread::scope(|scope| {
            let run = || {
                let (usage, counters) = (ThreadUsage::now(), Counters::new());
                work(30_000_000);
                usage.add_since(&counters);
                counters.get(ProfileEvent::OSCPUWaitMicroseconds)
            };
            let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).sum::<u64>()
        });
        assert!(waited > 0);
    }
}
