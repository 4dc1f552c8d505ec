//! What waits for the disk, on a thread of the pool, as a future that a worker's work awaits.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::{Poll, Waker};

use parking_lot::Mutex;
use squall_runtime::profile_events;
use squall_runtime::thread_pool::JobOptions;
use squall_types::{Error, ErrorCode, Result};

use crate::query_context::QueryContext;

/// Where a job's result is waited for.
struct Outcome<T>(Mutex<(Option<Result<T>>, Option<Waker>)>);

impl<T> Outcome<T> {
    fn set(&self, result: Result<T>) {
        let mut state = self.0.lock();
        if state.0.is_none() {
            state.0 = Some(result);
        }
        let waker = state.1.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Tells of a job that ended without a result: it was never run, or panicked.
struct Teller<T>(Arc<Outcome<T>>);

impl<T> Drop for Teller<T> {
    fn drop(&mut self) {
        self.0.set(Err(Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, "A job for temporary data was not run to its end")));
    }
}

/// Runs `job` on a thread of the query's pool, at once; its result is what is awaited.
pub(super) fn offload<T: Send + 'static>(
    context: &Arc<QueryContext>,
    job: impl FnOnce() -> Result<T> + Send + 'static,
) -> impl Future<Output = Result<T>> + Send + 'static {
    let outcome = Arc::new(Outcome(Mutex::new((None, None))));
    let teller = Teller(outcome.clone());
    let options = JobOptions { owner: Some(context.clone()), ..JobOptions::default() };
    let scheduled = context.temporary().pool.schedule_with(options, {
        let context = context.clone();
        move || {
            let _counting = profile_events::attach(context);
            teller.0.set(job());
        }
    });
    if let Err(error) = scheduled {
        outcome.set(Err(Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string())));
    }
    poll_fn(move |task| {
        let mut state = outcome.0.lock();
        match state.0.take() {
            Some(result) => Poll::Ready(result),
            None => {
                state.1 = Some(task.waker().clone());
                Poll::Pending
            }
        }
    })
}
