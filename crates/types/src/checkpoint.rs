//! Checkpoints: whoever computes for long without coming back to the engine asks here, every so much work, whether to go on. A query
//! that was cancelled, is out of time or holds too much ends at the next one. A thread that must not compute for long, as one that
//! serves connections, works on a leash: at its end the work is given up, to be done anew by a thread that may take its time.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::dictionary_results::DictionaryResults;
use crate::{Error, Result};

/// Work between two looks: about as many nanoseconds.
const WORK: usize = 1 << 17;

/// A reservation of so many bytes is work that no thread on a leash does.
const LIGHT_BYTES: usize = 8 << 20;

/// Says whether a query's work may go on.
pub trait Supervisor: Send + Sync {
    /// Whether it may.
    ///
    /// # Errors
    /// Why not: `QUERY_WAS_CANCELLED`, `TIMEOUT_EXCEEDED`, `MEMORY_LIMIT_EXCEEDED`.
    fn check(&self) -> Result<()>;

    /// What is computed of dictionaries' values on the query's behalf; `None` where nothing is kept.
    fn dictionary_results(&self) -> Option<&DictionaryResults> {
        None
    }
}

thread_local! {
    static WORK_LEFT: Cell<usize> = const { Cell::new(WORK) };
    static SUPERVISOR: RefCell<Option<Arc<dyn Supervisor>>> = const { RefCell::new(None) };
    static LEASH: Cell<Option<Instant>> = const { Cell::new(None) };
    static IS_BROKEN: Cell<bool> = const { Cell::new(false) };
}

/// Called in loops over items with the work since the last call: about a unit for each nanosecond, or byte.
///
/// # Errors
/// Those of the [`Supervisor`], and at the end of a leash.
#[inline]
pub fn checkpoint(work: usize) -> Result<()> {
    let left = WORK_LEFT.get();
    if work < left {
        WORK_LEFT.set(left - work);
        return Ok(());
    }
    look()
}

#[cold]
fn look() -> Result<()> {
    WORK_LEFT.set(WORK);
    if LEASH.get().is_some_and(|end| Instant::now() >= end) {
        return Err(broken());
    }
    SUPERVISOR.with_borrow(|supervisor| supervisor.as_ref().map_or(Ok(()), |supervisor| supervisor.check()))
}

/// As much memory as this is much work, too.
pub(crate) fn weigh(bytes: usize) -> Result<()> {
    if bytes > LIGHT_BYTES && LEASH.get().is_some() { Err(broken()) } else { checkpoint(bytes / 16) }
}

/// Nobody sees this error: whoever holds the leash does the work anew elsewhere.
fn broken() -> Error {
    IS_BROKEN.set(true);
    Error::logical("too much work for a thread that serves connections")
}

/// Has checkpoints of this thread ask `supervisor` until the guard is dropped.
#[must_use]
pub fn supervise(supervisor: Arc<dyn Supervisor>) -> SupervisorGuard {
    SupervisorGuard { before: SUPERVISOR.replace(Some(supervisor)) }
}

/// Whom checkpoints of this thread ask, for threads that work on its behalf.
pub fn supervisor() -> Option<Arc<dyn Supervisor>> {
    SUPERVISOR.with_borrow(Clone::clone)
}

/// Ends [`supervise`] when dropped.
pub struct SupervisorGuard {
    before: Option<Arc<dyn Supervisor>>,
}

impl Drop for SupervisorGuard {
    fn drop(&mut self) {
        SUPERVISOR.replace(self.before.take());
    }
}

/// Lets this thread compute for so long: afterwards checkpoints fail until the leash is dropped.
#[must_use]
pub fn leash(time: Duration) -> Leash {
    IS_BROKEN.set(false);
    WORK_LEFT.set(WORK);
    Leash { before: LEASH.replace(Instant::now().checked_add(time)) }
}

/// Ends [`leash`] when dropped.
#[derive(Debug)]
pub struct Leash {
    before: Option<Instant>,
}

impl Leash {
    /// Whether it was too short for the work. What the work gave does not count then, be it a result or an error.
    pub fn was_too_short(&self) -> bool {
        IS_BROKEN.get()
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        LEASH.set(self.before);
        IS_BROKEN.set(false);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::ErrorCode;

    #[derive(Default)]
    struct Flag(AtomicBool);

    impl Supervisor for Flag {
        fn check(&self) -> Result<()> {
            match self.0.load(Ordering::SeqCst) {
                false => Ok(()),
                true => Err(Error::new(ErrorCode::QUERY_WAS_CANCELLED, "cancelled")),
            }
        }
    }

    #[test]
    fn work_meets_the_supervisor() {
        let flag = Arc::new(Flag::default());
        let guard = supervise(flag.clone());
        (0..10).for_each(|_| checkpoint(WORK).unwrap());
        flag.0.store(true, Ordering::SeqCst);
        let met = (0..2 * WORK).find_map(|_| checkpoint(1).err());
        assert_eq!(met.unwrap().code, ErrorCode::QUERY_WAS_CANCELLED);
        drop(guard);
        checkpoint(WORK).unwrap();
    }

    #[test]
    fn a_leash_ends_by_time_or_by_memory() {
        let short = leash(Duration::ZERO);
        assert!(!short.was_too_short());
        assert!(checkpoint(WORK).is_err());
        assert!(short.was_too_short());
        drop(short);
        let long = leash(Duration::from_secs(3_600));
        assert!(crate::reserve(LIGHT_BYTES).is_ok() && !long.was_too_short());
        assert!(crate::reserve(LIGHT_BYTES + 1).is_err() && long.was_too_short());
        drop(long);
        assert!(crate::reserve(LIGHT_BYTES + 1).is_ok() && checkpoint(WORK).is_ok());
    }
}
