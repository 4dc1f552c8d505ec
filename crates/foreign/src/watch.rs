//! Waiting for another server only as long as the query goes on.

use std::pin::pin;
use std::time::Duration;

use squall_types::{Result, checkpoint};

/// Between two looks at whether the query goes on.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Work that makes a checkpoint look.
const WORK: usize = usize::MAX;

/// Waits for what another server does, unless the query ends meanwhile: it may be silent for as long as it computes.
///
/// # Errors
/// Those of the work; of the query's limits.
pub(crate) async fn while_wanted<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::time::sleep(LOOK_EVERY) => checkpoint(WORK)?,
        }
    }
}
