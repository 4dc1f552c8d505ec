//! INSERT: which columns come, how they become the table's, and the sink that takes a client's data.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use squall_engine::evaluate::evaluate;
use squall_engine::{Check, InsertStream, QueryContext};
use squall_formats::{Evaluate, FormatOptions, InputBlock, InputFormat, Omitted, input_format};
use squall_planner::{
    ColumnDescription, Expression, InsertPlan, Plan, RemoteCall, RemoteTarget, Used, insert_columns, plan_defaults,
    plan_insert, remote_call,
};
use squall_remote::Peers;
use squall_runtime::ProfileEvent;
use squall_runtime::profile_events::count;
use squall_sql::ast::{self, InsertSource, InsertTarget};
use squall_storage::{Insertion, TEMPORARY_DATABASE, Table};
use squall_types::checkpoint::leash;
use squall_types::{Block, DataType, Error, ErrorCode, Result, Schema, Value};

use super::async_insert::{self, Collected, Form};
use super::cache::Parsed;
use super::cascade::{Cascade, session_of_view, target_of};
use super::catalog::TABLE_FUNCTION_DATABASE;
use super::data_function;
use super::input::{FedInsert, InputPlace, no_input};
use super::omitted::filled;
use super::statement::table_name;
use super::system_command::run_blocking;
use super::{Answer, file_engine, insert_id, planning, remote, show};
use crate::access::Privilege;
use crate::server::Server;
use crate::session::Session;

/// A piece of the input is so much work, for checkpoints.
const READ_WORK: usize = 1 << 16;

/// How long an INSERT that waits for memory waits between two looks.
const MEMORY_WAIT: Duration = Duration::from_millis(20);

