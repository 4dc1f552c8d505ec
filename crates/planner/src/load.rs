//! Rows that a query makes before others can be planned over them: those of dictionaries.

use squall_types::Result;

use crate::catalog::LoadedByQuery;
use crate::context::PlannerContext;

/// Loads what a query loads. `anew`: also where it is loaded already.
///
/// # Errors
/// Those of the query, and of the rows' keeper.
pub fn load(rows: &dyn LoadedByQuery, anew: bool, context: &PlannerContext<'_>) -> Result<()> {
    // Who runs no queries here must not look like a query that failed.
    context.subqueries.check_may_run()?;
    rows.load(anew, &mut |query| context.subqueries.run(crate::plan_query(query, context)?))
}
