//! A walk over a query's tree that may change what it meets: names of tables, expressions. Whoever walks says what to do with each.

use super::{
    ColumnTransformer, Expression, ExpressionKind, FrameBound, From, FromStep, Function, GroupBy, JoinConstraint,
    Limit, MatchedColumns, OrderBy, Over, Query, QueryBody, Select, SetOperation, TableExpression, TableName,
    TableSource, WindowDefinition, WithItem,
};

/// What is done on the way.
pub trait Visitor {
    /// Before a SELECT: its common table expressions hide tables of their names until [`leave`](Self::leave).
    fn enter(&mut self, _select: &Select) {}
    /// After a SELECT.
    fn leave(&mut self, _select: &Select) {}
    /// A set operation, before its operands.
    fn set_operation(&mut self, _operation: &mut SetOperation) {}
    /// A table of FROM.
    fn table(&mut self, _name: &mut TableName) {}
    /// A table function of FROM, before its arguments.
    fn table_function(&mut self, _function: &mut Function) {}
    /// An expression, before what it consists of; whether that is to be walked over, too.
    fn expression(&mut self, _expression: &mut Expression) -> bool {
        true
    }
}

impl Query {
    /// Walks over the query.
    pub fn walk(&mut self, visitor: &mut dyn Visitor) {
        self.body.walk(visitor);
    }
}

impl QueryBody {
    fn walk(&mut self, visitor: &mut dyn Visitor) {
        match self {
            Self::Select(select) => select.walk(visitor),
            Self::SetOperation(operation) => {
                visitor.set_operation(operation);
                operation.operands.iter_mut().for_each(|operand| operand.walk(visitor));
            }
        }
    }
}

impl Select {
    fn walk(&mut self, visitor: &mut dyn Visitor) {
        visitor.enter(self);
        for item in &mut self.with {
            match item {
                WithItem::Expression(expression) => expression.walk(visitor),
                WithItem::Table { query, .. } => query.walk(visitor),
            }
        }
        if let Some(from) = &mut self.from {
            from.walk(visitor);
        }
        walk_all(&mut self.projection, visitor);
        for clause in [&mut self.prewhere, &mut self.filter, &mut self.having, &mut self.qualify] {
            walk_all(clause, visitor);
        }
        match &mut self.group_by {
            None | Some(GroupBy::All) => {}
            Some(GroupBy::Expressions(keys) | GroupBy::Rollup(keys) | GroupBy::Cube(keys)) => walk_all(keys, visitor),
            Some(GroupBy::GroupingSets(sets)) => sets.iter_mut().for_each(|keys| walk_all(keys, visitor)),
        }
        self.windows.iter_mut().for_each(|window| window.definition.walk(visitor));
        if let Some(order_by) = &mut self.order_by {
            order_by.walk(visitor);
        }
        if let Some(limit_by) = &mut self.limit_by {
            limit_by.count.walk(visitor);
            walk_all(&mut limit_by.offset, visitor);
            walk_all(&mut limit_by.by, visitor);
        }
        if let Some(Limit { count, offset, .. }) = &mut self.limit {
            walk_all(count, visitor);
            walk_all(offset, visitor);
        }
        visitor.leave(self);
    }
}

impl From {
    fn walk(&mut self, visitor: &mut dyn Visitor) {
        if let Some(table) = &mut self.table {
            table.walk(visitor);
        }
        for step in &mut self.steps {
            match step {
                FromStep::Join(join) => {
                    join.table.walk(visitor);
                    match &mut join.constraint {
                        JoinConstraint::On(condition) => condition.walk(visitor),
                        JoinConstraint::Using(_) | JoinConstraint::None | JoinConstraint::Natural => {}
                    }
                }
                FromStep::ArrayJoin(array_join) => walk_all(&mut array_join.expressions, visitor),
            }
        }
    }
}

impl TableExpression {
    fn walk(&mut self, visitor: &mut dyn Visitor) {
        match &mut self.source {
            TableSource::Table(name) => visitor.table(name),
            TableSource::Function(function) => {
                visitor.table_function(function);
                walk_all(&mut function.arguments, visitor);
            }
            TableSource::Subquery(query) => query.walk(visitor),
        }
    }
}

impl OrderBy {
    fn walk(&mut self, visitor: &mut dyn Visitor) {
        for item in &mut self.items {
            item.expression.walk(visitor);
            if let Some(fill) = &mut item.fill {
                for bound in [&mut fill.from, &mut fill.to, &mut fill.step, &mut fill.staleness] {
                    walk_all(bound, visitor);
                }
            }
        }
        self.interpolate.iter_mut().flatten().for_each(|item| item.expression.walk(visitor));
    }
}

impl WindowDefinition {
    fn walk(&mut self, visitor: &mut dyn Visitor) {
        walk_all(&mut self.partition_by, visitor);
        if let Some(order_by) = &mut self.order_by {
            order_by.walk(visitor);
        }
        if let Some(frame) = &mut self.frame {
            for bound in [&mut frame.begin, &mut frame.end] {
                if let FrameBound::Preceding(rows) | FrameBound::Following(rows) = bound {
                    rows.walk(visitor);
                }
            }
        }
    }
}

impl Expression {
    /// Walks over the expression.
    pub fn walk(&mut self, visitor: &mut dyn Visitor) {
        if !visitor.expression(self) {
            return;
        }
        match &mut self.kind {
            ExpressionKind::Literal(_) | ExpressionKind::Identifier(_) | ExpressionKind::Parameter(_) => {}
            ExpressionKind::Function(function) => {
                walk_all(function.parameters.iter_mut().flatten(), visitor);
                walk_all(&mut function.arguments, visitor);
                if let Some(Over::Definition(definition)) = function.over.as_deref_mut() {
                    definition.walk(visitor);
                }
            }
            ExpressionKind::Lambda(lambda) => lambda.body.walk(visitor),
            ExpressionKind::Subquery(query) => query.walk(visitor),
            ExpressionKind::Matcher(matcher) => {
                if let MatchedColumns::List(columns) = &mut matcher.columns {
                    walk_all(columns, visitor);
                }
                for transformer in &mut matcher.transformers {
                    match transformer {
                        ColumnTransformer::ApplyFunction { parameters, .. } => walk_all(parameters, visitor),
                        ColumnTransformer::ApplyLambda { lambda, .. } => lambda.body.walk(visitor),
                        ColumnTransformer::Replace { items, .. } => {
                            items.iter_mut().for_each(|(expression, _)| expression.walk(visitor));
                        }
                        ColumnTransformer::Except { .. } | ColumnTransformer::ExceptRegexp(_) => {}
                    }
                }
            }
        }
    }
}

fn walk_all<'a>(expressions: impl IntoIterator<Item = &'a mut Expression>, visitor: &mut dyn Visitor) {
    expressions.into_iter().for_each(|expression| expression.walk(visitor));
}
