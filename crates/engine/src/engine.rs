//! The engine: starts plans as queries of the scheduler, or runs them where they are. What it gives is in `stream`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use squall_planner::{Expression, Plan};
use squall_runtime::profile_events::{self, Timed};
use squall_runtime::{ProfileEvent, ThreadPool};
use squall_scheduler::MORSEL_TARGET;
use squall_scheduler::{Scheduler, Step, Task, TaskOptions};
use squall_storage::{InsertLimits, Insertion, PartMerge, Table};
use squall_types::checkpoint::leash;
use squall_types::{Block, Result, Schema};

use crate::builder::Builder;
use crate::execution::Execution;
use crate::insert::Input;
use crate::output::Output;
use crate::pipeline::{self, Pipeline};
use crate::query_context::QueryContext;
use crate::spill::{Temporary, TemporaryFolder};
use crate::step_profile::PlanProfile;
use crate::stream::{Completion, InsertStream, QueryStream};
use crate::works::Works;

/// Rows for which another thread is worth starting.
const ROWS_PER_THREAD: u64 = 32_768;

/// How long a query that runs on one thread waits without looking whether it may go on.
const PARK_MAX: Duration = Duration::from_millis(10);

/// Runs plans. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    scheduler: Scheduler,
    pool: ThreadPool,
    temporary: Temporary,
}

impl Engine {
    /// An engine over a scheduler; `pool` runs what may wait for a disk.
    pub fn new(scheduler: Scheduler, pool: ThreadPool) -> Self {
        let temporary = Temporary { folder: Arc::default(), pool: pool.clone() };
        Self { scheduler, pool, temporary }
    }

    /// The same engine with another folder for temporary data than the system's.
    #[must_use]
    pub fn with_temporary_folder(mut self, folder: Arc<TemporaryFolder>) -> Self {
        self.temporary.folder = folder;
        self
    }

    /// The folder of temporary data.
    pub fn temporary_folder(&self) -> &Arc<TemporaryFolder> {
        &self.temporary.folder
    }

    fn builder(&self, context: &Arc<QueryContext>) -> Builder {
        context.set_temporary(&self.temporary);
        Builder::new(context.clone())
    }

    /// The scheduler.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Starts a SELECT. A plan that reads fewer rows than `inline_rows_limit` runs right here for as long as a morsel; others run on the
    /// scheduler's workers while the stream is read.
    ///
    /// # Errors
    /// Where a table cannot be read.
    pub fn start(&self, plan: &Plan, context: Arc<QueryContext>) -> Result<QueryStream> {
        if let Plan::Values { schema, blocks } = plan
            && let [block] = &blocks[..]
            && (block.rows() as u64) < context.settings.inline_rows_limit.min(context.settings.max_block_size)
        {
            context.counters.add(ProfileEvent::InlineQueries, 1);
            let output = Output::new(schema.clone(), context.clone(), 0, None);
            {
                let _thread = context.enter();
                output.end_with(block);
            }
            return Ok(self.stream(output, context));
        }
        let (pipelines, output) = self.select(plan, &context)?;
        if !begins_here(&pipelines, &context) {
            return Ok(self.submit_select(pipelines, output, context));
        }
        let execution = self.select_execution(pipelines, &output, &context);
        if !run_here(&execution, &context) {
            // It computes for longer than a thread that serves connections may: workers do it from the beginning.
            drop((execution, output));
            context.progress.forget();
            let (pipelines, output) = self.select(plan, &context)?;
            return Ok(self.submit_select(pipelines, output, context));
        }
        if !execution.is_done() {
            self.submit(&execution, &context);
        }
        Ok(self.stream(output, context))
    }

    /// Starts a SELECT whose rows nobody wants; what its steps do is found in the profile, when the stream has ended.
    ///
    /// # Errors
    /// Where a table cannot be read.
    pub fn start_analyzed(&self, plan: &Plan, context: Arc<QueryContext>) -> Result<(QueryStream, Arc<PlanProfile>)> {
        let (builder, profile) = self.builder(&context).analyzing(plan);
        let (pipelines, output) = select_by(builder, plan, &context)?;
        output.set_inner();
        self.submit(&self.select_execution(pipelines, &output, &context), &context);
        Ok((self.stream(output, context), profile))
    }

    fn select(&self, plan: &Plan, context: &Arc<QueryContext>) -> Result<(Vec<Pipeline>, Arc<Output>)> {
        select_by(self.builder(context), plan, context)
    }

    fn select_execution(
        &self,
        pipelines: Vec<Pipeline>,
        output: &Arc<Output>,
        context: &Arc<QueryContext>,
    ) -> Arc<Execution> {
        let ended = output.clone();
        let execution = self.execution(context, pipelines, move |result| ended.end(result));
        output.set_writer(execution.waker());
        execution
    }

