//! Plans run on real workers over Memory tables, against naive models of the same steps.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a failure is the test's failure"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use squall_engine::{Engine, QueryContext, TemporaryFolder};
use squall_functions::{Argument, FunctionContext, Moment, resolve_aggregate, resolve_scalar};
use squall_planner::{
    Aggregate, AggregateCall, ColumnDescription, Expression, Join, JoinKey, JoinKind, JoinStrictness, Plan, Scan,
    SortKey, TableDefinition, TableMetadata,
};
use squall_runtime::{ProfileEvent, ThreadPool, TrackingAllocator};
use squall_scheduler::{PolicyKind, Scheduler, SchedulerOptions, ThreadBudget};
use squall_storage::{Databases, TableHandle, table_function};
use squall_types::{Block, Column, ColumnBuilder, DataType, ErrorCode, Schema, Settings, Value};

/// Memory is counted, as in the server.
#[global_allocator]
static ALLOCATOR: TrackingAllocator<std::alloc::System> = TrackingAllocator(std::alloc::System);

const ROWS: usize = 30_000;

fn engine(policy: PolicyKind) -> Engine {
    let pool = ThreadPool::new(Default::default());
    let options = SchedulerOptions { workers: 3, policy, budget: ThreadBudget { threads_max: None } };
    Engine::new(Scheduler::start(options, pool.clone()).unwrap().0, pool)
}

fn context(changes: &[(&str, &str)]) -> Arc<QueryContext> {
    let mut settings = Settings::default();
    changes.iter().for_each(|(name, value)| settings.set(name, value).unwrap());
    QueryContext::new("test".into(), settings.into())
}

fn functions() -> FunctionContext {
    FunctionContext {
        current_database: "default".into(),
        moment: Moment::new(0, 0, "default".into(), "test".into()),
        host_name: "localhost".into(),
        server_version: "0".into(),
        ..FunctionContext::outside_queries("UTC")
    }
}

fn column(position: usize, data_type: &str) -> Expression {
    Expression::Column { position, data_type: DataType::parse(data_type).unwrap() }
}

fn constant(value: Value) -> Expression {
    Expression::Constant { data_type: value.literal_type(), value }
}

fn call(name: &str, arguments: Vec<Expression>) -> Expression {
    let of = |argument: &Expression| match argument {
        Expression::Constant { value, data_type } => {
            Argument { data_type: data_type.clone(), constant: Some(value.clone()) }
        }
        other => Argument::of(other.data_type().clone()),
    };
    let function = resolve_scalar(name, &arguments.iter().map(of).collect::<Vec<_>>(), &functions()).unwrap();
    Expression::Function { name: name.into(), function, arguments }
}

/// A Memory table of these columns, filled through the engine in blocks of 1,000 rows.
fn table(engine: &Engine, columns: &[(&str, Vec<Value>)]) -> Arc<TableHandle> {
    table_of(&databases(engine, columns))
}

/// The only table as it is now.
fn table_of(databases: &Databases) -> Arc<TableHandle> {
    Arc::new(TableHandle(databases.table("default", "t").unwrap()))
}

fn databases(engine: &Engine, columns: &[(&str, Vec<Value>)]) -> Arc<Databases> {
    let databases = Databases::in_memory();
    let description = |(at, (name, _)): (usize, &(&str, Vec<Value>))| {
        ColumnDescription::new(format!("c{at}"), DataType::parse(name).unwrap())
    };
    let definition = TableDefinition {
        constraints: Vec::new(),
        indices: Vec::new(),
        projections: Vec::new(),
        ttl: Vec::new(),
        columns: columns.iter().enumerate().map(description).collect(),
        engine: "Memory".into(),
        engine_arguments: Vec::new(),
        sorting_key: Vec::new(),
        primary_key: None,
        partition_key: Vec::new(),
        sampling_key: None,
        settings: Vec::new(),
        comment: "".into(),
    };
    databases.create_table("default", "t", definition, false).unwrap();
    let table = databases.table("default", "t").unwrap();
    let built = columns.iter().enumerate().map(|(at, (name, values))| {
        let mut builder = ColumnBuilder::new(DataType::parse(name).unwrap());
        values.iter().for_each(|value| builder.append(value).unwrap());
        (format!("c{at}"), builder.finish().unwrap())
    });
    let block = Block::from_columns(built).unwrap();
    let insert = async {
        let mut stream = engine.insert(&*table, None, context(&[])).unwrap();
        for offset in (0..block.rows()).step_by(1000) {
            stream.send(block.slice(offset, 1000.min(block.rows() - offset))).await.unwrap();
        }
        stream.finish().await.unwrap();
    };
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(insert);
    databases
}

