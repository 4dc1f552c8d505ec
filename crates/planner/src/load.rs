//! Rows that somebody must fetch before others can be planned over them: those of dictionaries.

use std::sync::Arc;

use squall_sql::ast;
use squall_types::{Block, Result, Schema};

use crate::catalog::LoadedByQuery;
use crate::context::PlannerContext;
use crate::dictionary::{OutsideSource, SourceServer};

/// Fetches the rows of dictionaries' sources.
pub trait SourceReader {
    /// The rows of a query of a server; without one, of this server.
    ///
    /// # Errors
    /// Those of the query; of the connection, and `UNACCEPTABLE_URL` for another server that may not be asked.
    fn query(&mut self, query: &ast::Query, server: Option<&SourceServer>) -> Result<Vec<Block>>;

    /// The rows of a source outside of this server's tables, as blocks of `schema`; those of `keys` alone where they are given.
    ///
    /// # Errors
    /// Where the source cannot be read, and what is wrong with its rows.
    fn outside(&mut self, source: &OutsideSource, schema: &Arc<Schema>, keys: Option<&Block>) -> Result<Vec<Block>>;

    /// Something that changes when such a source does; `None` where nobody knows.
    fn version(&mut self, source: &OutsideSource) -> Option<u64>;
}

/// Loads what a query loads. `anew`: also where it is loaded already.
///
/// # Errors
/// Those of the source, and of the rows' keeper.
pub fn load(rows: &dyn LoadedByQuery, anew: bool, context: &PlannerContext<'_>) -> Result<()> {
    // Who runs no queries here must not look like a query that failed.
    context.subqueries.check_may_run()?;
    rows.load(anew, &mut ContextReader { context })
}

/// A reader for whoever has a planner.
pub struct ContextReader<'a, 'b> {
    /// What plans and runs the queries.
    pub context: &'a PlannerContext<'b>,
}

impl SourceReader for ContextReader<'_, '_> {
    fn query(&mut self, query: &ast::Query, server: Option<&SourceServer>) -> Result<Vec<Block>> {
        self.context.subqueries.run_source(query, server, self.context)
    }

    fn outside(&mut self, source: &OutsideSource, schema: &Arc<Schema>, keys: Option<&Block>) -> Result<Vec<Block>> {
        self.context.subqueries.read_outside(source, schema, keys)
    }

    fn version(&mut self, source: &OutsideSource) -> Option<u64> {
        self.context.subqueries.outside_version(source)
    }
}