    /// Has workers run a SELECT, and what its reader wants of them.
    fn submit_select(
        &self,
        mut pipelines: Vec<Pipeline>,
        output: Arc<Output>,
        context: Arc<QueryContext>,
    ) -> QueryStream {
        let works = Works::new(context.clone());
        output.set_works(works.clone());
        add_works(&mut pipelines, &works);
        self.submit(&self.select_execution(pipelines, &output, &context), &context);
        self.stream(output, context)
    }

    fn stream(&self, output: Arc<Output>, context: Arc<QueryContext>) -> QueryStream {
        QueryStream { workers_max: self.workers_max(&context), output, context }
    }

    /// Runs a SELECT from its beginning to its end on the calling thread, which may be a worker's: it waits for the disk, never for workers.
    ///
    /// # Errors
    /// The query's.
    pub fn collect_here(&self, plan: &Plan, context: Arc<QueryContext>) -> Result<Vec<Block>> {
        let (pipelines, output) = self.builder(&context).select(plan)?;
        let execution = self.select_execution(pipelines, &output, &context);
        execution.stay_here();
        let mut stream = self.stream(output, context);
        let mut blocks = Vec::new();
        loop {
            let step = execution.run(MORSEL_TARGET);
            while let Some(next) = stream.try_next() {
                match next {
                    Some(block) => blocks.push(block?),
                    None => return Ok(blocks),
                }
            }
            if step == Step::Idle {
                // Memory that others give back wakes nobody.
                std::thread::park_timeout(PARK_MAX);
            }
        }
    }

    /// Starts a SELECT whose rows go into tables: they are not counted as a result, nor limited as one.
    ///
    /// # Errors
    /// Where a table cannot be read.
    pub fn start_inner(&self, plan: &Plan, context: Arc<QueryContext>) -> Result<QueryStream> {
        let (pipelines, output) = self.select(plan, &context)?;
        output.set_inner();
        self.submit(&self.select_execution(pipelines, &output, &context), &context);
        Ok(self.stream(output, context))
    }

    /// Starts an INSERT of a plan's rows.
    ///
    /// # Errors
    /// Where a table cannot be read or written.
    pub fn insert_select(&self, plan: &Plan, table: &dyn Table, context: Arc<QueryContext>) -> Result<Completion> {
        let insertion = context.begin_insert(table, InsertLimits::new(&context.settings))?;
        self.insert_into(plan, insertion, context)
    }

    /// The same as part of an INSERT under way.
    ///
    /// # Errors
    /// Where a table cannot be read.
    pub fn insert_into(
        &self,
        plan: &Plan,
        insertion: Arc<dyn Insertion>,
        context: Arc<QueryContext>,
    ) -> Result<Completion> {
        let pipelines = self.builder(&context).insert_select(plan, insertion, self.pool.clone())?;
        let completion = Completion::new(context.clone());
        let ended = completion.state().clone();
        let execution = self.execution(&context, pipelines, move |result| ended.end(result));
        self.submit(&execution, &context);
        Ok(completion)
    }

    /// Starts an INSERT of rows that will be sent. `project` computes the table's columns from those that are sent, where they
    /// differ.
    ///
    /// # Errors
    /// Where the table takes no rows.
    pub fn insert(
        &self,
        table: &dyn Table,
        project: Option<(Vec<Expression>, Arc<Schema>)>,
        context: Arc<QueryContext>,
    ) -> Result<InsertStream> {
        self.insert_within(table, project, InsertLimits::new(&context.settings), context)
    }

    /// The same with other limits than those of the query's settings.
    ///
    /// # Errors
    /// Where the table takes no rows.
    pub fn insert_within(
        &self,
        table: &dyn Table,
        project: Option<(Vec<Expression>, Arc<Schema>)>,
        limits: InsertLimits,
        context: Arc<QueryContext>,
    ) -> Result<InsertStream> {
        Ok(self.insert_input(context.begin_insert(table, limits)?, project, context))
    }

    /// The same as part of an INSERT under way.
    pub fn insert_input(
        &self,
        insertion: Arc<dyn Insertion>,
        project: Option<(Vec<Expression>, Arc<Schema>)>,
        context: Arc<QueryContext>,
    ) -> InsertStream {
        let input = Arc::new(Input::default());
        let works = Works::new(context.clone());
        let builder = self.builder(&context);
        let pipelines = builder.insert_input(input.clone(), works.clone(), project, insertion, self.pool.clone());
        let completion = Completion::new(context.clone());
        let (ended, abandoned) = (completion.state().clone(), input.clone());
        let execution = self.execution(&context, pipelines, move |result| {
            ended.end(result);
            abandoned.abandon();
        });
        self.submit(&execution, &context);
        InsertStream { input, works, workers_max: self.workers_max(&context), completion }
    }