fn scan(table: Arc<TableHandle>, predicate: Option<Expression>) -> Plan {
    let fields = table.columns().iter().map(|column| (column.name.clone(), column.data_type.clone()));
    let schema = Arc::new(Schema::new(fields));
    Plan::Scan(Scan {
        columns: (0..schema.len()).collect(),
        schema,
        predicate,
        bounds: Vec::new(),
        limit: None,
        table,
        hides_rows: false,
        has_places: false,
    })
}

fn numbers(rows: u64) -> Plan {
    let table = table_function("numbers_mt", &[Value::UInt64(rows)], &|_: &str| Ok(Vec::new()), &functions()).unwrap();
    scan(Arc::new(TableHandle(table)), None)
}

fn run(engine: &Engine, plan: &Plan, context: Arc<QueryContext>) -> Result<Vec<Vec<Value>>, squall_types::Error> {
    let blocks = engine.start(plan, context)?.collect_blocking()?;
    let rows = blocks.iter().flat_map(|block| (0..block.rows()).map(move |row| (block, row)));
    Ok(rows.map(|(block, row)| block.columns().iter().map(|column| column.value(row)).collect()).collect())
}

fn rows(engine: &Engine, plan: &Plan) -> Vec<Vec<Value>> {
    run(engine, plan, context(&[("inline_rows_limit", "0")])).unwrap()
}

fn random_values(data_type: &str, distinct: u64, random: &mut StdRng) -> Vec<Value> {
    let is_nullable = data_type.contains("Nullable");
    let mut one = || {
        let number = random.random_range(0..distinct);
        if is_nullable && number % 7 == 3 {
            return Value::Null;
        }
        match data_type {
            name if name.contains("String") => Value::string(format!("key {number}")),
            "Float64" => Value::Float64(number as f64 / 2.0),
            name if name.contains("UInt") => Value::UInt64(number),
            _ => Value::Int64(number as i64 - distinct as i64 / 2),
        }
    };
    (0..ROWS).map(|_| one()).collect()
}

fn aggregate(input: Plan, keys: Vec<Expression>, argument: Option<Expression>) -> Plan {
    let call = |name: &str, arguments: Vec<Expression>| {
        let types: Vec<DataType> = arguments.iter().map(|argument| argument.data_type().clone()).collect();
        AggregateCall {
            name: format!("{name}()").into(),
            function: resolve_aggregate(name, &[], &types).unwrap(),
            arguments,
        }
    };
    let mut aggregates = vec![call("count", Vec::new())];
    aggregates.extend(argument.map(|argument| call("sum", vec![argument])));
    let key_fields = keys.iter().enumerate().map(|(at, key)| (format!("k{at}"), key.data_type().clone()));
    let fields = key_fields
        .chain(aggregates.iter().enumerate().map(|(at, call)| (format!("a{at}"), call.function.return_type().clone())));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    Plan::Aggregate(Aggregate {
        input: Box::new(input),
        keys,
        aggregates,
        schema,
        with_totals: false,
        sets: None,
        limit: None,
    })
}

#[test]
#[ignore = "long"]
fn groups_of_every_kind_of_key_are_counted_and_summed() {
    let random = &mut StdRng::seed_from_u64(1);
    for policy in PolicyKind::ALL {
        let engine = engine(policy);
        for (types, distinct) in [
            (vec!["UInt8"], 200),
            (vec!["Int16"], 1000),
            (vec!["Nullable(Int16)"], 1000),
            (vec!["UInt32"], 12_000),
            (vec!["Int64"], 25_000),
            (vec!["UInt32", "Int16"], 300),
            (vec!["UInt64", "Nullable(UInt32)"], 300),
            (vec!["String"], 25_000),
            (vec!["Nullable(String)"], 500),
            (vec!["String", "Float64"], 200),
            (vec!["LowCardinality(String)"], 50),
            (vec!["LowCardinality(Nullable(String))"], 50),
            (vec!["FixedString(9)"], 1000),
        ] {
            let mut columns: Vec<(&str, Vec<Value>)> =
                types.iter().map(|name| (*name, random_values(name, distinct, random))).collect();
            if types == ["FixedString(9)"] {
                let padded = columns[0].1.iter().map(|value| {
                    let mut bytes = value.as_bytes().unwrap().to_vec();
                    bytes.resize(9, 0);
                    Value::string(bytes)
                });
                columns[0].1 = padded.collect();
            }
            columns.push(("UInt32", random_values("UInt32", 1_000_000, random)));
            let mut expected: BTreeMap<String, (u64, u64)> = BTreeMap::new();
            for row in 0..ROWS {
                let key: Vec<&Value> = columns[..types.len()].iter().map(|(_, values)| &values[row]).collect();
                let entry = expected.entry(format!("{key:?}")).or_default();
                entry.0 += 1;
                entry.1 += columns[types.len()].1[row].as_u64().unwrap();
            }
            let keys = types.iter().enumerate().map(|(at, name)| column(at, name)).collect();
            let input = scan(table(&engine, &columns), None);
            let plan = aggregate(input, keys, Some(column(types.len(), "UInt32")));
            let found: BTreeMap<String, (u64, u64)> = rows(&engine, &plan)
                .into_iter()
                .map(|row| {
                    let key: Vec<&Value> = row[..types.len()].iter().collect();
                    (format!("{key:?}"), (row[types.len()].as_u64().unwrap(), row[types.len() + 1].as_u64().unwrap()))
                })
                .collect();
            assert!(found == expected, "{types:?}: {} groups, expected {}", found.len(), expected.len());
        }
    }
}

