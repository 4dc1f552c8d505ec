//! Bodies of responses: whole ones, and results that are made as the client takes them. Hyper asks for the next piece when it has
//! room for it, so a slow client slows its query and holds no thread.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use squall_types::Result;

use crate::http::response::result_writer::{ResultWriter, State};

/// How long a failed response waits for its last bytes to go out.
const FLUSH_TIME: Duration = Duration::from_millis(50);

/// The body of a response.
pub enum Body {
    /// All of it.
    Full(Bytes),
    /// A result that is being made.
    Stream(Stream),
}

/// Ends a body in the middle: hyper then closes the connection, so that no client takes it for whole.
#[derive(Debug)]
pub struct Aborted;

impl fmt::Display for Aborted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the query failed after its response had begun")
    }
}

impl std::error::Error for Aborted {}

impl From<Infallible> for Aborted {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl Body {
    /// A whole body.
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        Self::Full(bytes.into())
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Aborted;

    fn poll_frame(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Aborted>>> {
        match self.get_mut() {
            Self::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Stream(stream) => stream.poll(task).map(|next| next.map(|piece| piece.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(bytes) => bytes.is_empty(),
            Self::Stream(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

type NextPiece = Pin<Box<dyn Future<Output = (Box<ResultWriter>, Bytes)> + Send>>;

/// A body that is being made.
pub struct Stream {
    /// What was made before the response began.
    first: Bytes,
    writer: Option<Box<ResultWriter>>,
    next: Option<NextPiece>,
    /// Runs after a failure, until the connection is cut off.
    linger: Option<Pin<Box<tokio::time::Sleep>>>,
    is_over: bool,
}

impl Stream {
    /// A body that begins with `first`.
    pub fn new(first: Bytes, writer: Box<ResultWriter>) -> Self {
        Self { first, writer: Some(writer), next: None, linger: None, is_over: false }
    }

    /// The next piece, once it is made; `None` at the end.
    pub fn poll(&mut self, task: &mut Context<'_>) -> Poll<Option<Result<Bytes, Aborted>>> {
        if !self.first.is_empty() {
            return Poll::Ready(Some(Ok(std::mem::take(&mut self.first))));
        }
        loop {
            if self.is_over {
                return Poll::Ready(None);
            }
            if let Some(writer) = self.writer.take() {
                match writer.state() {
                    State::Running => self.next = Some(Box::pin(writer.next_piece())),
                    State::Ended => {
                        self.is_over = true;
                        writer.into_query().finish();
                        return Poll::Ready(None);
                    }
                    // The exception's text is to reach the client before the connection is cut off.
                    State::Failed if self.linger.is_none() => {
                        self.linger = Some(Box::pin(tokio::time::sleep(FLUSH_TIME)));
                        self.writer = Some(writer);
                        continue;
                    }
                    State::Failed => {
                        let lingering =
                            self.linger.as_mut().map_or(Poll::Ready(()), |linger| linger.as_mut().poll(task));
                        if lingering.is_pending() {
                            self.writer = Some(writer);
                            return Poll::Pending;
                        }
                        self.is_over = true;
                        return Poll::Ready(Some(Err(Aborted)));
                    }
                }
            }
            let Some(next) = &mut self.next else {
                self.is_over = true;
                return Poll::Ready(None);
            };
            let Poll::Ready((writer, piece)) = next.as_mut().poll(task) else { return Poll::Pending };
            self.next = None;
            self.writer = Some(writer);
            if !piece.is_empty() {
                return Poll::Ready(Some(Ok(piece)));
            }
        }
    }
}
