//! Aggregate functions against ClickHouse itself: `data/aggregates/aggregates.tsv` holds a table, and calls with the type and the
//! values that ClickHouse gives over all of its rows and over none, written by the script beside it.

use std::collections::HashMap;

use squall_functions::{GroupIds, aggregate_exists, resolve_aggregate};
use squall_types::text::{TextOptions, TextStyle, ValueReader, ValueWriter};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

/// `name(parameters)(arguments)` or `name(arguments)`.
fn parse(call: &str) -> (&str, Vec<&str>, Vec<&str>) {
    let (name, rest) = call.split_once('(').unwrap();
    let rest = rest.strip_suffix(')').unwrap();
    let (parameters, arguments) = rest.split_once(")(").unwrap_or(("", rest));
    let list = |text: &'static str| text.split(", ").filter(|item| !item.is_empty()).collect::<Vec<_>>();
    // The data lives as long as the test.
    let leak = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
    (name, list(leak(parameters)), list(leak(arguments)))
}

fn literal(text: &str) -> Value {
    if let Ok(value) = text.parse::<u64>() {
        return Value::UInt64(value);
    }
    if let Ok(value) = text.parse::<i64>() {
        return Value::Int64(value);
    }
    match text.parse::<f64>() {
        Ok(value) => Value::Float64(value),
        Err(_) => Value::from(text.trim_matches('\'')),
    }
}

fn aggregate(call: &str, table: &HashMap<String, Column>, rows: usize, ids: Option<&[u32]>) -> Result<Column> {
    let (name, parameters, arguments) = parse(call);
    if !aggregate_exists(name) {
        return Err(Error::new(ErrorCode::UNKNOWN_FUNCTION, name));
    }
    let parameters: Vec<Value> = parameters.into_iter().map(literal).collect();
    let columns: Vec<Column> = arguments.iter().map(|argument| table[*argument].slice(0, rows)).collect();
    let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
    let function = resolve_aggregate(name, &parameters, &types)?;
    let mut accumulator = function.accumulator();
    let ids = ids.map_or(GroupIds::Single, |ids| GroupIds::Each(&ids[..rows]));
    accumulator.update(ids, 1, &columns, rows)?;
    let result = accumulator.finish(1)?;
    assert_eq!(result.data_type(), function.return_type(), "{call}");
    Ok(result)
}

fn text(column: &Column) -> String {
    let mut out = Vec::new();
    ValueWriter::new(column, TextStyle::Escaped, &TextOptions::default()).unwrap().write(&mut out, 0);
    String::from_utf8(out).unwrap()
}

#[test]
fn aggregates_are_clickhouses() {
    let file = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/aggregates/aggregates.tsv"));
    let file = file.unwrap();
    let columns = file.lines().filter_map(|line| line.strip_prefix("@ ")).map(|line| line.split_once('\t').unwrap());
    let rows: Vec<Vec<&str>> =
        file.lines().filter_map(|line| line.strip_prefix("> ")).map(|line| line.split('\t').collect()).collect();
    let mut table = HashMap::new();
    for (at, (name, data_type)) in columns.enumerate() {
        let mut reader = ValueReader::new(&DataType::parse(data_type).unwrap(), &TextOptions::default()).unwrap();
        rows.iter().for_each(|row| reader.read_escaped(row[at].as_bytes()).unwrap());
        table.insert(name.to_owned(), reader.finish().unwrap());
    }
    let ids = vec![0; rows.len()];
    let mut failures = Vec::new();
    let mut count = 0;
    for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with(['@', '>', '#'])) {
        let (call, expected) = line.split_once('\t').unwrap();
        count += 1;
        let answer = |ids| -> Result<String> {
            let whole = aggregate(call, &table, rows.len(), ids)?;
            let empty = aggregate(call, &table, 0, ids)?;
            let mut name = Vec::new();
            squall_types::text::append_escaped(&mut name, whole.data_type().to_string().as_bytes());
            Ok(format!("{}\t{}\t{}", String::from_utf8(name).unwrap(), text(&whole), text(&empty)))
        };
        for ids in [None, Some(&ids[..])] {
            let found = answer(ids).unwrap_or_else(|error| format!("ERR\t{}", error.code.0));
            if found != expected {
                failures.push(format!("{call}\n   is {found}\n  not {expected}"));
                break;
            }
        }
    }
    assert!(failures.is_empty(), "{} of {count} calls differ:\n{}", failures.len(), failures.join("\n"));
}
