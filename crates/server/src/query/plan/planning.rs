//! From a parsed statement to a plan: the planner with this session's catalog, settings and parameters, and the subqueries that it
//! wants run meanwhile.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use squall_engine::QueryContext;
use squall_formats::{FormatOptions, load_schema};
use squall_functions::{FunctionContext, Moment, SeriesTags};
use squall_planner::{
    OutsideSource, Plan, PlannerContext, Scan, Shown, SourceServer, SubqueryRunner, may_be_settled, plan_query, settle,
};
use squall_remote::Peers;
use squall_runtime::ProfileEvent;
use squall_sql::{ParserLimits, ast};
use squall_types::checkpoint::leash;
use squall_types::{Block, Error, ErrorCode, Result, Schema};

use squall_storage::NamedLookups;

use super::cache::Parsed;
use super::catalog::QueryCatalog;
use super::kept_plan::KeptPlan;
use super::surroundings::SessionSurroundings;
use crate::dictionaries::sources;
use crate::query::control::explain::{Analyzed, index_lines};
use crate::session::Session;
use crate::version::REVISION;

/// Planning, or evaluating a value of an INSERT, that takes longer goes on where it holds up no connection.
pub(in crate::query) const PLANNING_MAX: Duration = Duration::from_millis(1);

/// Plans a query.
///
/// # Errors
/// Everything that can be wrong with a query.
pub(in crate::query) async fn plan(session: &Session, query: &ast::Query, context: &Arc<QueryContext>) -> Result<Plan> {
    let mut plan = with_planner(session, context, query, plan_query).await?;
    context.note_uses(|uses| uses.note_columns(&plan));
    settle_plan(session, &mut plan, context)?;
    Ok(plan)
}

/// Does to a plan what depends on the tables of this moment.
fn settle_plan(session: &Session, plan: &mut Plan, context: &QueryContext) -> Result<()> {
    let functions = function_context(session, &context.query_id, lookups(session));
    let used = settle(plan, &context.settings, &functions)?;
    if !used.is_empty() {
        context.note_uses(|uses| uses.projections.extend(used));
    }
    Ok(())
}

/// Does something with the planner that may want subqueries run. If it does, it is done anew on a thread that may wait for them.
///
/// # Errors
/// Those of `work`.
pub(in crate::query) async fn with_planner<S, T>(
    session: &Session,
    context: &Arc<QueryContext>,
    statement: &S,
    work: fn(&S, &PlannerContext<'_>) -> Result<T>,
) -> Result<T>
where
    S: Clone + Send + 'static,
    T: Send + 'static,
{
    let refuser = Refuser::default();
    let catalog = QueryCatalog::new(session);
    let leash = leash(PLANNING_MAX);
    let done = guarded(|| planner(session, context, &catalog, &refuser, |planner| work(statement, planner)));
    let is_done = !refuser.was_asked.get() && !leash.was_too_short();
    drop(leash);
    let uses = catalog.take_uses();
    drop(catalog);
    // Planned anew, the query meets the same again.
    context.note_uses(|noted| noted.add(uses));
    if is_done { done } else { elsewhere(session, context, statement, work).await }
}

/// Does work of planning. A fault in planning one query is that query's alone, and leaves its limits on no thread.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Error::logical("a panic in planning")))
}

