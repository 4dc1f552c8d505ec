//! INSERT: where its rows come from and where they go.

use std::borrow::Cow;
use std::sync::Arc;

use squall_planner::{
    ColumnDescription, ForeignKind, Plan, RemoteCall, RemoteTarget, insert_columns, is_over_s3, plan_insert,
    remote_call,
};
use squall_remote::Peers;
use squall_runtime::ProfileEvent;
use squall_runtime::profile_events::count;
use squall_sql::ast::{self, InsertSource, InsertTarget};
use squall_storage::{Insertion, TEMPORARY_DATABASE, Table};
use squall_types::{Error, ErrorCode, Result, Schema};

use super::async_insert::Form;
use super::cascade::Cascade;
use super::input::{FedInsert, InputPlace, no_input};
use super::insert_id;
use super::insert_sink::InsertSink;
use super::insert_target::{Target, check_columns, note_columns, note_table, target};
use super::structure::with_structures;
use crate::access::Privilege;
use crate::query::Answer;
use crate::query::control::system_command::run_blocking;
use crate::query::plan::cache::Parsed;
use crate::query::plan::planning;
use crate::query::source::{data_function, remote};
use crate::query::statement::table_name;
use crate::server::Server;
use crate::session::Session;
use squall_engine::QueryContext;

/// Runs INSERT, up to where a client's data are wanted.
pub(in crate::query) async fn run(
    session: &Session,
    parsed: &Arc<Parsed>,
    statement: &ast::Insert,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    let name = match &statement.target {
        InsertTarget::Table(name) => table_name(session, name)?,
        InsertTarget::Function(function) => {
            let call = planning::planner_now(session, context, |planner| remote_call(function, planner))?;
            match call {
                None => return run_into_function(session, statement, function, None, context).await,
                Some(call) => match (remote::insert_shard(session, &call)?, &call.target) {
                    (Some(peers), _) => {
                        return run_into_function(session, statement, function, Some((peers, call)), context).await;
                    }
                    // The server is this one.
                    (None, RemoteTarget::Table { database, table }) => (database.clone(), table.clone()),
                    (None, RemoteTarget::Function(_)) => {
                        return Err(Error::not_implemented(
                            "INSERT INTO FUNCTION remote of this server's own function",
                        ));
                    }
                },
            }
        }
    };
    let (database, table) = name;
    match &statement.source {
        InsertSource::Query(query) => {
            select_into(session, &database, &table, statement.columns.as_deref(), query, context).await?;
            Ok(Answer::Done)
        }
        InsertSource::Input { query, format, offset } => {
            let sink = begin_select(session, &database, &table, statement.columns.as_deref(), query, context).await?;
            Ok(Answer::Insert { sink, format: format.value.as_str().into(), inline_data: offset.0 })
        }
        InsertSource::Data { format, offset } => {
            let format: Arc<str> = format.value.as_str().into();
            let target = target(session, &database, &table, statement.columns.as_deref(), context)?;
            let sink = if is_collected(session, &database, &target, context)? {
                let form = Form::new(session, parsed, (database, table), format.clone());
                InsertSink::collect(target, form, context)?
            } else {
                begin_with(target, context).await?
            };
            Ok(Answer::Insert { sink, format, inline_data: offset.0 })
        }
        InsertSource::Infile { .. } => {
            Err(Error::new(ErrorCode::NOT_IMPLEMENTED, "FROM INFILE is carried out by clients, not by the server"))
        }
        InsertSource::Watch(_) => Err(Error::not_implemented("INSERT … WATCH")),
    }
}

/// Whether the data of an INSERT are collected: those for the server's own logs are not, nor what only one session has, nor what may come
/// again and is then to be known by itself.
fn is_collected(session: &Session, database: &str, target: &Target, context: &QueryContext) -> Result<bool> {
    if !context.settings.async_insert || matches!(database, "system" | TEMPORARY_DATABASE) || session.server.is_local()
    {
        return Ok(false);
    }
    Ok(insert_id::of_data(&context.settings).is_none() || !insert_id::is_remembered(session, &*target.table)?)
}

