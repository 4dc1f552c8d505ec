//! Work that workers do in a query's name, for those who read its result or send its data.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use squall_types::{Error, ErrorCode, Result};
use tokio::sync::oneshot;

use crate::output::Waiting;
use crate::works::Works;

/// A query that somebody waits for.
pub(crate) trait Ending: Send + Sync {
    /// How the query has ended; wakes the last who asked.
    fn poll_end(&self, task: &Context<'_>) -> Poll<Result<()>>;
}

/// Work that a worker does for a query.
pub struct Spawned<T> {
    /// `None` once the work has given its result, or was given up since the query ends.
    is_done: Option<oneshot::Receiver<T>>,
    query: Arc<dyn Ending>,
    /// Counts what is held for a client until the work is taken.
    _waiting: Option<Waiting>,
}

impl<T: Send + 'static> Spawned<T> {
    /// Adds the work to those of the query.
    pub(crate) fn new(works: &Works, query: Arc<dyn Ending>, work: impl Future<Output = T> + Send + 'static) -> Self {
        let (done, is_done) = oneshot::channel();
        works.add(Box::pin(async move {
            // Who has given it up wants no result.
            let _ = done.send(work.await);
            Ok(())
        }));
        Self { is_done: Some(is_done), query, _waiting: None }
    }

    /// The same while these bytes count as waiting for a client.
    pub(crate) fn holding(self, waiting: Waiting) -> Self {
        Self { _waiting: Some(waiting), ..self }
    }

    /// Waits for what the work gives, which is given once. Before that it may be dropped and called again.
    ///
    /// # Errors
    /// The query's, where it ends before the work.
    pub async fn done(&mut self) -> Result<T> {
        poll_fn(|task| {
            if let Some(is_done) = &mut self.is_done
                && let Poll::Ready(done) = Pin::new(is_done).poll(task)
            {
                self.is_done = None;
                if let Ok(done) = done {
                    return Poll::Ready(Ok(done));
                }
            }
            self.query.poll_end(task).map(|result| Err(ended(Some(result))))
        })
        .await
    }
}

/// The error of a query that has ended before all was done for it, so that it has failed.
pub(crate) fn ended(result: Option<Result<()>>) -> Error {
    result.and_then(Result::err).unwrap_or_else(|| {
        Error::new(ErrorCode::QUERY_WAS_CANCELLED, "The query has ended before all of its data were sent")
    })
}
