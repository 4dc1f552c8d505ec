//! The end of an INSERT or a merge.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use squall_types::Result;

use crate::query_context::QueryContext;
use crate::stream::spawned::Ending;
use crate::sync::Mutex;

/// The end of an INSERT, to be awaited. Dropping it before the end cancels the INSERT.
pub struct Completion {
    state: Arc<CompletionState>,
    context: Arc<QueryContext>,
}

/// How a query has ended, once it has, and who waits for that.
#[derive(Default)]
pub(crate) struct CompletionState(Mutex<State>);

#[derive(Default)]
struct State {
    result: Option<Result<()>>,
    waiting: Option<Waker>,
}

impl CompletionState {
    pub(crate) fn end(&self, result: Result<()>) {
        let mut state = self.0.lock();
        state.result = Some(result);
        if let Some(waiting) = state.waiting.take() {
            waiting.wake();
        }
    }
}

impl Ending for CompletionState {
    fn poll_end(&self, task: &Context<'_>) -> Poll<Result<()>> {
        let mut state = self.0.lock();
        match &state.result {
            Some(result) => Poll::Ready(result.clone()),
            None => {
                state.waiting = Some(task.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Completion {
    pub(crate) fn new(context: Arc<QueryContext>) -> Self {
        Self { state: Arc::default(), context }
    }

    pub(crate) fn state(&self) -> &Arc<CompletionState> {
        &self.state
    }

    /// Waits until the rows are committed and durable.
    ///
    /// # Errors
    /// The INSERT's; nothing of it remains then.
    pub async fn finished(&mut self) -> Result<()> {
        poll_fn(|task| self.state.poll_end(task)).await
    }

    pub(crate) fn result(&self) -> Option<Result<()>> {
        self.state.0.lock().result.clone()
    }

    /// Cancels the INSERT if it has not ended.
    pub(crate) fn cancel(&self) {
        if self.result().is_none() {
            self.context.cancel();
        }
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        self.cancel();
    }
}
