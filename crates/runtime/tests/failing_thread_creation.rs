//! `pthread_create` failing for real: the process may have no more address space. Alone in its file, and so in its process, since the limit is
//! the process's.

#![allow(clippy::unwrap_used, missing_docs, reason = "a failure is the test's failure")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use squall_runtime::thread_pool::{STACK_BYTES, ScheduleError};
use squall_runtime::{CurrentMetric, ThreadPool, ThreadPoolLimits};

fn limit_address_space(bytes: libc::rlim_t) {
    // SAFETY: the kernel fills the old limit and reads the new one.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        assert_eq!(libc::getrlimit(libc::RLIMIT_AS, &raw mut limit), 0);
        limit.rlim_cur = bytes;
        assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &raw const limit), 0);
    }
}

fn address_space_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096
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
    let pool = ThreadPool::new(ThreadPoolLimits::default());
    limit_address_space(address_space_bytes() + 20 * STACK_BYTES as u64);
    let ran = Arc::new(AtomicUsize::new(0));
    let mut releases = Vec::new();
    let error = loop {
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

    // Threads that are there serve on; and with room again there are more.
    limit_address_space(libc::RLIM_INFINITY);
    let (sender, receiver) = mpsc::channel();
    for number in 0..3 * taken {
        let sender = sender.clone();
        pool.schedule(move || sender.send(number).unwrap()).unwrap();
    }
    drop(sender);
    let mut numbers: Vec<_> = receiver.iter().collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..3 * taken).collect::<Vec<_>>());
}
