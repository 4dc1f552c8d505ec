//! The pool under a model checker: its very source (`queue`, `state`, `driver`, …) compiled over shuttle's locks and threads, which
//! run it under many thousands of interleavings, chosen at random and by PCT (Burckhardt et al. 2010). A lost wake-up shows as a deadlock, which
//! shuttle reports with the schedule that leads to it; lost jobs and jobs that run twice are counted.

#![allow(dead_code, clippy::unwrap_used, missing_docs, reason = "the pool's source has more than the model calls")]

use std::sync::Arc as StdArc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

// The pool's source finds these at the root of its crate.
use squall_runtime::{current_metrics, profile_events};

/// What `sync` is in a model.
mod sync {
    pub(crate) use shuttle::sync::MutexGuard;
    pub(crate) use shuttle::thread::{Thread, current, park};

    /// A lock that is never poisoned, as the real one.
    pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap()
        }

        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }
    }

    /// Time passes whenever the checker likes.
    pub(crate) fn park_timeout(_: std::time::Duration) {
        shuttle::thread::yield_now();
    }
}

#[path = "../src/thread_pool/driver.rs"]
mod driver;
#[path = "../src/thread_pool/limits.rs"]
mod limits;
#[path = "../src/thread_pool/meter.rs"]
mod meter;
#[path = "../src/thread_pool/queue.rs"]
mod queue;
#[path = "../src/thread_pool/state.rs"]
mod state;

use driver::{Body, Driver, JobOptions, ScheduleError, Spawn};
use limits::ThreadPoolLimits;
use meter::{GLOBAL_METER, LOCAL_METER, Owner};

/// Threads of the model, of which the first few cannot be created.
struct ModelThreads {
    refusals: shuttle::sync::atomic::AtomicUsize,
}

impl Spawn for ModelThreads {
    fn spawn(&self, _: Option<&Owner>, body: Body) -> Result<(), ScheduleError> {
        use shuttle::sync::atomic::Ordering::SeqCst;
        shuttle::thread::yield_now();
        if self.refusals.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok() {
            return Err(ScheduleError::NoThread(std::io::ErrorKind::WouldBlock.into()));
        }
        shuttle::thread::spawn(body);
        Ok(())
    }
}

/// A model of the local pool's threads: jobs of another pool.
struct Borrowed(StdArc<Driver<ModelThreads>>);

impl Spawn for Borrowed {
    fn spawn(&self, _: Option<&Owner>, body: Body) -> Result<(), ScheduleError> {
        self.0.schedule(JobOptions::default(), body)
    }
}

#[derive(Clone, Copy)]
struct Shape {
    limits: ThreadPoolLimits,
    linger: Duration,
    keeps_spares: bool,
    refusals: usize,
}

/// Idle threads rest for good: nothing but a wake-up starts them again.
const STEADY: Shape = Shape {
    limits: ThreadPoolLimits { threads_max: 2, free_threads_max: 2, jobs_max: 0 },
    linger: Duration::ZERO,
    keeps_spares: false,
    refusals: 0,
};

fn pool(shape: Shape) -> StdArc<Driver<ModelThreads>> {
    let threads = ModelThreads { refusals: shape.refusals.into() };
    Driver::new(shape.limits, threads, &GLOBAL_METER, shape.linger, shape.keeps_spares)
}

/// How often each job ran.
#[derive(Clone)]
struct Runs(StdArc<[AtomicUsize]>);

impl Runs {
    fn of(jobs: usize) -> Self {
        Self((0..jobs).map(|_| AtomicUsize::new(0)).collect())
    }

    fn job(&self, number: usize) -> impl FnOnce() + Send + 'static {
        let runs = self.clone();
        move || {
            runs.0[number].fetch_add(1, Ordering::SeqCst);
        }
    }

    fn assert_once(&self, taken: &[bool]) {
        for (number, runs) in self.0.iter().enumerate() {
            let expected = usize::from(taken[number]);
            assert_eq!(runs.load(Ordering::SeqCst), expected, "runs of job {number}");
        }
    }
}

/// Runs a model under random schedules and under PCT's.
fn check(iterations: usize, model: impl Fn() + Send + Sync + Clone + 'static) {
    shuttle::check_random(model.clone(), iterations);
    shuttle::check_pct(model, iterations, 3);
}

/// Two submitters of two jobs each; then the pool is closed. That all threads end is part of the check: shuttle takes a thread that
/// sleeps for ever for a deadlock.
fn submit_and_close(shape: Shape) {
    let pool = pool(shape);
    let runs = Runs::of(4);
    let submit = |first: usize| {
        let (pool, runs) = (pool.clone(), runs.clone());
        shuttle::thread::spawn(move || {
            [first, first + 1].map(|number| pool.schedule(JobOptions::default(), runs.job(number)).is_ok())
        })
    };
    let (one, two) = (submit(0), submit(2));
    let taken = [one.join().unwrap(), two.join().unwrap()].concat();
    pool.wait();
    runs.assert_once(&taken);
    if shape.refusals == 0 && shape.limits.jobs_max == 0 {
        assert!(taken.iter().all(|taken| *taken));
    }
    pool.close();
}

