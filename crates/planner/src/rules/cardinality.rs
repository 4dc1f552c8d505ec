//! How many rows a step gives, as an estimate: from the rows of tables, the statistics of their columns, and the smallest and largest values. Of an
//! integer column no more values are taken to be there than there are numbers between these two. Where nothing is known, the usual guesses
//! stand.

use std::sync::Arc;

use squall_types::Value;

use super::conjuncts;
use crate::column_statistics::ColumnStatistics;
use crate::expression::Expression;
use crate::plan::{Aggregate, Join, JoinKey, JoinKind, JoinStrictness, Plan, Scan};

/// Which of the rows pass a condition of which nothing is known.
pub(super) const OF_CONDITION: f64 = 1.0 / 3.0;
/// Which of the rows have one value, where nobody knows how many values there are.
const OF_VALUE: f64 = 0.05;
/// Which of the rows match a pattern.
const OF_PATTERN: f64 = 0.1;
/// Estimates of numbers of values are hardly ever off by more.
const OFF_BY: f64 = 0.2;
/// How many items an array has.
const ITEMS: f64 = 4.0;

/// The rows that a step gives; `None` where a table below does not know its own.
pub(crate) fn rows(plan: &Plan) -> Option<f64> {
    Some(match plan {
        Plan::Scan(scan) => {
            let all = scan.table.rows()? as f64;
            let passed = scan.predicate.as_ref().map_or(1.0, |predicate| selectivity(predicate, plan));
            at_most(all * passed, scan.limit)
        }
        Plan::Values { blocks, .. } => blocks.iter().map(|block| block.rows() as f64).sum(),
        Plan::Filter { input, predicate } => rows(input)? * selectivity(predicate, input),
        Plan::Project { input, .. } | Plan::Window(crate::plan::Window { input, .. }) => rows(input)?,
        Plan::Fill(fill) => rows(&fill.input)?,
        Plan::LateColumns(late) => rows(&late.input)?,
        Plan::Sort { input, limit, .. } => at_most(rows(input)?, *limit),
        Plan::Limit { input, limit, ties: None, .. } => at_most(rows(input)?, *limit),
        Plan::Limit { input, .. } => rows(input)?,
        Plan::LimitBy { input, keys, limit, .. } => {
            let rows = rows(input)?;
            (groups(keys, input, rows) * *limit as f64).min(rows)
        }
        Plan::Distinct { input } => rows(input)?,
        Plan::Aggregate(Aggregate { input, keys, .. }) => groups(keys, input, rows(input)?),
        Plan::Union { inputs, .. } => inputs.iter().map(rows).sum::<Option<f64>>()?,
        Plan::ArrayJoin { input, .. } => rows(input)? * ITEMS,
        Plan::Join(join) => joined(join)?,
        Plan::CommonSubplan { input, .. } => rows(input)?,
        // They are those of a step elsewhere in the plan.
        Plan::CommonRows(_) => return None,
    })
}

fn at_most(rows: f64, limit: Option<u64>) -> f64 {
    limit.map_or(rows, |limit| rows.min(limit as f64))
}

/// What an aggregation's keys are expected to be.
#[derive(Clone, PartialEq, Debug)]
pub struct KeyEstimates {
    /// The rows that are aggregated.
    pub rows: f64,
    /// How many groups they make.
    pub groups: f64,
    /// Of each key, how many values it has; `None` where nobody knows.
    pub values: Vec<Option<f64>>,
    /// How many combinations of values there are at most; `None` where nobody knows.
    pub combinations: Option<f64>,
}

impl KeyEstimates {
    /// Those of an aggregation; `None` where a table below does not know its rows.
    pub fn of(aggregate: &Aggregate) -> Option<Self> {
        let rows = rows(&aggregate.input)?;
        let values = aggregate.keys.iter().map(|key| values_of_key(&aggregate.input, key)).collect();
        let mut columns = Vec::new();
        aggregate.keys.iter().for_each(|key| key.visit_columns(&mut |column| columns.push(column)));
        columns.sort_unstable();
        columns.dedup();
        let combinations = groups_at_most(&aggregate.input, &columns);
        Some(Self { rows, groups: groups(&aggregate.keys, &aggregate.input, rows), values, combinations })
    }
}