/// Does something with the planner on a thread that may wait and may take its time.
async fn elsewhere<S, T>(
    session: &Session,
    context: &Arc<QueryContext>,
    statement: &S,
    work: fn(&S, &PlannerContext<'_>) -> Result<T>,
) -> Result<T>
where
    S: Clone + Send + 'static,
    T: Send + 'static,
{
    let (session, statement) = (session.clone(), statement.clone());
    on_other_thread(context, move |context| planner_that_waits(&session, context, |planner| work(&statement, planner)))
        .await
}

/// Does work right here while others of this thread's connections are served by another thread.
pub(in crate::query) fn in_place<T>(work: impl FnOnce() -> T) -> T {
    let flavor = tokio::runtime::Handle::try_current().map(|runtime| runtime.runtime_flavor());
    match flavor {
        Ok(tokio::runtime::RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// Does work for a query on a thread that may take its time, within the query's limits.
async fn on_other_thread<T: Send + 'static>(
    context: &Arc<QueryContext>,
    work: impl FnOnce(&Arc<QueryContext>) -> Result<T> + Send + 'static,
) -> Result<T> {
    let context = context.clone();
    let planning = tokio::task::spawn_blocking(move || {
        let _thread = context.enter();
        guarded(|| work(&context))
    });
    planning.await.map_err(|error| Error::logical(format!("planning was interrupted: {error}")))?
}

/// Does something with the planner that wants no subqueries.
///
/// # Errors
/// Those of `work`.
pub(in crate::query) fn planner_now<T>(
    session: &Session,
    context: &QueryContext,
    work: impl FnOnce(&PlannerContext<'_>) -> Result<T>,
) -> Result<T> {
    planner(session, context, &QueryCatalog::new(session), &Refuser::default(), work)
}

/// Does something with the planner on a thread that may wait for subqueries.
///
/// # Errors
/// Those of `work`.
pub(in crate::query) fn planner_that_waits<T>(
    session: &Session,
    context: &Arc<QueryContext>,
    work: impl FnOnce(&PlannerContext<'_>) -> Result<T>,
) -> Result<T> {
    let runner = Runner { session: session.clone(), context: context.clone(), is_here: false };
    let catalog = QueryCatalog::new(session);
    let done = planner(session, context, &catalog, &runner, work);
    context.note_uses(|noted| noted.add(catalog.take_uses()));
    done
}

/// Does something with the planner on a worker's thread: subqueries run on it from their beginning to their end.
///
/// # Errors
/// Those of `work`.
pub(in crate::query) fn planner_here<T>(
    session: &Session,
    context: &Arc<QueryContext>,
    work: impl FnOnce(&PlannerContext<'_>) -> Result<T>,
) -> Result<T> {
    let runner = Runner { session: session.clone(), context: context.clone(), is_here: true };
    planner(session, context, &QueryCatalog::new(session), &runner, work)
}

fn planner<T>(
    session: &Session,
    context: &QueryContext,
    catalog: &QueryCatalog<'_>,
    subqueries: &dyn SubqueryRunner,
    work: impl FnOnce(&PlannerContext<'_>) -> Result<T>,
) -> Result<T> {
    let began = Instant::now();
    if !context.settings.format_schema.is_empty() {
        // Formats find it read: they are made where nothing may wait.
        in_place(|| load_schema(&context.settings));
    }
    let done = work(&PlannerContext {
        catalog,
        settings: &context.settings,
        functions: function_context(session, &context.query_id, catalog.lookups()),
        parameters: &session.parameters,
        subqueries,
    });
    context.counters.add(ProfileEvent::QueryAnalysisMicroseconds, began.elapsed().as_micros() as u64);
    done
}

/// The plan of a parsed SELECT, from the cache where it holds.
///
/// # Errors
/// As [`plan`].
pub(in crate::query) async fn plan_cached(
    session: &Session,
    parsed: &Parsed,
    query: &ast::Query,
    context: &Arc<QueryContext>,
) -> Result<Arc<Plan>> {
    let mut plan = plan_or_find(session, parsed, query, context).await?;
    if may_be_settled(&plan, &context.settings) {
        settle_plan(session, Arc::make_mut(&mut plan), context)?;
    }
    Ok(plan)
}

async fn plan_or_find(
    session: &Session,
    parsed: &Parsed,
    query: &ast::Query,
    context: &Arc<QueryContext>,
) -> Result<Arc<Plan>> {
    let may_be_kept =
        session.parameters.is_empty() && session.external_tables.is_none() && !session.temporary_tables.may_be_any();
    if may_be_kept
        && let Some(kept) = &*parsed.plan.load()
        && kept.holds(session, &context.settings)
    {
        context.counters.add(ProfileEvent::PlanCacheHits, 1);
        context.set_uses(kept.uses.clone());
        return kept.bind(session, |_| {});
    }
    let shape = parsed.shape.as_ref().filter(|_| may_be_kept);
    let templates = &session.server.plan_templates;
    if let Some((uses, plan)) = shape.and_then(|shape| templates.plan(shape, session, &context.settings)) {
        context.counters.add(ProfileEvent::PlanCacheHits, 1);
        context.set_uses(uses);
        return plan;
    }
    context.counters.add(ProfileEvent::PlanCacheMisses, 1);
    if !may_be_kept {
        let planned = Box::pin(with_planner(session, context, query, plan_query)).await?;
        context.note_uses(|uses| uses.note_columns(&planned));
        return Ok(Arc::new(planned));
    }
    let leash = leash(PLANNING_MAX);
    let planned = plan_and_keep(session, query, context);
    let is_done = !leash.was_too_short();
    drop(leash);
    let planned = if is_done { planned } else { Box::pin(plan_and_keep_elsewhere(session, query, context)).await };
    let Some((planned, kept)) = planned? else {
        let planned = Box::pin(elsewhere(session, context, query, plan_query)).await?;
        context.note_uses(|uses| uses.note_columns(&planned));
        return Ok(Arc::new(planned));
    };
    if let Some(kept) = kept {
        if let Some(shape) = shape.filter(|_| kept.finds_names()) {
            // It plans the text once more.
            let learn = || templates.learn(shape, session, &kept, |text| plan_text(session, text, context));
            if is_done { learn() } else { in_place(learn) }
        }
        parsed.plan.store(Some(Arc::new(kept)));
    }
    Ok(planned)
}

/// A plan, and what of it may be kept; `None` where subqueries must be run for it.
type Planned = Option<(Arc<Plan>, Option<KeptPlan>)>;

async fn plan_and_keep_elsewhere(
    session: &Session,
    query: &ast::Query,
    context: &Arc<QueryContext>,
) -> Result<Planned> {
    let (session, query) = (session.clone(), query.clone());
    on_other_thread(context, move |context| plan_and_keep(&session, &query, context)).await
}

/// Plans a query, and gives what of the plan may be kept; `None` where subqueries must be run for it.
fn plan_and_keep(session: &Session, query: &ast::Query, context: &QueryContext) -> Result<Planned> {
    let (refuser, catalog) = (Refuser::default(), QueryCatalog::new(session));
    let generation = session.server.databases.generation();
    let mut is_of_moment = false;
    let planned = planner(session, context, &catalog, &refuser, |planner| {
        let planned = plan_query(query, planner);
        is_of_moment = planner.functions.moment.was_asked();
        planned
    });
    if refuser.was_asked.get() {
        return Ok(None);
    }
    let plan = Arc::new(planned?);
    let mut uses = catalog.take_uses();
    uses.note_columns(&plan);
    let uses = Arc::new(uses);
    context.set_uses(uses.clone());
    if is_of_moment || catalog.met_moment() {
        return Ok(Some((plan, None)));
    }
    let names = catalog.met_name().then_some(generation);
    let kept = KeptPlan::new(session, context.settings.clone(), plan.clone(), uses, names)?;
    Ok(Some((plan, Some(kept))))
}

/// The kept plan of another text, in the place of this query.
fn plan_text(session: &Session, text: &[u8], context: &QueryContext) -> Option<KeptPlan> {
    let statement = squall_sql::parse(text, &ParserLimits::default()).ok()?;
    let ast::Statement::Query(query) = statement else { return None };
    plan_and_keep(session, &query, context).ok()??.1
}

/// What functions may know of a query that begins now.
pub(in crate::query) fn function_context(
    session: &Session,
    query_id: &Arc<str>,
    lookups: Arc<NamedLookups>,
) -> FunctionContext {
    let server = &session.server;
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let query_start_ns = i64::try_from(since_epoch.as_nanos()).unwrap_or(i64::MAX);
    let uptime_seconds = server.started.elapsed().as_secs() as u32;
    FunctionContext {
        time_zone: session.time_zone(),
        moment: Moment::new(query_start_ns, uptime_seconds, session.access.name.clone(), query_id.clone())
            .authenticated_as(session.authenticated_user.clone()),
        current_database: session.database.clone(),
        host_name: server.host_name.clone(),
        display_name: server.display_name.clone(),
        server_version: server.version.clone(),
        server_revision: REVISION,
        allow_introspection_functions: session.settings.allow_introspection_functions,
        settings: session.settings.clone(),
        lookups: Some(lookups),
        surroundings: Some(Arc::new(SessionSurroundings(session.clone()))),
        series_tags: SeriesTags::default(),
    }
}

/// Where functions of a query of this session look.
pub(in crate::query) fn lookups(session: &Session) -> Arc<NamedLookups> {
    Arc::new(NamedLookups::new(session.server.databases.clone(), session.database.clone()))
}

/// Says that it was asked, and no more.
#[derive(Default)]
pub(in crate::query) struct Refuser {
    was_asked: Cell<bool>,
}

impl SubqueryRunner for Refuser {
    fn run(&self, _: Plan) -> Result<Vec<Block>> {
        self.check_may_run()?;
        Ok(Vec::new())
    }

    fn check_may_run(&self) -> Result<()> {
        self.was_asked.set(true);
        Err(Error::new(ErrorCode::LOGICAL_ERROR, "a subquery must be run first"))
    }
}

/// Runs subqueries as part of the query, on a thread that may wait.
struct Runner {
    session: Session,
    context: Arc<QueryContext>,
    /// Whether they run on this thread alone: a worker must not wait for workers.
    is_here: bool,
}

impl SubqueryRunner for Runner {
    fn run(&self, mut plan: Plan) -> Result<Vec<Block>> {
        self.context.note_uses(|uses| uses.note_columns(&plan));
        settle_plan(&self.session, &mut plan, &self.context)?;
        let engine = &self.session.server.engine;
        if self.is_here {
            // Each has a context of its own: its end is not that of the next one.
            let context = QueryContext::new(self.context.query_id.clone(), self.context.settings.clone());
            return engine.collect_here(&plan, context);
        }
        engine.start(&plan, self.context.clone())?.collect_blocking()
    }

    fn explain_pipeline(&self, plan: &Plan) -> Result<Vec<String>> {
        self.session.server.engine.explain_pipeline(plan, self.context.clone())
    }

    fn describe_scan(&self, scan: &Scan) -> Result<Vec<String>> {
        index_lines(scan, &self.context.settings)
    }

    fn explain_analyze(&self, plan: &Plan, planning: Duration, shown: Shown) -> Result<Vec<String>> {
        if self.is_here {
            // It needs workers, and this is one.
            return Err(Error::not_implemented("EXPLAIN ANALYZE here"));
        }
        let analyzed = Analyzed::start(&self.session.server.engine, plan, self.context.clone(), planning)?;
        let work = squall_runtime::block_on(analyzed.finish())?;
        work.lines(plan, &self.context, shown)
    }

    fn run_source(
        &self,
        query: &ast::Query,
        server: Option<&SourceServer>,
        planner: &PlannerContext<'_>,
    ) -> Result<Vec<Block>> {
        if let Some(peer) = server.map(|server| sources::peer(server, &self.session.server)).transpose()?.flatten() {
            self.check_may_run()?;
            let text = squall_sql::format_one_line(&ast::Statement::Query(Box::new(query.clone())));
            return squall_remote::query(&Peers { shards: vec![vec![peer]] }, &text);
        }
        // A dictionary's source is read by the server, whoever looks something up; its maker was asked when it was made.
        let mut session = Session::of_server(self.session.server.clone()).for_dictionary_source();
        session.database = planner.functions.current_database.clone();
        let runner = Self { session: session.clone(), context: self.context.clone(), is_here: self.is_here };
        let plan = self::planner(&session, &self.context, &QueryCatalog::new(&session), &runner, |planner| {
            plan_query(query, planner)
        })?;
        runner.run(plan)
    }

    fn read_outside(&self, source: &OutsideSource, schema: &Arc<Schema>, keys: Option<&Block>) -> Result<Vec<Block>> {
        let server = &self.session.server;
        let options = FormatOptions::new(self.context.settings.clone(), &server.zone)?;
        let config = server.config.load_full();
        sources::read(source, schema, keys, &config, &options)
    }

    fn outside_version(&self, source: &OutsideSource) -> Option<u64> {
        let server = &self.session.server;
        let options = FormatOptions::new(self.context.settings.clone(), &server.zone).ok()?;
        sources::version(source, &server.config.load_full(), &options)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, reason = "a panic is what is tested")]

    use super::*;

    #[test]
    fn a_panic_of_planning_is_an_error() {
        let ended: Result<()> = guarded(|| panic!("on purpose"));
        assert_eq!(ended.map_err(|error| error.code), Err(ErrorCode::LOGICAL_ERROR));
    }
}
