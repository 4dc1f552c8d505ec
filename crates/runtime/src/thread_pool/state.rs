//! What a pool decides: which job starts next, whom to wake, when to create a thread and when to let one go. A pure state machine:
//! it starts no thread and waits for nothing; `driver` calls it under the pool's lock and carries out what it says without the lock.
//!
//! Two invariants hold between calls:
//! - no job waits beside an idle thread that nobody has called, and none waits for a thread to be created that an idle one could run;
//!   each waiting job has a thread on its way, unless there may be no more of them (or none could be created);
//! - the idle threads are a stack: the one that ran last, whose caches are warm, runs next, and those that are too many sink to
//!   rest long enough to be let go.

use std::time::Instant;

use super::limits::ThreadPoolLimits;
use super::queue::{Priority, Queue, Ticket};

/// Threads that are kept idle while a pool works, created before they are needed. Few enough that an operator who looks for pools
/// that grow beside idle threads (document 002 looks for more than ten) does not find this.
const SPARE_THREADS: usize = 8;

/// Threads for which a pool takes memory when it is made.
const CAPACITY_MAX: usize = 16_384;

/// A thread of the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ThreadNumber(usize);

/// Why a job is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Full {
    pub(crate) threads: usize,
    pub(crate) jobs: usize,
}

/// A job was queued; what must follow.
pub(crate) struct Submitted<P> {
    pub(crate) ticket: Ticket,
    pub(crate) call: Call<P>,
    pub(crate) spares: Spares<P>,
}

/// How the job gets a thread.
pub(crate) enum Call<P> {
    /// One is on its way, or one that is busy will come.
    Nobody,
    /// This idle one must be woken.
    Wake(P),
    /// One must be created.
    Create,
}

/// Whether threads must be created ahead of need.
pub(crate) enum Spares<P> {
    /// There are enough, or their creator knows.
    Enough,
    /// The creator must be woken.
    Wake(P),
    /// There is no creator yet.
    Start,
}

/// What a thread of the pool does next.
pub(crate) enum Next<J> {
    Run(J),
    /// Rest until it is woken; if `may_leave`, ask again after a while without work.
    Rest {
        may_leave: bool,
    },
    Leave,
}

/// What the creator of spare threads does next.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum NextSpare {
    Create,
    Rest,
    End,
}

/// What new limits ask for.
pub(crate) struct Adjusted<P> {
    pub(crate) wake: Vec<P>,
    pub(crate) create: usize,
}

/// A pool of jobs `J` and threads that are woken through places `P`.
pub(crate) struct State<J, P> {
    limits: ThreadPoolLimits,
    queue: Queue<J>,
    /// Jobs that run.
    running: usize,
    /// Threads that are there or are being created.
    threads: usize,
    /// Threads that rested and were called, and have not looked yet.
    woken: usize,
    /// Threads that are being created for jobs.
    starting: usize,
    /// Threads that are being created ahead of need.
    ahead: usize,
    /// Threads that rest, the one that rested last at the end.
    idle: Vec<ThreadNumber>,
    places: Vec<Option<Place<P>>>,
    free_numbers: Vec<usize>,
    keeps_spares: bool,
    creator: Creator<P>,
    /// Who waits until there is no job.
    waiting: Vec<P>,
    is_closed: bool,
    /// The sum over all jobs of the time that they have run, up to `busy_until`.
    busy_ns: u128,
    busy_until: Instant,
    busy_told_us: u64,
}

struct Place<P> {
    place: P,
    is_idle: bool,
}

/// The thread that creates others ahead of need.
enum Creator<P> {
    None,
    /// It looks, or will.
    Called,
    Resting(P),
}

impl<J, P: Clone> State<J, P> {
    /// Without threads. `keeps_spares`: threads are to be created ahead of need.
    pub(crate) fn new(limits: ThreadPoolLimits, keeps_spares: bool, now: Instant) -> Self {
        let limits = limits.sane();
        // Memory is taken here, not under the lock: the allocator may have to wait for the process's memory map.
        let capacity = limits.threads_max.min(CAPACITY_MAX);
        Self {
            limits,
            queue: Queue::with_capacity(capacity),
            running: 0,
            threads: 0,
            woken: 0,
            starting: 0,
            ahead: 0,
            idle: Vec::with_capacity(capacity),
            places: Vec::with_capacity(capacity),
            free_numbers: Vec::with_capacity(capacity),
            keeps_spares,
            creator: Creator::None,
            waiting: Vec::with_capacity(1),
            is_closed: false,
            busy_ns: 0,
            busy_until: now,
            busy_told_us: 0,
        }
    }

