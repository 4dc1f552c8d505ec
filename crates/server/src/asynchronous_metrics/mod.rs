//! `system.asynchronous_metrics`: what the machine and the process are like, computed again and again in the background. What the
//! kernel's files say is read in `proc_files`; times and counts are told as they grew since the time before.

mod proc_files;

use std::borrow::Cow;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use squall_runtime::cpu::CpuLimits;

use crate::server::Server;
use proc_files::{CpuTime, ProcFiles, Snapshot};

/// One measure of the machine or the process.
#[derive(Clone, PartialEq, Debug)]
pub struct Measure {
    /// ClickHouse's name.
    pub name: Cow<'static, str>,
    /// The number.
    pub value: f64,
    /// What the number is of.
    pub description: &'static str,
}

/// The latest measures.
#[derive(Debug, Default)]
pub struct AsynchronousMetrics {
    measures: ArcSwap<Vec<Measure>>,
    before: Mutex<Option<(Instant, Snapshot)>>,
}

impl AsynchronousMetrics {
    /// The latest measures.
    pub fn get(&self) -> Arc<Vec<Measure>> {
        self.measures.load_full()
    }

    /// Measures anew. What the kernel does not tell is left out.
    pub fn update(&self, server: &Server) -> Arc<Vec<Measure>> {
        let mut before = self.before.lock();
        let began = Instant::now();
        let snapshot = Snapshot::parse(&ProcFiles::read());
        let mut measures = Measures::default();
        of_process(&mut measures, server);
        of_memory(&mut measures, &snapshot);
        of_load(&mut measures, &snapshot);
        of_filesystem(&mut measures, &server.config.load().path);
        if let Some((then, before)) = &*before {
            of_growth(&mut measures, before, &snapshot, (began - *then).as_secs_f64());
        }
        *before = Some((began, snapshot));
        measures.add(
            "AsynchronousMetricsCalculationTimeSpent",
            began.elapsed().as_secs_f64(),
            "Time in seconds spent for calculation of asynchronous metrics.",
        );
        let measures = Arc::new(measures.0);
        self.measures.store(measures.clone());
        measures
    }
}

#[derive(Default)]
struct Measures(Vec<Measure>);

impl Measures {
    fn add(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Option<f64>>, description: &'static str) {
        self.0.extend(value.into().map(|value| Measure { name: name.into(), value, description }));
    }
}

fn of_process(measures: &mut Measures, server: &Server) {
    measures.add("Uptime", server.started.elapsed().as_secs_f64(), "The server uptime in seconds.");
    let databases = server.databases.databases();
    let (mut tables, mut parts_max) = (0, 0);
    let [mut all, mut of_system] = [[0_u64; 3]; 2];
    for database in &databases {
        for table in server.databases.tables(&database.name).unwrap_or_default() {
            tables += 1;
            if !table.table.engine().ends_with("MergeTree") {
                continue;
            }
            let parts = table.table.parts();
            for (at, part) in parts.iter().enumerate() {
                let in_partition = parts.iter().skip(at).filter(|other| other.partition_id == part.partition_id);
                if at.checked_sub(1).is_none_or(|at| parts[at].partition_id != part.partition_id) {
                    parts_max = parts_max.max(in_partition.count());
                }
                let sums = [part.bytes_on_disk, part.rows, 1];
                all.iter_mut().zip(sums).for_each(|(sum, value)| *sum += value);
                if &*database.name == "system" {
                    of_system.iter_mut().zip(sums).for_each(|(sum, value)| *sum += value);
                }
            }
        }
    }
    measures.add("NumberOfDatabases", databases.len() as f64, "Total number of databases on the server.");
    measures.add(
        "NumberOfTables",
        f64::from(tables),
        "Total number of tables summed across the databases on the server.",
    );
    measures.add(
        "MaxPartCountForPartition",
        parts_max as f64,
        "Maximum number of parts per partition across all partitions of all MergeTree tables.",
    );
    let names = [
        ("TotalBytesOfMergeTreeTables", "TotalBytesOfMergeTreeTablesSystem", "Bytes stored in MergeTree tables."),
        ("TotalRowsOfMergeTreeTables", "TotalRowsOfMergeTreeTablesSystem", "Rows stored in MergeTree tables."),
        ("TotalPartsOfMergeTreeTables", "TotalPartsOfMergeTreeTablesSystem", "Data parts of MergeTree tables."),
    ];
    for (at, (of_all, of_logs, description)) in names.into_iter().enumerate() {
        measures.add(of_all, all[at] as f64, description);
        measures.add(of_logs, of_system[at] as f64, description);
    }
    let interval = server.config.load().server.asynchronous_metrics_update_period_s;
    measures.add("AsynchronousMetricsUpdateInterval", interval as f64, "Metrics update interval");
    let limits = CpuLimits::read();
    measures.add(
        "CGroupMaxCPU",
        limits.cgroup_quota.unwrap_or(limits.affinity as f64),
        "The maximum number of CPU cores according to CGroups.",
    );
    let logical = squall_runtime::cpu::logical_cpus() as f64;
    measures.add("LogicalCPUs", logical, "Squall: the number of CPUs that the server uses: logical ones, physical ones from 64 on, within the cgroup's quota.");
}

