//! CREATE TABLE and INSERT: columns, types, defaults, keys.

use std::sync::Arc;

use crate::support::{Table, World, columns, default};
use squall_planner::{
    ColumnDescription, DefaultKind, Expression, TableDefinition, evaluate, insert_columns, plan_insert,
    plan_table_definition,
};
use squall_sql::ast;
use squall_types::{Block, Column, DataType, ErrorCode, Result, Schema, Value};

fn define(text: &str) -> Result<TableDefinition> {
    let statement = squall_sql::parse(text, &squall_sql::ParserLimits::default()).unwrap();
    let ast::Statement::CreateTable(create) = statement else { panic!("{text}") };
    plan_table_definition(&create, &World::new().context())
}

fn code(text: &str) -> ErrorCode {
    define(text).map(|_| ErrorCode::OK).unwrap_or_else(|error| error.code)
}

/// `name type [KIND expression]`, one per column.
fn described(columns: &[ColumnDescription]) -> Vec<String> {
    let column = |column: &ColumnDescription| {
        let default = column.default.as_ref().map_or_else(String::new, |default| {
            format!(" {} {}", format!("{:?}", default.kind).to_uppercase(), default.expression)
        });
        format!("{} {}{default}", column.name, column.data_type)
    };
    columns.iter().map(column).collect()
}

#[test]
fn columns_get_types_and_defaults() {
    let table = define(
        "CREATE TABLE x (a UInt8, b DEFAULT a * 2, c String MATERIALIZED toString(b), d Nullable(Int8), e int NULL, \
         f VARCHAR(10) NOT NULL, g UInt8 ALIAS a + 1, h UInt8 EPHEMERAL, i DEFAULT 1 + 1 COMMENT 'two', \
         j DateTime DEFAULT now()) ENGINE = Memory COMMENT 'a table'",
    )
    .unwrap();
    assert_eq!(
        described(&table.columns),
        [
            "a UInt8",
            "b UInt16 DEFAULT a * 2",
            "c String MATERIALIZED toString(b)",
            "d Nullable(Int8)",
            "e Nullable(Int32)",
            "f String",
            "g UInt8 ALIAS a + 1",
            "h UInt8 EPHEMERAL ",
            "i UInt16 DEFAULT 1 + 1",
            "j DateTime DEFAULT now()",
        ]
    );
    assert_eq!((&*table.engine, &*table.comment), ("Memory", "a table"));
    assert_eq!(&*table.columns[8].comment, "two");
}

#[test]
fn keys_are_typed() {
    let table = define(
        "CREATE TABLE x (a UInt8, d Date, s String) ENGINE = MergeTree PARTITION BY toYYYYMM(d) ORDER BY (a, lower(s), d) \
         PRIMARY KEY (a, lower(s)) SETTINGS index_granularity = 1024, min_bytes_for_wide_part = '10M'",
    )
    .unwrap();
    let sql = |keys: &[squall_planner::KeyExpression]| keys.iter().map(|key| key.sql.to_string()).collect::<Vec<_>>();
    assert_eq!(sql(&table.sorting_key), ["a", "lower(s)", "d"]);
    assert_eq!(sql(table.primary_key.as_deref().unwrap()), ["a", "lower(s)"]);
    assert_eq!(sql(&table.partition_key), ["toYYYYMM(d)"]);
    assert!(matches!(table.sorting_key[2].expression, Expression::Column { position: 1, .. }));
    assert_eq!(*table.partition_key[0].expression.data_type(), DataType::UInt32);
    let settings: Vec<(&str, &str)> = table.settings.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(settings, [("index_granularity", "1024"), ("min_bytes_for_wide_part", "10M")]);

    let tuple = define("CREATE TABLE x (a UInt8) ENGINE = MergeTree ORDER BY tuple()").unwrap();
    assert!(tuple.sorting_key.is_empty() && tuple.primary_key.is_none());
    let primary = define("CREATE TABLE x (a UInt8 PRIMARY KEY, b String) ENGINE = MergeTree").unwrap();
    assert_eq!(sql(&primary.sorting_key), ["a"]);
    assert_eq!(&*define("CREATE TABLE x (a UInt8)").unwrap().engine, "MergeTree");
}

