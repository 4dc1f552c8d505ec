//! MergeTree tables: rows come back, over restarts, with every type, sorted, pruned; damage and full disks are told and contained.

use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Waker};

use crate::common::{block, count, definition, insert, key, read_all, request, run, run_merge};
use squall_planner::KeyExpression;
use squall_storage::{Databases, InsertLimits, StorageOptions, TableName};
use squall_types::{Block, Column, DataType, ErrorCode, Value};

fn open(path: &Path) -> Arc<Databases> {
    Databases::open(path, &StorageOptions { column_cache_bytes: Some(64 << 20), ..StorageOptions::default() }).unwrap()
}

fn number(value: u64) -> Value {
    Value::UInt64(value)
}

fn array(values: impl IntoIterator<Item = Value>) -> Value {
    Value::Array(values.into_iter().collect())
}

fn files(path: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for directory in std::fs::read_dir(path.join("data")).unwrap() {
        // A folder may go while it is looked at: what was dropped is removed in the background.
        let Ok(directory) = std::fs::read_dir(directory.unwrap().path()) else { continue };
        found.extend(directory.flatten().map(|file| file.file_name().into_string().unwrap()));
    }
    found.sort();
    found
}

/// Waits for what the cache's threads remove in the background.
fn wait_for(what: impl Fn() -> bool) {
    for _ in 0..1000 {
        if what() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("it did not come to pass");
}

const TYPES: &[(&str, &str)] = &[
    ("id", "UInt64"),
    ("u8", "UInt8"),
    ("i16", "Int16"),
    ("i64", "Int64"),
    ("f32", "Float32"),
    ("f64", "Nullable(Float64)"),
    ("flag", "Bool"),
    ("s", "String"),
    ("ns", "Nullable(String)"),
    ("lc", "LowCardinality(String)"),
    ("lcn", "LowCardinality(Nullable(String))"),
    ("lcd", "LowCardinality(UInt32)"),
    ("fs", "FixedString(3)"),
    ("d", "Date"),
    ("d32", "Date32"),
    ("t", "DateTime('UTC')"),
    ("t3", "DateTime64(3)"),
    ("t5", "DateTime64(5)"),
    ("t6", "DateTime64(6)"),
    ("t9", "DateTime64(9)"),
    ("e", "Enum8('a' = -1, 'b' = 2)"),
    ("u", "UUID"),
    ("ip", "IPv4"),
    ("a", "Array(Nullable(Int32))"),
    ("aa", "Array(Array(String))"),
    ("ad", "Array(Date)"),
    ("m", "Map(String, DateTime)"),
    ("tu", "Tuple(x UInt8, y Nullable(String), z Array(LowCardinality(String)))"),
];

fn row(id: u64) -> Vec<Value> {
    let odd = id % 2 == 1;
    let text = format!("row {id} ж");
    vec![
        number(id),
        number(id % 256),
        Value::Int64(id as i64 % 1000 - 500),
        Value::Int64(i64::MIN + id as i64),
        Value::Float64(f64::from(id as f32 / 3.0)),
        if odd { Value::Null } else { Value::Float64(id as f64 / 7.0) },
        Value::Bool(odd),
        if odd { Value::string([0xFF, id as u8]) } else { Value::from(text.as_str()) },
        if odd { Value::from("") } else { Value::Null },
        Value::from(["x", "y", "z"][id as usize % 3]),
        if odd { Value::Null } else { Value::from("v") },
        number(id % 5 * 1_000_000),
        Value::string([b'a', id as u8, 0]),
        number(id % 65_536),
        Value::Int64(id as i64 - 700),
        number(id * 1000),
        Value::Int64(id as i64 * 1001 - 5),
        Value::Int64(id as i64 * 7),
        Value::Int64(id as i64 * 1_000_003 - 9),
        Value::Int64(id as i64 * 1_000_000_007 - 1),
        Value::Int64(if odd { -1 } else { 2 }),
        Value::Uuid([id as u8; 16]),
        number(id * 3),
        array((0..id % 4).map(|at| if at == 1 { Value::Null } else { Value::Int64(at as i64 - id as i64) })),
        array((0..id % 3).map(|at| array((0..at).map(|_| Value::from(text.as_str()))))),
        array((0..id % 2).map(|at| number(at + 20_000))),
        Value::Map((0..id % 3).map(|at| (Value::from(format!("k{at}").as_str()), number(at))).collect()),
        Value::Tuple(
            [
                number(id % 7),
                if odd { Value::from("q") } else { Value::Null },
                array((0..id % 3).map(|_| Value::from("lc"))),
            ]
            .into(),
        ),
    ]
}

#[test]
fn every_type_comes_back_from_memory_and_from_disk() {
    let directory = tempfile::tempdir().unwrap();
    let mut definition = definition("MergeTree", TYPES, &["id"]);
    definition.settings.push(("index_granularity".into(), "16".into()));
    let names: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
    let expected: Vec<Vec<Value>> = (0..300).map(row).collect();
    {
        let databases = open(directory.path());
        databases.create_table("default", "t", definition, false).unwrap();
        let table = databases.table("default", "t").unwrap();
        insert(&*table, [block(&*table, (0..300).rev().map(row))]).unwrap();
        let table = databases.table("default", "t").unwrap();
        assert_eq!(table.rows(), Some(300));
        assert_eq!(table.parts().len(), 1);
        assert_eq!(table.parts()[0].marks, 20);
        assert_eq!(read_all(&*table, &request(&*table, &names, None)).unwrap(), expected);
        assert_eq!(databases.column_cache().misses, 0);
    }
    let databases = open(directory.path());
    let table = databases.table("default", "t").unwrap();
    for _ in 0..2 {
        let found = read_all(&*table, &request(&*table, &names, None)).unwrap();
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected);
        }
        assert_eq!(found.len(), 300);
    }
    let cache = databases.column_cache();
    assert_eq!((cache.misses, cache.hits), (TYPES.len() as u64, TYPES.len() as u64));
    let position = |name: &str| names.iter().position(|known| *known == name).unwrap();
    assert_eq!(table.column_range(position("id")), Some((number(0), number(299))));
    assert_eq!(table.column_range(position("d")), Some((number(0), number(299))));
    assert_eq!(table.column_range(position("t")), Some((number(0), number(299_000))));
    assert_eq!(table.column_range(position("t3")), Some((Value::Int64(-5), Value::Int64(299 * 1001 - 5))));
    assert_eq!(table.column_range(position("e")), Some((Value::Int64(-1), Value::Int64(2))));
    assert_eq!(table.column_range(position("a")), None);
    assert_eq!(count(&databases, "default", "t"), 300);
    let mut limited = request(&*table, &["id"], None);
    limited.limit = Some(7);
    assert_eq!(read_all(&*table, &limited).unwrap().len(), 7);
}

