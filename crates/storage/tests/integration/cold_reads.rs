//! Chunks that are not in the cache: what is decoded whole and kept, and what is decoded as far as it is read.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::common::{block, call, definition, insert, key, number, read_all, read_scan, request};
use parquet::file::reader::{FileReader, SerializedFileReader};
use squall_planner::Expression;
use squall_storage::{Databases, StorageOptions, Table};
use squall_types::{DataType, ErrorCode, Value};

const ROWS: u64 = 100_000;

const COLUMNS: &[(&str, &str)] = &[
    ("id", "UInt64"),
    ("small", "Int16"),
    ("few", "UInt32"),
    ("text", "String"),
    ("maybe", "Nullable(String)"),
    ("word", "LowCardinality(String)"),
    ("year", "LowCardinality(UInt16)"),
    ("list", "Array(UInt32)"),
    ("pair", "Tuple(a UInt8, b String)"),
];

fn open(path: &Path, cache_bytes: usize) -> Arc<Databases> {
    let options = StorageOptions { column_cache_bytes: Some(cache_bytes), ..StorageOptions::default() };
    Databases::open(path, &options).unwrap()
}

fn row(id: u64) -> Vec<Value> {
    let text = format!("row {id} of many");
    let items = |count: u64| Value::Array((0..count).map(|at| Value::UInt64(id + at)).collect());
    vec![
        Value::UInt64(id),
        Value::Int64((id % 1000) as i64 - 500),
        Value::UInt64(id % 7),
        Value::from(text.as_str()),
        if id.is_multiple_of(3) { Value::Null } else { Value::from(text.as_str()) },
        Value::from(["one", "two", "three"][(id % 3) as usize]),
        Value::UInt64(1990 + id % 30),
        items(id % 4),
        Value::Tuple([Value::UInt64(id % 100), Value::from(text.as_str())].into()),
    ]
}

/// A table of these rows in one part, as a server that has just started has it.
fn table(path: &Path, cache_bytes: usize) -> (Arc<Databases>, Arc<dyn Table>) {
    let databases = open(path, cache_bytes);
    databases.create_table("default", "t", definition("MergeTree", COLUMNS, &["id"]), false).unwrap();
    let table = databases.table("default", "t").unwrap();
    insert(&*table, [block(&*table, (0..ROWS).map(row))]).unwrap();
    drop((table, databases));
    let databases = open(path, cache_bytes);
    let table = databases.table("default", "t").unwrap();
    (databases, table)
}

fn names() -> Vec<&'static str> {
    COLUMNS.iter().map(|(name, _)| *name).collect()
}

/// Whether `id` lies between two numbers.
fn between(table: &dyn Table, low: u64, high: u64) -> Expression {
    let compared = |name: &str, value: u64| call(name, vec![key(table.columns(), "id").expression, number(value)]);
    call("and", vec![compared("greaterOrEquals", low), compared("lessOrEquals", high)])
}

#[test]
fn much_is_kept_once_it_is_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let (databases, table) = table(directory.path(), 48 << 20);
    let all = request(&*table, &names(), None);
    let expected: Vec<Vec<Value>> = (0..ROWS).map(row).collect();
    for chunks in [0, COLUMNS.len() as u64, COLUMNS.len() as u64] {
        assert!(read_all(&*table, &all).unwrap() == expected);
        assert_eq!(databases.column_cache().chunks, chunks);
    }
}

#[test]
fn what_does_not_fit_is_never_kept() {
    let directory = tempfile::tempdir().unwrap();
    let (databases, table) = table(directory.path(), 100_000);
    let all = request(&*table, &["id", "text"], None);
    for _ in 0..3 {
        assert_eq!(read_all(&*table, &all).unwrap().len() as u64, ROWS);
        assert_eq!(databases.column_cache().chunks, 0);
    }
}

