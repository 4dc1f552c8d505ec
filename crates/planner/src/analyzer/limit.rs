//! LIMIT and OFFSET that count from the end or take a part of the rows: both need the number of all rows, so each row gets its number and
//! that of all, as window functions give them, and a filter chooses.

use std::sync::Arc;

use squall_functions::{FunctionContext, resolve_aggregate, resolve_window};
use squall_sql::ast;
use squall_types::{DataType, Error, ErrorCode, Result, Schema, Value};

use super::scope::Scope;
use super::stage::project;
use crate::expression::Expression;
use crate::plan::{FrameBound, FrameUnit, Plan, SortKey, Window, WindowCall, WindowCallFunction, WindowFrame};
use crate::rules::call;

/// A number of rows, as LIMIT and OFFSET have it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum RowCount {
    /// So many, from the first on.
    Rows(u64),
    /// So many, from the last one back: `LIMIT -3`.
    FromEnd(u64),
    /// So much of all rows, between 0 and 1.
    Part(f64),
}

impl RowCount {
    /// The number where it counts from the first row on.
    pub fn rows(self) -> Option<u64> {
        match self {
            Self::Rows(rows) => Some(rows),
            Self::FromEnd(_) | Self::Part(_) => None,
        }
    }
}

/// LIMIT and OFFSET.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct RowRange {
    /// How many rows; none where only OFFSET is written.
    pub limit: Option<RowCount>,
    /// How many rows are passed over.
    pub offset: RowCount,
}

impl RowRange {
    /// Offset and limit, where both count from the first row on.
    pub fn rows(self) -> Option<(u64, Option<u64>)> {
        let offset = self.offset.rows()?;
        match self.limit {
            Some(limit) => Some((offset, Some(limit.rows()?))),
            None => Some((offset, None)),
        }
    }
}

impl Scope<'_> {
    /// The range of rows of a LIMIT and an OFFSET.
    ///
    /// # Errors
    /// `INVALID_LIMIT_EXPRESSION`; `NOT_IMPLEMENTED` for a part of the rows beside a number from the end.
    pub fn row_range(&mut self, limit: Option<&ast::Expression>, offset: Option<&ast::Expression>) -> Result<RowRange> {
        let limit = limit.map(|limit| self.row_count(limit, "LIMIT")).transpose()?;
        let offset = offset.map_or(Ok(RowCount::Rows(0)), |offset| self.row_count(offset, "OFFSET"))?;
        match (limit, offset) {
            (Some(RowCount::Part(_)), RowCount::FromEnd(_)) => Err(Error::new(
                ErrorCode::NOT_IMPLEMENTED,
                "Fractional LIMIT is not supported with negative OFFSET yet.",
            )),
            (Some(RowCount::FromEnd(_)), RowCount::Part(_)) => Err(Error::new(
                ErrorCode::NOT_IMPLEMENTED,
                "Negative LIMIT is not supported with fractional OFFSET yet.",
            )),
            _ => Ok(RowRange { limit, offset }),
        }
    }

    /// The number of a LIMIT or an OFFSET.
    fn row_count(&mut self, expression: &ast::Expression, clause: &str) -> Result<RowCount> {
        let node = self.resolve(expression)?;
        let is_integer = self.graph.data_type(node).inner().is_integer();
        match self.graph.constant_value(node) {
            Some(Value::UInt64(count)) if is_integer => Ok(RowCount::Rows(*count)),
            Some(Value::Int64(count)) if is_integer => Ok(match u64::try_from(*count) {
                Ok(count) => RowCount::Rows(count),
                Err(_) => RowCount::FromEnd(count.unsigned_abs()),
            }),
            Some(Value::Float64(part)) if *part > 0.0 && *part < 1.0 => Ok(RowCount::Part(*part)),
            // Numbers up to this are exact.
            Some(Value::Float64(count)) if count.trunc() == *count && count.abs() <= 9e15 => Ok(match *count >= 0.0 {
                true => RowCount::Rows(*count as u64),
                false => RowCount::FromEnd(count.abs() as u64),
            }),
            Some(Value::Float64(count)) => Err(Error::new(
                ErrorCode::INVALID_LIMIT_EXPRESSION,
                format!(
                    "The value {count} of {clause} expression is not representable as UInt64 or Int64 or Float64 in the \
                     range (0, 1)"
                ),
            )),
            _ => Err(self.in_scope(Error::new(
                ErrorCode::INVALID_LIMIT_EXPRESSION,
                format!(
                    "{clause} expression must be constant with numeric type. Actual: {}",
                    super::text::expression(expression)
                ),
            ))),
        }
    }
}

