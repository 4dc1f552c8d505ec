//! How long statements take to parse: `cargo run --release -p squall-sql --example parse_speed`.

use squall_sql::{ParserLimits, normalize, parse};
use std::hint::black_box;
use std::time::{Duration, Instant};

const STATEMENTS: &[&str] = &[
    "SELECT 1",
    "select count(ClientIP) as total, ResolutionWidth from datasets.hits_v1 group by ResolutionWidth order by total desc limit 100",
    "SELECT URL, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' \
     AND DontCountHits = 0 AND IsRefresh = 0 AND URL <> '' GROUP BY URL ORDER BY PageViews DESC LIMIT 10",
];

/// The best of many rounds, so that other work on the machine does not count.
fn nanoseconds(mut work: impl FnMut()) -> u128 {
    const ROUNDS: u32 = 200;
    const CALLS: u32 = 1000;
    let best = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        (0..CALLS).for_each(|_| work());
        start.elapsed()
    });
    best.min().unwrap_or(Duration::ZERO).as_nanos() / u128::from(CALLS)
}

fn main() {
    let limits = ParserLimits::default();
    for statement in STATEMENTS {
        let parsing = nanoseconds(|| drop(black_box(parse(black_box(statement), &limits))));
        let normalizing = nanoseconds(|| drop(black_box(normalize(black_box(statement)))));
        println!("parse {parsing:>6} ns, normalize {normalizing:>6} ns: {:.60}", statement);
    }
}
