//! Functions over columns that are sparse, or codes of few strings: every scalar function with one varying argument, and every aggregate
//! function, gives what it gives over the same column written out. The server's functions are called by their names, so that new ones are tested too.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, DictionaryArray, UInt32Array};
use squall_functions::{
    AggregateFunction, Argument, FunctionContext, GroupIds, Moment, all_functions, resolve_aggregate, resolve_scalar,
};
use squall_types::checkpoint::{Supervisor, supervise};
use squall_types::dictionary_results::DictionaryResults;
use squall_types::text::{TextOptions, ValueReader};
use squall_types::{Coded, Column, DataType, Result, Rows, Value};

const ROWS: usize = 200;

/// What is in the other rows of a column of a type.
const LISTED: &[(&str, &[&str])] = &[
    ("UInt8", &["1", "7", "255"]),
    ("UInt16", &["1", "700"]),
    ("UInt64", &["3", "18446744073709551615"]),
    ("Int32", &["-5", "12"]),
    ("Int64", &["-9000000000", "1"]),
    ("Float64", &["0.5", "-0", "1024"]),
    ("Date", &["2024-02-29"]),
    ("DateTime", &["2024-02-29 10:20:30"]),
    ("String", &["a", "12", "https://example.com/a?b=c"]),
    ("FixedString(2)", &["ab"]),
    ("IPv4", &["1.2.3.4"]),
    ("Bool", &["true"]),
    ("Enum8('a' = 0, 'b' = 1)", &["b"]),
];

/// The same rows, sparse and whole: a block of many zeros between some values.
fn columns(name: &str, listed: &[&str]) -> [Column; 2] {
    let data_type = DataType::parse(name).unwrap();
    let mut reader = ValueReader::new(&data_type, &TextOptions::default()).unwrap();
    for value in listed {
        reader.read_escaped(value.as_bytes()).unwrap();
    }
    let zero = match data_type {
        DataType::Enum8(_) => Column::constant(data_type.clone(), &Value::Int64(0), 1).unwrap(),
        _ => Column::default_values(data_type.clone(), 1).unwrap(),
    };
    let pool = Column::concat(&[zero, reader.finish().unwrap()]).unwrap();
    let at = |row: usize| if row % 11 == 3 { (row / 11 % listed.len()) as u32 + 1 } else { 0 };
    let whole = pool.take(&(0..ROWS + 50).map(at).collect::<Vec<_>>().into()).unwrap();
    let sparse = Column::of_rows(data_type, Rows::of(whole.array().clone(), 0.5).unwrap());
    assert!(sparse.sparse().is_some(), "{name}");
    [sparse.slice(20, ROWS), whole.slice(20, ROWS)]
}

/// The same rows, as codes and whole: of strings, one of which no row has, and of NULLs among them.
fn coded_columns(listed: &[&str], is_nullable: bool) -> [Column; 2] {
    let values: ArrayRef = Arc::new(BinaryArray::from_iter_values(["of no row"].iter().chain(listed).chain(&[""])));
    let code =
        |row: usize| (!is_nullable || !row.is_multiple_of(7)).then_some(1 + (row / 3 % (listed.len() + 1)) as u32);
    let codes: UInt32Array = (0..ROWS + 50).map(code).collect();
    let data_type = DataType::parse(if is_nullable { "Nullable(String)" } else { "String" }).unwrap();
    let coded = Coded::new(DictionaryArray::try_new(codes, values).unwrap()).unwrap();
    let whole = Column::new(data_type.clone(), coded.to_array().unwrap());
    [Column::of_rows(data_type, Rows::Coded(coded)).slice(20, ROWS), whole.slice(20, ROWS)]
}

