//! `system.asynchronous_metrics`: what the machine and the process are like, computed again and again in the background.

use std::borrow::Cow;
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::server::Server;

/// One measure of the machine or the process.
#[derive(Clone, Debug)]
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
}

impl AsynchronousMetrics {
    /// The latest measures.
    pub fn get(&self) -> Arc<Vec<Measure>> {
        self.measures.load_full()
    }

    /// Measures anew.
    pub fn update(&self, server: &Server) -> Arc<Vec<Measure>> {
        let measures = Arc::new(measure(server));
        self.measures.store(measures.clone());
        measures
    }
}
/// Reads what the kernel tells. What it does not tell is left out.
fn measure(server: &Server) -> Vec<Measure> {
    let mut measures = Vec::new();
    let mut add = |name, value: Option<f64>, description| {
        measures.extend(value.map(|value| Measure { name: Cow::Borrowed(name), value, description }));
    };
    add("Uptime", Some(server.started.elapsed().as_secs_f64()), "The server uptime in seconds.");
    let databases = server.databases.databases();
    let tables: usize =
        databases.iter().filter_map(|database| Some(server.databases.tables(&database.name).ok()?.len())).sum();
    add("NumberOfDatabases", Some(databases.len() as f64), "Total number of databases on the server.");
    add("NumberOfTables", Some(tables as f64), "Total number of tables summed across the databases on the server.");
    let page = 4096.0;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = |at: usize| {
        statm.split_whitespace().nth(at).and_then(|field| field.parse::<f64>().ok()).map(|pages| pages * page)
    };
    add("MemoryVirtual", pages(0), "The size of the virtual address space allocated by the server process, in bytes.");
    add("MemoryResident", pages(1), "The amount of physical memory used by the server process, in bytes.");
    add(
        "MemoryShared",
        pages(2),
        "The amount of memory used by the server process, that is also shared by other processes, in bytes.",
    );
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let average = |at: usize| load.split_whitespace().nth(at).and_then(|field| field.parse().ok());
    add("LoadAverage1", average(0), "The whole system load, averaged with exponential smoothing over 1 minute.");
    add("LoadAverage5", average(1), "The whole system load, averaged with exponential smoothing over 5 minutes.");
    add("LoadAverage15", average(2), "The whole system load, averaged with exponential smoothing over 15 minutes.");
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes = |name: &str| {
        let line = memory.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kilobytes| kilobytes * 1024.0)
    };
    add("OSMemoryTotal", kilobytes("MemTotal:"), "The total amount of memory on the host system, in bytes.");
    add(
        "OSMemoryAvailable",
        kilobytes("MemAvailable:"),
        "The amount of memory available to be used by programs, in bytes.",
    );
    let threads = std::fs::read_dir("/proc/self/task").ok().map(|tasks| tasks.count() as f64);
    add("OSThreadsTotal", threads, "Squall: the number of threads of the server process.");
    let logical = squall_runtime::cpu::logical_cpus() as f64;
    add("LogicalCPUs", Some(logical), "Squall: the number of logical CPUs that the server may use.");
    measures
}
