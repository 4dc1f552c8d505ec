//! What planning costs at most: queries that are small as text and large once their names are expanded, or deep.

use crate::support::World;
use squall_types::ErrorCode;

fn code(query: &str) -> ErrorCode {
    World::new().plan(query).map(|_| ErrorCode::OK).unwrap_or_else(|error| error.code)
}

/// `x0, x0 + x0 AS x1, …`: twice as large with every alias.
fn doubled(first: &str, times: usize) -> String {
    let aliases: Vec<String> = (1..=times).map(|at| format!("x{0} + x{0} AS x{at}", at - 1)).collect();
    format!("WITH {first} AS x0, {} SELECT x{times} FROM t", aliases.join(", "))
}

#[test]
fn aliases_do_not_grow_without_bounds() {
    assert_eq!(code(&doubled("a", 10)), ErrorCode::OK);
    assert_eq!(code(&doubled("a", 40)), ErrorCode::BAD_ARGUMENTS);
}

#[test]
fn shared_subexpressions_are_computed_once() {
    // 2^16 additions as a tree, 16 as a plan.
    let plan = World::new().plan(&doubled("a", 16)).unwrap();
    let mut size = 0;
    let mut steps = vec![&plan];
    while let Some(step) = steps.pop() {
        if let squall_planner::Plan::Project { expressions, .. } = step {
            size += expressions.iter().map(squall_planner::Expression::size).sum::<usize>();
        }
        steps.extend(step.inputs());
    }
    assert!(size < 200, "{size}");
}

#[test]
fn circles_of_aliases_end() {
    let aliases: Vec<String> = (0..14)
        .map(|at| {
            let others: Vec<String> = (0..14).filter(|other| *other != at).map(|other| format!("y{other}")).collect();
            format!("{} AS y{at}", others.join(" + "))
        })
        .collect();
    assert_ne!(code(&format!("SELECT {} FROM t", aliases.join(", "))), ErrorCode::OK);
    // All of these are columns as well, so that every way through the circles is tried.
    let names = ["a", "b", "f", "n", "d", "e"];
    let aliases: Vec<String> = names
        .iter()
        .map(|name| {
            let others: Vec<String> = names
                .iter()
                .filter(|other| *other != name)
                .map(|other| format!("toUInt8({other}) + toUInt8({other})"))
                .collect();
            format!("{} AS {name}", others.join(" + "))
        })
        .collect();
    assert_ne!(code(&format!("SELECT {} FROM t", aliases.join(", "))), ErrorCode::LOGICAL_ERROR);
}

#[test]
fn common_tables_do_not_grow_without_bounds() {
    let tables: Vec<String> =
        (1..=30).map(|at| format!("c{at} AS (SELECT * FROM c{0} UNION ALL SELECT * FROM c{0})", at - 1)).collect();
    let query = format!("WITH c0 AS (SELECT 1 AS x), {} SELECT count() FROM c30", tables.join(", "));
    assert_eq!(code(&query), ErrorCode::BAD_ARGUMENTS);
}

#[test]
fn subqueries_are_not_too_deep() {
    let nested =
        |depth: usize| format!("{}t{}", "SELECT a FROM (".repeat(depth - 1) + "SELECT a FROM ", ")".repeat(depth - 1));
    assert_eq!(code(&nested(15)), ErrorCode::OK);
    let mut world = World::new();
    world.settings.set("max_subquery_depth", "5").unwrap();
    assert_eq!(world.plan(&nested(10)).unwrap_err().code, ErrorCode::TOO_DEEP_SUBQUERIES);
}

#[test]
fn deep_expressions_fit_the_stack() {
    // As deep as the parser lets them be, on a thread's default stack; what is not optimized needs more.
    let stack_bytes = if cfg!(debug_assertions) { 32 << 20 } else { 2 << 20 };
    std::thread::Builder::new().stack_size(stack_bytes).spawn(plan_deep_expressions).unwrap().join().unwrap();
}

fn plan_deep_expressions() {
    let chain = |length: usize| format!("SELECT a{} FROM t", " + 1".repeat(length));
    assert_eq!(code(&chain(450)), ErrorCode::OK);
    assert_ne!(code(&chain(100_000)), ErrorCode::OK);
    // Deep by aliases, each of which is shallow.
    let aliases: Vec<String> = (1..=3000).map(|at| format!("x{} + 1 AS x{at}", at - 1)).collect();
    assert_eq!(code(&format!("WITH a AS x0, {} SELECT x3000 FROM t", aliases.join(", "))), ErrorCode::TOO_DEEP_AST);
    let aliases: Vec<String> = (1..=3000).rev().map(|at| format!("x{} + 1 AS x{at}", at - 1)).collect();
    assert_eq!(code(&format!("WITH {}, a AS x0 SELECT x3000 FROM t", aliases.join(", "))), ErrorCode::TOO_DEEP_AST);
}
