//! Pruning never loses a row: over random tables and predicates, a scan with the predicate holds every row that matches; and
//! predicates over the key make scans small.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::common::{block, insert, request, run};
use proptest::prelude::*;
use squall_functions::FunctionContext;
use squall_planner::{
    Expression, Plan, PlannerContext, SubqueryRunner, TableDefinition, bind_expression, evaluate, plan_query,
};
use squall_sql::ast::Statement;
use squall_storage::{Databases, InsertLimits, SessionCatalog, StorageOptions, Table};
use squall_types::{Block, Error, Result, Settings, Value};

const COLUMNS: &[(&str, &str)] = &[
    ("u", "UInt32"),
    ("i", "Int16"),
    ("f", "Float64"),
    ("s", "String"),
    ("lc", "LowCardinality(String)"),
    ("fs", "FixedString(2)"),
    ("n", "Nullable(Int32)"),
    ("d", "Date"),
    ("t", "DateTime('Asia/Tokyo')"),
    ("e", "Enum8('a' = -1, 'b' = 0, 'c' = 1)"),
];

fn functions() -> FunctionContext {
    FunctionContext::outside_queries("Europe/Berlin")
}

fn definition(sorting: &[&str], partition: &[&str]) -> TableDefinition {
    let mut definition = crate::common::definition("MergeTree", COLUMNS, &[]);
    let key = |sql: &&str| squall_planner::KeyExpression {
        sql: (*sql).into(),
        expression: bind_expression(sql, &crate::common::columns(COLUMNS), &functions()).unwrap(),
    };
    definition.sorting_key = sorting.iter().map(key).collect();
    definition.partition_key = partition.iter().map(key).collect();
    definition.settings.push(("index_granularity".into(), "8".into()));
    definition
}

struct NoSubqueries;

impl SubqueryRunner for NoSubqueries {
    fn run(&self, _: Plan) -> Result<Vec<Block>> {
        Err(Error::logical("no subqueries here"))
    }
}

/// The predicate over the table's columns, as the planner makes it.
fn predicate(databases: &Arc<Databases>, condition: &str) -> Expression {
    let sql = format!("SELECT u, i, f, s, lc, fs, n, d, t, e FROM t WHERE {condition}");
    let statement = squall_sql::parse(&sql, &squall_sql::ParserLimits::default()).unwrap();
    let Statement::Query(query) = statement else { panic!("{sql}") };
    let catalog = SessionCatalog::new(databases.clone(), "default");
    let context = PlannerContext {
        catalog: &catalog,
        settings: &Settings::default(),
        functions: functions(),
        parameters: &HashMap::new(),
        subqueries: &NoSubqueries,
    };
    fn find(plan: &Plan) -> Option<Expression> {
        match plan {
            Plan::Scan(scan) => {
                let predicate = scan.predicate.as_ref()?;
                Some(predicate.map_columns(&|column| scan.columns[column]))
            }
            Plan::Filter { input, .. } | Plan::Project { input, .. } => find(input),
            _ => None,
        }
    }
    let plan = plan_query(&query, &context).unwrap_or_else(|error| panic!("{sql}: {error}"));
    // A condition that is known while planning needs no scan.
    find(&plan).unwrap_or(Expression::Constant { value: Value::UInt64(1), data_type: squall_types::DataType::UInt8 })
}

/// The rows of a scan that match, as text, in order; and how many rows the scan held.
fn matching(table: &dyn Table, condition: &Expression, pruned: bool) -> (Vec<String>, usize) {
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let (mut found, mut scanned) = (Vec::new(), 0);
    let scan = table.scan(&request(table, &names, pruned.then(|| condition.clone()))).unwrap();
    crate::common::read_scan(&*scan, |block| {
        scanned += block.rows();
        let mask = evaluate(condition, &block).unwrap();
        for row in 0..block.rows() {
            let value = mask.value(row);
            if value == Value::Bool(true) || value.as_u64().is_some_and(|value| value != 0) {
                let values: Vec<String> = block.columns().iter().map(|column| column.value(row).to_string()).collect();
                found.push(values.join(" "));
            }
        }
    })
    .unwrap();
    found.sort();
    (found, scanned + scan.take_left_out() as usize)
}

fn open(path: &Path) -> Arc<Databases> {
    open_with_cache(path, 64 << 20)
}

