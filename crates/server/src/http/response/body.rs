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
use squall_formats::{OutputFormat, Statistics};
use squall_types::{Block, Result};

use crate::compression::{self, Codec};
use crate::http::content_encoding::Encoder;
use crate::http::response::exception_text;
use crate::query::Query;

/// Bytes of one piece of a streamed body, before compression.
const CHUNK_BYTES: usize = 256 << 10;
/// Rows are laid out in pieces of about this many bytes of values, so that one large block does not hold an I/O thread for long.
const SLICE_BYTES: usize = 256 << 10;

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
                match writer.state {
                    State::Running => self.next = Some(Box::pin(writer.next_piece())),
                    State::Ended => {
                        self.is_over = true;
                        writer.query.finish();
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

/// How far a result is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Ended,
    Failed,
}

/// How a body is compressed.
pub enum Compression {
    /// Not.
    None,
    /// By HTTP's `Content-Encoding`.
    Content(Option<Encoder>),
    /// In ClickHouse's own frames.
    Frames(Codec),
}

/// Lays a query's result out in its format, and compresses it.
pub struct ResultWriter {
    query: Box<Query>,
    format: Box<dyn OutputFormat>,
    compression: Compression,
    exception_tag: String,
    state: State,
    /// Laid out, not yet compressed.
    plain: Vec<u8>,
    /// Rows of a block that are still to be laid out.
    rest: Option<(Block, usize)>,
}

impl ResultWriter {
    /// A writer; nothing is written yet.
    pub fn new(query: Box<Query>, mut format: Box<dyn OutputFormat>, compression: Compression) -> Self {
        let mut plain = Vec::new();
        format.begin(&mut plain);
        Self { query, format, compression, exception_tag: String::new(), state: State::Running, plain, rest: None }
    }

    /// Makes up a mark for an exception within the body: a word that no result holds.
    pub fn announce_exceptions(&mut self) -> String {
        const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
        let random: [u8; 16] = rand::random();
        self.exception_tag = random
            .iter()
            .filter_map(|byte| LETTERS.get(usize::from(*byte) % LETTERS.len()))
            .map(|letter| char::from(*letter))
            .collect();
        self.exception_tag.clone()
    }

    /// Gives the query back: its result is written.
    pub fn into_query(self) -> Box<Query> {
        self.query
    }

    /// Writes until there are `bytes` of plain result, or all of it; whether that was all.
    ///
    /// # Errors
    /// The query's, and those of the format.
    pub async fn fill(&mut self, bytes: usize) -> Result<bool> {
        while self.plain.len() < bytes {
            if let Some((block, from)) = self.rest.take() {
                self.write_rows(block, from)?;
                if self.rest.is_some() {
                    tokio::task::yield_now().await;
                }
                continue;
            }
            let block = match self.query.try_next_block() {
                Some(next) => next?,
                None => self.query.next_block().await?,
            };
            match block {
                Some(block) => self.rest = Some((block, 0)),
                None => {
                    self.write_end()?;
                    self.state = State::Ended;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Takes what is laid out, compressed.
    ///
    /// # Errors
    /// Where compression fails.
    pub fn take(&mut self) -> Result<Bytes> {
        let is_last = self.state == State::Ended;
        let plain = std::mem::take(&mut self.plain);
        match &mut self.compression {
            Compression::None => Ok(plain.into()),
            Compression::Content(encoder) => {
                let mut out = Vec::new();
                if let Some(encoder) = encoder {
                    encoder.encode(&plain, !is_last, &mut out)?;
                }
                if is_last && let Some(encoder) = encoder.take() {
                    encoder.finish(&mut out)?;
                }
                Ok(out.into())
            }
            Compression::Frames(codec) => {
                let mut out = Vec::new();
                compression::compress(*codec, &plain, &mut out)?;
                Ok(out.into())
            }
        }
    }

    async fn next_piece(mut self: Box<Self>) -> (Box<Self>, Bytes) {
        let filled = self.fill(CHUNK_BYTES).await.map(|_| ());
        let piece = match filled.and_then(|()| self.take()) {
            Ok(piece) => piece,
            Err(error) => {
                self.query.fail(&error);
                self.write_exception(&exception_text(&error));
                self.state = State::Failed;
                self.take().unwrap_or_default()
            }
        };
        (self, piece)
    }

    fn write_rows(&mut self, block: Block, from: usize) -> Result<()> {
        let left = block.rows() - from;
        // Whole blocks of an ordinary size, slices of large ones.
        let bytes_a_row = (block.value_bytes() / block.rows().max(1)).max(1);
        let rows = left.min((SLICE_BYTES / bytes_a_row).max(128));
        self.query.check_room(bytes_a_row * rows)?;
        let written = match from == 0 && rows == left {
            true => self.format.block(&block, &mut self.plain),
            false => self.format.block(&block.slice(from, rows), &mut self.plain),
        };
        match rows < left {
            true => self.rest = Some((block, from + rows)),
            false => self.query.give_back(block),
        }
        written
    }

    fn write_end(&mut self) -> Result<()> {
        use std::sync::atomic::Ordering::Relaxed;
        if let Some(totals) = self.query.take_totals() {
            self.format.totals(&totals, &mut self.plain)?;
        }
        if let Some(extremes) = self.query.take_extremes()? {
            self.format.extremes(&extremes, &mut self.plain)?;
        }
        let context = self.query.context();
        let statistics = Statistics {
            elapsed: context.started.elapsed(),
            rows_read: context.progress.read_rows.load(Relaxed),
            bytes_read: context.progress.read_bytes.load(Relaxed),
            rows_before_limit: context.progress.rows_before_limit(),
        };
        self.format.end(&statistics, &mut self.plain)
    }

    /// Writes an exception where clients of ClickHouse look for one within a body: marked by the tag that the headers announced.
    fn write_exception(&mut self, text: &str) {
        let text = text.trim_end();
        let tag = &self.exception_tag;
        let marked = format!("\r\n__exception__\r\n{tag}\r\n{text}\n{} {tag}\r\n__exception__\r\n", text.len() + 1);
        self.plain.extend_from_slice(marked.as_bytes());
    }
}