/// Whole columns of one value, and dictionaries, are written in a way of their own.
#[test]
#[ignore = "long"]
fn rows_that_are_alike_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let names: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
    // Lists of no, one and several items, NULLs and none of them.
    let ids = [0, 1, 2, 3, 5, 6];
    let constants = |table: &dyn squall_storage::Table, id: u64| {
        let columns = table.columns().iter().zip(row(id));
        Block::from_columns(columns.map(|(column, value)| {
            (column.name.clone(), Column::constant(column.data_type.clone(), &value, 70_000).unwrap())
        }))
        .unwrap()
    };
    {
        let databases = open(directory.path());
        for id in ids {
            for kind in ["same", "constant"] {
                let name = format!("{kind}_{id}");
                databases.create_table("default", &name, definition("MergeTree", TYPES, &["id"]), false).unwrap();
                let table = databases.table("default", &name).unwrap();
                let block = match kind {
                    "same" => constants(&*table, id).materialize().unwrap(),
                    _ => constants(&*table, id),
                };
                let limits = InsertLimits { fills_cache: false, ..InsertLimits::default() };
                let insertion = table.insert_within(limits).unwrap();
                let mut writer = insertion.writer().unwrap();
                run(writer.write(block).unwrap()).unwrap();
                run(writer.finish().unwrap()).unwrap();
                insertion.commit().unwrap();
            }
        }
        assert_eq!(databases.column_cache().bytes, 0);
    }
    let databases = open(directory.path());
    for id in ids {
        for kind in ["same", "constant"] {
            let table = databases.table("default", &format!("{kind}_{id}")).unwrap();
            let found = read_all(&*table, &request(&*table, &names, None)).unwrap();
            assert!(found.len() == 70_000 && found.iter().all(|found| *found == row(id)), "{kind} {id}");
            let position = |name: &str| names.iter().position(|known| *known == name).unwrap();
            let low = row(id)[position("i64")].clone();
            assert_eq!(table.column_range(position("i64")), Some((low.clone(), low)));
        }
    }
}

