//! The messages of a stream: each is looked at before the library believes what it announces, so that none takes more memory than its
//! query may have.

use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{MessageHeader, root_as_message};

use squall_types::{Result, checkpoint, grow};

use super::{Container, arrow_error, incorrect};

/// What stands before a message in newer streams.
const CONTINUATION: [u8; 4] = [0xFF; 4];
/// What a file begins with; zeros fill it up to a multiple of eight bytes.
const MAGIC: &[u8] = b"ARROW1";
const ALIGNMENT_BYTES: usize = 8;
/// Bytes of the description of a message.
const DESCRIPTION_BYTES_MAX: usize = 64 << 20;
/// Rows of one batch.
const ROWS_MAX: i64 = i32::MAX as i64;

/// Reads messages whose bytes arrive in pieces.
pub(super) struct Messages {
    decoder: StreamDecoder,
    pending: Vec<u8>,
    pending_bytes_max: usize,
    /// Whether the mark before a file is still to come.
    awaits_magic: bool,
    /// Whether the end was read: what follows are a file's table of contents, or nothing.
    is_over: bool,
}

impl Messages {
    pub fn new(container: Container, pending_bytes_max: usize) -> Self {
        Self {
            decoder: StreamDecoder::new(),
            pending: Vec::new(),
            pending_bytes_max,
            awaits_magic: container == Container::File,
            is_over: false,
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, chunk: &[u8]) -> Result<()> {
        if self.is_over {
            return Ok(());
        }
        if self.pending.len() + chunk.len() > self.pending_bytes_max {
            return Err(incorrect(format_args!("a message of more than {} bytes", self.pending_bytes_max)));
        }
        grow(&mut self.pending, chunk.len())?;
        self.pending.extend_from_slice(chunk);
        Ok(())
    }

    /// The columns, once they were read.
    pub fn schema(&self) -> Option<arrow_schema::SchemaRef> {
        self.decoder.schema()
    }

    /// The next batch of rows that is whole.
    pub fn next_batch(&mut self) -> Result<Option<arrow_array::RecordBatch>> {
        while let Some(bytes) = self.next_message()? {
            checkpoint(bytes)?;
            let message: Vec<u8> = self.pending.drain(..bytes).collect();
            let mut message = Buffer::from_vec(message);
            if let Some(batch) = self.decoder.decode(&mut message).map_err(|error| arrow_error(&error))? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// Reads as far as the schema; `false` where more bytes have to come first.
    pub fn reach_schema(&mut self) -> Result<bool> {
        while self.schema().is_none() {
            let Some(bytes) = self.next_message()? else { return Ok(false) };
            let message: Vec<u8> = self.pending.drain(..bytes).collect();
            self.decoder.decode(&mut Buffer::from_vec(message)).map_err(|error| arrow_error(&error))?;
        }
        Ok(true)
    }

    /// Whether nothing is left of a message that never came whole.
    pub fn is_whole(&self) -> bool {
        self.is_over || self.pending.is_empty()
    }

    /// How many bytes the message has that the pending ones begin with, where it is whole, and may be read.
    fn next_message(&mut self) -> Result<Option<usize>> {
        if self.awaits_magic {
            if self.pending.len() >= MAGIC.len() && !self.pending.starts_with(MAGIC) {
                return Err(incorrect("the data are not a file of Arrow's"));
            }
            let Some(rest) = self.pending.get(ALIGNMENT_BYTES..) else { return Ok(None) };
            let Some(zeros) = rest.iter().position(|byte| *byte != 0) else { return Ok(None) };
            let start = ALIGNMENT_BYTES + zeros / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
            self.pending.drain(..start);
            self.awaits_magic = false;
        }
        if self.is_over {
            self.pending.clear();
            return Ok(None);
        }
        let mark = if self.pending.starts_with(&CONTINUATION) { CONTINUATION.len() } else { 0 };
        let Some(length) = self.pending.get(mark..mark + 4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok()) else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(length) as usize;
        if length == 0 {
            self.is_over = true;
            self.pending.clear();
            return Ok(None);
        }
        if length > DESCRIPTION_BYTES_MAX {
            return Err(incorrect(format_args!("a message is described in {length} bytes")));
        }
        let start = mark + 4;
        let Some(description) = self.pending.get(start..start + length) else { return Ok(None) };
        let message = root_as_message(description).map_err(incorrect)?;
        let body = usize::try_from(message.bodyLength()).map_err(incorrect)?;
        let end = (start + length).saturating_add(body);
        let Some(body) = self.pending.get(start + length..end) else {
            if end > self.pending_bytes_max {
                return Err(incorrect(format_args!("a message of {end} bytes")));
            }
            return Ok(None);
        };
        let batch = match message.header_type() {
            MessageHeader::RecordBatch => message.header_as_record_batch(),
            MessageHeader::DictionaryBatch => {
                message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data())
            }
            _ => None,
        };
        if let Some(batch) = batch {
            if !(0..=ROWS_MAX).contains(&batch.length()) {
                return Err(incorrect(format_args!("a batch of {} rows", batch.length())));
            }
            if batch.compression().is_some() {
                let buffers = batch.buffers().into_iter().flatten();
                let plain = plain_bytes(buffers.map(|buffer| (buffer.offset(), buffer.length())), body)?;
                // The library allocates what is announced, and ends the process where it cannot: so it is tried here.
                grow(&mut Vec::<u8>::new(), plain)?;
            }
        }
        Ok(Some(end))
    }
}

/// The sum of what compressed buffers say they grow to.
fn plain_bytes(buffers: impl Iterator<Item = (i64, i64)>, body: &[u8]) -> Result<usize> {
    let mut sum = 0usize;
    for (offset, _) in buffers.filter(|(_, length)| *length > 0) {
        let start = usize::try_from(offset).map_err(incorrect)?;
        let bytes = body.get(start..start.saturating_add(8)).and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
        let plain = i64::from_le_bytes(bytes.ok_or_else(|| incorrect("a buffer lies outside of its message"))?);
        // Less than nothing stands for bytes that are not compressed.
        sum = sum.saturating_add(usize::try_from(plain).unwrap_or(0));
    }
    Ok(sum)
}
