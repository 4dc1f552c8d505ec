//! Input that is held until all of it is there: formats whose end says what is where.

use std::io::Read;

use squall_types::{Error, ErrorCode, Result, checkpoint, grow};

use crate::options::FormatOptions;
use crate::schema::read_error;

/// Bytes that are asked for at once.
const CHUNK_BYTES: usize = 1 << 20;

/// The bytes so far.
#[derive(Debug)]
pub(crate) struct WholeInput {
    /// What they are: "A Parquet file".
    what: &'static str,
    bytes: Vec<u8>,
    bytes_max: usize,
}

impl WholeInput {
    pub fn new(what: &'static str, options: &FormatOptions) -> Self {
        Self { what, bytes: Vec::new(), bytes_max: options.pending_bytes_max }
    }

    /// All bytes of a stream.
    ///
    /// # Errors
    /// What the stream says; `TOO_LARGE_STRING_SIZE`; `CANNOT_EXTRACT_TABLE_STRUCTURE` where there are none.
    pub fn read(what: &'static str, input: &mut dyn Read, options: &FormatOptions) -> Result<Vec<u8>> {
        let mut whole = Self::new(what, options);
        loop {
            grow(&mut whole.bytes, CHUNK_BYTES)?;
            let mut limited = Read::take(&mut *input, CHUNK_BYTES as u64);
            if limited.read_to_end(&mut whole.bytes).map_err(|error| read_error(&error))? == 0 {
                break;
            }
            whole.check(0)?;
            checkpoint(CHUNK_BYTES / 4)?;
        }
        if whole.bytes.is_empty() {
            return Err(Error::new(ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE, "The data are empty"));
        }
        Ok(whole.bytes)
    }

    /// # Errors
    /// `TOO_LARGE_STRING_SIZE`, `MEMORY_LIMIT_EXCEEDED`.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<()> {
        self.check(chunk.len())?;
        grow(&mut self.bytes, chunk.len())?;
        self.bytes.extend_from_slice(chunk);
        Ok(())
    }

    fn check(&self, more: usize) -> Result<()> {
        if self.bytes.len().saturating_add(more) > self.bytes_max {
            let message = format!("{} of more than {} bytes", self.what, self.bytes_max);
            return Err(Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, message));
        }
        Ok(())
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, where there are any that were not taken before.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        (!self.bytes.is_empty()).then(|| std::mem::take(&mut self.bytes))
    }
}
