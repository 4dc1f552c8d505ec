//! The steps of a SELECT's plan, from its source up: filters, aggregation, windows, and what is done with rows at last.

use std::sync::Arc;

use squall_functions::FunctionContext;
use squall_types::Result;

use super::{Clauses, OrderKey};
use crate::analyzer::fill::{FillOf, Interpolated};
use crate::analyzer::graph::NodeId;
use crate::analyzer::limit::{RowRange, limited, limited_by};
use crate::analyzer::stage::{Missing, Stage, Unbuilt};
use crate::expression::Expression;
use crate::fill::{Fill, FillColumn};
use crate::plan::{Plan, SortKey};

/// Puts the steps of a SELECT on top of its source.
pub(super) fn build_steps(
    stage: &mut Stage<'_>,
    clauses: &Clauses,
    functions: &FunctionContext,
) -> Result<(), Unbuilt> {
    // What is computed once rows are grouped, or simply last.
    let mut last: Vec<NodeId> = clauses.items.iter().map(|item| item.node).collect();
    last.extend(clauses.order.iter().map(|key| key.node));
    last.extend(clauses.having.iter().copied());
    last.extend(clauses.qualify);
    last.extend(clauses.limit_by.iter().flat_map(|(keys, _)| keys));

    filter(stage, clauses, &last, functions)?;
    group(stage, clauses, &last, functions)?;
    stage.join_subqueries(&last, functions)?;
    stage.windows(&last)?;
    if let Some(qualify) = clauses.qualify {
        let predicate = stage.lower(qualify)?;
        stage.then(|input| Plan::Filter { input, predicate });
    }
    let outputs: Vec<(NodeId, Arc<str>)> = clauses.items.iter().map(|item| (item.node, item.name.clone())).collect();
    let selected: Vec<NodeId> = outputs.iter().map(|(node, _)| *node).collect();

    // With a LIMIT, most rows that are sorted are thrown away: what is selected is better computed afterwards.
    let sorts_first = clauses.limit.and_then(RowRange::rows).is_some_and(|(_, limit)| limit.is_some())
        && !clauses.order.is_empty()
        && !clauses.distinct
        && clauses.limit_by.is_none()
        && !clauses.has_fill()
        && last.iter().all(|node| stage.is_deterministic(*node));
    if sorts_first {
        sort(stage, &clauses.order)?;
        limit(stage, clauses, functions)?;
        stage.share(&selected)?;
        return Ok(stage.project(&outputs)?);
    }
    stage.share(&last)?;
    project_and_limit(stage, clauses, &outputs, functions)
}

/// Leaves the rows that WHERE and PREWHERE want; `last` is what is computed of them afterwards.
fn filter(
    stage: &mut Stage<'_>,
    clauses: &Clauses,
    last: &[NodeId],
    functions: &FunctionContext,
) -> Result<(), Unbuilt> {
    if clauses.filters.is_empty() {
        return Ok(());
    }
    let mut later = last.to_vec();
    later.extend(clauses.keys.iter().flat_map(|keys| &keys.keys));
    stage.unnest(&clauses.filters)?;
    stage.keep_random(&clauses.filters, &later)?;
    for filter in &clauses.filters {
        stage.filter(*filter, functions)?;
    }
    Ok(())
}

/// Groups rows, and leaves the groups that HAVING wants.
fn group(
    stage: &mut Stage<'_>,
    clauses: &Clauses,
    last: &[NodeId],
    functions: &FunctionContext,
) -> Result<(), Unbuilt> {
    let mut having = &clauses.having[..];
    if let Some(keys) = &clauses.keys {
        let aggregates = stage.aggregates_below(last, &keys.keys);
        if clauses.totals_of_having && stage.is_row_by_row(&clauses.having) {
            stage.aggregate_with_totals_of(&clauses.having, keys, &aggregates, functions)?;
            having = &[];
        } else {
            stage.aggregate(keys, &aggregates, clauses.with_totals, functions)?;
        }
    }
    stage.unnest(last)?;
    for having in having {
        stage.filter(*having, functions)?;
    }
    Ok(())
}

