//! A chunk on its way into memory: fetched by a thread that may wait for the disk, then decoded once by whichever worker comes
//! first. All scans that want the chunk share it.

use std::task::Waker;

use arrow_array::ArrayRef;
use bytes::Bytes;
use parking_lot::{Condvar, Mutex};
use squall_types::{Error, Result};

/// The state of a chunk between disk and cache.
#[derive(Debug)]
pub(crate) struct ChunkLoad {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
enum State {
    /// The bytes are being read; who wants to know.
    Fetching(Vec<Waker>),
    Fetched(Bytes),
    Decoding,
    Ready(ArrayRef),
    Failed(Error),
}

impl Default for ChunkLoad {
    fn default() -> Self {
        Self { state: Mutex::new(State::Fetching(Vec::new())), changed: Condvar::new() }
    }
}

impl ChunkLoad {
    /// Hands over the bytes, or why there are none, and wakes who waits.
    pub(crate) fn fetched(&self, bytes: Result<Bytes>) {
        let mut state = self.state.lock();
        let next = bytes.map_or_else(State::Failed, State::Fetched);
        if let State::Fetching(wakers) = std::mem::replace(&mut *state, next) {
            drop(state);
            self.changed.notify_all();
            wakers.into_iter().for_each(Waker::wake);
        }
    }

    /// Whether the bytes (or an error) are there.
    pub(crate) fn is_fetched(&self) -> bool {
        !matches!(&*self.state.lock(), State::Fetching(_))
    }

    pub(crate) fn has_failed(&self) -> bool {
        matches!(&*self.state.lock(), State::Failed(_))
    }

    /// Wakes `waker` when the bytes have come; at once where they have.
    pub(crate) fn when_fetched(&self, waker: &Waker) {
        let mut state = self.state.lock();
        if let State::Fetching(wakers) = &mut *state {
            wakers.push(waker.clone());
            return;
        }
        drop(state);
        waker.wake_by_ref();
    }

    /// The decoded chunk. The first caller decodes; others wait for it, which is waiting for a running thread, not for a disk.
    pub(crate) fn array(&self, decode: impl FnOnce(Bytes) -> Result<ArrayRef>) -> Result<ArrayRef> {
        let mut state = self.state.lock();
        loop {
            match &mut *state {
                State::Ready(array) => return Ok(array.clone()),
                State::Failed(error) => return Err(error.clone()),
                State::Fetching(_) | State::Decoding => self.changed.wait(&mut state),
                State::Fetched(_) => {
                    let State::Fetched(bytes) = std::mem::replace(&mut *state, State::Decoding) else { continue };
                    drop(state);
                    let mut outcome = Outcome { load: self, result: Some(Err(Error::logical("decoding was cut off"))) };
                    let result = decode(bytes);
                    outcome.result = Some(result.clone());
                    return result;
                }
            }
        }
    }
}

/// Publishes how decoding went, also where it panicked.
struct Outcome<'a> {
    load: &'a ChunkLoad,
    result: Option<Result<ArrayRef>>,
}

impl Drop for Outcome<'_> {
    fn drop(&mut self) {
        let next = match self.result.take() {
            Some(Ok(array)) => State::Ready(array),
            Some(Err(error)) => State::Failed(error),
            None => return,
        };
        *self.load.state.lock() = next;
        self.load.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Array, UInt8Array};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_chunk_is_decoded_once() {
        let load = ChunkLoad::default();
        let (woken, decoded) = (Arc::new(Count::default()), AtomicUsize::new(0));
        load.when_fetched(&Waker::from(woken.clone()));
        assert!(!load.is_fetched());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let array = load.array(|bytes| {
                        decoded.fetch_add(1, Ordering::SeqCst);
                        Ok(Arc::new(UInt8Array::from(bytes.to_vec())) as ArrayRef)
                    });
                    assert_eq!(array.unwrap().len(), 3);
                });
            }
            load.fetched(Ok(Bytes::from_static(&[1, 2, 3])));
        });
        assert_eq!((woken.0.load(Ordering::SeqCst), decoded.load(Ordering::SeqCst)), (1, 1));
    }

    #[test]
    fn a_panic_while_decoding_is_an_error_for_the_others() {
        let load = ChunkLoad::default();
        load.fetched(Ok(Bytes::new()));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| load.array(|_| panic!("on purpose"))));
        assert!(panicked.is_err());
        assert!(load.array(|_| unreachable!()).is_err() && load.has_failed());
    }
}
