//! A query under way: its pipelines, as one task of the scheduler. A worker that comes runs one morsel of the first pipeline that
//! has one; when a pipeline's last morsel is done, those that waited for it start.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use squall_runtime::histogram::SCHEDULER_STEP;
use squall_runtime::long_steps::LONG_STEPS;
use squall_runtime::thread_pool::{CountFor, Owner, ScheduleError};
use squall_runtime::thread_usage::ThreadUsage;
use squall_runtime::{Pieces, ProfileEvent};
use squall_scheduler::{Step, Task, TaskHandle};
use squall_types::{Error, ErrorCode, Result};

use crate::pipeline::{self, Pipeline, Visit};
use crate::query_context::{Check, QueryContext};
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{self, Mutex, Thread};
use crate::waiting::WaitingPlace;

/// The pipelines of one query and how far they are.
pub(crate) struct Execution {
    context: Arc<QueryContext>,
    pipelines: Vec<Pipeline>,
    /// Pipelines that each waits for, by number.
    waits_for: Vec<AtomicUsize>,
    /// Pipelines that may run now, in the order of their numbers.
    active: Mutex<Vec<usize>>,
    ended: AtomicUsize,
    is_done: AtomicBool,
    /// Threads that are in the middle of [`run`](Task::run), where they are logged one by one.
    threads_within: AtomicUsize,
    /// The last morsel was run; the last of these threads ends the query.
    is_over: AtomicBool,
    /// Told once how the query ended.
    on_end: Mutex<Option<OnEnd>>,
    handle: OnceLock<TaskHandle>,
    /// The thread that runs the query alone, in place of the scheduler's workers.
    thread: OnceLock<Thread>,
    waker: OnceLock<Waker>,
    waiting_place: WaitingPlace,
}

/// A step goes on to a further morsel until this share of its target is over.
const SHORT_SHARE: u32 = 4;

type OnEnd = Box<dyn FnOnce(Result<()>) + Send>;

impl Execution {
    /// Makes a query of pipelines. `on_end` is called once, from whichever thread ends it.
    pub(crate) fn new(context: Arc<QueryContext>, pipelines: Vec<Pipeline>, on_end: OnEnd) -> Arc<Self> {
        let waits_for = pipelines.iter().map(|pipeline| AtomicUsize::new(pipeline.depends_on.len())).collect();
        let active = (0..pipelines.len()).filter(|at| pipelines[*at].depends_on.is_empty()).collect();
        let execution = Arc::new(Self {
            context,
            pipelines,
            waits_for,
            active: Mutex::new(active),
            ended: AtomicUsize::new(0),
            is_done: AtomicBool::new(false),
            threads_within: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            on_end: Mutex::new(Some(on_end)),
            handle: OnceLock::new(),
            thread: OnceLock::new(),
            waker: OnceLock::new(),
            waiting_place: WaitingPlace::default(),
        });
        let waker = Waker::from(Arc::new(WakeExecution(Arc::downgrade(&execution))));
        execution.context.set_waker(waker.clone());
        let _ = execution.waker.set(waker);
        execution
    }

    /// Gives the execution its place in the scheduler, before it is first woken.
    pub(crate) fn set_handle(&self, handle: TaskHandle) {
        let _ = self.handle.set(handle);
    }

    /// This thread alone runs the query, and is woken in place of workers.
    pub(crate) fn stay_here(&self) {
        let _ = self.thread.set(sync::current());
    }

    /// Wakes the query from anywhere, for as long as it lives.
    pub(crate) fn waker(&self) -> Waker {
        self.waker.get().cloned().unwrap_or_else(|| Waker::noop().clone())
    }

