//! What Linux is told of a thread, so that it knows whom to run first where threads want one CPU: one that answers clients and soon
//! sleeps again, or a worker that computes for as long as there are queries. Without it, a request or its client waits until a worker's
//! turn is over, a millisecond or more, though reading a request takes 20 µs (`scripts/short_beside_heavy.py`).
//!
//! Source: `sched_setattr(2)`; since Linux 6.12 a thread can choose how long its turns are (its slice). A thread that wakes takes the
//! CPU from one with longer turns, but gives it back at the next tick if it has had its part. Hence workers are nicer than the other
//! threads, too. The others are not less nice: clients on the same machine then waited longer (2026-11-26, p99.9 of `SELECT 1` by 64
//! clients 27 instead of 12 ms). Nice values count within a cgroup only: other services and containers get what they got before.

use std::time::Duration;

/// What a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreadKind {
    /// Reads requests and writes answers.
    Network,
    /// Runs the first milliseconds of queries, beside workers that are at long ones.
    ShortWorker,
    /// Runs queries.
    Worker,
    /// Runs what blocks, and queries where those have threads of their own.
    Pool,
}

impl ThreadKind {
    /// How long the thread computes in one turn; `None` is as long as others.
    fn slice(self) -> Option<Duration> {
        match self {
            Self::Network => Some(Duration::from_micros(100)),
            Self::ShortWorker => Some(Duration::from_millis(1)),
            Self::Worker => Some(Duration::from_millis(20)),
            Self::Pool => None,
        }
    }

    /// How much nicer the thread is than the process. 10 is a tenth of the others' weight. Linux lets nobody become less nice, and who
    /// is started by a worker begins as nice: so threads of the pool are as nice in any case.
    fn niceness(self) -> i32 {
        match self {
            Self::Network | Self::ShortWorker => 0,
            Self::Worker | Self::Pool => 10,
        }
    }
}

/// Tells the kernel what the calling thread does. Threads that it starts inherit its nice value, but not how long its turns are.
pub fn set_thread_kind(kind: ThreadKind) {
    #[cfg(target_os = "linux")]
    linux::set(kind.slice(), kind.niceness());
    #[cfg(not(target_os = "linux"))]
    let _ = kind;
}

#[cfg(target_os = "linux")]
mod linux {
    use std::time::Duration;

    const THIS_THREAD: libc::pid_t = 0;
    const NO_FLAGS: libc::c_uint = 0;
    const NICE_MAX: i32 = 19;

    /// The attributes of a thread: 0 is the calling one.
    pub(super) fn read(thread: libc::pid_t) -> Option<libc::sched_attr> {
        // SAFETY: a structure of integers, for which zeros are a value.
        let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
        let size = size_of::<libc::sched_attr>() as libc::c_uint;
        // SAFETY: the kernel writes at most `size` bytes to the structure, which outlives the call.
        let result = unsafe { libc::syscall(libc::SYS_sched_getattr, thread, &raw mut attributes, size, NO_FLAGS) };
        (result == 0).then_some(attributes)
    }

    /// Changes the calling thread's slice and nice value. Where the kernel refuses, the thread keeps the usual ones.
    pub(super) fn set(slice: Option<Duration>, niceness: i32) {
        let Some(mut attributes) = read(THIS_THREAD) else { return };
        attributes.size = size_of::<libc::sched_attr>() as u32;
        attributes.sched_flags |= libc::SCHED_FLAG_RESET_ON_FORK as u64;
        if let Some(slice) = slice {
            attributes.sched_runtime = slice.as_nanos() as u64;
        }
        // The first thread keeps the value that the process was started with, whoever starts this one.
        let of_process = read(std::process::id() as libc::pid_t).map_or(0, |attributes| attributes.sched_nice);
        attributes.sched_nice = attributes.sched_nice.max((of_process + niceness).min(NICE_MAX));
        // SAFETY: the kernel reads `size` bytes of the structure, which outlives the call.
        let _ = unsafe { libc::syscall(libc::SYS_sched_setattr, THIS_THREAD, &raw const attributes, NO_FLAGS) };
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn threads_are_told_of_and_their_children_take_usual_turns() {
        let read = || linux::read(0).unwrap();
        let of = move |kind| {
            let both = std::thread::spawn(move || {
                let before = read();
                set_thread_kind(kind);
                (before, read(), std::thread::spawn(read).join().unwrap())
            });
            both.join().unwrap()
        };
        let (before, changed, child) = of(ThreadKind::Network);
        // Linux before 6.12 tells no slice, and keeps none.
        assert!([before.sched_runtime, 100_000].contains(&changed.sched_runtime), "{}", changed.sched_runtime);
        assert_eq!(child.sched_runtime, before.sched_runtime);
        assert_eq!(changed.sched_nice, before.sched_nice);
        let (before, changed, _) = of(ThreadKind::Worker);
        assert_eq!(changed.sched_nice, (before.sched_nice + 10).min(19));
    }
}
