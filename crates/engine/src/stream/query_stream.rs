//! The result of a SELECT.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use squall_runtime::block_on;
use squall_types::{Block, Result, Schema};

use crate::output::{Output, Waiting, scarcity};
use crate::query_context::QueryContext;
use crate::stream::spawned::{Ending, Spawned};
use crate::works::Works;

/// Pieces of work with a result that are done or wait for a worker, for each worker.
const PIECES_PER_WORKER: usize = 2;

/// The result of a SELECT on its way. Dropping it cancels the query.
pub struct QueryStream {
    pub(crate) output: Arc<Output>,
    pub(crate) context: Arc<QueryContext>,
    pub(crate) workers_max: usize,
}

/// The workers of a query, for those who read its result. They stay until [`QueryStream::finish`].
pub struct Helpers {
    works: Arc<Works>,
    output: Arc<Output>,
    workers_max: usize,
}

impl Helpers {
    /// How many pieces of work may be under way now: fewer while much waits for clients.
    pub fn pieces_max(&self) -> usize {
        (PIECES_PER_WORKER * self.workers_max / scarcity()).max(1)
    }

    /// Has a worker do work with so many bytes of the result, in the query's name. The work gives way about every millisecond.
    pub fn spawn<T: Send + 'static>(&self, bytes: usize, work: impl Future<Output = T> + Send + 'static) -> Spawned<T> {
        Spawned::new(&self.works, self.output.clone(), work).holding(Waiting::new(bytes))
    }
}

impl QueryStream {
    /// The result's columns.
    pub fn schema(&self) -> &Arc<Schema> {
        self.output.schema()
    }

    /// How many workers the query may have at once.
    pub fn workers_max(&self) -> usize {
        self.workers_max
    }

    /// The next block, `None` at the end. After an error comes the end.
    pub async fn next(&mut self) -> Option<Result<Block>> {
        poll_fn(|task| self.output.poll_next(task)).await
    }

    /// The next block if it is there already: `None` where it must be waited for.
    pub fn try_next(&mut self) -> Option<Option<Result<Block>>> {
        match self.output.poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(next) => Some(next),
            Poll::Pending => None,
        }
    }

    /// Keeps the query's workers for work with its blocks, also after the last of them, until [`finish`](Self::finish). `None` where the query has
    /// none, or no more.
    pub fn keep_workers(&mut self) -> Option<Helpers> {
        let works = self.output.keep_works()?;
        Some(Helpers { works, output: self.output.clone(), workers_max: self.workers_max })
    }

    /// After the last block: lets workers go that were kept, and waits until they are gone.
    ///
    /// # Errors
    /// The query's.
    pub async fn finish(&mut self) -> Result<()> {
        self.output.end_works();
        self.output.wake_writer();
        poll_fn(|task| self.output.poll_end(task)).await
    }

    /// The row of WITH TOTALS, once the stream has ended.
    pub fn take_totals(&mut self) -> Option<Block> {
        self.output.take_totals()
    }

    /// Reads to the end on a thread that may wait (not one of the scheduler's nor of the I/O's).
    ///
    /// # Errors
    /// The query's.
    pub fn collect_blocking(mut self) -> Result<Vec<Block>> {
        block_on(async {
            let mut blocks = Vec::new();
            while let Some(block) = self.next().await {
                blocks.push(block?);
            }
            Ok(blocks)
        })
    }
}

impl Drop for QueryStream {
    fn drop(&mut self) {
        if !self.output.has_ended() {
            self.context.cancel();
            self.output.wake_writer();
        }
    }
}