    /// There may be work again.
    pub(crate) fn wake(&self) {
        if let Some(handle) = self.handle.get() {
            handle.wake(self.workers_wanted());
        }
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// How many more workers are worth calling, at least one. Takes no lock: those who wake a query may hold any.
    pub(crate) fn workers_wanted(&self) -> usize {
        let waits = self.waits_for.iter().map(|waits_for| waits_for.load(Ordering::SeqCst) > 0);
        let active = self.pipelines.iter().zip(waits).filter(|(pipeline, waits)| !waits && !pipeline.is_over());
        active.map(|(pipeline, _)| pipeline.workers_wanted()).fold(0, usize::saturating_add).max(1)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.is_done.load(Ordering::SeqCst)
    }

    /// Rows that the query's tables will give, as far as they know.
    pub(crate) fn rows_total(&self) -> Option<u64> {
        pipeline::rows_total(&self.pipelines)
    }

    /// Ends the query, the first time it is called.
    fn end(&self, result: Result<()>) {
        self.is_done.store(true, Ordering::SeqCst);
        if let Some(handle) = self.handle.get() {
            handle.release();
        }
        let on_end = self.on_end.lock().take();
        if let Some(on_end) = on_end {
            on_end(result);
        }
    }

    /// Runs one morsel, of the pipeline whose number is left in `ran`. Where it was the query's last, `is_last` is set, and whoever ran it
    /// calls [`end`](Self::end) in a moment.
    fn step(&self, target_ns: u64, ran: &mut usize, is_last: &mut bool) -> Result<Visit> {
        let waker = self.waker.get().map_or(Waker::noop(), |waker| waker);
        if self.context.check()? != Check::Go {
            self.waiting_place.take(waker);
            return Ok(Visit::Nothing);
        }
        let active = self.active.lock().clone();
        for at in active {
            *ran = at;
            let pipeline = &self.pipelines[at];
            let (result, must_end) = pipeline.visit(&self.context, target_ns, waker);
            let visit = result?;
            if must_end {
                *is_last |= self.end_pipeline(at)?;
                return Ok(Visit::Ran);
            }
            if visit == Visit::Ran {
                return Ok(Visit::Ran);
            }
        }
        Ok(Visit::Nothing)
    }

    /// Writes a step that held its worker for long to the log: time in which the thread had no CPU is not the step's. `usage` began
    /// `before` the step did, in which time the thread computed.
    #[cold]
    fn note_long_step(&self, at: usize, held: Duration, usage: &ThreadUsage, before: Duration) {
        let used = usage.used();
        if !LONG_STEPS.is_long(held.saturating_sub(Duration::from_micros(used.wait_us))) {
            return;
        }
        self.context.counters.add(ProfileEvent::SchedulerLongSteps, 1);
        let Some(untold) = LONG_STEPS.tell() else { return };
        let pipeline = &self.pipelines[at];
        let operators = pipeline.operators.iter().map(|operator| operator.name());
        let names: Vec<&str> =
            std::iter::once(&*pipeline.source_name).chain(operators).chain([pipeline.stage.sink.name()]).collect();
        let ms = |us: u64| us as f64 / 1e3;
        let until = Pieces::take_last_place().map(|place| format!(" until {place}")).unwrap_or_default();
        tracing::warn!(target: "Scheduler", query_id = &*self.context.query_id,
            "A step of {}{until} held a worker for {:.1} ms, {:.1} ms of CPU time, {:.1} ms of these in the kernel, {} page faults; \
             {untold} long steps before it were not written",
            names.join(" → "), ms(held.as_micros() as u64), ms(used.cpu_us.saturating_sub(before.as_micros() as u64)),
            ms(used.system_us), used.soft_page_faults);
    }

    /// A pipeline is over: its sink is finished if this was the last input, and those that waited become active. Returns whether it was
    /// the last one.
    fn end_pipeline(&self, at: usize) -> Result<bool> {
        self.pipelines[at].end()?;
        let mut is_for_several = false;
        {
            let mut active = self.active.lock();
            active.retain(|other| *other != at);
            for (other, pipeline) in self.pipelines.iter().enumerate() {
                if pipeline.depends_on.contains(&at) && self.waits_for[other].fetch_sub(1, Ordering::SeqCst) == 1 {
                    active.push(other);
                    is_for_several |= pipeline.rows_total().is_none_or(|rows| rows > 1);
                }
            }
            active.sort_unstable();
        }
        if self.ended.fetch_add(1, Ordering::SeqCst) + 1 == self.pipelines.len() {
            self.is_done.store(true, Ordering::SeqCst);
            return Ok(true);
        }
        if is_for_several {
            // A single unit is this worker's own next step: others would be woken to find it taken.
            self.wake();
        }
        Ok(false)
    }
}

impl Task for Execution {
    fn run(&self, target: Duration) -> Step {
        if self.is_done() {
            return Step::Finished;
        }
        let logs_threads = self.context.settings.log_query_threads;
        if logs_threads {
            self.threads_within.fetch_add(1, Ordering::SeqCst);
            if self.is_over.load(Ordering::SeqCst) {
                // Too late to be one of the query's threads. Whoever ran the last morsel may have waited for this one.
                if self.threads_within.fetch_sub(1, Ordering::SeqCst) == 1 {
                    self.end(Ok(()));
                }
                return Step::Finished;
            }
        }
        let (usage, began) = (ThreadUsage::now(), Instant::now());
        let thread = self.context.enter();
        // Morsels that turn out short, as the first and the last of a pipeline are, make one step together: the scheduler is asked
        // once for all of them.
        let (mut ran, mut is_last) = (0, false);
        let steps = || {
            let mut step_began = began;
            loop {
                Pieces::take_last_place();
                let visit = self.step(target.as_nanos() as u64, &mut ran, &mut is_last)?;
                let step_ended = Instant::now();
                if visit == Visit::Ran {
                    let held = step_ended - step_began;
                    SCHEDULER_STEP.observe(held);
                    if LONG_STEPS.is_long(held) {
                        self.note_long_step(ran, held, &usage, step_began - began);
                    }
                }
                step_began = step_ended;
                self.context.counters.add(ProfileEvent::SchedulerMorsels, u64::from(visit == Visit::Ran));
                if visit == Visit::Nothing || self.is_done() || step_ended - began > target / SHORT_SHARE {
                    return Ok(visit);
                }
            }
        };
        // A fault in one query's code ends that query alone.
        let visit = catch_unwind(AssertUnwindSafe(steps))
            .unwrap_or_else(|panic| Err(Error::logical(format!("a panic in the query: {}", panic_message(&*panic)))));
        self.context.counters.add(ProfileEvent::RealTimeMicroseconds, began.elapsed().as_micros() as u64);
        usage.add_since(&self.context.counters);
        drop(thread);
        if logs_threads {
            // A thread that lost its CPU behind an earlier morsel may not have said yet what it did.
            if is_last {
                self.is_over.store(true, Ordering::SeqCst);
            }
            is_last = self.threads_within.fetch_sub(1, Ordering::SeqCst) == 1 && self.is_over.load(Ordering::SeqCst);
        }
        if is_last {
            // Only now: who hears of the end may log what the query used.
            self.end(Ok(()));
        }
        let step = match visit {
            Ok(Visit::Ran) => Step::Worked,
            Ok(Visit::Nothing) => Step::Idle,
            Err(error) => {
                self.end(Err(error));
                Step::Finished
            }
        };
        if self.is_done() { Step::Finished } else { step }
    }

    fn query_id(&self) -> Arc<str> {
        self.context.query_id.clone()
    }

    fn refuse(&self, error: &ScheduleError) {
        self.end(Err(Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string())));
    }

    fn owner(&self) -> Option<Owner> {
        Some(self.context.clone())
    }

    fn count(&self, event: ProfileEvent, amount: u64) {
        CountFor::counters(&*self.context).add(event, amount);
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// Wakes a query for a source that has fetched its rows, or a client that has taken its blocks.
struct WakeExecution(std::sync::Weak<Execution>);

impl Wake for WakeExecution {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(execution) = self.0.upgrade() {
            execution.wake();
        }
    }
}
