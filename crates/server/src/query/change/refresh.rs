//! Refreshable views: their refreshes, and the statements about them. A refresh fills a table beside the view's, which takes its place at once,
//! so that readers find the old rows or the new ones; with APPEND it is an INSERT.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use squall_engine::QueryContext;
use squall_planner::{Plan, ViewPlan, plan_view_rows};
use squall_sql::ast::{self, SqlSecurity, SystemCommand};
use squall_storage::{InsertLimits, Table, TableHandle, TableName};
use squall_types::{Error, ErrorCode, Result};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::background::{background_settings, sleep_until};
use crate::query::control::system_command::run_blocking;
use crate::query::insertion::cascade::Cascade;
use crate::query::insertion::insert_target;
use crate::query::plan::planning;
use crate::query::statement::table_name;
use crate::query::{Answer, Query};
use crate::refresh::{DueView, RefreshStanding, now_ms};
use crate::server::Server;
use crate::session::Session;

/// Refreshes that run at once.
const RUNNING_MAX: usize = 16;
/// How often one who waits looks whether they still want to.
const LOOK: Duration = Duration::from_millis(50);
/// How long the next refresh is waited for at once: the clock may be set meanwhile.
const NAP_MAX: Duration = Duration::from_secs(10);
/// After how long views are looked up again where that has failed.
const RETRY: Duration = Duration::from_secs(1);

/// Runs SYSTEM … VIEW and VIEWS.
///
/// # Errors
/// `BAD_ARGUMENTS` where there is no such view; `REFRESH_FAILED` where one that is waited for fails.
pub(in crate::query) async fn run(
    session: &Session,
    statement: &ast::System,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    let server = &session.server;
    follow(server).await?;
    let refreshes = &server.refreshes;
    match (statement.command, &statement.tables[..]) {
        (SystemCommand::StopViews, _) => refreshes.stop_all(true),
        (SystemCommand::StartViews, _) => refreshes.stop_all(false),
        (command, [name]) => {
            let (database, table) = table_name(session, name)?;
            let name = TableName::new(database, table);
            match command {
                SystemCommand::RefreshView => refreshes.want(&name)?,
                SystemCommand::StopView => refreshes.stop(&name, true)?,
                SystemCommand::StartView => refreshes.stop(&name, false)?,
                SystemCommand::CancelView => refreshes.cancel(&name)?,
                SystemCommand::WaitView => wait(server, &name, context).await?,
                command => return Err(Error::not_implemented(format!("SYSTEM {}", command.keywords()))),
            }
        }
        (command, _) => return Err(Error::not_implemented(format!("SYSTEM {}", command.keywords()))),
    }
    Ok(Answer::Done)
}

async fn wait(server: &Server, name: &TableName, context: &Arc<QueryContext>) -> Result<()> {
    loop {
        let mut changed = pin!(server.refreshes.changed());
        changed.as_mut().enable();
        match server.refreshes.standing(name, now_ms())? {
            RefreshStanding::Pending => {}
            RefreshStanding::Done(None) => return Ok(()),
            RefreshStanding::Done(Some(error)) => {
                return Err(Error::new(ErrorCode::REFRESH_FAILED, format!("Refresh failed: {error}")));
            }
        }
        context.check_cancelled()?;
        // What it gives back is whether somebody was faster.
        let _ = tokio::time::timeout(LOOK, changed).await;
    }
}

/// Looks which views there are.
async fn follow(server: &Arc<Server>) -> Result<()> {
    if server.refreshes.has_followed(&server.databases) {
        return Ok(());
    }
    let server = server.clone();
    run_blocking(move || server.refreshes.follow(&server.databases, now_ms())).await
}

/// Refreshes views until the server stops.
pub(crate) async fn refresh_in_background(server: Arc<Server>) {
    let mut running: JoinSet<()> = JoinSet::new();
    loop {
        let mut changed = pin!(server.refreshes.changed());
        changed.as_mut().enable();
        let mut nap = None;
        if let Err(error) = follow(&server).await {
            tracing::error!(target: "RefreshTask", "The refreshable views are not looked at: {error}");
            nap = Some(RETRY);
        }
        while running.len() < RUNNING_MAX {
            let context = |comment| {
                let mut settings = background_settings(&Session::of_server(server.clone()).settings);
                settings.log_comment = comment;
                QueryContext::new(Uuid::new_v4().to_string().into(), settings.into())
            };
            let Some(view) = server.refreshes.due(now_ms(), context) else { break };
            running.spawn(refresh(server.clone(), view));
        }
        // One that ends makes room for those whose turn has come.
        if running.len() < RUNNING_MAX
            && let Some(turn) = server.refreshes.next_turn_ms(now_ms())
        {
            let until_turn = Duration::from_millis(u64::try_from(turn - now_ms()).unwrap_or(0)).min(NAP_MAX);
            nap = Some(nap.map_or(until_turn, |nap| nap.min(until_turn)));
        }
        tokio::select! {
            () = changed => {}
            () = sleep_until(nap.map(|nap| Instant::now() + nap)) => {}
            Some(_) = running.join_next() => {}
            () = server.stopping() => break,
        }
    }
    server.refreshes.cancel_all();
    while running.join_next().await.is_some() {}
}

