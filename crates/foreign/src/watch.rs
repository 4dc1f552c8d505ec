//! Waiting for another server only as long as the query goes on.

use std::time::Duration;

use squall_types::{Error, Result, checkpoint};

/// Between two looks at whether the query goes on.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Work that makes a checkpoint look.
const WORK: usize = usize::MAX;

/// How long a server has to take the word that a statement of its is in vain.
const CANCEL_MAX: Duration = Duration::from_secs(1);

/// Waits for what another server does, unless the query ends meanwhile: it may be silent for as long as it computes.
///
/// # Errors
/// Those of the work; of the query's limits.
pub(crate) async fn while_wanted<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::select! {
        biased;
        done = work => done,
        error = end_of_query() => Err(error),
    }
}

/// The same with a statement that may also be `unwanted`, which is no error. The server is told by `cancel` that nobody waits for the statement
/// any more: it would only notice when it sends something.
///
/// # Errors
/// Those of the work; of the query's limits.
pub(crate) async fn until_unwanted(
    work: impl Future<Output = Result<()>>,
    unwanted: impl Future<Output = ()>,
    cancel: impl AsyncFnOnce() -> Result<()>,
) -> Result<()> {
    let ended = tokio::select! {
        biased;
        done = work => return done,
        () = unwanted => Ok(()),
        error = end_of_query() => Err(error),
    };
    // A server that does not take it finds the connection closed.
    let _ = tokio::time::timeout(CANCEL_MAX, cancel()).await;
    ended
}

/// Whether the query goes on: asked before what it does cannot be taken back.
///
/// # Errors
/// Those of the query's limits.
pub(crate) fn still_wanted() -> Result<()> {
    checkpoint(WORK)
}

/// Why the query ends, once it does.
async fn end_of_query() -> Error {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if let Err(error) = still_wanted() {
            return error;
        }
    }
}
