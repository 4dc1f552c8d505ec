//! The function `loop`: a table whose rows come again and again, each time from a new run of its plan.

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Waker;

use squall_engine::{Engine, QueryContext};
use squall_files::Account;
use squall_planner::{ColumnDescription, Expression, Plan, TableMetadata};
use squall_runtime::block_on;
use squall_storage::{Claim, FedScan, Feed, Morsel, ScanRequest, Table, TableScan};
use squall_types::{Block, Error, ErrorCode, Result, Schema};

use crate::query::plan::catalog::TABLE_FUNCTION_DATABASE;
use crate::session::Session;

/// So often no rows may come before there are none: ClickHouse's number.
const EMPTY_RUNS_MAX: usize = 3;

/// A table of a plan's rows.
pub(in crate::query) struct LoopTable {
    session: Session,
    plan: Plan,
    columns: Vec<ColumnDescription>,
}

impl std::fmt::Debug for LoopTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoopTable").field("columns", &self.columns).finish_non_exhaustive()
    }
}

impl LoopTable {
    /// In the name of this session.
    pub(in crate::query) fn new(session: &Session, plan: Plan) -> Self {
        let column =
            |(name, of): &(Arc<str>, _)| ColumnDescription::new(name.clone(), squall_types::DataType::clone(of));
        let columns = plan.schema().fields.iter().map(column).collect();
        Self { session: session.clone(), plan, columns }
    }
}

impl TableMetadata for LoopTable {
    fn database(&self) -> &str {
        TABLE_FUNCTION_DATABASE
    }
    fn name(&self) -> &str {
        "loop"
    }
    fn engine(&self) -> &str {
        "Loop"
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.columns
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Table for LoopTable {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        // Rows are counted by some column.
        let columns = if request.columns.is_empty() { &[0][..] } else { &request.columns[..] };
        let of_plan = self.plan.schema();
        let fields: Vec<_> = columns.iter().filter_map(|at| of_plan.fields.get(*at).cloned()).collect();
        let expressions =
            columns.iter().zip(&fields).map(|(at, (_, data_type))| Expression::column(*at, data_type)).collect();
        let plan =
            Plan::Project { input: Box::new(self.plan.clone()), expressions, schema: Arc::new(Schema { fields }) };
        let session = self.session.clone();
        let rows = FedScan::new(move |feed| {
            Account::of_this_thread().on_thread(move || {
                if let Err(error) = block_on(run(&session, &plan, &feed)) {
                    // Who has gone does not want to know.
                    let _ = feed.blocking_send(Err(error));
                }
            })
        });
        Ok(Arc::new(LoopScan { rows, counts: request.columns.is_empty() }))
    }
}

/// Runs the plan until nobody wants more of its rows.
async fn run(session: &Session, plan: &Plan, feed: &Feed) -> Result<()> {
    let engine: &Engine = &session.server.engine;
    let settings = &session.settings;
    let mut empty_runs = 0;
    while empty_runs <= EMPTY_RUNS_MAX {
        let memory = session.server.processes.user_memory(&session.access.name, settings.max_memory_usage_for_user);
        let context = QueryContext::of_user("loop".into(), settings.clone(), Some(memory));
        let mut stream = engine.start_inner(plan, context)?;
        let mut is_empty = true;
        loop {
            let block = tokio::select! {
                block = stream.next() => block,
                () = feed.closed() => return Ok(()),
            };
            let Some(block) = block.transpose()? else { break };
            is_empty &= block.is_empty();
            if feed.send(Ok(block)).await.is_err() {
                return Ok(());
            }
        }
        empty_runs = if is_empty { empty_runs + 1 } else { 0 };
    }
    Err(Error::new(ErrorCode::TOO_MANY_RETRIES_TO_FETCH_PARTS, "Too many retries to pull from storage"))
}

struct LoopScan {
    rows: FedScan,
    /// No column is wanted.
    counts: bool,
}

impl TableScan for LoopScan {
    fn rows_total(&self) -> Option<u64> {
        None
    }

    fn claim(&self, rows: u64, waker: &Waker) -> Claim {
        self.rows.claim(rows, waker)
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        self.rows.read(morsel, &mut |block| match self.counts {
            true => consume(Block::new(Arc::default(), Vec::new(), block.rows())),
            false => consume(block),
        })
    }
}
