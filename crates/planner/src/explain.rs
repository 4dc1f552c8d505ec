//! `EXPLAIN PLAN`: the steps of a plan as a tree, in the form of ClickHouse 26, with what each step does below its name.

use std::fmt::Write;
use std::sync::Arc;

use squall_sql::ast::ExplainKind;
use squall_types::{CastOptions, Column, DataType, Error, Result, Schema, Value, cast_value};

use crate::analyzer::append_constant;
use crate::expression::Expression;
use crate::plan::{Aggregate, JoinKey, Plan, Scan, SortKey, WindowFrame};

/// Lines about a scan.
pub type DescribeScan<'a> = dyn Fn(&Scan) -> Result<Vec<String>> + 'a;

/// What `EXPLAIN PLAN` shows besides the steps.
#[derive(Clone, Copy, Default)]
pub struct ExplainOptions<'a> {
    /// `header = 1`: the names and types of each step's columns.
    pub header: bool,
    /// What else is to be said of a scan: `indexes = 1`, `projections = 1`.
    pub of_scan: Option<&'a DescribeScan<'a>>,
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
    let mut lines = vec![format!("Output: {}", plan.schema().names().collect::<Vec<_>>().join(", ")), String::new()];
    let mut tree = Tree { options, lines: &mut lines };
    tree.step(plan, "", "")?;
    Ok(lines.join("\n"))
}

struct Tree<'a> {
    options: ExplainOptions<'a>,
    lines: &'a mut Vec<String>,
}

impl Tree<'_> {
    /// Writes a step: its name after `first`, everything else after `rest`.
    fn step(&mut self, plan: &Plan, first: &str, rest: &str) -> Result<()> {
        self.lines.push(format!("{first}{}", name(plan)));
        let inputs: Vec<&Plan> = plan.inputs().collect();
        let bar = if inputs.is_empty() { "   " } else { "│  " };
        for detail in details(plan) {
            self.lines.push(format!("{rest}{bar}{detail}"));
        }
        if self.options.header {
            for (at, (name, data_type)) in plan.schema().fields.iter().enumerate() {
                let title = if at == 0 { "Header: " } else { "        " };
                self.lines.push(format!("{rest}{bar}{title}{name} {data_type}"));
            }
        }
        if let (Some(of_scan), Plan::Scan(scan)) = (self.options.of_scan, plan) {
            self.lines.extend(of_scan(scan)?.into_iter().map(|line| format!("{rest}{bar}{line}")));
        }
        for (at, input) in inputs.iter().enumerate() {
            let (branch, below) = if at + 1 == inputs.len() { ("└──", "   ") } else { ("├──", "│  ") };
            self.step(input, &format!("{rest}{branch}"), &format!("{rest}{below}"))?;
        }
        Ok(())
    }
}

fn name(plan: &Plan) -> String {
    match plan {
        Plan::Scan(Scan { table, .. }) => {
            let engine = table.engine();
            if let Some(projection) = table.of_projection() {
                return format!("ReadFromMergeTree ({projection})");
            }
            match table.database() {
                "" => format!("ReadFrom{engine}"),
                database => format!("ReadFrom{engine} ({database}.{})", table.name()),
            }
        }
        Plan::LateColumns(late) => format!("LazilyReadFromMergeTree ({}.{})", late.table.database(), late.table.name()),
        Plan::Values { schema, blocks } if schema.is_empty() && !blocks.is_empty() => "ReadFromSystemOne".to_owned(),
        Plan::Values { blocks, .. } if blocks.is_empty() => "ReadNothing".to_owned(),
        // Constants are what a SELECT without FROM makes of the row of `system.one`.
        Plan::Values { blocks, .. } if matches!(&blocks[..], [one] if one.columns().iter().all(Column::is_constant)) => {
            "ReadFromSystemOne".to_owned()
        }
        Plan::Values { .. } => "ReadFromPreparedSource".to_owned(),
        Plan::Filter { .. } => "Filter".to_owned(),
        Plan::Project { .. } => "Expression".to_owned(),
        Plan::Aggregate(_) => "Aggregating".to_owned(),
        Plan::Window(_) => "Window".to_owned(),
        Plan::Fill(_) => "Filling".to_owned(),
        Plan::Sort { .. } => "Sorting".to_owned(),
        Plan::Limit { limit: None, .. } => "Offset".to_owned(),
        Plan::Limit { .. } => "Limit".to_owned(),
        Plan::LimitBy { .. } => "LimitBy".to_owned(),
        Plan::Distinct { .. } => "Distinct".to_owned(),
        Plan::Union { .. } => "Union".to_owned(),
        Plan::ArrayJoin { .. } => "ArrayJoin".to_owned(),
        Plan::Join(_) => "Join".to_owned(),
        Plan::CommonSubplan { .. } => "SaveSubqueryResultToBuffer".to_owned(),
        Plan::CommonRows(_) => "ReadFromCommonBuffer".to_owned(),
    }
}