    /// Queues a job; gives it back where the queue is full.
    pub(crate) fn submit(&mut self, priority: Priority, job: J) -> Result<Submitted<P>, (Full, J)> {
        let jobs = self.jobs();
        if jobs >= self.limits.jobs_max {
            return Err((Full { threads: self.threads, jobs }, job));
        }
        let ticket = self.queue.push(priority, job);
        // A thread that is being created may be long in coming: it counts only where none could be woken.
        let call = if self.queue.len() <= self.woken {
            Call::Nobody
        } else if let Some(place) = self.call_idle() {
            Call::Wake(place)
        } else if self.queue.len() <= self.woken + self.starting {
            Call::Nobody
        } else if self.threads < self.limits.threads_max {
            self.threads += 1;
            self.starting += 1;
            Call::Create
        } else {
            Call::Nobody
        };
        Ok(Submitted { ticket, call, spares: self.call_creator() })
    }

    /// The thread that was to be created for a job could not be: gives the job back unless it has started. Call
    /// [`State::all_done`] then.
    pub(crate) fn creation_failed(&mut self, ticket: Option<Ticket>) -> (Option<J>, Spares<P>) {
        self.threads -= 1;
        self.starting -= 1;
        let job = ticket.and_then(|ticket| self.queue.remove(ticket));
        // If others started the job, the thread that they came for another one with is missing there: the creator tries again.
        (job, self.call_creator())
    }

    /// A created thread is there.
    pub(crate) fn arrived(&mut self, place: P, is_ahead: bool) -> ThreadNumber {
        match is_ahead {
            true => self.ahead -= 1,
            false => self.starting -= 1,
        }
        let place = Some(Place { place, is_idle: false });
        match self.free_numbers.pop() {
            Some(number) => {
                self.places[number] = place;
                ThreadNumber(number)
            }
            None => {
                self.places.push(place);
                ThreadNumber(self.places.len() - 1)
            }
        }
    }

    /// What a thread that has nothing to do does next. After [`Next::Leave`] its number is another's.
    pub(crate) fn next(&mut self, thread: ThreadNumber, keeps_excess: bool, now: Instant) -> Next<J> {
        // Where limits were lowered, threads that were called to leave may be what a new job counts on: none leaves from between
        // a waiting job and threads that rest.
        if self.threads > self.limits.threads_max && (self.queue.len() == 0 || self.idle.is_empty()) {
            return self.leave(thread);
        }
        if let Some(job) = self.queue.pop() {
            self.pass_time(now);
            self.running += 1;
            return Next::Run(job);
        }
        let is_excess = self.idle.len() >= self.limits.free_threads_max;
        if self.is_closed || (is_excess && !keeps_excess) {
            return self.leave(thread);
        }
        self.set_idle(thread, true);
        self.idle.push(thread);
        Next::Rest { may_leave: is_excess }
    }

    /// A thread's job has ended. Call [`State::all_done`] then.
    pub(crate) fn finished(&mut self, now: Instant) {
        self.pass_time(now);
        self.running -= 1;
    }

    /// A resting thread has woken up, by being called or by itself. `None`: it was called, and asks for what is next.
    pub(crate) fn woke(&mut self, thread: ThreadNumber, has_rested_long: bool) -> Option<Next<J>> {
        if !self.is_idle(thread) {
            self.woken -= 1;
            return None;
        }
        let is_excess = self.idle.len() > self.limits.free_threads_max;
        if !(is_excess && has_rested_long) {
            return Some(Next::Rest { may_leave: is_excess });
        }
        if let Some(at) = self.idle.iter().rposition(|idle| *idle == thread) {
            self.idle.remove(at);
        }
        Some(self.leave(thread))
    }

    /// What the creator of spare threads does next; `place` is where it rests.
    pub(crate) fn next_spare(&mut self, place: &P) -> NextSpare {
        if !self.is_closed && self.wants_threads() {
            self.creator = Creator::Called;
            self.threads += 1;
            self.ahead += 1;
            return NextSpare::Create;
        }
        if self.is_closed || !self.keeps_spares {
            self.creator = Creator::None;
            return NextSpare::End;
        }
        self.creator = Creator::Resting(place.clone());
        NextSpare::Rest
    }

