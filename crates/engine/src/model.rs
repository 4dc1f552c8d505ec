//! The engine's protocols under a model checker: the end of a query whose workers fail, and a result on its way to a client that waits.
//! shuttle runs them under many thousands of interleavings, chosen at random and by PCT (Burckhardt et al. 2010); a wake-up that is
//! lost shows as a deadlock.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure is the test's failure")]

use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use arrow_array::types::UInt64Type;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use squall_scheduler::{Step, Task};
use squall_storage::{Claim, Morsel, TableScan};
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result, Schema, Settings};

use crate::execution::Execution;
use crate::output::{MorselBounds, Output, OutputSink};
use crate::pipeline::{Pipeline, Sink, Stage};
use crate::query_context::QueryContext;
use crate::sink::Nothing;
use crate::stream::Ending;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, within_model};
use crate::works::Works;

/// Long enough that a worker looks for another task only where it finds no morsel.
const TARGET: Duration = Duration::from_secs(1);

/// The stack of a model's thread: a context with all settings passes through it by value, some times over in a debug build.
const STACK_BYTES: usize = 512 << 10;

const SCHEDULES: usize = 20_000;

/// Runs a model under random schedules and under PCT's.
fn check(model: impl Fn() + Send + Sync + Clone + 'static) {
    let mut config = shuttle::Config::new();
    config.stack_size = STACK_BYTES;
    within_model(|| {
        shuttle::Runner::new(RandomScheduler::new(SCHEDULES), config.clone()).run(model.clone());
        shuttle::Runner::new(PctScheduler::new(3, SCHEDULES), config).run(model);
    });
}

fn context() -> Arc<QueryContext> {
    let mut settings = Settings::default();
    for timer in ["query_profiler_real_time_period_ns", "query_profiler_cpu_time_period_ns"] {
        settings.set(timer, "0").unwrap();
    }
    let context = QueryContext::new("model".into(), settings.into());
    // The model's threads are fibres of one thread: whose memory that thread counts is not taken back in order, so it must stay.
    std::mem::forget(context.clone());
    context
}

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new([("n", DataType::UInt64)]))
}

/// Blocks of a row a morsel, with its number; one of them fails.
struct Numbers {
    next: AtomicU64,
    rows: u64,
    blocks: usize,
    fails_at: Option<u64>,
}

impl Numbers {
    fn new(rows: u64, fails_at: Option<u64>) -> Arc<Self> {
        Self::of_blocks(1, rows, fails_at)
    }

    fn of_blocks(blocks: usize, rows: u64, fails_at: Option<u64>) -> Arc<Self> {
        Arc::new(Self { next: AtomicU64::new(0), rows, blocks, fails_at })
    }
}