fn open_with_cache(path: &Path, bytes: usize) -> Arc<Databases> {
    Databases::open(
        path,
        &StorageOptions {
            column_cache_bytes: Some(bytes),
            time_zone: "Europe/Berlin".into(),
            ..StorageOptions::default()
        },
    )
    .unwrap()
}

type Row = (u32, i16, f64, String, u8, Option<i32>, u16);

fn values(row: &Row) -> Vec<Value> {
    let (u, i, f, s, lc, n, d) = row;
    vec![
        Value::UInt64(u64::from(u % 40)),
        Value::Int64(i64::from(i % 20)),
        Value::Float64(if *f > 900.0 { f64::NAN } else { (f / 100.0).round() }),
        Value::from(s.as_str()),
        Value::from(["", "aa", "ab", "b"][*lc as usize % 4]),
        Value::from(["a", "ab", "b"][*lc as usize % 3]),
        n.map_or(Value::Null, |n| Value::Int64(i64::from(n % 10))),
        Value::UInt64(u64::from(d % 100) + 15_900),
        Value::UInt64((u64::from(d % 100) + 15_900) * 86_400 + u64::from(*u % 86_400)),
        Value::Int64(i64::from(lc % 3) - 1),
    ]
}

fn rows() -> impl Strategy<Value = Vec<Vec<Row>>> {
    let row = (
        any::<u32>(),
        any::<i16>(),
        -1000.0..1000.0_f64,
        "[ab ]{0,5}",
        any::<u8>(),
        any::<Option<i32>>(),
        any::<u16>(),
    );
    prop::collection::vec(prop::collection::vec(row, 1..120), 1..4)
}