#[test]
fn ddl_survives_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let of = &[("a", "UInt8"), ("b", "String")];
    {
        let databases = open(directory.path());
        databases.create_database("d", false, "of d").unwrap();
        for name in ["t1", "t2", "t3", "t4"] {
            databases.create_table("d", name, definition("MergeTree", of, &["a"]), false).unwrap();
            let table = databases.table("d", name).unwrap();
            let rows = name[1..].parse::<u64>().unwrap();
            insert(&*table, [block(&*table, (0..rows).map(|at| vec![number(at), Value::from(name)]))]).unwrap();
        }
        databases.create_table("d", "m", definition("Memory", of, &[]), false).unwrap();
        databases.rename_table(&TableName::new("d", "t1"), &TableName::new("default", "r")).unwrap();
        databases.exchange_tables(&TableName::new("d", "t2"), &TableName::new("default", "r")).unwrap();
        databases.drop_table("d", "t3", false).unwrap();
        databases.truncate_table("d", "t4", false).unwrap();
        assert_eq!(count(&databases, "d", "t4"), 0);
        wait_for(|| files(directory.path()).len() == 2);
        let error = Databases::open(directory.path(), &StorageOptions::default()).err().unwrap();
        assert!(error.message.contains("another server"), "{error}");
    }
    let databases = open(directory.path());
    assert_eq!((count(&databases, "d", "t2"), count(&databases, "default", "r")), (1, 2));
    assert_eq!((count(&databases, "d", "t4"), count(&databases, "d", "m")), (0, 0));
    assert!(!databases.has_table("d", "t3") && !databases.has_table("d", "t1"));
    assert_eq!(databases.databases().iter().find(|database| &*database.name == "d").unwrap().comment.as_ref(), "of d");
    let described = databases.describe("d", "t2").unwrap();
    let settings = &described.definition.unwrap().settings;
    assert_eq!(settings[0].0.as_ref(), "index_granularity");
    let table = databases.table("d", "t4").unwrap();
    insert(&*table, [block(&*table, [vec![number(1), Value::from("x")]])]).unwrap();
    databases.drop_database("d", false).unwrap();
    drop((table, described.table));
    wait_for(|| files(directory.path()).len() == 1);
    drop(databases);
    let databases = open(directory.path());
    assert!(!databases.has_database("d"));
    assert_eq!(count(&databases, "default", "r"), 2);
}

#[test]
fn definitions_that_do_not_suit_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let databases = open(directory.path());
    let refuse = |change: &dyn Fn(&mut squall_planner::TableDefinition)| {
        let of = &[("a", "UInt8"), ("n", "Nullable(UInt8)"), ("f", "Float32")];
        let mut definition = definition("MergeTree", of, &["a"]);
        change(&mut definition);
        databases.create_table("default", "t", definition, false).unwrap_err()
    };
    let columns = crate::common::columns(&[("a", "UInt8"), ("n", "Nullable(UInt8)"), ("f", "Float32")]);
    let set = |name: &'static str, value: &'static str| {
        move |d: &mut squall_planner::TableDefinition| d.settings.push((name.into(), value.into()))
    };
    assert_eq!(refuse(&set("foo", "1")).message, "Unknown setting 'foo': for storage MergeTree");
    assert_eq!(refuse(&set("index_granularity", "0")).message, "index_granularity: value 0 makes no sense");
    assert_eq!(refuse(&set("index_granularity", "x")).code, ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED);
    assert_eq!(refuse(&|d| d.sorting_key = vec![key(&columns, "n")]).code, ErrorCode::ILLEGAL_COLUMN);
    assert_eq!(refuse(&|d| d.partition_key = vec![key(&columns, "f")]).code, ErrorCode::BAD_ARGUMENTS);
    assert_eq!(
        refuse(&|d| d.primary_key = Some(vec![key(&columns, "f")])).message,
        "Primary key must be a prefix of the sorting key, but the column in the position 0 is a, not f"
    );
    let one = squall_planner::Expression::Constant { value: number(1), data_type: DataType::UInt8 };
    assert_eq!(
        refuse(&|d| d.sorting_key = vec![KeyExpression { sql: "1".into(), expression: one.clone() }]).message,
        "Sorting key cannot contain constants"
    );
    assert!(files(directory.path()).is_empty());
}

