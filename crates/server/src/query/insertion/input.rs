//! `INSERT INTO t SELECT … FROM input('…') FORMAT …`: the query's function `input` has the rows that the client sends.

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Waker;

use parking_lot::Mutex;
use squall_engine::QueryContext;
use squall_planner::{ColumnDescription, PlannerContext, TableMetadata, plan_structure};
use squall_storage::{Claim, FedScan, Feed, Morsel, ScanRequest, Table, TableHandle, TableScan};
use squall_types::{Block, Error, ErrorCode, Result, Schema, Value};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::query::plan::catalog::TABLE_FUNCTION_DATABASE;

/// The place of the rows that an INSERT's query asks for.
#[derive(Debug)]
pub struct InputPlace {
    /// The columns of `input()`: those that the INSERT writes.
    columns: Vec<ColumnDescription>,
    made: Mutex<Option<Arc<InputTable>>>,
}

impl InputPlace {
    /// For an INSERT into these columns.
    pub(in crate::query) fn new(columns: Vec<ColumnDescription>) -> Self {
        Self { columns, made: Mutex::default() }
    }

    /// The table of a call. Planning may begin anew: it gets the same.
    ///
    /// # Errors
    /// `NUMBER_OF_ARGUMENTS_DOESNT_MATCH`, and what is wrong with the structure.
    pub(in crate::query) fn table(
        &self,
        arguments: &[Value],
        planner: &PlannerContext<'_>,
    ) -> Result<Arc<dyn TableMetadata>> {
        let columns = match arguments {
            [] => self.columns.clone(),
            [Value::String(structure)] => plan_structure(&String::from_utf8_lossy(structure), planner)?,
            _ => {
                let message = "Table function 'input' requires exactly 1 argument: structure.";
                return Err(Error::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
            }
        };
        let mut made = self.made.lock();
        let table = made.take().filter(|made| same(&made.columns, &columns));
        let table = table.unwrap_or_else(|| Arc::new(InputTable::new(columns)));
        *made = Some(table.clone());
        Ok(Arc::new(TableHandle(table)))
    }

    /// The table that was asked for, if any was.
    pub(in crate::query) fn take(&self) -> Option<Arc<InputTable>> {
        self.made.lock().take()
    }
}

fn same(left: &[ColumnDescription], right: &[ColumnDescription]) -> bool {
    let fields = |columns: &[ColumnDescription]| {
        columns.iter().map(|column| (column.name.clone(), column.data_type.clone())).collect::<Vec<_>>()
    };
    fields(left) == fields(right)
}

/// `input()` outside of an INSERT's query.
pub(in crate::query) fn no_input() -> Error {
    let message = "Input stream is not initialized, input() must be used only in INSERT SELECT query.";
    Error::new(ErrorCode::INVALID_USAGE_OF_INPUT, message)
}

/// The table of the rows that come.
#[derive(Debug)]
pub(in crate::query) struct InputTable {
    columns: Vec<ColumnDescription>,
    schema: Arc<Schema>,
    /// Tells who sends the rows where they are wanted; taken by the only scan.
    wanted: Mutex<Option<oneshot::Sender<Feed>>>,
    coming: Mutex<Option<oneshot::Receiver<Feed>>>,
}

impl InputTable {
    fn new(columns: Vec<ColumnDescription>) -> Self {
        let sent = columns.iter().filter(|column| column.is_stored());
        let schema = Schema::new(sent.map(|column| (column.name.clone(), column.data_type.clone())));
        let (wanted, coming) = oneshot::channel();
        Self { columns, schema: Arc::new(schema), wanted: Mutex::new(Some(wanted)), coming: Mutex::new(Some(coming)) }
    }