/// A plan whose rows are numbered, and the expressions that choose some of them.
struct Numbered<'a> {
    plan: Plan,
    functions: &'a FunctionContext,
}

/// The rows of a plan within a range, in their order. With `ties`, the order of the rows, also those that equal the last one, or the
/// first one where the range counts from the end.
///
/// # Errors
/// `LOGICAL_ERROR` where a function is missing.
pub(crate) fn limited(
    plan: Plan,
    range: RowRange,
    ties: Option<Vec<SortKey>>,
    functions: &FunctionContext,
) -> Result<Plan> {
    let schema = plan.schema().clone();
    let mut numbered = Numbered { plan, functions };
    let order = ties.clone().unwrap_or_default();
    let first = numbered.window(&[], &order, FrameBound::UnboundedPreceding, &["row_number", "rank", "count"])?;
    let row = |at: usize| Expression::column(first + at, &DataType::UInt64);
    let (number, rank, all) = (row(0), row(1), row(2));
    let mut conditions = Vec::new();
    let mut begin = numbered.constant(0);
    match range.offset {
        RowCount::Rows(offset) => begin = numbered.constant(offset),
        RowCount::Part(part) => begin = numbered.part(part, &all)?,
        RowCount::FromEnd(offset) => {
            let end = numbered.call("minus", all.clone(), numbered.constant(offset))?;
            conditions.push(numbered.call("lessOrEquals", number.clone(), end)?);
        }
    }
    let within = match range.limit {
        None => None,
        Some(RowCount::FromEnd(limit)) => {
            // Counted from where a negative offset ends.
            let skipped = match range.offset {
                RowCount::FromEnd(offset) => offset,
                RowCount::Rows(_) | RowCount::Part(_) => 0,
            };
            let last = numbered.call("minus", all.clone(), numbered.constant(limit.saturating_add(skipped)))?;
            let mut is_within = numbered.call("greater", number.clone(), last.clone())?;
            if ties.is_some() {
                let peers = numbered.window(&[], &order, FrameBound::CurrentRow, &["count"])?;
                let peers = Expression::column(peers, &DataType::UInt64);
                let past_peers = numbered.call("plus", rank, peers)?;
                let has_tie =
                    numbered.call("greater", past_peers, numbered.call("plus", last, numbered.constant(1))?)?;
                is_within = numbered.call("or", is_within, has_tie)?;
            }
            Some(is_within)
        }
        Some(limit) => {
            let limit = match limit {
                RowCount::Part(part) => numbered.part(part, &all)?,
                RowCount::Rows(rows) | RowCount::FromEnd(rows) => numbered.constant(rows),
            };
            let end = numbered.call("plus", begin.clone(), limit)?;
            let counted = if ties.is_some() { rank } else { number.clone() };
            Some(numbered.call("lessOrEquals", counted, end)?)
        }
    };
    conditions.extend(within);
    conditions.push(numbered.call("greater", number, begin)?);
    numbered.chosen(conditions, &schema)
}

