//! INSERTs and merges as tasks of the scheduler: others run between their pieces, and they are seen there with their weights.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a failure is the test's failure"
)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use arrow_array::types::UInt64Type;
use squall_engine::{Engine, QueryContext};
use squall_planner::{ColumnDescription, Expression, KeyExpression, Plan, TableDefinition};
use squall_runtime::{Pieces, ThreadPool, block_on};
use squall_scheduler::{CpuShare, PolicyKind, Scheduler, SchedulerOptions, ThreadBudget};
use squall_storage::{Databases, StorageOptions};
use squall_types::{Block, Column, DataType, ErrorCode, Schema, Settings};

fn engine(policy: PolicyKind) -> Engine {
    let pool = ThreadPool::new(Default::default());
    let options = SchedulerOptions { workers: 1, policy, budget: ThreadBudget { threads_max: None } };
    Engine::new(Scheduler::start(options, pool.clone()).unwrap().0, pool)
}

/// A MergeTree table of some columns of numbers, by the first of them.
fn databases(folder: &Path, columns: usize) -> Arc<Databases> {
    let databases = Databases::open(folder, &StorageOptions::default()).unwrap();
    let column = |at| ColumnDescription::new(format!("c{at}"), DataType::UInt64);
    let key = Expression::Column { position: 0, data_type: DataType::UInt64 };
    let definition = TableDefinition {
        constraints: Vec::new(),
        indices: Vec::new(),
        projections: Vec::new(),
        ttl: Vec::new(),
        columns: (0..columns).map(column).collect(),
        engine: "MergeTree".into(),
        engine_arguments: Vec::new(),
        sorting_key: vec![KeyExpression { sql: "c0".into(), expression: key }],
        primary_key: None,
        partition_key: Vec::new(),
        sampling_key: None,
        settings: Vec::new(),
        comment: "".into(),
    };
    databases.create_table("default", "t", definition, false).unwrap();
    databases
}

/// Numbers far from sorted.
fn block(columns: usize, rows: u64, from: u64) -> Block {
    let scattered = |column: usize| {
        (from..from + rows).map(|row| (row + column as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect::<Vec<_>>()
    };
    let column = |at| (format!("c{at}"), Column::from_primitive::<UInt64Type>(DataType::UInt64, scattered(at)));
    Block::from_columns((0..columns).map(column)).unwrap()
}

fn context(id: &str) -> Arc<QueryContext> {
    let mut settings = Settings::default();
    settings.set("inline_rows_limit", "0").unwrap();
    QueryContext::new(id.into(), settings.into())
}

fn insert(engine: &Engine, databases: &Databases, block: Block) {
    let table = databases.table("default", "t").unwrap();
    let mut stream = engine.insert(&*table, None, context("insert")).unwrap();
    block_on(stream.send(block)).unwrap();
    block_on(stream.finish()).unwrap();
}

/// A short query that a worker runs.
fn one(engine: &Engine) {
    let column = Column::from_primitive::<UInt64Type>(DataType::UInt64, vec![1]);
    let block = Block::from_columns([("one", column)]).unwrap();
    let schema: Arc<Schema> = block.schema().clone();
    let plan = Plan::Values { blocks: vec![block], schema };
    let blocks = engine.start(&plan, context("one")).unwrap().collect_blocking().unwrap();
    assert_eq!(blocks.iter().map(Block::rows).sum::<usize>(), 1);
}

fn wait_for(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "it does not come");
        std::thread::yield_now();
    }
}

#[test]
fn a_short_query_runs_between_the_pieces_of_an_insert() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, databases) = (engine(PolicyKind::Stride), databases(folder.path(), 10));
    let (rows, context) = (200_000, context("insert"));
    let table = databases.table("default", "t").unwrap();
    let mut stream = engine.insert(&*table, None, context.clone()).unwrap();
    block_on(stream.send(block(10, rows, 0))).unwrap();
    let (begun, inserting) = (context.clone(), std::thread::spawn(move || block_on(stream.finish())));
    // All that is left is sorting, encoding and the commit; there is one worker.
    wait_for(|| begun.progress.written_rows.load(Ordering::Relaxed) == rows);
    for _ in 0..5 {
        one(&engine);
    }
    assert!(!inserting.is_finished(), "the queries had to wait for the whole INSERT");
    inserting.join().unwrap().unwrap();
    assert_eq!(databases.table("default", "t").unwrap().rows(), Some(rows));
    engine.scheduler().stop();
}

