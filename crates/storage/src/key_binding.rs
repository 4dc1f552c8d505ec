//! Key expressions from their SQL, as the catalog keeps them.

use squall_functions::FunctionContext;
use squall_planner::{ColumnDescription, Expression, bind_expression};
use squall_types::Result;

/// Reads key expressions as a server in one time zone does.
pub(crate) struct KeyBinding {
    functions: FunctionContext,
}

impl KeyBinding {
    /// For a server in this time zone, which dates of times in keys depend on.
    pub(crate) fn new(time_zone: &str) -> Self {
        Self { functions: FunctionContext::outside_queries(time_zone) }
    }

    /// What functions know outside of queries.
    pub(crate) fn functions(&self) -> &FunctionContext {
        &self.functions
    }

    /// The typed expression over these columns.
    ///
    /// # Errors
    /// Where it is not an expression over the columns.
    pub(crate) fn bind(&self, sql: &str, columns: &[ColumnDescription]) -> Result<Expression> {
        bind_expression(sql, columns, &self.functions)
    }
}
