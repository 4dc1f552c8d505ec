//! How long the threads of this process ran on a CPU and how long they were ready and waited for one, by the kernel's accounting
//! (`/proc/self/task/*/schedstat`).

use std::fs;

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

/// The calling thread's times since it began; `None` where the kernel does not say.
pub fn thread_cpu_times() -> Option<CpuTimes> {
    parse(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
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
        let mut sum = 0u64;
        for number in 0..3_000_000u64 {
            sum = std::hint::black_box(sum ^ number);
        }
        assert!(process_cpu_times().busy_us > 0, "{sum}");
    }
}