/// How many values a key has; of those of ROLLUP and its kin, whether their sets have them or not.
fn values_of_key(input: &Plan, key: &Expression) -> Option<f64> {
    match key {
        Expression::Function { name, arguments, .. } if &**name == "if" => match &arguments[..] {
            [_, value, Expression::Constant { .. }] => Some(values_of_key(input, value)? + 1.0),
            _ => None,
        },
        key => distinct(input, key),
    }
}

/// How many groups keys make of so many rows.
pub(super) fn groups(keys: &[Expression], input: &Plan, rows: f64) -> f64 {
    let values = keys.iter().map(|key| distinct(input, key).unwrap_or(rows / 3.0).max(1.0));
    values.product::<f64>().min(rows.max(1.0))
}

/// Numbers that lie close together: the smallest and the largest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span(f64, f64);

impl Span {
    /// How many numbers it has, at least one.
    pub(super) fn width(self) -> f64 {
        (self.1 - self.0 + 1.0).max(1.0)
    }

    /// What it has in common with another one.
    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0.max(other.0), self.1.min(other.1))
    }
}

/// The values of a key over all rows of the table that it is from; `None` where nobody knows, or where it is computed.
pub(super) fn key_span(plan: &Plan, key: &Expression) -> Option<Span> {
    let position = match key {
        Expression::Column { position, .. } => *position,
        Expression::Function { name, arguments, .. } if is_cast(name) => match arguments.first()? {
            Expression::Column { position, .. } => *position,
            _ => return None,
        },
        _ => return None,
    };
    let (scan, position) = source(plan, position)?;
    let (least, most) = range(scan, position)?;
    Some(Span(least, most))
}

/// What the two sides of a key have in common.
pub(super) struct CommonKeys {
    /// How many values, at most.
    pub(super) values: f64,
    /// Which part of the values of each side's table these are.
    left: f64,
    pub(super) right: f64,
    /// The rows of these tables.
    left_table: f64,
    pub(super) right_table: f64,
}

impl CommonKeys {
    /// `None` where the values of a side are not known.
    pub(super) fn of(join: &Join, key: &JoinKey) -> Option<Self> {
        let (left, right) = (key_span(&join.left, &key.left)?, key_span(&join.right, &key.right)?);
        let values = left.and(right).width();
        Some(Self {
            values,
            left: values / left.width(),
            right: values / right.width(),
            left_table: source_rows(&join.left, &key.left)?,
            right_table: source_rows(&join.right, &key.right)?,
        })
    }
}

fn is_cast(name: &str) -> bool {
    matches!(name, "CAST" | "_CAST" | "accurateCastOrNull")
}

/// How many of a step's rows may find a partner, where only a fraction of the values of the key's table are keys of the other side. Few
/// rows of the table are all taken to be among those: who asks for a year asks for one of which there are rows. Conditions that leave
/// more rows than that, as those of a day of the week, leave the same part of them everywhere.
pub(super) fn rows_with_partner(rows: f64, of_table: f64, fraction: f64) -> f64 {
    if rows <= of_table * fraction { rows } else { rows * fraction }
}

fn joined(join: &Join) -> Option<f64> {
    let (left, right) = (rows(&join.left)?, rows(&join.right)?);
    let (mut left_found, mut right_found) = (left, right);
    let mut values = 1.0_f64;
    for key in &join.keys {
        let mut of_left = distinct(&join.left, &key.left).unwrap_or(left);
        let mut of_right = distinct(&join.right, &key.right).unwrap_or(right);
        if let Some(common) = CommonKeys::of(join, key) {
            of_left = of_left.min(common.values);
            of_right = of_right.min(common.values);
            left_found = rows_with_partner(left_found, common.left_table, common.left);
            right_found = rows_with_partner(right_found, common.right_table, common.right);
        }
        values *= of_left.max(of_right).max(1.0);
    }
    let pairs = left_found * right_found / values.min(left.max(right).max(1.0));
    let pairs = if join.condition.is_some() { pairs * OF_CONDITION } else { pairs };
    Some(match join.strictness {
        JoinStrictness::All => match join.kind {
            JoinKind::Inner => pairs,
            JoinKind::Left => pairs.max(left),
            JoinKind::Right => pairs.max(right),
            JoinKind::Full => pairs.max(left + right),
        },
        JoinStrictness::Semi => left.min(pairs),
        JoinStrictness::Anti => left * OF_CONDITION,
        JoinStrictness::Any | JoinStrictness::RightAny | JoinStrictness::Asof => match join.kind {
            JoinKind::Inner => left.min(pairs),
            _ => left,
        },
        JoinStrictness::Paste => left.min(right),
    })
}