fn details(plan: &Plan) -> Vec<String> {
    match plan {
        Plan::Scan(Scan { table, schema, predicate, bounds, limit, .. }) => {
            let columns =
                (!schema.is_empty()).then(|| format!("Columns: {}", schema.names().collect::<Vec<_>>().join(", ")));
            let predicate = predicate.iter().map(|predicate| format!("Filter column: {}", text(predicate, schema)));
            let bounds = bounds.iter().filter_map(|bound| {
                let column = table.columns().get(bound.column)?;
                Some(format!("Runtime bounds: {} by the keys of join {}", column.name, bound.join))
            });
            let limit = limit.iter().map(|limit| format!("Limit {limit}"));
            columns.into_iter().chain(predicate).chain(bounds).chain(limit).collect()
        }
        Plan::Filter { input, predicate } => vec![format!("Filter column: {}", text(predicate, input.schema()))],
        Plan::Project { input, expressions, schema } => expressions
            .iter()
            .zip(schema.names())
            .map(|(expression, name)| match text(expression, input.schema()) {
                text if text == name => format!("Expression: {text}"),
                text => format!("Expression: {text} AS {name}"),
            })
            .collect(),
        Plan::Aggregate(Aggregate { input, keys, aggregates, with_totals, limit, .. }) => {
            let aggregates = aggregates.iter().map(|call| {
                let arguments = call.arguments.iter().map(|argument| text(argument, input.schema()));
                format!("{}({})", call.function_name(), arguments.collect::<Vec<_>>().join(", "))
            });
            let aggregates: Vec<String> = aggregates.collect();
            let mut details = Vec::new();
            if !keys.is_empty() {
                details.push(format!("Keys: {}", list(keys, input.schema())));
            }
            if !aggregates.is_empty() {
                details.push(format!("Aggregates: {}", aggregates.join(", ")));
            }
            if *with_totals {
                details.push("Totals".to_owned());
            }
            details.extend(limit.iter().map(|limit| format!("Limit {limit}")));
            details
        }
        Plan::Window(window) => {
            let schema = window.input.schema();
            let mut parts = Vec::new();
            if !window.partition_by.is_empty() {
                parts.push(format!("PARTITION BY {}", list(&window.partition_by, schema)));
            }
            if !window.order_by.is_empty() {
                parts.push(format!("ORDER BY {}", order(&window.order_by, schema)));
            }
            if window.frame != WindowFrame::default() {
                parts.push(window.frame.to_string());
            }
            let functions: Vec<&str> = window.calls.iter().map(|call| &*call.name).collect();
            vec![format!("Window: ({})", parts.join(" ")), format!("Functions: {}", functions.join(", "))]
        }
        Plan::Sort { input, keys, limit, group_limit } => {
            let mut details = vec![format!("Sort description: {}", order(keys, input.schema()))];
            details.extend(limit.map(|limit| format!("Limit {limit}")));
            details.extend(group_limit.map(|limit| {
                let groups = keys.get(..limit.keys).unwrap_or_default();
                format!("Limit {} of each group: {}", limit.rows, order(groups, input.schema()))
            }));
            details
        }
        Plan::Limit { input, offset, limit, ties } => {
            let mut details: Vec<String> = limit.iter().map(|limit| format!("Limit {limit}")).collect();
            details.push(format!("Offset {offset}"));
            details.extend(ties.iter().map(|ties| format!("WITH TIES: {}", order(ties, input.schema()))));
            details
        }
        Plan::LimitBy { input, offset, limit, keys } => vec![
            format!("Columns: {}", list(keys, input.schema())),
            format!("Length {limit}"),
            format!("Offset {offset}"),
        ],
        Plan::Distinct { input } => {
            vec![format!("Columns: {}", input.schema().names().collect::<Vec<_>>().join(", "))]
        }
        Plan::ArrayJoin { input, arrays, is_left, .. } => {
            let kind = if *is_left { "LEFT ARRAY JOIN" } else { "ARRAY JOIN" };
            vec![format!("{kind}: {}", list(arrays, input.schema()))]
        }
        Plan::Join(join) => {
            let (left, right) = (join.left.schema(), join.right.schema());
            let mut details = vec![format!("Type: {}", join.kind), format!("Strictness: {}", join.strictness)];
            if !join.keys.is_empty() {
                let equal = |key: &JoinKey| format!("{} = {}", text(&key.left, left), text(&key.right, right));
                details.push(format!("Clauses: {}", join.keys.iter().map(equal).collect::<Vec<_>>().join(" AND ")));
            }
            if let Some(nearest) = &join.nearest {
                details.push(format!("ASOF inequality: {}", nearest.inequality));
                details.push(format!("Nearest: {} to {}", text(&nearest.right, right), text(&nearest.left, left)));
            }
            if let Some(condition) = &join.condition {
                let fields = left.fields.iter().chain(&right.fields).cloned().collect();
                details.push(format!("Residual filter: {}", text(condition, &Schema { fields })));
            }
            details
        }
        Plan::Fill(fill) => {
            let names: Vec<&str> = fill.input.schema().names().collect();
            let name = |column: usize| names.get(column).copied().unwrap_or_default();
            let columns = fill.columns.iter().map(|column| name(column.column));
            let mut details = vec![format!("Columns: {}", columns.collect::<Vec<_>>().join(", "))];
            if !fill.interpolated.is_empty() {
                let columns = fill.interpolated.iter().map(|(column, expression)| {
                    format!("{} AS {}", name(*column), text(expression, fill.input.schema()))
                });
                details.push(format!("Interpolate: {}", columns.collect::<Vec<_>>().join(", ")));
            }
            details
        }
        Plan::LateColumns(late) => {
            let names = late.schema.names().skip(late.schema.len() - late.columns.len());
            vec![format!("Columns: {}", names.collect::<Vec<_>>().join(", "))]
        }
        Plan::CommonSubplan { number, .. } => vec![format!("Buffer {number}: the rows of the first step below")],
        Plan::CommonRows(reading) => {
            vec![format!("Buffer {}: {}", reading.number, reading.schema.names().collect::<Vec<_>>().join(", "))]
        }
        Plan::Values { .. } | Plan::Union { .. } => Vec::new(),
    }
}

