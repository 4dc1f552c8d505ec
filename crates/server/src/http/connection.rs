//! Connections of the HTTP interface: their limits and timeouts, and their end when the server stops.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::body::Body;
use super::handler::{Connection, Pages};
use super::handling::Handling;
use super::ping;
use super::response::Headers;
use crate::network::{Linger, Socket};
use crate::server::Server;

/// The most bytes of a request's line and headers, the URL among them: a query may stand there. Hyper refuses more than 100 headers.
const HEADERS_BYTES_MAX: usize = 1 << 20;

/// Serves one connection to its end.
pub async fn serve(server: Arc<Server>, headers: Arc<Headers>, pages: Pages, stream: Socket, address: SocketAddr) {
    // A client that goes away is no news.
    if let Err(error) = serve_requests(server, headers, pages, stream, address).await {
        tracing::trace!(target: "HTTPServerConnection", "The connection from {address} ended: {error}");
    }
}

async fn serve_requests(
    server: Arc<Server>,
    headers: Arc<Headers>,
    pages: Pages,
    mut stream: Socket,
    address: SocketAddr,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (idle, requests_max) = {
        let settings = &server.config.load().server;
        (Duration::from_secs(settings.keep_alive_timeout.max(1)), settings.max_keep_alive_requests)
    };
    let read = if requests_max == 0 {
        let Some(read) = ping::serve(&mut stream, address, &headers, idle).await? else { return Ok(()) };
        read
    } else {
        Vec::new()
    };
    let send_timeout = server.users.load().default_settings().http_send_timeout;
    let _busy = server.keep_busy();
    let exchanges = Arc::new(Exchanges {
        connection: Arc::new(Connection::new(server.clone(), headers, pages, address)),
        requests_max,
        served: AtomicU64::new(0),
        client_is_done: AtomicBool::new(false),
    });
    let wire =
        Wire { read, stream, exchanges: exchanges.clone(), send_timeout, stuck: None, linger: Linger::default() };
    let mut builder = http1::Builder::new();
    // Not `pipeline_flush`: with it hyper's write buffer has no bound, and a client that stops reading fills the memory.
    builder.timer(TokioTimer::new()).header_read_timeout(idle).max_buf_size(HEADERS_BYTES_MAX);
    let serving = builder.serve_connection(
        TokioIo::new(wire),
        service_fn(move |request| {
            let exchanges = exchanges.clone();
            async move { Ok::<_, std::convert::Infallible>(exchanges.answer(request).await) }
        }),
    );
    tokio::pin!(serving);
    tokio::select! {
        result = serving.as_mut() => return Ok(result?),
        () = server.stopping() => serving.as_mut().graceful_shutdown(),
    }
    Ok(serving.await?)
}

/// The requests of a connection.
struct Exchanges {
    connection: Arc<Connection>,
    /// `max_keep_alive_requests`; 0 is unlimited.
    requests_max: u64,
    served: AtomicU64,
    /// Whether the client said that its last request is the last, and has sent all of it.
    client_is_done: AtomicBool,
}

impl Exchanges {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let says_close =
            request.headers().get(CONNECTION).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"close"));
        self.client_is_done.store(says_close && request.body().is_end_stream(), Ordering::Relaxed);
        let mut response = Handling::new(self.connection.clone(), request).await;
        if self.requests_max > 0 && self.served.fetch_add(1, Ordering::Relaxed) + 1 >= self.requests_max {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// A socket with the bytes that were read from it already, and an end for clients that do not take what they are sent.
struct Wire {
    read: Vec<u8>,
    stream: Socket,
    exchanges: Arc<Exchanges>,
    /// How long the client may take nothing of what it is sent.
    send_timeout: Duration,
    /// Runs while the client takes nothing.
    stuck: Option<Pin<Box<Sleep>>>,
    linger: Linger,
}

impl Wire {
    /// Whether the socket can be closed as it is: the client sends nothing more, so nothing can reset the connection.
    fn may_be_dropped(&mut self) -> bool {
        self.exchanges.client_is_done.load(Ordering::Relaxed)
            && matches!(self.stream, Socket::Plain(_))
            && matches!(self.stream.try_read(&mut self.read), Ok(None))
    }

    fn watch<T>(&mut self, task: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let send_timeout = self.send_timeout;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(tokio::time::sleep(send_timeout)));
        match stuck.as_mut().poll(task) {
            Poll::Ready(()) => Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes nothing"))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, task: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.read.is_empty() {
            return Pin::new(&mut self.stream).poll_read(task, buffer);
        }
        let taken = self.read.len().min(buffer.remaining());
        buffer.put_slice(self.read.get(..taken).unwrap_or_default());
        self.read.drain(..taken);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, task: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(task, bytes);
        self.watch(task, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(task)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.may_be_dropped() {
            return Poll::Ready(Ok(()));
        }
        let Self { stream, linger, .. } = &mut *self;
        linger.poll(stream, task)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(task, bytes);
        self.watch(task, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
