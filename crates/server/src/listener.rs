//! What the interfaces share of their sockets: accepting connections, and ending them so that the last answer arrives.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use squall_runtime::CurrentMetric;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, Sleep};

use crate::server::Server;

/// How long to wait before accepting again when the process has no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// A client that sends nothing for so long has heard that the connection ends.
const LINGER_QUIET: Duration = Duration::from_millis(500);
/// A client that goes on sending is cut off after this.
const LINGER_MAX: Duration = Duration::from_secs(10);

/// Accepts connections until the server stops, and gives each to `serve`. Clients beyond the permits of `connections` wait in the
/// backlog.
pub async fn accept<Serving>(
    server: Arc<Server>,
    listener: TcpListener,
    connections: Arc<Semaphore>,
    metric: CurrentMetric,
    serve: impl Fn(TcpStream, SocketAddr) -> Serving,
) where
    Serving: Future<Output = ()> + Send + 'static,
{
    loop {
        let permit = tokio::select! {
            permit = connections.clone().acquire_owned() => permit,
            () = server.stopping() => return,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = server.stopping() => return,
        };
        match accepted {
            Ok((stream, address)) => {
                let serving = serve(stream, address);
                tokio::spawn(async move {
                    let _permit = permit;
                    let _metric = metric.hold(1);
                    serving.await;
                });
            }
            Err(error) => {
                tracing::warn!(target: "Application", "Cannot accept a connection: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// The end of a connection: closes our side, and takes what the client still sends, lest its system drop our last answer when
/// unread bytes reset the connection.
#[derive(Debug, Default)]
pub struct Linger {
    /// Runs while the client is quiet; with the time at which waiting ends altogether.
    quiet: Option<(Pin<Box<Sleep>>, Instant)>,
}

impl Linger {
    /// Ready when the client has closed its side, has been quiet, or has gone on for too long.
    pub fn poll(&mut self, stream: &mut TcpStream, task: &mut Context<'_>) -> Poll<std::io::Result<()>> {
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