    /// A thread could not be created ahead of need. The creator asks what is next after a while.
    pub(crate) fn spare_failed(&mut self) {
        self.threads -= 1;
        self.ahead -= 1;
    }

    /// The creator itself could not be started; the next job tries again.
    pub(crate) fn creator_failed(&mut self) {
        self.creator = Creator::None;
    }

    /// Changes the limits. Threads that are too many leave when they are idle.
    pub(crate) fn set_limits(&mut self, limits: ThreadPoolLimits) -> Adjusted<P> {
        self.limits = limits.sane();
        let excess = self.threads.saturating_sub(self.limits.threads_max);
        let excess_idle = self.idle.len().saturating_sub(self.limits.free_threads_max);
        let wake = (0..excess.max(excess_idle)).map_while(|_| self.call_idle()).collect();
        let lacking = self.queue.len().saturating_sub(self.on_their_way());
        let create = lacking.min(self.limits.threads_max.saturating_sub(self.threads));
        self.threads += create;
        self.starting += create;
        Adjusted { wake, create }
    }

    /// No more jobs will come: those that wait are run, then all threads leave. Gives those who must be woken for it.
    pub(crate) fn close(&mut self) -> Vec<P> {
        self.is_closed = true;
        let mut wake: Vec<P> = std::iter::from_fn(|| self.call_idle()).collect();
        if let Creator::Resting(place) = &self.creator {
            wake.push(place.clone());
        }
        wake
    }

    pub(crate) fn limits(&self) -> ThreadPoolLimits {
        self.limits
    }

    /// Threads that are there or are being created.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Jobs that wait or run.
    pub(crate) fn jobs(&self) -> usize {
        self.queue.len() + self.running
    }

    /// Whole microseconds, summed over all jobs, that they have run until now and that were not given yet.
    pub(crate) fn take_busy_us(&mut self, now: Instant) -> u64 {
        self.pass_time(now);
        let busy_us = u64::try_from(self.busy_ns / 1_000).unwrap_or(u64::MAX);
        busy_us - std::mem::replace(&mut self.busy_told_us, busy_us)
    }

    /// Whether there is no job; if there is, `place` will be woken when there is none.
    pub(crate) fn wait_for_all(&mut self, place: &P) -> bool {
        let is_done = self.jobs() == 0;
        if !is_done {
            self.waiting.push(place.clone());
        }
        is_done
    }

    /// Whom to wake because there is no job any more.
    pub(crate) fn all_done(&mut self) -> Vec<P> {
        if self.jobs() == 0 { std::mem::take(&mut self.waiting) } else { Vec::new() }
    }

