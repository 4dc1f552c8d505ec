//! An INSERT whose rows a client sends.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;

use squall_types::{Block, Result};

use crate::insert::{Input, Push};
use crate::stream::completion::Completion;
use crate::stream::spawned::{Spawned, ended};
use crate::works::Works;

/// An INSERT that takes blocks. Dropping it before [`InsertStream::finish`] cancels it.
pub struct InsertStream {
    pub(crate) input: Arc<Input>,
    pub(crate) works: Arc<Works>,
    pub(crate) workers_max: usize,
    pub(crate) completion: Completion,
}

impl InsertStream {
    /// How many workers the INSERT may have at once.
    pub fn workers_max(&self) -> usize {
        self.workers_max
    }

    /// Has a worker do work for blocks that will be sent, in the INSERT's name. The work gives way about every millisecond, and is over or
    /// given up before [`finish`](Self::finish).
    pub fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Spawned<T> {
        Spawned::new(&self.works, self.completion.state().clone(), work)
    }

    /// Sends a block; waits while the table is behind.
    ///
    /// # Errors
    /// The INSERT's, as soon as it has failed.
    pub async fn send(&mut self, block: Block) -> Result<()> {
        let mut block = Some(block);
        poll_fn(|task| match self.input.push(&mut block, task.waker()) {
            Push::Taken => Poll::Ready(Ok(())),
            Push::Full => Poll::Pending,
            Push::Abandoned => Poll::Ready(Err(ended(self.completion.result()))),
        })
        .await
    }

    /// All blocks are sent: waits until they are committed and durable.
    ///
    /// # Errors
    /// The INSERT's; nothing of it remains then.
    pub async fn finish(mut self) -> Result<()> {
        self.input.finish();
        self.completion.finished().await
    }
}

impl Drop for InsertStream {
    fn drop(&mut self) {
        // First cancelled, then finished: the pipeline must not take the end of a broken-off INSERT for the end of a whole one.
        self.completion.cancel();
        self.input.finish();
    }
}
