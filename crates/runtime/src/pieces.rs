//! Long CPU work in pieces: a future that gives way to other tasks when it has run for about a morsel's time.

use std::cell::Cell;
use std::future::poll_fn;
use std::panic::Location;
use std::task::Poll;
use std::time::{Duration, Instant};

/// How long a piece runs. A worker is given a morsel's target; what comes between two looks at the clock is below the rest.
const PIECE: Duration = Duration::from_millis(1);

thread_local! {
    static LAST: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

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
    #[track_caller]
    pub fn pause(&mut self) -> impl Future<Output = ()> + Send {
        let place = Location::caller();
        async move {
            if self.began.elapsed() < PIECE {
                return;
            }
            LAST.set(Some(place));
            Self::give_way().await;
            self.began = Instant::now();
        }
    }

    /// Where the last piece ended that this thread ran since it was asked before; `None` where none gave way.
    pub fn take_last_place() -> Option<&'static Location<'static>> {
        LAST.take()
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
