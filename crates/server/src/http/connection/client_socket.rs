//! The socket of a connection, with bytes that were read from it already, and an end for clients that do not take what they are sent.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::http::handler::Connection;
use crate::http::response::progress::STATUS_LINE;
use crate::network::{Linger, STOPPED_TIME, Socket};

/// Why a connection ends whose client sends a head too slowly.
const SLOW_HEAD: &str = "the client takes too long for a request's head (http_headers_read_timeout)";

/// Where a connection is between its requests, as far as only who reads them can know it.
#[derive(Clone, Default)]
pub(in crate::http) struct Exchange(Arc<ExchangeState>);

#[derive(Default)]
struct ExchangeState {
    /// The head of a request has come, and its response has not begun.
    is_under_way: AtomicBool,
    /// The client said that its last request is the last, and has sent all of it.
    client_is_done: AtomicBool,
}

impl Exchange {
    /// The head of a request has come, and perhaps the client is done with it.
    pub(in crate::http) fn begin(&self, client_is_done: bool) {
        self.0.is_under_way.store(true, Ordering::Relaxed);
        self.0.client_is_done.store(client_is_done, Ordering::Relaxed);
    }

    /// The response to it begins.
    pub(in crate::http) fn end(&self) {
        self.0.is_under_way.store(false, Ordering::Relaxed);
    }
}

/// A client takes nothing.
struct Stuck {
    /// The connection ends when this does.
    timer: Pin<Box<Sleep>>,
    /// Whether the query was asked to end whose result the client does not take.
    is_stopped: bool,
}

/// The socket of a connection.
pub(in crate::http) struct ClientSocket {
    /// Read already.
    read: Vec<u8>,
    stream: Socket,
    exchange: Exchange,
    connection: Arc<Connection>,
    /// Headers that go out before a response of hyper's, and its status line with them.
    early: Vec<u8>,
    /// Whether that status line was taken, so that hyper's own is left out.
    has_status: bool,
    /// Whether hyper reads and writes.
    is_hypers: bool,
    /// How long a head may take from its first byte, where that is limited here.
    head_timeout: Option<Duration>,
    /// Runs while a head comes.
    head: Option<Pin<Box<Sleep>>>,
    /// How long the client may take nothing of what it is sent.
    send_timeout: Duration,
    /// While the client takes nothing.
    stuck: Option<Stuck>,
    linger: Linger,
}

impl ClientSocket {
    /// A socket of which nothing was read.
    pub(in crate::http) fn new(
        stream: Socket,
        send_timeout: Duration,
        exchange: Exchange,
        connection: Arc<Connection>,
    ) -> Self {
        Self {
            read: Vec::new(),
            stream,
            exchange,
            connection,
            early: Vec::new(),
            has_status: false,
            is_hypers: false,
            head_timeout: None,
            head: None,
            send_timeout,
            stuck: None,
            linger: Linger::default(),
        }
    }

    /// From now on hyper reads and writes. The connection ends where a head takes longer than this, which hyper itself does not look at.
    pub(in crate::http) fn hand_to_hyper(&mut self, head_timeout: Option<Duration>) {
        self.is_hypers = true;
        self.head_timeout = head_timeout;
    }

    /// Gives back bytes that were read and are for the next reader.
    pub(in crate::http) fn put_back(&mut self, bytes: Vec<u8>) {
        self.read = bytes;
    }

    /// Sends the last bytes of a connection, and ends it: its client has sent all that it will, so nothing can reset it, and the wire
    /// is to be dropped. Then the bytes and the end of the connection go in one packet.
    pub(in crate::http) async fn close_with(&mut self, bytes: &[u8]) -> io::Result<()> {
        let sent = self.stream.try_write_with_end(bytes)?;
        self.write_all(bytes.get(sent..).unwrap_or_default()).await?;
        self.stream.shutdown_where_secure().await
    }

    /// Tells the client now, rather than with the answer, that its bytes have come: its system may keep the rest of a request until it hears so.
    pub(in crate::http) fn acknowledge(&self) {
        self.stream.acknowledge();
    }

