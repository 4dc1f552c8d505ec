//! DDL over databases that live in memory, `Memory` tables, and computed tables.

use crate::common::{block, call, count, definition, insert, read_all, request};
use squall_planner::Expression;
use squall_storage::{Databases, TableName};
use squall_types::{DataType, ErrorCode, Result, Value};

fn code<T>(result: Result<T>) -> ErrorCode {
    result.err().expect("an error").code
}

#[test]
fn ddl_says_what_clickhouse_says() {
    let databases = Databases::in_memory();
    databases.create_database("d", false, "").unwrap();
    databases.create_database("d", true, "").unwrap();
    assert_eq!(code(databases.create_database("d", false, "")), ErrorCode::DATABASE_ALREADY_EXISTS);
    let t = || definition("Memory", &[("a", "UInt8")], &[]);
    databases.create_table("d", "t", t(), false).unwrap();
    databases.create_table("d", "t", t(), true).unwrap();
    let error = databases.create_table("d", "t", t(), false).unwrap_err();
    assert_eq!(error.message, "Table d.t already exists");
    assert_eq!(databases.table("d", "x").unwrap_err().message, "Table d.x does not exist");
    assert_eq!(databases.table("x", "x").unwrap_err().message, "Database x does not exist");
    assert_eq!(
        code(databases.create_table("d", "u", definition("Nope", &[("a", "UInt8")], &[]), false)),
        ErrorCode::UNKNOWN_STORAGE
    );
    let graphite = definition("GraphiteMergeTree", &[("a", "UInt8")], &["a"]);
    assert_eq!(code(databases.create_table("d", "u", graphite, false)), ErrorCode::NOT_IMPLEMENTED);
    let twice = definition("Memory", &[("a", "UInt8"), ("a", "UInt8")], &[]);
    assert_eq!(code(databases.create_table("d", "u", twice, false)), ErrorCode::ILLEGAL_COLUMN);

    let before = databases.table("d", "t").unwrap();
    insert(&*before, [block(&*before, [vec![Value::UInt64(1)], vec![Value::UInt64(2)]])]).unwrap();
    assert_eq!(before.rows(), Some(0), "a table stays as it was found");
    assert_eq!(count(&databases, "d", "t"), 2);

    databases.rename_table(&TableName::new("d", "t"), &TableName::new("default", "r")).unwrap();
    assert_eq!(count(&databases, "default", "r"), 2);
    assert_eq!(databases.table("default", "r").unwrap().name(), "r");
    databases.create_table("d", "t", t(), false).unwrap();
    databases.exchange_tables(&TableName::new("d", "t"), &TableName::new("default", "r")).unwrap();
    assert_eq!((count(&databases, "d", "t"), count(&databases, "default", "r")), (2, 0));
    databases.truncate_table("d", "t", false).unwrap();
    assert_eq!(count(&databases, "d", "t"), 0);
    databases.drop_table("d", "t", false).unwrap();
    databases.drop_table("d", "t", true).unwrap();
    assert_eq!(code(databases.drop_table("d", "t", false)), ErrorCode::UNKNOWN_TABLE);
    assert_eq!(code(databases.drop_table("system", "numbers", false)), ErrorCode::NOT_IMPLEMENTED);
    databases.drop_database("d", false).unwrap();
    assert!(!databases.has_database("d"));
}

#[test]
fn table_functions_make_their_rows() {
    let functions = squall_functions::FunctionContext::outside_queries("UTC");
    let table_function = |name: &str, arguments: &[Value]| {
        squall_storage::table_function(name, arguments, &|_: &str| Ok(Vec::new()), &functions)
    };
    let numbers = |name: &str, arguments: &[u64]| -> Vec<u64> {
        let arguments: Vec<Value> = arguments.iter().map(|argument| Value::UInt64(*argument)).collect();
        let table = table_function(name, &arguments).unwrap();
        let column = table.columns()[0].name.clone();
        let rows = read_all(&*table, &request(&*table, &[&column], None)).unwrap();
        rows.into_iter().map(|row| row[0].as_u64().unwrap()).collect()
    };
    assert_eq!(numbers("numbers", &[3]), [0, 1, 2]);
    assert_eq!(numbers("numbers", &[0, 10, 3]), [0, 3, 6, 9]);
    assert_eq!(numbers("numbers", &[10, 0]), [0; 0]);
    assert_eq!(numbers("numbers", &[u64::MAX - 1, 4]), [u64::MAX - 1, u64::MAX, 0, 1]);
    assert_eq!(numbers("generateSeries", &[1, 10, 4]), [1, 5, 9]);
    assert_eq!(numbers("generate_series", &[10, 1]), [0; 0]);
    assert_eq!(numbers("zeros", &[2]), [0, 0]);
    assert_eq!(numbers("numbers", &[200_000]).len(), 200_000);
    assert_eq!(code(table_function("numbers", &[Value::Int64(-1)])), ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT);
    assert_eq!(code(table_function("numbers", &[Value::Null])), ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT);
    assert_eq!(code(table_function("nofunc", &[])), ErrorCode::UNKNOWN_FUNCTION);
}

#[test]
fn endless_numbers_end_where_a_predicate_ends_them() {
    let databases = Databases::in_memory();
    let table = databases.table("system", "numbers_mt").unwrap();
    let number = Expression::Column { position: 0, data_type: DataType::UInt64 };
    let below = call("less", vec![number.clone(), crate::common::number(100_000)]);
    let from = call("greaterOrEquals", vec![number, crate::common::number(99_990)]);
    let scan = table.scan(&request(&*table, &["number"], Some(below.clone()))).unwrap();
    assert!(scan.rows_total().is_some_and(|rows| (100_000..=100_001).contains(&rows)));
    let both = call("and", vec![below, from]);
    let rows = read_all(&*table, &request(&*table, &["number"], Some(both))).unwrap();
    assert_eq!(rows[0], [Value::UInt64(99_990)]);
    assert!(rows.len() <= 11);
    assert_eq!(table.scan(&request(&*table, &["number"], None)).unwrap().rows_total(), None);
}

#[test]
fn one_has_one_row() {
    let databases = Databases::in_memory();
    assert_eq!(count(&databases, "system", "one"), 1);
    let table = databases.table("system", "one").unwrap();
    assert_eq!(read_all(&*table, &request(&*table, &["dummy"], None)).unwrap(), [[Value::UInt64(0)]]);
    assert_eq!(code(table.insert().map(drop)), ErrorCode::NOT_IMPLEMENTED);
}
