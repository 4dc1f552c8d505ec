//! How fast the numeric functions run: nanoseconds per row over blocks of 65,536 rows. `cargo run --release -p squall-functions
//! --example numeric_speed`.

#![expect(clippy::unwrap_used, reason = "an example")]

use std::hint::black_box;
use std::time::Instant;

use squall_functions::{Argument, FunctionContext, resolve_scalar};
use squall_types::cast::{CastOptions, cast};
use squall_types::text::{TextOptions, TextStyle, ValueReader, ValueWriter};
use squall_types::{Column, DataType, Value};

const ROWS: usize = 65_536;

fn time(name: &str, mut run: impl FnMut()) {
    let mut best = f64::MAX;
    for _ in 0..20 {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_nanos() as f64 / ROWS as f64);
    }
    println!("{name:50} {best:8.3} ns a row");
}

fn numbers(data_type: &str, modulus: u64) -> Column {
    let values: Vec<u64> = (0..ROWS as u64)
        .map(|row| row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20)
        .map(|value| value % modulus)
        .collect();
    let column = Column::from_primitive::<arrow_array::types::UInt64Type>(DataType::UInt64, values);
    cast(&column, &DataType::parse(data_type).unwrap(), &CastOptions::default()).unwrap()
}

fn main() {
    let context = FunctionContext::outside_queries("UTC");
    let call = |name: &str, columns: &[Column]| {
        let arguments: Vec<Argument> = columns
            .iter()
            .map(|column| Argument { data_type: column.data_type().clone(), constant: column.constant_value() })
            .collect();
        let function = resolve_scalar(name, &arguments, &context).unwrap();
        let types: Vec<String> = columns.iter().map(|column| column.data_type().to_string()).collect();
        time(&format!("{name}({})", types.join(", ")), || {
            black_box(function.execute(columns, ROWS).unwrap());
        });
    };
    let constant =
        |data_type: &str, value: Value| Column::constant(DataType::parse(data_type).unwrap(), &value, ROWS).unwrap();
    let (small, wide) = (numbers("UInt16", 2000), numbers("UInt64", 1 << 40));
    let (narrow, time_of) = (numbers("UInt64", 1 << 30), numbers("DateTime('Europe/Berlin')", 1_600_000_000));
    let text = cast(&numbers("UInt64", 100), &DataType::String, &CastOptions::default()).unwrap();
    call("equals", &[small.clone(), constant("UInt16", Value::UInt64(1))]);
    call("notEquals", &[small.clone(), constant("UInt8", Value::UInt64(0))]);
    call("less", &[wide.clone(), narrow.clone()]);
    call("equals", &[text.clone(), constant("String", Value::from("42"))]);
    call("notEquals", &[text.clone(), constant("String", Value::from(""))]);
    call("plus", &[small.clone(), constant("UInt8", Value::UInt64(1))]);
    call("plus", &[wide.clone(), narrow.clone()]);
    call("modulo", &[narrow.clone(), constant("UInt8", Value::UInt64(10))]);
    call("modulo", &[wide.clone(), constant("UInt8", Value::UInt64(10))]);
    call("intDiv", &[wide.clone(), constant("UInt16", Value::UInt64(1000))]);
    call("divide", &[wide.clone(), narrow.clone()]);
    call(
        "in",
        &[small.clone(), constant("Tuple(UInt8, UInt8, UInt8)", Value::Tuple([1u64, 2, 3].map(Value::UInt64).into()))],
    );
    call("toDate", std::slice::from_ref(&time_of));
    call("toString", std::slice::from_ref(&wide));
    call("toString", std::slice::from_ref(&time_of));
    call("toUInt64", std::slice::from_ref(&text));
    let flag = cast(&small, &DataType::UInt8, &CastOptions::default()).unwrap();
    call("and", &[flag.clone(), flag.clone()]);
    call("if", &[flag, wide.clone(), narrow]);
    let times = cast(&time_of, &DataType::String, &CastOptions::default()).unwrap();
    let options = TextOptions::default();
    for (name, column) in [
        ("UInt64", cast(&wide, &DataType::String, &CastOptions::default()).unwrap()),
        ("DateTime", times),
        ("String", text),
    ] {
        let data_type = DataType::parse(name).unwrap();
        let strings = column.as_binary().unwrap();
        let mut reader = ValueReader::new(&data_type, &options).unwrap();
        time(&format!("read_escaped {name}"), || {
            (0..ROWS).for_each(|row| reader.read_escaped(strings.value(row)).unwrap());
            black_box(reader.finish().unwrap());
        });
        let typed = cast(&column, &data_type, &CastOptions::default()).unwrap();
        let mut writer = ValueWriter::new(&typed, TextStyle::Escaped, &options).unwrap();
        let mut out = Vec::with_capacity(ROWS * 20);
        time(&format!("write escaped {name}"), || {
            out.clear();
            (0..ROWS).for_each(|row| writer.write(&mut out, row));
            black_box(&out);
        });
    }
}
