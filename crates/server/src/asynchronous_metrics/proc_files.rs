//! The kernel's files about the machine and the process. Reading them is apart from understanding them, so that recorded ones can be
//! tested.

use std::collections::BTreeMap;
use std::fs;

/// The texts of the files; empty where there is none.
#[derive(Default)]
pub(super) struct ProcFiles {
    pub(super) stat: String,
    pub(super) loadavg: String,
    pub(super) meminfo: String,
    pub(super) statm: String,
    pub(super) uptime: String,
    pub(super) file_nr: String,
    pub(super) net_dev: String,
    pub(super) process_status: String,
    pub(super) cgroup_memory_max: String,
    pub(super) cgroup_memory_current: String,
}

impl ProcFiles {
    /// Reads them now.
    pub(super) fn read() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Self {
            stat: read("/proc/stat"),
            loadavg: read("/proc/loadavg"),
            meminfo: read("/proc/meminfo"),
            statm: read("/proc/self/statm"),
            uptime: read("/proc/uptime"),
            file_nr: read("/proc/sys/fs/file-nr"),
            net_dev: read("/proc/net/dev"),
            process_status: read("/proc/self/status"),
            cgroup_memory_max: read("/sys/fs/cgroup/memory.max"),
            cgroup_memory_current: read("/sys/fs/cgroup/memory.current"),
        }
    }
}

/// Seconds that a CPU, or all of them, spent in each mode.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct CpuTime(pub(super) Vec<f64>);

impl CpuTime {
    /// The modes, as ClickHouse names them, in the kernel's order.
    pub(super) const MODES: [&'static str; 10] =
        ["User", "Nice", "System", "Idle", "IOWait", "Irq", "SoftIrq", "Steal", "Guest", "GuestNice"];
}

/// What the files said.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Snapshot {
    pub(super) all_cpus: CpuTime,
    /// By number.
    pub(super) cpus: Vec<(usize, CpuTime)>,
    pub(super) context_switches: Option<f64>,
    pub(super) interrupts: Option<f64>,
    pub(super) processes_created: Option<f64>,
    pub(super) processes_running: Option<f64>,
    pub(super) processes_blocked: Option<f64>,
    pub(super) load_averages: [Option<f64>; 3],
    pub(super) threads_runnable: Option<f64>,
    pub(super) threads_total: Option<f64>,
    /// Bytes by `MemTotal` and so on.
    pub(super) memory: BTreeMap<String, f64>,
    /// Bytes: virtual, resident, shared, code, data and stack.
    pub(super) process_memory: [Option<f64>; 5],
    pub(super) process_threads: Option<f64>,
    pub(super) uptime_s: Option<f64>,
    pub(super) open_files: Option<f64>,
    /// By interface: received bytes, packets, errors, drops; sent likewise.
    pub(super) network: BTreeMap<String, [f64; 8]>,
    pub(super) cgroup_memory_total: Option<f64>,
    pub(super) cgroup_memory_used: Option<f64>,
}

impl Snapshot {
    /// Understands the files. What is missing or of another form is left out.
    pub(super) fn parse(files: &ProcFiles) -> Self {
        let mut snapshot = Self::default();
        snapshot.parse_stat(&files.stat);
        let word = |text: &str, at: usize| text.split_whitespace().nth(at).map(str::to_owned);
        let number = |text: &str, at: usize| word(text, at)?.parse::<f64>().ok();
        snapshot.load_averages = [0, 1, 2].map(|at| number(&files.loadavg, at));
        let threads = word(&files.loadavg, 3);
        if let Some((runnable, total)) = threads.as_deref().and_then(|threads| threads.split_once('/')) {
            snapshot.threads_runnable = runnable.parse().ok();
            snapshot.threads_total = total.parse().ok();
        }
        for line in files.meminfo.lines() {
            if let Some((name, value)) = line.split_once(':')
                && let Some(kilobytes) = number(value, 0)
            {
                snapshot.memory.insert(name.to_owned(), kilobytes * 1024.0);
            }
        }
        let page = page_bytes();
        snapshot.process_memory = [0, 1, 2, 3, 5].map(|at| number(&files.statm, at).map(|pages| pages * page));
        let threads = files.process_status.lines().find_map(|line| line.strip_prefix("Threads:"));
        snapshot.process_threads = threads.and_then(|threads| threads.trim().parse().ok());
        snapshot.uptime_s = number(&files.uptime, 0);
        snapshot.open_files = number(&files.file_nr, 0);
        for line in files.net_dev.lines() {
            let Some((name, values)) = line.split_once(':') else { continue };
            let value = |at| number(values, at).unwrap_or(0.0);
            let name = name.trim().to_owned();
            snapshot.network.insert(name, [0, 1, 2, 3, 8, 9, 10, 11].map(value));
        }
        snapshot.cgroup_memory_total = number(&files.cgroup_memory_max, 0);
        snapshot.cgroup_memory_used = number(&files.cgroup_memory_current, 0);
        snapshot
    }

