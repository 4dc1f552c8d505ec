//! How long the threads of this process ran on a CPU and how long they were ready and waited for one, by the kernel's accounting
//! (`/proc/self/task/*/schedstat`); and how long the machine's CPUs were idle (`/proc/stat`).

use std::fs;
use std::time::Duration;

/// Threads whose files are read; of a process with more, the sum is of these.
const THREADS_MAX: usize = 1_024;

/// Times of a thread, or sums over threads, in microseconds since each began.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CpuTimes {
    /// On a CPU.
    pub busy_us: u64,
    /// Ready, with no CPU free.
    pub wait_us: u64,
}

/// The sums now; zeros where the kernel does not say.
pub fn process_cpu_times() -> CpuTimes {
    let mut sum = CpuTimes::default();
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return sum };
    for task in tasks.flatten().take(THREADS_MAX) {
        // A thread that has just ended has no file any more.
        let Some(times) = fs::read_to_string(task.path().join("schedstat")).ok().as_deref().and_then(parse) else {
            continue;
        };
        sum.busy_us += times.busy_us;
        sum.wait_us += times.wait_us;
    }
    sum
}

/// What the machine's CPUs did since it was started, in the kernel's ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MachineCpuTime {
    /// Nothing, or waiting for a disk.
    pub idle: u64,
    /// Anything.
    pub all: u64,
}

impl MachineCpuTime {
    /// The share of the time up to `later` in which CPUs were idle; `None` where no tick has passed.
    pub fn idle_share(self, later: Self) -> Option<f64> {
        let all = later.all.checked_sub(self.all).filter(|ticks| *ticks > 0)?;
        Some(later.idle.saturating_sub(self.idle) as f64 / all as f64)
    }
}

/// What the machine's CPUs did so far; `None` where the kernel does not say.
pub fn machine_cpu_time() -> Option<MachineCpuTime> {
    parse_machine(&fs::read_to_string("/proc/stat").ok()?)
}

/// `"cpu  user nice system idle iowait irq softirq steal guest guest_nice"`; the last two are in the first two.
fn parse_machine(text: &str) -> Option<MachineCpuTime> {
    let words = text.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace();
    let ticks: Vec<u64> = words.take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
    let idle = ticks.get(3)? + ticks.get(4).copied().unwrap_or(0);
    Some(MachineCpuTime { idle, all: ticks.iter().sum() })
}

/// CPU time of all threads of this process so far.
pub fn process_cpu_time() -> Duration {
    // SAFETY: the kernel fills the timespec.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time);
        time
    };
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// `"<ns on a CPU> <ns waited> <slices>"`.
pub(crate) fn parse(text: &str) -> Option<CpuTimes> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
    let mut next_us = || numbers.next()?.ok().map(|ns| ns / 1_000);
    Some(CpuTimes { busy_us: next_us()?, wait_us: next_us()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_text_is_read() {
        assert_eq!(parse("5000000 2500000 17\n"), Some(CpuTimes { busy_us: 5_000, wait_us: 2_500 }));
        assert_eq!(parse("x"), None);
        let before = parse_machine("cpu  10 0 10 70 10 0 0 0 5 0\ncpu0 1 1 1 1\n").unwrap();
        assert_eq!(before, MachineCpuTime { idle: 80, all: 100 });
        assert_eq!(before.idle_share(MachineCpuTime { idle: 110, all: 200 }), Some(0.3));
        assert_eq!((before.idle_share(before), parse_machine("intr 5")), (None, None));
        assert!(machine_cpu_time().is_some_and(|time| time.all > 0));
        let mut sum = 0u64;
        for number in 0..3_000_000u64 {
            sum = std::hint::black_box(sum ^ number);
        }
        assert!(process_cpu_times().busy_us > 0 && process_cpu_time() > Duration::ZERO, "{sum}");
    }
}
