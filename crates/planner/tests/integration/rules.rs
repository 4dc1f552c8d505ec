//! What the optimizer makes of queries, as EXPLAIN shows it.

use crate::support::World;
use squall_planner::{ExplainOptions, explain_plan};

fn explain(query: &str) -> String {
    let plan = World::new().plan(query);
    let text = match plan.and_then(|plan| explain_plan(&plan, ExplainOptions::default())) {
        Ok(text) => text,
        Err(error) => return format!("{error}\n"),
    };
    // The first two lines are the output's names and an empty line.
    text.lines().skip(2).map(|line| format!("{line}\n")).collect()
}

/// Compares plans with the file `data/rules.txt`: a query after `> `, then its plan, then an empty line.
#[test]
fn plans_are_as_expected() {
    let text = include_str!("../data/rules.txt");
    let mut wrong = String::new();
    for case in format!("\n{text}").split("\n> ").skip(1) {
        let (query, expected) = case.split_once('\n').unwrap();
        let actual = explain(query);
        if actual.trim_end() != expected.trim_end() {
            wrong += &format!("> {query}\n{actual}\n");
        }
    }
    assert!(wrong.is_empty(), "plans differ; now they are:\n{wrong}");
}