/// The same rows, as codes of many values and whole: of strings, most of which few rows have.
fn columns_of_many(listed: &[&str]) -> [Column; 2] {
    let others: Vec<String> = (0..300).map(|number| format!("{number} of many")).collect();
    let values: ArrayRef =
        Arc::new(BinaryArray::from_iter_values(listed.iter().copied().chain(others.iter().map(String::as_str))));
    let code = |row: usize| if row.is_multiple_of(3) { row / 3 % listed.len() } else { row * 7 % (values.len() - 1) };
    let codes: UInt32Array = (0..ROWS + 50).map(|row| Some(code(row) as u32)).collect();
    let coded = Coded::new(DictionaryArray::try_new(codes, values).unwrap()).unwrap();
    assert!(coded.has_many_values());
    let whole = Column::new(DataType::String, coded.to_array().unwrap());
    [Column::of_rows(DataType::String, Rows::Coded(coded)).slice(20, ROWS), whole.slice(20, ROWS)]
}

/// A query that keeps what is computed of many values.
#[derive(Default)]
struct Query(DictionaryResults);

impl Supervisor for Query {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn dictionary_results(&self) -> Option<&DictionaryResults> {
        Some(&self.0)
    }
}

/// Pairs of the same rows, held in some way and whole.
fn pairs(name: &str, listed: &[&str]) -> Vec<[Column; 2]> {
    let mut pairs = vec![columns(name, listed)];
    if name == "String" {
        pairs.extend([coded_columns(listed, false), coded_columns(listed, true), columns_of_many(listed)]);
    }
    pairs
}

fn context() -> FunctionContext {
    FunctionContext {
        moment: Moment::new(1_600_000_000_000_000_000, 1, "default".into(), "".into()),
        ..FunctionContext::outside_queries("UTC")
    }
}

fn values(column: &Column) -> Vec<String> {
    (0..column.rows()).map(|row| column.value(row).to_string()).collect()
}

/// A column among constants of these types and values.
fn beside(constants: &[(&str, Value)], at: usize, column: &Column) -> (Vec<Argument>, Vec<Column>) {
    let mut arguments: Vec<Argument> = Vec::new();
    let mut columns = Vec::new();
    for (name, value) in constants {
        let data_type = DataType::parse(name).unwrap();
        columns.push(Column::constant(data_type.clone(), value, ROWS).unwrap());
        arguments.push(Argument { data_type, constant: Some(value.clone()) });
    }
    arguments.insert(at, Argument::of(column.data_type().clone()));
    columns.insert(at, column.clone());
    (arguments, columns)
}

#[test]
#[ignore = "long"]
fn scalar_functions_give_the_same_however_rows_are_held() {
    let text = |text: &str| ("String", Value::from(text));
    let number = |number: u64| ("UInt8", Value::UInt64(number));
    let calls: Vec<(Vec<(&str, Value)>, usize)> = vec![
        (vec![], 0),
        (vec![number(3)], 0),
        (vec![number(3)], 1),
        (vec![text("a")], 0),
        (vec![text("a")], 1),
        (vec![number(1), number(2)], 0),
        (vec![number(1), number(2)], 1),
        (vec![text("a"), text("b")], 0),
        (vec![text("a"), number(1)], 1),
    ];
    let _guard = supervise(Arc::new(Query::default()));
    let (mut sparse_results, mut coded_results) = (0, 0);
    let mut compared = 0;
    for description in all_functions() {
        // What tells how a column is held, waits, or is another at each call.
        let is_apart = matches!(description.name, "isConstant" | "sleep" | "sleepEachRow");
        if description.is_aggregate || description.higher_order == Some(true) || is_apart {
            continue;
        }
        for (name, listed) in LISTED {
            // As many elements as the address is above 0.0.0.0.
            if (description.name, *name) == ("range", "IPv4") {
                continue;
            }
            for ([held, whole], (constants, at)) in
                pairs(name, listed).iter().flat_map(|pair| calls.iter().map(move |call| (pair, call)))
            {
                let (arguments, over_held) = beside(constants, *at, held);
                let Ok(function) = resolve_scalar(description.name, &arguments, &context()) else { continue };
                if !function.properties().is_deterministic {
                    continue;
                }
                let expected = function.execute(&beside(constants, *at, whole).1, ROWS);
                let found = function.execute(&over_held, ROWS);
                let call = format!("{} over {} at {at} beside {constants:?}", description.name, held.data_type());
                compared += 1;
                match (expected, found) {
                    (Ok(expected), Ok(found)) => {
                        sparse_results += usize::from(found.sparse().is_some());
                        coded_results += usize::from(found.coded().is_some());
                        assert_eq!(found.data_type(), expected.data_type(), "{call}");
                        assert_eq!(values(&found), values(&expected), "{call}");
                        assert_eq!(found.materialize().unwrap().rows(), ROWS, "{call}");
                    }
                    // Of several values that are refused, codes come to another one first.
                    (Err(expected), Err(found)) => {
                        assert!(held.coded().is_some() || found.code == expected.code, "{call}");
                    }
                    (expected, found) => panic!("{call}: {expected:?}, held otherwise: {found:?}"),
                }
            }
        }
    }
    assert!(
        compared > 3_000 && sparse_results > 1_000 && coded_results > 100,
        "{compared} calls, {sparse_results} sparse, {coded_results} coded"
    );
}

