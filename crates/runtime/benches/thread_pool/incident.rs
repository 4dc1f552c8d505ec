//! The document's incident: 2,000 queries of 21 jobs each on a local pool, up to 225 at once, so that 4,725 threads work at the peak, while
//! others map and unmap memory. A job computes little and waits much, as one that reads from disk does, and takes half a second, as the
//! document's did.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use squall_runtime::profile_events::GLOBAL;
use squall_runtime::{LocalThreadPool, ProfileEvent, ThreadPool, ThreadPoolLimits};

use crate::faulty::{Counts, Faulty};
use crate::memory_map::Contention;

const QUERIES: usize = 2_000;
const CLIENTS: usize = 225;
const JOBS_PER_QUERY: usize = 21;
/// Times that each pool is measured, in turns.
const TURNS: usize = 2;

/// The clients begin one after another within this time: a spike.
const SPIKE: Duration = Duration::from_secs(1);

const STEPS: usize = 5;
const STEP_WAIT: Duration = Duration::from_millis(100);
const STEP_ROUNDS: u64 = 10_000;

const MAPPERS: usize = 8;
const MAPPER_BYTES: usize = 4 << 20;
const MAPPER_PAUSE: Duration = Duration::from_millis(8);

/// ClickHouse's defaults.
const THREADS_MAX: usize = 10_000;
const FREE_THREADS_MAX: usize = 1_000;

/// What the jobs saw.
#[derive(Default)]
struct Jobs {
    wait_ns: AtomicU64,
    busy_ns: AtomicU64,
}

impl Jobs {
    fn job(self: &Arc<Self>) -> impl FnOnce() + Send + 'static {
        let (jobs, scheduled) = (self.clone(), Instant::now());
        move || {
            let started = Instant::now();
            for _ in 0..STEPS {
                black_box((0..black_box(STEP_ROUNDS)).fold(0, |hash: u64, number| hash.rotate_left(5) ^ number));
                std::thread::sleep(STEP_WAIT);
            }
            jobs.wait_ns.fetch_add((started - scheduled).as_nanos() as u64, Ordering::Relaxed);
            jobs.busy_ns.fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
    }
}

/// The figures of one turn.
#[derive(Clone, Copy, Default)]
struct Figures {
    global_lock_wait_s: f64,
    local_lock_wait_s: f64,
    creation_s: f64,
    expansions: f64,
    shrinks: f64,
    threads_peak: f64,
    job_wait_s: f64,
    busy_s: f64,
    queries_per_s: f64,
    p95_s: f64,
    p99_s: f64,
}

/// Runs the queries from all clients at once; `query` runs one.
fn measure(jobs: &Jobs, threads: impl Fn() -> usize + Sync, query: impl Fn() + Sync) -> Figures {
    let (next, threads_peak) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let barrier = Barrier::new(CLIENTS + 1);
    let client = |number: usize| {
        let mut latencies = Vec::new();
        barrier.wait();
        std::thread::sleep(SPIKE * number as u32 / CLIENTS as u32);
        while next.fetch_add(1, Ordering::Relaxed) < QUERIES {
            let began = Instant::now();
            query();
            latencies.push(began.elapsed().as_secs_f64());
            threads_peak.fetch_max(threads(), Ordering::Relaxed);
        }
        latencies
    };
    let (elapsed_s, mut latencies) = std::thread::scope(|scope| {
        let client = &client;
        let clients: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(move || client(number))).collect();
        barrier.wait();
        let began = Instant::now();
        let latencies: Vec<f64> = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
        (began.elapsed().as_secs_f64(), latencies)
    });
    latencies.sort_by(f64::total_cmp);
    let quantile = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize];
    Figures {
        threads_peak: threads_peak.into_inner() as f64,
        job_wait_s: seconds(&jobs.wait_ns),
        busy_s: seconds(&jobs.busy_ns),
        queries_per_s: QUERIES as f64 / elapsed_s,
        p95_s: quantile(0.95),
        p99_s: quantile(0.99),
        ..Figures::default()
    }
}

fn seconds(ns: &AtomicU64) -> f64 {
    ns.load(Ordering::Relaxed) as f64 / 1e9
}

