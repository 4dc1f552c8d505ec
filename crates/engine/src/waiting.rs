//! Queries that look again after a while: a limit that they share with others is passed, and memory is about to be freed, or they have read
//! as much as they may until now.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

use parking_lot::Mutex;

/// The queries that wait, whoever runs them.
static WAITING: Mutex<Vec<(Waker, Arc<AtomicBool>)>> = Mutex::new(Vec::new());

/// A query's place among those that wait.
#[derive(Debug, Default)]
pub(crate) struct WaitingPlace {
    is_taken: Arc<AtomicBool>,
}

impl WaitingPlace {
    /// Has the query be woken by the next [`wake_waiting`].
    pub(crate) fn take(&self, waker: &Waker) {
        if !self.is_taken.swap(true, Ordering::AcqRel) {
            WAITING.lock().push((waker.clone(), self.is_taken.clone()));
        }
    }
}

/// Has those queries look again that wait for memory, or because they have read faster than they may. Somebody calls it now and then.
pub fn wake_waiting() {
    for (waker, is_taken) in mem::take(&mut *WAITING.lock()) {
        is_taken.store(false, Ordering::Release);
        waker.wake();
    }
}
