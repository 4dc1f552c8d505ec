//! How many CPUs this process should use. It counts logical CPUs of its affinity mask; on large machines, where a second thread on a
//! core costs more than it brings, physical ones (ClickHouse's rule since its pull request 70111); and no more than the
//! cgroup's quota. Everything is decided by what the files of /proc and /sys say, so that recorded machines can be tested.

use std::collections::BTreeSet;

/// From this many logical CPUs on, physical ones are counted. ClickHouse moved it from 32 to 64: 13.2 % in ClickBench at 32.
const PHYSICAL_FROM: usize = 64;
/// The architectures whose second threads are known to cost on large machines: POWER's are many to a core, and nobody has measured.
const WITH_COSTLY_SMT: [&str; 2] = ["x86", "x86_64"];
/// No list of CPUs names one beyond this: Linux' own bound is far below.
const CPUS_MAX: usize = 1 << 16;

/// What the operating system says of this process's CPUs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CpuLimits {
    /// Logical CPUs in the affinity mask, which a cgroup's cpuset cuts too.
    pub affinity: usize,
    /// Physical cores that these are of; as many as logical ones where that is not told.
    pub physical: usize,
    /// CPUs' worth of time per period that the cgroup and those above it grant; `None` for no quota.
    pub cgroup_quota: Option<f64>,
}

impl CpuLimits {
    /// Reads the limits of this process.
    pub fn read() -> Self {
        if !cfg!(target_os = "linux") {
            let cpus = std::thread::available_parallelism().map_or(1, usize::from);
            return Self { affinity: cpus, physical: cpus, cgroup_quota: None };
        }
        Self::of(&|path| std::fs::read_to_string(format!("/{path}")).ok())
    }

    /// The limits that Linux' files tell of, by their paths without the leading slash: `proc/self/status`.
    pub fn of(files: &dyn Fn(&str) -> Option<String>) -> Self {
        let online = || parse_list(&files("sys/devices/system/cpu/online")?);
        let allowed = allowed_cpus(files).or_else(online).unwrap_or_default();
        // Threads of one core name the same list of siblings.
        let core = |cpu: &usize| {
            let siblings = files(&format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"));
            siblings.map_or_else(|| cpu.to_string(), |siblings| siblings.trim().to_owned())
        };
        let cores: BTreeSet<String> = allowed.iter().map(core).collect();
        Self { affinity: allowed.len().max(1), physical: cores.len().max(1), cgroup_quota: cgroup_quota(files) }
    }

    /// CPUs worth having threads for on this architecture: the quota is rounded up; at least 1.
    pub fn cpus_to_use(&self, architecture: &str) -> usize {
        let counts_cores = self.affinity >= PHYSICAL_FROM && WITH_COSTLY_SMT.contains(&architecture);
        let cpus = if counts_cores { self.physical } else { self.affinity };
        let quota = self.cgroup_quota.map_or(usize::MAX, |cpus| cpus.ceil().max(1.0) as usize);
        cpus.min(quota).max(1)
    }
}

/// CPUs that this process should use; read once.
pub fn logical_cpus() -> usize {
    static COUNT: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *COUNT.get_or_init(|| CpuLimits::read().cpus_to_use(std::env::consts::ARCH))
}

/// The numbers of the CPUs that the process may run on.
fn allowed_cpus(files: &dyn Fn(&str) -> Option<String>) -> Option<Vec<usize>> {
    let status = files("proc/self/status")?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    parse_list(list).filter(|cpus| !cpus.is_empty())
}

/// `0-3,8` is 0, 1, 2, 3 and 8.
fn parse_list(list: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if last >= CPUS_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// The smallest quota of the process's cgroup and of those above it, in CPUs: version 2's `cpu.max`, and version 1's
/// `cpu.cfs_quota_us`. Inside a container the path may be the host's, of which only the last part is there, or nothing.
fn cgroup_quota(files: &dyn Fn(&str) -> Option<String>) -> Option<f64> {
    let cgroups = files("proc/self/cgroup").unwrap_or_default();
    let mut smallest: Option<f64> = None;
    let mut note = |quota: Option<f64>| {
        smallest = [smallest, quota].into_iter().flatten().reduce(f64::min);
    };
    // Without a line for it, what is mounted at the root still counts.
    let path_of = |is_of: &dyn Fn(&str) -> bool| {
        cgroups.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            is_of(controllers).then_some(path)
        })
    };
    let unified = path_of(&|controllers| controllers.is_empty()).unwrap_or("/");
    let cpu = path_of(&|controllers| controllers.split(',').any(|controller| controller == "cpu")).unwrap_or("/");
    for folder in ["sys/fs/cgroup", "sys/fs/cgroup/unified"] {
        for path in and_above(unified) {
            note(files(&format!("{folder}{path}/cpu.max")).and_then(|text| parse_cpu_max(&text)));
        }
    }
    for folder in ["sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"] {
        for path in and_above(cpu) {
            let read = |name: &str| files(&format!("{folder}{path}/{name}"));
            let (quota, period) = (read("cpu.cfs_quota_us"), read("cpu.cfs_period_us"));
            note(quota.zip(period).and_then(|(quota, period)| parse_cpu_max(&format!("{quota} {period}"))));
        }
    }
    smallest
}

