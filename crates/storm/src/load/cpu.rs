//! What CPUs did while a load ran: the machine's, a process's and the generator's own threads, as Linux counts them; and whether the
//! generator, rather than the server, was the limit.

use std::fs;
use std::time::Duration;

/// Ticks of all CPUs since the machine was started.
#[derive(Debug, Clone, Copy, Default)]
pub struct CpuTicks {
    /// Of work.
    pub busy: u64,
    /// That there were.
    pub all: u64,
}

impl CpuTicks {
    /// The first line of `/proc/stat`; zeros where there is none.
    pub fn now() -> Self {
        Self::parse(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// What came since.
    pub fn since(self, before: Self) -> Self {
        CpuTicks { busy: self.busy.saturating_sub(before.busy), all: self.all.saturating_sub(before.all) }
    }

    fn parse(stat: &str) -> Self {
        // user, nice, system, idle, iowait, irq, softirq, steal; what guests took is in user already.
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap_or_default();
        let ticks: Vec<u64> = line.split_ascii_whitespace().take(8).filter_map(|field| field.parse().ok()).collect();
        let all = ticks.iter().sum();
        let idle: u64 = ticks.iter().skip(3).take(2).sum();
        CpuTicks { busy: all - idle, all }
    }
}

/// What the calling thread did so far: on a CPU, and ready without one.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThreadTime {
    /// On a CPU.
    pub ran: Duration,
    /// Ready, while others were on the CPUs.
    pub waited: Duration,
}

impl ThreadTime {
    /// From the kernel's accounting of the scheduler; zeros where there is none.
    pub fn now() -> Self {
        let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let mut fields =
            text.split_ascii_whitespace().map(|field| field.parse().map_or(Duration::ZERO, Duration::from_nanos));
        ThreadTime { ran: fields.next().unwrap_or_default(), waited: fields.next().unwrap_or_default() }
    }

    /// What came since.
    pub fn since(self, before: Self) -> Self {
        ThreadTime { ran: self.ran.saturating_sub(before.ran), waited: self.waited.saturating_sub(before.waited) }
    }
}

/// How much the generator took, in shares from 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct Effort {
    /// Of the machine's CPUs.
    pub of_machine: f64,
    /// Of what all CPUs worked in that time.
    pub of_work: f64,
    /// Of its busiest thread's time: working, or waiting for a CPU.
    pub busiest_thread: f64,
    /// The share of all CPUs' time in which they worked.
    pub machine_load: f64,
}

impl Effort {
    /// From the generator's threads, each over the time that it was there, and the machine.
    pub fn new(threads: &[(ThreadTime, Duration)], machine: CpuTicks, elapsed: Duration, cpus: usize) -> Self {
        let ran: Duration = threads.iter().map(|(time, _)| time.ran).sum();
        let of_machine = ran.as_secs_f64() / (elapsed.as_secs_f64() * cpus as f64).max(1e-9);
        let machine_load = machine.busy as f64 / machine.all.max(1) as f64;
        let share = |(time, there): &(ThreadTime, Duration)| {
            (time.ran + time.waited).as_secs_f64() / there.as_secs_f64().max(1e-9)
        };
        Effort {
            of_machine,
            of_work: (of_machine / machine_load.max(1e-9)).min(1.0),
            busiest_thread: threads.iter().map(share).fold(0.0, f64::max).min(1.0),
            machine_load,
        }
    }

    /// Why the figures tell of the generator rather than of the server, where they do.
    pub fn warning(&self) -> Option<String> {
        if self.busiest_thread < 0.9 {
            return None;
        }
        if self.machine_load < 0.85 {
            return Some(format!(
                "a thread of the load generator was busy {:.0} % of its time while CPUs were idle: the generator is the limit, \
                 give it more --threads",
                100.0 * self.busiest_thread
            ));
        }
        (self.of_work > 0.6).then(|| {
            format!(
                "the load generator took {:.0} % of all CPU work: it is the limit rather than the server, run it on another machine",
                100.0 * self.of_work
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_ticks_are_read() {
        let ticks = CpuTicks::parse("cpu  10 1 5 100 20 0 2 3 7 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
        assert_eq!((ticks.busy, ticks.all), (21, 141));
        assert_eq!(CpuTicks::parse("").all, 0);
    }

    #[test]
    fn a_generator_at_its_limit_says_so() {
        let second = Duration::from_secs(1);
        let effort = |ran: f64, waited: f64, load: u64| {
            let time = ThreadTime { ran: second.mul_f64(ran), waited: second.mul_f64(waited) };
            Effort::new(&[(time, second)], CpuTicks { busy: load, all: 100 }, second, 2)
        };
        // It rests.
        assert!(effort(0.4, 0.1, 99).warning().is_none());
        // It works without rest while one of two CPUs is idle.
        assert!(effort(0.97, 0.0, 55).warning().unwrap().contains("--threads"));
        // It shares two CPUs that are full: with a server that takes more, and with one that takes less.
        assert!(effort(0.8, 0.2, 99).warning().is_none());
        let two = [(ThreadTime { ran: second.mul_f64(0.7), waited: second.mul_f64(0.3) }, second); 2];
        let effort = Effort::new(&two, CpuTicks { busy: 99, all: 100 }, second, 2);
        assert!(effort.warning().unwrap().contains("71 %"), "{effort:?}");
    }
}