#[test]
fn an_aggregation_without_keys_has_one_row_even_of_nothing() {
    let engine = engine(PolicyKind::Stride);
    let nothing = |input: Plan| Plan::Filter {
        input: Box::new(input),
        predicate: call("less", vec![column(0, "UInt64"), constant(Value::UInt64(0))]),
    };
    let all = aggregate(numbers(100_000), Vec::new(), Some(column(0, "UInt64")));
    assert_eq!(rows(&engine, &all), [[Value::UInt64(100_000), Value::UInt64(4_999_950_000)]]);
    let none = aggregate(nothing(numbers(100_000)), Vec::new(), Some(column(0, "UInt64")));
    assert_eq!(rows(&engine, &none), [[Value::UInt64(0), Value::UInt64(0)]]);
    let no_groups = aggregate(nothing(numbers(100_000)), vec![column(0, "UInt64")], None);
    assert_eq!(rows(&engine, &no_groups).len(), 0);
}

#[test]
fn rows_are_sorted_with_and_without_a_limit() {
    let random = &mut StdRng::seed_from_u64(2);
    let engine = engine(PolicyKind::Stride);
    let types = ["Nullable(Int16)", "String", "Float64"];
    let columns: Vec<(&str, Vec<Value>)> = types.iter().map(|name| (*name, random_values(name, 900, random))).collect();
    let handle = table(&engine, &columns);
    for (limit, first, descending) in
        [(None, 0, false), (Some(10), 0, true), (Some(5000), 1, false), (Some(100), 2, true)]
    {
        let key = |at: usize| SortKey { expression: column(at, types[at]), descending, nulls_first: false };
        let keys = vec![key(first), key((first + 1) % 3), key((first + 2) % 3)];
        let sort = Plan::Sort { input: Box::new(scan(handle.clone(), None)), keys, limit, group_limit: None };
        let plan = Plan::Limit { input: Box::new(sort), offset: 3, limit, ties: None };
        let mut expected: Vec<Vec<Value>> =
            (0..ROWS).map(|row| columns.iter().map(|(_, values)| values[row].clone()).collect()).collect();
        let order = [first, (first + 1) % 3, (first + 2) % 3];
        expected.sort_by(|left, right| {
            let compare = |at: &usize| match (left[*at].is_null(), right[*at].is_null(), descending) {
                (false, false, true) => right[*at].compare(&left[*at]),
                _ => left[*at].compare(&right[*at]),
            };
            order.iter().map(compare).find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        });
        // The sort keeps only `limit` rows, of which the first three are passed over.
        let end = limit.map_or(ROWS, |limit| limit as usize);
        assert!(rows(&engine, &plan) == expected[3..end], "{limit:?} {first} {descending}");
    }
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(std::time::Instant::now() < deadline, "waited too long for: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until the query's temporary data are gone: its last worker lets go of it after its result is there.
fn until_gone(context: &QueryContext) {
    wait_until("the end of the temporary data", || context.memory.temporary_bytes() == 0);
}

fn rows_read(context: &QueryContext) -> u64 {
    context.progress.read_rows.load(std::sync::atomic::Ordering::Relaxed)
}

#[test]
#[ignore = "long"]
fn rows_sorted_on_disk_are_those_sorted_in_memory() {
    let random = &mut StdRng::seed_from_u64(7);
    let engine = engine(PolicyKind::Stride);
    let types = ["Nullable(Int16)", "LowCardinality(String)", "Float64", "String"];
    let columns: Vec<(&str, Vec<Value>)> = types.iter().map(|name| (*name, random_values(name, 900, random))).collect();
    let handle = table(&engine, &columns);
    // One column alone has rows of equal keys, whose number is all that counts.
    for (keys, limit) in [(vec![0, 1, 2, 3], None), (vec![3, 2, 1, 0], None), (vec![2, 3, 0, 1], Some(29_000))] {
        let key = |at: usize| SortKey { expression: column(at, types[at]), descending: at == 1, nulls_first: at == 0 };
        let keys: Vec<SortKey> = keys.into_iter().map(key).collect();
        let plan = Plan::Sort { input: Box::new(scan(handle.clone(), None)), keys, limit, group_limit: None };
        let plan = Plan::Limit { input: Box::new(plan), offset: 0, limit, ties: None };
        let expected = rows(&engine, &plan);
        for codec in ["LZ4", "ZSTD", "NONE"] {
            let changes = [
                ("max_bytes_before_external_sort", "200000"),
                ("temporary_files_codec", codec),
                ("inline_rows_limit", "0"),
            ];
            let context = context(&changes);
            assert!(run(&engine, &plan, context.clone()).unwrap() == expected, "{codec} {limit:?}");
            assert!(context.counters.get(ProfileEvent::ExternalSortWritePart) > 2);
            assert_eq!(context.counters.get(ProfileEvent::ExternalProcessingFilesTotal), 1);
            until_gone(&context);
        }
    }
}

#[test]
#[ignore = "long"]
fn groups_on_disk_are_those_in_memory() {
    let random = &mut StdRng::seed_from_u64(8);
    let engine = engine(PolicyKind::Stride);
    for types in [
        vec!["UInt32"],
        vec!["Int64", "Nullable(UInt32)"],
        vec!["String"],
        vec!["LowCardinality(Nullable(String))"],
        vec!["String", "Float64"],
        vec!["LowCardinality(String)", "String"],
    ] {
        let mut columns: Vec<(&str, Vec<Value>)> =
            types.iter().map(|name| (*name, random_values(name, 20_000, random))).collect();
        columns.push(("Nullable(Int32)", random_values("Nullable(Int32)", 1_000, random)));
        let keys = types.iter().enumerate().map(|(at, name)| column(at, name)).collect();
        let plan = aggregate(scan(table(&engine, &columns), None), keys, Some(column(types.len(), "Nullable(Int32)")));
        let sorted = |mut rows: Vec<Vec<Value>>| {
            rows.sort_by_key(|row| format!("{row:?}"));
            rows
        };
        let expected = sorted(rows(&engine, &plan));
        let context = context(&[("max_bytes_before_external_group_by", "250000"), ("inline_rows_limit", "0")]);
        assert!(sorted(run(&engine, &plan, context.clone()).unwrap()) == expected, "{types:?}");
        assert!(context.counters.get(ProfileEvent::ExternalAggregationWritePart) > 1, "{types:?}");
        assert_eq!(context.counters.get(ProfileEvent::ExternalAggregationMerge), 1);
        until_gone(&context);
    }
}

#[test]
#[ignore = "long"]
fn joins_on_disk_are_those_in_memory() {
    let random = &mut StdRng::seed_from_u64(9);
    let engine = engine(PolicyKind::Stride);
    let types = ["Nullable(Int32)", "String", "UInt32"];
    let side = |random: &mut StdRng| {
        let columns: Vec<(&str, Vec<Value>)> =
            types.iter().map(|name| (*name, random_values(name, 20_000, random))).collect();
        scan(table(&engine, &columns), None)
    };
    let (left, right) = (side(random), side(random));
    let call = |name: &str, at: usize| {
        let types = [DataType::parse(types[at % 3]).unwrap()];
        let arguments = vec![Expression::Column { position: at, data_type: types[0].clone() }];
        AggregateCall { name: name.into(), function: resolve_aggregate(name, &[], &types).unwrap(), arguments }
    };
    use JoinKind::{Full, Inner, Left, Right};
    for (kind, strictness, with_condition) in [
        (Inner, JoinStrictness::All, false),
        (Left, JoinStrictness::All, true),
        (Right, JoinStrictness::All, false),
        (Full, JoinStrictness::All, true),
        (Left, JoinStrictness::Semi, false),
        (Left, JoinStrictness::Anti, false),
        (Right, JoinStrictness::Semi, false),
        (Right, JoinStrictness::Anti, false),
    ] {
        let (left_columns, right_columns): (Vec<usize>, Vec<usize>) = ((0..3).collect(), (0..3).collect());
        let fields = (0..6).map(|at| (format!("c{at}"), DataType::parse(types[at % 3]).unwrap()));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let condition = with_condition.then(|| {
            let function =
                resolve_scalar("less", &[2, 5].map(|_| Argument::of(DataType::UInt32)), &functions()).unwrap();
            let arguments = vec![column(2, "UInt32"), column(5, "UInt32")];
            Expression::Function { name: "less".into(), function, arguments }
        });
        let join = Plan::Join(Join {
            left: Box::new(left.clone()),
            right: Box::new(right.clone()),
            kind,
            strictness,
            keys: vec![JoinKey { left: column(0, types[0]), right: column(0, types[0]) }],
            condition,
            nearest: None,
            runtime_filter: None,
            left_columns,
            right_columns,
            schema,
        });
        // Which of several partners comes is anybody's choice: the side that is sure is looked at.
        let side = if kind == Right { 3 } else { 0 };
        let aggregates = vec![call("uniqExact", side + 1), call("sum", side + 2), call("count", side)];
        let fields = aggregates.iter().enumerate();
        let fields = fields.map(|(at, call)| (format!("a{at}"), call.function.return_type().clone()));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let sums = Aggregate {
            input: Box::new(join),
            keys: Vec::new(),
            aggregates,
            schema,
            with_totals: false,
            sets: None,
            limit: None,
        };
        let plan = Plan::Aggregate(sums);
        let expected = rows(&engine, &plan);
        let context = context(&[("max_bytes_before_external_join", "300000"), ("inline_rows_limit", "0")]);
        assert!(run(&engine, &plan, context.clone()).unwrap() == expected, "{kind:?} {strictness:?}");
        assert!(context.counters.get(ProfileEvent::ExternalJoinWritePart) >= 2, "{kind:?} {strictness:?}");
        assert_eq!(context.counters.get(ProfileEvent::ExternalJoinMerge), 1);
        until_gone(&context);
    }
}

#[test]
fn temporary_data_are_bounded() {
    let engine = engine(PolicyKind::Stride);
    let key = SortKey { expression: column(0, "UInt64"), descending: true, nulls_first: false };
    let plan = Plan::Sort { input: Box::new(numbers(1_000_000)), keys: vec![key], limit: None, group_limit: None };
    let limits =
        [("max_bytes_before_external_sort", "500000"), ("max_temporary_data_on_disk_size_for_query", "100000")];
    let limited = context(&limits);
    let error = run(&engine, &plan, limited.clone()).unwrap_err();
    assert_eq!(error.code, ErrorCode::TOO_MANY_ROWS_OR_BYTES, "{error}");
    until_gone(&limited);
    // A query that fails leaves nothing behind, whatever it was about to write.
    let groups = aggregate(numbers(1_000_000), vec![column(0, "UInt64")], None);
    let limits_of_groups =
        [("max_bytes_before_external_group_by", "2000000"), ("max_temporary_data_on_disk_size_for_query", "100000")];
    let limited = context(&limits_of_groups);
    assert_eq!(run(&engine, &groups, limited.clone()).unwrap_err().code, ErrorCode::TOO_MANY_ROWS_OR_BYTES);
    until_gone(&limited);
    let join = Plan::Join(Join {
        left: Box::new(numbers(1_000_000)),
        right: Box::new(numbers(1_000_000)),
        kind: JoinKind::Inner,
        strictness: JoinStrictness::All,
        keys: vec![JoinKey { left: column(0, "UInt64"), right: column(0, "UInt64") }],
        condition: None,
        nearest: None,
        runtime_filter: None,
        left_columns: vec![0],
        right_columns: vec![0],
        schema: Arc::new(Schema::new([("l", DataType::UInt64), ("r", DataType::UInt64)])),
    });
    let limits_of_join =
        [("max_bytes_before_external_join", "2000000"), ("max_temporary_data_on_disk_size_for_query", "100000")];
    let limited = context(&limits_of_join);
    assert_eq!(run(&engine, &join, limited.clone()).unwrap_err().code, ErrorCode::TOO_MANY_ROWS_OR_BYTES);
    until_gone(&limited);
    let unknown = context(&[("max_bytes_before_external_sort", "500000"), ("temporary_files_codec", "gzip")]);
    assert_eq!(run(&engine, &plan, unknown).unwrap_err().code, ErrorCode::UNKNOWN_CODEC);
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("file");
    std::fs::write(&nowhere, b"no folder").unwrap();
    let engine = engine.with_temporary_folder(Arc::new(TemporaryFolder::new(nowhere, 0)));
    let error = run(&engine, &plan, context(&limits[..1])).unwrap_err();
    assert_eq!(error.code, ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR, "{error}");
}

#[test]
fn a_scan_gives_its_rows_in_order_and_a_limit_the_first_of_them() {
    let engine = engine(PolicyKind::Stride);
    let all: Vec<u64> = rows(&engine, &numbers(300_000)).iter().map(|row| row[0].as_u64().unwrap()).collect();
    assert!(all.iter().copied().eq(0..300_000));
    let plan = Plan::Limit { input: Box::new(numbers(1 << 40)), offset: 5, limit: Some(4), ties: None };
    let few: Vec<u64> = rows(&engine, &plan).iter().map(|row| row[0].as_u64().unwrap()).collect();
    assert_eq!(few, [5, 6, 7, 8]);
}

#[test]
fn steps_inside_a_pipeline() {
    let engine = engine(PolicyKind::Stride);
    let modulo = |divisor: u64| call("modulo", vec![column(0, "UInt64"), constant(Value::UInt64(divisor))]);
    let project = |input: Plan, expression: Expression| Plan::Project {
        schema: Arc::new(Schema::new([("x", expression.data_type().clone())])),
        input: Box::new(input),
        expressions: vec![expression],
    };
    // DISTINCT, in full and below a LIMIT of an endless table.
    let distinct = |input: Plan| Plan::Distinct { input: Box::new(project(input, modulo(10))) };
    assert_eq!(rows(&engine, &distinct(numbers(100_000))).len(), 10);
    let few = Plan::Limit { input: Box::new(distinct(numbers(1 << 50))), offset: 0, limit: Some(7), ties: None };
    assert_eq!(rows(&engine, &few).len(), 7);
    // UNION ALL.
    let schema = numbers(1).schema().clone();
    let union = Plan::Union { inputs: vec![numbers(1000), numbers(500)], schema };
    assert_eq!(rows(&engine, &aggregate(union, Vec::new(), None)), [[Value::UInt64(1500)]]);
    // LIMIT BY.
    let by = Plan::LimitBy {
        input: Box::new(project(numbers(1000), modulo(10))),
        offset: 1,
        limit: 2,
        keys: vec![column(0, "UInt8")],
    };
    assert_eq!(rows(&engine, &by).len(), 20);
    // WITH TIES.
    let halves = project(numbers(1000), call("intDiv", vec![column(0, "UInt64"), constant(Value::UInt64(4))]));
    let key = SortKey { expression: column(0, "UInt64"), descending: false, nulls_first: false };
    let sorted = Plan::Sort { input: Box::new(halves), keys: vec![key.clone()], limit: None, group_limit: None };
    let ties = Plan::Limit { input: Box::new(sorted), offset: 0, limit: Some(5), ties: Some(vec![key]) };
    assert_eq!(rows(&engine, &ties).len(), 8);
}

#[test]
fn array_join_repeats_rows() {
    let engine = engine(PolicyKind::Stride);
    let list = |items: &[u64]| Value::Array(items.iter().map(|item| Value::UInt64(*item)).collect());
    let columns =
        [("UInt8", (1..4).map(Value::UInt64).collect()), ("Array(UInt8)", vec![list(&[7, 8]), list(&[]), list(&[9])])];
    let handle = table(&engine, &columns);
    for (is_left, expected) in [(false, vec![(1, 7), (1, 8), (3, 9)]), (true, vec![(1, 7), (1, 8), (2, 0), (3, 9)])] {
        let input = scan(handle.clone(), None);
        let mut fields = input.schema().fields.clone();
        fields.push(("item".into(), DataType::UInt8));
        let arrays = vec![column(1, "Array(UInt8)")];
        let plan = Plan::ArrayJoin { input: Box::new(input), arrays, is_left, schema: Arc::new(Schema { fields }) };
        let found: Vec<_> =
            rows(&engine, &plan).iter().map(|row| (row[0].as_u64().unwrap(), row[2].as_u64().unwrap())).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn what_computes_for_long_is_done_anew_by_workers() {
    /// Computes on one thread until it is stopped there, and nothing elsewhere.
    #[derive(Debug)]
    struct Stuck(std::thread::ThreadId, DataType);
    impl squall_functions::BoundFunction for Stuck {
        fn return_type(&self) -> &DataType {
            &self.1
        }

        fn execute(&self, arguments: &[Column], _: usize) -> squall_types::Result<Column> {
            while std::thread::current().id() == self.0 {
                squall_types::checkpoint(usize::MAX)?;
            }
            Ok(arguments[0].clone())
        }
    }
    let engine = engine(PolicyKind::Stride);
    let function = Arc::new(Stuck(std::thread::current().id(), DataType::UInt64));
    let arguments = vec![column(0, "UInt64")];
    let expressions = vec![Expression::Function { name: "stuck".into(), function, arguments }];
    let schema = Arc::new(Schema::new([("x", DataType::UInt64)]));
    let plan = Plan::Project { input: Box::new(numbers(10)), expressions, schema };
    let small = context(&[]);
    let expected: Vec<Vec<Value>> = (0..10).map(|number| vec![Value::UInt64(number)]).collect();
    assert_eq!(run(&engine, &plan, small.clone()).unwrap(), expected);
    assert_eq!(small.progress.read_rows.load(std::sync::atomic::Ordering::Relaxed), 10);
    // A query that is cancelled meanwhile ends within the block.
    let cancelled = context(&[]);
    cancelled.cancel();
    assert_eq!(run(&engine, &plan, cancelled).unwrap_err().code, ErrorCode::QUERY_WAS_CANCELLED);
}

#[test]
fn limits_end_a_query_within_a_morsel() {
    let engine = engine(PolicyKind::Stride);
    let endless = aggregate(numbers(u64::MAX), Vec::new(), None);
    let code = |changes: &[(&str, &str)], plan: &Plan| run(&engine, plan, context(changes)).unwrap_err().code;
    assert_eq!(code(&[("max_execution_time", "0.05")], &endless), ErrorCode::TIMEOUT_EXCEEDED);
    assert_eq!(code(&[("max_rows_to_read", "1000000")], &endless), ErrorCode::TOO_MANY_ROWS);
    assert_eq!(code(&[("max_result_rows", "1000")], &numbers(1 << 40)), ErrorCode::TOO_MANY_ROWS_OR_BYTES);
    let breaking = context(&[("max_execution_time", "0.05"), ("timeout_overflow_mode", "break")]);
    assert!(run(&engine, &endless, breaking).unwrap()[0][0].as_u64().unwrap() > 0);
    let groups = aggregate(numbers(1 << 40), vec![column(0, "UInt64")], None);
    assert_eq!(code(&[("max_rows_to_group_by", "100000")], &groups), ErrorCode::TOO_MANY_ROWS);
}

#[test]
fn a_cancelled_query_ends_and_a_dropped_stream_cancels() {
    let engine = engine(PolicyKind::Stride);
    let endless = aggregate(numbers(u64::MAX), Vec::new(), None);
    let cancelled = context(&[]);
    let stream = engine.start(&endless, cancelled.clone()).unwrap();
    wait_until("the first rows", || rows_read(&cancelled) > 0);
    cancelled.cancel();
    assert_eq!(stream.collect_blocking().unwrap_err().code, ErrorCode::QUERY_WAS_CANCELLED);
    let dropped = context(&[]);
    drop(engine.start(&numbers(u64::MAX), dropped.clone()).unwrap());
    assert!(dropped.is_cancelled());
    // The workers are free again.
    assert_eq!(rows(&engine, &aggregate(numbers(1000), Vec::new(), None)), [[Value::UInt64(1000)]]);
}

#[test]
#[ignore = "long"]
fn a_client_that_does_not_read_holds_no_worker_and_little_memory() {
    for policy in PolicyKind::ALL {
        let engine = engine(policy);
        let slow = context(&[]);
        let stream = engine.start(&numbers(50_000_000), slow.clone()).unwrap();
        // Its workers stop when as much waits for the client as may: until nothing has been read for a while.
        wait_until("a standstill", || {
            let before = rows_read(&slow);
            std::thread::sleep(Duration::from_millis(100));
            before > 0 && rows_read(&slow) == before
        });
        assert!(rows_read(&slow) < 50_000_000, "{policy}");
        assert_eq!(rows(&engine, &aggregate(numbers(1000), Vec::new(), None)), [[Value::UInt64(1000)]]);
        let blocks = stream.collect_blocking().unwrap();
        assert_eq!(blocks.iter().map(Block::rows).sum::<usize>(), 50_000_000);
    }
}

#[test]
fn small_queries_run_where_they_arrive() {
    let engine = engine(PolicyKind::Stride);
    // One that the machine stops in the middle may take longer than runs here, and goes on elsewhere.
    let ran_here = |_| {
        let small = context(&[]);
        let mut stream = engine.start(&numbers(10), small.clone()).unwrap();
        matches!(stream.try_next(), Some(Some(Ok(block))) if block.rows() == 10)
            && matches!(stream.try_next(), Some(None))
            && small.thread_ids() == [squall_runtime::thread_usage::thread_id()]
    };
    assert!((0..100).any(ran_here));
}

#[test]
fn a_panic_in_a_function_fails_only_its_query() {
    #[derive(Debug)]
    struct Panics;
    impl squall_functions::BoundFunction for Panics {
        fn return_type(&self) -> &DataType {
            &DataType::UInt8
        }
        fn execute(&self, _: &[Column], _: usize) -> squall_types::Result<Column> {
            panic!("on purpose")
        }
    }
    let engine = engine(PolicyKind::Stride);
    let expression = Expression::Function { name: "panics".into(), function: Arc::new(Panics), arguments: Vec::new() };
    let plan = Plan::Filter { input: Box::new(numbers(100_000)), predicate: expression };
    assert_eq!(run(&engine, &plan, context(&[])).unwrap_err().code, ErrorCode::LOGICAL_ERROR);
    assert_eq!(rows(&engine, &aggregate(numbers(1000), Vec::new(), None)), [[Value::UInt64(1000)]]);
}

#[test]
fn arguments_that_do_not_count_are_not_evaluated() {
    let engine = engine(PolicyKind::Stride);
    let number = || column(0, "UInt64");
    let ten = || constant(Value::UInt64(10));
    let zero = || constant(Value::UInt64(0));
    let divided = || call("intDiv", vec![ten(), number()]);
    let is_zero = || call("equals", vec![number(), zero()]);
    let choices = [
        call("if", vec![is_zero(), zero(), divided()]),
        call(
            "multiIf",
            vec![is_zero(), zero(), call("greater", vec![divided(), constant(Value::UInt64(4))]), ten(), divided()],
        ),
        call(
            "and",
            vec![
                call("notEquals", vec![number(), zero()]),
                call("greater", vec![divided(), constant(Value::UInt64(4))]),
            ],
        ),
        call("or", vec![is_zero(), call("greater", vec![divided(), constant(Value::UInt64(4))])]),
    ];
    let schema = choices.iter().enumerate().map(|(at, choice)| (format!("x{at}"), choice.data_type().clone()));
    let schema = Arc::new(Schema::new(schema.collect::<Vec<_>>()));
    let plan = Plan::Project { input: Box::new(numbers(4)), expressions: choices.to_vec(), schema };
    let found: Vec<Vec<u64>> =
        rows(&engine, &plan).iter().map(|row| row.iter().map(|value| value.as_u64().unwrap()).collect()).collect();
    assert_eq!(found, [[0, 0, 0, 1], [10, 10, 1, 1], [5, 10, 1, 1], [3, 3, 0, 0]]);
}

#[test]
fn an_insert_that_is_broken_off_leaves_nothing() {
    let engine = engine(PolicyKind::Stride);
    let databases = databases(&engine, &[("UInt64", vec![Value::UInt64(1)])]);
    let block = Block::from_columns([(
        "c0",
        Column::from_primitive::<arrow_array::types::UInt64Type>(DataType::UInt64, vec![7; 5000]),
    )]);
    let block = block.unwrap();
    for _ in 0..50 {
        let broken = context(&[]);
        let mut stream = engine.insert(&*table_of(&databases).0, None, broken.clone()).unwrap();
        let send = async {
            stream.send(block.clone()).await.unwrap();
            stream.send(block.clone()).await.unwrap();
        };
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(send);
        drop(stream);
        assert!(broken.is_cancelled());
    }
    wait_until("the end of the inserts", || engine.scheduler().tasks().is_empty());
    assert_eq!(rows(&engine, &aggregate(scan(table_of(&databases), None), Vec::new(), None)), [[Value::UInt64(1)]]);
}

#[test]
#[ignore = "long"]
fn many_queries_at_once_all_end_with_the_right_result() {
    let random = &mut StdRng::seed_from_u64(3);
    let engine = engine(PolicyKind::Stride);
    let handle = table(&engine, &[("Int16", random_values("Int16", 500, random))]);
    let key = SortKey { expression: column(1, "UInt64"), descending: true, nulls_first: false };
    let grouped = aggregate(scan(handle, None), vec![column(0, "Int16")], None);
    let plan = Plan::Sort { input: Box::new(grouped), keys: vec![key], limit: Some(100), group_limit: None };
    let expected = rows(&engine, &plan);
    assert_eq!(expected.len(), 100);
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let counts = |rows: &[Vec<Value>]| rows.iter().map(|row| row[1].clone()).collect::<Vec<_>>();
                    assert!(counts(&rows(&engine, &plan)) == counts(&expected));
                }
            });
        }
    });
}