fn of_memory(measures: &mut Measures, now: &Snapshot) {
    let names = [
        ("MemoryVirtual", "The size of the virtual address space allocated by the server process, in bytes."),
        ("MemoryResident", "The amount of physical memory used by the server process, in bytes."),
        (
            "MemoryShared",
            "The amount of memory used by the server process, that is also shared by other processes, in bytes.",
        ),
        (
            "MemoryCode",
            "The amount of virtual memory mapped for the pages of machine code of the server process, in bytes.",
        ),
        (
            "MemoryDataAndStack",
            "The amount of virtual memory mapped for the use of stack and for the allocated memory, in bytes.",
        ),
    ];
    for ((name, description), value) in names.into_iter().zip(now.process_memory) {
        measures.add(name, value, description);
    }
    let of_machine = |field: &str| now.memory.get(field).copied();
    measures.add("OSMemoryTotal", of_machine("MemTotal"), "The total amount of memory on the host system, in bytes.");
    measures.add(
        "OSMemoryAvailable",
        of_machine("MemAvailable"),
        "The amount of memory available to be used by programs, in bytes.",
    );
    measures.add(
        "OSMemoryFreeWithoutCached",
        of_machine("MemFree"),
        "The amount of free memory on the host system, in bytes, without the memory used by the page cache.",
    );
    measures.add("OSMemoryBuffers", of_machine("Buffers"), "The amount of memory used by OS kernel buffers, in bytes.");
    measures.add("OSMemoryCached", of_machine("Cached"), "The amount of memory used by the OS page cache, in bytes.");
    measures.add(
        "OSMemorySwapCached",
        of_machine("SwapCached"),
        "The amount of memory in swap that was also loaded in RAM.",
    );
    measures.add(
        "OSMemoryFreePlusCached",
        of_machine("MemFree").zip(of_machine("Cached")).map(|(free, cached)| free + cached),
        "The amount of free memory plus page cache memory on the host system, in bytes.",
    );
    measures.add("CGroupMemoryTotal", now.cgroup_memory_total, "The total amount of memory in cgroup, in bytes.");
    measures.add("CGroupMemoryUsed", now.cgroup_memory_used, "The amount of memory used in cgroup, in bytes.");
}

fn of_load(measures: &mut Measures, now: &Snapshot) {
    let averages = [
        ("LoadAverage1", "The whole system load, averaged with exponential smoothing over 1 minute."),
        ("LoadAverage5", "The whole system load, averaged with exponential smoothing over 5 minutes."),
        ("LoadAverage15", "The whole system load, averaged with exponential smoothing over 15 minutes."),
    ];
    for ((name, description), value) in averages.into_iter().zip(now.load_averages) {
        measures.add(name, value, description);
    }
    measures.add(
        "OSThreadsRunnable",
        now.threads_runnable,
        "The number of threads that are ready to run, system-wide.",
    );
    measures.add("OSThreadsTotal", now.threads_total, "The total number of threads, system-wide.");
    measures.add("OSProcessesRunning", now.processes_running, "The number of runnable threads, system-wide.");
    measures.add(
        "OSProcessesBlocked",
        now.processes_blocked,
        "Number of threads blocked waiting for I/O, system-wide.",
    );
    measures.add("OSUptime", now.uptime_s, "The uptime of the host server, in seconds.");
    measures.add("OSOpenFiles", now.open_files, "The total number of opened files on the host machine.");
    measures.add("ThreadsOfProcess", now.process_threads, "Squall: the number of threads of the server process.");
}

/// The space on the disk where a path is.
pub fn disk_space(path: &Path) -> Option<squall_functions::DiskSpace> {
    let found = filesystem(path)?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Some(squall_functions::DiskSpace {
        capacity: bytes(found.f_blocks),
        unreserved: bytes(found.f_bfree),
        available: bytes(found.f_bavail),
    })
}

fn filesystem(path: &Path) -> Option<libc::statvfs> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: the path ends in a zero byte, and the kernel fills the struct that it is given.
    unsafe {
        let mut found: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(path.as_ptr(), &raw mut found) == 0).then_some(found)
    }
}

