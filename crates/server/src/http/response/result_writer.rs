//! A query's result on its way from blocks to the bytes of a body. A small one is laid out where it is sent; of a large one workers
//! lay pieces out, several at once, in the query's name and in the scheduler's order.

use bytes::Bytes;
use squall_formats::{OutputFormat, Statistics};
use squall_types::{Block, Error, Result};

use crate::compression::{self, Codec};
use crate::http::content_encoding::Encoder;
use crate::http::response::exception_text;
use crate::query::{Query, ResultPieces, check_room};

/// Bytes of one piece of a streamed body, before compression.
const CHUNK_BYTES: usize = 256 << 10;
/// Rows are laid out in pieces of about this many bytes of values, so that one large block does not hold a thread for long.
const SLICE_BYTES: usize = 256 << 10;

/// How far a result is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// There is more.
    Running,
    /// All of it is written.
    Ended,
    /// The query failed, which is written.
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
    /// `None` while a worker writes with it.
    format: Option<Box<dyn OutputFormat>>,
    compression: Compression,
    exception_tag: String,
    state: State,
    /// Laid out, not yet compressed.
    plain: Vec<u8>,
    /// Rows of a block that are still to be laid out.
    rest: Option<(Block, usize)>,
    pieces: ResultPieces<Result<Written>>,
}

/// What a worker has laid out.
struct Written {
    rows: u64,
    bytes: Vec<u8>,
    /// The format itself, where it has no forks.
    format: Option<Box<dyn OutputFormat>>,
}

/// What stands after the rows.
struct Footer {
    totals: Option<Block>,
    extremes: Option<Block>,
    statistics: Statistics,
}

impl Footer {
    fn write(&self, format: &mut dyn OutputFormat, out: &mut Vec<u8>) -> Result<()> {
        if let Some(totals) = &self.totals {
            format.totals(totals, out)?;
        }
        if let Some(extremes) = &self.extremes {
            format.extremes(extremes, out)?;
        }
        format.end(&self.statistics, out)
    }
}

impl ResultWriter {
    /// A writer; nothing is written yet.
    pub fn new(query: Box<Query>, mut format: Box<dyn OutputFormat>, compression: Compression) -> Self {
        let mut plain = Vec::new();
        format.begin(&mut plain);
        Self {
            query,
            format: Some(format),
            compression,
            exception_tag: String::new(),
            state: State::Running,
            plain,
            rest: None,
            pieces: ResultPieces::default(),
        }
    }

    /// How far the result is.
    pub fn state(&self) -> State {
        self.state
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
            self.hand_out()?;
            if let Some(written) = self.pieces.next().await {
                self.take_written(written??)?;
                continue;
            }
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
                    self.write_footer().await?;
                    self.state = State::Ended;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Gives workers as many pieces as may be under way, of blocks that are there.
    fn hand_out(&mut self) -> Result<()> {
        while self.pieces.has_room() {
            // One after another, where a worker has the format itself.
            let Some(format) = &self.format else { break };
            let (block, from) = match self.rest.take() {
                Some(rest) => rest,
                None => match self.query.try_next_block().transpose()?.flatten() {
                    Some(block) => (block, 0),
                    None => break,
                },
            };
            let fork = format.fork();
            let is_fork = fork.is_some();
            let Some(mut format) = fork.or_else(|| self.format.take()) else { break };
            let (slice, rest) = cut(block, from);
            self.rest = rest;
            let bytes = slice.value_bytes();
            let workers = self.pieces.workers().filter(|_| !is_fork).cloned();
            self.pieces.spawn(bytes, async move {
                check_room(bytes)?;
                let mut written = Vec::with_capacity(bytes);
                format.block(&slice, &mut written)?;
                if let Some(workers) = workers {
                    format.write_kept(false, &*workers, &mut written).await?;
                }
                Ok(Written { rows: slice.rows() as u64, bytes: written, format: (!is_fork).then_some(format) })
            });
        }
        Ok(())
    }

    /// Takes the next piece that a worker has laid out.
    fn take_written(&mut self, mut written: Written) -> Result<()> {
        match written.format.take() {
            Some(format) => {
                self.plain.extend_from_slice(&written.bytes);
                self.format = Some(format);
            }
            None => self.format.as_mut().ok_or_else(lent)?.append(written.rows, &written.bytes, &mut self.plain),
        }
        self.query.give_back(written);
        Ok(())
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

    /// Writes the next piece of a streamed body; an exception where the query fails.
    pub async fn next_piece(mut self: Box<Self>) -> (Box<Self>, Bytes) {
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
        let (slice, rest) = cut(block, from);
        self.rest = rest;
        self.query.check_room(slice.value_bytes())?;
        let before = self.plain.len();
        self.format.as_mut().ok_or_else(lent)?.block(&slice, &mut self.plain)?;
        let bytes = slice.value_bytes().max(self.plain.len() - before);
        self.query.give_back(slice);
        self.pieces.count_here(bytes, &mut self.query);
        Ok(())
    }

    /// Writes what stands after the rows; a worker does where the format has kept rows for that.
    async fn write_footer(&mut self) -> Result<()> {
        use std::sync::atomic::Ordering::Relaxed;
        let workers = self.pieces.take_workers();
        let (totals, extremes) = (self.query.take_totals(), self.query.take_extremes()?);
        let context = self.query.context();
        let statistics = Statistics {
            elapsed: context.started.elapsed(),
            rows_read: context.progress.read_rows.load(Relaxed),
            bytes_read: context.progress.read_bytes.load(Relaxed),
            rows_before_limit: context.progress.rows_before_limit(),
        };
        let footer = Footer { totals, extremes, statistics };
        let mut format = self.format.take().ok_or_else(lent)?;
        match &workers {
            Some(workers) if format.fork().is_none() => {
                let help = workers.clone();
                let mut written = workers.spawn_piece(0, async move {
                    let mut written = Vec::new();
                    format.write_kept(true, &*help, &mut written).await?;
                    footer.write(&mut *format, &mut written)?;
                    Ok(Written { rows: 0, bytes: written, format: Some(format) })
                });
                let written: Result<_> = written.done().await?;
                self.take_written(written?)?;
            }
            _ => footer.write(&mut *format, &mut self.plain)?,
        }
        if workers.is_some() {
            self.query.let_workers_go().await?;
        }
        Ok(())
    }

    /// Writes an exception where clients of ClickHouse look for one within a body: marked by the tag that the headers announced.
    fn write_exception(&mut self, text: &str) {
        let text = text.trim_end();
        let tag = &self.exception_tag;
        let marked = format!("\r\n__exception__\r\n{tag}\r\n{text}\n{} {tag}\r\n__exception__\r\n", text.len() + 1);
        self.plain.extend_from_slice(marked.as_bytes());
    }
}

/// Cuts off the next rows of a block from one on: whole blocks of an ordinary size, slices of large ones. What is left is given back with
/// where it goes on.
fn cut(block: Block, from: usize) -> (Block, Option<(Block, usize)>) {
    let left = block.rows() - from;
    let bytes_a_row = (block.value_bytes() / block.rows().max(1)).max(1);
    let rows = left.min((SLICE_BYTES / bytes_a_row).max(128));
    match (from, rows == left) {
        (0, true) => (block, None),
        (_, true) => (block.slice(from, rows), None),
        (_, false) => (block.slice(from, rows), Some((block, from + rows))),
    }
}

fn lent() -> Error {
    Error::logical("a result is written with a format that a worker has")
}
