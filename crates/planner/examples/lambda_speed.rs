//! How fast functions of a lambda run: nanoseconds per item, over 65,536 arrays of 10 items at a time. `cargo run --release -p
//! squall-planner --example lambda_speed [python]`; with a Python that has chdb, ClickHouse's figures on one thread stand beside,
//! measured in the same run.

#![expect(clippy::unwrap_used, reason = "an example")]

#[path = "../tests/integration/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::types::UInt64Type;
use squall_functions::FunctionContext;
use squall_planner::{ColumnDescription, bind_expression, evaluate};
use squall_types::{Block, Column, DataType, Schema};

const ROWS: usize = 65_536;
const ITEMS: usize = 10;
const ROUNDS: usize = 15;

/// What is measured, over `a Array(UInt64)` and `n UInt64`.
const EXPRESSIONS: &[&str] = &[
    "arrayMap(x -> x + 1, a)",
    "arrayMap(x -> x * 2 + n, a)",
    "arrayMap((x, y) -> x + y, a, a)",
    "arrayMap(x -> toString(x), a)",
    "arrayFilter(x -> x % 2 = 0, a)",
    "arrayCount(x -> x > 500, a)",
    "arrayExists(x -> x = n, a)",
    "arraySum(x -> x * x, a)",
    "arraySort(x -> -toInt64(x), a)",
    "arrayFold((s, x) -> s + x, a, toUInt64(0))",
];

/// The arrays, of numbers without order.
const ARRAYS: &str = "arrayMap(x -> bitAnd((x + n * 10) * 2654435761, 1023), range(10))";

/// Measures the same in ClickHouse: 153 blocks of a table in memory, without what it takes to read them.
const ORACLE: &str = "
import sys, time
from chdb.session import Session
session = Session()
arrays, *expressions = sys.argv[1:]
session.query('SET max_threads = 1')
session.query('CREATE TABLE t (a Array(UInt64), n UInt64) ENGINE = Memory')
session.query(f'INSERT INTO t SELECT {arrays}, number AS n FROM numbers(1000000) SETTINGS max_block_size = 65536')
def best(query):
    times = []
    for _ in range(7):
        began = time.perf_counter()
        session.query(query)
        times.append(time.perf_counter() - began)
    return min(times)
base = best('SELECT ignore(a, n) FROM t FORMAT Null')
for expression in expressions:
    print(max(best(f'SELECT ignore({expression}) FROM t FORMAT Null') - base, 0) * 1e9 / 1e7)
";

fn main() {
    let context = FunctionContext::outside_queries("UTC");
    let column = |name: &str, data_type: DataType| ColumnDescription::new(name, data_type);
    let columns = [column("n", DataType::UInt64), column("a", DataType::array(DataType::UInt64))];
    let numbers = Column::from_primitive::<UInt64Type>(DataType::UInt64, (0..ROWS as u64).collect());
    let schema = |columns: &[ColumnDescription]| {
        let fields = columns.iter().map(|column| (column.name.clone(), column.data_type.clone()));
        Arc::new(Schema { fields: fields.collect() })
    };
    let only_numbers = Block::new(schema(&columns[..1]), vec![numbers.clone()], ROWS);
    let arrays = bind_expression(ARRAYS, &columns[..1], &context).unwrap();
    let arrays = evaluate(&arrays, &only_numbers).unwrap();
    assert_eq!(*arrays.data_type(), columns[1].data_type);
    let block = Block::new(schema(&columns), vec![numbers, arrays], ROWS);

    let oracle: Vec<f64> = match std::env::args().nth(1) {
        Some(python) => {
            let output = Command::new(python).arg("-c").arg(ORACLE).arg(ARRAYS).args(EXPRESSIONS).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8_lossy(&output.stdout).lines().map(|line| line.parse().unwrap()).collect()
        }
        None => Vec::new(),
    };
    for (at, text) in EXPRESSIONS.iter().enumerate() {
        let expression = bind_expression(text, &columns, &context).unwrap();
        let mut best = f64::MAX;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            black_box(evaluate(&expression, &block).unwrap());
            best = best.min(start.elapsed().as_nanos() as f64 / (ROWS * ITEMS) as f64);
        }
        match oracle.get(at) {
            Some(wanted) => {
                println!("{text:45} {best:8.2} ns an item, ClickHouse {wanted:8.2}, ratio {:.2}", best / wanted);
            }
            None => println!("{text:45} {best:8.2} ns an item"),
        }
    }
}