fn comparison() -> impl Strategy<Value = String> {
    let operator = || prop::sample::select(vec!["<", "<=", ">", ">=", "=", "!="]);
    prop_oneof![
        (operator(), 0..45_u32).prop_map(|(o, c)| format!("u {o} {c}")),
        (operator(), 0..45_u32).prop_map(|(o, c)| format!("{c} {o} u")),
        (operator(), -5..45_i32).prop_map(|(o, c)| format!("u {o} {c}.5")),
        (operator(), -25..25_i32).prop_map(|(o, c)| format!("i {o} {c}")),
        (operator(), -12..12_i32).prop_map(|(o, c)| format!("f {o} {c}")),
        (operator(), "[ab]{0,3}").prop_map(|(o, c)| format!("s {o} '{c}'")),
        (operator(), "[ab]{0,3}").prop_map(|(o, c)| format!("lc {o} '{c}'")),
        (operator(), "[ab]{0,2}").prop_map(|(o, c)| format!("fs {o} '{c}'")),
        (operator(), -12..12_i32).prop_map(|(o, c)| format!("n {o} {c}")),
        (operator(), 1..29_u32, 7..11_u32).prop_map(|(o, c, m)| format!("d {o} '2013-{m:02}-{c:02}'")),
        (operator(), 1..29_u32, 7..11_u32).prop_map(|(o, c, m)| format!("d {o} toDate('2013-{m:02}-{c:02}')")),
        (operator(), 1..29_u32, 7..11_u32, 0..24_u32)
            .prop_map(|(o, c, m, h)| format!("t {o} '2013-{m:02}-{c:02} {h:02}:30:00'")),
        (operator(), 1..29_u32, 7..11_u32).prop_map(|(o, c, m)| format!("toDate(t) {o} '2013-{m:02}-{c:02}'")),
        (operator(), 7..11_u32).prop_map(|(o, m)| format!("toYYYYMM(d) {o} 2013{m:02}")),
        (operator(), 7..11_u32).prop_map(|(o, m)| format!("toStartOfMonth(t) {o} '2013-{m:02}-01'")),
        (operator(), prop::sample::select(vec!["a", "b", "c"])).prop_map(|(o, c)| format!("e {o} '{c}'")),
        (0..45_u32, 0..45_u32).prop_map(|(a, b)| format!("u BETWEEN {a} AND {b}")),
        prop::collection::vec(0..45_u32, 1..6)
            .prop_map(|c| format!("u IN ({})", c.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))),
        prop::collection::vec(-25..25_i32, 1..6)
            .prop_map(|c| format!("i NOT IN ({})", c.iter().map(i32::to_string).collect::<Vec<_>>().join(", "))),
        prop::collection::vec("[ab]{0,3}", 1..4)
            .prop_map(|c| format!("s IN ({})", c.iter().map(|s| format!("'{s}'")).collect::<Vec<_>>().join(", "))),
        prop::collection::vec(-12..12_i32, 1..4)
            .prop_map(|c| format!("n IN ({})", c.iter().map(i32::to_string).collect::<Vec<_>>().join(", "))),
        "[ab]{1,3}".prop_map(|c| format!("startsWith(s, '{c}')")),
        "[ab]{1,2}".prop_map(|c| format!("s LIKE '{c}%'")),
        "[ab]{1,2}".prop_map(|c| format!("s NOT LIKE '{c}_%'")),
        (0..45_u32).prop_map(|c| format!("u % 11 = {c} % 11")),
        Just("isNull(n)".to_owned()),
        "[ab ]{1,3}".prop_map(|c| format!("s LIKE '%{c}%'")),
        "[ab ]{1,3}".prop_map(|c| format!("lc LIKE '%{c}'")),
        "[ab ]{1,4}".prop_map(|c| format!("endsWith(s, '{c}')")),
        "[ab]{1,3}".prop_map(|c| format!("hasToken(s, '{c}')")),
        "[ab ]{1,5}".prop_map(|c| format!("hasAllTokens(s, '{c}')")),
        ("[ab]{1,2}", "[ab]{1,3}").prop_map(|(a, b)| format!("hasAnyTokens(s, ['{a}', '{b}'])")),
        ("[ab]{1,2}", "[ab]{1,3}").prop_map(|(a, b)| format!("multiSearchAny(s, ['{a}', '{b}'])")),
        (0..45_u32, "[ab]{0,3}", 0..45_u32).prop_map(|(a, s, b)| format!("(u, s) IN (({a}, '{s}'), ({b}, 'a'))")),
        (operator(), -25..25_i32, 0..45_u32).prop_map(|(o, a, b)| format!("(i, u) {o} ({a}, {b})")),
        (operator(), -25..25_i32).prop_map(|(o, c)| format!("-i {o} {c}")),
        (operator(), -70..70_i32).prop_map(|(o, c)| format!("i * 3 + 1 {o} {c}")),
        (operator(), 0..50_u32).prop_map(|(o, c)| format!("50 - u {o} {c}")),
        (operator(), 0..7_u32).prop_map(|(o, c)| format!("intDiv(u, 7) {o} {c}")),
        (operator(), 1..29_u32, 7..11_u32)
            .prop_map(|(o, c, m)| format!("toTimeZone(t, 'UTC') {o} toDate('2013-{m:02}-{c:02}')")),
        (operator(), 1..29_u32).prop_map(|(o, c)| format!("t {o} toDateTime64('2013-08-{c:02} 01:02:03.5', 1)")),
        (operator(), 1..29_u32).prop_map(|(o, c)| format!("d {o} toDateTime('2013-08-{c:02} 01:02:03', 'UTC')")),
        Just("u".to_owned()),
        Just("i % 2".to_owned()),
        Just("n IS NOT NULL".to_owned()),
        prop::collection::vec(0..45_u32, 1..6)
            .prop_map(|c| format!("has([{}], u)", c.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))),
        Just("i % 3 = 1".to_owned()),
    ]
}

fn condition() -> impl Strategy<Value = String> {
    comparison().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} AND {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} OR {b})")),
            inner.prop_map(|a| format!("NOT ({a})")),
        ]
    })
}

fn keys() -> impl Strategy<Value = (Vec<&'static str>, Vec<&'static str>)> {
    let sorting = prop::sample::select(vec![
        vec!["u", "i"],
        vec!["i"],
        vec!["s", "u"],
        vec!["lc", "s"],
        vec!["f", "u"],
        vec!["fs", "d"],
        vec!["d", "t"],
        vec!["e", "t"],
        vec!["u % 11", "s"],
        vec!["toDate(t)", "u"],
        vec!["intDiv(u, 7)", "-i"],
        vec!["toStartOfMonth(t)", "i * 3 + 1"],
        vec![],
    ]);
    let partition = prop::sample::select(vec![vec![], vec!["toYYYYMM(d)"], vec!["e", "lc"], vec!["u % 5", "i % 2"]]);
    (sorting, partition)
}

