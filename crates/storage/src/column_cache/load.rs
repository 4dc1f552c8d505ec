//! A chunk on its way into memory: fetched by a thread that may wait for the disk, then decoded once by whichever worker comes
//! first. All scans that want the chunk share it.

use std::task::Waker;

use arrow_array::ArrayRef;
use bytes::Bytes;
use parking_lot::Mutex;
use squall_types::{Error, Result};

/// A chunk between disk and cache.
#[derive(Debug, Default)]
pub(crate) struct ChunkLoad {
    state: Mutex<State>,
    /// Who wants to know when the state changes.
    wakers: Mutex<Vec<Waker>>,
}

#[derive(Debug, Default)]
enum State {
    /// The bytes are being read.
    #[default]
    Fetching,
    Fetched(Bytes),
    /// A worker is at it.
    Decoding,
    Ready(ArrayRef),
    Failed(Error),
}

impl ChunkLoad {
    /// Hands over the bytes, or why there are none.
    pub(crate) fn fetched(&self, bytes: Result<Bytes>) {
        self.change(bytes.map_or_else(State::Failed, State::Fetched));
    }

    fn change(&self, next: State) {
        *self.state.lock() = next;
        let wakers = self.wakers.lock().clone();
        wakers.iter().for_each(Waker::wake_by_ref);
    }

    /// Whether [`decode`](Self::decode) has something to do or to tell: the bytes are there, or an error is.
    pub(crate) fn is_fetched(&self) -> bool {
        matches!(&*self.state.lock(), State::Fetched(_) | State::Failed(_))
    }

    pub(crate) fn has_failed(&self) -> bool {
        matches!(&*self.state.lock(), State::Failed(_))
    }

    /// The chunk, once it is decoded.
    pub(crate) fn decoded(&self) -> Option<ArrayRef> {
        match &*self.state.lock() {
            State::Ready(array) => Some(array.clone()),
            _ => None,
        }
    }

    /// Wakes `waker` whenever the state changes: when the bytes have come, when they are decoded, when either has failed. A change before
    /// this call is for the caller to find.
    pub(crate) fn when_changed(&self, waker: &Waker) {
        self.wakers.lock().push(waker.clone());
    }

    /// Decodes the bytes where they are there. Where another worker is at it, or was, there is nothing to do.
    ///
    /// # Errors
    /// Those of the disk and of `decode`, for every caller.
    pub(crate) fn decode(&self, decode: impl FnOnce(Bytes) -> Result<ArrayRef>) -> Result<()> {
        let mut state = self.state.lock();
        let bytes = match &*state {
            State::Fetched(bytes) => bytes.clone(),
            State::Failed(error) => return Err(error.clone()),
            State::Fetching | State::Decoding | State::Ready(_) => return Ok(()),
        };
        *state = State::Decoding;
        drop(state);
        let mut outcome = Outcome { load: self, result: Some(Err(Error::logical("decoding was cut off"))) };
        let result = decode(bytes);
        outcome.result = Some(result.clone());
        result.map(drop)
    }
}

/// Publishes how decoding went, also where it panicked.
struct Outcome<'a> {
    load: &'a ChunkLoad,
    result: Option<Result<ArrayRef>>,
}

impl Drop for Outcome<'_> {
    fn drop(&mut self) {
        if let Some(result) = self.result.take() {
            self.load.change(result.map_or_else(State::Failed, State::Ready));
        }
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
        load.when_changed(&Waker::from(woken.clone()));
        assert!(!load.is_fetched());
        load.fetched(Ok(Bytes::from_static(&[1, 2, 3])));
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    load.decode(|bytes| {
                        decoded.fetch_add(1, Ordering::SeqCst);
                        Ok(Arc::new(UInt8Array::from(bytes.to_vec())) as ArrayRef)
                    })
                    .unwrap();
                });
            }
        });
        assert_eq!((woken.0.load(Ordering::SeqCst), decoded.load(Ordering::SeqCst)), (2, 1));
        assert_eq!(load.decoded().unwrap().len(), 3);
    }

    #[test]
    fn a_panic_while_decoding_is_an_error_for_the_others() {
        let load = ChunkLoad::default();
        load.fetched(Ok(Bytes::new()));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| load.decode(|_| panic!("on purpose"))));
        assert!(panicked.is_err());
        assert!(load.decode(|_| unreachable!()).is_err() && load.has_failed());
    }
}