/// A cgroup's path and those above it, the root as an empty one.
fn and_above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path.trim_end_matches('/')), |path| path.rsplit_once('/').map(|(above, _)| above))
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
    use std::collections::HashMap;

    /// A machine's files, recorded (`vm_2`) or written after how such machines number their CPUs. Each line is a path, a tab and the content, `\n` for ends of lines. Paths with `[a-b]`
    /// stand for many, `{}` in the content for the number and `{+n}`, `{-n}` for that of a sibling.
    fn limits(recording: &str) -> CpuLimits {
        let mut files = HashMap::new();
        for line in recording.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let (path, content) = line.split_once('\t').unwrap();
            let content = content.replace("\\n", "\n");
            let Some((before, (range, after))) =
                path.split_once('[').map(|(before, rest)| (before, rest.split_once(']').unwrap()))
            else {
                files.insert(path.to_owned(), content);
                continue;
            };
            let numbers = parse_list(range).unwrap();
            for number in numbers {
                let fill = |content: &str| {
                    let mut filled = String::new();
                    let mut rest = content;
                    while let Some((text, (field, after))) =
                        rest.split_once('{').map(|(text, rest)| (text, rest.split_once('}').unwrap()))
                    {
                        let offset: i64 = if field.is_empty() { 0 } else { field.parse().unwrap() };
                        filled += &format!("{text}{}", number as i64 + offset);
                        rest = after;
                    }
                    filled + rest
                };
                files.insert(format!("{before}{number}{after}"), fill(&content));
            }
        }
        CpuLimits::of(&|path| files.get(path).cloned())
    }

    #[test]
    fn machines_get_as_many_threads_as_suit_them() {
        macro_rules! machine {
            ($name:literal) => {
                limits(include_str!(concat!("../tests/cpu/", $name, ".txt")))
            };
        }
        for (machine, affinity, physical, cgroup_quota, cpus) in [
            (machine!("vm_2"), 2, 2, None, 2),
            (machine!("desktop_16_cores_32_threads"), 32, 16, None, 32),
            (machine!("two_sockets_112_threads"), 112, 56, None, 56),
            (machine!("two_sockets_112_threads_pinned_to_one"), 56, 28, None, 56),
            (machine!("cores_64_threads_256"), 256, 64, None, 64),
            (machine!("cores_64_threads_256_quota"), 256, 64, Some(40.0), 40),
            (machine!("hybrid_8_p_8_e"), 24, 16, None, 24),
            (machine!("container_cpu_max"), 16, 8, Some(1.5), 2),
            (machine!("container_without_sys"), 96, 96, None, 96),
            (machine!("service_under_slice"), 16, 8, Some(3.0), 3),
            (machine!("cgroup_v1"), 8, 4, Some(2.5), 3),
            (machine!("cgroup_v1_container"), 8, 8, Some(4.0), 4),
        ] {
            assert_eq!(machine, CpuLimits { affinity, physical, cgroup_quota });
            assert_eq!(machine.cpus_to_use("x86_64"), cpus, "{machine:?}");
        }
        // Eight threads to a core, and no measurement that speaks against them.
        assert_eq!(machine!("cores_64_threads_256").cpus_to_use("powerpc64"), 256);
    }

    #[test]
    fn lists_and_quotas_are_read() {
        assert_eq!(parse_list("0-2,8\n"), Some(vec![0, 1, 2, 8]));
        assert_eq!((parse_list(""), parse_list("0-99999999"), parse_list("x")), (None, None, None));
        assert_eq!(parse_cpu_max("200000 100000\n"), Some(2.0));
        assert_eq!(parse_cpu_max("max 100000\n"), None);
        assert_eq!(parse_cpu_max("-1 100000"), None);
        assert_eq!(parse_cpu_max(""), None);
        assert_eq!(and_above("/a/b").collect::<Vec<_>>(), ["/a/b", "/a", ""]);
        assert_eq!(and_above("/").collect::<Vec<_>>(), [""]);
    }

    #[test]
    fn this_machine_has_cpus() {
        let limits = CpuLimits::read();
        assert!(limits.physical <= limits.affinity && (1..=limits.affinity).contains(&logical_cpus()), "{limits:?}");
    }
}
