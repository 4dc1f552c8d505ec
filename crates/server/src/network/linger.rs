//! The end of a connection.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A client that sends nothing for so long has heard that the connection ends.
const LINGER_QUIET: Duration = Duration::from_millis(500);
/// A client that goes on sending is cut off after this.
const LINGER_MAX: Duration = Duration::from_secs(10);

/// The end of a connection: closes our side, and takes what the client still sends, lest its system drop our last answer when
/// unread bytes reset the connection.
#[derive(Debug, Default)]
pub struct Linger {
    /// Runs while the client is quiet; with the time at which waiting ends altogether.
    quiet: Option<(Pin<Box<Sleep>>, Instant)>,
}

impl Linger {
    /// Ready when the client has closed its side, has been quiet, or has gone on for too long.
    pub fn poll(
        &mut self,
        stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
        task: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        if self.quiet.is_none() {
            ready!(Pin::new(&mut *stream).poll_shutdown(task))?;
        }
        let (quiet, end) = self.quiet.get_or_insert_with(|| {
            let now = Instant::now();
            (Box::pin(tokio::time::sleep_until(now + LINGER_QUIET)), now + LINGER_MAX)
        });
        let mut discarded = [0; 16 << 10];
        loop {
            let mut buffer = ReadBuf::new(&mut discarded);
            match Pin::new(&mut *stream).poll_read(task, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    quiet.as_mut().reset((Instant::now() + LINGER_QUIET).min(*end));
                }
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => return quiet.as_mut().poll(task).map(Ok),
            }
            if Instant::now() >= *end {
                return Poll::Ready(Ok(()));
            }
        }
    }
}
