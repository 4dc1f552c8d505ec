//! How many CPUs this process may use: logical CPUs of its affinity mask, cut by the cgroup's quota. Reading files is apart
//! from deciding, so that recorded machines can be tested.

use std::fs;
use std::path::Path;

/// What the operating system says of this process's CPUs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CpuLimits {
    /// Logical CPUs in the affinity mask.
    pub affinity: usize,
    /// CPUs' worth of time per period that the cgroup grants; `None` for no quota.
    pub cgroup_quota: Option<f64>,
}

impl CpuLimits {
    /// Reads the limits of this process.
    pub fn read() -> Self {
        let affinity = std::thread::available_parallelism().map_or(1, usize::from);
        Self { affinity: affinity_count().unwrap_or(affinity), cgroup_quota: cgroup_quota(Path::new("/sys/fs/cgroup")) }
    }

    /// Logical CPUs worth having threads for: the affinity mask, cut by the quota rounded up; at least 1.
    pub fn logical_cpus(&self) -> usize {
        let quota = self.cgroup_quota.map_or(usize::MAX, |cpus| cpus.ceil().max(1.0) as usize);
        self.affinity.min(quota).max(1)
    }
}

/// Logical CPUs that this process may use; read once.
pub fn logical_cpus() -> usize {
    static COUNT: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *COUNT.get_or_init(|| CpuLimits::read().logical_cpus())
}

fn affinity_count() -> Option<usize> {
    // SAFETY: an all-zero cpu_set_t is a valid empty set, and the kernel writes at most its size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let done = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) == 0;
        done.then(|| libc::CPU_COUNT(&set) as usize).filter(|count| *count > 0)
    }
}

/// The quota of the process's cgroup in CPUs: version 2's `cpu.max`, else version 1's `cpu.cfs_quota_us`.
fn cgroup_quota(root: &Path) -> Option<f64> {
    if let Ok(text) = fs::read_to_string(root.join("cpu.max")) {
        return parse_cpu_max(&text);
    }
    let quota = fs::read_to_string(root.join("cpu/cpu.cfs_quota_us")).ok()?;
    let period = fs::read_to_string(root.join("cpu/cpu.cfs_period_us")).ok()?;
    parse_cpu_max(&format!("{} {}", quota.trim(), period.trim()))
}

/// `"200000 100000"` is 2 CPUs; `"max 100000"` and negative quotas are none.
fn parse_cpu_max(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let quota: f64 = words.next()?.parse().ok()?;
    let period: f64 = words.next()?.parse().ok()?;
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_are_read() {
        assert_eq!(parse_cpu_max("200000 100000\n"), Some(2.0));
        assert_eq!(parse_cpu_max("max 100000\n"), None);
        assert_eq!(parse_cpu_max("-1 100000"), None);
        assert_eq!(parse_cpu_max(""), None);
    }

    #[test]
    fn the_smaller_limit_counts() {
        let limits = |affinity, cgroup_quota| CpuLimits { affinity, cgroup_quota }.logical_cpus();
        assert_eq!(limits(16, None), 16);
        assert_eq!(limits(16, Some(2.5)), 3);
        assert_eq!(limits(2, Some(8.0)), 2);
        assert_eq!(limits(4, Some(0.2)), 1);
        assert!(logical_cpus() >= 1);
    }
}
