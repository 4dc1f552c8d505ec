//! What it costs to count memory: threads allocate and free, and every 256 KiB reach the shared trackers. Beside the tracker runs what
//! document 004 found on a large machine: a free that takes an exclusive lock to tell the overcommit tracker, also while nobody is over a
//! limit.
//!
//! `cargo bench -p squall-runtime --bench memory_tracker`

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use squall_runtime::MemoryTracker;

const RUN: Duration = Duration::from_millis(400);
const ROUNDS: usize = 5;
const STEP_BYTES: i64 = 256 << 10;

/// Threads add and take away through `count` for [`RUN`]; gives nanoseconds of a CPU for each pair.
fn measure(threads: usize, count: impl Fn(usize, i64) + Sync) -> f64 {
    let (is_over, pairs, begin) = (AtomicBool::new(false), AtomicU64::new(0), Barrier::new(threads + 1));
    let took = std::thread::scope(|scope| {
        for thread in 0..threads {
            let (is_over, pairs, begin, count) = (&is_over, &pairs, &begin, &count);
            scope.spawn(move || {
                begin.wait();
                let mut done = 0;
                while !is_over.load(Ordering::Relaxed) {
                    count(thread, STEP_BYTES);
                    count(thread, -STEP_BYTES);
                    done += 1;
                }
                pairs.fetch_add(done, Ordering::Relaxed);
            });
        }
        begin.wait();
        let begun = Instant::now();
        std::thread::sleep(RUN);
        is_over.store(true, Ordering::Relaxed);
        begun.elapsed()
    });
    let running = threads.min(std::thread::available_parallelism().map_or(1, usize::from));
    took.as_nanos() as f64 * running as f64 / pairs.load(Ordering::Relaxed).max(1) as f64
}

/// The fault: each free asks under a lock whether somebody waits for memory.
struct Exclusive {
    bytes: AtomicI64,
    waiting: Mutex<Vec<u64>>,
}

impl Exclusive {
    fn add(&self, bytes: i64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if bytes < 0 && !self.waiting.lock().is_empty() {
            self.bytes.fetch_add(0, Ordering::Relaxed);
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "nanoseconds of a CPU for adding and taking away 256 KiB, {cpus} CPUs, median of {ROUNDS} rounds in turns"
    );
    println!("threads   tracker   exclusive lock   ratio");
    for threads in [2, 4, 8, 16, 32, 64] {
        let user = Arc::new(MemoryTracker::user());
        // Four queries, whose workers the threads are.
        let queries: Vec<_> = (0..4).map(|_| MemoryTracker::query(0, Some(user.clone()))).collect();
        let exclusive = Exclusive { bytes: AtomicI64::new(0), waiting: Mutex::default() };
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(measure(threads, |thread, bytes| {
                queries[thread % queries.len()].add(bytes);
                squall_runtime::memory::SERVER.add(bytes);
            }));
            theirs.push(measure(threads, |thread, bytes| {
                queries[thread % queries.len()].add(bytes);
                exclusive.add(bytes);
            }));
        }
        let (ours, theirs) = (median(ours), median(theirs));
        println!("{threads:>7}  {ours:>8.1}  {theirs:>15.1}  {:>6.2}", theirs / ours);
    }
}
