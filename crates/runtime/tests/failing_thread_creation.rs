//! `pthread_create` failing for real: the user may have no more threads (`RLIMIT_NPROC`). Alone in its file, and so in its process, since the
//! limit is the process's.

#![allow(clippy::unwrap_used, missing_docs, reason = "a failure is the test's failure")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use squall_runtime::thread_pool::ScheduleError;
use squall_runtime::{CurrentMetric, ThreadPool, ThreadPoolLimits};

/// The limit does not bind root. A user that nobody is, for this thread and those that it makes: the kernel's call, not libc's, which
/// would change all threads.
fn become_ordinary_user() {
    const NOBODY_ELSE: libc::uid_t = 0x5173_1100;
    // SAFETY: plain system calls.
    unsafe {
        if libc::geteuid() == 0 {
            assert_eq!(libc::syscall(libc::SYS_setresuid, NOBODY_ELSE, NOBODY_ELSE, NOBODY_ELSE), 0);
        }
    }
}

/// Allows the user so many threads; gives what was allowed before.
fn limit_threads(threads: libc::rlim_t) -> libc::rlim_t {
    // SAFETY: the kernel fills the old limit and reads the new one.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        assert_eq!(libc::getrlimit(libc::RLIMIT_NPROC, &raw mut limit), 0);
        let before = std::mem::replace(&mut limit.rlim_cur, threads);
        assert_eq!(libc::setrlimit(libc::RLIMIT_NPROC, &raw const limit), 0);
        before
    }
}

fn eventually(what: &str, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn jobs_are_refused_and_none_that_was_taken_is_lost() {
    become_ordinary_user();
    let pool = ThreadPool::new(ThreadPoolLimits::default());
    let ran = Arc::new(AtomicUsize::new(0));
    let mut releases = Vec::new();
    let mut before = None;
    let error = loop {
        if releases.len() == 20 {
            before = Some(limit_threads(1));
        }
        let (release, held) = mpsc::channel::<()>();
        let ran = ran.clone();
        let job = move || {
            let _ = held.recv();
            ran.fetch_add(1, Ordering::SeqCst);
        };
        match pool.schedule(job) {
            Ok(()) => releases.push(release),
            Err(error) => break error,
        }
        assert!(releases.len() < 100, "the limit does not hold");
    };
    assert!(matches!(error, ScheduleError::NoThread(_)), "{error}");
    let taken = releases.len();
    assert_eq!(CurrentMetric::GlobalThreadScheduled.get(), taken as i64);
    eventually("every job that was taken runs at once", || CurrentMetric::GlobalThreadActive.get() == taken as i64);
    drop(releases);
    eventually("every job that was taken ends", || ran.load(Ordering::SeqCst) == taken);

    // Threads that are there serve on; and where there may be more again, there are.
    limit_threads(before.unwrap());
    let barrier = Arc::new(std::sync::Barrier::new(3 * taken + 1));
    for _ in 0..3 * taken {
        let barrier = barrier.clone();
        pool.schedule(move || _ = barrier.wait()).unwrap();
    }
    barrier.wait();
}
