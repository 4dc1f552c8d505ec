//! The document's five directions ("Moving forward"), each measured beside what it would replace.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier, mpsc};
use std::time::{Duration, Instant};

use crossbeam_queue::SegQueue;
use parking_lot::{Condvar, Mutex};
use squall_runtime::profile_events::GLOBAL;
use squall_runtime::thread_pool::STACK_BYTES;
use squall_runtime::{CurrentMetric, ProfileEvent, ThreadPool, ThreadPoolLimits};

use crate::faulty::{Counts, Faulty};
use crate::memory_map::Contention;

pub fn run() {
    wake_ups();
    creation_ahead();
    recycling();
    queues();
    stacks();
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

fn contention() -> Contention {
    Contention::start(8, 4 << 20, Duration::from_millis(8))
}

/// A pool ends without waiting for its threads; the next measurement should not see them.
fn end(pool: ThreadPool) {
    drop(pool);
    while CurrentMetric::GlobalThread.get() > 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn voluntary_switches() -> i64 {
    // SAFETY: an all-zero rusage is valid and the kernel fills it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage.ru_nvcsw
    }
}

/// Idle threads that all wait in one place.
#[derive(Default)]
struct OnePlace {
    jobs: Mutex<(VecDeque<mpsc::Sender<()>>, bool)>,
    arrived: Condvar,
}

/// One job after another on a pool of 64 threads that rest.
fn wake_ups() {
    const THREADS: usize = 64;
    const JOBS: usize = 10_000;
    println!("Wake-ups: one job after another, {THREADS} threads rest\n");
    println!("{:<42} {:>12} {:>12} {:>12}", "", "p50, µs", "p99, µs", "switches/job");
    let measure = |name: &str, schedule: &dyn Fn(mpsc::Sender<()>)| {
        let (sender, receiver) = mpsc::channel();
        let switches = voluntary_switches();
        let times = (0..JOBS).map(|_| {
            let began = Instant::now();
            schedule(sender.clone());
            receiver.recv().unwrap();
            began.elapsed().as_secs_f64() * 1e6
        });
        let times = sorted(times.collect());
        let switches = (voluntary_switches() - switches) as f64 / JOBS as f64;
        println!("{name:<42} {:>12.1} {:>12.1} {switches:>12.1}", quantile(&times, 0.5), quantile(&times, 0.99));
    };
    for (name, wakes_all) in [("one place, all are woken", true), ("one place, one is woken, the oldest", false)] {
        let pool = OnePlace::default();
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let mut jobs = pool.jobs.lock();
                    while !jobs.1 {
                        match jobs.0.pop_front() {
                            Some(job) => job.send(()).unwrap(),
                            None => pool.arrived.wait(&mut jobs),
                        }
                    }
                });
            }
            measure(name, &|sender| {
                pool.jobs.lock().0.push_back(sender);
                if wakes_all {
                    pool.arrived.notify_all()
                } else {
                    usize::from(pool.arrived.notify_one())
                };
            });
            pool.jobs.lock().1 = true;
            pool.arrived.notify_all();
        });
    }
    let pool = ThreadPool::new(ThreadPoolLimits::default());
    let barrier = Arc::new(Barrier::new(THREADS + 1));
    for _ in 0..THREADS {
        let barrier = barrier.clone();
        pool.schedule(move || _ = barrier.wait()).unwrap();
    }
    barrier.wait();
    std::thread::sleep(Duration::from_millis(20));
    measure("a place each, the latest is woken (ours)", &|sender| {
        pool.schedule(move || sender.send(()).unwrap()).unwrap();
    });
    end(pool);
    println!();
}

/// Jobs come one a millisecond and all stay, while the memory map is contended.
fn creation_ahead() {
    println!("Creation ahead: {STAYING} jobs that stay, one a millisecond, the memory map contended\n");
    println!("{:<42} {:>12} {:>12} {:>12} {:>12}", "µs", "call, p50", "call, p99", "start, p50", "start, p99");
    let _contention = contention();
    for (name, free_threads_max) in [("the caller creates", 0), ("spare threads are created ahead (ours)", 1_000)] {
        let pool = ThreadPool::new(ThreadPoolLimits { free_threads_max, ..ThreadPoolLimits::default() });
        let (sender, receiver) = mpsc::channel();
        *STAY.0.lock() = true;
        let schedule = |_| {
            let (sender, began) = (sender.clone(), Instant::now());
            let job = move || {
                sender.send(began.elapsed().as_secs_f64() * 1e6).unwrap();
                stay();
            };
            pool.schedule(job).unwrap();
            let call_us = began.elapsed().as_secs_f64() * 1e6;
            std::thread::sleep(Duration::from_millis(1));
            call_us
        };
        let calls = sorted((0..STAYING).map(schedule).collect());
        drop(sender);
        let_go();
        let starts = sorted(receiver.iter().collect());
        let [call_p50, start_p50] = [&calls, &starts].map(|times| quantile(times, 0.5));
        let [call_p99, start_p99] = [&calls, &starts].map(|times| quantile(times, 0.99));
        println!("{name:<42} {call_p50:>12.1} {call_p99:>12.1} {start_p50:>12.1} {start_p99:>12.1}");
        end(pool);
    }
    println!();
}