    fn parse_stat(&mut self, stat: &str) {
        let ticks = ticks_per_second();
        for line in stat.lines() {
            let mut words = line.split_ascii_whitespace();
            let Some(name) = words.next() else { continue };
            let mut first = || words.next().and_then(|word| word.parse::<f64>().ok());
            match name {
                "ctxt" => self.context_switches = first(),
                "intr" => self.interrupts = first(),
                "processes" => self.processes_created = first(),
                "procs_running" => self.processes_running = first(),
                "procs_blocked" => self.processes_blocked = first(),
                _ => {
                    let Some(cpu) = name.strip_prefix("cpu") else { continue };
                    let seconds = words.filter_map(|word| Some(word.parse::<f64>().ok()? / ticks));
                    let times = CpuTime(seconds.take(CpuTime::MODES.len()).collect());
                    match cpu.parse() {
                        Ok(number) => self.cpus.push((number, times)),
                        Err(_) => self.all_cpus = times,
                    }
                }
            }
        }
    }
}

/// The unit of times in `/proc/stat`.
pub(super) fn ticks_per_second() -> f64 {
    // SAFETY: sysconf has no preconditions.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    if ticks > 0 { ticks as f64 } else { 100.0 }
}

fn page_bytes() -> f64 {
    // SAFETY: as above.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    if bytes > 0 { bytes as f64 } else { 4096.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_files_are_understood() {
        let files = ProcFiles {
            loadavg: "3272.61 1867.00 78.32 12/4718 4321\n".to_owned(),
            meminfo: "MemTotal:       16000 kB\nMemFree:  10 kB\nHugePages_Total:       0\n".to_owned(),
            statm: "100 50 10 5 0 40 0\n".to_owned(),
            process_status: "Name:\tsquall\nThreads:\t17\n".to_owned(),
            net_dev:
                "Inter-|   Receive  |  Transmit\n face |bytes    packets\n    lo: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n"
                    .to_owned(),
            cgroup_memory_max: "max\n".to_owned(),
            ..ProcFiles::default()
        };
        let snapshot = Snapshot::parse(&files);
        assert_eq!(snapshot.load_averages, [Some(3272.61), Some(1867.0), Some(78.32)]);
        assert_eq!((snapshot.threads_runnable, snapshot.threads_total), (Some(12.0), Some(4718.0)));
        assert_eq!(snapshot.memory["MemTotal"], 16_000.0 * 1024.0);
        assert_eq!(snapshot.process_memory[4], Some(40.0 * page_bytes()));
        assert_eq!(snapshot.process_threads, Some(17.0));
        assert_eq!(snapshot.network["lo"], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        assert_eq!(snapshot.cgroup_memory_total, None);
        assert_eq!(Snapshot::parse(&ProcFiles::default()).uptime_s, None);
    }

    #[test]
    fn this_machines_files_are_understood() {
        let snapshot = Snapshot::parse(&ProcFiles::read());
        assert!(!snapshot.cpus.is_empty() && snapshot.all_cpus.0.len() >= 8);
        assert!(snapshot.context_switches.is_some_and(|switches| switches > 0.0));
        assert!(snapshot.process_memory[1].is_some_and(|bytes| bytes > 0.0));
    }
}