fn fault() -> Figures {
    let (jobs, global_counts, local_counts) = (Arc::new(Jobs::default()), Arc::new(Counts::default()), Arc::default());
    let global = Faulty::global(THREADS_MAX, FREE_THREADS_MAX, global_counts.clone());
    let query = || {
        let local = Faulty::local(&global, JOBS_PER_QUERY, Arc::clone(&local_counts));
        for _ in 0..JOBS_PER_QUERY {
            local.schedule(Box::new(jobs.job()));
        }
        local.wait();
        local.close();
    };
    let figures = measure(&jobs, || global.threads(), query);
    global.close_and_wait();
    let local_counts: &Counts = &local_counts;
    Figures {
        global_lock_wait_s: seconds(&global_counts.lock_wait_ns),
        local_lock_wait_s: seconds(&local_counts.lock_wait_ns),
        creation_s: seconds(&global_counts.creation_ns),
        expansions: global_counts.expansions.load(Ordering::Relaxed) as f64,
        shrinks: global_counts.shrinks.load(Ordering::Relaxed) as f64,
        ..figures
    }
}

fn remedy() -> Figures {
    let jobs = Arc::new(Jobs::default());
    let limits = |threads_max, free_threads_max| ThreadPoolLimits { threads_max, free_threads_max, jobs_max: 0 };
    let global = ThreadPool::new(limits(THREADS_MAX, FREE_THREADS_MAX));
    let query = || {
        let local = LocalThreadPool::new(&global, limits(JOBS_PER_QUERY, 0));
        for _ in 0..JOBS_PER_QUERY {
            local.schedule(jobs.job()).unwrap();
        }
        local.wait();
    };
    let events = |event| GLOBAL.get(event) as f64;
    let read = || Figures {
        global_lock_wait_s: events(ProfileEvent::GlobalThreadPoolLockWaitMicroseconds) / 1e6,
        local_lock_wait_s: events(ProfileEvent::LocalThreadPoolLockWaitMicroseconds) / 1e6,
        creation_s: events(ProfileEvent::GlobalThreadPoolThreadCreationMicroseconds) / 1e6,
        expansions: events(ProfileEvent::GlobalThreadPoolExpansions),
        shrinks: events(ProfileEvent::GlobalThreadPoolShrinks),
        ..Figures::default()
    };
    let before = read();
    let figures = measure(&jobs, || global.threads(), query);
    let after = read();
    drop(global);
    while squall_runtime::CurrentMetric::GlobalThread.get() > 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    Figures {
        global_lock_wait_s: after.global_lock_wait_s - before.global_lock_wait_s,
        local_lock_wait_s: after.local_lock_wait_s - before.local_lock_wait_s,
        creation_s: after.creation_s - before.creation_s,
        expansions: after.expansions - before.expansions,
        shrinks: after.shrinks - before.shrinks,
        ..figures
    }
}

pub fn run() {
    println!(
        "The incident: {QUERIES} queries of {JOBS_PER_QUERY} jobs, {CLIENTS} at once, {} CPUs; mean of {TURNS} turns each\n",
        std::thread::available_parallelism().map_or(0, usize::from)
    );
    let _contention = Contention::start(MAPPERS, MAPPER_BYTES, MAPPER_PAUSE);
    let (mut faults, mut remedies) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        faults.push(fault());
        remedies.push(remedy());
    }
    let mean = |figures: &[Figures], of: &dyn Fn(&Figures) -> f64| figures.iter().map(of).sum::<f64>() / TURNS as f64;
    println!("{:<42} {:>12} {:>12} {:>12}", "", "fault", "remedy", "ratio");
    let line = |name: &str, of: &dyn Fn(&Figures) -> f64, decimals: usize| {
        let (fault, remedy) = (mean(&faults, of), mean(&remedies, of));
        println!("{name:<42} {fault:>12.decimals$} {remedy:>12.decimals$} {:>12.3}", fault / remedy);
    };
    line("lock wait, global pool, s", &|figures| figures.global_lock_wait_s, 6);
    line("lock wait, local pools, s", &|figures| figures.local_lock_wait_s, 6);
    line("lock wait, both, s", &|figures| figures.global_lock_wait_s + figures.local_lock_wait_s, 6);
    line("thread creation, s", &|figures| figures.creation_s, 3);
    line("thread creation, ms each", &|figures| 1e3 * figures.creation_s / figures.expansions, 3);
    line("threads created", &|figures| figures.expansions, 0);
    line("threads let go meanwhile", &|figures| figures.shrinks, 0);
    line("threads at the peak", &|figures| figures.threads_peak, 0);
    line("job wait, s", &|figures| figures.job_wait_s, 3);
    line("busy, s", &|figures| figures.busy_s, 3);
    line("efficiency, busy / (busy + job wait), %", &|f| 100.0 * f.busy_s / (f.busy_s + f.job_wait_s), 3);
    line("queries per second", &|figures| figures.queries_per_s, 1);
    line("p95, s", &|figures| figures.p95_s, 3);
    line("p99, s", &|figures| figures.p99_s, 3);
    println!();
}
