//! How the logs' parts are made: as background work of the scheduler, in the share of the CPU that all of it has together.

use std::sync::Arc;

use squall_engine::{Engine, InsertStream, QueryContext};
use squall_functions::FunctionContext;
use squall_runtime::block_on;
use squall_scheduler::CpuShare;
use squall_storage::{Databases, InsertLimits};
use squall_types::{Block, Result, Settings};

use super::pace::Work;

/// The database of all logs.
pub(super) const DATABASE: &str = "system";

/// Where logs are kept. Threads that call it wait for workers and for the disk.
pub(super) struct LogStore {
    pub(super) databases: Arc<Databases>,
    pub(super) functions: FunctionContext,
    pub(super) engine: Engine,
    share: Arc<CpuShare>,
    settings: Arc<Settings>,
}

impl LogStore {
    pub(super) fn new(
        databases: Arc<Databases>,
        functions: FunctionContext,
        engine: Engine,
        share: Arc<CpuShare>,
    ) -> Self {
        let mut settings = Settings::default();
        settings.max_threads = 1;
        // A flush is a part.
        settings.min_insert_block_size_rows = u64::MAX;
        // What makes the logs is not logged.
        settings.log_query_threads = false;
        settings.query_profiler_cpu_time_period_ns = 0;
        settings.query_profiler_real_time_period_ns = 0;
        settings.memory_profiler_step = 0;
        Self { databases, functions, engine, share, settings: settings.into() }
    }

    /// Begins to make a part of rows of a log.
    pub(super) fn write(&self, table: &str, work: &mut Work) -> Result<PartInsert> {
        let context = self.context(format!("{DATABASE}.{table}").into(), work);
        let table = self.databases.table(DATABASE, table)?;
        // Nobody is about to read the rows: the cache is for those of the tables that queries are about.
        let limits = InsertLimits { fills_cache: false, ..InsertLimits::new(&self.settings) };
        Ok(PartInsert { stream: self.engine.insert_within(&*table, None, limits, context.clone())?, context })
    }

    /// Makes one part of several.
    pub(super) fn merge(&self, table: &str, parts: &[Arc<str>], work: &mut Work) -> Result<()> {
        let merge = self.databases.merge_parts(DATABASE, table, parts)?;
        let context = self.context(merge.id.as_str().into(), work);
        let merged = block_on(self.engine.merge(merge, context.clone()).finished());
        context.count_for_process();
        merged
    }

    fn context(&self, id: Arc<str>, work: &mut Work) -> Arc<QueryContext> {
        let context = QueryContext::new(id, self.settings.clone());
        context.set_cpu_share(self.share.clone());
        work.add(context.clone());
        context
    }
}

/// Rows on their way into a part. Dropped before [`finish`](Self::finish), it leaves nothing of them.
pub(super) struct PartInsert {
    stream: InsertStream,
    context: Arc<QueryContext>,
}

impl PartInsert {
    pub(super) fn send(&mut self, block: Block) -> Result<()> {
        block_on(self.stream.send(block))
    }

    pub(super) fn finish(self) -> Result<()> {
        let written = block_on(self.stream.finish());
        self.context.count_for_process();
        written
    }
}