/// Skip indexes, each as what is indexed, its type, and how many granules an entry is of.
fn indices() -> impl Strategy<Value = Vec<(&'static str, &'static str, u64)>> {
    let index = prop::sample::select(vec![
        ("u", "minmax"),
        ("(i, s)", "minmax"),
        ("f", "minmax"),
        ("(u, e)", "set(4)"),
        ("toYYYYMM(d)", "set(2)"),
        ("n", "set(0)"),
        ("s", "bloom_filter"),
        ("n", "bloom_filter(0.1)"),
        ("fs", "bloom_filter(0.2)"),
        ("(lc, u)", "bloom_filter(0.01)"),
        ("s", "ngrambf_v1(2, 16, 2, 0)"),
        ("s", "tokenbf_v1(16, 2, 7)"),
        ("lc", "text(tokenizer = ngrams(2))"),
        ("s", "text(tokenizer = splitByNonAlpha)"),
        ("s", "text(tokenizer = 'array')"),
    ]);
    prop::collection::vec((index, 1..4_u64).prop_map(|((sql, kind), granularity)| (sql, kind, granularity)), 0..4)
}

/// With these indexes.
fn indexed(mut definition: TableDefinition, indices: &[(&str, &str, u64)]) -> TableDefinition {
    let index = |(at, (sql, kind, granularity)): (usize, &(&str, &str, u64))| squall_planner::SkipIndex {
        name: format!("i{at}").into(),
        sql: (*sql).into(),
        kind: (*kind).into(),
        granularity: *granularity,
    };
    definition.indices = indices.iter().enumerate().map(index).collect();
    definition
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    #[ignore = "long"]
    fn a_pruned_scan_holds_every_match(inserts in rows(), (sorting, partition) in keys(), indices in indices(), conditions in prop::collection::vec(condition(), 12)) {
        let directory = tempfile::tempdir().unwrap();
        let databases = open(directory.path());
        let defined = indexed(definition(&sorting, &partition), &indices);
        databases.create_table("default", "t", defined, false).unwrap();
        for rows in &inserts {
            let table = databases.table("default", "t").unwrap();
            insert(&*table, [block(&*table, rows.iter().map(values))]).unwrap();
        }
        let check = |databases: Arc<Databases>| {
            let table = databases.table("default", "t").unwrap();
            for sql in &conditions {
                let condition = predicate(&databases, sql);
                let (whole, _) = matching(&*table, &condition, false);
                let (pruned, _) = matching(&*table, &condition, true);
                prop_assert_eq!(whole, pruned, "{}", sql);
            }
            Ok(())
        };
        check(databases)?;
        // The same where nothing is decoded that could be searched.
        check(open_with_cache(directory.path(), 0))?;
    }
}

#[test]
fn predicates_over_keys_make_scans_small() {
    let directory = tempfile::tempdir().unwrap();
    let databases = open(directory.path());
    databases.create_table("default", "t", definition(&["u", "i"], &["toYYYYMM(d)"]), false).unwrap();
    let table = databases.table("default", "t").unwrap();
    let row = |at: u32| (at, (at % 7) as i16, 0.0, format!("{at}"), at as u8, None, (at % 100) as u16);
    let rows = (0..10_000).map(|at| {
        let mut values = values(&row(at));
        values[0] = Value::UInt64(u64::from(at));
        values
    });
    let insertion = table.insert_within(InsertLimits::default()).unwrap();
    let mut writer = insertion.writer().unwrap();
    run(writer.write(block(&*table, rows)).unwrap()).unwrap();
    run(writer.finish().unwrap()).unwrap();
    insertion.commit().unwrap();
    let table = databases.table("default", "t").unwrap();
    let scanned = |sql: &str| matching(&*table, &predicate(&databases, sql), true);
    let at_most = |sql: &str, rows: usize| {
        let (_, scanned) = scanned(sql);
        assert!(scanned <= rows, "{sql}: {scanned} rows");
    };
    // The first column of the key is decoded: whatever the granularity, rows are read that have the values.
    at_most("u = 5000", 1);
    at_most("u IN (1, 5000, 9999)", 3);
    at_most("u BETWEEN 100 AND 150", 51);
    at_most("u > 100 AND u <= 150", 50);
    at_most("u = 5000 AND s = 'x'", 1);
    // Four partitions, granules of 8 rows.
    at_most("u > 1000000", 0);
    at_most("u < 0", 0);
    at_most("s = 'zzz'", 0);
    at_most("d = '2013-08-01'", 5000);
    at_most("d = '2020-08-01'", 0);
    at_most("toYYYYMM(d) = 201308", 5000);
    at_most("t < '2012-01-01 00:00:00'", 0);
    at_most("NOT (u < 9990)", 4 * 16);
    at_most("u = 5000 OR u = 6000", 2 * 4 * 16);
    at_most("u = 5000 AND i = 100", 0);
    at_most("f > 1 OR u = 3", 4 * 16);
    let (found, scanned) = scanned("u IN (1, 17, 5000, 5001, 9999) AND i != 100");
    assert_eq!((found.len(), scanned), (5, 5));
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let one = request(&*table, &names, Some(predicate(&databases, "u = 5000 AND d = toDate(15900)")));
    assert!(table.scan(&one).unwrap().selection().parts <= 1);
    let all = table.scan(&request(&*table, &names, None)).unwrap().selection();
    // A part's last mark is its end.
    let granules = table.parts().iter().map(|part| part.marks - 1).sum();
    assert_eq!((all.parts, all.marks), (table.parts().len() as u64, granules));
}