#[test]
fn partitions_split_inserts() {
    let directory = tempfile::tempdir().unwrap();
    let databases = open(directory.path());
    let mut definition = definition("MergeTree", &[("d", "Date"), ("p", "UInt16"), ("s", "String")], &["s"]);
    definition.partition_key = vec![key(&definition.columns, "d"), key(&definition.columns, "p")];
    databases.create_table("default", "t", definition, false).unwrap();
    let table = databases.table("default", "t").unwrap();
    let rows = |partitions: u64| {
        (0..300).map(move |at| vec![number(19_000), number(at % partitions), Value::from(format!("{at}").as_str())])
    };
    insert(&*table, [block(&*table, rows(3))]).unwrap();
    let found = databases.table("default", "t").unwrap();
    let mut ids: Vec<String> = found.parts().iter().map(|part| part.partition_id.to_string()).collect();
    ids.sort();
    assert_eq!(ids, ["20220108-0", "20220108-1", "20220108-2"]);
    let error = insert(&*table, [block(&*table, rows(101))]).unwrap_err();
    assert_eq!(error.code, ErrorCode::TOO_MANY_PARTS);
    wait_for(|| files(directory.path()).len() == 3);
    assert_eq!(count(&databases, "default", "t"), 300);
}

#[test]
fn too_many_parts_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let databases = open(directory.path());
    let mut definition = definition("MergeTree", &[("a", "UInt8")], &["a"]);
    definition.settings.push(("parts_to_throw_insert".into(), "3".into()));
    databases.create_table("default", "t", definition.clone(), false).unwrap();
    let insert_one = |name: &str| {
        let table = databases.table("default", name).unwrap();
        insert(&*table, [block(&*table, [vec![number(1)]])])
    };
    (0..3).for_each(|_| insert_one("t").unwrap());
    assert_eq!(insert_one("t").unwrap_err().code, ErrorCode::TOO_MANY_PARTS);
    // Parts that are large by what the table says are no reason.
    definition.settings.push(("max_avg_part_size_for_too_many_parts".into(), "10".into()));
    databases.create_table("default", "large", definition, false).unwrap();
    (0..5).for_each(|_| insert_one("large").unwrap());
}

#[test]
fn an_insert_without_commit_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let databases = open(directory.path());
    databases.create_table("default", "t", definition("MergeTree", &[("a", "UInt64")], &["a"]), false).unwrap();
    let table = databases.table("default", "t").unwrap();
    {
        let limits = InsertLimits { min_insert_block_size_rows: 10, ..InsertLimits::default() };
        let insertion = table.insert_within(limits).unwrap();
        let mut writer = insertion.writer().unwrap();
        for _ in 0..5 {
            run(writer.write(block(&*table, (0..10).map(|at| vec![number(at)]))).unwrap()).unwrap();
        }
        // Files are written beside the encoding of the next part.
        wait_for(|| files(directory.path()).len() == 5);
    }
    wait_for(|| files(directory.path()).is_empty());
    assert_eq!(count(&databases, "default", "t"), 0);
    assert_eq!(databases.column_cache().chunks, 0);
}