/// Begins an INSERT of data into a table; waits where it has too many parts.
pub(in crate::query) async fn begin(
    session: &Session,
    database: &str,
    table: &str,
    columns: Option<&[ast::Expression]>,
    context: &Arc<QueryContext>,
) -> Result<InsertSink> {
    begin_with(target(session, database, table, columns, context)?, context).await
}

async fn begin_with(target: Target, context: &Arc<QueryContext>) -> Result<InsertSink> {
    delay(&*target.table, context).await?;
    InsertSink::start(&target.writer, target.table, target.columns.as_deref(), context)
}

/// Runs `INSERT INTO FUNCTION file(…)`, or into the table of another server that the function calls.
async fn run_into_function(
    session: &Session,
    statement: &ast::Insert,
    function: &ast::Function,
    remote: Option<(Peers, RemoteCall)>,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    if statement.partition_by.is_some() && remote.is_some() {
        return Err(Error::not_implemented("INSERT INTO FUNCTION … PARTITION BY over another server"));
    }
    match function.name.as_str() {
        _ if remote.is_some() => {}
        "null" => {}
        "sqlite" => session.access.check_target_source(Privilege::Sqlite)?,
        "url" => session.access.check_target_source(Privilege::Url)?,
        name if let Some(kind) = ForeignKind::of_function(name) => {
            session.access.check_target_source(kind.into())?;
        }
        name if is_over_s3(name) => session.access.check_target_source(Privilege::S3)?,
        _ => session.access.check_target_source(Privilege::File)?,
    }
    let named = match (&remote, statement.columns.as_deref()) {
        (Some(_), Some(columns)) => Some(remote::column_names(columns)?),
        _ => None,
    };
    let target = |schema: Option<Schema>| {
        let (session, function, remote) = (session.clone(), function.clone(), remote.clone());
        let (named, context, partition_by) = (named.clone(), context.clone(), statement.partition_by.clone());
        run_blocking(move || match remote {
            Some((peers, call)) => remote::target(peers, &call, named.as_deref()),
            None => planning::planner_now(&session, &context, |planner| {
                data_function::target(&session, &function, partition_by.as_ref(), schema, planner)
            }),
        })
    };
    match &statement.source {
        InsertSource::Query(query) => {
            let plan = planning::plan(session, query, context).await?;
            let table = target(Some((**plan.schema()).clone())).await?;
            let plan = converted(session, &*table, statement.columns.as_deref(), plan, context)?;
            session.server.engine.insert_select(&plan, &*table, context.clone())?.finished().await?;
            Ok(Answer::Done)
        }
        InsertSource::Data { format, offset } => {
            let table = target(None).await?;
            let sink = InsertSink::start(session, table, statement.columns.as_deref(), context)?;
            Ok(Answer::Insert { sink, format: format.value.as_str().into(), inline_data: offset.0 })
        }
        InsertSource::Input { .. } | InsertSource::Infile { .. } | InsertSource::Watch(_) => {
            Err(Error::not_implemented("This source of an INSERT INTO FUNCTION"))
        }
    }
}

/// A plan whose rows are a table's, from one whose rows are those of some of its columns.
fn converted(
    session: &Session,
    table: &dyn Table,
    columns: Option<&[ast::Expression]>,
    plan: Plan,
    context: &Arc<QueryContext>,
) -> Result<Plan> {
    let inserted = planning::planner_now(session, context, |planner| {
        let positions = insert_columns(table, columns, planner)?;
        plan_insert(table, &positions, plan.schema(), planner)
    })?;
    Ok(Plan::Project { input: Box::new(plan), expressions: inserted.expressions, schema: inserted.schema })
}

/// Inserts a query's rows.
pub(in crate::query) async fn select_into(
    session: &Session,
    database: &str,
    table: &str,
    columns: Option<&[ast::Expression]>,
    query: &ast::Query,
    context: &Arc<QueryContext>,
) -> Result<()> {
    let target = target(session, database, table, columns, context)?;
    Selected::plan(session, target, query, context).await?.insert(context).await
}

