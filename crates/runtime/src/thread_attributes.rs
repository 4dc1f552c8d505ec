//! What Linux is told of a thread, so that it knows whom to run first where threads want one CPU: one that answers clients and soon
//! sleeps again, or a worker that computes for as long as there are queries. Without it, a request or its client waits until a worker's
//! turn is over, a millisecond or more, though reading a request takes 20 µs (`scripts/short_beside_heavy.py`).
//!
//! Source: `sched_setattr(2)`; since Linux 6.12 a thread can choose how long its turns are (its slice). A thread that wakes takes the
//! CPU from one with longer turns, and the CPU time that each gets in all stays the same. Older kernels ignore it. A lower nice value
//! would give more CPU time to the I/O threads: clients on the same machine then waited longer (2026-11-26, p99.9 of `SELECT 1` by 64
//! clients 27 instead of 12 ms).

use std::time::Duration;

/// What a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreadKind {
    /// Reads requests and writes answers.
    Network,
    /// Runs queries.
    Worker,
}

impl ThreadKind {
    /// How long the thread computes in one turn.
    fn slice(self) -> Duration {
        match self {
            Self::Network => Duration::from_micros(100),
            Self::Worker => Duration::from_millis(20),
        }
    }
}

/// Tells the kernel what the calling thread does. Threads that it starts do not inherit it.
pub fn set_thread_kind(kind: ThreadKind) {
    #[cfg(target_os = "linux")]
    linux::set_slice(kind.slice());
    #[cfg(not(target_os = "linux"))]
    let _ = kind;
}

#[cfg(target_os = "linux")]
mod linux {
    use std::time::Duration;

    const THIS_THREAD: libc::pid_t = 0;
    const NO_FLAGS: libc::c_uint = 0;

    /// The calling thread's attributes.
    pub(super) fn read() -> Option<libc::sched_attr> {
        // SAFETY: a structure of integers, for which zeros are a value.
        let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
        let size = size_of::<libc::sched_attr>() as libc::c_uint;
        // SAFETY: the kernel writes at most `size` bytes to the structure, which outlives the call.
        let result =
            unsafe { libc::syscall(libc::SYS_sched_getattr, THIS_THREAD, &raw mut attributes, size, NO_FLAGS) };
        (result == 0).then_some(attributes)
    }

    /// Changes the calling thread's slice. Where the kernel refuses, the thread keeps the usual one.
    pub(super) fn set_slice(slice: Duration) {
        let Some(mut attributes) = read() else { return };
        attributes.size = size_of::<libc::sched_attr>() as u32;
        attributes.sched_flags |= libc::SCHED_FLAG_RESET_ON_FORK as u64;
        attributes.sched_runtime = slice.as_nanos() as u64;
        // SAFETY: the kernel reads `size` bytes of the structure, which outlives the call.
        let _ = unsafe { libc::syscall(libc::SYS_sched_setattr, THIS_THREAD, &raw const attributes, NO_FLAGS) };
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn threads_are_told_of_and_their_children_are_not() {
        let both = std::thread::spawn(|| {
            let before = linux::read().unwrap();
            set_thread_kind(ThreadKind::Network);
            (before, linux::read().unwrap(), std::thread::spawn(|| linux::read().unwrap()).join().unwrap())
        });
        let (before, changed, child) = both.join().unwrap();
        // Linux before 6.12 tells no slice, and keeps none.
        assert!([before.sched_runtime, 100_000].contains(&changed.sched_runtime), "{}", changed.sched_runtime);
        assert_eq!(child.sched_runtime, before.sched_runtime);
    }
}