impl TableScan for Numbers {
    fn rows_total(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn claim(&self, _: u64, _: &Waker) -> Claim {
        let first = self.next.fetch_add(1, Ordering::SeqCst);
        if first < self.rows { Claim::Morsel(Morsel { first, rows: 1 }) } else { Claim::Finished }
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        if Some(morsel.first) == self.fails_at {
            return Err(Error::new(ErrorCode::CORRUPTED_DATA, "on purpose"));
        }
        (0..self.blocks).try_for_each(|_| {
            let column = Column::from_primitive::<UInt64Type>(DataType::UInt64, vec![morsel.first]);
            consume(Block::new(schema(), vec![column], 1)).map(drop)
        })
    }
}

/// Works for a query until it is over.
fn work(execution: &Execution, target: Duration) {
    while execution.run(target) != Step::Finished {
        shuttle::thread::yield_now();
    }
}

/// Two workers run a source into a sink, then a pipeline that waits for it; gives how the query ended.
fn ended(fails_at: Option<u64>) -> Vec<Result<()>> {
    let ends = Arc::new(Mutex::new(Vec::new()));
    let told = ends.clone();
    let sink = || -> Arc<dyn Sink> { Arc::new(Nothing) };
    let first = Pipeline::new(Numbers::new(3, fails_at), String::new(), Stage::new(sink(), 1));
    let mut second = Pipeline::new(Numbers::new(1, None), String::new(), Stage::new(sink(), 1));
    second.depends_on.push(0);
    let execution = Execution::new(context(), vec![first, second], Box::new(move |result| told.lock().push(result)));
    let other = execution.clone();
    let worker = shuttle::thread::spawn(move || work(&other, TARGET));
    work(&execution, TARGET);
    worker.join().unwrap();
    let ends = ends.lock();
    ends.clone()
}

#[test]
#[ignore = "long"]
fn a_query_whose_morsel_fails_never_ends_well() {
    check(|| assert!(matches!(&ended(Some(2))[..], [Err(error)] if error.code == ErrorCode::CORRUPTED_DATA)));
}

#[test]
#[ignore = "long"]
fn a_query_whose_morsels_all_ran_ends_once_and_well() {
    check(|| assert_eq!(ended(None), [Ok(())]));
}

struct Unpark(shuttle::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Numbers that a client gets of two workers, who look for other work after each block.
fn got(numbers: Arc<Numbers>, bounds: MorselBounds, target: Duration) -> Vec<u64> {
    let context = context();
    let output = Output::bounded(schema(), context.clone(), 0, None, bounds);
    let stage = Stage::new(Arc::new(OutputSink { output: output.clone(), totals: None }), 1);
    let pipeline = Pipeline::new(numbers, String::new(), stage);
    let ended = output.clone();
    let execution = Execution::new(context, vec![pipeline], Box::new(move |result| ended.end(result)));
    output.set_writer(execution.waker());
    for _ in 0..2 {
        let execution = execution.clone();
        shuttle::thread::spawn(move || work(&execution, target));
    }
    let waker = Waker::from(Arc::new(Unpark(shuttle::thread::current())));
    let mut numbers = Vec::new();
    loop {
        match output.poll_next(&mut Context::from_waker(&waker)) {
            Poll::Ready(Some(block)) => {
                let block = block.unwrap();
                numbers.extend((0..block.rows()).map(|row| block.column(0).value(row).as_u64().unwrap()));
            }
            Poll::Ready(None) => return numbers,
            Poll::Pending => shuttle::thread::park(),
        }
    }
}

#[test]
#[ignore = "long"]
fn a_client_that_waits_gets_every_row_in_order() {
    check(|| assert_eq!(got(Numbers::new(4, None), MorselBounds::default(), TARGET), [0, 1, 2, 3]));
}

#[test]
#[ignore = "long"]
fn rows_that_come_too_early_wait_for_their_turn() {
    let bounds = MorselBounds { early_bytes_max: 1, put_out_bytes: 1 };
    check(move || {
        let numbers = got(Numbers::of_blocks(2, 3, None), bounds, Duration::ZERO);
        assert_eq!(numbers, [0, 0, 1, 1, 2, 2]);
    });
}

/// Numbers that a client has workers of the query double, also after the last block; and how the query ended.
fn doubled(numbers: Arc<Numbers>) -> (Vec<u64>, Result<()>) {
    let context = context();
    let output = Output::new(schema(), context.clone(), 0, None);
    let works = Works::new(context.clone());
    output.set_works(works.clone());
    let stage = Stage::new(Arc::new(OutputSink { output: output.clone(), totals: None }), 1);
    let pipelines = vec![works.pipeline("LayOut"), Pipeline::new(numbers, String::new(), stage)];
    let ended = output.clone();
    let execution = Execution::new(context, pipelines, Box::new(move |result| ended.end(result)));
    output.set_writer(execution.waker());
    for _ in 0..2 {
        let execution = execution.clone();
        shuttle::thread::spawn(move || work(&execution, TARGET));
    }
    let waker = Waker::from(Arc::new(Unpark(shuttle::thread::current())));
    let doubled = Arc::new(Mutex::new(Vec::new()));
    let kept = output.keep_works();
    loop {
        match output.poll_next(&mut Context::from_waker(&waker)) {
            Poll::Ready(Some(Ok(block))) => {
                let (block, doubled) = (block.column(0).value(0).as_u64().unwrap(), doubled.clone());
                let double = async move {
                    doubled.lock().push(2 * block);
                    Ok(())
                };
                if let Some(works) = &kept {
                    works.add(Box::pin(double));
                }
            }
            Poll::Ready(Some(Err(error))) => return (Vec::new(), Err(error)),
            Poll::Ready(None) => break,
            Poll::Pending => shuttle::thread::park(),
        }
    }
    output.end_works();
    output.wake_writer();
    loop {
        match output.poll_end(&Context::from_waker(&waker)) {
            Poll::Ready(result) => {
                let mut doubled = doubled.lock().clone();
                doubled.sort_unstable();
                // Where no works were kept, the query was over before they could be.
                return (if kept.is_some() { doubled } else { vec![0, 2, 4] }, result);
            }
            Poll::Pending => shuttle::thread::park(),
        }
    }
}

#[test]
#[ignore = "long"]
fn a_query_ends_after_the_work_with_its_result() {
    check(|| assert_eq!(doubled(Numbers::new(3, None)), (vec![0, 2, 4], Ok(()))));
}

#[test]
#[ignore = "long"]
fn a_query_that_fails_ends_whatever_work_is_left() {
    check(|| {
        assert!(matches!(doubled(Numbers::new(3, Some(1))), (_, Err(error)) if error.code == ErrorCode::CORRUPTED_DATA))
    });
}
