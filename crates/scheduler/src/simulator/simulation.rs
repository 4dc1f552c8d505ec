//! The loop over virtual time: queries arrive, morsels end, and the driver of the policy is asked what each core runs next.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::policy::slots::slot_policy;
use crate::simulator::machine::Machine;
use crate::simulator::outcome::{ClassOutcome, Outcome, Violation};
use crate::simulator::query::{Morsel, Query};
use crate::simulator::random::Random;
use crate::simulator::threads::Threads;
use crate::simulator::workers::Workers;
use crate::simulator::workload::{Workload, WorkloadError};
use crate::thread_budget::ThreadBudget;

/// Runs a workload. The same seed gives the same run.
///
/// # Errors
/// A workload that makes no sense, or the first invariant that did not hold.
pub fn simulate(workload: &Workload, seed: u64) -> Result<Outcome, SimulationError> {
    workload.check()?;
    let policy = workload.policy()?;
    let budget = ThreadBudget::from_config(Some(workload.scheduler.total_max_threads), workload.machine.cores)
        .map_err(|threads| WorkloadError::Value(format!("total_max_threads: {threads} is not a number of threads")))?;
    let mut world = World::new(workload, seed);
    match slot_policy(policy) {
        None => world.run(&mut Workers::new(workload.workers(), budget.threads_max))?,
        Some(policy) => world.run(&mut Threads::new(policy, budget.threads_max))?,
    }
    Ok(world.into_outcome())
}

/// A simulation that came to no outcome.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// The workload makes no sense.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The code under simulation is wrong.
    #[error(transparent)]
    Violation(#[from] Violation),
}

/// Carries a policy's decisions out on virtual cores.
pub(super) trait Driver {
    /// A query has arrived; its number in [`World::queries`].
    fn arrive(&mut self, world: &mut World, query: usize, max_threads: usize, weight: f64);

    /// What a core was given is done.
    fn done(&mut self, world: &mut World, core: usize, run: Run);

    /// What must hold between two events.
    fn check(&self, world: &World) -> Result<(), String>;
}

/// What a core runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// A worker's or a thread's number.
    pub(super) runner: usize,
    pub(super) query: usize,
    pub(super) morsel: Morsel,
    /// Work of the morsel that is done when this ends, at full speed.
    pub(super) work_ns: u64,
    pub(super) began_ns: u64,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Arrive { class: usize, client: Option<usize> },
    Done { core: usize, run: Run },
}

struct Scheduled {
    at_ns: u64,
    number: u64,
    event: Event,
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Scheduled {}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at_ns, self.number).cmp(&(other.at_ns, other.number))
    }
}

/// All that is not the policy's: time, machine, queries, measures.
pub(super) struct World<'a> {
    workload: &'a Workload,
    seed: u64,
    random: Random,
    pub(super) now_ns: u64,
    events: BinaryHeap<Reverse<Scheduled>>,
    scheduled: u64,
    pub(super) machine: Machine,
    pub(super) queries: Vec<Option<Query>>,
    free: Vec<usize>,
    pub(super) outcome: Outcome,
    from_ns: u64,
    until_ns: u64,
    /// The event at which everything is checked next.
    next_check: Cell<u64>,
}

impl<'a> World<'a> {
    fn new(workload: &'a Workload, seed: u64) -> Self {
        let class = |class: &crate::simulator::QueryClass| ClassOutcome {
            name: class.name.clone(),
            client_cpu_ns: vec![0; class.clients],
            ..ClassOutcome::default()
        };
        let from_ns = (workload.run.warm_up_ms * 1e6) as u64;
        let duration_ns = (workload.run.duration_ms * 1e6) as u64;
        let outcome = Outcome {
            classes: workload.queries.iter().map(class).collect(),
            duration_ns,
            cores: workload.machine.cores,
            ..Outcome::default()
        };
        let machine = Machine::new(&workload.machine);
        let mut world = Self {
            workload,
            seed,
            random: Random::new(seed),
            now_ns: 0,
            events: BinaryHeap::new(),
            scheduled: 0,
            machine,
            queries: Vec::new(),
            free: Vec::new(),
            outcome,
            from_ns,
            until_ns: from_ns + duration_ns,
            next_check: Cell::new(0),
        };
        for (number, class) in workload.queries.iter().enumerate() {
            for client in 0..class.clients {
                // Not all at one instant: clients come within a millisecond.
                let at_ns = (world.random.share() * 1e6) as u64;
                world.schedule(at_ns, Event::Arrive { class: number, client: Some(client) });
            }
            world.schedule_arrival(number);
        }
        world
    }

    fn schedule(&mut self, at_ns: u64, event: Event) {
        self.scheduled += 1;
        self.events.push(Reverse(Scheduled { at_ns, number: self.scheduled, event }));
    }

    /// The next query of a class that arrives by itself.
    fn schedule_arrival(&mut self, class: usize) {
        let rate = self.workload.queries[class].arrivals_per_second;
        if rate > 0.0 {
            let wait_ns = self.random.exponential(1e9 / rate) as u64;
            self.schedule(self.now_ns + wait_ns, Event::Arrive { class, client: None });
        }
    }

