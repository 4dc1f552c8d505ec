//! The index `set`: a predicate is tested on the distinct rows of an entry, as far as it is about what is indexed.

use std::sync::Arc;

use squall_planner::Expression;
use squall_types::{Block, Column, DataType, Error, Result, Schema, Value};

use super::page::{corrupted, number};
use crate::evaluate::evaluate;

/// What a predicate asks of indexed rows.
#[derive(Debug)]
pub(super) struct RowCondition {
    root: Node,
    schema: Arc<Schema>,
}

#[derive(Debug)]
enum Node {
    /// It is about something else.
    Any,
    And(Vec<Node>),
    Or(Vec<Node>),
    /// Over the indexed columns; where it is negated, it must be false.
    Test {
        condition: Expression,
        is_negated: bool,
    },
}

impl RowCondition {
    /// What a predicate asks of these expressions.
    pub(super) fn new(predicate: &Expression, expressions: &[Expression]) -> Self {
        let fields = expressions.iter().enumerate().map(|(at, one)| (at.to_string(), one.data_type().clone()));
        Self { root: node(predicate, false, expressions), schema: Arc::new(Schema::new(fields)) }
    }

    /// Whether it can leave anything out.
    pub(super) fn is_useful(&self) -> bool {
        is_useful(&self.root)
    }

    /// Whether it can hold for one of the rows of an entry.
    ///
    /// # Errors
    /// `CORRUPTED_DATA`.
    pub(super) fn may_match(&self, entry: &[u8]) -> Result<bool> {
        let Some((has_rows, mut bytes)) = entry.split_first() else { return Err(corrupted()) };
        if *has_rows == 0 {
            return Ok(true);
        }
        let rows = number(&mut bytes)?;
        let types: Vec<&DataType> = self.schema.types().collect();
        let mut cells: Vec<Vec<&[u8]>> = vec![Vec::new(); types.len()];
        for _ in 0..rows {
            for column in &mut cells {
                column.push(squall_types::binary::take_string(&mut bytes).map_err(|_| corrupted())?);
            }
        }
        let columns = types.iter().zip(&cells).map(|(data_type, cells)| {
            Ok(Column::new((*data_type).clone(), squall_types::binary::read_rows(data_type, cells)?))
        });
        let columns = columns.collect::<Result<Vec<_>>>().map_err(|error: Error| error.context("A skip index"))?;
        let block = Block::new(self.schema.clone(), columns, rows);
        let positions: Vec<Option<usize>> = (0..types.len()).map(Some).collect();
        Ok(passes(&self.root, &block, &positions).is_none_or(|rows| rows.contains(&true)))
    }
}

fn is_useful(node: &Node) -> bool {
    match node {
        Node::Any => false,
        Node::Test { .. } => true,
        Node::And(nodes) => nodes.iter().any(is_useful),
        Node::Or(nodes) => nodes.iter().all(is_useful),
    }
}

/// For each row whether a condition may hold; `None` where it may for all.
fn passes(node: &Node, block: &Block, positions: &[Option<usize>]) -> Option<Vec<bool>> {
    match node {
        Node::Any => None,
        Node::And(nodes) => nodes.iter().filter_map(|node| passes(node, block, positions)).reduce(|mut all, one| {
            all.iter_mut().zip(one).for_each(|(all, one)| *all &= one);
            all
        }),
        Node::Or(nodes) => {
            let mut any = vec![false; block.rows()];
            for node in nodes {
                let one = passes(node, block, positions)?;
                any.iter_mut().zip(one).for_each(|(any, one)| *any |= one);
            }
            Some(any)
        }
        Node::Test { condition, is_negated } => {
            // What cannot be computed here is left to the query.
            let found = evaluate(condition, block, positions).ok()?;
            let holds = |value: Value| match value.as_f64() {
                Some(number) => (number != 0.0) != *is_negated,
                // NULL does not hold, and neither does NOT NULL.
                None => !value.is_null(),
            };
            Some((0..block.rows()).map(|row| holds(found.value(row))).collect())
        }
    }
}

fn node(predicate: &Expression, is_negated: bool, expressions: &[Expression]) -> Node {
    let of = |arguments: &[Expression]| arguments.iter().map(|one| node(one, is_negated, expressions)).collect();
    if let Expression::Function { name, arguments, .. } = predicate {
        match (&**name, arguments.as_slice()) {
            ("and" | "indexHint", arguments) if !is_negated => return Node::And(of(arguments)),
            ("and", arguments) => return Node::Or(of(arguments)),
            ("or", arguments) if !is_negated => return Node::Or(of(arguments)),
            ("or", arguments) => return Node::And(of(arguments)),
            ("not", [inner]) => return node(inner, !is_negated, expressions),
            _ => {}
        }
    }
    match over_columns(predicate, expressions).filter(is_test) {
        Some(condition) => Node::Test { condition, is_negated },
        None => Node::Any,
    }
}

/// Whether a condition reads something and gives the same for the same.
fn is_test(condition: &Expression) -> bool {
    let mut columns = 0;
    condition.visit_columns(&mut |_| columns += 1);
    columns > 0 && condition.is_deterministic()
}

/// The expression over the indexed columns; `None` where it reads something else.
fn over_columns(expression: &Expression, expressions: &[Expression]) -> Option<Expression> {
    if let Some(at) = expressions.iter().position(|own| own.same(expression)) {
        return Some(Expression::column(at, expression.data_type()));
    }
    if matches!(expression, Expression::Column { .. }) {
        return None;
    }
    let mut is_known = true;
    let mapped = expression.map_children(|child| match over_columns(child, expressions) {
        Some(child) => child,
        None => {
            is_known = false;
            child.clone()
        }
    });
    is_known.then_some(mapped)
}
