//! Waiting for a future on a thread that may wait: not one of the scheduler's nor of the I/O's.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

/// Carries a future on to its end on the calling thread, which parks while there is nothing to do.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            // A wake-up before it is remembered by the thread's token.
            Poll::Pending => std::thread::park(),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_future_is_waited_for_until_another_thread_brings_it() {
        let (mut polls, mut thread) = (0, None);
        let output = block_on(std::future::poll_fn(|context| {
            polls += 1;
            if polls > 1 {
                return Poll::Ready(polls);
            }
            let waker = context.waker().clone();
            thread = Some(std::thread::spawn(move || waker.wake()));
            Poll::Pending
        }));
        thread.unwrap().join().unwrap();
        assert_eq!(output, 2);
    }
}