#[test]
fn columns_come_from_queries_and_tables() {
    let query = define("CREATE TABLE x ENGINE = Memory AS SELECT 1 AS x, 'a' AS y, [1, 300] AS z").unwrap();
    assert_eq!(described(&query.columns), ["x UInt8", "y String", "z Array(UInt16)"]);
    let other = define("CREATE TABLE x AS w").unwrap();
    assert_eq!(
        described(&other.columns)[2..4],
        ["name String DEFAULT toString(id)", "low String MATERIALIZED lower(name)"]
    );
    assert_eq!(&*other.engine, "MergeTree");
    let function = define("CREATE TABLE x AS numbers(10)").unwrap();
    assert_eq!(described(&function.columns), ["number UInt64"]);
}

#[test]
fn bad_definitions_are_refused() {
    for (text, expected) in [
        ("CREATE TABLE x (a UInt8, a UInt8) ENGINE = Memory", ErrorCode::ILLEGAL_COLUMN),
        ("CREATE TABLE x ENGINE = Memory", ErrorCode::INCORRECT_QUERY),
        ("CREATE TABLE x (a UInt8) ENGINE = MergeTree ORDER BY (a, now())", ErrorCode::BAD_ARGUMENTS),
        ("CREATE TABLE x (a UInt8) ENGINE = MergeTree ORDER BY rand()", ErrorCode::BAD_ARGUMENTS),
        ("CREATE TABLE x (a UInt8) ENGINE = MergeTree ORDER BY (a, 1)", ErrorCode::ILLEGAL_COLUMN),
        ("CREATE TABLE x (a Foo) ENGINE = Memory", ErrorCode::UNKNOWN_TYPE),
        ("CREATE TABLE x (a Nullable(UInt8) NOT NULL) ENGINE = Memory", ErrorCode::ILLEGAL_SYNTAX_FOR_DATA_TYPE),
        ("CREATE TABLE x (a LowCardinality(UInt8)) ENGINE = Memory", ErrorCode::SUSPICIOUS_TYPE_FOR_LOW_CARDINALITY),
        ("CREATE TABLE x (a UInt8 DEFAULT b) ENGINE = Memory", ErrorCode::UNKNOWN_IDENTIFIER),
        ("CREATE TABLE x (a UInt8 DEFAULT b, b UInt8 DEFAULT a) ENGINE = Memory", ErrorCode::CYCLIC_ALIASES),
        ("CREATE TABLE x (a UInt8 DEFAULT sum(1)) ENGINE = Memory", ErrorCode::ILLEGAL_AGGREGATION),
        ("CREATE TABLE x (a UInt8 DEFAULT 'x') ENGINE = Memory", ErrorCode::CANNOT_PARSE_TEXT),
        ("CREATE TABLE x (a UInt8 DEFAULT (SELECT 1)) ENGINE = Memory", ErrorCode::THERE_IS_NO_DEFAULT_VALUE),
        ("CREATE TABLE x (a UInt8) ENGINE = MergeTree ORDER BY b", ErrorCode::UNKNOWN_IDENTIFIER),
        ("CREATE TABLE x (a UInt8) ENGINE = MergeTree ORDER BY sum(a)", ErrorCode::ILLEGAL_AGGREGATION),
        ("CREATE TABLE x (a UInt8) ENGINE = MergeTree ORDER BY a PRIMARY KEY a + 1", ErrorCode::BAD_ARGUMENTS),
        ("CREATE TABLE x (a UInt8) ENGINE = MergeTree ORDER BY a DESC", ErrorCode::NOT_IMPLEMENTED),
    ] {
        assert_eq!(code(text), expected, "{text}");
    }
}

