//! The columns of a query, a table function or a table, without running anything: `DESCRIBE`.

use std::sync::Arc;

use squall_sql::ast;
use squall_types::{Result, Schema};

use crate::analyzer::{Analyzer, analyze_query};
use crate::catalog::ColumnDescription;
use crate::context::PlannerContext;

/// The names and types of a query's columns.
///
/// # Errors
/// Everything that can be wrong with a query.
pub fn describe_query(query: &ast::Query, context: &PlannerContext<'_>) -> Result<Arc<Schema>> {
    let plan = analyze_query(query, context)?;
    crate::rules::check_reads(&plan, context)?;
    Ok(plan.schema().clone())
}

/// The columns of a table function.
///
/// # Errors
/// `UNKNOWN_FUNCTION`, and what is wrong with its arguments.
pub fn describe_table_function(
    function: &ast::Function,
    context: &PlannerContext<'_>,
) -> Result<Vec<ColumnDescription>> {
    Analyzer::new(context).table_function_columns(function)
}
