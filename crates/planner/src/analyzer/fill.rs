//! WITH FILL and INTERPOLATE: their constants as values of the columns that they fill.

use squall_sql::ast;
use squall_types::{DataType, Error, ErrorCode, IntervalKind, Result, Value};

use super::graph::NodeId;
use super::scope::Scope;
use super::select::Item;
use crate::expression::Expression;
use crate::fill::{FillMark, FillStep, range};
use crate::rules::call;

/// What WITH FILL says of one key of the order.
#[derive(Clone)]
pub(crate) struct FillOf {
    pub data_type: DataType,
    pub from: Option<FillMark>,
    pub to: Option<FillMark>,
    pub step: FillStep,
    pub staleness: Option<FillStep>,
}

/// A selected column that INTERPOLATE computes, and from what.
#[derive(Clone)]
pub(crate) struct Interpolated {
    /// Its place among the selected ones.
    pub item: usize,
    /// What it is of the row before; `None` for the same.
    pub expression: Option<NodeId>,
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::INVALID_WITH_FILL_EXPRESSION, message.into())
}

impl Scope<'_> {
    /// What WITH FILL says of a key.
    ///
    /// # Errors
    /// `INVALID_WITH_FILL_EXPRESSION`.
    pub fn fill(&mut self, fill: &ast::WithFill, key: NodeId, descending: bool) -> Result<FillOf> {
        let data_type = self.graph.data_type(key).inner().clone();
        let incompatible =
            || invalid(format!("Incompatible types of WITH FILL expression values with column type {data_type}"));
        if range(&data_type).is_none() && !data_type.is_float() {
            return Err(incompatible());
        }
        let bound = |scope: &mut Self, expression: &Option<ast::Expression>, clause: &str| {
            let Some(expression) = expression else { return Ok(None) };
            let (value, of_type) = scope.fill_constant(expression, clause)?;
            let differs = of_type.is_date_or_time()
                && (std::mem::discriminant(&of_type) != std::mem::discriminant(&data_type)
                    || of_type.time_digits() != data_type.time_digits());
            let mark = mark(&value, &of_type, &data_type).filter(|_| !differs).ok_or_else(incompatible)?;
            if data_type.is_unsigned_integer() && mark.is_negative() {
                let message = format!("WITH FILL bound values cannot be negative for unsigned type {data_type}");
                return Err(invalid(message));
            }
            Ok(Some(mark))
        };
        let from = bound(self, &fill.from, "FROM")?;
        let to = bound(self, &fill.to, "TO")?;
        let step = match &fill.step {
            Some(step) => self.fill_step(step, "STEP", &data_type, descending)?,
            None => {
                let one = if descending { -1 } else { 1 };
                FillStep::Number(mark(&Value::Int64(one), &DataType::Int64, &data_type).ok_or_else(incompatible)?)
            }
        };
        let staleness = match &fill.staleness {
            Some(_) if from.is_some() => {
                return Err(invalid("WITH FILL STALENESS cannot be used together with WITH FILL FROM"));
            }
            Some(staleness) => Some(self.fill_step(staleness, "STALENESS", &data_type, descending)?),
            None => None,
        };
        if let (Some(from), Some(to)) = (from, to)
            && to.is_before(from, descending)
        {
            let (than, direction) = if descending { ("greater", "descending") } else { ("less", "ascending") };
            return Err(invalid(format!(
                "WITH FILL TO value cannot be {than} than FROM value for sorting in {direction} direction"
            )));
        }
        Ok(FillOf { data_type, from, to, step, staleness })
    }

    fn fill_constant(&mut self, expression: &ast::Expression, clause: &str) -> Result<(Value, DataType)> {
        let node = self.resolve(expression)?;
        let data_type = self.graph.data_type(node).inner().clone();
        let is_number = |data_type: &DataType| {
            data_type.is_any_number()
                || data_type.is_date_or_time()
                || matches!(data_type, DataType::Interval(_) if matches!(clause, "STEP" | "STALENESS"))
        };
        match self.graph.constant_value(node) {
            Some(value) if is_number(&data_type) => Ok((value.clone(), data_type)),
            _ => Err(self.in_scope(invalid(format!(
                "Sort FILL {clause} expression must be constant with numeric type. Actual: {}",
                super::text::expression(expression)
            )))),
        }
    }

    fn fill_step(
        &mut self,
        expression: &ast::Expression,
        clause: &str,
        data_type: &DataType,
        descending: bool,
    ) -> Result<FillStep> {
        let (value, of_type) = self.fill_constant(expression, clause)?;
        let size = value.as_f64().unwrap_or(f64::NAN);
        if size == 0.0 || size.is_nan() {
            return Err(invalid(format!("WITH FILL {clause} value cannot be zero")));
        }
        if (size < 0.0) != descending {
            let (sign, direction) = if descending { ("positive", "descending") } else { ("negative", "ascending") };
            return Err(invalid(format!(
                "WITH FILL {clause} value cannot be {sign} for sorting in {direction} direction"
            )));
        }
        let DataType::Interval(kind) = of_type else {
            let mark = mark(&value, &of_type, data_type).ok_or_else(|| {
                invalid(format!("Incompatible types of WITH FILL expression values with column type {data_type}"))
            })?;
            return Ok(FillStep::Number(mark));
        };
        if !data_type.is_date_or_time() {
            return Err(invalid(format!(
                "STEP of Interval type can be used only with Date/DateTime types, but got {data_type}"
            )));
        }
        let (mut kind, mut count) = (kind, value.as_i64().unwrap_or(0));
        if matches!(data_type, DataType::Date | DataType::Date32)
            && let Some(per_day) = units_of_a_day(kind)
        {
            if count.unsigned_abs() < per_day {
                let seconds = count.unsigned_abs() * 86_400 / per_day;
                return Err(invalid(format!("Value of step is too low ({seconds} seconds). Must be >= 1 day")));
            }
            (kind, count) = (IntervalKind::Day, count / per_day as i64);
        }
        let functions = &self.analyzer.context.functions;
        let one = Expression::Constant { value: Value::Int64(count), data_type: DataType::Int64 };
        let times = Expression::column(1, &DataType::Int64);
        let interval =
            call(&format!("toInterval{kind}"), vec![call("multiply", vec![one, times], functions)?], functions)?;
        let sum = call("plus", vec![Expression::column(0, data_type), interval], functions)?;
        Ok(FillStep::Interval(super::cast(sum, data_type, functions)?))
    }

    /// The columns that INTERPOLATE names; without a list all that are not among the keys of the order.
    ///
    /// # Errors
    /// `UNKNOWN_IDENTIFIER`; `INVALID_WITH_FILL_EXPRESSION` for a key of the order.
    pub fn interpolated(
        &mut self,
        columns: &[ast::InterpolateItem],
        items: &[Item],
        keys: &[NodeId],
    ) -> Result<Vec<Interpolated>> {
        if columns.is_empty() {
            let others = items.iter().enumerate().filter(|(_, item)| !keys.contains(&item.node));
            return Ok(others.map(|(item, _)| Interpolated { item, expression: None }).collect());
        }
        let mut interpolated = Vec::with_capacity(columns.len());
        for column in columns {
            let name = self.analyzer.identifier(&column.column)?;
            let Some(item) = items.iter().position(|item| &*item.name == name) else {
                return Err(self.unknown_identifier(std::slice::from_ref(&column.column), "expression"));
            };
            if keys.contains(&items[item].node) {
                return Err(invalid(format!(
                    "Column '{name}' is participating in ORDER BY expression and can't be INTERPOLATE output"
                )));
            }
            let node = self.resolve_kind(&column.expression)?;
            if node == items[item].node {
                interpolated.push(Interpolated { item, expression: None });
                continue;
            }
            let to = self.graph.data_type(items[item].node).clone();
            let node = match *self.graph.data_type(node) == to {
                true => node,
                false => {
                    let type_name = self.graph.constant(Value::string(to.to_string()), DataType::String);
                    self.scalar("CAST", vec![node, type_name])?
                }
            };
            interpolated.push(Interpolated { item, expression: Some(node) });
        }
        Ok(interpolated)
    }
}

