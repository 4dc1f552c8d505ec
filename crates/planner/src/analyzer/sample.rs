//! SAMPLE: the rows whose sampling key is within a part of its range.

use std::sync::Arc;

use squall_sql::ast;
use squall_types::{DataType, Error, ErrorCode, Result, Value};

use super::Analyzer;
use super::scope::Scope;
use super::source::Source;
use super::stage::project;
use crate::expression::Expression;
use crate::plan::Plan;

/// A table with so much of its rows, and with the column `_sample_factor`.
///
/// # Errors
/// `SAMPLING_NOT_SUPPORTED` where the table has no SAMPLE BY.
pub(super) fn sampled(analyzer: &Analyzer<'_>, source: Source, sample: &ast::Sample) -> Result<Source> {
    let (database, name) = (source.database.clone(), source.table.clone());
    let table = source.as_table().cloned();
    let Some((table, key)) = table.and_then(|table| table.sampling_key().cloned().map(|key| (table, key))) else {
        let name = match (&database, &name) {
            (Some(database), Some(name)) => format!("{database}.{name}"),
            _ => String::new(),
        };
        return Err(Error::new(ErrorCode::SAMPLING_NOT_SUPPORTED, format!("Storage {name} doesn't support sampling")));
    };
    let mut scope = Scope::without_select(analyzer, None);
    let visible = source.asterisk();
    let hidden: Vec<usize> = (0..source.table_columns()).filter(|column| !visible.contains(column)).collect();
    scope.source = source;
    let (mut names, mut nodes): (Vec<Arc<str>>, Vec<_>) = (Vec::new(), Vec::new());
    for column in visible.iter().chain(&hidden) {
        let name = scope.source.name(*column).to_owned();
        nodes.push(scope.resolve(&ast::Expression::identifier(name.as_str()))?);
        names.push(name.into());
    }
    let key = super::text::parse_expression(&key)?;
    let key = scope.resolve(&key)?;
    let settings = analyzer.context.settings;
    let replica = Replica { count: settings.parallel_replicas_count, number: settings.parallel_replica_offset };
    let range = Range::of(scope.graph.data_type(key), sample, replica, &|| table.rows().unwrap_or(0))?;
    let mut conditions = Vec::new();
    for (name, bound) in [("greaterOrEquals", range.begin), ("less", range.end)] {
        if let Some(bound) = bound {
            let bound = scope.graph.constant(Value::UInt64(bound), DataType::UInt64);
            conditions.push(scope.scalar(name, vec![key, bound])?);
        }
    }
    if range.is_empty {
        conditions = vec![scope.graph.constant(Value::UInt64(0), DataType::UInt8)];
    }
    let graph = scope.graph;
    let mut source = scope.source;
    let mut stage = source.take_stage(&graph);
    for condition in conditions {
        let predicate = stage.lower(condition)?;
        stage.then(|input| Plan::Filter { input, predicate });
    }
    let mut expressions = nodes.iter().map(|node| stage.lower(*node)).collect::<Result<Vec<_>, _>>()?;
    expressions.push(Expression::Constant { value: Value::Float64(range.factor), data_type: DataType::Float64 });
    names.push("_sample_factor".into());
    let plan = project(stage.into_plan(), expressions, names.into_iter());
    Ok(Source::plan(plan).named(database.as_deref(), name.as_deref()).with_virtual_columns(hidden.len() + 1))
}

/// A part of the range of a sampling key.
struct Range {
    /// The first value; none for the least.
    begin: Option<u64>,
    /// The value behind the last; none for the greatest.
    end: Option<u64>,
    is_empty: bool,
    /// How many rows each row stands for.
    factor: f64,
}

/// Which of several servers this is that share a sample among them, as whoever asks them says: each reads an equal part.
#[derive(Clone, Copy)]
struct Replica {
    count: u64,
    number: u64,
}

/// A number between 0 and 1.
#[derive(Clone, Copy)]
struct Fraction {
    numerator: u128,
    denominator: u128,
}

impl Fraction {
    /// A share as it is written; a number of rows, which is more than 1, as the share of all.
    fn of(ratio: &ast::Ratio, rows: &dyn Fn() -> u64) -> Self {
        let (mut numerator, mut denominator) = (ratio.numerator, ratio.denominator.max(1));
        if numerator > denominator {
            denominator = denominator.saturating_mul(rows().max(1).into());
            numerator = numerator.min(denominator);
        }
        Self::small(numerator, denominator)
    }

    /// So that products with a range of 64 bits fit.
    fn small(mut numerator: u128, mut denominator: u128) -> Self {
        while numerator.max(denominator) >> 62 > 0 {
            numerator >>= 1;
            denominator >>= 1;
        }
        Self { numerator, denominator: denominator.max(1) }
    }

    fn plus(self, other: Self) -> Self {
        let denominator = self.denominator * other.denominator;
        Self::small(self.numerator * other.denominator + other.numerator * self.denominator, denominator)
    }

    fn is_nothing(self) -> bool {
        self.numerator == 0
    }

    /// So much of a range.
    fn part_of(self, size: u128) -> u128 {
        self.numerator * size / self.denominator
    }
}

impl Range {
    fn of(data_type: &DataType, sample: &ast::Sample, replica: Replica, rows: &dyn Fn() -> u64) -> Result<Self> {
        let size: u128 = match data_type {
            DataType::UInt8 => 1 << 8,
            DataType::UInt16 => 1 << 16,
            DataType::UInt32 => 1 << 32,
            DataType::UInt64 => 1 << 64,
            other => {
                let message = format!("Invalid sampling column type in storage parameters: {other}");
                return Err(Error::new(ErrorCode::ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER, message));
            }
        };
        let mut share = Fraction::of(&sample.size, rows);
        let mut offset = sample.offset.as_ref().map(|offset| Fraction::of(offset, rows));
        let factor = share.denominator as f64 / share.numerator.max(1) as f64;
        if replica.count > 1 {
            let whole = if share.is_nothing() { Fraction { numerator: 1, denominator: 1 } } else { share };
            share = Fraction::small(whole.numerator, whole.denominator.saturating_mul(replica.count.into()));
            let before = Fraction::small(share.numerator.saturating_mul(replica.number.into()), share.denominator);
            offset = Some(offset.map_or(before, |offset| offset.plus(before)));
        }
        if share.is_nothing() && offset.is_none() {
            return Ok(Self { begin: None, end: None, is_empty: false, factor: 1.0 });
        }
        let begin = offset.map_or(0, |offset| offset.part_of(size));
        let end = match offset {
            None => share.part_of(size),
            // As one fraction, so that rounding is that of the sum.
            Some(offset) => match share.numerator.checked_mul(offset.denominator) {
                Some(_) if share.denominator >> 31 == 0 && offset.denominator >> 31 == 0 => {
                    let denominator = share.denominator * offset.denominator;
                    let numerator = share.numerator * offset.denominator + offset.numerator * share.denominator;
                    Fraction { numerator: numerator.min(denominator), denominator }.part_of(size)
                }
                _ => begin.saturating_add(share.part_of(size)).min(size),
            },
        };
        Ok(Self {
            begin: u64::try_from(begin).ok().filter(|begin| *begin > 0),
            end: u64::try_from(end).ok().filter(|_| end < size),
            is_empty: begin >= size,
            factor,
        })
    }
}
