//! How long parsing and planning take, in microseconds per query: `cargo run --release -p squall-planner --example plan_speed`.

#![allow(clippy::unwrap_used)] // An example's queries are good.

#[path = "../tests/integration/support/mod.rs"]
mod support;

use std::time::Instant;

use support::World;

const QUERIES: &[&str] = &[
    "SELECT 1",
    "SELECT a FROM t WHERE b = 5",
    "SELECT count(a) AS total, b FROM t GROUP BY b ORDER BY total DESC LIMIT 100",
    "SELECT max(number) FROM (SELECT number FROM numbers(100000) WHERE number < 100000 LIMIT 100000)",
    "SELECT a % 7 AS k, sum(b) AS s, s / count() AS m FROM t WHERE c != '' AND d >= '2013-07-01' GROUP BY k HAVING s > 10 \
     ORDER BY m DESC LIMIT 10",
];

fn main() {
    let world = World::new();
    let sums = (0..90).map(|shift| format!("sum(b + {shift})")).collect::<Vec<_>>().join(", ");
    let queries = QUERIES.iter().map(|query| (*query).to_owned()).chain([format!("SELECT {sums} FROM t")]);
    println!("{:>9} {:>9}  query", "parse us", "plan us");
    for query in queries {
        let parse = per_run(|| {
            support::query(&query);
        });
        let parsed = support::query(&query);
        let context = world.context();
        let plan = per_run(|| {
            squall_planner::plan_query(&parsed, &context).unwrap();
        });
        let shown: String = query.chars().take(90).collect();
        println!("{parse:>9.2} {plan:>9.2}  {shown}");
    }
}

/// Microseconds per run, the best of ten rounds.
fn per_run(mut run: impl FnMut()) -> f64 {
    const RUNS: u32 = 200;
    (0..10)
        .map(|_| {
            let start = Instant::now();
            (0..RUNS).for_each(|_| run());
            start.elapsed().as_secs_f64() * 1e6 / f64::from(RUNS)
        })
        .fold(f64::INFINITY, f64::min)
}
