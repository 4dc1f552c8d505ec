//! Key expressions from their SQL, as the catalog keeps them.

use std::sync::Arc;

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
        let nobody: Arc<str> = "".into();
        Self {
            functions: FunctionContext {
                time_zone: time_zone.into(),
                query_start_ns: 0,
                current_database: nobody.clone(),
                current_user: nobody.clone(),
                query_id: nobody.clone(),
                host_name: nobody.clone(),
                server_version: nobody,
                uptime_seconds: 0,
                cast_keep_nullable: false,
                allow_introspection_functions: false,
            },
        }
    }

    /// The typed expression over these columns.
    ///
    /// # Errors
    /// Where it is not an expression over the columns.
    pub(crate) fn bind(&self, sql: &str, columns: &[ColumnDescription]) -> Result<Expression> {
        bind_expression(sql, columns, &self.functions)
    }
}