/// With a predicate, a scan of a table with one index holds so many rows of 10,000, whose granules are of eight.
#[test]
fn skip_indexes_make_scans_small() {
    let held = |sql: &str, kind: &str, granularity: u64, condition: &str| {
        let directory = tempfile::tempdir().unwrap();
        let create = |databases: &Arc<Databases>| {
            let defined = indexed(definition(&["u"], &[]), &[(sql, kind, granularity)]);
            databases.create_table("default", "t", defined, false).unwrap();
            let table = databases.table("default", "t").unwrap();
            let rows = (0..10_000_u32).map(|at| {
                let mut row = values(&(at, 0, 0.0, String::new(), 0, Some(at as i32), 0));
                (row[0], row[1]) = (Value::UInt64(at.into()), Value::Int64((at / 100) as i64));
                row[3] = Value::string(format!("word{at} shared"));
                row
            });
            insert(&*table, [block(&*table, rows)]).unwrap();
        };
        let databases = open(directory.path());
        create(&databases);
        let predicate = predicate(&databases, condition);
        let hot = matching(&*databases.table("default", "t").unwrap(), &predicate, true);
        drop(databases);
        // And where nothing is in memory.
        let cold = open_with_cache(directory.path(), 0);
        assert_eq!(matching(&*cold.table("default", "t").unwrap(), &predicate, true), hot, "{sql} {kind}");
        let all = matching(&*cold.table("default", "t").unwrap(), &predicate, false);
        assert_eq!(all.0, hot.0, "{sql} {kind}");
        hot.1
    };
    assert_eq!(held("i", "minmax", 1, "i = 50"), 104);
    assert_eq!(held("i", "minmax", 4, "i = 50"), 128);
    assert_eq!(held("i", "set(3)", 1, "i + 1 = 51"), 104);
    assert!(held("s", "bloom_filter(0.001)", 1, "s = 'word777 shared'") <= 8 * 8);
    assert!(held("s", "bloom_filter(0.001)", 1, "s IN ('word777 shared', 'word9 shared')") <= 8 * 16);
    assert_eq!(held("s", "bloom_filter(0.001)", 1, "s != 'word777 shared'"), 10_000);
    assert!(held("s", "tokenbf_v1(256, 3, 0)", 1, "hasToken(s, 'word777')") <= 8 * 8);
    assert!(held("s", "ngrambf_v1(4, 512, 3, 0)", 1, "s LIKE '%rd7777%'") <= 8 * 64);
    assert_eq!(held("s", "text(tokenizer = splitByNonAlpha)", 1, "hasToken(s, 'word777')"), 8);
    assert_eq!(held("s", "text(tokenizer = splitByNonAlpha)", 1, "hasAllTokens(s, ['word777', 'shared'])"), 8);
    assert_eq!(held("s", "text(tokenizer = splitByNonAlpha)", 1, "hasToken(s, 'nowhere')"), 0);
    assert_eq!(held("s", "text(tokenizer = 'array')", 1, "s = 'word777 shared' OR s = 'word1 shared'"), 16);
}
