//! `stride` on virtual cores: as many workers as cores, each doing what `crate::workers` does with the same leases, under virtual
//! time.

use crate::policy::stride::{Lease, Stride, TaskId, WorkerKind};
use crate::simulator::query::Progress;
use crate::simulator::simulation::{Driver, Run, World};
use crate::task::Step;

struct Worker {
    lease: Option<Lease>,
    last: Option<TaskId>,
    /// The core that it ran on last.
    core: Option<usize>,
}

pub(super) struct Workers {
    stride: Stride,
    /// Workers that may have a task at once.
    limit: usize,
    workers: Vec<Worker>,
    idle: Vec<usize>,
    /// The query of each task, and the most workers that it may have.
    queries: Vec<(usize, usize)>,
    /// The task of each query.
    tasks: Vec<Option<TaskId>>,
    /// When the policy's lock is free again.
    lock_free_ns: u64,
}

impl Workers {
    pub(super) fn new(workers: usize, limit: Option<usize>) -> Self {
        let mut stride = Stride::default();
        stride.set_limit(limit);
        Self {
            stride,
            limit: limit.map_or(usize::MAX, |limit| limit.max(1)),
            workers: (0..workers).map(|_| Worker { lease: None, last: None, core: None }).collect(),
            idle: (0..workers).rev().collect(),
            queries: Vec::new(),
            tasks: Vec::new(),
            lock_free_ns: 0,
        }
    }

    fn wake(&mut self, world: &mut World, task: TaskId) {
        let wanted = self.stride.wake(task, world.now_ns);
        let keep = self.idle.len().saturating_sub(wanted);
        for worker in self.idle.split_off(keep).into_iter().rev() {
            self.choose(world, worker, 0);
        }
    }

    /// Takes the lock: gives how long the worker is kept by it and by those before it.
    fn lock(&mut self, world: &mut World) -> u64 {
        world.outcome.locked_decisions += 1;
        let from_ns = self.lock_free_ns.max(world.now_ns);
        self.lock_free_ns = from_ns + world.machine.options().lock_ns as u64;
        self.lock_free_ns - world.now_ns
    }

    /// A worker looks for work: under the lock, as often as it takes.
    fn choose(&mut self, world: &mut World, worker: usize, mut delay_ns: u64) {
        loop {
            delay_ns = delay_ns.max(self.lock(world));
            let last = self.workers[worker].last;
            let Some(lease) = self.stride.pick(world.now_ns, last, WorkerKind::Any) else {
                if let Some(core) = self.workers[worker].core.take() {
                    world.machine.release(core);
                }
                self.idle.push(worker);
                return;
            };
            world.waited(lease.waited_ns);
            if self.workers[worker].last.replace(lease.task) != Some(lease.task) {
                delay_ns += world.switch_ns();
            }
            self.workers[worker].lease = Some(lease);
            if self.run(world, worker, delay_ns) {
                return;
            }
        }
    }

    /// Runs the next morsel of the task that the worker has; false where there is none and the worker has given the task back.
    fn run(&mut self, world: &mut World, worker: usize, delay_ns: u64) -> bool {
        let Some(mut lease) = self.workers[worker].lease.take() else { return false };
        let (query, _) = self.queries[lease.task.0];
        let morsel = world.queries[query].as_mut().and_then(|query| query.claim(None));
        let Some(morsel) = morsel else {
            let step = if world.queries[query].is_some() { Step::Idle } else { Step::Finished };
            let _ = lease.ran(0, step);
            self.stride.give_back(lease, step, world.now_ns);
            return false;
        };
        self.workers[worker].lease = Some(lease);
        // There are as many cores as workers, and a worker holds one only while it runs.
        let core = self.workers[worker].core.or_else(|| world.machine.take(None));
        self.workers[worker].core = core;
        if let Some(core) = core {
            world.start(core, worker, query, morsel, morsel.work_ns, delay_ns);
        }
        true
    }
}

impl Driver for Workers {
    fn arrive(&mut self, world: &mut World, query: usize, max_threads: usize, weight: f64) {
        let task = self.stride.add(weight, max_threads);
        if self.queries.len() <= task.0 {
            self.queries.resize(task.0 + 1, (0, 0));
        }
        self.queries[task.0] = (query, max_threads);
        if self.tasks.len() <= query {
            self.tasks.resize(query + 1, None);
        }
        self.tasks[query] = Some(task);
        self.wake(world, task);
    }

    fn done(&mut self, world: &mut World, core: usize, run: Run) {
        let worker = run.runner;
        debug_assert_eq!(self.workers[worker].core, Some(core));
        let elapsed_ns = world.now_ns - run.began_ns;
        let progress =
            world.queries[run.query].as_mut().map_or(Progress::Ended, |query| query.finish(run.morsel, elapsed_ns));
        let step = if progress == Progress::Ended { Step::Finished } else { Step::Worked };
        match progress {
            Progress::NextPhase => {
                if let Some(task) = self.tasks[run.query] {
                    self.wake(world, task);
                }
            }
            Progress::Ended => {
                self.tasks[run.query] = None;
                world.end(run.query);
            }
            Progress::Same => {}
        }
        let Some(lease) = &mut self.workers[worker].lease else { return };
        if lease.ran(elapsed_ns, step) {
            world.outcome.lock_free_decisions += 1;
            if self.run(world, worker, 0) {
                return;
            }
        } else if let Some(lease) = self.workers[worker].lease.take()
            && self.stride.give_back(lease, step, world.now_ns)
        {
            self.workers[worker].last = None;
        }
        self.choose(world, worker, 0);
    }

    fn check(&self, world: &World) -> Result<(), String> {
        if !self.idle.is_empty() && self.stride.has_work() {
            return Err(format!("{} workers are idle beside runnable work", self.idle.len()));
        }
        if world.machine.busy() + self.idle.len() != self.workers.len() {
            return Err("a worker is neither idle nor on a core".into());
        }
        if world.machine.busy() > self.limit {
            return Err(format!("{} workers run, more than the budget's {}", world.machine.busy(), self.limit));
        }
        if !world.checks_all(self.stride.tasks()) {
            return Ok(());
        }
        for task in self.stride.snapshot(world.now_ns) {
            let (query, workers_max) = self.queries[task.task.0];
            if task.workers > workers_max {
                return Err(format!("a query has {} workers of at most {workers_max}", task.workers));
            }
            let has_morsel = world.queries[query].as_ref().is_some_and(|query| query.has_morsel());
            if has_morsel && !task.is_runnable && task.workers == 0 {
                return Err("a query with work to do is asleep".into());
            }
            world.check_wait(task.waiting_ns)?;
        }
        Ok(())
    }
}
