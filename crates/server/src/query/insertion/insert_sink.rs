//! The sink that takes the data of an INSERT: which columns come, and how they become the table's.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use squall_engine::{Check, InsertStream, QueryContext, Spawned};
use squall_formats::{FormatOptions, InputBlock, InputFormat, Omitted, input_format};
use squall_planner::{Expression, InsertPlan, insert_columns, plan_defaults, plan_insert};
use squall_sql::ast;
use squall_storage::Table;
use squall_types::{Block, Error, Result, Schema};

use super::async_insert::{self, Collected, Form};
use super::cascade::Cascade;
use super::input::{FedInsert, InputTable};
use super::insert_id;
use super::insert_target::{Target, check_columns, note_columns, note_table};
use super::omitted::filled;
use super::spool::Spool;
use crate::query::control::system_command::run_blocking;
use crate::query::plan::planning;
use crate::query::plan::value_evaluator::evaluator;
use crate::session::Session;

/// A piece of the input is so much work, for checkpoints.
const READ_WORK: usize = 1 << 16;

/// How long an INSERT that waits for memory waits between two looks.
const MEMORY_WAIT: Duration = Duration::from_millis(20);

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
            None => insert_id::insertion(&**table, context, id)?,
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
    pub(in crate::query) fn start(
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
    pub(in crate::query) fn collect(target: Target, form: Form, context: &Arc<QueryContext>) -> Result<Self> {
        let Target { table, columns, writer } = target;
        Self::new(&writer, table, columns.as_deref(), context, |_, project| {
            Ok(Destination::Others(Collected::new(form), project))
        })
    }

    /// A sink of rows that a query reads as `input`.
    pub(in crate::query) fn into_query(
        session: &Session,
        input: Arc<InputTable>,
        rows: FedInsert,
        context: &Arc<QueryContext>,
    ) -> Self {
        let schema = input.schema().clone();
        let positions = input.positions();
        let (session, context, destination) = (session.clone(), context.clone(), Destination::Query(rows));
        Self { session, context, table: input, positions, schema, destination, defaults: HashMap::new() }
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

    /// Holds data until all of them have come.
    pub(super) fn spool(&self) -> Spool {
        Spool::new(&self.context)
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

    fn stream(&self) -> Option<&InsertStream> {
        match &self.destination {
            Destination::Table(writing) => Some(&writing.stream),
            Destination::Others(..) | Destination::Query(_) => None,
        }
    }

    /// How many workers may read data for the INSERT; none where its rows do not go to a table of their own.
    pub(super) fn workers_max(&self) -> usize {
        self.stream().map_or(0, InsertStream::workers_max)
    }

    /// Has a worker do work that makes blocks of the input.
    ///
    /// # Errors
    /// Without workers.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<Spawned<T>> {
        let stream = self.stream().ok_or_else(|| Error::logical("an INSERT without workers"))?;
        Ok(stream.spawn(work))
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

    /// The same for several blocks.
    pub(super) async fn send_all(&mut self, inputs: Vec<InputBlock>) -> Result<()> {
        for input in inputs {
            self.send_input(input).await?;
        }
        Ok(())
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
        self.send_all(blocks).await?;
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
