//! What planning depends on besides the query itself: tables, settings, parameters, and somebody who runs subqueries whose
//! results the plan needs as constants.

use std::collections::HashMap;
use std::sync::Arc;

use squall_functions::FunctionContext;
use squall_types::{Block, Error, Result, Schema, Settings};

use crate::catalog::Catalog;
use crate::dictionary::OutsideSource;
use crate::plan::Plan;

/// Everything that planning one query depends on.
#[derive(Clone)]
pub struct PlannerContext<'a> {
    /// Where names of tables are looked up.
    pub catalog: &'a dyn Catalog,
    /// The settings of the query.
    pub settings: &'a Settings,
    /// What functions may know of the query.
    pub functions: FunctionContext,
    /// Query parameters: the name in `{name:Type}` and the value's text.
    pub parameters: &'a HashMap<String, String>,
    /// Runs scalar subqueries and the right sides of `IN`.
    pub subqueries: &'a dyn SubqueryRunner,
}

/// Runs subqueries while a query is being planned: a scalar subquery is a constant of the plan, and so is the set of
/// `x IN (SELECT …)`.
pub trait SubqueryRunner {
    /// All rows of an optimized plan, in blocks of the plan's schema.
    ///
    /// # Errors
    /// Whatever running it meets.
    fn run(&self, plan: Plan) -> Result<Vec<Block>>;

    /// The rows of a query of a dictionary's source, which is the server's own query and not that of who looks something up.
    ///
    /// # Errors
    /// Those of the query.
    fn run_source(&self, query: &squall_sql::ast::Query, context: &PlannerContext<'_>) -> Result<Vec<Block>> {
        self.run(crate::plan_query(query, context)?)
    }

    /// Whether [`run`](Self::run) would run anything here and now: asked where its error would be taken for the query's.
    ///
    /// # Errors
    /// The one that `run` would give.
    fn check_may_run(&self) -> Result<()> {
        Ok(())
    }

    /// The pipelines that a plan would run as, a line each, for `EXPLAIN PIPELINE` in place of a table.
    ///
    /// # Errors
    /// Where a table cannot be read.
    fn explain_pipeline(&self, _plan: &Plan) -> Result<Vec<String>> {
        self.check_may_run()?;
        Err(Error::not_implemented("EXPLAIN PIPELINE here"))
    }

    /// Rows from outside of this server's tables: see [`SourceReader::outside`](crate::load::SourceReader::outside).
    ///
    /// # Errors
    /// Where the source cannot be read.
    fn read_outside(&self, _source: &OutsideSource, _: &Arc<Schema>, _keys: Option<&Block>) -> Result<Vec<Block>> {
        Err(Error::not_implemented("Reading files, commands and other servers here"))
    }

    /// Something that changes when such a source does; `None` where nobody knows.
    fn outside_version(&self, _source: &OutsideSource) -> Option<u64> {
        None
    }
}