/// A constant as a value of a column's kind; `None` where the kinds do not go together.
fn mark(value: &Value, of_type: &DataType, data_type: &DataType) -> Option<FillMark> {
    let ticks = |digits: u8| 10i128.checked_pow(digits.into());
    match (data_type, FillMark::of(value)) {
        (_, Some(mark)) if data_type.is_float() => Some(FillMark::Float(mark.as_float())),
        (DataType::DateTime64(..), Some(mark)) if of_type.is_date_or_time() => Some(mark),
        (DataType::DateTime64(digits, _), Some(FillMark::Integer(seconds))) => {
            Some(FillMark::Integer(seconds.checked_mul(ticks(*digits)?)?))
        }
        (DataType::DateTime64(digits, _), Some(FillMark::Float(seconds))) => {
            Some(FillMark::Integer((seconds * ticks(*digits)? as f64).round() as i128))
        }
        (_, Some(mark @ FillMark::Integer(_))) => Some(mark),
        _ => None,
    }
}

/// How many of a kind of intervals are a day; `None` for those of a day and longer.
fn units_of_a_day(kind: IntervalKind) -> Option<u64> {
    Some(match kind {
        IntervalKind::Nanosecond => 86_400_000_000_000,
        IntervalKind::Microsecond => 86_400_000_000,
        IntervalKind::Millisecond => 86_400_000,
        IntervalKind::Second => 86_400,
        IntervalKind::Minute => 1_440,
        IntervalKind::Hour => 24,
        IntervalKind::Day | IntervalKind::Week | IntervalKind::Month | IntervalKind::Quarter | IntervalKind::Year => {
            return None;
        }
    })
}
