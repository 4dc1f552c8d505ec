//! One expression over a table's columns from its SQL alone: how `storage` reads back the keys and defaults that it keeps as text.

use std::collections::HashMap;
use std::sync::Arc;

use squall_functions::FunctionContext;
use squall_sql::{ParserLimits, ast, parse_expression};
use squall_types::{Block, Error, ErrorCode, Result, Settings, Value};

use crate::catalog::{Catalog, ColumnDescription, TableMetadata};
use crate::context::{PlannerContext, SubqueryRunner};
use crate::create::expression_over;
use crate::expression::Expression;
use crate::plan::Plan;

/// The typed expression over these columns by position.
///
/// # Errors
/// `SYNTAX_ERROR`, `UNKNOWN_IDENTIFIER`, and whatever is wrong with the expression; there are no tables and no subqueries in it.
pub fn bind_expression(sql: &str, columns: &[ColumnDescription], functions: &FunctionContext) -> Result<Expression> {
    let parsed = parse_expression(sql, &ParserLimits::default())
        .map_err(|error| Error::new(ErrorCode::SYNTAX_ERROR, error.to_string()))?;
    bind_parsed(&parsed, columns, functions)
}

/// The same of an expression that was parsed.
///
/// # Errors
/// As [`bind_expression`].
pub(crate) fn bind_parsed(
    expression: &ast::Expression,
    columns: &[ColumnDescription],
    functions: &FunctionContext,
) -> Result<Expression> {
    let context = PlannerContext {
        catalog: &Nothing,
        settings: &Settings::default(),
        functions: functions.clone(),
        parameters: &HashMap::new(),
        subqueries: &Nothing,
    };
    expression_over(columns, expression, &context)
}

/// No tables and no subqueries.
pub(crate) struct Nothing;

impl Catalog for Nothing {
    fn table(&self, _: Option<&str>, table: &str) -> Result<Arc<dyn TableMetadata>> {
        Err(Error::new(ErrorCode::UNKNOWN_TABLE, format!("Table {table} in an expression over columns")))
    }

    fn tables(&self, _: &str) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn table_function(&self, name: &str, _: &[Value], _: &PlannerContext<'_>) -> Result<Arc<dyn TableMetadata>> {
        Err(Error::new(ErrorCode::UNKNOWN_FUNCTION, format!("Table function {name} in an expression over columns")))
    }
}

impl SubqueryRunner for Nothing {
    fn run(&self, _: Plan) -> Result<Vec<Block>> {
        Err(Error::new(ErrorCode::BAD_ARGUMENTS, "A subquery in an expression over columns"))
    }
}
