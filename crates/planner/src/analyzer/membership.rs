//! `IN`: the right side becomes a constant array of values of the left side's type, whether it was written as literals or comes
//! from a subquery or a table. Values that the left side's type cannot hold can never be found and are left out. Where NULL is a value like
//! any other (`transform_null_in`), what may be NULL is compared as an array of one value or none.

use std::sync::Arc;

use squall_sql::ast::{self, ExpressionKind};
use squall_types::{
    Block, CastOptions, DataType, Error, ErrorCode, Result, Schema, Value, checkpoint, exact_value, grow, reserve,
};

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
        // Without the setting a set has no NULL, and these functions do not find it.
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

    /// The node of `in` or `notIn`, whose answer for NULL is NULL unless NULL is a value like others.
    fn plain_membership(&mut self, call: &ast::Function, name: &str) -> Result<NodeId> {
        let finds_null = self.analyzer.context.settings.transform_null_in;
        let [left, right] = &call.arguments[..] else {
            return Err(self.in_scope_of_call(Error::new(
                ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                format!("Function '{}' expects 2 arguments, got {}", call.name, call.arguments.len()),
            )));
        };
        let left = self.resolve_argument(left)?;
        let finds_null = finds_null && has_nullable(self.graph.data_type(left));
        let probe = if finds_null { self.null_as_value(left)? } else { left };
        let subquery = match &right.kind {
            ExpressionKind::Subquery(query) => {
                self.number_subquery(query);
                let known = self.subqueries.get(&std::ptr::from_ref(&**query));
                if let Some(set) = known.and_then(|known| known.node) {
                    return self.scalar(name, vec![probe, set]);
                }
                if let Some((_, found)) = known.and_then(|known| known.joined).filter(|(value, _)| *value == left) {
                    return self.or_unknown(name, left, found);
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
            Some(plan) => {
                let schema = plan.schema().clone();
                let blocks = self.run(Plan::Distinct { input: Box::new(plan) })?;
                if !finds_null && let Some(found) = self.among_rows(left, &schema, &blocks)? {
                    if let ExpressionKind::Subquery(query) = &right.kind
                        && let Some(known) = self.subqueries.get_mut(&std::ptr::from_ref(&**query))
                    {
                        known.joined = Some((left, found));
                    }
                    return self.or_unknown(name, left, found);
                }
                self.set_of_rows(left, &schema, &blocks, finds_null)?
            }
            None => {
                let right = self.resolve_argument(right)?;
                match self.graph.constant_value(right) {
                    Some(value) => {
                        let (value, data_type) = (value.clone(), self.graph.data_type(right).clone());
                        self.set_of_constant(left, &value, &data_type, finds_null)?
                    }
                    None => return self.membership_of_columns(name, left, right, finds_null),
                }
            }
        };
        if let ExpressionKind::Subquery(query) = &right.kind
            && let Some(known) = self.subqueries.get_mut(&std::ptr::from_ref(&**query))
        {
            known.node = Some(set);
        }
        self.scalar(name, vec![probe, set])
    }

    /// A value, or a tuple of values, with an array of one or none in the place of each that may be NULL.
    fn null_as_value(&mut self, node: NodeId) -> Result<NodeId> {
        let data_type = self.graph.data_type(node).clone();
        if let DataType::Tuple(elements) = &data_type {
            let mut items = Vec::with_capacity(elements.len());
            for (at, element) in elements.iter().enumerate() {
                let position = self.graph.constant(Value::UInt64(at as u64 + 1), DataType::UInt64);
                let item = self.scalar("tupleElement", vec![node, position])?;
                items.push(if element.data_type.is_nullable() { self.null_as_value(item)? } else { item });
            }
            return self.scalar("tuple", items);
        }
        let is_null = self.scalar("isNull", vec![node])?;
        let value = self.scalar("assumeNotNull", vec![node])?;
        let one = self.scalar("array", vec![value])?;
        let none = self.graph.constant(Value::Array(Vec::new().into()), self.graph.data_type(one).clone());
        self.scalar("if", vec![is_null, none, one])
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
        self.or_unknown(name, left, found)
    }

    /// The answer of `in` or `notIn`, given whether a value was found.
    fn or_unknown(&mut self, name: &str, left: NodeId, found: NodeId) -> Result<NodeId> {
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
    fn membership_of_columns(&mut self, name: &str, left: NodeId, right: NodeId, finds_null: bool) -> Result<NodeId> {
        let equals = if finds_null { "isNotDistinctFrom" } else { "equals" };
        let found = match &self.graph.node(right).kind {
            NodeKind::Function { name, arguments, .. } if &**name == "tuple" => {
                let equal = arguments.clone().into_iter().map(|item| self.scalar(equals, vec![left, item]));
                let equal = equal.collect::<Result<Vec<_>>>()?;
                match equal[..] {
                    [only] => only,
                    _ => self.scalar("or", equal)?,
                }
            }
            _ if matches!(self.graph.data_type(right), DataType::Array(_)) => self.scalar("has", vec![right, left])?,
            _ => self.scalar(equals, vec![left, right])?,
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

    fn set_of_constant(
        &mut self,
        left: NodeId,
        value: &Value,
        data_type: &DataType,
        finds_null: bool,
    ) -> Result<NodeId> {
        let to = self.set_type(left);
        let nullable = NullableItems::of(self.graph.data_type(left), finds_null);
        if value.is_null() {
            let values = nullable.item(value, data_type, &to, &CastOptions::default())?;
            return self.set(values.into_iter().collect(), nullable.set_type(to));
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
            values.extend(nullable.item(value, from, &to, &options)?);
        }
        self.set(values, nullable.set_type(to))
    }

    fn set_of_rows(&mut self, left: NodeId, schema: &Schema, blocks: &[Block], finds_null: bool) -> Result<NodeId> {
        let to = self.set_type(left);
        let nullable = NullableItems::of(self.graph.data_type(left), finds_null);
        let from: Vec<DataType> = schema.types().cloned().collect();
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
        let mut values = Vec::new();
        grow(&mut values, blocks.iter().map(Block::rows).sum())?;
        for block in blocks {
            'rows: for row in 0..block.rows() {
                checkpoint(VALUE_WORK)?;
                let mut items = Vec::with_capacity(from.len());
                for (at, ((column, from), to)) in block.columns().iter().zip(&from).zip(&to_types).enumerate() {
                    match nullable.part(at, &column.value(row), from, to, &options) {
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
        self.set(values, nullable.set_type(to))
    }

    /// A set of these values, within `max_rows_in_set` and `max_bytes_in_set`.
    ///
    /// # Errors
    /// `SET_SIZE_LIMIT_EXCEEDED`, where the mode is `throw`; where it is `break`, the values of the blocks up to the limit are taken.
    fn set(&mut self, mut values: Vec<Value>, item: DataType) -> Result<NodeId> {
        let settings = self.analyzer.context.settings;
        let (rows_max, bytes_max) = (settings.max_rows_in_set, settings.max_bytes_in_set);
        let rows = values.len() as u64;
        let is_over = |max: u64, size: u64| max > 0 && size > max;
        let value_bytes = |value: &Value| size_of::<Value>() + value.as_bytes().map_or(0, <[u8]>::len);
        let bytes = if bytes_max > 0 { values.iter().map(value_bytes).sum::<usize>() as u64 } else { 0 };
        if is_over(rows_max, rows) || is_over(bytes_max, bytes) {
            if settings.set_overflow_mode != "break" {
                let what = match is_over(rows_max, rows) {
                    true => format!("max rows: {rows_max}, current rows: {rows}"),
                    false => format!("max bytes: {bytes_max}, current bytes: {bytes}"),
                };
                let message = format!("Limit for IN-set exceeded, {what}");
                return Err(Error::new(ErrorCode::SET_SIZE_LIMIT_EXCEEDED, message));
            }
            let block = settings.max_block_size.max(1);
            let most = if rows_max > 0 { rows_max } else { bytes_max / size_of::<Value>() as u64 };
            let whole_blocks = most.div_ceil(block).max(1).saturating_mul(block);
            values.truncate(usize::try_from(whole_blocks).unwrap_or(usize::MAX));
        }
        // Copied here, and once more where the function makes its set.
        reserve(2 * values.len() * size_of::<Value>())?;
        Ok(self.graph.constant(Value::Array(values.into()), DataType::Array(Arc::new(item))))
    }
}

/// Which values of a set are arrays of one or none, because NULL is one of them.
enum NullableItems {
    /// No values.
    None,
    /// The value itself.
    Whole,
    /// These elements of a tuple.
    Elements(Vec<bool>),
}

impl NullableItems {
    fn of(left: &DataType, finds_null: bool) -> Self {
        match left {
            _ if !finds_null => Self::None,
            DataType::Tuple(elements) => {
                Self::Elements(elements.iter().map(|element| element.data_type.is_nullable()).collect())
            }
            DataType::Named(named) => Self::of(named.values(), finds_null),
            _ => Self::Whole,
        }
    }

    fn is_nullable(&self, at: usize) -> bool {
        match self {
            Self::None => false,
            Self::Whole => true,
            Self::Elements(nullable) => nullable.get(at).copied().unwrap_or(false),
        }
    }

    /// The type of the set's values, from that without NULLs.
    fn set_type(&self, plain: DataType) -> DataType {
        match (self, &plain) {
            (Self::Whole, _) => DataType::array(plain),
            (Self::Elements(nullable), DataType::Tuple(elements)) => {
                DataType::tuple(elements.iter().zip(nullable).map(|(element, is_nullable)| {
                    let plain = element.data_type.clone();
                    if *is_nullable { DataType::array(plain) } else { plain }
                }))
            }
            _ => plain,
        }
    }

    /// A value of the set; `None` where the left side never has it.
    fn item(&self, value: &Value, from: &DataType, to: &DataType, options: &CastOptions) -> Result<Option<Value>> {
        match (self, value, from.inner(), to) {
            (Self::Elements(_), Value::Tuple(items), DataType::Tuple(from), DataType::Tuple(to)) => {
                let parts = items.iter().zip(&**from).zip(&**to).enumerate();
                let parts =
                    parts.map(|(at, ((item, from), to))| self.part(at, item, &from.data_type, &to.data_type, options));
                Ok(parts.collect::<Result<Option<Vec<_>>>>()?.map(|items| Value::Tuple(items.into())))
            }
            _ => self.part(0, value, from, to, options),
        }
    }

    /// The same of an element of a tuple, or of what is none.
    fn part(
        &self,
        at: usize,
        value: &Value,
        from: &DataType,
        to: &DataType,
        options: &CastOptions,
    ) -> Result<Option<Value>> {
        if !self.is_nullable(at) {
            return exact_value(value, from, to, options);
        }
        if value.is_null() {
            return Ok(Some(Value::Array(Vec::new().into())));
        }
        if *to == DataType::Nothing {
            return Ok(None);
        }
        Ok(exact_value(value, from, to, options)?.map(|value| Value::Array(vec![value].into())))
    }
}

/// Whether a value, or an element of a tuple, may be NULL.
fn has_nullable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Tuple(elements) => elements.iter().any(|element| element.data_type.is_nullable()),
        other => other.is_nullable(),
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