fn finished(
    function: &dyn AggregateFunction,
    ids: GroupIds<'_>,
    groups: usize,
    arguments: &[Column],
) -> Result<Vec<String>> {
    let mut accumulator = function.accumulator();
    // Twice, so that there are states to add to, and once more beside a slice of few rows.
    accumulator.update(ids, groups, arguments, ROWS)?;
    accumulator.update(ids, groups, arguments, ROWS)?;
    let mut others = function.accumulator();
    others.update(ids, groups, arguments, ROWS)?;
    accumulator.merge(others, &(0..groups as u32).collect::<Vec<_>>(), groups)?;
    Ok(values(&accumulator.finish(groups)?))
}

#[test]
#[ignore = "long"]
fn aggregate_functions_give_the_same_however_rows_are_held() {
    let bytes: Vec<u8> = (0..ROWS).map(|row| (row % 5) as u8).collect();
    let wide: Vec<u16> = bytes.iter().map(|id| u16::from(*id)).collect();
    let each: Vec<u32> = bytes.iter().map(|id| u32::from(*id)).collect();
    let ids = [
        (GroupIds::Single, 1),
        (GroupIds::Direct8(&bytes), 5),
        (GroupIds::Direct16(&wide), 5),
        (GroupIds::Each(&each), 5),
    ];
    let mut compared = 0;
    for description in all_functions().into_iter().filter(|description| description.is_aggregate) {
        for (name, listed) in LISTED {
            // Of two zeros the one is as good a median as the other, whatever their signs.
            let listed: Vec<&str> = listed.iter().copied().filter(|value| *value != "-0").collect();
            let flags = columns("UInt8", &["1", "0", "2"]);
            let cases = pairs(name, &listed).into_iter().flat_map(|[held, whole]| {
                let alone = [vec![held.clone()], vec![whole.clone()]];
                let beside_flags = [vec![held, flags[0].clone()], vec![whole, flags[1].clone()]];
                [
                    ("", alone.clone()),
                    ("OrNull", alone.clone()),
                    ("Distinct", alone),
                    ("If", beside_flags.clone()),
                    ("", beside_flags),
                ]
            });
            for (suffix, [over_held, over_whole]) in cases {
                let called = format!("{}{suffix}", description.name);
                let types: Vec<DataType> = over_whole.iter().map(|column| column.data_type().clone()).collect();
                let Ok(function) = resolve_aggregate(&called, &[], &types) else { continue };
                for (ids, groups) in ids {
                    let expected = finished(&*function, ids, groups, &over_whole);
                    let found = finished(&*function, ids, groups, &over_held);
                    let call = format!("{called}({types:?}) of {groups} groups");
                    compared += 1;
                    match (expected, found) {
                        (Ok(expected), Ok(found)) => assert_eq!(found, expected, "{call}"),
                        (Err(expected), Err(found)) => assert_eq!(found.code, expected.code, "{call}"),
                        (expected, found) => panic!("{call}: {expected:?}, held otherwise: {found:?}"),
                    }
                }
            }
        }
    }
    assert!(compared > 3_000, "{compared} calls compared");
}
