//! Functions over sparse columns: every scalar function with one varying argument, and every aggregate function, gives what it gives over
//! the same column written out. The server's functions are called by their names, so that new ones are tested too.

#![allow(clippy::unwrap_used, reason = "a failure here is a failing test")]

use squall_functions::{
    AggregateFunction, Argument, FunctionContext, GroupIds, Moment, all_functions, resolve_aggregate, resolve_scalar,
};
use squall_types::text::{TextOptions, ValueReader};
use squall_types::{Column, DataType, Result, Rows, Value};

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
fn scalar_functions_give_the_same_over_sparse_columns() {
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
    let mut sparse_results = 0;
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
            let [sparse, whole] = columns(name, listed);
            for (constants, at) in &calls {
                let (arguments, over_sparse) = beside(constants, *at, &sparse);
                let Ok(function) = resolve_scalar(description.name, &arguments, &context()) else { continue };
                if !function.properties().is_deterministic {
                    continue;
                }
                let expected = function.execute(&beside(constants, *at, &whole).1, ROWS);
                let found = function.execute(&over_sparse, ROWS);
                let call = format!("{} over {name} at {at} beside {constants:?}", description.name);
                compared += 1;
                match (expected, found) {
                    (Ok(expected), Ok(found)) => {
                        sparse_results += usize::from(found.sparse().is_some());
                        assert_eq!(found.data_type(), expected.data_type(), "{call}");
                        assert_eq!(values(&found), values(&expected), "{call}");
                        assert_eq!(found.materialize().unwrap().rows(), ROWS, "{call}");
                    }
                    (Err(expected), Err(found)) => assert_eq!(found.code, expected.code, "{call}"),
                    (expected, found) => panic!("{call}: {expected:?}, sparse: {found:?}"),
                }
            }
        }
    }
    assert!(compared > 2_000 && sparse_results > 1_000, "{compared} calls compared, {sparse_results} sparse results");
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
fn aggregate_functions_give_the_same_over_sparse_columns() {
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
            let [sparse, whole] = columns(name, &listed);
            let flags = columns("UInt8", &["1", "0", "2"]);
            let cases: [(&str, [Vec<Column>; 2]); 5] = [
                ("", [vec![sparse.clone()], vec![whole.clone()]]),
                ("OrNull", [vec![sparse.clone()], vec![whole.clone()]]),
                ("Distinct", [vec![sparse.clone()], vec![whole.clone()]]),
                ("If", [vec![sparse.clone(), flags[0].clone()], vec![whole.clone(), flags[1].clone()]]),
                ("", [vec![sparse.clone(), flags[0].clone()], vec![whole.clone(), flags[1].clone()]]),
            ];
            for (suffix, [over_sparse, over_whole]) in cases {
                let called = format!("{}{suffix}", description.name);
                let types: Vec<DataType> = over_whole.iter().map(|column| column.data_type().clone()).collect();
                let Ok(function) = resolve_aggregate(&called, &[], &types) else { continue };
                for (ids, groups) in ids {
                    let expected = finished(&*function, ids, groups, &over_whole);
                    let found = finished(&*function, ids, groups, &over_sparse);
                    let call = format!("{called}({types:?}) of {groups} groups");
                    compared += 1;
                    match (expected, found) {
                        (Ok(expected), Ok(found)) => assert_eq!(found, expected, "{call}"),
                        (Err(expected), Err(found)) => assert_eq!(found.code, expected.code, "{call}"),
                        (expected, found) => panic!("{call}: {expected:?}, sparse: {found:?}"),
                    }
                }
            }
        }
    }
    assert!(compared > 3_000, "{compared} calls compared");
}
