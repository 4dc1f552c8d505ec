//! Pools with real threads: what callers are promised.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use super::driver::{Body, Driver, Spawn};
use super::meter::GLOBAL_METER;
use super::*;
use crate::profile_events::{Counters, ProfileEvent};

const PATIENCE: Duration = Duration::from_secs(30);

fn limits(threads_max: usize, free_threads_max: usize, jobs_max: usize) -> ThreadPoolLimits {
    ThreadPoolLimits { threads_max, free_threads_max, jobs_max }
}

/// A job that runs until told, and says when it does.
fn hold(pool: &ThreadPool) -> mpsc::Sender<()> {
    let (release, held) = mpsc::channel::<()>();
    let (started, has_started) = mpsc::channel();
    pool.schedule(move || {
        started.send(()).unwrap();
        let _ = held.recv();
    })
    .unwrap();
    has_started.recv_timeout(PATIENCE).unwrap();
    release
}

fn eventually(what: &str, condition: impl Fn() -> bool) {
    let began = std::time::Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn every_job_runs_once_and_in_order_on_one_thread() {
    let pool = ThreadPool::new(limits(1, 1, 1000));
    let (sender, receiver) = mpsc::channel();
    for number in 0..500 {
        let sender = sender.clone();
        pool.schedule(move || sender.send(number).unwrap()).unwrap();
    }
    drop(sender);
    assert_eq!(receiver.iter().collect::<Vec<_>>(), (0..500).collect::<Vec<_>>());
    assert_eq!(pool.threads(), 1);
}

#[test]
fn higher_priorities_start_first_and_equal_ones_as_they_came() {
    let pool = ThreadPool::new(limits(1, 1, 1000));
    let release = hold(&pool);
    let (sender, receiver) = mpsc::channel();
    for (number, priority) in [2, 1, 2, 0, 1, 0].into_iter().enumerate() {
        let sender = sender.clone();
        let options = JobOptions { priority: Priority(priority), owner: None };
        pool.schedule_with(options, move || sender.send((priority, number)).unwrap()).unwrap();
    }
    drop((release, sender));
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [(0, 3), (0, 5), (1, 1), (1, 4), (2, 0), (2, 2)]);
}

#[test]
fn jobs_that_wait_for_each_other_all_get_threads() {
    let pool = ThreadPool::new(limits(8, 8, 0));
    // Twice: first on created threads, then on woken ones.
    for _ in 0..2 {
        let barrier = Arc::new(Barrier::new(9));
        for _ in 0..8 {
            let barrier = barrier.clone();
            pool.schedule(move || _ = barrier.wait()).unwrap();
        }
        barrier.wait();
    }
    assert_eq!(pool.threads(), 8);
}

#[test]
fn a_full_queue_is_an_error() {
    let pool = ThreadPool::new(limits(1, 1, 2));
    let release = hold(&pool);
    pool.schedule(|| ()).unwrap();
    let refused = Arc::new(());
    let inside = refused.clone();
    assert!(matches!(pool.schedule(move || drop(inside)), Err(ScheduleError::QueueFull { threads: 1, jobs: 2 })));
    assert_eq!(Arc::strong_count(&refused), 1, "what the refused job held is free");
    release.send(()).unwrap();
}

#[test]
fn a_panic_costs_only_its_own_job() {
    let pool = ThreadPool::new(limits(1, 1, 10));
    let (sender, receiver) = mpsc::channel();
    pool.schedule(|| panic!("this job panics on purpose")).unwrap();
    pool.schedule(move || sender.send(1).unwrap()).unwrap();
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(1));
}

#[test]
fn limits_change_while_jobs_wait() {
    let pool = ThreadPool::new(limits(1, 1, 10));
    let release = hold(&pool);
    let (sender, receiver) = mpsc::channel();
    for _ in 0..3 {
        let sender = sender.clone();
        pool.schedule(move || sender.send(std::thread::current().id()).unwrap()).unwrap();
    }
    assert!(receiver.try_recv().is_err());
    pool.set_limits(limits(4, 4, 10)).unwrap();
    for _ in 0..3 {
        receiver.recv_timeout(PATIENCE).unwrap();
    }
    // Fewer again: the idle ones leave, and who is busy stays.
    pool.set_limits(limits(1, 1, 1)).unwrap();
    eventually("the idle threads leave", || pool.threads() == 1);
    assert!(matches!(pool.schedule(|| ()), Err(ScheduleError::QueueFull { jobs: 1, .. })));
    drop(release);
}