    /// Starts a merge: its rows are read and sorted on one worker, encoded by any.
    pub fn merge(&self, merge: PartMerge, context: Arc<QueryContext>) -> Completion {
        let pipelines = self.builder(&context).merge(merge, self.pool.clone());
        let completion = Completion::new(context.clone());
        let ended = completion.state().clone();
        let execution = self.execution(&context, pipelines, move |result| ended.end(result));
        self.submit(&execution, &context);
        completion
    }

    /// The pipelines of a plan as text, for EXPLAIN PIPELINE: one line per pipeline, sources first.
    ///
    /// # Errors
    /// Where a table cannot be read.
    pub fn explain_pipeline(&self, plan: &Plan, context: Arc<QueryContext>) -> Result<Vec<String>> {
        let (pipelines, _) = self.builder(&context).select(plan)?;
        let workers = self.workers_max(&context);
        let describe = |(number, pipeline): (usize, &Pipeline)| {
            let mut steps = vec![pipeline.source_name.clone()];
            steps.extend(pipeline.operators.iter().map(|operator| operator.name().to_owned()));
            steps.push(pipeline.stage.sink.name().to_owned());
            let after = match &pipeline.depends_on[..] {
                [] => String::new(),
                some => format!(" after {}", some.iter().map(|at| format!("#{at}")).collect::<Vec<_>>().join(", ")),
            };
            format!("#{number} × {}{after}: {}", workers.min(pipeline.workers_max), steps.join(" → "))
        };
        Ok(pipelines.iter().enumerate().map(describe).collect())
    }

    fn execution(
        &self,
        context: &Arc<QueryContext>,
        pipelines: Vec<Pipeline>,
        on_end: impl FnOnce(Result<()>) + Send + 'static,
    ) -> Arc<Execution> {
        Execution::new(context.clone(), pipelines, Box::new(on_end))
    }

    /// Workers that a query may have at once.
    fn workers_max(&self, context: &QueryContext) -> usize {
        match context.settings.max_threads {
            0 => self.scheduler.workers(),
            threads => usize::try_from(threads).unwrap_or(usize::MAX),
        }
    }

    fn submit(&self, execution: &Arc<Execution>, context: &Arc<QueryContext>) {
        let workers_max = self.workers_max(context);
        let by_rows = execution.rows_total().map_or(u64::MAX, |rows| rows.div_ceil(ROWS_PER_THREAD));
        let options = TaskOptions {
            workers_max,
            workers_recommended: usize::try_from(by_rows).unwrap_or(usize::MAX).max(1),
            weight: context.weight(),
            use_concurrency_control: context.settings.use_concurrency_control,
        };
        let handle = self.scheduler.add(execution.clone(), options);
        if let Some(threads) = handle.threads_granted() {
            context.note_threads(threads);
        }
        execution.set_handle(handle.clone());
        handle.wake(execution.workers_wanted());
    }
}

/// The pipelines of a SELECT and its output.
fn select_by(builder: Builder, plan: &Plan, context: &Arc<QueryContext>) -> Result<(Vec<Pipeline>, Arc<Output>)> {
    let _counting = profile_events::attach(context.clone());
    let _building = Timed::new(ProfileEvent::QueryPipelineBuildMicroseconds);
    builder.select(plan)
}

/// Puts works before all other pipelines: workers look for morsels in their order, and rows that are there go out before more come.
fn add_works(pipelines: &mut Vec<Pipeline>, works: &Arc<Works>) {
    pipelines.iter_mut().flat_map(|pipeline| &mut pipeline.depends_on).for_each(|number| *number += 1);
    pipelines.insert(0, works.pipeline("LayOut"));
}

/// Whether a query begins on the thread that it came to.
fn begins_here(pipelines: &[Pipeline], context: &QueryContext) -> bool {
    pipeline::rows_total(pipelines).is_some_and(|rows| rows < context.settings.inline_rows_limit)
        // An I/O thread must not wait for a dictionary's source.
        && !context.asks_sources()
}

/// Runs a query on this thread for as long as a morsel; false where a step of it was broken off because it took longer.
fn run_here(execution: &Execution, context: &QueryContext) -> bool {
    let leash = leash(MORSEL_TARGET);
    let begun = Instant::now();
    // `Idle` means that something must be waited for, which a worker's task can and an I/O thread must not. Nor may a query
    // that makes much of few rows hold up the other connections for longer than a morsel.
    while execution.run(MORSEL_TARGET) == Step::Worked && begun.elapsed() < MORSEL_TARGET {}
    let is_kept = !leash.was_too_short();
    context.counters.add(ProfileEvent::InlineQueries, u64::from(is_kept));
    is_kept
}
