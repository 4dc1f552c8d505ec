//! What a worker pays between two morsels: the lease, which needs no lock while the worker stays with its task, beside the same
//! policy asked under its lock for every morsel, as it was before. Tiny morsels, so that the decision is what is measured.
//!
//! `cargo bench -p squall-scheduler --bench between_morsels`

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a failure is the bench's failure"
)]

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use squall_scheduler::Step;
use squall_scheduler::policy::stride::{Stride, WorkerKind};

/// One measurement; those of both variants take turns.
const SECONDS: f64 = 0.2;
const ROUNDS: usize = 5;
/// The CPU time that a morsel is said to have used.
const CPU_NS: u64 = 1_000;
/// Turns of an empty loop: a morsel.
const SPINS: u64 = 100;
/// Morsels between two looks at the clock.
const BATCH: u64 = 64;

#[derive(Clone, Copy, PartialEq)]
enum Variant {
    Lock,
    Lease,
}

fn morsel() {
    for spin in 0..SPINS {
        black_box(spin);
    }
}

/// Morsels that so many threads run in one measurement, over so many tasks.
fn morsels(variant: Variant, threads: usize, tasks: usize) -> f64 {
    let stride = Mutex::new(Stride::default());
    for _ in 0..tasks {
        let mut stride = stride.lock();
        let task = stride.add(1.0, threads);
        stride.wake(task, 0);
    }
    let (done, barrier) = (AtomicU64::new(0), Barrier::new(threads));
    let began = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                barrier.wait();
                let began = *began.lock().get_or_insert_with(Instant::now);
                let end = began + Duration::from_secs_f64(SECONDS);
                let (mut count, mut last) = (0, None);
                'measured: loop {
                    let mut lease = stride.lock().pick(0, last, WorkerKind::Any).expect("tasks never end");
                    last = Some(lease.task);
                    loop {
                        morsel();
                        count += 1;
                        let stays = lease.ran(CPU_NS, Step::Worked);
                        if count % BATCH == 0 && Instant::now() >= end {
                            break 'measured;
                        }
                        if !stays || variant == Variant::Lock {
                            break;
                        }
                    }
                    stride.lock().give_back(lease, Step::Worked, 0);
                }
                done.fetch_add(count, Ordering::Relaxed);
            });
        }
    });
    done.into_inner() as f64 / SECONDS
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let began = Instant::now();
    (0..1_000_000).for_each(|_| morsel());
    let morsel_ns = began.elapsed().as_secs_f64() * 1e3;
    println!("a morsel alone takes {morsel_ns:.0} ns; {cpus} CPUs\n");
    println!(
        "{:>5} {:>7} {:>16} {:>16} {:>12} {:>12} {:>6}",
        "tasks", "threads", "lock morsels/s", "lease morsels/s", "lock ns", "lease ns", "ratio"
    );
    for tasks in [1, 20, 1_000] {
        for threads in [1, 2, 4, 8, 16, 32, 64] {
            let (mut lock, mut lease) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                lock.push(morsels(Variant::Lock, threads, tasks));
                lease.push(morsels(Variant::Lease, threads, tasks));
            }
            let (lock, lease) = (median(&mut lock), median(&mut lease));
            // What a CPU spends on each morsel beyond running it.
            let decision_ns = |rate: f64| 1e9 * cpus.min(threads) as f64 / rate - morsel_ns;
            println!(
                "{tasks:>5} {threads:>7} {lock:>16.0} {lease:>16.0} {:>12.0} {:>12.0} {:>6.2}",
                decision_ns(lock),
                decision_ns(lease),
                lease / lock
            );
        }
    }
}
