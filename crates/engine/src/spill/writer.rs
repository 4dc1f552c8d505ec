//! Writes blocks into a temporary file: they are encoded by the worker and gathered to a chunk, which a thread of the pool writes while
//! the next one is encoded.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use squall_types::memory::reserve;
use squall_types::{Block, Error, Result};

use super::file::{Frame, SpillFile};
use super::frame::{Compressor, encode_frame};

/// Bytes that are written at once, about.
const CHUNK_BYTES: usize = 1 << 20;

type Written = Pin<Box<dyn Future<Output = Result<Vec<u8>>> + Send>>;

/// Blocks on their way into a file.
pub(crate) struct SpillWriter {
    file: Arc<SpillFile>,
    compressor: Compressor,
    plain: Vec<u8>,
    chunk: Vec<u8>,
    /// Frames that are written or being written; those of the chunk still count from its beginning.
    frames: Vec<Frame>,
    /// The first frame of the chunk.
    first_of_chunk: usize,
    /// The chunk before this one.
    under_way: Option<Written>,
}

impl SpillWriter {
    pub(crate) fn new(file: Arc<SpillFile>) -> Result<Self> {
        file.count_part();
        reserve(2 * CHUNK_BYTES)?;
        let compressor = Compressor::new(file.codec);
        let (plain, chunk, frames) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { file, compressor, plain, chunk, frames, first_of_chunk: 0, under_way: None })
    }

    /// Adds a block; the number of its frame among those of this writer.
    ///
    /// # Errors
    /// The disk's, and where a limit for temporary data is passed.
    pub(crate) async fn put(&mut self, block: &Block) -> Result<usize> {
        let start = self.chunk.len();
        let plain_bytes = encode_frame(block, &mut self.compressor, &mut self.plain, &mut self.chunk)?;
        self.file.count_plain(plain_bytes);
        let number =
            |number: usize| u32::try_from(number).map_err(|_| Error::logical("a block of temporary data is too large"));
        self.frames.push(Frame {
            offset: start as u64,
            bytes: number(self.chunk.len() - start)?,
            rows: number(block.rows())?,
        });
        if self.chunk.len() >= CHUNK_BYTES {
            self.flush().await?;
        }
        Ok(self.frames.len() - 1)
    }

    async fn flush(&mut self) -> Result<()> {
        let next = match self.under_way.take() {
            Some(under_way) => under_way.await?,
            None => Vec::new(),
        };
        let (offset, written) = self.file.write(std::mem::replace(&mut self.chunk, next))?;
        self.under_way = Some(Box::pin(written));
        self.frames[self.first_of_chunk..].iter_mut().for_each(|frame| frame.offset += offset);
        self.first_of_chunk = self.frames.len();
        Ok(())
    }

    /// Writes the rest. What was written has come to the disk, or at least to the system, when this is over.
    ///
    /// # Errors
    /// As those of [`put`](Self::put).
    pub(crate) async fn finish(mut self) -> Result<Vec<Frame>> {
        if !self.chunk.is_empty() {
            self.flush().await?;
        }
        if let Some(under_way) = self.under_way.take() {
            under_way.await?;
        }
        Ok(self.frames)
    }
}
