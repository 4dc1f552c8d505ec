//! The policies that bind threads to queries, on virtual cores: slots are granted by the real code, and the operating system, which
//! divides cores among threads, is a fair one of turns.

use std::collections::{HashMap, VecDeque};

use crate::policy::slots::{Grant, QueryNumber, SlotPolicy, Slots};
use crate::simulator::query::{Morsel, Progress};
use crate::simulator::simulation::{Driver, Run, World};

struct Thread {
    query: usize,
    /// A morsel that was begun, and its work that is left.
    morsel: Option<(Morsel, u64)>,
    /// Time that the morsel has had.
    elapsed_ns: u64,
    /// What is left of its turn.
    turn_ns: u64,
    /// The core that it ran on last.
    core: Option<usize>,
    ready_since_ns: u64,
}

#[derive(Default)]
struct QueryThreads {
    number: Option<QueryNumber>,
    threads: Vec<usize>,
    /// Those of them that wait for the query to have a morsel.
    blocked: Vec<usize>,
    max_threads: usize,
}

pub(super) struct Threads {
    slots: Slots,
    threads: Vec<Option<Thread>>,
    free: Vec<usize>,
    queries: Vec<QueryThreads>,
    numbers: HashMap<QueryNumber, usize>,
    /// Threads that could run, in the order of their turns.
    ready: VecDeque<usize>,
    /// The thread that each core ran last.
    last_on_core: Vec<Option<usize>>,
}

impl Threads {
    pub(super) fn new(policy: Box<dyn SlotPolicy>, limit: Option<usize>) -> Self {
        Self {
            slots: Slots::new(policy, limit),
            threads: Vec::new(),
            free: Vec::new(),
            queries: Vec::new(),
            numbers: HashMap::new(),
            ready: VecDeque::new(),
            last_on_core: Vec::new(),
        }
    }

    fn add_thread(&mut self, world: &mut World, query: usize) {
        if let Some(query) = &mut world.queries[query] {
            query.add_thread();
        }
        let thread =
            Thread { query, morsel: None, elapsed_ns: 0, turn_ns: 0, core: None, ready_since_ns: world.now_ns };
        let at = self.free.pop().unwrap_or(self.threads.len());
        if at == self.threads.len() {
            self.threads.push(Some(thread));
        } else {
            self.threads[at] = Some(thread);
        }
        self.queries[query].threads.push(at);
        self.ready.push_back(at);
    }

    /// A turn's length when so many threads share the cores.
    fn turn_ns(&self, world: &World) -> u64 {
        let options = world.machine.options();
        let threads_per_core = (self.ready.len() + world.machine.busy()) as f64 / options.cores as f64;
        (options.slice_min_us.max(options.slice_period_us / threads_per_core.max(1.0)) * 1e3) as u64
    }

    /// Gives free cores to threads whose turn it is.
    fn dispatch(&mut self, world: &mut World) {
        while world.machine.free() > 0
            && let Some(at) = self.ready.pop_front()
        {
            let turn_ns = self.turn_ns(world);
            let Some(thread) = &mut self.threads[at] else { continue };
            let query = thread.query;
            let Some(state) = &mut world.queries[query] else { continue };
            thread.morsel = thread.morsel.or_else(|| state.claim(Some(at)).map(|morsel| (morsel, morsel.work_ns)));
            let (ready_since_ns, last) = (thread.ready_since_ns, thread.core);
            thread.turn_ns = turn_ns;
            if thread.morsel.is_none() {
                self.queries[query].blocked.push(at);
                continue;
            }
            world.waited(world.now_ns - ready_since_ns);
            if let Some(core) = world.machine.take(last) {
                self.run(world, at, core);
            }
        }
    }

    /// Runs a thread's morsel for as long as its turn lasts, on a core that it has.
    fn run(&mut self, world: &mut World, at: usize, core: usize) {
        if self.last_on_core.len() <= core {
            self.last_on_core.resize(core + 1, None);
        }
        let is_switch = self.last_on_core[core].replace(at) != Some(at);
        let delay_ns = if is_switch { world.switch_ns() } else { 0 };
        let Some(thread) = &mut self.threads[at] else { return };
        thread.core = Some(core);
        let Some((morsel, left_ns)) = thread.morsel else { return };
        // Of a turn, and not less than what advances at all.
        let work_ns = left_ns.min(thread.turn_ns.max(1_000));
        let query = thread.query;
        world.start(core, at, query, morsel, work_ns, delay_ns);
    }

    fn grant(&mut self, world: &mut World, grants: &[Grant]) {
        for Grant(number) in grants {
            if let Some(query) = self.numbers.get(number).copied() {
                self.add_thread(world, query);
            }
        }
    }