    /// Whether the socket can be closed as it is: the client sends nothing more, so nothing can reset the connection.
    fn may_be_dropped(&mut self) -> bool {
        self.exchange.0.client_is_done.load(Ordering::Relaxed)
            && matches!(self.stream, Socket::Plain(_))
            && matches!(self.stream.try_read(&mut self.read), Ok(None))
    }

    /// Sends the headers that are there before a response of hyper's: hyper flushes whenever the query has said something.
    fn poll_early(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut lines = self.connection.progress.take();
        if !lines.is_empty() {
            if !self.has_status {
                self.early.extend_from_slice(STATUS_LINE);
                self.has_status = true;
            }
            self.early.append(&mut lines);
        }
        while !self.early.is_empty() {
            let written = Pin::new(&mut self.stream).poll_write(task, &self.early);
            let written = ready!(self.watch(task, written))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.early.drain(..written);
        }
        Poll::Ready(Ok(()))
    }

    /// How many of the first bytes of hyper's response are not sent, since its status was sent.
    fn skipped(&mut self, bytes: &[u8]) -> usize {
        if !std::mem::take(&mut self.has_status) {
            return 0;
        }
        memchr::memchr(b'\n', bytes).map_or(0, |end| end + 1)
    }

    /// Lets the time of a head run from its first byte on, while nothing else is read or written; an error when it is over.
    fn watch_head(
        &mut self,
        task: &mut Context<'_>,
        read: Poll<io::Result<()>>,
        has_bytes: bool,
    ) -> Poll<io::Result<()>> {
        let Some(timeout) = self.head_timeout else { return read };
        if self.exchange.0.is_under_way.load(Ordering::Relaxed) {
            self.head = None;
            return read;
        }
        if has_bytes && self.head.is_none() {
            self.head = Some(Box::pin(tokio::time::sleep(timeout)));
        }
        match &mut self.head {
            Some(head) => match head.as_mut().poll(task) {
                Poll::Ready(()) => Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, SLOW_HEAD))),
                Poll::Pending => read,
            },
            None => read,
        }
    }

    fn watch<T>(&mut self, task: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        self.head = None;
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let send_timeout = self.send_timeout;
        let stuck = self
            .stuck
            .get_or_insert_with(|| Stuck { timer: Box::pin(tokio::time::sleep(send_timeout)), is_stopped: false });
        if !stuck.is_stopped && self.connection.poll_stopped(task).is_ready() {
            stuck.is_stopped = true;
            stuck.timer.as_mut().reset(Instant::now() + STOPPED_TIME);
        }
        match stuck.timer.as_mut().poll(task) {
            Poll::Ready(()) => Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes nothing"))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for ClientSocket {
    fn poll_read(mut self: Pin<&mut Self>, task: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.read.is_empty() {
            let filled = buffer.filled().len();
            let read = Pin::new(&mut self.stream).poll_read(task, buffer);
            return self.watch_head(task, read, buffer.filled().len() > filled);
        }
        let taken = self.read.len().min(buffer.remaining());
        buffer.put_slice(self.read.get(..taken).unwrap_or_default());
        self.read.drain(..taken);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ClientSocket {
    fn poll_write(mut self: Pin<&mut Self>, task: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_hypers {
            ready!(self.poll_early(task))?;
            let skipped = self.skipped(bytes);
            if skipped > 0 {
                return Poll::Ready(Ok(skipped));
            }
        }
        let written = Pin::new(&mut self.stream).poll_write(task, bytes);
        self.watch(task, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_hypers {
            ready!(self.poll_early(task))?;
        }
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
        if self.is_hypers {
            ready!(self.poll_early(task))?;
            let first = bytes.iter().find(|bytes| !bytes.is_empty()).map_or(&[][..], |bytes| &**bytes);
            let skipped = self.skipped(first);
            if skipped > 0 {
                return Poll::Ready(Ok(skipped));
            }
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(task, bytes);
        self.watch(task, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