fn table() -> Table {
    let mut columns = columns("a UInt8, b UInt16, c String, g UInt8, h UInt8, f UInt16");
    columns[1].default = default(DefaultKind::Default, "a * 10");
    columns[2].default = default(DefaultKind::Materialized, "toString(b)");
    columns[3].default = default(DefaultKind::Alias, "a + 1");
    columns[4].default = default(DefaultKind::Ephemeral, "7");
    columns[5].default = default(DefaultKind::Default, "h + b");
    Table { database: "default", name: "x".into(), engine: "Memory", columns, rows: None }
}

/// The columns in parentheses of an INSERT.
fn listed(text: &str) -> Result<Vec<usize>> {
    let statement = squall_sql::parse(&format!("INSERT INTO x {text} SELECT 1"), &squall_sql::ParserLimits::default());
    let ast::Statement::Insert(insert) = statement.unwrap() else { panic!("{text}") };
    insert_columns(&table(), insert.columns.as_deref(), &World::new().context())
}

#[test]
fn inserted_columns_are_listed() {
    assert_eq!(listed("").unwrap(), [0, 1, 5]);
    assert_eq!(listed("(f, a)").unwrap(), [5, 0]);
    assert_eq!(listed("(a, h)").unwrap(), [0, 4]);
    assert_eq!(listed("(* EXCEPT(b))").unwrap(), [0, 5]);
    let code = |text: &str| listed(text).unwrap_err().code;
    assert_eq!(code("(a, g)"), ErrorCode::NO_SUCH_COLUMN_IN_TABLE);
    assert_eq!(code("(a, zz)"), ErrorCode::NO_SUCH_COLUMN_IN_TABLE);
    assert_eq!(code("(a, a)"), ErrorCode::DUPLICATE_COLUMN);
    assert_eq!(code("(a, c)"), ErrorCode::ILLEGAL_COLUMN);
}

/// The rows of the table that inserting one row makes.
fn insert(list: &str, row: &[(DataType, Value)]) -> Result<Vec<Value>> {
    let table = table();
    let inserted = listed(list)?;
    let schema = Arc::new(Schema::new(row.iter().map(|(data_type, _)| ("x", data_type.clone()))));
    let plan = plan_insert(&table, &inserted, &schema, &World::new().context())?;
    let columns = row.iter().map(|(data_type, value)| Column::constant(data_type.clone(), value, 1));
    let block = Block::new(schema, columns.collect::<Result<_>>()?, 1);
    plan.expressions.iter().map(|expression| Ok(evaluate(expression, &block)?.value(0))).collect()
}

#[test]
fn rows_are_completed_and_converted() {
    let number = |value: u64| (DataType::UInt64, Value::UInt64(value));
    // a, b, c, f: what is stored.
    let row =
        |a: u64, b: u64, c: &str, f: u64| vec![Value::UInt64(a), Value::UInt64(b), Value::string(c), Value::UInt64(f)];
    assert_eq!(insert("(a)", &[number(2)]).unwrap(), row(2, 20, "20", 27));
    assert_eq!(insert("(a, h)", &[number(2), number(1)]).unwrap(), row(2, 20, "20", 21));
    assert_eq!(insert("(b)", &[number(5)]).unwrap(), row(0, 5, "5", 12));
    assert_eq!(insert("", &[number(1), number(2), number(3)]).unwrap(), row(1, 2, "2", 3));
    assert_eq!(insert("(a)", &[number(300)]).unwrap(), row(44, 440, "440", 447));
    assert_eq!(insert("(a)", &[(DataType::String, Value::string("3"))]).unwrap(), row(3, 30, "30", 37));
    // NULL is the default where the column takes none.
    let null = (DataType::UInt8.to_nullable(), Value::Null);
    assert_eq!(insert("(a, b)", &[number(2), null]).unwrap(), row(2, 20, "20", 27));
    assert_eq!(insert("(a)", &[number(1), number(2)]).unwrap_err().code, ErrorCode::NUMBER_OF_COLUMNS_DOESNT_MATCH);
}