    fn run(&mut self, driver: &mut dyn Driver) -> Result<(), Violation> {
        while let Some(Reverse(next)) = self.events.pop() {
            if next.at_ns > self.until_ns {
                break;
            }
            self.now_ns = next.at_ns;
            self.outcome.steps += 1;
            match next.event {
                Event::Arrive { class, client } => self.arrive(driver, class, client),
                Event::Done { core, run } => {
                    self.count_busy(run);
                    driver.done(self, core, run);
                }
            }
            let checked = driver.check(self).and_then(|()| self.check_wait(self.outcome.longest_wait_ns));
            checked.map_err(|what| Violation { seed: self.seed, at_ns: self.now_ns, what })?;
        }
        // What runs across the end counts up to it.
        self.now_ns = self.until_ns;
        let events = std::mem::take(&mut self.events);
        for Reverse(scheduled) in events {
            if let Event::Done { run, .. } = scheduled.event
                && run.began_ns < self.until_ns
            {
                self.count_busy(run);
            }
        }
        Ok(())
    }

    fn arrive(&mut self, driver: &mut dyn Driver, number: usize, client: Option<usize>) {
        if client.is_none() {
            self.schedule_arrival(number);
        }
        let class = &self.workload.queries[number];
        let scale = 1.0 + class.spread * (2.0 * self.random.share() - 1.0);
        let max_threads = if class.max_threads == 0 { self.workload.workers() } else { class.max_threads };
        let max_threads = max_threads.min(class.parallelism);
        let query = Query::new(number, class, client, self.now_ns, scale);
        let at = self.free.pop().unwrap_or(self.queries.len());
        if at == self.queries.len() {
            self.queries.push(Some(query));
        } else {
            self.queries[at] = Some(query);
        }
        driver.arrive(self, at, max_threads, class.weight);
    }

    /// Puts a runner onto a core that it holds already, for so much of a morsel's work; `delay_ns` passes first.
    pub(super) fn start(
        &mut self,
        core: usize,
        runner: usize,
        query: usize,
        morsel: Morsel,
        work_ns: u64,
        delay_ns: u64,
    ) {
        let memory_bound = self.queries[query].as_ref().map_or(0.0, |query| query.memory_bound);
        let elapsed_ns = (work_ns as f64 / self.machine.speed(core, memory_bound)) as u64;
        let run = Run { runner, query, morsel, work_ns, began_ns: self.now_ns };
        self.schedule(self.now_ns + delay_ns + elapsed_ns.max(1), Event::Done { core, run });
    }

    fn count_busy(&mut self, run: Run) {
        let from_ns = run.began_ns.max(self.from_ns);
        let busy_ns = self.now_ns.saturating_sub(from_ns);
        self.outcome.busy_ns += busy_ns;
        if let Some(query) = &self.queries[run.query]
            && let Some(client) = query.client
        {
            self.outcome.classes[query.class].client_cpu_ns[client] += busy_ns;
        }
    }

    /// What a core pays to run something else than before.
    pub(super) fn switch_ns(&self) -> u64 {
        (self.machine.options().switch_us * 1e3) as u64
    }

    /// A runnable query has waited so long.
    pub(super) fn waited(&mut self, waited_ns: u64) {
        self.outcome.longest_wait_ns = self.outcome.longest_wait_ns.max(waited_ns);
    }

    /// Whether a check that looks at so many things is made now: after every event while they are few, else once there were an
    /// eighth as many events, so that checking costs as much as simulating.
    pub(super) fn checks_all(&self, things: usize) -> bool {
        let is_due = things <= 32 || self.outcome.steps >= self.next_check.get();
        if is_due {
            self.next_check.set(self.outcome.steps + things as u64 / 8);
        }
        is_due
    }

    /// A runnable query may not wait for ever.
    pub(super) fn check_wait(&self, waited_ns: u64) -> Result<(), String> {
        let bound_ms = self.workload.run.starvation_ms;
        let waited_ms = waited_ns as f64 / 1e6;
        if waited_ms > bound_ms {
            return Err(format!("a runnable query waits for {waited_ms:.1} ms, longer than {bound_ms:.1} ms"));
        }
        Ok(())
    }

    /// A query has ended: its client goes on.
    pub(super) fn end(&mut self, at: usize) {
        let Some(query) = self.queries[at].take() else { return };
        self.free.push(at);
        if self.now_ns >= self.from_ns {
            self.outcome.classes[query.class].latencies_ns.push(self.now_ns - query.arrived_ns);
        }
        if query.client.is_some() {
            let think_ms = self.workload.queries[query.class].think_ms;
            let wait_ns = if think_ms > 0.0 { self.random.exponential(think_ms * 1e6) as u64 } else { 0 };
            self.schedule(self.now_ns + wait_ns, Event::Arrive { class: query.class, client: query.client });
        }
    }

    fn into_outcome(mut self) -> Outcome {
        self.outcome.classes.iter_mut().for_each(|class| class.latencies_ns.sort_unstable());
        self.outcome
    }
}
