//! SQL text of parts of a query, for messages and for definitions that tables keep, and back.

use squall_sql::ast;
use squall_types::{Error, ErrorCode, Result};

/// A query in one line.
pub(crate) fn query(query: ast::Query) -> String {
    crate::pending::format_one_line(&ast::Statement::Query(Box::new(query)))
}

/// A SELECT in one line.
pub(crate) fn select(select: ast::Select) -> String {
    let span = select.span;
    query(ast::Query { body: ast::QueryBody::Select(Box::new(select)), output: ast::Output::default(), span })
}

/// An expression in one line.
pub(crate) fn expression(expression: &ast::Expression) -> String {
    let alone = ast::Select { projection: vec![expression.clone()], ..ast::Select::default() };
    let text = select(alone);
    text.strip_prefix("SELECT ").map(str::to_owned).unwrap_or(text)
}

/// The expression of a text that a table's definition keeps.
///
/// # Errors
/// `SYNTAX_ERROR`.
pub(crate) fn parse_expression(text: &str) -> Result<ast::Expression> {
    crate::pending::parse_expression(text, &crate::pending::ParserLimits::default())
        .map_err(|error| Error::new(ErrorCode::SYNTAX_ERROR, error.to_string()))
}