    /// The columns that are to be sent.
    pub(in crate::query) fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The positions of these among all columns.
    pub(in crate::query) fn positions(&self) -> Vec<usize> {
        (0..self.columns.len()).filter(|at| self.columns[*at].is_stored()).collect()
    }
}

impl TableMetadata for InputTable {
    fn database(&self) -> &str {
        TABLE_FUNCTION_DATABASE
    }
    fn name(&self) -> &str {
        "input"
    }
    fn engine(&self) -> &str {
        "Input"
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.columns
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Table for InputTable {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        let wanted = self.wanted.lock().take().ok_or_else(|| {
            Error::new(ErrorCode::INVALID_USAGE_OF_INPUT, "You can use the `input` function only once in a query.")
        })?;
        let schema = request.schema.clone();
        let columns = schema.fields.iter().filter_map(|(name, _)| self.schema.position(name)).collect();
        // Who has gone sends nothing, and that is not the end of the rows.
        let rows = FedScan::new(move |feed| wanted.send(feed).map_err(|_| cancelled()));
        Ok(Arc::new(InputScan { rows, columns, schema }))
    }
}

/// Some columns of the rows that come.
struct InputScan {
    rows: FedScan,
    columns: Vec<usize>,
    schema: Arc<Schema>,
}

impl TableScan for InputScan {
    fn rows_total(&self) -> Option<u64> {
        None
    }

    fn claim(&self, rows: u64, waker: &Waker) -> Claim {
        self.rows.claim(rows, waker)
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        self.rows.read(morsel, &mut |block| {
            let columns = self.columns.iter().filter_map(|at| block.columns().get(*at).cloned()).collect();
            consume(Block::new(self.schema.clone(), columns, block.rows()))
        })
    }
}

/// An INSERT whose query reads what is sent here. Dropped before [`finish`](Self::finish), it leaves nothing behind.
pub(in crate::query) struct FedInsert {
    context: Arc<QueryContext>,
    coming: Option<oneshot::Receiver<Feed>>,
    feed: Option<Feed>,
    running: JoinHandle<Result<()>>,
    outcome: Option<Result<()>>,
}

impl FedInsert {
    /// Begins the INSERT, which is `work`.
    pub(in crate::query) fn begin(
        table: &InputTable,
        work: impl Future<Output = Result<()>> + Send + 'static,
        context: &Arc<QueryContext>,
    ) -> Self {
        let coming = table.coming.lock().take();
        Self { context: context.clone(), coming, feed: None, running: tokio::spawn(work), outcome: None }
    }

    /// Sends rows, of the columns of the function; waits while the query is behind. A query that wants no more gets no more.
    ///
    /// # Errors
    /// The INSERT's.
    pub(in crate::query) async fn send(&mut self, block: Block) -> Result<()> {
        self.await_scan().await;
        let is_taken = match &self.feed {
            Some(feed) => feed.send(Ok(block)).await.is_ok(),
            None => false,
        };
        if is_taken { Ok(()) } else { self.outcome().await }
    }

    /// All rows were sent.
    ///
    /// # Errors
    /// The INSERT's.
    pub(in crate::query) async fn finish(mut self) -> Result<()> {
        self.await_scan().await;
        self.feed = None;
        self.outcome().await
    }

    /// Waits until the query wants rows, or has ended.
    async fn await_scan(&mut self) {
        let Some(coming) = &mut self.coming else { return };
        tokio::select! {
            feed = coming => self.feed = feed.ok(),
            ended = &mut self.running => self.outcome = Some(joined(ended)),
        }
        self.coming = None;
    }

    async fn outcome(&mut self) -> Result<()> {
        if self.outcome.is_none() {
            self.outcome = Some(joined((&mut self.running).await));
        }
        self.outcome.clone().unwrap_or(Ok(()))
    }
}

fn cancelled() -> Error {
    Error::new(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled: not all of its rows came")
}

fn joined(ended: std::result::Result<Result<()>, tokio::task::JoinError>) -> Result<()> {
    ended.unwrap_or_else(|error| Err(Error::logical(format!("an INSERT that ended otherwise: {error}"))))
}

impl Drop for FedInsert {
    fn drop(&mut self) {
        if self.outcome.is_some() {
            return;
        }
        self.context.cancel();
        // The end of the rows would be taken for their last.
        if let (Some(feed), Ok(runtime)) = (self.feed.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move { feed.send(Err(cancelled())).await });
        }
    }
}