fn list(expressions: &[Expression], schema: &Schema) -> String {
    expressions.iter().map(|expression| text(expression, schema)).collect::<Vec<_>>().join(", ")
}

fn order(keys: &[SortKey], schema: &Schema) -> String {
    let key = |key: &SortKey| {
        let direction = if key.descending { "DESC" } else { "ASC" };
        let nulls = if key.nulls_first { " NULLS FIRST" } else { "" };
        format!("{} {direction}{nulls}", text(&key.expression, schema))
    };
    keys.iter().map(key).collect::<Vec<_>>().join(", ")
}

/// A name for a column that only the plan itself sees: the expression's text, or the function alone where that is long. (It must
/// not grow: names are made of names.)
pub(crate) fn hidden_name(expression: &Expression, schema: &Schema) -> Arc<str> {
    const BYTES_MAX: usize = 60;
    let is_small = expression.size() <= BYTES_MAX / 4;
    match expression {
        _ if is_small => {
            let text = text(expression, schema);
            if text.len() <= BYTES_MAX { text.into() } else { hidden_name_of_function(expression) }
        }
        _ => hidden_name_of_function(expression),
    }
}

fn hidden_name_of_function(expression: &Expression) -> Arc<str> {
    match expression {
        Expression::Function { name, .. } | Expression::HigherOrder { name, .. } => format!("{name}(…)").into(),
        _ => "…".into(),
    }
}