/// Work for an INSERT gives its result, or the INSERT's error to who waits for it: whether a worker has begun it, whether it goes on for ever,
/// and if it comes only after the end.
#[test]
fn work_for_an_insert_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, databases) = (engine(PolicyKind::Stride), databases(folder.path(), 1));
    let table = databases.table("default", "t").unwrap();
    let mut stream = engine.insert(&*table, None, context("insert")).unwrap();
    let made = block_on(stream.spawn(async { block(1, 10, 0) }).done()).unwrap();
    block_on(stream.send(made)).unwrap();
    block_on(stream.finish()).unwrap();
    assert_eq!(databases.table("default", "t").unwrap().rows(), Some(10));

    let context = context("cancelled");
    let stream = engine.insert(&*table, None, context.clone()).unwrap();
    let endless = || async {
        loop {
            Pieces::give_way().await;
        }
    };
    let waiting: Vec<_> = (0..3).map(|_| stream.spawn::<()>(endless())).collect();
    context.cancel();
    let code = |outcome: squall_types::Result<()>| outcome.unwrap_err().code;
    for mut work in waiting {
        assert_eq!(code(block_on(work.done())), ErrorCode::QUERY_WAS_CANCELLED);
    }
    assert_eq!(code(block_on(stream.spawn(endless()).done())), ErrorCode::QUERY_WAS_CANCELLED);
    engine.scheduler().stop();
}

#[test]
fn merges_are_tasks_of_the_background() {
    for policy in [PolicyKind::Stride, PolicyKind::FairRoundRobin] {
        let folder = tempfile::tempdir().unwrap();
        let (engine, databases) = (engine(policy), databases(folder.path(), 3));
        for part in 0..4 {
            insert(&engine, &databases, block(3, 20_000, part * 20_000));
        }
        let names: Vec<Arc<str>> =
            databases.table("default", "t").unwrap().parts().into_iter().map(|part| part.name).collect();
        let merge = databases.merge_parts("default", "t", &names).unwrap();
        assert!(merge.id.ends_with("::all_1_4_1"), "{}", merge.id);
        let (id, context) = (merge.id.clone(), context(&merge.id));
        context.set_cpu_share(CpuShare::new(0.1));
        let mut merging = engine.merge(merge, context);
        let task = engine.scheduler().tasks().into_iter().find(|task| *task.query_id == *id).unwrap();
        assert_eq!(task.weight, 0.1);
        one(&engine);
        block_on(merging.finished()).unwrap();
        let parts = databases.table("default", "t").unwrap().parts();
        assert_eq!(parts.iter().map(|part| (&*part.name, part.rows)).collect::<Vec<_>>(), [("all_1_4_1", 80_000)]);
        wait_for(|| engine.scheduler().tasks().is_empty());
        engine.scheduler().stop();
    }
}

#[test]
fn a_merge_that_is_cancelled_leaves_the_parts() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, databases) = (engine(PolicyKind::Stride), databases(folder.path(), 3));
    for part in 0..2 {
        insert(&engine, &databases, block(3, 20_000, part * 20_000));
    }
    let names: Vec<Arc<str>> =
        databases.table("default", "t").unwrap().parts().into_iter().map(|part| part.name).collect();
    let merge = databases.merge_parts("default", "t", &names).unwrap();
    drop(engine.merge(merge, context("merge")));
    wait_for(|| engine.scheduler().tasks().is_empty());
    assert_eq!(databases.table("default", "t").unwrap().parts().len(), 2);
    engine.scheduler().stop();
}
