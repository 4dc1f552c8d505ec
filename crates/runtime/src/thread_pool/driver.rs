//! Carries out what `state` decides: the lock around it, threads that rest each in their own place, and creating threads and waking
//! them without the lock. `global` and `local` say what a thread is made of. Compiled a second time by the model checker.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use thiserror::Error;

use super::limits::ThreadPoolLimits;
use super::meter::{Meter, Microseconds, Owner, count};
use super::queue::{Priority, Ticket};
use super::state::{Call, Next, NextSpare, Spares, State, Submitted};
use super::sync::{Mutex, MutexGuard, Thread, current, park, park_timeout};

/// After a thread could not be created ahead of need, it is tried again so much later.
const RETRY_AFTER: Duration = Duration::from_millis(50);

/// Why a job was not taken.
#[derive(Debug, Error)]
pub enum ScheduleError {
    /// As many jobs as `thread_pool_queue_size` wait or run.
    #[error("Cannot schedule a task: no free thread (threads={threads}, jobs={jobs})")]
    QueueFull {
        /// Threads of the pool.
        threads: usize,
        /// Jobs that wait or run.
        jobs: usize,
    },
    /// No thread could be created for it.
    #[error("Cannot schedule a task: failed to start the thread: {0}")]
    NoThread(std::io::Error),
}

/// How a job is to be run.
#[derive(Clone, Default)]
pub struct JobOptions {
    /// Where it stands among those that wait.
    pub priority: Priority,
    /// The query that its events are counted for.
    pub owner: Option<Owner>,
}

/// What a new thread runs.
pub(crate) type Body = Box<dyn FnOnce() + Send>;

/// Makes the threads of a pool.
pub(crate) trait Spawn: Send + Sync + 'static {
    /// Starts a thread that runs `body` once. Where it cannot, `body` is dropped.
    fn spawn(&self, owner: Option<&Owner>, body: Body) -> Result<(), ScheduleError>;
}

struct Job {
    run: Body,
    owner: Option<Owner>,
    scheduled: Instant,
}

/// One pool, shared by its handles and its threads.
pub(crate) struct Driver<S> {
    state: Mutex<State<Job, Thread>>,
    spawner: S,
    meter: &'static Meter,
    /// How long an idle thread beyond those that are kept waits to be wanted.
    linger: Duration,
    lock_wait: Microseconds,
}

impl<S: Spawn> Driver<S> {
    /// A pool without threads.
    pub(crate) fn new(
        limits: ThreadPoolLimits,
        spawner: S,
        meter: &'static Meter,
        linger: Duration,
        keeps_spares: bool,
    ) -> Arc<Self> {
        let state = Mutex::new(State::new(limits, keeps_spares, Instant::now()));
        Arc::new(Self { state, spawner, meter, linger, lock_wait: Microseconds::default() })
    }