#[test]
fn a_dropped_pool_runs_what_it_took_and_its_threads_leave() {
    let pool = ThreadPool::new(limits(3, 3, 1000));
    let (driver, ran) = (pool.driver(), Arc::new(AtomicUsize::new(0)));
    for _ in 0..100 {
        let ran = ran.clone();
        pool.schedule(move || _ = ran.fetch_add(1, Ordering::SeqCst)).unwrap();
    }
    drop(pool);
    eventually("the threads leave", || Arc::strong_count(&driver) == 1);
    assert_eq!((ran.load(Ordering::SeqCst), driver.threads()), (100, 0));
}

#[test]
fn threads_are_created_ahead_of_need_and_not_beyond_the_limit() {
    let pool = ThreadPool::new(limits(5, 5, 0));
    let held: Vec<_> = (0..3).map(|_| hold(&pool)).collect();
    // As many spare ones as jobs, up to the limit.
    eventually("spare threads are created", || pool.threads() == 5);
    drop(held);
    let pool = ThreadPool::new(limits(100, 0, 0));
    let _held = hold(&pool);
    assert_eq!(pool.threads(), 1, "none is created ahead where none may be idle");
}

/// Refuses to start threads while it is told to.
struct Flaky(Arc<AtomicUsize>);

impl Spawn for Flaky {
    fn spawn(&self, _: Option<&Owner>, body: Body) -> Result<(), ScheduleError> {
        let refuses = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if refuses {
            return Err(ScheduleError::NoThread(std::io::ErrorKind::WouldBlock.into()));
        }
        std::thread::Builder::new().spawn(body).map(drop).map_err(ScheduleError::NoThread)
    }
}

#[test]
fn a_failed_creation_is_an_error_and_leaves_nothing_behind() {
    let refusals = Arc::new(AtomicUsize::new(1));
    let pool = Driver::new(limits(4, 4, 4), Flaky(refusals.clone()), &GLOBAL_METER, PATIENCE, false);
    let (sender, receiver) = mpsc::channel();
    let refused = sender.clone();
    let error = pool.schedule(JobOptions::default(), move || refused.send(0).unwrap());
    assert!(matches!(error, Err(ScheduleError::NoThread(_))));
    assert_eq!((pool.threads(), Arc::strong_count(&pool)), (0, 1));
    pool.schedule(JobOptions::default(), move || sender.send(1).unwrap()).unwrap();
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [1], "the refused job never runs");
    assert_eq!(pool.threads(), 1);
    pool.close();
}

#[test]
fn a_local_pool_borrows_threads_and_gives_them_back() {
    let global = ThreadPool::new(limits(8, 8, 0));
    let local = LocalThreadPool::new(&global, limits(2, 0, 0));
    let (peak, running) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    for _ in 0..20 {
        let (peak, running) = (peak.clone(), running.clone());
        local
            .schedule(move || {
                peak.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(1));
                running.fetch_sub(1, Ordering::SeqCst);
            })
            .unwrap();
    }
    local.wait();
    assert!((1..=2).contains(&peak.load(Ordering::SeqCst)));
    eventually("the threads go back", || local.threads() == 0);
}

#[test]
fn a_local_pool_passes_on_why_it_gets_no_thread() {
    let global = ThreadPool::new(limits(1, 1, 1));
    let release = hold(&global);
    let local = LocalThreadPool::new(&global, limits(2, 0, 0));
    assert!(matches!(local.schedule(|| ()), Err(ScheduleError::QueueFull { threads: 1, jobs: 1 })));
    assert_eq!(local.threads(), 0);
    local.wait();
    drop(release);
}

struct Query(Counters);

impl CountFor for Query {
    fn counters(&self) -> &Counters {
        &self.0
    }
}

#[test]
fn what_a_pool_does_for_a_query_is_counted_for_it() {
    let global = ThreadPool::new(limits(8, 8, 0));
    let query = Arc::new(Query(Counters::new()));
    let local = LocalThreadPool::new(&global, limits(1, 0, 0)).for_query(query.clone());
    let (release, held) = mpsc::channel::<()>();
    local.schedule(move || _ = held.recv()).unwrap();
    local.schedule(|| std::thread::sleep(Duration::from_millis(2))).unwrap();
    std::thread::sleep(Duration::from_millis(2));
    local.count_busy();
    let count = |event| query.0.get(event);
    let busy_us = count(ProfileEvent::LocalThreadPoolBusyMicroseconds);
    drop(release);
    local.wait();
    assert_eq!(count(ProfileEvent::LocalThreadPoolJobs), 2);
    assert_eq!(count(ProfileEvent::GlobalThreadPoolJobs), count(ProfileEvent::LocalThreadPoolExpansions));
    assert_eq!(count(ProfileEvent::LocalThreadPoolShrinks), 0, "threads leave after the query's end");
    assert!(count(ProfileEvent::LocalThreadPoolJobWaitTimeMicroseconds) >= 2_000, "the second job waited");
    assert!(count(ProfileEvent::LocalThreadPoolBusyMicroseconds) >= busy_us + 2_000);
}
