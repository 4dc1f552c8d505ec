//! `X-ClickHouse-Progress`: headers that are sent one by one while a query runs. Who runs the query lays them out here, who holds the socket
//! takes them. The status is sent before them, so it is always 200; everything else of the response follows when it is made.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use squall_engine::QueryContext;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::http::response::add_progress;

/// What stands before the first of these headers.
pub(in crate::http) const STATUS_LINE: &[u8] = b"HTTP/1.1 200 OK\r\n";
/// Bytes that wait for a client that takes none; more are left out.
const WAITING_BYTES_MAX: usize = 64 << 10;

/// The progress headers of a connection's request that have not been sent.
#[derive(Default)]
pub(in crate::http) struct ProgressLines {
    lines: Mutex<Vec<u8>>,
    has_lines: AtomicBool,
    changed: Notify,
    /// Whether the request that is being answered can have such headers.
    is_open: AtomicBool,
}

impl ProgressLines {
    /// Begins with another request, which can have such headers or not.
    pub(in crate::http) fn open(&self, is_open: bool) {
        self.is_open.store(is_open, Ordering::Relaxed);
        self.take();
    }

    /// Takes what is to be sent.
    pub(in crate::http) fn take(&self) -> Vec<u8> {
        // Nearly no request has any.
        if !self.has_lines.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let mut lines = self.lines.lock();
        self.has_lines.store(false, Ordering::Relaxed);
        std::mem::take(&mut *lines)
    }

    /// Waits until there may be something to send.
    pub(in crate::http) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn push(&self, context: &QueryContext) {
        {
            let mut lines = self.lines.lock();
            if lines.len() > WAITING_BYTES_MAX {
                return;
            }
            add_progress(&mut lines, context);
            self.has_lines.store(true, Ordering::Relaxed);
        }
        self.changed.notify_one();
    }

    /// Does some work, and meanwhile says every now and then how far the query is: where it went on since the last time.
    pub(in crate::http) async fn tell<T>(
        &self,
        interval: Duration,
        find: impl Fn() -> Option<Arc<QueryContext>>,
        work: impl Future<Output = T>,
    ) -> T {
        if !self.is_open.load(Ordering::Relaxed) {
            return work.await;
        }
        let mut work = pin!(work);
        let mut context = None;
        let mut last = 0;
        loop {
            let next = Instant::now() + interval;
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = tokio::time::sleep_until(next) => {}
            }
            context = context.or_else(&find);
            if let Some(context) = &context {
                let progress = &context.progress;
                let now = progress.read_rows.load(Ordering::Relaxed) + progress.written_rows.load(Ordering::Relaxed);
                if now > last {
                    last = now;
                    self.push(context);
                }
            }
        }
    }
}