    /// Takes the lock, and measures only where it must be waited for.
    fn lock(&self, owner: Option<&Owner>) -> MutexGuard<'_, State<Job, Thread>> {
        if let Some(state) = self.state.try_lock() {
            return state;
        }
        let began = Instant::now();
        let state = self.state.lock();
        count(owner, self.meter.lock_wait_us, self.lock_wait.add(began.elapsed()));
        state
    }

    pub(crate) fn schedule(
        self: &Arc<Self>,
        options: JobOptions,
        run: impl FnOnce() + Send + 'static,
    ) -> Result<(), ScheduleError> {
        let JobOptions { priority, owner } = options;
        let job = Job { run: Box::new(run), owner: owner.clone(), scheduled: Instant::now() };
        let owner = owner.as_ref();
        let mut state = self.lock(owner);
        let submitted = state.submit(priority, job);
        drop(state);
        let Submitted { ticket, call, spares } = match submitted {
            Ok(submitted) => submitted,
            // The job that comes back is dropped here, without the lock: it may own what schedules jobs.
            Err((full, _job)) => return Err(ScheduleError::QueueFull { threads: full.threads, jobs: full.jobs }),
        };
        self.meter.scheduled.add(1);
        count(owner, self.meter.jobs, 1);
        let result = match call {
            Call::Nobody => Ok(()),
            Call::Wake(thread) => {
                thread.unpark();
                Ok(())
            }
            Call::Create => self.create(owner, Some(ticket)),
        };
        self.call_creator(spares);
        result
    }

    /// Creates the thread that [`State`] counts as coming. An error means that the job is not run.
    fn create(self: &Arc<Self>, owner: Option<&Owner>, ticket: Option<Ticket>) -> Result<(), ScheduleError> {
        let Err(error) = self.spawn_thread(owner, false) else { return Ok(()) };
        let mut state = self.lock(owner);
        let (job, spares) = state.creation_failed(ticket);
        let all_done = state.all_done();
        drop(state);
        self.call_creator(spares);
        all_done.iter().for_each(Thread::unpark);
        match job {
            // Another thread has taken it.
            None if ticket.is_some() => Ok(()),
            None => Err(error),
            Some(_) => {
                self.meter.scheduled.add(-1);
                Err(error)
            }
        }
    }

    fn spawn_thread(self: &Arc<Self>, owner: Option<&Owner>, is_ahead: bool) -> Result<(), ScheduleError> {
        let pool = self.clone();
        let began = Instant::now();
        let result = self.spawner.spawn(owner, Box::new(move || pool.run(is_ahead)));
        count(owner, self.meter.thread_creation_us, began.elapsed().as_micros() as u64);
        if result.is_ok() {
            count(owner, self.meter.expansions, 1);
        }
        result
    }

    fn call_creator(self: &Arc<Self>, spares: Spares<Thread>) {
        match spares {
            Spares::Enough => {}
            Spares::Wake(creator) => creator.unpark(),
            Spares::Start => {
                let pool = self.clone();
                if self.spawner.spawn(None, Box::new(move || pool.create_spares())).is_err() {
                    self.lock(None).creator_failed();
                }
            }
        }
    }

    /// The life of the thread that creates others ahead of need.
    fn create_spares(self: Arc<Self>) {
        let place = current();
        let mut state = self.lock(None);
        loop {
            let next = state.next_spare(&place);
            drop(state);
            match next {
                NextSpare::Create => {
                    if self.spawn_thread(None, true).is_err() {
                        self.lock(None).spare_failed();
                        park_timeout(RETRY_AFTER);
                    }
                }
                NextSpare::Rest => park(),
                NextSpare::End => return,
            }
            state = self.lock(None);
        }
    }

    /// A thread's life: run jobs, rest, and leave when it is not wanted any more.
    fn run(self: Arc<Self>, is_ahead: bool) {
        let thread_metric = self.meter.threads.hold(1);
        // Its first use takes memory, for which the lock is not to be held: the allocator may wait for the process's memory map.
        let place = current();
        let mut state = self.lock(None);
        let me = state.arrived(place, is_ahead);
        let mut next = None;
        loop {
            match next.take().unwrap_or_else(|| state.next(me, !self.linger.is_zero(), Instant::now())) {
                Next::Run(job) => {
                    drop(state);
                    let owner = self.run_job(job);
                    let ended = Instant::now();
                    state = self.lock(None);
                    state.finished(ended);
                    let busy_us = state.take_busy_us(ended);
                    let all_done = state.all_done();
                    // Without the lock: the owner's last holder frees all that the query had.
                    if owner.is_some() || self.meter.busy_us.is_some() || !all_done.is_empty() {
                        drop(state);
                        if let Some(event) = self.meter.busy_us {
                            count(owner.as_ref(), event, busy_us);
                        }
                        drop(owner);
                        all_done.iter().for_each(Thread::unpark);
                        state = self.lock(None);
                    }
                }
                Next::Rest { may_leave } => {
                    drop(state);
                    let rested_long = self.rest(may_leave);
                    state = self.lock(None);
                    next = state.woke(me, rested_long);
                }
                Next::Leave => break,
            }
        }
        drop(state);
        drop(thread_metric);
        // Not for a query: its threads leave after its end.
        count(None, self.meter.shrinks, 1);
    }

    /// Parks until somebody unparks, or, if `may_leave`, for a while. Whether it was for so long. A wake-up from before, or from nowhere, only
    /// makes the caller look once more: whether a thread was called is known by the state alone.
    fn rest(&self, may_leave: bool) -> bool {
        if !may_leave {
            park();
            return false;
        }
        let began = Instant::now();
        park_timeout(self.linger);
        began.elapsed() >= self.linger
    }

    fn run_job(&self, job: Job) -> Option<Owner> {
        let Job { run, owner, scheduled } = job;
        count(owner.as_ref(), self.meter.job_wait_us, scheduled.elapsed().as_micros() as u64);
        {
            let _active = self.meter.active.hold(1);
            // A job that panics has lost its own work only; the hook has printed the panic.
            let _ = catch_unwind(AssertUnwindSafe(run));
        }
        self.meter.scheduled.add(-1);
        owner
    }

    /// Changes the limits from now on. Threads that are too many leave when their jobs are done.
    ///
    /// # Errors
    /// Where jobs wait that may have more threads now, and these cannot be created. The limits hold all the same.
    pub(crate) fn set_limits(self: &Arc<Self>, limits: ThreadPoolLimits) -> Result<(), ScheduleError> {
        let adjusted = self.lock(None).set_limits(limits);
        adjusted.wake.iter().for_each(Thread::unpark);
        (0..adjusted.create).map(|_| self.create(None, None)).fold(Ok(()), Result::and)
    }

    pub(crate) fn limits(&self) -> ThreadPoolLimits {
        self.lock(None).limits()
    }

    pub(crate) fn threads(&self) -> usize {
        self.lock(None).threads()
    }

    /// Adds the time that jobs have run, up to now, to what is counted.
    pub(crate) fn count_busy(&self, owner: Option<&Owner>) {
        if let Some(event) = self.meter.busy_us {
            let busy_us = self.lock(owner).take_busy_us(Instant::now());
            count(owner, event, busy_us);
        }
    }

    /// Waits until no job waits or runs.
    pub(crate) fn wait(&self) {
        let place = current();
        while !self.lock(None).wait_for_all(&place) {
            park();
        }
    }

    /// No more jobs will come: those that were taken are run, then the threads leave.
    pub(crate) fn close(&self) {
        let wake = self.lock(None).close();
        wake.iter().for_each(Thread::unpark);
    }
}