/// No more than so many combinations of values of some columns; `None` where nobody knows.
pub(super) fn groups_at_most(plan: &Plan, columns: &[usize]) -> Option<f64> {
    // By table, the product of its columns' numbers of values.
    let mut tables: Vec<(&Scan, f64)> = Vec::new();
    for column in columns {
        let (scan, position) = source(plan, *column)?;
        let rows = scan.table.rows()? as f64;
        let values = values_of(scan, position).unwrap_or(rows).min(chosen_values(plan, *column).unwrap_or(rows));
        match tables.iter_mut().find(|(known, _)| std::ptr::eq(*known, scan)) {
            Some((_, all)) => *all = (*all * values).min(rows),
            None => tables.push((scan, values)),
        }
    }
    Some(tables.iter().map(|(_, values)| values.max(1.0)).product())
}

/// How many values conditions name that a column has to have one of; `None` where there is no such condition.
fn chosen_values(plan: &Plan, position: usize) -> Option<f64> {
    let (condition, input) = match plan {
        Plan::Scan(scan) => (scan.predicate.as_ref()?, None),
        Plan::Filter { input, predicate } => (predicate, Some(input)),
        Plan::Project { input, expressions, .. } => {
            return chosen_values(input, only_column(expressions.get(position)?)?);
        }
        Plan::Join(join) => {
            return match join.left_columns.get(position) {
                Some(of_left) => chosen_values(&join.left, *of_left),
                None => {
                    let of_right = join.right_columns.get(position - join.left_columns.len())?;
                    chosen_values(&join.right, *of_right)
                }
            };
        }
        _ => return None,
    };
    let mut parts = Vec::new();
    conjuncts(condition.clone(), &mut parts);
    let own = parts.iter().filter_map(chosen).filter(|(column, _)| *column == position);
    let fewest = own.map(|(_, values)| values).reduce(f64::min);
    let below = input.and_then(|input| chosen_values(input, position));
    fewest.into_iter().chain(below).reduce(f64::min)
}

/// The column that a condition gives constants for, and how many.
fn chosen(condition: &Expression) -> Option<(usize, f64)> {
    let Expression::Function { name, arguments, .. } = condition else { return None };
    match (&**name, &arguments[..]) {
        (
            "equals",
            [Expression::Column { position, .. }, Expression::Constant { .. }]
            | [Expression::Constant { .. }, Expression::Column { position, .. }],
        ) => Some((*position, 1.0)),
        ("in", [Expression::Column { position, .. }, set]) => match set.constant()? {
            Value::Array(items) => Some((*position, items.len() as f64)),
            _ => None,
        },
        _ => None,
    }
}

/// The rows of the largest table that a plan reads; `None` where some table does not know.
pub(super) fn largest_table(plan: &Plan) -> Option<f64> {
    match plan {
        Plan::Scan(scan) => Some(scan.table.rows()? as f64),
        other => other.inputs().map(largest_table).try_fold(0.0, |most, rows| Some(rows?.max(most))),
    }
}

/// How many values an expression has over all rows that a step gives; `None` where nobody knows.
pub(super) fn distinct(plan: &Plan, expression: &Expression) -> Option<f64> {
    let (scan, position) = source(plan, only_column(expression)?)?;
    values_of(scan, position)
}

/// How many values a column of a table has; `None` where nobody knows.
fn values_of(scan: &Scan, position: usize) -> Option<f64> {
    let by_range = range(scan, position).map(|(least, most)| most - least + 1.0);
    let most = by_range.unwrap_or(f64::INFINITY).min(scan.table.rows()? as f64);
    match statistics(scan, position) {
        Some(statistics) if statistics.distinct * (1.0 + OFF_BY) < most => Some(statistics.distinct),
        // As many as there can be, as far as such estimates tell.
        Some(_) => Some(most),
        None => by_range.map(|_| most),
    }
}

fn statistics(scan: &Scan, position: usize) -> Option<Arc<ColumnStatistics>> {
    scan.table.column_statistics(*scan.columns.get(position)?)
}

/// What is known of a step's column where an argument is that column and nothing else.
fn statistics_of(plan: &Plan, argument: &Expression) -> Option<Arc<ColumnStatistics>> {
    let Expression::Column { position, .. } = argument else { return None };
    let (scan, position) = source(plan, *position)?;
    statistics(scan, position)
}

