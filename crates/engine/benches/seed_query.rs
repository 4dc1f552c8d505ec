//! The document's query, `SELECT count(), ResolutionWidth … GROUP BY ResolutionWidth`, over 8,873,898 rows in memory, beside the bare
//! loop that counts the same keys into four interleaved tables: how far the engine is from the hardware's limit.
//!
//! `cargo bench -p squall-engine --bench seed_query`

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a failure is the test's failure"
)]

use std::sync::Arc;
use std::time::Instant;

use squall_engine::{Engine, QueryContext};
use squall_functions::resolve_aggregate;
use squall_planner::{
    Aggregate, AggregateCall, ColumnDescription, Expression, Plan, Scan, TableDefinition, TableMetadata,
};
use squall_runtime::ThreadPool;
use squall_scheduler::{PolicyKind, Scheduler, SchedulerOptions, ThreadBudget};
use squall_storage::{Databases, TableHandle};
use squall_types::{Block, Column, DataType, Schema, Settings};

const ROWS: usize = 8_873_898;
const RUNS: usize = 41;

/// A dozen common widths and a long tail.
fn widths() -> Vec<i16> {
    let common = [1368, 1024, 1280, 1920, 1600, 1440, 1680, 1152, 360, 320, 800, 768];
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..ROWS)
        .map(|_| {
            let random = next();
            if random % 100 < 93 {
                common[(random >> 32) as usize % common.len()]
            } else {
                (random >> 32) as i16 & 0x0FFF
            }
        })
        .collect()
}

fn bare_loop(keys: &[i16]) -> Box<[u64; 65_536]> {
    let mut tables = vec![[0u32; 4]; 65_536];
    for chunk in keys.chunks(4) {
        for (lane, key) in chunk.iter().enumerate() {
            tables[*key as u16 as usize][lane] += 1;
        }
    }
    let mut sums = Box::new([0; 65_536]);
    for (sum, lanes) in sums.iter_mut().zip(&tables) {
        *sum = lanes.iter().map(|count| u64::from(*count)).sum();
    }
    sums
}

fn median_ms(mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let began = Instant::now();
            run();
            began.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}

fn table(engine: &Engine, keys: &[i16]) -> Arc<TableHandle> {
    let databases = Databases::in_memory();
    let definition = TableDefinition {
        constraints: Vec::new(),
        indices: Vec::new(),
        projections: Vec::new(),
        ttl: Vec::new(),
        columns: vec![ColumnDescription::new("ResolutionWidth", DataType::Int16)],
        engine: "Memory".into(),
        engine_arguments: Vec::new(),
        sorting_key: Vec::new(),
        primary_key: None,
        partition_key: Vec::new(),
        sampling_key: None,
        settings: Vec::new(),
        comment: "".into(),
    };
    databases.create_table("default", "hits", definition, false).expect("a new table");
    let table = databases.table("default", "hits").expect("the table");
    let context = QueryContext::new("insert".into(), Arc::new(Settings::default()));
    let insert = async {
        let mut stream = engine.insert(&*table, None, context).expect("an insert");
        for chunk in keys.chunks(1 << 20) {
            let column = Column::from_primitive::<arrow_array::types::Int16Type>(DataType::Int16, chunk.to_vec());
            stream.send(Block::from_columns([("ResolutionWidth", column)]).expect("a block")).await.expect("sent");
        }
        stream.finish().await.expect("inserted");
    };
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(insert);
    Arc::new(TableHandle(databases.table("default", "hits").expect("the table")))
}

fn plan(table: Arc<TableHandle>) -> Plan {
    let fields = table.columns().iter().map(|column| (column.name.clone(), column.data_type.clone()));
    let schema = Arc::new(Schema::new(fields));
    let scan = Plan::Scan(Scan {
        columns: vec![0],
        schema,
        predicate: None,
        bounds: Vec::new(),
        limit: None,
        hides_rows: false,
        has_places: false,
        table,
    });
    let key = Expression::Column { position: 0, data_type: DataType::Int16 };
    let count = resolve_aggregate("count", &[], &[]).expect("count");
    Plan::Aggregate(Aggregate {
        input: Box::new(scan),
        keys: vec![key],
        aggregates: vec![AggregateCall { name: "count()".into(), function: count, arguments: Vec::new() }],
        schema: Arc::new(Schema::new([("ResolutionWidth", DataType::Int16), ("count()", DataType::UInt64)])),
        with_totals: false,
        sets: None,
        limit: None,
    })
}

fn main() {
    let keys = widths();
    println!("{ROWS} rows, median of {RUNS}, ms");
    println!("{:>8} {:>10} {:>10} {:>8}", "threads", "bare loop", "engine", "ratio");
    for workers in [1, 2] {
        let pool = ThreadPool::new(Default::default());
        let options =
            SchedulerOptions { workers, policy: PolicyKind::Stride, budget: ThreadBudget { threads_max: None } };
        let engine = Engine::new(Scheduler::start(options, pool.clone()).expect("workers").0, pool);
        let plan = plan(table(&engine, &keys));
        let bare = median_ms(|| {
            std::thread::scope(|scope| {
                for part in keys.chunks(ROWS.div_ceil(workers)) {
                    scope.spawn(move || std::hint::black_box(bare_loop(part)));
                }
            });
        });
        let ours = median_ms(|| {
            let context = QueryContext::new("select".into(), Arc::new(Settings::default()));
            let blocks = engine.start(&plan, context).and_then(|stream| stream.collect_blocking()).expect("a result");
            assert!(blocks.iter().map(Block::rows).sum::<usize>() > 1000);
        });
        println!("{workers:>8} {bare:>10.2} {ours:>10.2} {:>8.2}", ours / bare);
    }
}