    fn end(&mut self, world: &mut World, query: usize) {
        let ended = std::mem::take(&mut self.queries[query]);
        let is_any_ready = ended.blocked.len() + 1 < ended.threads.len();
        for at in ended.threads {
            self.threads[at] = None;
            self.free.push(at);
        }
        // All but the one that did the last work mostly wait for more: then none is in the queue.
        if is_any_ready {
            self.ready.retain(|at| self.threads[*at].is_some());
        }
        world.end(query);
        if let Some(number) = ended.number {
            self.numbers.remove(&number);
            let grants = self.slots.end(number);
            self.grant(world, &grants);
        }
    }
}

impl Driver for Threads {
    fn arrive(&mut self, world: &mut World, query: usize, max_threads: usize, _: f64) {
        let start = self.slots.start(max_threads, true);
        if self.queries.len() <= query {
            self.queries.resize_with(query + 1, QueryThreads::default);
        }
        self.queries[query] = QueryThreads { number: Some(start.query), max_threads, ..QueryThreads::default() };
        self.numbers.insert(start.query, query);
        (0..start.threads()).for_each(|_| self.add_thread(world, query));
        self.dispatch(world);
    }

    fn done(&mut self, world: &mut World, core: usize, run: Run) {
        let at = run.runner;
        let elapsed_ns = world.now_ns - run.began_ns;
        let Some(thread) = &mut self.threads[at] else { return };
        thread.turn_ns = thread.turn_ns.saturating_sub(elapsed_ns);
        thread.ready_since_ns = world.now_ns;
        let left_ns = thread.morsel.map_or(0, |(_, left_ns)| left_ns.saturating_sub(run.work_ns));
        thread.morsel = (left_ns > 0).then_some((run.morsel, left_ns));
        thread.elapsed_ns += elapsed_ns;
        let mut progress = Progress::Same;
        if left_ns == 0
            && let Some(query) = &mut world.queries[run.query]
        {
            progress = query.finish(run.morsel, std::mem::take(&mut thread.elapsed_ns));
            if progress == Progress::Same || progress == Progress::NextPhase {
                thread.morsel = query.claim(Some(at)).map(|morsel| (morsel, morsel.work_ns));
            }
        }
        let (has_morsel, has_turn) = (thread.morsel.is_some(), thread.turn_ns > 0);
        if progress == Progress::NextPhase {
            let blocked = std::mem::take(&mut self.queries[run.query].blocked);
            for at in blocked {
                if let Some(thread) = &mut self.threads[at] {
                    thread.ready_since_ns = world.now_ns;
                }
                self.ready.push_back(at);
            }
        }
        if has_morsel && (has_turn || self.ready.is_empty()) {
            if !has_turn {
                let turn_ns = self.turn_ns(world);
                if let Some(thread) = &mut self.threads[at] {
                    thread.turn_ns = turn_ns;
                }
            }
            self.run(world, at, core);
        } else {
            world.machine.release(core);
            if progress == Progress::Ended {
                self.end(world, run.query);
            } else if has_morsel {
                self.ready.push_back(at);
            } else {
                self.queries[run.query].blocked.push(at);
            }
        }
        self.dispatch(world);
    }

    fn check(&self, world: &World) -> Result<(), String> {
        if world.machine.free() > 0 && !self.ready.is_empty() {
            return Err(format!("{} cores are idle beside {} threads", world.machine.free(), self.ready.len()));
        }
        if !world.checks_all(self.numbers.len() + self.ready.len()) {
            return Ok(());
        }
        for at in &self.ready {
            let since_ns = self.threads[*at].as_ref().map_or(world.now_ns, |thread| thread.ready_since_ns);
            world.check_wait(world.now_ns - since_ns)?;
        }
        let mut competing = 0;
        for (query, of) in self.queries.iter().enumerate() {
            let Some(number) = of.number else { continue };
            if of.threads.is_empty() || of.threads.len() > of.max_threads {
                return Err(format!("a query has {} threads of at most {}", of.threads.len(), of.max_threads));
            }
            let held = self.slots.held_by(number);
            if of.threads.len() > held + 1 {
                return Err(format!("a query runs {} threads with {held} slots", of.threads.len()));
            }
            competing += held.saturating_sub(1);
            let has_morsel = world.queries[query].as_ref().is_some_and(|query| query.has_morsel());
            if has_morsel && of.blocked.len() == of.threads.len() {
                return Err("a query with work to do is asleep".into());
            }
        }
        if self.slots.limit().is_some_and(|limit| competing > limit) {
            return Err(format!("queries hold {competing} slots beyond their first of {:?}", self.slots.limit()));
        }
        Ok(())
    }
}