/// Begins to insert the rows of a query that reads what is sent.
async fn begin_select(
    session: &Session,
    database: &str,
    table: &str,
    columns: Option<&[ast::Expression]>,
    query: &ast::Query,
    context: &Arc<QueryContext>,
) -> Result<InsertSink> {
    let target = target(session, database, table, columns, context)?;
    let handle = squall_storage::TableHandle(target.table.clone());
    let positions =
        planning::planner_now(session, context, |planner| insert_columns(&handle, target.columns.as_deref(), planner))?;
    let written = positions.iter().filter_map(|at| target.table.columns().get(*at));
    let written = written.map(|column| ColumnDescription::new(column.name.clone(), column.data_type.clone()));
    let place = Arc::new(InputPlace::new(written.collect()));
    let own = session.with_input(place.clone());
    let selected = Selected::plan(&own, target, query, context).await?;
    let input = place.take().ok_or_else(no_input)?;
    let of = context.clone();
    let rows = FedInsert::begin(&input, async move { selected.insert(&of).await }, context);
    Ok(InsertSink::into_query(session, input, rows, context))
}

/// An INSERT of a query's rows that is planned.
struct Selected {
    plan: Plan,
    server: Arc<Server>,
    destination: SelectedInto,
}

enum SelectedInto {
    Table(Arc<dyn Insertion>),
    /// With the views that the rows go through.
    Views(Box<Cascade>),
}

impl Selected {
    async fn plan(session: &Session, target: Target, query: &ast::Query, context: &Arc<QueryContext>) -> Result<Self> {
        let Target { table, columns, writer } = target;
        delay(&*table, context).await?;
        let columns = columns.as_deref();
        note_table(&*table, context);
        let handle = squall_storage::TableHandle(table.clone());
        // Who may not write is told so before anything is read.
        let positions = planning::planner_now(session, context, |planner| {
            let positions = insert_columns(&handle, columns, planner)?;
            check_columns(&writer, &*table, &positions)?;
            Ok(positions)
        })?;
        let id = insert_id::of_select(&context.settings, query)?;
        let query = match context.settings.use_structure_from_insertion_table_in_table_functions {
            0 => Cow::Borrowed(query),
            _ => {
                let written = positions.iter().filter_map(|at| table.columns().get(*at)).cloned();
                with_structures(query, &written.collect::<Vec<_>>())
            }
        };
        let plan = planning::plan(session, &query, context).await?;
        let inserted = planning::planner_now(session, context, |planner| {
            let positions = insert_columns(&handle, columns, planner)?;
            check_columns(&writer, &*table, &positions)?;
            note_columns(&*table, &positions, context);
            plan_insert(&*table, &positions, plan.schema(), planner)
        })?;
        let plan = Plan::Project { input: Box::new(plan), expressions: inserted.expressions, schema: inserted.schema };
        let destination = match Cascade::of(&writer, &table, id.clone(), context)? {
            Some(cascade) => SelectedInto::Views(Box::new(cascade)),
            None => SelectedInto::Table(insert_id::insertion(&*table, context, id)?),
        };
        Ok(Self { plan, server: session.server.clone(), destination })
    }

    async fn insert(self, context: &Arc<QueryContext>) -> Result<()> {
        match self.destination {
            SelectedInto::Views(cascade) => cascade.insert_select(&self.plan, context).await,
            SelectedInto::Table(rows) => {
                self.server.engine.insert_into(&self.plan, rows, context.clone())?.finished().await
            }
        }
    }
}

/// Waits where the table has too many parts, so that merges keep up.
async fn delay(table: &dyn Table, context: &QueryContext) -> Result<()> {
    let Some(delay) = table.insert_delay() else { return Ok(()) };
    count(ProfileEvent::DelayedInserts, 1);
    count(ProfileEvent::DelayedInsertsMilliseconds, delay.as_millis() as u64);
    tracing::info!(
        target: "MergeTree",
        "Delaying inserting into {}.{} by {} ms. because there are too many parts",
        table.database(), table.name(), delay.as_millis(),
    );
    tokio::time::sleep(delay).await;
    context.check_cancelled()
}
