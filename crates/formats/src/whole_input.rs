//! Formats whose input is held until all of it is there: their end says what is where.

use std::io::Read;
use std::sync::Arc;

use squall_types::{Error, ErrorCode, Result, checkpoint, grow};

use crate::input::{InputBlock, InputFormat};
use crate::options::FormatOptions;
use crate::parquet::ReadAt;
use crate::schema::read_error;

/// Bytes that are asked for at once.
const CHUNK_BYTES: usize = 1 << 20;

/// A format that opens its input once all of it is there, and then reads block after block.
pub(crate) trait WholeFormat: Send {
    /// What the input is called in errors: "A Parquet file".
    const WHAT: &'static str;
    /// Input that is whole, and how far it was read.
    type Opened: Send;

    /// Opens input of at least one byte.
    ///
    /// # Errors
    /// What is wrong with it.
    fn open(&self, bytes: Vec<u8>) -> Result<Self::Opened>;

    /// Opens input that is read by place.
    ///
    /// # Errors
    /// What is wrong with it; `LOGICAL_ERROR` where the format cannot.
    fn open_at(&self, _source: Arc<dyn ReadAt>) -> Result<Self::Opened> {
        Err(Error::logical("a format that is not read by place"))
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// What is wrong with them.
    fn next_block(&self, opened: &mut Self::Opened) -> Result<Option<InputBlock>>;
}

/// The input format that such a one is.
pub(crate) struct WholeInput<F: WholeFormat> {
    format: F,
    bytes: Bytes,
    source: Option<Arc<dyn ReadAt>>,
    opened: Option<F::Opened>,
}

impl<F: WholeFormat> WholeInput<F> {
    pub fn new(format: F, options: &FormatOptions) -> Self {
        Self { format, bytes: Bytes::new(F::WHAT, options), source: None, opened: None }
    }
}

impl<F: WholeFormat> InputFormat for WholeInput<F> {
    fn feed(&mut self, chunk: &[u8], _: &mut Vec<InputBlock>) -> Result<()> {
        self.bytes.check(chunk.len())?;
        grow(&mut self.bytes.held, chunk.len())?;
        self.bytes.held.extend_from_slice(chunk);
        Ok(())
    }

    fn finish(&mut self, _: &mut Vec<InputBlock>) -> Result<()> {
        Ok(())
    }

    fn reads_at_end(&self) -> bool {
        true
    }

    fn open(&mut self, source: Arc<dyn ReadAt>) -> Result<()> {
        self.source = Some(source);
        Ok(())
    }

    fn next_block(&mut self) -> Result<Option<InputBlock>> {
        if let Some(source) = self.source.take() {
            self.opened = Some(self.format.open_at(source)?);
        } else if !self.bytes.held.is_empty() {
            self.opened = Some(self.format.open(std::mem::take(&mut self.bytes.held))?);
        }
        let Some(opened) = &mut self.opened else { return Ok(None) };
        let block = self.format.next_block(opened)?;
        if block.is_none() {
            self.opened = None;
        }
        Ok(block)
    }
}

/// All bytes of a stream.
///
/// # Errors
/// What the stream says; `TOO_LARGE_STRING_SIZE`; `CANNOT_EXTRACT_TABLE_STRUCTURE` where there are none.
pub(crate) fn read_whole<F: WholeFormat>(input: &mut dyn Read, options: &FormatOptions) -> Result<Vec<u8>> {
    let mut whole = Bytes::new(F::WHAT, options);
    loop {
        grow(&mut whole.held, CHUNK_BYTES)?;
        let mut limited = Read::take(&mut *input, CHUNK_BYTES as u64);
        if limited.read_to_end(&mut whole.held).map_err(|error| read_error(&error))? == 0 {
            break;
        }
        whole.check(0)?;
        checkpoint(CHUNK_BYTES / 4)?;
    }
    if whole.held.is_empty() {
        return Err(Error::new(ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE, "The data are empty"));
    }
    Ok(whole.held)
}

/// The bytes so far, and how many there may be.
#[derive(Debug)]
struct Bytes {
    what: &'static str,
    held: Vec<u8>,
    bytes_max: usize,
}

impl Bytes {
    fn new(what: &'static str, options: &FormatOptions) -> Self {
        Self { what, held: Vec::new(), bytes_max: options.pending_bytes_max }
    }

    /// # Errors
    /// `TOO_LARGE_STRING_SIZE` where so many more are too many.
    fn check(&self, more: usize) -> Result<()> {
        if self.held.len().saturating_add(more) > self.bytes_max {
            let message = format!("{} of more than {} bytes", self.what, self.bytes_max);
            return Err(Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, message));
        }
        Ok(())
    }
}