#[test]
fn no_wake_up_and_no_job_is_lost() {
    check(4_000, || submit_and_close(STEADY));
}

#[test]
fn threads_that_leave_take_no_job_with_them() {
    // Whoever is idle leaves at once, or as soon as the checker lets time pass.
    let limits = ThreadPoolLimits { free_threads_max: 0, ..STEADY.limits };
    check(3_000, move || submit_and_close(Shape { limits, ..STEADY }));
    check(3_000, move || submit_and_close(Shape { limits, linger: Duration::from_nanos(1), ..STEADY }));
}

#[test]
fn threads_created_ahead_change_nothing() {
    let limits = ThreadPoolLimits { threads_max: 3, free_threads_max: 3, jobs_max: 0 };
    check(3_000, move || submit_and_close(Shape { limits, keeps_spares: true, ..STEADY }));
}

#[test]
fn jobs_whose_thread_cannot_be_created_are_refused_or_run() {
    for refusals in 1..4 {
        check(1_500, move || submit_and_close(Shape { refusals, ..STEADY }));
        check(1_500, move || submit_and_close(Shape { refusals, keeps_spares: true, ..STEADY }));
    }
}

#[test]
fn jobs_that_need_each_other_run_at_once() {
    check(3_000, || {
        let pool = pool(STEADY);
        for _ in 0..2 {
            let barrier = shuttle::sync::Arc::new(shuttle::sync::Barrier::new(3));
            for _ in 0..2 {
                let barrier = barrier.clone();
                pool.schedule(JobOptions::default(), move || _ = barrier.wait()).unwrap();
            }
            barrier.wait();
        }
        pool.close();
    });
}

#[test]
fn jobs_run_while_limits_change() {
    check(4_000, || {
        let pool = pool(STEADY);
        let runs = Runs::of(3);
        let changing = {
            let pool = pool.clone();
            shuttle::thread::spawn(move || {
                for (threads_max, free_threads_max) in [(1, 0), (3, 1), (1, 1)] {
                    let limits = ThreadPoolLimits { threads_max, free_threads_max, jobs_max: 0 };
                    pool.set_limits(limits).unwrap();
                }
            })
        };
        for number in 0..3 {
            pool.schedule(JobOptions::default(), runs.job(number)).unwrap();
        }
        pool.wait();
        runs.assert_once(&[true; 3]);
        changing.join().unwrap();
        pool.close();
    });
}

#[test]
fn a_job_is_not_left_behind_by_threads_that_are_too_many() {
    check(4_000, || {
        let all = ThreadPoolLimits { threads_max: 3, free_threads_max: 3, jobs_max: 0 };
        let pool = pool(Shape { limits: all, ..STEADY });
        let barrier = shuttle::sync::Arc::new(shuttle::sync::Barrier::new(4));
        for _ in 0..3 {
            let barrier = barrier.clone();
            pool.schedule(JobOptions::default(), move || _ = barrier.wait()).unwrap();
        }
        barrier.wait();
        pool.wait();
        // Now there are three threads that rest, or are about to.
        let lowering = {
            let pool = pool.clone();
            let one = ThreadPoolLimits { threads_max: 1, free_threads_max: 1, jobs_max: 0 };
            shuttle::thread::spawn(move || pool.set_limits(one).unwrap())
        };
        let runs = Runs::of(1);
        pool.schedule(JobOptions::default(), runs.job(0)).unwrap();
        pool.wait();
        runs.assert_once(&[true]);
        lowering.join().unwrap();
        pool.close();
    });
}

#[test]
fn a_local_pool_over_a_global_one_loses_nothing() {
    check(3_000, || {
        let global = pool(STEADY);
        let limits = ThreadPoolLimits { threads_max: 2, free_threads_max: 0, jobs_max: 0 };
        let local = Driver::new(limits, Borrowed(global.clone()), &LOCAL_METER, Duration::ZERO, false);
        let runs = Runs::of(3);
        for number in 0..3 {
            local.schedule(JobOptions::default(), runs.job(number)).unwrap();
        }
        local.wait();
        runs.assert_once(&[true; 3]);
        local.close();
        global.wait();
        global.close();
    });
}

#[test]
fn a_closed_pool_runs_what_it_took() {
    check(3_000, || {
        let pool = pool(STEADY);
        let runs = Runs::of(3);
        for number in 0..3 {
            pool.schedule(JobOptions::default(), runs.job(number)).unwrap();
        }
        pool.close();
        pool.wait();
        runs.assert_once(&[true; 3]);
    });
}