/// Waves of jobs that are all there at once, with quiet between them.
fn recycling() {
    const WAVES: usize = 4;
    const JOBS: usize = 2_000;
    println!("Recycling: {WAVES} waves of {JOBS} jobs at once, max_thread_pool_free_size 1,000\n");
    let wave = |schedule: &dyn Fn(Box<dyn FnOnce() + Send>)| {
        for _ in 0..WAVES {
            let barrier = Arc::new(Barrier::new(JOBS + 1));
            for _ in 0..JOBS {
                let barrier = barrier.clone();
                schedule(Box::new(move || _ = barrier.wait()));
            }
            barrier.wait();
            std::thread::sleep(Duration::from_millis(300));
        }
    };
    let counts = Arc::new(Counts::default());
    let fault = Faulty::global(10_000, 1_000, counts.clone());
    wave(&|job| fault.schedule(job));
    println!("{:<42} {:>12}", "", "created");
    println!("{:<42} {:>12}", "who is too many leaves at once", counts.expansions.load(Ordering::Relaxed));
    fault.close_and_wait();
    let before = GLOBAL.get(ProfileEvent::GlobalThreadPoolExpansions);
    let pool = ThreadPool::new(ThreadPoolLimits::default());
    wave(&|job| pool.schedule(job).unwrap());
    let created = GLOBAL.get(ProfileEvent::GlobalThreadPoolExpansions) - before;
    println!("{:<42} {created:>12}\n", "who was wanted of late stays (ours)");
    end(pool);
}

/// Threads that do nothing but put a number in and take one out: what a queue alone can do. A pool's job costs a wake-up besides.
fn queues() {
    const OPERATIONS: u64 = 400_000;
    println!("Queues: threads that only put in and take out, ns for both\n");
    println!("{:<42} {:>12} {:>12} {:>12} {:>12}", "threads", 1, 2, 16, 256);
    let measure = |name: &str, operation: &(dyn Fn(u64, usize) + Sync)| {
        print!("{name:<42}");
        for threads in [1, 2, 16, 256] {
            let run = |_| {
                let began = Instant::now();
                std::thread::scope(|scope| {
                    for thread in 0..threads {
                        let operations = 0..OPERATIONS / threads as u64;
                        scope.spawn(move || operations.for_each(|number| operation(number, thread)));
                    }
                });
                began.elapsed().as_nanos() as f64 / OPERATIONS as f64
            };
            // The least disturbed of several.
            print!(" {:>12.1}", sorted((0..7).map(run).collect())[0]);
        }
        println!();
    };
    let locked = Mutex::new(VecDeque::new());
    measure("a queue under one lock (ours)", &|number, _| {
        locked.lock().push_back(number);
        let _ = locked.lock().pop_front();
    });
    let shards: Vec<Mutex<VecDeque<u64>>> = (0..16).map(|_| Mutex::default()).collect();
    measure("16 shards, a lock each (not first in, first out)", &|number, thread| {
        shards[thread % 16].lock().push_back(number);
        let _ = shards[thread % 16].lock().pop_front();
    });
    let lock_free = SegQueue::new();
    measure("lock-free (crossbeam SegQueue)", &|number, _| {
        lock_free.push(number);
        let _ = lock_free.pop();
    });
    println!();
}

/// Creating threads that stay, as the standard library does and as the pool does.
fn stacks() {
    println!("Stacks: creating {STAYING} threads that stay\n");
    println!("{:<42} {:>12} {:>12} {:>12}", "", "mean, µs", "p50, µs", "p99, µs");
    let measure = |when: &str| {
        for (name, create) in
            [("mapped for the thread", mapped_for_each as fn() -> Vec<f64>), ("mapped before (ours)", mapped_before)]
        {
            let times = create();
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            let times = sorted(times);
            let name = format!("{name}, {when}");
            println!("{name:<42} {mean:>12.1} {:>12.1} {:>12.1}", quantile(&times, 0.5), quantile(&times, 0.99));
        }
    };
    measure("quiet");
    let _contention = contention();
    measure("contended");
    println!();
}

/// Threads that are there at once.
const STAYING: usize = 1_000;

/// Where threads stay until they may end.
static STAY: (Mutex<bool>, Condvar) = (Mutex::new(true), Condvar::new());

fn stay() {
    let mut stays = STAY.0.lock();
    while *stays {
        STAY.1.wait(&mut stays);
    }
}

fn let_go() {
    *STAY.0.lock() = false;
    STAY.1.notify_all();
}

/// Times to create threads as the standard library does, in microseconds.
fn mapped_for_each() -> Vec<f64> {
    *STAY.0.lock() = true;
    let create = |_| {
        let began = Instant::now();
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(stay).unwrap();
        (began.elapsed().as_secs_f64() * 1e6, thread)
    };
    let (times, threads): (Vec<f64>, Vec<_>) = (0..STAYING).map(create).unzip();
    let_go();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    times
}

/// Times to create threads of a pool that creates none ahead, in microseconds.
fn mapped_before() -> Vec<f64> {
    *STAY.0.lock() = true;
    let pool = ThreadPool::new(ThreadPoolLimits { free_threads_max: 0, ..ThreadPoolLimits::default() });
    let create = |_| {
        let began = Instant::now();
        pool.schedule(stay).unwrap();
        began.elapsed().as_secs_f64() * 1e6
    };
    let times = (0..STAYING).map(create).collect();
    let_go();
    end(pool);
    times
}