    /// Accounts for the jobs that ran up to `now`. A clock reading from before the lock may be older than the last one.
    fn pass_time(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.busy_until);
        self.busy_ns += passed.as_nanos() * self.running as u128;
        self.busy_until += passed;
    }

    fn call_idle(&mut self) -> Option<P> {
        let thread = self.idle.pop()?;
        self.woken += 1;
        self.set_idle(thread, false);
        self.places[thread.0].as_ref().map(|place| place.place.clone())
    }

    fn call_creator(&mut self) -> Spares<P> {
        if self.is_closed || !self.wants_threads() {
            return Spares::Enough;
        }
        match std::mem::replace(&mut self.creator, Creator::Called) {
            Creator::None => Spares::Start,
            Creator::Resting(place) => Spares::Wake(place),
            Creator::Called => Spares::Enough,
        }
    }

    /// A job waits that no thread is on its way for, though there may be more threads: one could not be created.
    fn lacks_threads(&self) -> bool {
        self.queue.len() > self.on_their_way() && self.threads < self.limits.threads_max
    }

    /// Threads that will look for a job.
    fn on_their_way(&self) -> usize {
        self.woken + self.starting + self.ahead
    }

    fn wants_threads(&self) -> bool {
        let spares = SPARE_THREADS.min(self.limits.free_threads_max).min(self.jobs());
        let is_short = self.keeps_spares && self.idle.len() + self.ahead < spares;
        self.lacks_threads() || (is_short && self.threads < self.limits.threads_max)
    }

    fn leave(&mut self, thread: ThreadNumber) -> Next<J> {
        self.threads -= 1;
        self.places[thread.0] = None;
        self.free_numbers.push(thread.0);
        Next::Leave
    }

    fn is_idle(&self, thread: ThreadNumber) -> bool {
        self.places[thread.0].as_ref().is_some_and(|place| place.is_idle)
    }

    fn set_idle(&mut self, thread: ThreadNumber, is_idle: bool) {
        if let Some(place) = &mut self.places[thread.0] {
            place.is_idle = is_idle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What may happen to a pool. Numbers choose among the threads or jobs to which it may happen.
    #[derive(Clone, Debug)]
    enum Event {
        Submit { priority: i64 },
        Created(usize),
        CreationFailed(usize),
        Woke(usize),
        WokeByItself { thread: usize, has_rested_long: bool },
        Finished(usize),
        CreatorRuns { creates: bool },
        SetLimits(ThreadPoolLimits),
    }

    fn limits() -> impl Strategy<Value = ThreadPoolLimits> {
        (1..6usize, 0..6usize, 0..12usize).prop_map(|(threads_max, free_threads_max, jobs_max)| ThreadPoolLimits {
            threads_max,
            free_threads_max,
            jobs_max,
        })
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            6 => (0..3i64).prop_map(|priority| Event::Submit { priority }),
            4 => any::<usize>().prop_map(Event::Created),
            1 => any::<usize>().prop_map(Event::CreationFailed),
            4 => any::<usize>().prop_map(Event::Woke),
            2 => (any::<usize>(), any::<bool>())
                .prop_map(|(thread, has_rested_long)| Event::WokeByItself { thread, has_rested_long }),
            4 => any::<usize>().prop_map(Event::Finished),
            2 => any::<bool>().prop_map(|creates| Event::CreatorRuns { creates }),
            1 => limits().prop_map(Event::SetLimits),
        ]
    }

    /// A world around the state: what its driver would be doing.
    struct World {
        state: State<u64, u64>,
        keeps_excess: bool,
        now: Instant,
        /// Threads that are being created, with the ticket of their job; `None` where they are ahead of need.
        creating: Vec<(Option<Ticket>, bool)>,
        /// Threads by their place, and their numbers.
        threads: Vec<(u64, ThreadNumber)>,
        next_place: u64,
        called: Vec<u64>,
        running: Vec<(u64, u64)>,
        resting: Vec<u64>,
        is_creator_called: bool,
        submitted: Vec<(i64, u64)>,
        started: Vec<u64>,
        returned: Vec<u64>,
        next_job: u64,
    }

    impl World {
        fn new(limits: ThreadPoolLimits, keeps_spares: bool, keeps_excess: bool) -> Self {
            let now = Instant::now();
            Self {
                state: State::new(limits, keeps_spares, now),
                keeps_excess,
                now,
                creating: Vec::new(),
                threads: Vec::new(),
                next_place: 1,
                called: Vec::new(),
                running: Vec::new(),
                resting: Vec::new(),
                is_creator_called: false,
                submitted: Vec::new(),
                started: Vec::new(),
                returned: Vec::new(),
                next_job: 0,
            }
        }

        fn number(&self, place: u64) -> ThreadNumber {
            self.threads.iter().find(|(at, _)| *at == place).unwrap().1
        }

        fn wake(&mut self, place: u64) {
            assert!(self.resting.contains(&place), "a thread that does not rest is woken");
            self.resting.retain(|resting| *resting != place);
            self.called.push(place);
        }

        fn spares(&mut self, spares: Spares<u64>) {
            if !matches!(spares, Spares::Enough) {
                assert!(!self.is_creator_called, "the creator is called twice");
                self.is_creator_called = true;
            }
        }

        fn submit(&mut self, priority: i64) {
            let job = self.next_job;
            self.next_job += 1;
            let jobs = self.state.jobs();
            match self.state.submit(Priority(priority), job) {
                Err((full, returned)) => {
                    assert!(jobs >= self.state.limits.jobs_max);
                    assert_eq!((full.jobs, returned), (jobs, job));
                }
                Ok(Submitted { ticket, call, spares }) => {
                    self.submitted.push((priority, job));
                    match call {
                        Call::Nobody => {}
                        Call::Wake(place) => self.wake(place),
                        Call::Create => self.creating.push((Some(ticket), false)),
                    }
                    self.spares(spares);
                }
            }
        }

        fn next(&mut self, place: u64, next: Next<u64>) {
            match next {
                Next::Run(job) => {
                    self.started.push(job);
                    self.running.push((place, job));
                }
                Next::Rest { .. } => self.resting.push(place),
                Next::Leave => self.threads.retain(|(at, _)| *at != place),
            }
        }

        fn ask(&mut self, place: u64) {
            let next = self.state.next(self.number(place), self.keeps_excess, self.now);
            self.next(place, next);
        }

        fn created(&mut self, at: usize) {
            let (_, is_ahead) = self.creating.remove(at);
            let place = self.next_place;
            self.next_place += 1;
            let number = self.state.arrived(place, is_ahead);
            self.threads.push((place, number));
            self.ask(place);
        }

        fn woke(&mut self, at: usize) {
            let place = self.called.remove(at);
            assert!(self.state.woke(self.number(place), false).is_none(), "a called thread was not called");
            self.ask(place);
        }

        fn finished(&mut self, at: usize) {
            let (place, _) = self.running.remove(at);
            self.state.finished(self.now);
            self.ask(place);
        }

        fn creator_runs(&mut self, creates: bool) {
            self.is_creator_called = false;
            // Until it rests or fails.
            while self.state.next_spare(&0) == NextSpare::Create {
                if !creates {
                    self.state.spare_failed();
                    self.is_creator_called = true;
                    return;
                }
                self.creating.push((None, true));
            }
        }

        fn happen(&mut self, event: &Event) {
            self.now += std::time::Duration::from_millis(1);
            let choose = |number: usize, len: usize| (len > 0).then(|| number % len.max(1));
            match *event {
                Event::Submit { priority } => self.submit(priority),
                Event::Created(number) => {
                    if let Some(at) = choose(number, self.creating.len()) {
                        self.created(at);
                    }
                }
                Event::CreationFailed(number) => {
                    // One that is created ahead fails in the creator's own hands (`creator_runs`).
                    let for_jobs: Vec<usize> = (0..self.creating.len()).filter(|at| !self.creating[*at].1).collect();
                    let Some(at) = choose(number, for_jobs.len()) else { return };
                    let (ticket, _) = self.creating.remove(for_jobs[at]);
                    let (job, spares) = self.state.creation_failed(ticket);
                    self.spares(spares);
                    self.returned.extend(job);
                }
                Event::Woke(number) => {
                    if let Some(at) = choose(number, self.called.len()) {
                        self.woke(at);
                    }
                }
                Event::WokeByItself { thread, has_rested_long } => {
                    let Some(at) = choose(thread, self.resting.len()) else { return };
                    let place = self.resting.remove(at);
                    let next = self.state.woke(self.number(place), has_rested_long).expect("nobody called it");
                    self.next(place, next);
                }
                Event::Finished(number) => {
                    if let Some(at) = choose(number, self.running.len()) {
                        self.finished(at);
                    }
                }
                Event::CreatorRuns { creates } => {
                    if self.is_creator_called {
                        self.creator_runs(creates);
                    }
                }
                Event::SetLimits(limits) => {
                    let Adjusted { wake, create } = self.state.set_limits(limits);
                    wake.into_iter().for_each(|place| self.wake(place));
                    self.creating.extend((0..create).map(|_| (None, false)));
                }
            }
        }

        fn check(&self) {
            let state = &self.state;
            let idle = state.idle.len();
            assert_eq!(state.threads, self.threads.len() + self.creating.len());
            assert_eq!(state.running, self.running.len());
            assert_eq!(idle, self.resting.len());
            assert_eq!(
                state.jobs(),
                self.submitted.len() - self.returned.len() - (self.started.len() - self.running.len())
            );
            assert!(idle == 0 || state.queue.len() <= state.woken, "a job waits beside a thread that nobody called");
            let may_have_more = state.threads < state.limits.threads_max;
            assert!(
                state.queue.len() <= state.on_their_way() || !may_have_more || self.is_creator_called,
                "a job waits though there may be more threads"
            );
            assert!(state.queue.len() == 0 || state.threads > 0 || self.is_creator_called, "no thread for a job");
        }

        /// Lets everything that is under way end, and whatever waits run.
        fn settle(&mut self) {
            while !(self.creating.is_empty() && self.called.is_empty() && self.running.is_empty())
                || self.is_creator_called
            {
                if self.is_creator_called {
                    self.creator_runs(true);
                }
                if !self.creating.is_empty() {
                    self.created(0);
                } else if !self.called.is_empty() {
                    self.woke(0);
                } else if !self.running.is_empty() {
                    self.finished(0);
                }
                self.check();
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        /// Whatever happens in whatever order: the invariants hold after each event, and in the end every job has run once or was
        /// given back.
        #[test]
        fn no_job_is_lost_or_run_twice(
            first_limits in limits(),
            keeps_spares: bool,
            keeps_excess: bool,
            events in prop::collection::vec(event(), 0..120),
        ) {
            let mut world = World::new(first_limits, keeps_spares, keeps_excess);
            for event in &events {
                world.happen(event);
                world.check();
            }
            world.settle();
            let mut seen: Vec<u64> = world.started.iter().chain(&world.returned).copied().collect();
            seen.sort_unstable();
            let submitted: Vec<u64> = world.submitted.iter().map(|(_, job)| *job).collect();
            prop_assert_eq!(seen, submitted);
            prop_assert!(world.state.threads <= world.state.limits.threads_max);
            let resting = world.resting.clone();
            for place in resting {
                world.resting.retain(|resting| *resting != place);
                let next = world.state.woke(world.number(place), true).expect("nobody called it");
                world.next(place, next);
            }
            prop_assert!(world.threads.len() <= world.state.limits.free_threads_max);
        }
    }

    #[test]
    fn the_thread_that_rested_last_runs_next() {
        let limits = ThreadPoolLimits { threads_max: 3, free_threads_max: 3, jobs_max: 0 };
        let mut world = World::new(limits, false, true);
        (0..3).for_each(|_| world.submit(0));
        (0..3).for_each(|_| world.created(0));
        [1, 0, 0].into_iter().for_each(|at| world.finished(at));
        let last = *world.resting.last().unwrap();
        world.submit(0);
        assert_eq!(world.called, [last]);
    }

    #[test]
    fn a_burst_is_served_by_as_few_wake_ups_as_jobs() {
        let limits = ThreadPoolLimits { threads_max: 4, free_threads_max: 4, jobs_max: 0 };
        let mut world = World::new(limits, false, true);
        (0..4).for_each(|_| world.submit(0));
        (0..4).for_each(|_| world.created(0));
        (0..4).for_each(|_| world.finished(0));
        world.submit(0);
        assert_eq!((world.called.len(), world.resting.len()), (1, 3), "one job, one wake-up");
        world.submit(0);
        assert_eq!((world.called.len(), world.resting.len()), (2, 2));
    }

    #[test]
    fn threads_of_the_last_wave_are_kept_for_the_next() {
        let limits = ThreadPoolLimits { threads_max: 10, free_threads_max: 2, jobs_max: 0 };
        let mut world = World::new(limits, false, true);
        (0..10).for_each(|_| world.submit(0));
        (0..10).for_each(|_| world.created(0));
        (0..10).for_each(|_| world.finished(0));
        assert_eq!((world.threads.len(), world.resting.len()), (10, 10));
        (0..10).for_each(|_| world.submit(0));
        assert_eq!((world.creating.len(), world.called.len()), (0, 10));
    }

    #[test]
    fn busy_time_is_that_of_all_jobs() {
        let begun = Instant::now();
        let at = |ms| begun + std::time::Duration::from_millis(ms);
        let limits = ThreadPoolLimits { threads_max: 2, free_threads_max: 2, jobs_max: 0 };
        let mut state = State::<u64, u64>::new(limits, false, begun);
        for job in 0..2 {
            assert!(state.submit(Priority(0), job).is_ok());
        }
        let threads = [state.arrived(1, false), state.arrived(2, false)];
        assert!(matches!(state.next(threads[0], true, at(10)), Next::Run(0)));
        assert!(matches!(state.next(threads[1], true, at(20)), Next::Run(1)));
        assert_eq!(state.take_busy_us(at(30)), 30_000);
        state.finished(at(40));
        // A clock reading that is older than the last one takes nothing back.
        state.finished(at(35));
        assert_eq!(state.take_busy_us(at(99)), 20_000);
    }
}