#[test]
fn damage_is_told_by_name_and_stays_where_it_is() {
    let directory = tempfile::tempdir().unwrap();
    {
        let databases = open(directory.path());
        for name in ["good", "flipped", "cut", "gone"] {
            databases
                .create_table(
                    "default",
                    name,
                    definition("MergeTree", &[("a", "UInt64"), ("s", "String")], &["a"]),
                    false,
                )
                .unwrap();
            let table = databases.table("default", name).unwrap();
            insert(&*table, [block(&*table, (0..1000).map(|at| vec![number(at), Value::from(name)]))]).unwrap();
        }
        let path = |name: &str| databases.table("default", name).unwrap().parts()[0].path.clone();
        let mut bytes = std::fs::read(path("flipped")).unwrap();
        bytes[100] ^= 1;
        std::fs::write(path("flipped"), bytes).unwrap();
        std::fs::File::options().write(true).open(path("cut")).unwrap().set_len(500).unwrap();
        std::fs::remove_file(path("gone")).unwrap();
    }
    let databases = open(directory.path());
    let read = |name: &str| {
        let table = databases.table("default", name).unwrap();
        read_all(&*table, &request(&*table, &["a", "s"], None)).map(|rows| rows.len())
    };
    assert_eq!(read("good"), Ok(1000));
    for (name, code) in [
        ("flipped", ErrorCode::CHECKSUM_DOESNT_MATCH),
        ("cut", ErrorCode::CORRUPTED_DATA),
        ("gone", ErrorCode::CORRUPTED_DATA),
    ] {
        let error = read(name).unwrap_err();
        assert_eq!(error.code, code, "{name}: {error}");
        assert!(error.message.contains("all_1_1_0.parquet"), "{error}");
        let table = databases.table("default", name).unwrap();
        insert(&*table, [block(&*table, [vec![number(1), Value::from("x")]])]).unwrap();
    }
}

#[test]
fn every_flipped_byte_is_noticed_or_harmless() {
    let directory = tempfile::tempdir().unwrap();
    let path = {
        let databases = open(directory.path());
        databases
            .create_table("default", "t", definition("MergeTree", &[("a", "UInt64"), ("s", "String")], &["a"]), false)
            .unwrap();
        let table = databases.table("default", "t").unwrap();
        insert(&*table, [block(&*table, (0..100).map(|at| vec![number(at), Value::from(format!("{at}").as_str())]))])
            .unwrap();
        databases.table("default", "t").unwrap().parts()[0].path.clone()
    };
    let whole = std::fs::read(&path).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        std::fs::write(&path, bytes).unwrap();
        let databases = open(directory.path());
        let table = databases.table("default", "t").unwrap();
        match read_all(&*table, &request(&*table, &["a", "s"], None)) {
            Ok(rows) => {
                assert!(rows.len() == 100 && rows[42] == [number(42), Value::from("42")] && at < 4, "byte {at}")
            }
            Err(error) => assert_eq!(error.code, ErrorCode::CHECKSUM_DOESNT_MATCH, "byte {at}: {error}"),
        }
    }
}

#[test]
fn a_scan_outlives_the_table() {
    let directory = tempfile::tempdir().unwrap();
    let databases = open(directory.path());
    databases.create_table("default", "t", definition("MergeTree", &[("a", "UInt64")], &["a"]), false).unwrap();
    let table = databases.table("default", "t").unwrap();
    insert(&*table, [block(&*table, (0..1000).map(|at| vec![number(at)]))]).unwrap();
    let found = databases.table("default", "t").unwrap();
    let insertion = table.insert().unwrap();
    let mut writer = insertion.writer().unwrap();
    run(writer.write(block(&*table, [vec![number(1)]])).unwrap()).unwrap();
    run(writer.finish().unwrap()).unwrap();
    databases.clear_column_cache();
    databases.drop_table("default", "t", false).unwrap();
    assert_eq!(insertion.commit().unwrap_err().code, ErrorCode::TABLE_IS_DROPPED);
    assert_eq!(read_all(&*found, &request(&*found, &["a"], None)).unwrap().len(), 1000);
    drop((found, table, insertion));
    wait_for(|| files(directory.path()).is_empty());
}

