//! What a row costs in functions of strings and in `rand`: `cargo run --release -p squall-functions --example string_speed`. One
//! thread; the best of several rounds over 1,000,000 URLs in blocks of 65,536.

mod urls;

use std::time::Instant;

use squall_functions::{Argument, FunctionContext, resolve_scalar};
use squall_types::{Column, DataType, Value};

use urls::urls;

const ROWS: usize = 1_000_000;
const BLOCK: usize = 65_536;
const ROUNDS: usize = 5;

fn main() {
    let context = FunctionContext::outside_queries("UTC");
    let urls = urls(ROWS);
    let bytes: usize = urls.iter().map(String::len).sum();
    let column = Column::from_strings(&urls);
    let times = Column::from_primitive::<arrow_array::types::UInt32Type>(
        DataType::DateTime(None),
        (0..ROWS).map(|at| 1_600_000_000 + at as u32).collect(),
    );
    println!("{} bytes a URL", bytes / ROWS);
    let text = |value: &str| Some((DataType::String, Value::from(value)));
    for (name, argument, constant) in [
        ("like", Some(&column), text("%google%")),
        ("like", Some(&column), text("%google%id=1%")),
        ("like", Some(&column), text("https://www.google%")),
        ("ilike", Some(&column), text("%GooGle%")),
        ("match", Some(&column), text("go+gle")),
        ("position", Some(&column), text("google")),
        ("length", Some(&column), None),
        ("lower", Some(&column), None),
        ("domain", Some(&column), None),
        ("substring", Some(&column), Some((DataType::UInt8, Value::UInt64(9)))),
        ("replaceRegexpAll", Some(&column), text("[0-9]+")),
        ("cityHash64", Some(&column), None),
        ("sipHash64", Some(&column), None),
        ("xxHash64", Some(&column), None),
        ("toYear", Some(&times), None),
        ("toStartOfHour", Some(&times), None),
        ("toHour", Some(&times), text("Europe/Berlin")),
        ("formatDateTime", Some(&times), text("%Y-%m-%d %H:%i:%S")),
        ("rand", None, None),
        ("rand64", None, None),
    ] {
        let mut arguments: Vec<Argument> =
            argument.iter().map(|column| Argument::of(column.data_type().clone())).collect();
        if let Some((data_type, value)) = &constant {
            arguments.push(Argument { data_type: data_type.clone(), constant: Some(value.clone()) });
        }
        if name == "replaceRegexpAll" {
            arguments.push(Argument { data_type: DataType::String, constant: Some(Value::from("#")) });
        }
        let function = match resolve_scalar(name, &arguments, &context) {
            Ok(function) => function,
            Err(error) => return eprintln!("{name}: {error}"),
        };
        let mut best = f64::INFINITY;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let mut from = 0;
            while from < ROWS {
                let rows = BLOCK.min(ROWS - from);
                let mut columns: Vec<Column> = argument.iter().map(|column| column.slice(from, rows)).collect();
                for described in &arguments[columns.len()..] {
                    let value = described.constant.as_ref().unwrap_or(&Value::Null);
                    match Column::constant(described.data_type.clone(), value, rows) {
                        Ok(constant) => columns.push(constant),
                        Err(error) => return eprintln!("{name}: {error}"),
                    }
                }
                match function.execute(&columns, rows) {
                    Ok(result) => std::hint::black_box(result.rows()),
                    Err(error) => return eprintln!("{name}: {error}"),
                };
                from += rows;
            }
            best = best.min(start.elapsed().as_nanos() as f64);
        }
        let shown = constant.map_or_else(String::new, |(_, value)| format!(" {value}"));
        println!("{:45} {:8.2} ms {:8.3} ns a row", format!("{name}{shown}"), best / 1e6, best / ROWS as f64);
    }
}
