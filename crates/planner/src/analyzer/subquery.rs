//! Subqueries in expressions: each is run while the query is planned and becomes a constant.

use std::sync::Arc;

use squall_sql::ast;
use squall_types::{Block, DataType, Error, ErrorCode, Result, TupleElement, Value};

use super::correlated::{InExpression, Reference};
use super::decorrelate::SubqueryKind;
use super::graph::NodeId;
use super::scope::{Scope, Subquery};
use super::stage::project;
use crate::expression::Expression;
use crate::plan::Plan;
use crate::rules::optimize;

/// A larger result of a subquery is not kept for others that are the same: it would be held while the query is planned.
const RESULT_BYTES_MAX: usize = 1 << 20;

impl Scope<'_> {
    /// The node of a scalar subquery: its one row, or NULL where there is none; several columns make a tuple.
    ///
    /// # Errors
    /// `INCORRECT_RESULT_OF_SCALAR_SUBQUERY` and the subquery's own.
    pub fn scalar_subquery(&mut self, query: &ast::Query) -> Result<NodeId> {
        let address = std::ptr::from_ref(query);
        self.number_subquery(query);
        if let Some(Subquery { node: Some(node), .. }) = self.subqueries.get(&address) {
            return Ok(*node);
        }
        let (plan, references) = self.plan_subquery(query)?;
        if !references.is_empty() {
            let plan = self.one_column(plan)?;
            let node = self.correlated(SubqueryKind::Scalar, plan, &references, None)?;
            return Ok(self.remember_subquery(query, node));
        }
        let fields = plan.schema().fields.clone();
        // Of two rows one is too many.
        let plan = Plan::Limit { input: Box::new(plan), offset: 0, limit: Some(2), ties: None };
        let blocks = self.run(plan)?;
        let mut rows = blocks.iter().flat_map(|block| (0..block.rows()).map(move |row| (block, row)));
        let (first, second) = (rows.next(), rows.next());
        if second.is_some() {
            return Err(Error::new(
                ErrorCode::INCORRECT_RESULT_OF_SCALAR_SUBQUERY,
                "Scalar subquery returned more than one row",
            ));
        }
        let (value, data_type) = match (&fields[..], first) {
            ([(_, data_type)], Some((block, row))) => (block.column(0).value(row), data_type.to_nullable()),
            (fields, Some((block, row))) => {
                let values = block.columns().iter().map(|column| column.value(row)).collect();
                let elements = fields
                    .iter()
                    .map(|(name, data_type)| TupleElement { name: Some(name.clone()), data_type: data_type.clone() });
                (Value::Tuple(values), DataType::Tuple(elements.collect()))
            }
            ([(_, data_type)], None) if data_type.to_nullable().is_nullable() => (Value::Null, data_type.to_nullable()),
            ([(_, data_type)], None) => {
                return Err(Error::new(
                    ErrorCode::INCORRECT_RESULT_OF_SCALAR_SUBQUERY,
                    format!("Scalar subquery returned empty result of type {data_type} which cannot be Nullable"),
                ));
            }
            (_, None) => (Value::Null, DataType::Nullable(Arc::new(DataType::Nothing))),
        };
        let node = self.graph.constant(value, data_type);
        if let Some(subquery) = self.subqueries.get_mut(&address) {
            subquery.node = Some(node);
        }
        Ok(node)
    }

    /// `exists(SELECT …)`.
    ///
    /// # Errors
    /// The subquery's own.
    pub fn exists(&mut self, call: &ast::Function) -> Result<NodeId> {
        let [ast::Expression { kind: ast::ExpressionKind::Subquery(query), .. }] = &call.arguments[..] else {
            return Err(self.in_scope(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                "Function exists expects exactly one argument, a subquery",
            )));
        };
        let address = std::ptr::from_ref(&**query);
        // For ClickHouse it is a subquery of a subquery.
        self.analyzer.next_subquery();
        self.number_subquery(query);
        if let Some(Subquery { node: Some(node), .. }) = self.subqueries.get(&address) {
            return Ok(*node);
        }
        let (plan, references) = self.plan_subquery(query)?;
        if !references.is_empty() {
            let node = self.correlated(SubqueryKind::Exists, plan, &references, None)?;
            return Ok(self.remember_subquery(query, node));
        }
        let plan = Plan::Limit { input: Box::new(plan), offset: 0, limit: Some(1), ties: None };
        let found = self.run(plan)?.iter().any(|block| !block.is_empty());
        let node = self.graph.constant(Value::UInt64(u64::from(found)), DataType::UInt8);
        if let Some(subquery) = self.subqueries.get_mut(&address) {
            subquery.node = Some(node);
        }
        Ok(node)
    }

    /// Gives a subquery its number in names of results: that of the first time that it is met. Each time counts.
    pub fn number_subquery(&mut self, query: &ast::Query) {
        let number = self.analyzer.next_subquery();
        self.subqueries.entry(std::ptr::from_ref(query)).or_insert(Subquery { number, node: None, joined: None });
    }

    /// Keeps the node of a subquery for where it is used again.
    pub fn remember_subquery(&mut self, query: &ast::Query, node: NodeId) -> NodeId {
        if let Some(subquery) = self.subqueries.get_mut(&std::ptr::from_ref(query)) {
            subquery.node = Some(node);
        }
        node
    }

    /// A plan with one column: several make a tuple.
    ///
    /// # Errors
    /// `LOGICAL_ERROR`.
    pub fn one_column(&self, plan: Plan) -> Result<Plan> {
        let columns: Vec<Expression> =
            plan.schema().types().enumerate().map(|(at, data_type)| Expression::column(at, data_type)).collect();
        if columns.len() == 1 {
            return Ok(plan);
        }
        let tuple = crate::rules::call("tuple", columns, &self.analyzer.context.functions)?;
        Ok(project(plan, vec![tuple], ["tuple".into()].into_iter()))
    }

    /// The plan of a subquery in an expression, which sees this scope's names, and those of them that it reads row by row.
    ///
    /// # Errors
    /// The subquery's own.
    pub fn plan_subquery(&self, query: &ast::Query) -> Result<(Plan, Vec<Reference>)> {
        let outer = InExpression::new(self);
        let plan = self.analyzer.nested(|| self.analyzer.plan_within(&query.body, Some(&outer)))?;
        Ok((plan, outer.into_references()))
    }

    /// The rows of a plan.
    ///
    /// # Errors
    /// Those of running it.
    pub fn run(&self, plan: Plan) -> Result<Vec<Block>> {
        let context = self.analyzer.context;
        let plan = optimize(plan, context)?;
        if let Some(block) = constant_rows(&plan) {
            return block.map(|block| vec![block]);
        }
        // A common table expression that is read in several places is the same plan in each.
        if let Some(blocks) = self.analyzer.results.borrow().iter().find(|(known, _)| known.same(&plan)) {
            return Ok(blocks.1.clone());
        }
        let blocks = context.subqueries.run(plan.clone())?;
        if blocks.iter().map(Block::value_bytes).sum::<usize>() <= RESULT_BYTES_MAX {
            self.analyzer.results.borrow_mut().push((plan, blocks.clone()));
        }
        Ok(blocks)
    }
}

/// The rows of a plan that is constants alone: `SELECT 1`.
fn constant_rows(plan: &Plan) -> Option<Result<Block>> {
    match plan {
        Plan::Limit { input, offset: 0, limit: Some(1..), ties: None } => constant_rows(input),
        Plan::Project { input, expressions, schema } => {
            let Plan::Values { blocks, .. } = &**input else { return None };
            let [block] = &blocks[..] else { return None };
            let is_constant = expressions.iter().all(|expression| matches!(expression, Expression::Constant { .. }));
            if !is_constant || block.rows() != 1 {
                return None;
            }
            let columns = expressions.iter().map(|expression| match expression {
                Expression::Constant { value, data_type } => {
                    squall_types::Column::constant(data_type.clone(), value, 1)
                }
                _ => Err(Error::logical("a constant was expected")),
            });
            Some(columns.collect::<Result<Vec<_>>>().map(|columns| Block::new(schema.clone(), columns, 1)))
        }
        _ => None,
    }
}