#[test]
fn a_small_cache_still_reads_everything() {
    let directory = tempfile::tempdir().unwrap();
    let databases = Databases::open(
        directory.path(),
        &StorageOptions { column_cache_bytes: Some(100_000), ..StorageOptions::default() },
    )
    .unwrap();
    databases
        .create_table("default", "t", definition("MergeTree", &[("a", "UInt64"), ("s", "String")], &["a"]), false)
        .unwrap();
    for from in 0..20 {
        let table = databases.table("default", "t").unwrap();
        insert(&*table, [block(&*table, (0..5000).map(|at| vec![number(from * 5000 + at), Value::from("s")]))])
            .unwrap();
    }
    let table = databases.table("default", "t").unwrap();
    for _ in 0..3 {
        let mut rows = read_all(&*table, &request(&*table, &["a"], None)).unwrap();
        rows.sort_by(|left, right| left[0].compare(&right[0]));
        assert!(rows.iter().enumerate().all(|(at, row)| row[0] == number(at as u64)) && rows.len() == 100_000);
    }
    let cache = databases.column_cache();
    assert!(cache.bytes <= 100_000 && cache.evictions > 0 && cache.misses > 0, "{cache:?}");
}

#[test]
fn making_a_part_gives_way_again_and_again() {
    let directory = tempfile::tempdir().unwrap();
    let databases = open(directory.path());
    let of = &[("n", "UInt64"), ("s", "String")];
    databases.create_table("default", "t", definition("MergeTree", of, &["s", "n"]), false).unwrap();
    let table = databases.table("default", "t").unwrap();
    let insertion = table.insert().unwrap();
    let mut writer = insertion.writer().unwrap();
    // Far from sorted, so that runs are merged several times.
    let scattered = |at: u64| at.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 100_003;
    let rows = (0..50_000).map(|at| vec![number(at), Value::string(format!("{:06}", scattered(at)).as_bytes())]);
    assert!(writer.write(block(&*table, rows)).unwrap().is_none());
    let mut work = writer.finish().unwrap().unwrap();
    let (mut pieces, mut context) = (1, Context::from_waker(Waker::noop()));
    while work.as_mut().poll(&mut context).is_pending() {
        pieces += 1;
    }
    assert!(pieces > 5, "{pieces}");
    insertion.commit().unwrap();
    let table = databases.table("default", "t").unwrap();
    let found = read_all(&*table, &request(&*table, &["s", "n"], None)).unwrap();
    let mut expected: Vec<_> = (0..50_000).map(|at| (format!("{:06}", scattered(at)), at)).collect();
    expected.sort_unstable();
    assert!(found.iter().zip(&expected).all(|(row, (s, n))| row[0] == Value::from(s.as_str()) && row[1] == number(*n)));
    assert_eq!(found.len(), expected.len());
}

#[test]
fn threads_put_little_together_and_make_parts_of_much() {
    let directory = tempfile::tempdir().unwrap();
    let databases = open(directory.path());
    databases.create_table("default", "t", definition("MergeTree", &[("a", "UInt64")], &["a"]), false).unwrap();
    // Rows that each of several threads writes, and those of the parts that are to come of it.
    for (of_threads, of_parts) in [
        (vec![3, 0, 5, 1], vec![9]),
        (vec![400_000, 3, 280_000, 4], vec![400_000, 280_000, 7]),
        (vec![3, 100_000], vec![100_003]),
        (vec![160_000, 160_000, 10, 20], vec![320_000, 30]),
    ] {
        let table = databases.table("default", "t").unwrap();
        let insertion = table.insert().unwrap();
        let mut writers: Vec<_> = of_threads.iter().map(|_| insertion.writer().unwrap()).collect();
        for (writer, rows) in writers.iter_mut().zip(&of_threads) {
            run(writer.write(block(&*table, (0..*rows).map(|at| vec![number(at)]))).unwrap()).unwrap();
        }
        let works: Vec<_> = writers.into_iter().map(|writer| writer.finish().unwrap()).collect();
        works.into_iter().for_each(|work| run(work).unwrap());
        insertion.commit().unwrap();
        let table = databases.table("default", "t").unwrap();
        assert_eq!(table.parts().iter().map(|part| part.rows).collect::<Vec<_>>(), of_parts);
        databases.truncate_table("default", "t", false).unwrap();
    }
}