/// The only column that an expression reads: it has no more values than that.
pub(super) fn only_column(expression: &Expression) -> Option<usize> {
    let mut found: Option<usize> = None;
    let mut is_only = true;
    expression.visit_columns(&mut |position| is_only &= *found.get_or_insert(position) == position);
    found.filter(|_| is_only)
}

/// The rows of the table that a step's column is from, before anything is left out.
pub(super) fn source_rows(plan: &Plan, expression: &Expression) -> Option<f64> {
    let (scan, _) = source(plan, only_column(expression)?)?;
    Some(scan.table.rows()? as f64)
}

/// The scan that a step's column is from, and its position there.
fn source(plan: &Plan, position: usize) -> Option<(&Scan, usize)> {
    match plan {
        Plan::Scan(scan) => Some((scan, position)),
        Plan::Filter { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Limit { input, .. }
        | Plan::LimitBy { input, .. }
        | Plan::CommonSubplan { input, .. }
        | Plan::Distinct { input } => source(input, position),
        Plan::Project { input, expressions, .. } => source(input, only_column(expressions.get(position)?)?),
        Plan::Aggregate(Aggregate { input, keys, .. }) => source(input, only_column(keys.get(position)?)?),
        Plan::Window(window) if position < window.input.schema().len() => source(&window.input, position),
        Plan::ArrayJoin { input, .. } if position < input.schema().len() => source(input, position),
        Plan::Join(join) => match join.left_columns.get(position) {
            Some(of_left) => source(&join.left, *of_left),
            None => source(&join.right, *join.right_columns.get(position - join.left_columns.len())?),
        },
        Plan::Values { .. }
        | Plan::Union { .. }
        | Plan::Fill(_)
        | Plan::Window(_)
        | Plan::ArrayJoin { .. }
        | Plan::LateColumns(_)
        | Plan::CommonRows(_) => None,
    }
}

/// The smallest and largest number of a column whose values are evenly spaced.
fn range(scan: &Scan, position: usize) -> Option<(f64, f64)> {
    let column = *scan.columns.get(position)?;
    let data_type = scan.schema.fields.get(position)?.1.inner();
    if !data_type.is_integer() && !data_type.is_date_or_time() {
        return None;
    }
    let (least, most) = scan.table.column_range(column)?;
    Some((least.as_f64()?, most.as_f64()?))
}

/// What several comparisons of one column with constants leave of its values.
struct Bounds {
    column: usize,
    all: (f64, f64),
    left: (f64, f64),
}

/// Which of a step's rows pass a condition, from 0 to 1.
pub(super) fn selectivity(condition: &Expression, input: &Plan) -> f64 {
    let mut parts = Vec::new();
    conjuncts(condition.clone(), &mut parts);
    let mut bounds: Vec<Bounds> = Vec::new();
    // By column, of the condition that leaves the fewest of those that name its values: another one leaves them, or none.
    let mut chosen_shares: Vec<(usize, f64)> = Vec::new();
    let mut passed = 1.0;
    for part in &parts {
        if let Some((column, _)) = chosen(part) {
            let share = of_part(part, input);
            match chosen_shares.iter_mut().find(|(known, _)| *known == column) {
                Some((_, fewest)) => *fewest = fewest.min(share),
                None => chosen_shares.push((column, share)),
            }
            continue;
        }
        match bound(part, input) {
            Some((column, all, (least, most))) => match bounds.iter_mut().find(|known| known.column == column) {
                Some(known) => known.left = (known.left.0.max(least), known.left.1.min(most)),
                None => bounds.push(Bounds { column, all, left: (least.max(all.0), most.min(all.1)) }),
            },
            None => passed *= of_part(part, input),
        }
    }
    passed *= chosen_shares.iter().map(|(_, share)| share).product::<f64>();
    for Bounds { column, all, left } in bounds {
        if chosen_shares.iter().any(|(known, _)| *known == column) {
            continue;
        }
        passed *= ((left.1 - left.0 + 1.0) / (all.1 - all.0 + 1.0)).clamp(0.0, 1.0);
    }
    passed.clamp(0.0, 1.0)
}

/// The column that a part bounds, its values' bounds and those that the part asks for.
#[allow(clippy::type_complexity)] // Two pairs of bounds.
fn bound(part: &Expression, input: &Plan) -> Option<(usize, (f64, f64), (f64, f64))> {
    let Expression::Function { name, arguments, .. } = part else { return None };
    let [one, other] = &arguments[..] else { return None };
    let (column, constant, is_turned) = match (one, other) {
        (Expression::Column { position, .. }, Expression::Constant { value, .. }) => (*position, value, false),
        (Expression::Constant { value, .. }, Expression::Column { position, .. }) => (*position, value, true),
        _ => return None,
    };
    let (scan, position) = source(input, column)?;
    let all = range(scan, position)?;
    let constant = constant.as_f64()?;
    let endless = (f64::NEG_INFINITY, f64::INFINITY);
    let left = match (&**name, is_turned) {
        ("less", false) | ("greater", true) => (endless.0, constant - 1.0),
        ("lessOrEquals", false) | ("greaterOrEquals", true) => (endless.0, constant),
        ("greater", false) | ("less", true) => (constant + 1.0, endless.1),
        ("greaterOrEquals", false) | ("lessOrEquals", true) => (constant, endless.1),
        _ => return None,
    };
    Some((column, all, left))
}

fn of_part(part: &Expression, input: &Plan) -> f64 {
    if let Some(value) = part.constant() {
        return if value.as_f64().is_some_and(|value| value != 0.0) { 1.0 } else { 0.0 };
    }
    let Expression::Function { name, arguments, .. } = part else { return OF_CONDITION };
    let of_one_value = || {
        if let [left, right] = &arguments[..]
            && let Some(share) = share_of(left, right, input).or_else(|| share_of(right, left, input))
        {
            return share;
        }
        let known = arguments.iter().filter_map(|argument| distinct(input, argument)).reduce(f64::max);
        known.map_or(OF_VALUE, |values| 1.0 / values.max(1.0))
    };
    match (&**name, &arguments[..]) {
        ("or", parts) => 1.0 - parts.iter().map(|part| 1.0 - selectivity(part, input)).product::<f64>(),
        ("not", [part]) => 1.0 - selectivity(part, input),
        ("equals" | "isNotDistinctFrom", _) => of_one_value(),
        ("notEquals", [left, right]) => {
            let nulls = |argument| statistics_of(input, argument).map_or(0.0, |statistics| statistics.nulls);
            (1.0 - of_one_value() - nulls(left).max(nulls(right))).max(0.0)
        }
        ("in", [value, set]) => match set.constant() {
            Some(Value::Array(items)) if let Some(statistics) = statistics_of(input, value) => {
                let values = distinct(input, value).unwrap_or(statistics.distinct);
                items.iter().map(|item| statistics.share_of(item, values)).sum::<f64>().min(1.0)
            }
            Some(Value::Array(items)) => {
                let one = distinct(input, value).map_or(OF_VALUE, |values| 1.0 / values.max(1.0));
                (items.len() as f64 * one).min(1.0)
            }
            _ => OF_CONDITION,
        },
        ("like" | "ilike" | "match" | "startsWith" | "endsWith" | "hasToken", _) => OF_PATTERN,
        ("notLike" | "notILike", _) => 1.0 - OF_PATTERN,
        ("isNull", [value]) => statistics_of(input, value).map_or(OF_VALUE, |statistics| statistics.nulls),
        ("isNotNull", [value]) => 1.0 - statistics_of(input, value).map_or(OF_VALUE, |statistics| statistics.nulls),
        _ => OF_CONDITION,
    }
}

/// Which of the rows have a constant in a column, where its values are known.
fn share_of(column: &Expression, constant: &Expression, input: &Plan) -> Option<f64> {
    Some(statistics_of(input, column)?.share_of(constant.constant()?, distinct(input, column)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_leave_rows_that_have_partners() {
        // Of 20 years of days the sales of 5 are there.
        let (days, fraction) = (7300.0, Span(0.0, 7299.0).and(Span(3000.0, 4824.0)).width() / 7300.0);
        assert!((rows_with_partner(days, days, fraction) - 1825.0).abs() < 1e-6);
        assert!((rows_with_partner(365.0, days, fraction) - 365.0).abs() < 1e-6);
        assert!((rows_with_partner(3650.0, days, fraction) - 912.5).abs() < 1e-6);
        // Rows of joins are more than those of the table that has the key.
        assert!((rows_with_partner(73_000.0, days, fraction) - 18_250.0).abs() < 1e-6);
        assert!((Span(1.0, 5.0).and(Span(7.0, 9.0)).width() - 1.0).abs() < 1e-6);
    }
}
