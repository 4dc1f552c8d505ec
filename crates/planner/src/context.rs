//! What planning depends on besides the query itself: tables, settings, parameters, and somebody who runs subqueries whose
//! results the plan needs as constants.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use squall_functions::FunctionContext;
use squall_sql::ast;
use squall_types::{Block, Error, ErrorCode, Result, Schema, Settings};

use crate::catalog::Catalog;
use crate::dictionary::{OutsideSource, SourceServer};
use crate::explain::Shown;
use crate::plan::{Plan, Scan};

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

impl PlannerContext<'_> {
    /// The settings that hold within a stored query: those of who reads it, and over them its own; `None` where it has none.
    ///
    /// # Errors
    /// `UNKNOWN_SETTING`, `CANNOT_PARSE_TEXT`, `BAD_ARGUMENTS`, `SUPPORT_IS_DISABLED`.
    pub(crate) fn settings_within(&self, query: &ast::Query) -> Result<Option<Arc<Settings>>> {
        if query.settings_within.is_empty() {
            return Ok(None);
        }
        let mut settings = self.settings.clone();
        for setting in &query.settings_within {
            let text = match &setting.value {
                ast::SettingValue::Literal(literal) => literal.setting_text(),
                ast::SettingValue::Default => Settings::default().get(&setting.name),
                ast::SettingValue::Expression(_) => None,
            };
            let bad = || {
                Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!("The value of setting '{}' must be a constant", setting.name),
                )
            };
            settings.set(&setting.name, &text.ok_or_else(bad)?)?;
        }
        Ok(Some(Arc::new(settings)))
    }

    /// The same with other settings. What the reader's rights decide stays as it is.
    pub(crate) fn under<'b>(&'b self, settings: &'b Arc<Settings>) -> PlannerContext<'b> {
        let mut context = PlannerContext { settings, ..self.clone() };
        context.functions.settings = settings.clone();
        context
    }
}

/// Runs subqueries while a query is being planned: a scalar subquery is a constant of the plan, and so is the set of
/// `x IN (SELECT …)`.
pub trait SubqueryRunner {
    /// All rows of an optimized plan, in blocks of the plan's schema.
    ///
    /// # Errors
    /// Whatever running it meets.
    fn run(&self, plan: Plan) -> Result<Vec<Block>>;

    /// The rows of a query of a dictionary's source, which is the server's own query and not that of who looks something up. `server` may be
    /// another one.
    ///
    /// # Errors
    /// Those of the query; of the connection to another server, and `NOT_IMPLEMENTED` where none can be asked.
    fn run_source(
        &self,
        query: &ast::Query,
        server: Option<&SourceServer>,
        context: &PlannerContext<'_>,
    ) -> Result<Vec<Block>> {
        if let Some(SourceServer { host, .. }) = server {
            return Err(Error::not_implemented(format!("Reading from another server, {host},")));
        }
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

    /// What indexes leave of a scan, for `EXPLAIN indexes = 1` in place of a table.
    ///
    /// # Errors
    /// Where they cannot be read.
    fn describe_scan(&self, _scan: &Scan) -> Result<Vec<String>> {
        self.check_may_run()?;
        Err(Error::not_implemented("EXPLAIN indexes = 1 here"))
    }

    /// Runs a plan, the making of which took so long, and tells what its steps did, for `EXPLAIN ANALYZE` in place of a table.
    ///
    /// # Errors
    /// Whatever running it meets.
    fn explain_analyze(&self, _plan: &Plan, _planning: Duration, _shown: Shown) -> Result<Vec<String>> {
        self.check_may_run()?;
        Err(Error::not_implemented("EXPLAIN ANALYZE here"))
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