/// The rows of a plan within a range of each group of equal `keys`, in their order.
///
/// # Errors
/// `LOGICAL_ERROR` where a function is missing.
pub(crate) fn limited_by(
    plan: Plan,
    range: RowRange,
    keys: Vec<Expression>,
    functions: &FunctionContext,
) -> Result<Plan> {
    let schema = plan.schema().clone();
    let mut numbered = Numbered { plan, functions };
    let place = numbered.window(&[], &[], FrameBound::UnboundedPreceding, &["row_number"])?;
    let by_place =
        SortKey { expression: Expression::column(place, &DataType::UInt64), descending: false, nulls_first: false };
    let by_key = |key: &Expression| SortKey { expression: key.clone(), descending: false, nulls_first: false };
    let order: Vec<SortKey> = keys.iter().map(by_key).chain([by_place.clone()]).collect();
    numbered.sort(order);
    let order = std::slice::from_ref(&by_place);
    let first = numbered.window(&keys, order, FrameBound::UnboundedPreceding, &["row_number", "count"])?;
    let number = Expression::column(first, &DataType::UInt64);
    let all = Expression::column(first + 1, &DataType::UInt64);
    let from_end = |numbered: &Numbered<'_>, count: u64| numbered.call("minus", all.clone(), numbered.constant(count));
    let mut conditions = Vec::new();
    let (begin, skipped) = match range.offset {
        RowCount::FromEnd(offset) => {
            conditions.push(numbered.call("lessOrEquals", number.clone(), from_end(&numbered, offset)?)?);
            (0, offset)
        }
        RowCount::Rows(offset) => (offset, 0),
        RowCount::Part(_) => return Err(no_parts()),
    };
    conditions.push(numbered.call("greater", number.clone(), numbered.constant(begin))?);
    match range.limit {
        Some(RowCount::FromEnd(limit)) => {
            conditions.push(numbered.call("greater", number, from_end(&numbered, limit.saturating_add(skipped))?)?);
        }
        Some(RowCount::Rows(limit)) => {
            let end = numbered.constant(begin.saturating_add(limit));
            conditions.push(numbered.call("lessOrEquals", number, end)?);
        }
        Some(RowCount::Part(_)) => return Err(no_parts()),
        None => {}
    }
    numbered.filter(conditions)?;
    numbered.sort(vec![by_place]);
    numbered.chosen(Vec::new(), &schema)
}

fn no_parts() -> Error {
    Error::new(ErrorCode::NOT_IMPLEMENTED, "Fractional LIMIT/OFFSET with LIMIT BY is not supported yet.")
}

impl Numbered<'_> {
    /// Adds functions of a window whose frame begins and ends alike: all of a partition, or a row's peers. Gives the first one's column.
    fn window(
        &mut self,
        partition_by: &[Expression],
        order_by: &[SortKey],
        begin: FrameBound,
        names: &[&str],
    ) -> Result<usize> {
        let end = match begin {
            FrameBound::UnboundedPreceding => FrameBound::UnboundedFollowing,
            other => other,
        };
        let mut fields = self.plan.schema().fields.clone();
        let first = fields.len();
        let mut calls = Vec::with_capacity(names.len());
        for name in names {
            let function = match *name {
                "count" => WindowCallFunction::Aggregate(resolve_aggregate(name, &[], &[])?),
                name => WindowCallFunction::Own(resolve_window(name, &[], false)?),
            };
            fields.push(((*name).into(), function.return_type().clone()));
            calls.push(WindowCall { name: (*name).into(), function, arguments: Vec::new() });
        }
        let (partition_by, order_by) = (partition_by.to_vec(), order_by.to_vec());
        let frame = WindowFrame { unit: FrameUnit::Range, begin, end };
        let schema = Arc::new(Schema { fields });
        self.plan.replace(|input| {
            Plan::Window(Window { input: Box::new(input), partition_by, order_by, frame, calls, schema })
        });
        Ok(first)
    }

    fn sort(&mut self, keys: Vec<SortKey>) {
        self.plan.replace(|input| Plan::Sort { input: Box::new(input), keys, limit: None, group_limit: None });
    }

    fn call(&self, name: &str, left: Expression, right: Expression) -> Result<Expression> {
        call(name, vec![left, right], self.functions)
    }

    /// A number of rows, signed: differences may be negative. No table has more rows than this holds.
    fn constant(&self, count: u64) -> Expression {
        Expression::Constant { value: Value::Int64(count.min(1 << 62) as i64), data_type: DataType::Int64 }
    }

    /// A part of all rows, rounded up.
    fn part(&self, part: f64, all: &Expression) -> Result<Expression> {
        let part = Expression::Constant { value: Value::Float64(part), data_type: DataType::Float64 };
        let rows = call("ceil", vec![self.call("multiply", all.clone(), part)?], self.functions)?;
        call("toInt64", vec![rows], self.functions)
    }

    fn filter(&mut self, conditions: Vec<Expression>) -> Result<()> {
        for predicate in conditions {
            self.plan.replace(|input| Plan::Filter { input: Box::new(input), predicate });
        }
        Ok(())
    }

    /// The rows for which all conditions hold, with the columns of before.
    fn chosen(mut self, conditions: Vec<Expression>, schema: &Schema) -> Result<Plan> {
        self.filter(conditions)?;
        let columns = schema.types().enumerate().map(|(at, data_type)| Expression::column(at, data_type)).collect();
        Ok(project(self.plan, columns, schema.fields.iter().map(|(name, _)| name.clone())))
    }
}
