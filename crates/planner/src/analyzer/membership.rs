//! `IN`: the right side becomes a constant array of values of the left side's type, whether it was written as literals or comes
//! from a subquery or a table. Values that the left side's type cannot hold can never be found and are left out.

use std::sync::Arc;

use squall_sql::ast::{self, ExpressionKind};
use squall_types::{DataType, Error, ErrorCode, Result, Value, checkpoint, exact_value, grow, reserve};

use super::conversion;
use super::correlated::Reference;
use super::decorrelate::SubqueryKind;
use super::graph::{NodeId, NodeKind};
use super::scope::Scope;
use crate::plan::Plan;

/// The functions whose right side may be a subquery or a table.
pub const MEMBERSHIPS: &[&str] =
    &["in", "notIn", "globalIn", "globalNotIn", "nullIn", "notNullIn", "globalNullIn", "globalNotNullIn"];

impl Scope<'_> {
    /// The node of `x IN y` or `x NOT IN y`.
    ///
    /// # Errors
    /// `NUMBER_OF_COLUMNS_DOESNT_MATCH`, `TYPE_MISMATCH`, and those of the subquery.
    pub fn membership(&mut self, call: &ast::Function) -> Result<NodeId> {
        let (name, of_null) = match call.name.as_str() {
            "in" | "globalIn" => ("in", None),
            "nullIn" | "globalNullIn" => ("in", Some(0)),
            "notNullIn" | "globalNotNullIn" => ("notIn", Some(1)),
            _ => ("notIn", None),
        };
        let found = self.plain_membership(call, name)?;
        match of_null {
            Some(answer) if self.graph.data_type(found).is_nullable() => {
                let answer = self.graph.constant(Value::UInt64(answer), DataType::UInt8);
                self.scalar("ifNull", vec![found, answer])
            }
            _ => Ok(found),
        }
    }

    /// The node of `in` or `notIn`, whose answer for NULL is NULL.
    fn plain_membership(&mut self, call: &ast::Function, name: &str) -> Result<NodeId> {
        let [left, right] = &call.arguments[..] else {
            return Err(self.in_scope_of_call(Error::new(
                ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                format!("Function '{}' expects 2 arguments, got {}", call.name, call.arguments.len()),
            )));
        };
        let left = self.resolve_argument(left)?;
        let subquery = match &right.kind {
            ExpressionKind::Subquery(query) => {
                self.number_subquery(query);
                if let Some(known) = self.subqueries.get(&std::ptr::from_ref(&**query)).and_then(|known| known.node) {
                    return self.scalar(name, vec![left, known]);
                }
                let (plan, references) = self.plan_subquery(query)?;
                if !references.is_empty() {
                    return self.correlated_membership(name, left, plan, &references);
                }
                Some(plan)
            }
            ExpressionKind::Identifier(parts) => match self.identifier(parts)? {
                Some(_) => None,
                None => Some(self.table_by_name(parts)?),
            },
            _ => None,
        };
        let set = match subquery {
            Some(plan) => self.set_of_plan(left, plan)?,
            None => {
                let right = self.resolve_argument(right)?;
                match self.graph.constant_value(right) {
                    Some(value) => {
                        let (value, data_type) = (value.clone(), self.graph.data_type(right).clone());
                        self.set_of_constant(left, &value, &data_type)?
                    }
                    None => return self.membership_of_columns(name, left, right),
                }
            }
        };
        if let ExpressionKind::Subquery(query) = &right.kind
            && let Some(known) = self.subqueries.get_mut(&std::ptr::from_ref(&**query))
        {
            known.node = Some(set);
        }
        self.scalar(name, vec![left, set])
    }

    /// `x IN (SELECT …)` of a subquery that reads columns of this query.
    fn correlated_membership(
        &mut self,
        name: &str,
        left: NodeId,
        plan: Plan,
        references: &[Reference],
    ) -> Result<NodeId> {
        let plan = self.one_column(plan)?;
        let found = self.correlated(SubqueryKind::In, plan, references, Some(left))?;
        let found = if name == "in" { found } else { self.scalar("not", vec![found])? };
        if !self.graph.data_type(left).is_nullable() {
            return Ok(found);
        }
        // Whether NULL is in a set is not known.
        let is_null = self.scalar("isNull", vec![left])?;
        let unknown = self.graph.constant(Value::Null, DataType::Nullable(Arc::new(DataType::UInt8)));
        self.scalar("if", vec![is_null, unknown, found])
    }

    /// `x IN (a, 1)` with columns on the right: a chain of comparisons, or a search in an array.
    fn membership_of_columns(&mut self, name: &str, left: NodeId, right: NodeId) -> Result<NodeId> {
        let found = match &self.graph.node(right).kind {
            NodeKind::Function { name, arguments, .. } if &**name == "tuple" => {
                let equal = arguments.clone().into_iter().map(|item| self.scalar("equals", vec![left, item]));
                let equal = equal.collect::<Result<Vec<_>>>()?;
                match equal[..] {
                    [only] => only,
                    _ => self.scalar("or", equal)?,
                }
            }
            _ if matches!(self.graph.data_type(right), DataType::Array(_)) => self.scalar("has", vec![right, left])?,
            _ => self.scalar("equals", vec![left, right])?,
        };
        if name == "in" { Ok(found) } else { self.scalar("not", vec![found]) }
    }

    /// The type that the values of a set must have to be compared with `left`.
    fn set_type(&self, left: NodeId) -> DataType {
        match self.graph.data_type(left).inner() {
            DataType::Tuple(elements) => {
                DataType::tuple(elements.iter().map(|element| element.data_type.inner().clone()))
            }
            other => other.clone(),
        }
    }

    fn set_of_constant(&mut self, left: NodeId, value: &Value, data_type: &DataType) -> Result<NodeId> {
        let to = self.set_type(left);
        if value.is_null() {
            return self.set(Vec::new(), to);
        }
        // How deep both sides are tells whether a tuple or an array is one value or a list of them.
        let (left_depth, right_depth) = (depth(&to), depth(data_type));
        let items: Vec<(Value, DataType)> = match (value, data_type) {
            _ if left_depth == right_depth => vec![(value.clone(), data_type.clone())],
            _ if left_depth + 1 != right_depth => {
                let message = format!(
                    "Unsupported types for IN. First argument type {}. Second argument type {data_type}",
                    self.graph.data_type(left)
                );
                return Err(Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
            }
            (Value::Array(items), DataType::Array(item)) => {
                items.iter().map(|value| (value.clone(), (**item).clone())).collect()
            }
            (Value::Tuple(items), DataType::Tuple(elements)) => {
                let types = elements.iter().map(|element| element.data_type.clone());
                items.iter().cloned().zip(types).collect()
            }
            _ => vec![(value.clone(), data_type.clone())],
        };
        let options = conversion::options(&self.analyzer.context.functions);
        let mut values = Vec::with_capacity(items.len());
        for (value, from) in &items {
            checkpoint(VALUE_WORK)?;
            if let DataType::Tuple(left) = &to
                && !value.is_null()
            {
                let wrong = match from.inner() {
                    DataType::Tuple(right) if left.len() == right.len() => None,
                    DataType::Tuple(right) => {
                        Some(format!("Incorrect size of tuple in set: {} instead of {}", right.len(), left.len()))
                    }
                    other => Some(format!("Invalid element type in set. Expected Tuple, got {other}")),
                };
                if let Some(message) = wrong {
                    return Err(Error::new(ErrorCode::INCORRECT_ELEMENT_OF_SET, message));
                }
            }
            if let Some(value) = exact_value(value, from, &to, &options)? {
                values.push(value);
            }
        }
        self.set(values, to)
    }

    fn set_of_plan(&mut self, left: NodeId, plan: Plan) -> Result<NodeId> {
        let to = self.set_type(left);
        let from: Vec<DataType> = plan.schema().types().cloned().collect();
        let to_types: Vec<DataType> = match &to {
            DataType::Tuple(elements)
                if elements.len() == 1
                    || !matches!(from.as_slice(), [one] if matches!(one.inner(), DataType::Tuple(_))) =>
            {
                elements.iter().map(|element| element.data_type.clone()).collect()
            }
            other => vec![other.clone()],
        };
        if from.len() != to_types.len() {
            return Err(columns_differ(to_types.len(), from.len()));
        }
        let is_tuple = matches!(to, DataType::Tuple(_)) && !matches!(to_types[..], [DataType::Tuple(_)]);
        let options = conversion::options(&self.analyzer.context.functions);
        let blocks = self.run(Plan::Distinct { input: Box::new(plan) })?;
        let mut values = Vec::new();
        grow(&mut values, blocks.iter().map(squall_types::Block::rows).sum())?;
        for block in &blocks {
            'rows: for row in 0..block.rows() {
                checkpoint(VALUE_WORK)?;
                let mut items = Vec::with_capacity(from.len());
                for ((column, from), to) in block.columns().iter().zip(&from).zip(&to_types) {
                    match exact_value(&column.value(row), from, to, &options) {
                        Ok(Some(value)) => items.push(value),
                        // A text that cannot be read is only not found.
                        Ok(None) | Err(_) => continue 'rows,
                    }
                }
                match (is_tuple, items.pop()) {
                    (false, Some(only)) => values.push(only),
                    (_, last) => {
                        items.extend(last);
                        values.push(Value::Tuple(items.into()));
                    }
                }
            }
        }
        self.set(values, to)
    }

    fn set(&mut self, values: Vec<Value>, item: DataType) -> Result<NodeId> {
        // Copied here, and once more where the function makes its set.
        reserve(2 * values.len() * size_of::<Value>())?;
        Ok(self.graph.constant(Value::Array(values.into()), DataType::Array(Arc::new(item))))
    }
}

/// Making a value of a set is about so many nanoseconds' work.
const VALUE_WORK: usize = 100;

fn columns_differ(left: usize, right: usize) -> Error {
    Error::new(
        ErrorCode::NUMBER_OF_COLUMNS_DOESNT_MATCH,
        format!("Number of columns in section IN doesn't match. {left} at left, {right} at right"),
    )
}

/// How many arrays and tuples are around the first value.
fn depth(data_type: &DataType) -> usize {
    match data_type {
        DataType::Array(item) => 1 + depth(item),
        DataType::Tuple(elements) => 1 + elements.first().map_or(0, |first| depth(&first.data_type)),
        _ => 0,
    }
}
