//! What `EXPLAIN SYNTAX` shows of a query beside its text: types of constants that are no numbers or strings, WITH that counts for a whole
//! UNION, and UNIONs without those inside that change nothing.

use squall_sql::ast::{
    self, Expression, ExpressionKind, Literal, QueryBody, Select, SetOperation, SetOperator, SetQuantifier, Visitor,
    WithItem,
};

use crate::analyzer::{MEMBERSHIPS, typed_literal};

/// Makes a query say all of that.
pub fn make_explicit(query: &mut ast::Query) {
    query.walk(&mut Explicit);
}

struct Explicit;

impl Visitor for Explicit {
    fn set_operation(&mut self, operation: &mut SetOperation) {
        flatten(operation);
        let with = operation.operands.first().and_then(first_select).map(|first| first.with.clone());
        if let Some(with) = with.filter(|with| !with.is_empty()) {
            for operand in operation.operands.iter_mut() {
                share(&with, operand);
            }
        }
    }

    fn expression(&mut self, expression: &mut Expression) -> bool {
        match &mut expression.kind {
            ExpressionKind::Literal(literal @ (Literal::Array(_) | Literal::Tuple(_))) => {
                expression.kind = typed(std::mem::replace(literal, Literal::Null));
                false
            }
            ExpressionKind::Function(function) if MEMBERSHIPS.contains(&function.name.as_str()) => {
                // The right side is a set, whose types are the left side's.
                let is_set = |at: usize, argument: &Expression| {
                    at == 1 && matches!(argument.kind, ExpressionKind::Literal(Literal::Tuple(_)))
                };
                for (at, argument) in function.arguments.iter_mut().enumerate() {
                    if !is_set(at, argument) {
                        argument.walk(self);
                    }
                }
                false
            }
            _ => true,
        }
    }
}

/// An array or a tuple with its type; an array of tuples as a call of `array`.
fn typed(literal: Literal) -> ExpressionKind {
    match literal {
        Literal::Array(items) if items.iter().any(|item| matches!(item, Literal::Tuple(_))) => {
            let items = items.into_iter().map(|item| match item {
                item @ (Literal::Array(_) | Literal::Tuple(_)) => Expression::new(typed(item), ast::Span::default()),
                item => Expression::literal(item),
            });
            Expression::function("array", items.collect()).kind
        }
        literal => match typed_literal(&literal) {
            Ok((_, data_type)) => {
                let name = Expression::literal(Literal::string(data_type.to_string()));
                Expression::function("_CAST", vec![Expression::literal(literal), name]).kind
            }
            Err(_) => ExpressionKind::Literal(literal),
        },
    }
}

/// Takes operands out of UNIONs that are operands of another, where the rows are the same: ALL in ALL, and any in DISTINCT.
fn flatten(operation: &mut SetOperation) {
    let mut operands = Vec::with_capacity(operation.operands.len());
    for operand in operation.operands.drain(..) {
        match operand {
            QueryBody::SetOperation(mut inner) => {
                flatten(&mut inner);
                let are_unions = operation.operator == SetOperator::Union && inner.operator == SetOperator::Union;
                let goes_in = match operation.quantifier {
                    SetQuantifier::All => inner.quantifier == SetQuantifier::All,
                    SetQuantifier::Distinct => inner.quantifier != SetQuantifier::Default,
                    SetQuantifier::Default => false,
                };
                if are_unions && goes_in {
                    operands.append(&mut inner.operands);
                } else {
                    operands.push(QueryBody::SetOperation(inner));
                }
            }
            select @ QueryBody::Select(_) => operands.push(select),
        }
    }
    operation.operands = operands;
}

/// The SELECT that a body begins with.
fn first_select(body: &QueryBody) -> Option<&Select> {
    match body {
        QueryBody::Select(select) => Some(select),
        QueryBody::SetOperation(operation) => first_select(operation.operands.first()?),
    }
}

/// Gives the SELECTs of a body what they do not define themselves.
fn share(with: &[WithItem], body: &mut QueryBody) {
    match body {
        QueryBody::SetOperation(operation) => operation.operands.iter_mut().for_each(|operand| share(with, operand)),
        QueryBody::Select(select) => {
            let own: Vec<String> = select.with.iter().filter_map(name).map(str::to_owned).collect();
            let is_new = |item: &&WithItem| name(item).is_some_and(|name| !own.iter().any(|own| own == name));
            select.with.extend(with.iter().filter(is_new).cloned());
        }
    }
}

/// What an item of WITH defines.
fn name(item: &WithItem) -> Option<&str> {
    match item {
        WithItem::Expression(expression) => expression.alias.as_ref().map(|alias| alias.value.as_str()),
        WithItem::Table { name, .. } => Some(name.value.as_str()),
    }
}
