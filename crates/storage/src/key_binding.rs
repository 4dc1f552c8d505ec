//! Key expressions from their SQL, as the catalog keeps them.

use squall_functions::{FunctionContext, Moment};
use squall_planner::{
    ColumnDescription, Expression, Projection, ProjectionDefinition, TableDefinition, TableTtl, bind_expression,
};
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

    /// The same for defaults of columns that are added now: `now()` in them is this moment.
    pub(crate) fn of_this_moment(&self) -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(since.as_nanos()).unwrap_or(i64::MAX);
        let moment = Moment::new(now, 0, "".into(), "".into());
        Self { functions: FunctionContext { moment, ..self.functions.clone() } }
    }

    /// What functions know outside of queries.
    pub(crate) fn functions(&self) -> &FunctionContext {
        &self.functions
    }

    /// What expires in a table.
    ///
    /// # Errors
    /// As of [`TableTtl::bind`].
    pub(crate) fn ttl(&self, definition: &TableDefinition) -> Result<TableTtl> {
        TableTtl::bind(definition, &self.of_this_moment().functions)
    }

    /// A projection of a table of these columns.
    ///
    /// # Errors
    /// As of [`Projection::bind`].
    pub(crate) fn projection(
        &self,
        definition: &ProjectionDefinition,
        columns: &[ColumnDescription],
    ) -> Result<Projection> {
        Projection::bind(definition, columns, &self.functions)
    }

    /// The typed expression over these columns.
    ///
    /// # Errors
    /// Where it is not an expression over the columns.
    pub(crate) fn bind(&self, sql: &str, columns: &[ColumnDescription]) -> Result<Expression> {
        bind_expression(sql, columns, &self.functions)
    }
}
