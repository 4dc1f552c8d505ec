//! What it costs to attach a thread to a query under the sampling profiler: with the pair of timers kept, as Squall does, beside a pair
//! that is made and deleted for each query (document 004, #48778), at 1 to 64 threads. `cargo bench -p squall-runtime --bench profiler_attach`.

#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::Arc;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use squall_runtime::profiler::{Periods, attach, enable};
use squall_runtime::thread_usage::thread_cpu_ns;

const PERIOD_NS: u64 = 1_000_000_000;

/// Attaches with timers that stay.
fn kept(query_id: &Arc<str>) {
    drop(attach(query_id, Periods { real_ns: PERIOD_NS, cpu_ns: PERIOD_NS }));
}

/// Attaches as was done before timers were kept: made, set, deleted.
fn anew(_: &Arc<str>) {
    for (clock, signal) in [(libc::CLOCK_MONOTONIC, libc::SIGUSR1), (libc::CLOCK_THREAD_CPUTIME_ID, libc::SIGUSR2)] {
        // SAFETY: structs are initialised, and the timer is deleted where it was made.
        unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signal;
            event.sigev_notify_thread_id = libc::gettid();
            let mut id: libc::timer_t = std::mem::zeroed();
            assert_eq!(libc::timer_create(clock, &raw mut event, &raw mut id), 0);
            let period = libc::timespec { tv_sec: 1, tv_nsec: 0 };
            let setting = libc::itimerspec { it_interval: period, it_value: period };
            libc::timer_settime(id, 0, &raw const setting, std::ptr::null_mut());
            libc::timer_delete(id);
        }
    }
}

/// CPU nanoseconds of one attachment on each of so many threads at once: a thread that waits for a CPU costs nothing.
fn measure(threads: usize, work: fn(&Arc<str>)) -> f64 {
    let barrier = Barrier::new(threads);
    let run = || {
        let query_id: Arc<str> = "7b0f5c1e-0000-0000-0000-000000000000".into();
        work(&query_id);
        barrier.wait();
        let (began, began_ns, mut count) = (Instant::now(), thread_cpu_ns(), 0_u32);
        while began.elapsed() < Duration::from_millis(200) {
            (0..100).for_each(|_| work(&query_id));
            count += 100;
        }
        (thread_cpu_ns() - began_ns) as f64 / f64::from(count)
    };
    let costs: Vec<f64> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    costs.iter().sum::<f64>() / threads as f64
}

fn main() {
    enable().unwrap();
    println!("{} CPUs; CPU nanoseconds to attach a thread and let it go", squall_runtime::cpu::logical_cpus());
    println!("{:>8} {:>12} {:>12} {:>8}", "threads", "timers kept", "made anew", "ratio");
    for threads in [1, 2, 4, 16, 64] {
        // In turns, so that neither has the machine's better moment.
        let (mut of_kept, mut of_anew) = (f64::MAX, f64::MAX);
        for _ in 0..3 {
            of_kept = of_kept.min(measure(threads, kept));
            of_anew = of_anew.min(measure(threads, anew));
        }
        println!("{threads:>8} {of_kept:>12.1} {of_anew:>12.1} {:>8.1}", of_anew / of_kept);
    }
}