async fn refresh(server: Arc<Server>, view: DueView) {
    view.context.set_cpu_share(server.background_share.clone());
    let result = fill(&server, &view).await;
    if let Err(error) = &result {
        tracing::warn!(target: "RefreshTask", "The refresh of {} has failed: {error}", view.name);
    }
    let record = server.refreshes.end(view.uuid, now_ms(), &result);
    let (databases, uuid) = (server.databases.clone(), view.uuid);
    let noted = run_blocking(move || record.map_or(Ok(()), |record| databases.note_refresh(uuid, record))).await;
    if let Err(error) = noted
        && error.code != ErrorCode::TABLE_IS_DROPPED
    {
        tracing::error!(target: "RefreshTask", "The refresh of {} is not recorded: {error}", view.name);
    }
}

/// Gives a view's table the rows of its query, as an INSERT that is shown and logged.
async fn fill(server: &Arc<Server>, view: &DueView) -> Result<()> {
    let definition = &view.definition;
    let own = Session::of_server(server.clone());
    let own = match definition.security {
        Some(SqlSecurity::None) => own,
        Some(SqlSecurity::Definer | SqlSecurity::Invoker) | None => own.acting_as(&definition.definer)?,
    };
    let (database, table) = definition.target(&view.name.database);
    let target = TableName::new(database, table);
    let is_append = definition.refresh.as_ref().is_some_and(|refresh| refresh.append);
    let beside = (!is_append).then(|| TableName::new(database, format!(".tmp.inner_id.{}", view.uuid)));
    let insert = insert_of(&definition.query, beside.as_ref().unwrap_or(&target));
    let mut query = Query::internal(&own, insert, &view.context).await?;
    let result = match beside {
        Some(beside) => replace(&own, view, target, beside).await,
        None => append(&own, view, &target).await,
    };
    match &result {
        Ok(()) => query.finish(),
        Err(error) => query.fail(error),
    }
    result
}

/// The statement that a refresh is shown as.
fn insert_of(query: &ast::Query, target: &TableName) -> ast::Statement {
    let mut name = ast::TableName::new(&*target.table);
    name.database = Some(ast::Identifier::new(&*target.database));
    ast::Statement::Insert(Box::new(ast::Insert {
        target: ast::InsertTarget::Table(name),
        columns: None,
        partition_by: None,
        settings: Vec::new(),
        source: ast::InsertSource::Query(Box::new(query.clone())),
    }))
}

/// Adds the rows to those that the table has. The commit records the refresh, so that it is not repeated after a crash.
async fn append(own: &Session, view: &DueView, target: &TableName) -> Result<()> {
    let (server, context) = (own.server.clone(), &view.context);
    let table = server.databases.table(&target.database, &target.table)?;
    let plan = plan_of(own, view, table.clone(), &table).await?;
    let uuid = view.uuid;
    let note = move || match server.refreshes.record_of_success(uuid, now_ms()) {
        Some(record) => server.databases.refresh_note(uuid, record).map(Some),
        None => Ok(None),
    };
    Cascade::of_refresh(own, &table, Box::new(note), context)?.insert_select(&plan, context).await
}

/// Fills a table beside the view's, and exchanges the two.
async fn replace(own: &Session, view: &DueView, target: TableName, beside: TableName) -> Result<()> {
    let databases = &own.server.databases;
    let now = databases.describe(&target.database, &target.table)?;
    let Some(of_target) = now.definition else {
        return Err(Error::not_implemented(format!("A refresh of storage {}", now.table.engine())));
    };
    let (of, name, same) = (databases.clone(), beside.clone(), of_target.clone());
    run_blocking(move || {
        // One that an earlier run of the server did not end.
        of.drop_table(&name.database, &name.table, true)?;
        of.create_table(&name.database, &name.table, (*same).clone(), false)
    })
    .await?;
    let filled = match databases.table(&beside.database, &beside.table) {
        Ok(table) => write(own, view, table, &now.table).await,
        Err(error) => Err(error),
    };
    let filled = filled.and_then(|()| view.context.check_cancelled());
    let of = databases.clone();
    run_blocking(move || {
        let exchanged = filled.and_then(|()| {
            let present = of.describe(&target.database, &target.table)?.definition;
            if !present.is_some_and(|present| Arc::ptr_eq(&present, &of_target)) {
                let message = format!("Table {target} was altered while its view was refreshed");
                return Err(Error::new(ErrorCode::CANNOT_ASSIGN_ALTER, message));
            }
            of.exchange_tables(&beside, &target)
        });
        of.drop_table(&beside.database, &beside.table, true)?;
        exchanged
    })
    .await
}

/// Inserts the rows of a view's query into a table; the rights are those of the view's own one.
async fn write(own: &Session, view: &DueView, table: Arc<dyn Table>, target: &Arc<dyn Table>) -> Result<()> {
    let context = &view.context;
    let plan = plan_of(own, view, table.clone(), target).await?;
    match Cascade::of(own, &table, None, context)? {
        Some(cascade) => cascade.insert_select(&plan, context).await,
        None => {
            let insertion = table.insert_within(InsertLimits::new(&context.settings))?;
            own.server.engine.insert_into(&plan, insertion, context.clone())?.finished().await
        }
    }
}

/// The plan of a view's rows for a table; the rights are those of the view's own one.
async fn plan_of(own: &Session, view: &DueView, table: Arc<dyn Table>, target: &Arc<dyn Table>) -> Result<Plan> {
    let context = &view.context;
    let of = ViewPlan { query: view.definition.query.clone(), target: Arc::new(TableHandle(table)) };
    let (plan, positions) = planning::with_planner(own, context, &of, plan_view_rows).await?;
    insert_target::check_columns(own, &**target, &positions)?;
    Ok(plan)
}