/// An expression over columns of these names, operators between their operands.
pub fn text(expression: &Expression, schema: &Schema) -> String {
    let mut out = String::new();
    append(&mut out, expression, schema, false);
    out
}

/// The text of a value that is written as one.
fn in_words(value: &Value, data_type: &DataType) -> Option<Value> {
    let data_type = data_type.inner();
    let is_text = data_type.is_date_or_time()
        || matches!(
            data_type,
            DataType::UUID | DataType::IPv4 | DataType::IPv6 | DataType::Enum8(_) | DataType::Enum16(_)
        );
    if !is_text || value.is_null() {
        return None;
    }
    cast_value(value, data_type, &DataType::String, &CastOptions::default()).ok()
}

fn append(out: &mut String, expression: &Expression, schema: &Schema, is_operand: bool) {
    match expression {
        Expression::Column { position, .. } => match schema.fields.get(*position) {
            Some((name, _)) => out.push_str(name),
            None => {
                // Writing to a string does not fail.
                let _ = write!(out, "column {position}");
            }
        },
        Expression::Constant { value, data_type } => match in_words(value, data_type) {
            Some(words) => append_constant(out, &words),
            None => append_constant(out, value),
        },
        Expression::HigherOrder { name, lambda, operands, .. } => {
            let parameters: Vec<&str> = lambda.schema.names().take(lambda.parameters).collect();
            // Writing to a string does not fail.
            let _ = match &parameters[..] {
                [only] => write!(out, "{name}({only} -> "),
                several => write!(out, "{name}(({}) -> ", several.join(", ")),
            };
            append(out, &lambda.body, &lambda.schema, false);
            for argument in operands.iter().take(operands.len() - lambda.captured()) {
                out.push_str(", ");
                append(out, argument, schema, false);
            }
            out.push(')');
        }
        Expression::Function { name, arguments, .. } => {
            let Some(operator) = operator(name).filter(|_| arguments.len() >= 2) else {
                out.push_str(name);
                out.push('(');
                for (at, argument) in arguments.iter().enumerate() {
                    if at > 0 {
                        out.push_str(", ");
                    }
                    append(out, argument, schema, false);
                }
                out.push(')');
                return;
            };
            if is_operand {
                out.push('(');
            }
            for (at, argument) in arguments.iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                    out.push_str(operator);
                    out.push(' ');
                }
                append(out, argument, schema, true);
            }
            if is_operand {
                out.push(')');
            }
        }
    }
}

fn operator(function: &str) -> Option<&'static str> {
    Some(match function {
        "and" => "AND",
        "or" => "OR",
        "equals" => "=",
        "notEquals" => "!=",
        "less" => "<",
        "lessOrEquals" => "<=",
        "greater" => ">",
        "greaterOrEquals" => ">=",
        "plus" => "+",
        "minus" => "-",
        "multiply" => "*",
        "divide" => "/",
        "modulo" => "%",
        "like" => "LIKE",
        "notLike" => "NOT LIKE",
        "in" => "IN",
        "notIn" => "NOT IN",
        _ => return None,
    })
}
