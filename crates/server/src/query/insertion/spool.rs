//! Data that are read by place, until all of them have come: in memory while they are few, in a temporary file of the query beyond that.

use std::sync::Arc;

use bytes::Bytes;
use squall_engine::{QueryContext, SpillFile, SpillKind};
use squall_formats::ReadAt;
use squall_types::{Result, grow};

/// Bytes that are held in memory before any are written.
const MEMORY_BYTES_MAX: usize = 32 << 20;
/// Bytes that are written at once from then on.
const WRITE_BYTES: usize = 4 << 20;

/// Takes data as they come.
pub(super) struct Spool {
    context: Arc<QueryContext>,
    /// What is not written.
    held: Vec<u8>,
    file: Option<Arc<SpillFile>>,
}

impl Spool {
    pub fn new(context: &Arc<QueryContext>) -> Self {
        Self { context: context.clone(), held: Vec::new(), file: None }
    }

    /// Takes the next bytes; waits while they are written.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`; the limits of temporary data, and the disk's errors.
    pub async fn push(&mut self, bytes: &[u8]) -> Result<()> {
        {
            let _thread = self.context.enter();
            grow(&mut self.held, bytes.len())?;
            self.held.extend_from_slice(bytes);
        }
        let held_max = if self.file.is_some() { WRITE_BYTES } else { MEMORY_BYTES_MAX };
        if self.held.len() >= held_max { self.write().await } else { Ok(()) }
    }

    async fn write(&mut self) -> Result<()> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(SpillFile::new(self.context.clone(), SpillKind::Input)?),
        };
        let (_, written) = file.write(std::mem::take(&mut self.held))?;
        self.held = written.await?;
        Ok(())
    }

    /// All bytes have come.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub async fn finish(mut self) -> Result<Arc<dyn ReadAt>> {
        if self.file.is_some() && !self.held.is_empty() {
            self.write().await?;
        }
        Ok(match self.file {
            Some(file) => Arc::new(Spooled(file)),
            None => Arc::new(Bytes::from(self.held)),
        })
    }

    /// Whether no bytes have come.
    pub fn is_empty(&self) -> bool {
        self.file.is_none() && self.held.is_empty()
    }
}

/// Data in a temporary file.
struct Spooled(Arc<SpillFile>);

impl ReadAt for Spooled {
    fn length(&self) -> u64 {
        self.0.length()
    }

    fn read_at(&self, offset: u64, length: usize) -> Result<Bytes> {
        self.0.read_here(offset, length).map(Bytes::from)
    }
}
