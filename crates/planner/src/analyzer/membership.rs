//! `IN`: the right side becomes a constant array of values of the left side's type, whether it was written as literals or comes
//! from a subquery or a table. Values that the left side's type cannot hold can never be found and are left out.

use std::sync::Arc;

use squall_functions::FunctionContext;
use squall_sql::ast::{self, ExpressionKind};
use squall_types::{DataType, Error, ErrorCode, Result, Value, checkpoint, grow, reserve};

use super::conversion;
use super::graph::{NodeId, NodeKind};
use super::scope::Scope;
use crate::plan::Plan;

impl Scope<'_> {
    /// The node of `x IN y` or `x NOT IN y`.
    ///
    /// # Errors
    /// `NUMBER_OF_COLUMNS_DOESNT_MATCH`, `TYPE_MISMATCH`, and those of the subquery.
    pub fn membership(&mut self, call: &ast::Function) -> Result<NodeId> {
        let name = match call.name.as_str() {
            "in" | "globalIn" => "in",
            "notIn" | "globalNotIn" => "notIn",
            other => return Err(Error::not_implemented(format!("Function {other}"))),
        };
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
                Some(self.plan_subquery(query)?)
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
        // How deep the left side is tells whether a tuple or an array is one value or a list of them.
        let items: Vec<(Value, DataType)> = match (value, data_type) {
            (Value::Array(items), DataType::Array(item)) if array_depth(data_type) > array_depth(&to) => {
                items.iter().map(|value| (value.clone(), (**item).clone())).collect()
            }
            (Value::Tuple(items), DataType::Tuple(elements)) => {
                let is_list = match &to {
                    DataType::Tuple(_) => {
                        elements.iter().all(|element| matches!(element.data_type, DataType::Tuple(_)))
                            && !elements.is_empty()
                    }
                    _ => true,
                };
                if is_list {
                    let types = elements.iter().map(|element| element.data_type.clone());
                    items.iter().cloned().zip(types).collect()
                } else {
                    vec![(value.clone(), data_type.clone())]
                }
            }
            _ => vec![(value.clone(), data_type.clone())],
        };
        let functions = &self.analyzer.context.functions;
        let mut values = Vec::with_capacity(items.len());
        for (value, from) in &items {
            checkpoint(VALUE_WORK)?;
            if let (DataType::Tuple(left), DataType::Tuple(right)) = (&to, from)
                && left.len() != right.len()
            {
                return Err(columns_differ(left.len(), right.len()));
            }
            if let Some(value) = exact(value, from, &to, functions)? {
                values.push(value);
            }
        }
        self.set(values, to)
    }

    fn set_of_plan(&mut self, left: NodeId, plan: Plan) -> Result<NodeId> {
        let to = self.set_type(left);
        let from: Vec<DataType> = plan.schema().types().cloned().collect();
        let to_types: Vec<DataType> = match &to {
            DataType::Tuple(elements) if from.len() > 1 || elements.len() == 1 => {
                elements.iter().map(|element| element.data_type.clone()).collect()
            }
            other => vec![other.clone()],
        };
        if from.len() != to_types.len() {
            return Err(columns_differ(to_types.len(), from.len()));
        }
        let is_tuple = matches!(to, DataType::Tuple(_)) && !matches!(to_types[..], [DataType::Tuple(_)]);
        let functions = &self.analyzer.context.functions;
        let blocks = self.run(Plan::Distinct { input: Box::new(plan) })?;
        let mut values = Vec::new();
        grow(&mut values, blocks.iter().map(squall_types::Block::rows).sum())?;
        for block in &blocks {
            'rows: for row in 0..block.rows() {
                checkpoint(VALUE_WORK)?;
                let mut items = Vec::with_capacity(from.len());
                for ((column, from), to) in block.columns().iter().zip(&from).zip(&to_types) {
                    match exact_of_row(&column.value(row), from, to, functions)? {
                        Some(value) => items.push(value),
                        None => continue 'rows,
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

fn array_depth(data_type: &DataType) -> usize {
    match data_type {
        DataType::Array(item) => 1 + array_depth(item),
        _ => 0,
    }
}

/// The value of type `from` as exactly the same value of type `to`; `None` where `to` cannot hold it, and for NULL, which is
/// never found.
///
/// # Errors
/// For texts that cannot be read as a value of `to`.
fn exact(value: &Value, from: &DataType, to: &DataType, functions: &FunctionContext) -> Result<Option<Value>> {
    if value.is_null() {
        return Ok(None);
    }
    if from == to {
        return Ok(Some(value.clone()));
    }
    let is_number = |data_type: &DataType| data_type.is_number() || *data_type == DataType::Bool;
    match (value, from.inner(), to) {
        (Value::Tuple(items), DataType::Tuple(from), DataType::Tuple(to)) => {
            let items = items.iter().zip(from.iter()).zip(to.iter());
            let items = items.map(|((value, from), to)| exact(value, &from.data_type, &to.data_type, functions));
            let items = items.collect::<Result<Option<Vec<_>>>>()?;
            Ok(items.map(|items| Value::Tuple(items.into())))
        }
        (value, from, to) if is_number(from) && is_number(to) => Ok(exact_number(value, to)),
        (value, DataType::String, to @ (DataType::Enum8(_) | DataType::Enum16(_))) => {
            // A name that the enum has not is never found.
            Ok(conversion::convert(value, &DataType::String, to, functions).ok())
        }
        (value, DataType::String, to) => conversion::convert(value, &DataType::String, to, functions)
            .map(Some)
            .map_err(|error| match (to.is_number(), value.as_str()) {
                (true, Some(text)) => {
                    Error::new(ErrorCode::TYPE_MISMATCH, format!("Cannot convert string '{text}' to type {to}"))
                }
                _ => error,
            }),
        (value, from, to) => Ok(conversion::convert(value, from, to, functions).ok()),
    }
}

/// The same for a value that a subquery found: a text that cannot be read is only not found.
fn exact_of_row(value: &Value, from: &DataType, to: &DataType, functions: &FunctionContext) -> Result<Option<Value>> {
    Ok(exact(value, from, to, functions).unwrap_or(None))
}

fn exact_number(value: &Value, to: &DataType) -> Option<Value> {
    let (least, most): (i128, i128) = match to {
        DataType::Bool => (0, 1),
        DataType::UInt8 => (0, u8::MAX.into()),
        DataType::UInt16 => (0, u16::MAX.into()),
        DataType::UInt32 => (0, u32::MAX.into()),
        DataType::UInt64 => (0, u64::MAX.into()),
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => (i64::MIN.into(), i64::MAX.into()),
        DataType::Float32 | DataType::Float64 => return value.as_f64().map(Value::Float64),
        _ => return None,
    };
    let number = match value {
        Value::Bool(value) => i128::from(*value),
        Value::UInt64(value) => i128::from(*value),
        Value::Int64(value) => i128::from(*value),
        // Every whole f64 within 64 bits is exact as an i128.
        Value::Float64(value) if value.fract() == 0.0 && value.abs() < 2e19 => *value as i128,
        _ => return None,
    };
    if !(least..=most).contains(&number) {
        return None;
    }
    Some(match to {
        DataType::Bool => Value::Bool(number == 1),
        _ if to.is_signed_integer() => Value::Int64(i64::try_from(number).ok()?),
        _ => Value::UInt64(u64::try_from(number).ok()?),
    })
}
