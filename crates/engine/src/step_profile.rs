//! What each step of a plan did while its query ran, for `EXPLAIN ANALYZE`. Where the rows of a step leave it, its pipelines have an
//! operator more, which counts them and says whose time it is now: what a worker does between two such places is one step's. Queries that
//! nobody analyzes have none of it.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use squall_planner::Plan;
use squall_runtime::thread_usage::thread_id;
use squall_types::{Block, Result};

use crate::operator::Operator;

thread_local! {
    /// Since when the thread is at what it does now.
    static SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// What a step did.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StepFigures {
    /// Rows that it gave.
    pub rows: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Time of all workers that were at it, waiting for a CPU included.
    pub time: Duration,
    /// Threads that were at it.
    pub workers: usize,
}

#[derive(Default)]
struct StepCounters {
    is_counted: AtomicBool,
    rows: AtomicU64,
    bytes: AtomicU64,
    ns: AtomicU64,
    workers: Mutex<Vec<u64>>,
}

/// What the steps of a plan did, by their numbers: from 0 as [`Plan::inputs`] gives them, each before those below it.
pub struct PlanProfile {
    steps: Vec<StepCounters>,
}

impl PlanProfile {
    fn new(steps: usize) -> Arc<Self> {
        Arc::new(Self { steps: (0..steps).map(|_| StepCounters::default()).collect() })
    }

    /// What a step did; `None` for one that is part of another when the query runs.
    pub fn figures(&self, step: usize) -> Option<StepFigures> {
        let counters = self.steps.get(step).filter(|counters| counters.is_counted.load(Ordering::Relaxed))?;
        Some(StepFigures {
            rows: counters.rows.load(Ordering::Relaxed),
            bytes: counters.bytes.load(Ordering::Relaxed),
            time: Duration::from_nanos(counters.ns.load(Ordering::Relaxed)),
            workers: counters.workers.lock().len(),
        })
    }

    /// Rows left a step.
    pub(crate) fn count(&self, step: usize, rows: u64, bytes: u64) {
        if let Some(counters) = self.steps.get(step) {
            counters.is_counted.store(true, Ordering::Relaxed);
            counters.rows.fetch_add(rows, Ordering::Relaxed);
            counters.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// The calling thread begins to work for some step.
    fn begin() {
        SINCE.set(Some(Instant::now()));
    }

    /// What the calling thread has done since it began, or since this was called last, was for a step; nobody's without one.
    fn charge(&self, step: Option<usize>) {
        let now = Instant::now();
        let Some(since) = SINCE.replace(Some(now)) else { return };
        let Some(counters) = step.and_then(|step| self.steps.get(step)) else { return };
        counters.ns.fetch_add((now - since).as_nanos() as u64, Ordering::Relaxed);
        let (mut workers, thread) = (counters.workers.lock(), thread_id());
        if !workers.contains(&thread) {
            workers.push(thread);
        }
    }
}

/// The numbers of a plan's steps while pipelines are built of them.
pub(crate) struct StepNumbers {
    pub(crate) profile: Arc<PlanProfile>,
    by_address: HashMap<*const Plan, usize>,
    /// The step that is being built.
    pub(crate) current: Option<usize>,
}

impl StepNumbers {
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut by_address = HashMap::new();
        number(plan, &mut by_address);
        Self { profile: PlanProfile::new(by_address.len()), by_address, current: None }
    }

    pub(crate) fn of(&self, plan: &Plan) -> Option<usize> {
        self.by_address.get(&std::ptr::from_ref(plan)).copied()
    }

    /// Steps of a copy are those of the plan.
    pub(crate) fn add_copy(&mut self, plan: &Plan, copy: &Plan) {
        if let Some(number) = self.of(plan) {
            self.by_address.insert(std::ptr::from_ref(copy), number);
        }
        plan.inputs().zip(copy.inputs()).for_each(|(input, copy)| self.add_copy(input, copy));
    }
}

fn number(plan: &Plan, by_address: &mut HashMap<*const Plan, usize>) {
    by_address.insert(std::ptr::from_ref(plan), by_address.len());
    plan.inputs().for_each(|input| number(input, by_address));
}

/// Whose steps a pipeline is made of.
pub(crate) struct PipelineSteps {
    profile: Arc<PlanProfile>,
    /// The step that its source begins.
    source: Option<usize>,
    /// The step whose sink it ends in.
    sink: Option<usize>,
}

impl PipelineSteps {
    /// Puts an operator where the rows of a step leave it: `ends` has such steps, and how many operators come before.
    pub(crate) fn new(
        profile: &Arc<PlanProfile>,
        ends: &[(usize, usize)],
        sink: Option<usize>,
        operators: &mut Vec<Arc<dyn Operator>>,
    ) -> Self {
        for (place, (at, step)) in ends.iter().enumerate().rev() {
            let next = ends.get(place + 1).map(|(_, next)| *next).or(sink);
            operators
                .insert((*at).min(operators.len()), Arc::new(StepEnd { profile: profile.clone(), step: *step, next }));
        }
        Self { profile: profile.clone(), source: ends.first().map(|(_, step)| *step).or(sink), sink }
    }

    /// A worker comes to the pipeline.
    pub(crate) fn begin(&self) {
        PlanProfile::begin();
    }

    /// It has read.
    pub(crate) fn end_source(&self) {
        self.profile.charge(self.source);
    }

    /// The sink has taken what there was.
    pub(crate) fn end_sink(&self) {
        self.profile.charge(self.sink);
    }
}

/// Where the rows of a step leave it.
struct StepEnd {
    profile: Arc<PlanProfile>,
    step: usize,
    /// Who gets them.
    next: Option<usize>,
}

impl Operator for StepEnd {
    fn execute(&self, block: Block) -> Result<Option<Block>> {
        self.profile.charge(Some(self.step));
        self.profile.count(self.step, block.rows() as u64, block.value_bytes() as u64);
        Ok(Some(block))
    }

    fn execute_each(
        &self,
        block: Block,
        emit: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let Some(block) = self.execute(block)? else { return Ok(ControlFlow::Continue(())) };
        let result = emit(block);
        self.profile.charge(self.next);
        result
    }

    fn name(&self) -> &'static str {
        "StepEnd"
    }
}
