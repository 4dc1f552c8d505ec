//! `EXPLAIN PLAN` and `EXPLAIN ANALYZE`: the steps of a plan as a tree, in the form of ClickHouse 26, with what each step does below its
//! name, or as a graph.

mod expression_text;
mod graph;
mod shown;
mod step_text;

use squall_sql::ast::ExplainKind;
use squall_types::text::readable::QUANTITY;
use squall_types::{Error, Result};

pub(crate) use expression_text::hidden_name;
pub use expression_text::text;
pub use shown::Shown;

use crate::plan::{Plan, Scan};
use crate::rules::estimated_rows;

/// Lines about a scan.
pub type DescribeScan<'a> = dyn Fn(&Scan) -> Result<Vec<String>> + 'a;

/// What a step did, by its number: steps are numbered from 0 as [`Plan::inputs`] gives them, each before those below it.
pub type DescribeWork<'a> = dyn Fn(usize) -> StepWork + 'a;

/// What a step did while its query ran.
#[derive(Clone, Default, Debug)]
pub struct StepWork {
    /// A line each.
    pub lines: Vec<String>,
    /// The rows that it gave, where they were counted.
    pub rows: Option<u64>,
}

/// What is shown besides the steps.
#[derive(Clone, Copy, Default)]
pub struct ExplainOptions<'a> {
    /// What the statement asks for.
    pub shown: Shown,
    /// What indexes leave of a scan, where that is shown.
    pub of_scan: Option<&'a DescribeScan<'a>>,
    /// What the steps did: `EXPLAIN ANALYZE`.
    pub of_work: Option<&'a DescribeWork<'a>>,
}

/// A step as it is shown.
struct Described {
    name: String,
    details: Vec<String>,
    /// How many rows it gives.
    rows: Option<String>,
}

impl ExplainOptions<'_> {
    /// What is to be said of the step with this number.
    fn describe(&self, plan: &Plan, number: usize) -> Result<Described> {
        let mut name = step_text::name(plan);
        let mut details = step_text::details(plan);
        if self.shown.header {
            for (at, (name, data_type)) in plan.schema().fields.iter().enumerate() {
                let title = if at == 0 { "Header: " } else { "        " };
                details.push(format!("{title}{name} {data_type}"));
            }
        }
        if let (true, Some(of_scan), Plan::Scan(scan)) = (self.shown.indexes, self.of_scan, plan) {
            details.extend(of_scan(scan)?);
        }
        let expected = self.shown.estimates.then(|| match estimated_rows(plan) {
            Some(rows) => readable_rows(rows.round()),
            None => "<unknown>".to_owned(),
        });
        let Some(of_work) = self.of_work else {
            name.extend(expected.iter().map(|rows| format!(" (rows: {rows})")));
            return Ok(Described { name, details, rows: expected });
        };
        let work = of_work(number);
        let rows = work.rows.map(|rows| readable_rows(rows as f64));
        if let (Some(expected), Some(actual)) = (&expected, &rows) {
            details.push(format!("Output rows: estimated {expected} · actual {actual}"));
        }
        details.extend(work.lines);
        Ok(Described { name, details, rows })
    }
}

/// `1.50 million`; up to 999 the number itself.
pub fn readable_rows(rows: f64) -> String {
    let (number, unit) = QUANTITY.scale(rows);
    if unit.is_empty() { format!("{number:.0}") } else { format!("{number:.2}{unit}") }
}

/// Why a form of EXPLAIN is refused.
pub fn not_explained(kind: ExplainKind) -> Error {
    let words = kind.keywords().map_or_else(String::new, |words| format!(" {words}"));
    Error::not_implemented(format!("EXPLAIN{words}"))
}

/// The text of `EXPLAIN PLAN`: the plan's columns, an empty line, and the steps, the last one first. One line per row of the
/// result, without a line break at the end.
///
/// # Errors
/// Those of what is said of scans.
pub fn explain_plan(plan: &Plan, options: ExplainOptions<'_>) -> Result<String> {
    if options.shown.graph {
        return Ok(graph::lines(plan, options)?.join("\n"));
    }
    let mut lines = vec![format!("Output: {}", plan.schema().names().collect::<Vec<_>>().join(", ")), String::new()];
    let mut tree = Tree { options, lines: &mut lines, steps: 0 };
    tree.step(plan, "", "")?;
    Ok(lines.join("\n"))
}

struct Tree<'a> {
    options: ExplainOptions<'a>,
    lines: &'a mut Vec<String>,
    steps: usize,
}

impl Tree<'_> {
    /// Writes a step: its name after `first`, everything else after `rest`.
    fn step(&mut self, plan: &Plan, first: &str, rest: &str) -> Result<()> {
        let Described { name, details, .. } = self.options.describe(plan, self.steps)?;
        self.steps += 1;
        self.lines.push(format!("{first}{name}"));
        let inputs: Vec<&Plan> = plan.inputs().collect();
        let bar = if inputs.is_empty() { "   " } else { "│  " };
        self.lines.extend(details.iter().map(|detail| format!("{rest}{bar}{detail}")));
        for (at, input) in inputs.iter().enumerate() {
            let (branch, below) = if at + 1 == inputs.len() { ("└──", "   ") } else { ("├──", "│  ") };
            self.step(input, &format!("{rest}{branch}"), &format!("{rest}{below}"))?;
        }
        Ok(())
    }
}
