//! SQL text of parts of a query, for messages and for definitions that tables keep, and back.

use squall_sql::ast;
use squall_types::{Error, ErrorCode, Result};

/// A query in one line.
pub(crate) fn query(query: ast::Query) -> String {
    squall_sql::format_one_line(&ast::Statement::Query(Box::new(query)))
}

/// A SELECT in one line.
pub(crate) fn select(select: ast::Select) -> String {
    let span = select.span;
    query(ast::Query::of(ast::QueryBody::Select(Box::new(select)), span))
}

/// An expression in one line, with its alias.
pub(crate) fn expression(expression: &ast::Expression) -> String {
    squall_sql::format_expression(expression)
}

/// The REFRESH clause of a text that a view's definition keeps.
///
/// # Errors
/// `SYNTAX_ERROR`.
pub(crate) fn parse_refresh(text: &str) -> Result<ast::RefreshStrategy> {
    squall_sql::parse_refresh(text, &squall_sql::ParserLimits::default())
        .map_err(|error| Error::new(ErrorCode::SYNTAX_ERROR, error.to_string()))
}

/// The expression of a text that a table's definition keeps.
///
/// # Errors
/// `SYNTAX_ERROR`.
pub(crate) fn parse_expression(text: &str) -> Result<ast::Expression> {
    squall_sql::parse_expression(text, &squall_sql::ParserLimits::default())
        .map_err(|error| Error::new(ErrorCode::SYNTAX_ERROR, error.to_string()))
}
