//! The data of an INSERT on their way from bytes to rows. A few are read where they arrive. Many are cut into pieces that workers read,
//! several at once, in the query's name and in the scheduler's order.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use squall_engine::Spawned;
use squall_formats::split::{Cutter, PIECE_BYTES, Piece, PieceRows, SplitInput, end_piece};
use squall_formats::{InputFormat, is_read_by_place};
use squall_runtime::Pieces;
use squall_types::{Error, Result};

use super::insert_sink::InsertSink;
use super::spool::Spool;

/// Bytes of data that are read where they arrive, by the thread that serves the connection.
const BYTES_HERE_MAX: usize = PIECE_BYTES;
/// Bytes that are read without a look at the clock.
const STEP_BYTES: usize = 32 << 10;
/// Pieces that are read or wait for a worker, for each worker.
const PIECES_PER_WORKER: usize = 2;

/// Reads data as they come.
pub struct DataReader {
    /// What has read all that was taken. A worker that reads in order holds it, too.
    input: Arc<Mutex<SplitInput>>,
    /// Takes the bytes instead, where the format is read by place.
    spool: Option<Spool>,
    bytes_here: usize,
    /// Since there are many bytes.
    cutter: Option<Cutter>,
    /// Pieces that workers read, in their order.
    under_way: VecDeque<Spawned<(Piece, PieceRows)>>,
}

impl DataReader {
    /// A reader of data in a format.
    ///
    /// # Errors
    /// `UNKNOWN_FORMAT`, `FORMAT_IS_NOT_SUITABLE_FOR_INPUT`.
    pub fn new(sink: &InsertSink, format: &str) -> Result<Self> {
        let input = Arc::new(Mutex::new(SplitInput::new(sink.reader(format)?)));
        let spool = is_read_by_place(format).then(|| sink.spool());
        Ok(Self { input, spool, bytes_here: 0, cutter: None, under_way: VecDeque::new() })
    }

    /// Reads the next bytes and sends the rows to the sink; waits while it is behind. Between steps other connections are served.
    ///
    /// # Errors
    /// What is wrong with the data; the INSERT's.
    pub async fn feed(&mut self, sink: &mut InsertSink, bytes: &[u8]) -> Result<()> {
        if let Some(spool) = &mut self.spool {
            return spool.push(bytes).await;
        }
        for (number, step) in bytes.chunks(STEP_BYTES).enumerate() {
            if number > 0 {
                tokio::task::yield_now().await;
            }
            if self.cutter.is_none() && self.bytes_here + step.len() > BYTES_HERE_MAX && sink.workers_max() > 0 {
                self.cutter = Some(Cutter::new(self.input.lock().row_ends()?));
            }
            if let Some(cutter) = &mut self.cutter {
                if let Some(piece) = sink.within(|| cutter.push(step))? {
                    self.read(sink, piece).await?;
                }
                continue;
            }
            self.bytes_here += step.len();
            let blocks = sink.within(|| {
                let mut blocks = Vec::new();
                self.input.lock().feed(step, &mut blocks).map(|()| blocks)
            })?;
            sink.send_all(blocks).await?;
        }
        Ok(())
    }

    /// All bytes have come: reads what is left and sends it.
    ///
    /// # Errors
    /// As [`feed`](Self::feed); where the data end too early.
    pub async fn finish(mut self, sink: &mut InsertSink) -> Result<()> {
        while self.take_first(sink).await? {}
        if let Some(rest) = self.cutter.take().and_then(Cutter::finish) {
            self.read_in_order(sink, rest).await?;
        }
        let input = Arc::into_inner(self.input).ok_or_else(|| Error::logical("data that are still read"))?;
        let mut reader = input.into_inner().reader();
        if let Some(spool) = self.spool.filter(|spool| !spool.is_empty()) {
            reader.open(spool.finish().await?)?;
        }
        sink.send_rest(reader).await
    }

    /// Has a worker read a piece, on its own where that can be.
    async fn read(&mut self, sink: &mut InsertSink, piece: Piece) -> Result<()> {
        let fork = if piece.begins_with_row { self.input.lock().fork()? } else { None };
        let Some(fork) = fork else {
            while self.take_first(sink).await? {}
            return self.read_in_order(sink, piece).await;
        };
        self.under_way.push_back(sink.spawn(read_piece(piece, fork))?);
        if self.under_way.len() > PIECES_PER_WORKER * sink.workers_max() {
            self.take_first(sink).await?;
        }
        Ok(())
    }

    /// Sends the rows of the first piece that is under way; whether there was one.
    async fn take_first(&mut self, sink: &mut InsertSink) -> Result<bool> {
        let Some(mut first) = self.under_way.pop_front() else { return Ok(false) };
        let (piece, rows) = first.done().await?;
        let mut blocks = Vec::new();
        if self.input.lock().take(rows, &mut blocks)? {
            sink.send_all(blocks).await?;
        } else {
            self.read_in_order(sink, piece).await?;
        }
        Ok(true)
    }

    /// Has a worker read a piece after all that were taken.
    async fn read_in_order(&mut self, sink: &mut InsertSink, piece: Piece) -> Result<()> {
        let input = self.input.clone();
        let mut read = sink.spawn(async move {
            let (mut pieces, mut blocks) = (Pieces::begin(), Vec::new());
            for step in piece.bytes.chunks(STEP_BYTES) {
                input.lock().feed(step, &mut blocks)?;
                pieces.pause().await;
            }
            Ok(blocks)
        })?;
        let blocks: Result<_> = read.done().await?;
        sink.send_all(blocks?).await
    }
}

/// Reads a piece with a reader of its own. Gives the piece back, too: it may have to be read once more.
async fn read_piece(piece: Piece, mut fork: Box<dyn InputFormat>) -> (Piece, PieceRows) {
    let (mut pieces, mut blocks) = (Pieces::begin(), Vec::new());
    for step in piece.bytes.chunks(STEP_BYTES) {
        if fork.feed(step, &mut blocks).is_err() {
            return (piece, None);
        }
        pieces.pause().await;
    }
    (piece, end_piece(fork, blocks))
}