#[test]
fn a_part_of_a_row_group_is_decoded_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (databases, table) = table(directory.path(), 48 << 20);
    for (low, high) in [(0, 10), (8_191, 8_193), (60_000, 80_000), (ROWS - 1, ROWS)] {
        let some = request(&*table, &names(), Some(between(&*table, low, high)));
        let found: Vec<Vec<Value>> = read_all(&*table, &some).unwrap();
        // Pruning leaves whole granules.
        let first = found.first().map(|row| row[0].clone());
        assert!(first.is_some_and(|first| first.as_u64().unwrap() <= low), "{low} to {high}");
        assert!(found.len() < ROWS as usize / 2);
        assert!(found.iter().all(|found| *found == row(found[0].as_u64().unwrap())));
        let wanted = found.iter().filter(|row| (low..=high).contains(&row[0].as_u64().unwrap())).count() as u64;
        assert_eq!(wanted, high.min(ROWS - 1) - low + 1);
        // The first time.
        if low == 0 {
            assert_eq!(databases.column_cache().chunks, 0);
        }
    }
}

#[test]
fn rows_are_tested_before_all_of_their_columns_are_read() {
    let directory = tempfile::tempdir().unwrap();
    // Nothing fits the cache.
    let (_databases, table) = table(directory.path(), 100_000);
    let column = |name: &str| key(table.columns(), name).expression;
    let is = |name: &str, value: u64| call("equals", vec![column(name), number(value)]);
    let ends = call(
        "endsWith",
        vec![column("text"), Expression::Constant { value: "many".into(), data_type: DataType::String }],
    );
    type Matches = fn(u64) -> bool;
    let conditions: [(Expression, Matches); 4] = [
        (is("small", 77), |id| id % 1000 == 577),
        (call("and", vec![ends.clone(), is("few", 3), is("small", 77)]), |id| id % 1000 == 577 && id % 7 == 3),
        (is("few", 3), |id| id % 7 == 3),
        (call("and", vec![is("few", 3), call("less", vec![column("id"), number(5000)])]), |id| {
            id % 7 == 3 && id < 5000
        }),
    ];
    for (predicate, matches) in conditions {
        let expected: Vec<Vec<Value>> = (0..ROWS).filter(|id| matches(*id)).map(row).collect();
        let scan = table.scan(&request(&*table, &names(), Some(predicate))).unwrap();
        let (mut found, mut handed_out) = (Vec::new(), 0);
        read_scan(&*scan, |block| {
            handed_out += block.rows() as u64;
            for at in 0..block.rows() {
                let values: Vec<Value> = block.columns().iter().map(|column| column.value(at)).collect();
                assert_eq!(values, row(values[0].as_u64().unwrap()));
                if matches(values[0].as_u64().unwrap()) {
                    found.push(values);
                }
            }
        })
        .unwrap();
        assert_eq!(found, expected);
        assert_eq!(handed_out + scan.take_left_out(), scan.rows_total().unwrap());
    }
}

#[test]
fn columns_of_rows_that_nobody_wants_are_not_fetched() {
    let directory = tempfile::tempdir().unwrap();
    let (databases, table_before) = table(directory.path(), 100_000);
    drop((databases, table_before));
    let part = crate::common::part_file(directory.path());
    let mut bytes = std::fs::read(&part).unwrap();
    let reader = SerializedFileReader::new(File::open(&part).unwrap()).unwrap();
    for group in reader.metadata().row_groups() {
        let chunk = group.columns().iter().find(|chunk| chunk.column_path().string() == "text").unwrap();
        let (start, length) = chunk.byte_range();
        bytes[(start + length / 2) as usize] ^= 1;
    }
    std::fs::write(&part, bytes).unwrap();
    let databases = open(directory.path(), 100_000);
    let table = databases.table("default", "t").unwrap();
    let small = || key(table.columns(), "small").expression;
    let bit = |bit: u64| call("bitAnd", vec![call("abs", vec![small()]), number(bit)]);
    let read = |predicate: Expression| read_all(&*table, &request(&*table, &names(), Some(predicate)));
    // No number of the column has this bit, which no statistics tell.
    assert_eq!(read(call("notEquals", vec![bit(1024), number(0)])), Ok(Vec::new()));
    let failed = read(call("notEquals", vec![bit(1), number(0)])).unwrap_err();
    assert_eq!(failed.code, ErrorCode::CHECKSUM_DOESNT_MATCH);
}