/// Runs INSERT, up to where a client's data are wanted.
pub(super) async fn run(
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
pub(super) async fn begin(
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
    if statement.partition_by.is_some() {
        return Err(Error::not_implemented("INSERT INTO FUNCTION … PARTITION BY"));
    }
    match function.name.as_str() {
        _ if remote.is_some() => {}
        "null" => {}
        "url" => session.access.check_target_source(Privilege::Url)?,
        _ => session.access.check_target_source(Privilege::File)?,
    }
    let named = match (&remote, statement.columns.as_deref()) {
        (Some(_), Some(columns)) => Some(remote::column_names(columns)?),
        _ => None,
    };
    let target = |schema: Option<Schema>| {
        let (session, function, remote) = (session.clone(), function.clone(), remote.clone());
        let named = named.clone();
        run_blocking(move || match remote {
            Some((peers, call)) => remote::target(peers, &call, named.as_deref()),
            None => data_function::target(&session, &function, schema),
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

/// `disable_insertion_and_mutation`, which leaves the server its own logs.
fn refuse_where_disabled(session: &Session, database: &str) -> Result<()> {
    if session.server.config.load().server.disable_insertion_and_mutation && database != "system" {
        return Err(Error::new(ErrorCode::QUERY_IS_PROHIBITED, "Insert queries are prohibited"));
    }
    Ok(())
}

/// Inserts a query's rows.
pub(super) async fn select_into(
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
    let (schema, positions) = (input.schema().clone(), (0..input.schema().len()).collect());
    let (session, context, destination) = (session.clone(), context.clone(), Destination::Query(rows));
    Ok(InsertSink { session, context, table: input, positions, schema, destination, defaults: HashMap::new() })
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
        planning::planner_now(session, context, |planner| {
            check_columns(&writer, &*table, &insert_columns(&handle, columns, planner)?)
        })?;
        let id = insert_id::of_select(&context.settings, query)?;
        let plan = planning::plan(session, query, context).await?;
        let inserted = planning::planner_now(session, context, |planner| {
            let positions = insert_columns(&handle, columns, planner)?;
            check_columns(&writer, &*table, &positions)?;
            note_columns(&*table, &positions, context);
            plan_insert(&*table, &positions, plan.schema(), planner)
        })?;
        let plan = Plan::Project { input: Box::new(plan), expressions: inserted.expressions, schema: inserted.schema };
        let destination = match Cascade::of(&writer, &table, id.clone(), context)? {
            Some(cascade) => SelectedInto::Views(Box::new(cascade)),
            None => SelectedInto::Table(insert_id::insertion(&*table, &context.settings, id)?),
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

/// Tables that pass on what is inserted, of an INSERT.
const PASSED_MAX: usize = 16;

/// A table that is written to.
struct Target {
    table: Arc<dyn Table>,
    /// The columns of it that are written, where they are named.
    columns: Option<Vec<ast::Expression>>,
    /// Who must be allowed to.
    writer: Session,
}

/// The table that an INSERT writes: a table of the engine Buffer passes all on to its destination at once, a materialized view to its target.
fn target(
    session: &Session,
    database: &str,
    table: &str,
    columns: Option<&[ast::Expression]>,
    context: &QueryContext,
) -> Result<Target> {
    let (mut database, mut name) = (database.to_owned(), table.to_owned());
    let mut columns = columns.map(<[ast::Expression]>::to_vec);
    let mut writer = session.clone();
    for _ in 0..PASSED_MAX {
        refuse_where_disabled(session, &database)?;
        let table = session.databases_of(&database).table(&database, &name)?;
        let view = table.materialized_view().cloned();
        let function = table.table_function().filter(|_| table.engine() == "Buffer");
        if view.is_none() && function.is_none() {
            let table = file_engine::target(session, &table)?.unwrap_or(table);
            return Ok(Target { table, columns, writer });
        }
        note_table(&*table, context);
        let handle = squall_storage::TableHandle(table.clone());
        let positions = planning::planner_now(session, context, |planner| {
            let positions = insert_columns(&handle, columns.as_deref(), planner)?;
            check_columns(&writer, &*table, &positions)?;
            Ok(positions)
        })?;
        let named = positions.iter().filter_map(|at| table.columns().get(*at));
        columns = Some(named.map(|column| ast::Expression::identifier(column.name.to_string())).collect());
        if let Some(view) = view {
            writer = session_of_view(session, &view)?;
            (database, name) = target_of(&*table, &view);
            continue;
        }
        let mut names = function
            .iter()
            .flat_map(|function| &function.arguments)
            .map(|argument| argument.as_literal().and_then(ast::Literal::as_str));
        let of_session = || session.database.to_string();
        let next = names.next().flatten().filter(|name| !name.is_empty()).map_or_else(of_session, str::to_owned);
        name = names.next().flatten().unwrap_or_default().to_owned();
        database = next;
    }
    Err(Error::new(ErrorCode::INFINITE_LOOP, format!("The table {table} passes its rows on to itself")))
}

/// Says that the query writes to a table.
fn note_table(table: &dyn Table, context: &QueryContext) {
    context.note_uses(|uses| uses.note(Used::Table(table.database(), table.name())));
}

/// Checks that the session may write columns of a table.
pub(super) fn check_columns(session: &Session, table: &dyn Table, positions: &[usize]) -> Result<()> {
    let names: Vec<&str> =
        positions.iter().filter_map(|at| table.columns().get(*at)).map(|column| &*column.name).collect();
    // Who may write a function's table was asked before.
    if table.database() == TABLE_FUNCTION_DATABASE {
        return Ok(());
    }
    session.access.check_columns(Privilege::Insert, table.database(), table.name(), &names)
}

/// Says which of its columns it writes.
fn note_columns(table: &dyn Table, positions: &[usize], context: &QueryContext) {
    let name = |column: &ColumnDescription| format!("{}.{}.{}", table.database(), table.name(), column.name);
    let columns = positions.iter().filter_map(|at| table.columns().get(*at)).map(name);
    context.note_uses(|uses| uses.columns.extend(columns));
}

/// Takes the data of an INSERT. Dropping it before [`finish`](Self::finish) leaves nothing of it behind.
pub struct InsertSink {
    session: Session,
    context: Arc<QueryContext>,
    table: Arc<dyn Table>,
    /// Positions of the table's columns that are sent, in order.
    positions: Vec<usize>,
    schema: Arc<Schema>,
    destination: Destination,
    /// What computes columns that were left out of some rows, by which were: formats leave out the same ones again and again.
    /// Each is the column's position among the sent ones and its default over these, in the order in which they are computed.
    defaults: HashMap<Vec<usize>, Arc<[(usize, Expression)]>>,
}

/// How the table's columns come from those that are sent, where they differ.
type Projection = Option<(Vec<Expression>, Arc<Schema>)>;

/// Where the rows of an INSERT go.
enum Destination {
    Table(Writing),
    /// To those of other INSERTs of the form, as long as they are few.
    Others(Collected, Projection),
    /// Through a query that reads them.
    Query(FedInsert),
}

/// Rows on their way into a table.
struct Writing {
    stream: InsertStream,
    /// The views that the rows go through.
    cascade: Option<Cascade>,
}

impl Writing {
    fn begin(
        session: &Session,
        table: &Arc<dyn Table>,
        project: Projection,
        context: &Arc<QueryContext>,
    ) -> Result<Self> {
        let id = insert_id::of_data(&context.settings);
        let cascade = Cascade::of(session, table, id.clone(), context)?;
        let rows = match &cascade {
            Some(cascade) => cascade.rows(),
            None => insert_id::insertion(&**table, &context.settings, id)?,
        };
        let stream = session.server.engine.insert_input(rows, project, context.clone());
        Ok(Self { stream, cascade })
    }

    async fn send(&mut self, block: Block, context: &Arc<QueryContext>) -> Result<()> {
        self.stream.send(block).await?;
        match &mut self.cascade {
            Some(cascade) => cascade.flush_if_many(context).await,
            None => Ok(()),
        }
    }

    async fn finish(self, context: &Arc<QueryContext>) -> Result<()> {
        self.stream.finish().await?;
        match self.cascade {
            Some(cascade) => cascade.finish(context).await,
            None => Ok(()),
        }
    }
}

impl InsertSink {
    fn start(
        session: &Session,
        table: Arc<dyn Table>,
        columns: Option<&[ast::Expression]>,
        context: &Arc<QueryContext>,
    ) -> Result<Self> {
        Self::new(session, table, columns, context, |table, project| {
            Ok(Destination::Table(Writing::begin(session, table, project, context)?))
        })
    }

    /// A sink of rows that are written together with those of other INSERTs of the form.
    fn collect(target: Target, form: Form, context: &Arc<QueryContext>) -> Result<Self> {
        let Target { table, columns, writer } = target;
        Self::new(&writer, table, columns.as_deref(), context, |_, project| {
            Ok(Destination::Others(Collected::new(form), project))
        })
    }

    fn new(
        session: &Session,
        table: Arc<dyn Table>,
        columns: Option<&[ast::Expression]>,
        context: &Arc<QueryContext>,
        destination: impl FnOnce(&Arc<dyn Table>, Projection) -> Result<Destination>,
    ) -> Result<Self> {
        let handle = squall_storage::TableHandle(table.clone());
        note_table(&*table, context);
        let (positions, schema, plan) = planning::planner_now(session, context, |planner| {
            let positions = insert_columns(&handle, columns, planner)?;
            check_columns(session, &*table, &positions)?;
            note_columns(&*table, &positions, context);
            let fields = positions.iter().filter_map(|at| table.columns().get(*at));
            let schema = Schema::new(fields.map(|column| (column.name.clone(), column.data_type.clone())));
            let plan = plan_insert(&*table, &positions, &schema, planner)?;
            Ok((positions, Arc::new(schema), plan))
        })?;
        let project = if is_identity(&plan, &schema) { None } else { Some((plan.expressions, plan.schema)) };
        let destination = destination(&table, project)?;
        let (session, context) = (session.clone(), context.clone());
        Ok(Self { session, context, table, positions, schema, destination, defaults: HashMap::new() })
    }

    /// Names and types of the columns that are to be sent.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The names of the table's columns that have a default.
    pub fn columns_with_defaults(&self) -> Vec<String> {
        let columns = self.table.columns().iter().filter(|column| column.default.is_some());
        columns.map(|column| column.name.to_string()).collect()
    }

    /// The table's name with its database, and descriptions of the columns that are to be sent.
    pub fn table(&self) -> &Arc<dyn Table> {
        &self.table
    }

    /// A reader of data in a format, for these columns; expressions in VALUES are evaluated.
    ///
    /// # Errors
    /// `UNKNOWN_FORMAT`, `FORMAT_IS_NOT_SUITABLE_FOR_INPUT`.
    pub fn reader(&self, format: &str) -> Result<Box<dyn InputFormat>> {
        let mut options = FormatOptions::new(self.context.settings.clone(), &self.session.server.zone)?;
        options.evaluate = Some(evaluator(&self.session, &self.context));
        input_format(format, &self.schema, &options)
    }

    /// Does work that makes blocks of the input, on the query's account.
    ///
    /// # Errors
    /// Those of the work, and of the query's limits.
    pub fn within<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let _thread = self.context.enter();
        squall_types::checkpoint(READ_WORK)?;
        work()
    }

    /// Sends what a format read; waits while the table is behind.
    ///
    /// # Errors
    /// The INSERT's.
    pub async fn send_input(&mut self, input: InputBlock) -> Result<()> {
        let context = self.context.clone();
        let block = {
            let _thread = context.enter();
            self.with_defaults(input)?
        };
        self.send(block).await
    }

    /// Ends the input of a format and sends what is left in it. A format that reads only now does so block by block on a thread that may take
    /// its time, in the query's name.
    ///
    /// # Errors
    /// The format's and the INSERT's.
    pub async fn send_rest(&mut self, mut reader: Box<dyn InputFormat>) -> Result<()> {
        let blocks = self.within(|| {
            let mut blocks = Vec::new();
            reader.finish(&mut blocks).map(|()| blocks)
        })?;
        for block in blocks {
            self.send_input(block).await?;
        }
        while reader.reads_at_end() {
            let context = self.context.clone();
            let read = run_blocking(move || {
                let _working = context.enter();
                let block = reader.next_block()?;
                Ok((reader, block))
            });
            let block;
            (reader, block) = read.await?;
            match block {
                Some(block) => self.send_input(block).await?,
                None => break,
            }
        }
        Ok(())
    }

    /// Sends a block of [`schema`](Self::schema)'s columns; waits while the table is behind.
    ///
    /// # Errors
    /// The INSERT's.
    pub async fn send(&mut self, block: Block) -> Result<()> {
        if block.is_empty() {
            return Ok(());
        }
        while self.context.check()? == Check::WaitForMemory {
            tokio::time::sleep(MEMORY_WAIT).await;
        }
        let bytes_max = usize::try_from(self.context.settings.async_insert_max_data_size).unwrap_or(usize::MAX);
        match &mut self.destination {
            Destination::Table(writing) => writing.send(block, &self.context).await,
            Destination::Query(rows) => rows.send(block).await,
            Destination::Others(collected, _) if collected.bytes + block.value_bytes() < bytes_max => {
                collected.push(block);
                Ok(())
            }
            // So many rows are better written alone.
            Destination::Others(collected, project) => {
                let mut writing = Writing::begin(&self.session, &self.table, project.take(), &self.context)?;
                for block in std::mem::take(&mut collected.blocks).into_iter().chain([block]) {
                    writing.send(block, &self.context).await?;
                }
                self.destination = Destination::Table(writing);
                Ok(())
            }
        }
    }

    /// Everything was sent: waits until it is durable, or until it is collected where the INSERT does not wait for more.
    ///
    /// # Errors
    /// The INSERT's; nothing of it remains then.
    pub async fn finish(self) -> Result<()> {
        match self.destination {
            Destination::Table(writing) => writing.finish(&self.context).await,
            Destination::Query(rows) => rows.finish().await,
            Destination::Others(collected, _) if collected.blocks.is_empty() => Ok(()),
            Destination::Others(collected, _) => async_insert::add(collected, &self.context).await,
        }
    }

    /// Computes the DEFAULT of values that the input left out, for their rows alone.
    fn with_defaults(&mut self, input: InputBlock) -> Result<Block> {
        let columns = self.table.columns();
        let has_default = |at: usize| {
            let column = self.positions.get(at).and_then(|position| columns.get(*position));
            column.is_some_and(|column| column.default.is_some())
        };
        let left_out: Vec<usize> = input
            .omitted
            .iter()
            .enumerate()
            .filter(|(at, omitted)| **omitted != Omitted::None && has_default(*at))
            .map(|(at, _)| at)
            .collect();
        if left_out.is_empty() || !self.context.settings.input_format_defaults_for_omitted_fields {
            return Ok(input.block);
        }
        let defaults = match self.defaults.get(&left_out) {
            Some(defaults) => defaults.clone(),
            None => {
                let planned = planning::planner_now(&self.session, &self.context, |planner| {
                    plan_defaults(self.table.columns(), &self.positions, &left_out, planner)
                })?;
                let defaults: Arc<[_]> = planned.into();
                self.defaults.insert(left_out, defaults.clone());
                defaults
            }
        };
        filled(&defaults, input, &self.schema)
    }
}

/// Whether the sent columns are the table's as they come.
fn is_identity(plan: &InsertPlan, sent: &Schema) -> bool {
    *plan.schema == *sent
        && plan
            .expressions
            .iter()
            .enumerate()
            .all(|(at, expression)| matches!(expression, Expression::Column { position, .. } if *position == at))
}

/// Evaluates expressions of VALUES: each is a SELECT of one row. No query is started for it, which could be cancelled with the
/// INSERT as its own.
fn evaluator(session: &Session, context: &Arc<QueryContext>) -> Evaluate {
    let (session, context) = (session.clone(), context.clone());
    let evaluate_value = move |sql: &str, data_type: &DataType| -> Result<Value> {
        let query = show::query(&format!("SELECT _CAST(({sql}), {})", show::literal(&data_type.to_string())))?;
        let plan = planning::planner_now(&session, &context, |planner| squall_planner::plan_query(&query, planner))?;
        let too_complex =
            || Error::new(ErrorCode::NOT_IMPLEMENTED, format!("The expression '{sql}' in VALUES is too complex"));
        let (blocks, expressions) = match &plan {
            Plan::Values { blocks, .. } => (blocks, &[][..]),
            Plan::Project { input, expressions, .. } => match &**input {
                Plan::Values { blocks, .. } => (blocks, &expressions[..]),
                _ => return Err(too_complex()),
            },
            _ => return Err(too_complex()),
        };
        let row = blocks.first().filter(|block| block.rows() == 1).ok_or_else(too_complex)?;
        match expressions.first() {
            Some(expression) => Ok(evaluate(expression, row)?.value(0)),
            None => Ok(row.columns().first().ok_or_else(too_complex)?.value(0)),
        }
    };
    Arc::new(move |sql: &str, data_type: &DataType| {
        let leash = leash(planning::PLANNING_MAX);
        let value = evaluate_value(sql, data_type);
        let is_done = !leash.was_too_short();
        drop(leash);
        if is_done { value } else { planning::in_place(|| evaluate_value(sql, data_type)) }
    })
}