/// Computes what is selected, beside what rows are still sorted and limited by, and then sorts and limits.
fn project_and_limit(
    stage: &mut Stage<'_>,
    clauses: &Clauses,
    outputs: &[(NodeId, Arc<str>)],
    functions: &FunctionContext,
) -> Result<(), Unbuilt> {
    let mut columns = outputs.to_vec();
    let keys = clauses.order.iter().map(|key| key.node);
    for node in keys.chain(clauses.limit_by.iter().flat_map(|(keys, _)| keys.iter().copied())) {
        let is_constant = matches!(stage.lower(node), Ok(Expression::Constant { .. }));
        if !is_constant && !columns.iter().any(|(known, _)| *known == node) {
            columns.push((node, "key".into()));
        }
    }
    if clauses.has_fill() {
        add_filled(stage, clauses, &mut columns);
    }
    stage.project(&columns)?;
    if clauses.distinct {
        if columns.len() == outputs.len() {
            stage.then(|input| Plan::Distinct { input });
        } else {
            // Rows are told apart by what is selected alone, but what they are sorted by must stay.
            let keys = outputs.iter().map(|(node, _)| stage.lower(*node)).collect::<Result<_, _>>()?;
            stage.then(|input| Plan::LimitBy { input, offset: 0, limit: 1, keys });
        }
    }
    sort(stage, &clauses.order)?;
    if let Some((keys, range)) = &clauses.limit_by {
        let keys = keys.iter().map(|key| stage.lower(*key)).collect::<Result<Vec<_>, _>>()?;
        match range.rows() {
            Some((offset, Some(limit))) => stage.then(|input| Plan::LimitBy { input, offset, limit, keys }),
            _ => stage.try_then(|input| limited_by(input, *range, keys, functions))?,
        }
    }
    if clauses.has_fill() {
        fill(stage, clauses, &columns)?;
    }
    limit(stage, clauses, functions)?;
    if columns.len() > outputs.len() {
        stage.keep_first(outputs.len());
    }
    Ok(())
}

/// Adds the columns that WITH FILL needs: constants among the keys, and what INTERPOLATE reads.
fn add_filled(stage: &Stage<'_>, clauses: &Clauses, columns: &mut Vec<(NodeId, Arc<str>)>) {
    let keys = clauses.order.iter().filter(|key| key.fill.is_some()).map(|key| key.node);
    let known = |columns: &[(NodeId, Arc<str>)], node: NodeId| columns.iter().any(|(known, _)| *known == node);
    for node in keys {
        if !known(columns, node) {
            columns.push((node, "key".into()));
        }
    }
    let mut open: Vec<NodeId> =
        clauses.interpolated.iter().filter_map(|interpolated| interpolated.expression).collect();
    while let Some(node) = open.pop() {
        if known(columns, node) {
            continue;
        }
        if stage.is_column(node) {
            columns.push((node, "interpolated".into()));
        } else {
            open.extend(stage.children(node));
        }
    }
}

/// Puts in the rows that are missing.
fn fill(stage: &mut Stage<'_>, clauses: &Clauses, columns: &[(NodeId, Arc<str>)]) -> Result<(), Missing> {
    let position = |node: NodeId| columns.iter().position(|(known, _)| *known == node);
    let mut prefix = Vec::new();
    let mut filled: Vec<FillColumn> = Vec::new();
    for key in &clauses.order {
        let Some(column) = position(key.node) else { continue };
        match &key.fill {
            Some(fill) => {
                let FillOf { data_type, from, to, step, staleness } = (**fill).clone();
                filled.push(FillColumn { column, data_type, descending: key.descending, from, to, step, staleness });
            }
            None if filled.is_empty() && clauses.fills_groups => prefix.push(column),
            None => {}
        }
    }
    let mut interpolated = Vec::with_capacity(clauses.interpolated.len());
    for Interpolated { item, expression } in &clauses.interpolated {
        let expression = match expression {
            Some(expression) => stage.lower(*expression)?,
            None => Expression::column(*item, &stage.column_type(*item)),
        };
        if !prefix.contains(item) {
            interpolated.push((*item, expression));
        }
    }
    stage.then(|input| Plan::Fill(Fill { input, prefix, columns: filled, interpolated }));
    Ok(())
}

fn sort_keys(stage: &Stage<'_>, order: &[OrderKey]) -> Result<Vec<SortKey>, Missing> {
    let key = |key: &OrderKey| {
        Ok(SortKey { expression: stage.lower(key.node)?, descending: key.descending, nulls_first: key.nulls_first })
    };
    order.iter().map(key).collect()
}

fn sort(stage: &mut Stage<'_>, order: &[OrderKey]) -> Result<(), Missing> {
    if !order.is_empty() {
        let mut keys = sort_keys(stage, order)?;
        // Of a constant that is filled.
        keys.retain(|key| !matches!(key.expression, Expression::Constant { .. }));
        if keys.is_empty() {
            return Ok(());
        }
        stage.then(|input| Plan::Sort { input, keys, limit: None, group_limit: None });
    }
    Ok(())
}

fn limit(stage: &mut Stage<'_>, clauses: &Clauses, functions: &FunctionContext) -> Result<(), Unbuilt> {
    let Some(range) = clauses.limit else { return Ok(()) };
    let ties = clauses.with_ties.then(|| sort_keys(stage, &clauses.order)).transpose()?;
    match range.rows() {
        Some((0, None)) => {}
        Some((offset, limit)) => stage.then(|input| Plan::Limit { input, offset, limit, ties }),
        None => stage.try_then(|input| limited(input, range, ties, functions))?,
    }
    Ok(())
}
