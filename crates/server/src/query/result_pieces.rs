//! Pieces of a query's result that workers lay out, several at once, in the query's name and in the scheduler's order.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use squall_engine::{Helpers, Spawned};
use squall_formats::{Pending, Workers};
use squall_types::Result;

use super::Query;

/// Bytes that are laid out where they are sent, before workers are asked to help.
const BYTES_HERE_MAX: usize = 256 << 10;

/// The workers of a query, for work with its result.
pub struct ResultWorkers(Helpers);

impl ResultWorkers {
    /// Has a worker do work with so many bytes of the result.
    pub fn spawn_piece<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Spawned<T> {
        self.0.spawn(bytes, work)
    }
}

impl Workers for ResultWorkers {
    fn spawn(&self, work: Pin<Box<dyn Future<Output = ()> + Send>>) -> Pending<'static> {
        let mut spawned = self.0.spawn(0, work);
        Box::pin(async move { spawned.done().await })
    }
}

/// Pieces under way, in the order of the result. A small result has none: it is laid out where it is sent.
pub struct ResultPieces<T> {
    /// Bytes that were laid out here, until that is enough to ask for helpers.
    bytes_here: usize,
    workers: Option<Arc<ResultWorkers>>,
    under_way: VecDeque<Spawned<T>>,
}

impl<T> Default for ResultPieces<T> {
    fn default() -> Self {
        Self { bytes_here: 0, workers: None, under_way: VecDeque::new() }
    }
}

impl<T: Send + 'static> ResultPieces<T> {
    /// Counts bytes that were laid out where they are sent. After enough of them, workers help, if the query may have several.
    pub fn count_here(&mut self, bytes: usize, query: &mut Query) {
        self.bytes_here += bytes;
        if self.bytes_here >= BYTES_HERE_MAX && self.workers.is_none() {
            self.bytes_here = 0;
            self.workers = query.keep_workers().map(|helpers| Arc::new(ResultWorkers(helpers)));
        }
    }

    /// Whether another piece may be under way now.
    pub fn has_room(&self) -> bool {
        self.workers.as_ref().is_some_and(|workers| self.under_way.len() < workers.0.pieces_max())
    }

    /// Has a worker lay out the next piece, of so many bytes of values. Only where there [is room](Self::has_room).
    pub fn spawn(&mut self, bytes: usize, work: impl Future<Output = T> + Send + 'static) {
        if let Some(workers) = &self.workers {
            self.under_way.push_back(workers.spawn_piece(bytes, work));
        }
    }

    /// The next piece; `None` where none is under way. May be dropped and called again.
    ///
    /// # Errors
    /// The query's, where it ends before the work.
    pub async fn next(&mut self) -> Option<Result<T>> {
        let done = self.under_way.front_mut()?.done().await;
        self.under_way.pop_front();
        Some(done)
    }

    /// The workers that help, if any do.
    pub fn workers(&self) -> Option<&Arc<ResultWorkers>> {
        self.workers.as_ref()
    }

    /// Takes them: no more pieces come. [`Query::let_workers_go`] waits until they are gone.
    pub fn take_workers(&mut self) -> Option<Arc<ResultWorkers>> {
        self.workers.take()
    }
}
