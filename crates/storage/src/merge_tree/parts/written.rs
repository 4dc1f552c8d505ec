//! How writing a file went: whoever needs to know waits, as a thread or as a future.

use std::task::{Context, Poll, Waker};

use parking_lot::{Condvar, Mutex};
use squall_types::Result;

/// How writing went, once it is known.
#[derive(Default)]
pub(super) struct Written {
    state: Mutex<WrittenState>,
    known: Condvar,
}

#[derive(Default)]
struct WrittenState {
    result: Option<Result<()>>,
    waiting: Vec<Waker>,
}

impl Written {
    pub(super) fn set(&self, result: Result<()>) {
        let mut state = self.state.lock();
        state.result = Some(result);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        self.known.notify_all();
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Blocks the thread until it is known.
    pub(super) fn wait(&self) -> Result<()> {
        let mut state = self.state.lock();
        loop {
            match &state.result {
                Some(result) => return result.clone(),
                None => self.known.wait(&mut state),
            }
        }
    }

    pub(super) fn poll(&self, context: &Context) -> Poll<Result<()>> {
        let mut state = self.state.lock();
        match &state.result {
            Some(result) => Poll::Ready(result.clone()),
            None => {
                state.waiting.push(context.waker().clone());
                Poll::Pending
            }
        }
    }
}
