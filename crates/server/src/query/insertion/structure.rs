//! Table functions that are told no structure, in the query of an INSERT: their columns are those that the INSERT writes
//! (`use_structure_from_insertion_table_in_table_functions`).

use std::borrow::Cow;

use squall_planner::ColumnDescription;
use squall_sql::ast::{self, Expression, ExpressionKind, Literal, MatchedColumns, QueryBody, Select, TableSource};

/// The query with the structures of its table functions, for an INSERT that writes these columns.
pub(super) fn with_structures<'q>(query: &'q ast::Query, written: &[ColumnDescription]) -> Cow<'q, ast::Query> {
    if !wants_structure(&query.body) {
        return Cow::Borrowed(query);
    }
    let mut told = query.clone();
    tell(&mut told.body, written);
    Cow::Owned(told)
}

fn wants_structure(body: &QueryBody) -> bool {
    match body {
        QueryBody::Select(select) => function_of(select).is_some_and(is_without_structure),
        QueryBody::SetOperation(operation) => operation.operands.iter().any(wants_structure),
    }
}

/// The function whose rows a SELECT reads alone.
fn function_of(select: &Select) -> Option<&ast::Function> {
    let from = select.from.as_ref().filter(|from| from.steps.is_empty())?;
    match &from.table.as_ref()?.source {
        TableSource::Function(function) => Some(function),
        TableSource::Table(_) | TableSource::Subquery(_) => None,
    }
}

fn is_without_structure(function: &ast::Function) -> bool {
    let first = function.arguments.first().map(|argument| &argument.kind);
    match function.name.as_str() {
        "null" => first.is_none(),
        "generateRandom" => match first {
            None => true,
            Some(ExpressionKind::Literal(literal)) => literal.as_str().is_none(),
            Some(_) => false,
        },
        _ => false,
    }
}

fn tell(body: &mut QueryBody, written: &[ColumnDescription]) {
    match body {
        QueryBody::SetOperation(operation) => {
            operation.operands.iter_mut().for_each(|operand| tell(operand, written));
        }
        QueryBody::Select(select) => {
            if !function_of(select).is_some_and(is_without_structure) {
                return;
            }
            let Some(structure) = structure(&select.projection, written) else { return };
            if let Some(table) = select.from.as_mut().and_then(|from| from.table.as_mut())
                && let TableSource::Function(function) = &mut table.source
            {
                function.arguments.insert(0, Expression::literal(Literal::string(structure)));
            }
        }
    }
}

/// Names and types of the columns that a SELECT reads: the place of a name in it tells its type, and `*` stands for the columns between
/// those that come before and after it.
fn structure(projection: &[Expression], written: &[ColumnDescription]) -> Option<String> {
    let mut columns: Vec<(String, &ColumnDescription)> = Vec::new();
    let mut rest = written.iter();
    for (at, expression) in projection.iter().enumerate() {
        match &expression.kind {
            ExpressionKind::Matcher(matcher) if matches!(matcher.columns, MatchedColumns::All) => {
                let after = projection.len() - at - 1;
                let many = rest.len().saturating_sub(after);
                columns.extend(rest.by_ref().take(many).map(|column| (column.name.to_string(), column)));
            }
            ExpressionKind::Identifier(parts) if let [name] = parts.as_slice() => {
                columns.extend(rest.next().map(|column| (name.value.clone(), column)));
            }
            _ => {
                rest.next();
            }
        }
    }
    let mut text = String::new();
    for (at, (name, column)) in columns.iter().enumerate() {
        if columns[..at].iter().any(|(earlier, _)| earlier == name) {
            continue;
        }
        if !text.is_empty() {
            text += ", ";
        }
        text +=
            &format!("{} {}", squall_sql::format_expression(&Expression::identifier(name.clone())), column.data_type);
    }
    (!text.is_empty()).then_some(text)
}
