//! A chunk on its way into memory: fetched by a thread that may wait for the disk, then decoded once by whichever worker comes
//! first. All scans that want the chunk share it.

use std::task::Waker;

use bytes::Bytes;
use parking_lot::Mutex;
use squall_types::{Error, Result, Rows};

/// A chunk that is being decoded, in pieces of about a millisecond.
pub(crate) trait DecodeChunk: Send {
    /// Runs a piece; the rows when it was the last.
    ///
    /// # Errors
    /// `CORRUPTED_DATA`, `MEMORY_LIMIT_EXCEEDED`.
    fn decode(&mut self) -> Result<Option<Rows>>;
}

/// A chunk between disk and cache.
#[derive(Default)]
pub(crate) struct ChunkLoad {
    state: Mutex<State>,
    /// Who wants to know when the state changes.
    wakers: Mutex<Vec<Waker>>,
}

#[derive(Default)]
enum State {
    /// The bytes are being read.
    #[default]
    Fetching,
    Fetched(Bytes),
    /// Decoded in part.
    Begun(Box<dyn DecodeChunk>),
    /// A worker is at it.
    Decoding,
    Ready(Rows),
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

    /// Whether [`decode`](Self::decode) has something to do or to tell: bytes are there, or an error is.
    pub(crate) fn is_fetched(&self) -> bool {
        matches!(&*self.state.lock(), State::Fetched(_) | State::Begun(_) | State::Failed(_))
    }

    /// Whether the bytes are not there yet.
    pub(crate) fn is_fetching(&self) -> bool {
        matches!(&*self.state.lock(), State::Fetching)
    }

    pub(crate) fn has_failed(&self) -> bool {
        matches!(&*self.state.lock(), State::Failed(_))
    }

    /// The chunk, once it is decoded.
    pub(crate) fn decoded(&self) -> Option<Rows> {
        match &*self.state.lock() {
            State::Ready(rows) => Some(rows.clone()),
            _ => None,
        }
    }

    /// The bytes, where they are there and nobody has begun to decode them.
    pub(crate) fn bytes(&self) -> Option<Bytes> {
        match &*self.state.lock() {
            State::Fetched(bytes) => Some(bytes.clone()),
            _ => None,
        }
    }

    /// Wakes `waker` whenever the state changes: when the bytes have come, after each piece of decoding, when something has failed. A
    /// change before this call is for the caller to find.
    pub(crate) fn when_changed(&self, waker: &Waker) {
        self.wakers.lock().push(waker.clone());
    }

    /// Decodes a piece of the bytes where they are there; `begin` is called for the first. Where another worker is at it, or nothing is
    /// left, there is nothing to do.
    ///
    /// # Errors
    /// Those of the disk and of decoding, for every caller.
    pub(crate) fn decode(&self, begin: impl FnOnce(Bytes) -> Result<Box<dyn DecodeChunk>>) -> Result<()> {
        let mut state = self.state.lock();
        if let State::Failed(error) = &*state {
            return Err(error.clone());
        }
        if !matches!(&*state, State::Fetched(_) | State::Begun(_)) {
            return Ok(());
        }
        let before = std::mem::replace(&mut *state, State::Decoding);
        drop(state);
        let mut outcome = Outcome { load: self, next: Some(State::Failed(Error::logical("decoding was cut off"))) };
        let decoder = match before {
            State::Fetched(bytes) => begin(bytes),
            State::Begun(decoder) => Ok(decoder),
            _ => return Ok(()),
        };
        let decoded =
            decoder.and_then(|mut decoder| Ok(decoder.decode()?.map_or_else(|| State::Begun(decoder), State::Ready)));
        match decoded {
            Ok(next) => {
                outcome.next = Some(next);
                Ok(())
            }
            Err(error) => {
                outcome.next = Some(State::Failed(error.clone()));
                Err(error)
            }
        }
    }
}

/// Publishes how decoding went, also where it panicked.
struct Outcome<'a> {
    load: &'a ChunkLoad,
    next: Option<State>,
}

impl Drop for Outcome<'_> {
    fn drop(&mut self) {
        if let Some(next) = self.next.take() {
            self.load.change(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::UInt8Array;
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

    /// Decodes bytes as numbers, one a piece.
    struct Slowly(Vec<u8>, usize);

    impl DecodeChunk for Slowly {
        fn decode(&mut self) -> Result<Option<Rows>> {
            self.1 += 1;
            Ok((self.1 >= self.0.len()).then(|| Rows::Whole(Arc::new(UInt8Array::from(self.0.clone())))))
        }
    }

    #[test]
    fn a_chunk_is_begun_once_and_decoded_in_pieces() {
        let load = ChunkLoad::default();
        let (woken, begun) = (Arc::new(Count::default()), AtomicUsize::new(0));
        load.when_changed(&Waker::from(woken.clone()));
        assert!(!load.is_fetched());
        load.fetched(Ok(Bytes::from_static(&[1, 2, 3])));
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    while load.decoded().is_none() {
                        let begin = |bytes: Bytes| -> Result<Box<dyn DecodeChunk>> {
                            begun.fetch_add(1, Ordering::SeqCst);
                            Ok(Box::new(Slowly(bytes.to_vec(), 0)))
                        };
                        load.decode(begin).unwrap();
                    }
                });
            }
        });
        assert_eq!((woken.0.load(Ordering::SeqCst), begun.load(Ordering::SeqCst)), (4, 1));
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
