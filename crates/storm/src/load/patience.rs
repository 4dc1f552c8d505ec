//! A limit of time on one future after the other. The timer is left as it is while futures come and go, and set anew only when it fires
//! too early, so that a request that is answered in time costs the timer wheel nothing.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Instant;

use tokio::time::Sleep;

/// The timer of one client. Deadlines only ever get later.
#[derive(Debug)]
pub struct Patience(Pin<Box<Sleep>>);

impl Patience {
    /// Until a first deadline.
    pub fn new(deadline: Instant) -> Self {
        Patience(Box::pin(tokio::time::sleep_until(deadline.into())))
    }

    /// What the future gives, or nothing where the deadline passes before.
    pub async fn within<F: Future>(&mut self, deadline: Instant, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        poll_fn(|context| {
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                return Poll::Ready(Some(output));
            }
            while self.0.as_mut().poll(context).is_ready() {
                if Instant::now() >= deadline {
                    return Poll::Ready(None);
                }
                self.0.as_mut().reset(deadline.into());
            }
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn later_futures_get_their_whole_time() {
        let now = Instant::now();
        let mut patience = Patience::new(now + Duration::from_millis(1));
        assert_eq!(patience.within(now + Duration::from_secs(60), async { 1 }).await, Some(1));
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(patience.within(now + Duration::from_millis(1), std::future::pending::<()>()).await, None);
        let twice = async {
            tokio::task::yield_now().await;
            2
        };
        assert_eq!(patience.within(now + Duration::from_secs(60), twice).await, Some(2));
    }
}