fn of_filesystem(measures: &mut Measures, path: &Path) {
    let Some(found) = filesystem(path) else { return };
    let bytes = |blocks: u64| blocks as f64 * found.f_frsize as f64;
    let [total, free, available] = [found.f_blocks, found.f_bfree, found.f_bavail].map(bytes);
    measures.add(
        "FilesystemMainPathTotalBytes",
        total,
        "The size of the volume where the main path is mounted, in bytes.",
    );
    measures.add("FilesystemMainPathAvailableBytes", available, "Available bytes on the volume of the main path.");
    measures.add("FilesystemMainPathUsedBytes", total - free, "Used bytes on the volume of the main path.");
    let inodes = found.f_files as f64;
    measures.add("FilesystemMainPathTotalINodes", inodes, "The total number of inodes on the volume of the main path.");
    measures.add(
        "FilesystemMainPathAvailableINodes",
        found.f_favail as f64,
        "Available inodes on the volume of the main path.",
    );
    measures.add(
        "FilesystemMainPathUsedINodes",
        inodes - found.f_ffree as f64,
        "Used inodes on the volume of the main path.",
    );
}

/// What happened between two snapshots, `seconds` apart.
fn of_growth(measures: &mut Measures, before: &Snapshot, now: &Snapshot, seconds: f64) {
    const TIMES: &str = "The ratio of time that CPUs spent in this mode, system-wide.";
    const OF_ONE: &str = "The ratio of time that this CPU spent in this mode.";
    const NORMALIZED: &str = "The ratio of time that CPUs spent in this mode, divided by their number.";
    let grown = |before: Option<f64>, now: Option<f64>| now.zip(before).map(|(now, before)| (now - before).max(0.0));
    if seconds > 0.0 {
        let share = |before: &CpuTime, now: &CpuTime, mode: usize| {
            grown(before.0.get(mode).copied(), now.0.get(mode).copied()).map(|time| time / seconds)
        };
        let cpus = now.cpus.len().max(1) as f64;
        for (mode, name) in CpuTime::MODES.into_iter().enumerate() {
            let all = share(&before.all_cpus, &now.all_cpus, mode);
            measures.add(format!("OS{name}Time"), all, TIMES);
            measures.add(format!("OS{name}TimeNormalized"), all.map(|time| time / cpus), NORMALIZED);
            for ((cpu, now), (before_cpu, before)) in now.cpus.iter().zip(&before.cpus) {
                if cpu == before_cpu {
                    measures.add(format!("OS{name}TimeCPU{cpu}"), share(before, now, mode), OF_ONE);
                }
            }
        }
    }
    let counts = [
        (
            "OSContextSwitches",
            before.context_switches,
            now.context_switches,
            "Context switches, system-wide, since the measure before.",
        ),
        ("OSInterrupts", before.interrupts, now.interrupts, "Interrupts, system-wide, since the measure before."),
        (
            "OSProcessesCreated",
            before.processes_created,
            now.processes_created,
            "Processes created since the measure before.",
        ),
    ];
    for (name, before, now, description) in counts {
        measures.add(name, grown(before, now), description);
    }
    for (interface, now) in &now.network {
        let Some(before) = before.network.get(interface) else { continue };
        let names = [
            "ReceiveBytes",
            "ReceivePackets",
            "ReceiveErrors",
            "ReceiveDrop",
            "SendBytes",
            "SendPackets",
            "SendErrors",
            "SendDrop",
        ];
        for ((name, now), before) in names.into_iter().zip(now).zip(before) {
            let name = format!("Network{name}_{interface}");
            measures.add(
                name,
                (now - before).max(0.0),
                "What the network interface did since the measure before, system-wide.",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shares_of_the_time_between() {
        let files = |user: u64, idle: u64, switches: u64| ProcFiles {
            stat: format!(
                "cpu {} 0 0 {} 0 0 0 0 0 0\ncpu0 {user} 0 0 {idle}\ncpu1 {user} 0 0 {idle}\nctxt {switches}\n",
                2 * user,
                2 * idle
            ),
            ..ProcFiles::default()
        };
        let ticks = proc_files::ticks_per_second() as u64;
        let before = Snapshot::parse(&files(0, 0, 100));
        let now = Snapshot::parse(&files(ticks, 3 * ticks, 150));
        let mut measures = Measures::default();
        of_growth(&mut measures, &before, &now, 4.0);
        let value = |name: &str| measures.0.iter().find(|measure| measure.name == name).unwrap().value;
        assert_eq!((value("OSUserTime"), value("OSUserTimeNormalized"), value("OSUserTimeCPU1")), (0.5, 0.25, 0.25));
        assert_eq!((value("OSIdleTimeNormalized"), value("OSContextSwitches")), (0.75, 50.0));
    }
}
