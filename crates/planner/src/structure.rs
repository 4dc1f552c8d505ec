//! Structures: the columns that a table function is told, `'a UInt8, b String DEFAULT toString(a)'`. They are declared as those of a table.

use squall_sql::ParserLimits;
use squall_types::{Error, ErrorCode, Result};

use crate::catalog::ColumnDescription;
use crate::context::PlannerContext;
use crate::create::{check_columns, declared_columns};

/// The columns of a structure.
///
/// # Errors
/// `SYNTAX_ERROR`; those of declaring a table's columns.
pub fn plan_structure(text: &str, context: &PlannerContext<'_>) -> Result<Vec<ColumnDescription>> {
    let limits = ParserLimits { max_query_size: 0, ..ParserLimits::default() };
    let mut declarations = squall_sql::parse_columns(text, &limits)
        .map_err(|error| Error::new(ErrorCode::SYNTAX_ERROR, format!("Columns declaration list: {error}")))?;
    for declaration in &mut declarations {
        // They are for the parts of a table.
        declaration.statistics = None;
    }
    let columns = declared_columns(&declarations, &[], context)?;
    check_columns(&columns, context)?;
    Ok(columns)
}
