//! The steps of a plan as text: their names, as far as they are ClickHouse's, and what each does.

use squall_types::{Column, Schema};

use super::expression_text::brief_text;
use crate::expression::Expression;
use crate::plan::{Aggregate, JoinKey, Plan, Scan, SortKey, WindowFrame};

/// The name of a step.
pub(super) fn name(plan: &Plan) -> String {
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

/// What a step does, a line each.
pub(super) fn details(plan: &Plan) -> Vec<String> {
    match plan {
        Plan::Scan(Scan { table, schema, predicate, bounds, limit, .. }) => {
            let columns =
                (!schema.is_empty()).then(|| format!("Columns: {}", schema.names().collect::<Vec<_>>().join(", ")));
            let predicate =
                predicate.iter().map(|predicate| format!("Filter column: {}", brief_text(predicate, schema)));
            let bounds = bounds.iter().filter_map(|bound| {
                let column = table.columns().get(bound.column)?;
                Some(format!("Runtime bounds: {} by the keys of join {}", column.name, bound.join))
            });
            let limit = limit.iter().map(|limit| format!("Limit {limit}"));
            columns.into_iter().chain(predicate).chain(bounds).chain(limit).collect()
        }
        Plan::Filter { input, predicate } => vec![format!("Filter column: {}", brief_text(predicate, input.schema()))],
        Plan::Project { input, expressions, schema } => expressions
            .iter()
            .zip(schema.names())
            .map(|(expression, name)| match brief_text(expression, input.schema()) {
                text if text == name => format!("Expression: {text}"),
                text => format!("Expression: {text} AS {name}"),
            })
            .collect(),
        Plan::Aggregate(Aggregate { input, keys, aggregates, with_totals, limit, .. }) => {
            let aggregates = aggregates.iter().map(|call| {
                let arguments = call.arguments.iter().map(|argument| brief_text(argument, input.schema()));
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
                let equal =
                    |key: &JoinKey| format!("{} = {}", brief_text(&key.left, left), brief_text(&key.right, right));
                details.push(format!("Clauses: {}", join.keys.iter().map(equal).collect::<Vec<_>>().join(" AND ")));
            }
            if let Some(nearest) = &join.nearest {
                details.push(format!("ASOF inequality: {}", nearest.inequality));
                details.push(format!(
                    "Nearest: {} to {}",
                    brief_text(&nearest.right, right),
                    brief_text(&nearest.left, left)
                ));
            }
            if let Some(condition) = &join.condition {
                let fields = left.fields.iter().chain(&right.fields).cloned().collect();
                details.push(format!("Residual filter: {}", brief_text(condition, &Schema { fields })));
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
                    format!("{} AS {}", name(*column), brief_text(expression, fill.input.schema()))
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
    expressions.iter().map(|expression| brief_text(expression, schema)).collect::<Vec<_>>().join(", ")
}

fn order(keys: &[SortKey], schema: &Schema) -> String {
    let key = |key: &SortKey| {
        let direction = if key.descending { "DESC" } else { "ASC" };
        let nulls = if key.nulls_first { " NULLS FIRST" } else { "" };
        format!("{} {direction}{nulls}", brief_text(&key.expression, schema))
    };
    keys.iter().map(key).collect::<Vec<_>>().join(", ")
}
