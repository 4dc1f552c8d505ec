//! Long CPU work in pieces: a future that gives way to other tasks when it has run for about a morsel's time.

use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

/// How long a piece runs. A worker is given a morsel's target; what comes between two looks at the clock is below the rest.
const PIECE: Duration = Duration::from_millis(1);

/// The piece that runs now.
pub struct Pieces {
    began: Instant,
}

impl Pieces {
    /// The first piece begins now.
    pub fn begin() -> Self {
        Self { began: Instant::now() }
    }

    /// A place where the work may be interrupted: where the piece has run for long enough, the next begins when it is polled again.
    pub async fn pause(&mut self) {
        if self.began.elapsed() < PIECE {
            return;
        }
        Self::give_way().await;
        self.began = Instant::now();
    }

    /// Ends the piece, however long it has run.
    pub async fn give_way() {
        let mut has_given_way = false;
        poll_fn(|context| {
            if std::mem::replace(&mut has_given_way, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}
