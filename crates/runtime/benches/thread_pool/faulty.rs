//! The pool as the document found it: threads are created while the pool's lock is held, every end of a job notifies all who wait for one, and a
//! thread leaves as soon as too many are idle. To be measured, nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use squall_runtime::thread_pool::STACK_BYTES;

type Job = Box<dyn FnOnce() + Send>;

/// What a pool's threads are.
enum Threads {
    System,
    BorrowedFrom(Arc<Faulty>),
}

#[derive(Default)]
struct State {
    /// Taken from the end: the newest first, as a heap without an order of arrival may.
    jobs: Vec<Job>,
    scheduled: usize,
    threads: usize,
    is_closed: bool,
}

/// What happened in a pool, or in several.
#[derive(Default)]
pub struct Counts {
    pub lock_wait_ns: AtomicU64,
    pub creation_ns: AtomicU64,
    pub expansions: AtomicU64,
    pub shrinks: AtomicU64,
}

pub struct Faulty {
    state: Mutex<State>,
    new_job: Condvar,
    job_finished: Condvar,
    threads: Threads,
    threads_max: usize,
    free_threads_max: usize,
    counts: Arc<Counts>,
}

impl Faulty {
    pub fn global(threads_max: usize, free_threads_max: usize, counts: Arc<Counts>) -> Arc<Self> {
        Self::new(Threads::System, threads_max, free_threads_max, counts)
    }

    pub fn local(global: &Arc<Self>, threads_max: usize, counts: Arc<Counts>) -> Arc<Self> {
        Self::new(Threads::BorrowedFrom(global.clone()), threads_max, threads_max, counts)
    }

    fn new(threads: Threads, threads_max: usize, free_threads_max: usize, counts: Arc<Counts>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            new_job: Condvar::new(),
            job_finished: Condvar::new(),
            threads,
            threads_max,
            free_threads_max,
            counts,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        if let Some(state) = self.state.try_lock() {
            return state;
        }
        let began = Instant::now();
        let state = self.state.lock();
        self.counts.lock_wait_ns.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        state
    }

    pub fn schedule(self: &Arc<Self>, job: Job) {
        let mut state = self.lock();
        if state.threads < self.threads_max.min(state.scheduled + 1) {
            // The fault: everybody waits for the lock while the kernel creates a thread.
            let (pool, began) = (self.clone(), Instant::now());
            state.threads += 1;
            match &self.threads {
                Threads::System => {
                    let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
                    drop(builder.spawn(move || pool.work()).unwrap());
                }
                Threads::BorrowedFrom(global) => global.schedule(Box::new(move || pool.work())),
            }
            self.counts.creation_ns.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
            self.counts.expansions.fetch_add(1, Ordering::Relaxed);
        }
        state.jobs.push(job);
        state.scheduled += 1;
        drop(state);
        self.new_job.notify_one();
    }

    fn work(&self) {
        let mut state = self.lock();
        loop {
            let has_too_many =
                |state: &State| state.threads > self.threads_max.min(state.scheduled + self.free_threads_max);
            while state.jobs.is_empty() && !state.is_closed && !has_too_many(&state) {
                self.new_job.wait(&mut state);
            }
            if state.jobs.is_empty() || has_too_many(&state) {
                break;
            }
            let job = state.jobs.pop().unwrap();
            drop(state);
            job();
            state = self.lock();
            state.scheduled -= 1;
            self.job_finished.notify_all();
        }
        state.threads -= 1;
        self.counts.shrinks.fetch_add(1, Ordering::Relaxed);
        self.job_finished.notify_all();
    }

    pub fn wait(&self) {
        let mut state = self.lock();
        while state.scheduled > 0 {
            self.job_finished.wait(&mut state);
        }
    }

    pub fn threads(&self) -> usize {
        self.state.lock().threads
    }

    /// Lets the threads go.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.new_job.notify_all();
    }

    /// Lets the threads go and waits for it.
    pub fn close_and_wait(&self) {
        self.close();
        while self.threads() > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