#[test]
fn parts_are_merged_and_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let databases = open(folder.path());
    let of = &[("n", "UInt64"), ("t", "DateTime('UTC')"), ("s", "String")];
    databases.create_table("default", "t", definition("MergeTree", of, &["t", "n"]), false).unwrap();
    let add = |databases: &Databases, rows: Vec<Vec<Value>>| {
        let table = databases.table("default", "t").unwrap();
        insert(&*table, [block(&*table, rows)]).unwrap();
    };
    for part in 0..5 {
        let rows = (0..100).map(|at| vec![number(at * 10 + part), number(1000 - at), Value::from("x")]);
        add(&databases, rows.collect());
    }
    let names = |databases: &Databases| {
        let parts = databases.table("default", "t").unwrap().parts();
        parts.iter().map(|part| part.name.to_string()).collect::<Vec<_>>()
    };
    let sorted = |databases: &Databases| {
        let table = databases.table("default", "t").unwrap();
        let rows = read_all(&*table, &request(&*table, &["n"], None)).unwrap();
        let mut rows: Vec<u64> = rows.iter().map(|row| row[0].as_u64().unwrap()).collect();
        rows.sort_unstable();
        rows
    };
    let before = databases.table("default", "t").unwrap();
    let merged: [Arc<str>; 3] = ["all_2_2_0".into(), "all_3_3_0".into(), "all_4_4_0".into()];
    let merge = databases.merge_parts("default", "t", &merged).unwrap();
    // Two merges of one part would make one file.
    let second = databases.merge_parts("default", "t", &["all_1_1_0".into(), "all_2_2_0".into()]);
    assert_eq!(second.err().map(|error| error.code), Some(ErrorCode::PART_IS_TEMPORARILY_LOCKED));
    run_merge(&merge).unwrap();
    drop(merge);
    assert_eq!(names(&databases), ["all_1_1_0", "all_2_4_1", "all_5_5_0"]);
    let part = databases.table("default", "t").unwrap().parts().remove(1);
    assert_eq!((part.rows, part.times), (300, Some((901, 1000))));
    let again = databases.merge_parts("default", "t", &merged);
    assert_eq!(again.err().map(|error| error.code), Some(ErrorCode::NO_SUCH_DATA_PART));

    // A scan from before reads what it found; the files go after it.
    assert_eq!(read_all(&*before, &request(&*before, &["s"], None)).unwrap().len(), 500);
    drop(before);
    wait_for(|| files(folder.path()) == ["all_1_1_0.parquet", "all_2_4_1.parquet", "all_5_5_0.parquet"]);
    let all: Vec<u64> = (0..1000).filter(|number| number % 10 < 5).collect();
    assert_eq!(sorted(&databases), all);

    databases.drop_parts("default", "t", &["all_5_5_0".into()]).unwrap();
    let left: Vec<u64> = all.into_iter().filter(|number| number % 10 != 4).collect();
    assert_eq!(sorted(&databases), left);
    drop(databases);
    let databases = open(folder.path());
    assert_eq!(sorted(&databases), left);
    // New blocks get numbers of their own.
    add(&databases, vec![vec![number(7), number(1), Value::from("y")]]);
    assert_eq!(names(&databases), ["all_1_1_0", "all_2_4_1", "all_5_5_0"]);
}

#[test]
fn the_system_database_keeps_tables() {
    let folder = tempfile::tempdir().unwrap();
    let databases = open(folder.path());
    databases.create_table("system", "log", definition("MergeTree", &[("n", "UInt64")], &["n"]), false).unwrap();
    let table = databases.table("system", "log").unwrap();
    insert(&*table, [block(&*table, [vec![number(1)]])]).unwrap();
    drop((table, databases));
    let databases = open(folder.path());
    assert_eq!(count(&databases, "system", "log"), 1);
    // Computed tables are beside it.
    assert!(databases.has_table("system", "one"));
    assert_eq!(databases.drop_database("system", false).unwrap_err().code, ErrorCode::DATABASE_NOT_EMPTY);
    databases.drop_table("system", "log", false).unwrap();
    assert!(!databases.has_table("system", "log"));
}
