//! Subqueries that read columns of the query around them: how such a column is named and found, and the node that stands for such a
//! subquery until the plan around it joins the subquery's rows (`decorrelate`).

use std::cell::RefCell;
use std::sync::Arc;

use squall_functions::{BoundFunction, Properties};
use squall_sql::ast;
use squall_types::{Column, DataType, Error, Result, Value};

use super::decorrelate::SubqueryKind;
use super::graph::NodeId;
use super::scope::{Outer, Scope};
use crate::expression::Expression;
use crate::plan::Plan;

/// The name of the call that stands for a column of the query around; its argument is the column's number among those that the subquery
/// reads. No such call is left once the subquery is joined.
pub(crate) const OUTER: &str = "__outer";

/// A column of the query around a subquery.
#[derive(Debug)]
struct OuterColumn(DataType);

impl BoundFunction for OuterColumn {
    fn return_type(&self) -> &DataType {
        &self.0
    }

    fn execute(&self, _: &[Column], _: usize) -> Result<Column> {
        Err(Error::logical("a column of the query around a subquery was not joined"))
    }

    fn properties(&self) -> Properties {
        Properties { may_throw: false, is_foldable: false, ..Properties::UNKNOWN }
    }
}

/// The number of the outer column that an expression is.
pub(crate) fn outer_number(expression: &Expression) -> Option<usize> {
    match expression {
        Expression::Function { name, arguments, .. } if &**name == OUTER => {
            arguments.first()?.constant()?.as_u64().and_then(|number| usize::try_from(number).ok())
        }
        _ => None,
    }
}

/// A name of the query around a subquery that the subquery reads.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    name: Vec<ast::Identifier>,
    data_type: DataType,
}

/// A scope as a subquery in an expression sees it.
pub(crate) struct InExpression<'q> {
    scope: &'q Scope<'q>,
    references: RefCell<Vec<Reference>>,
}

impl<'q> InExpression<'q> {
    /// The scope of the expression.
    pub fn new(scope: &'q Scope<'q>) -> Self {
        Self { scope, references: RefCell::default() }
    }

    /// What the subquery has read of the scope.
    pub fn into_references(self) -> Vec<Reference> {
        self.references.into_inner()
    }
}

impl Outer for InExpression<'_> {
    fn common_table(&self, name: &str) -> Result<Option<Plan>> {
        self.scope.common_table(name)
    }

    fn constant(&self, name: &str) -> Result<Option<(Value, DataType)>> {
        self.scope.constant(name)
    }

    fn column(&self, name: &[ast::Identifier]) -> Result<Option<(usize, DataType)>> {
        let same = |known: &Reference| {
            known.name.len() == name.len() && known.name.iter().zip(name).all(|(one, other)| one.value == other.value)
        };
        let known = self
            .references
            .borrow()
            .iter()
            .enumerate()
            .find_map(|(at, known)| same(known).then(|| (at, known.data_type.clone())));
        if known.is_some() {
            return Ok(known);
        }
        let Some(data_type) = self.scope.type_of_name(name)? else { return Ok(None) };
        let mut references = self.references.borrow_mut();
        references.push(Reference { name: name.to_vec(), data_type: data_type.clone() });
        Ok(Some((references.len() - 1, data_type)))
    }

    fn is_expression(&self) -> bool {
        true
    }
}

impl Scope<'_> {
    /// The type of what a name means here, found out beside what is being resolved.
    fn type_of_name(&self, name: &[ast::Identifier]) -> Result<Option<DataType>> {
        let mut alone = self.aside();
        Ok(alone.identifier(name)?.map(|node| alone.graph.data_type(node).clone()))
    }

    /// The node of a column of the query around.
    ///
    /// # Errors
    /// `TOO_DEEP_AST`.
    pub fn outer_column(&mut self, number: usize, data_type: DataType) -> Result<NodeId> {
        let number = self.graph.constant(Value::UInt64(number as u64), DataType::UInt64);
        match self.graph.find_function(OUTER, &[number]) {
            Some(node) => Ok(node),
            None => self.graph.add_function(OUTER.into(), Arc::new(OuterColumn(data_type)), vec![number]),
        }
    }

    /// The same as an expression of a subquery's plan.
    pub fn outer_expression(&self, number: usize, data_type: &DataType) -> Expression {
        let number = Expression::Constant { value: Value::UInt64(number as u64), data_type: DataType::UInt64 };
        let function = Arc::new(OuterColumn(data_type.clone()));
        Expression::Function { name: OUTER.into(), function, arguments: vec![number] }
    }

    /// The node of a subquery that reads `references` of this scope. `value` is what IN looks for.
    ///
    /// # Errors
    /// Those of the names.
    pub fn correlated(
        &mut self,
        kind: SubqueryKind,
        plan: Plan,
        references: &[Reference],
        value: Option<NodeId>,
    ) -> Result<NodeId> {
        let mut operands = Vec::with_capacity(references.len() + 1);
        for reference in references {
            let Some(node) = self.identifier(&reference.name)? else {
                return Err(self.unknown_identifier(&reference.name, "expression"));
            };
            let node = self.as_grouped(node);
            let is_same = *self.graph.data_type(node) == reference.data_type;
            operands.push(if is_same { node } else { self.cast_node(node, &reference.data_type)? });
        }
        operands.extend(value);
        let data_type = match (kind, &plan.schema().fields[..]) {
            (SubqueryKind::Scalar, [(_, data_type)]) => data_type.to_nullable(),
            (SubqueryKind::Scalar, _) => return Err(Error::logical("a scalar subquery of several columns")),
            _ => DataType::UInt8,
        };
        self.graph.correlated(kind, plan, operands, data_type)
    }

    /// The node of a value as another type.
    ///
    /// # Errors
    /// Where there is no such conversion.
    pub fn cast_node(&mut self, node: NodeId, to: &DataType) -> Result<NodeId> {
        let name = self.graph.constant(Value::string(to.to_string()), DataType::String);
        self.scalar("CAST", vec![node, name])
    }
}
