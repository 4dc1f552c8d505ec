//! The face of output formats: blocks in, bytes out.

use std::future::{Future, ready};
use std::pin::Pin;
use std::time::Duration;

use squall_types::{Block, Result};

/// What a result's footer tells of the query.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Statistics {
    /// The time since the query began.
    pub elapsed: Duration,
    /// Rows read from tables.
    pub rows_read: u64,
    /// Bytes read from tables.
    pub bytes_read: u64,
    /// The rows there would be without `LIMIT`, at least; `None` for a query without it.
    pub rows_before_limit: Option<u64>,
}

/// Something that is waited for.
pub type Pending<'a> = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

/// Threads that may help with a result.
pub trait Workers: Send + Sync {
    /// Has one of them do some work, which gives way about every millisecond. What is returned waits for its end, and fails where the query ends
    /// before it.
    fn spawn(&self, work: Pin<Box<dyn Future<Output = ()> + Send>>) -> Pending<'static>;
}

/// Writes a result. The calls come in the order of the methods; all append to `out`, which the caller may send and clear in between.
pub trait OutputFormat: Send {
    /// The MIME type, as HTTP's `Content-Type` has it.
    fn content_type(&self) -> &'static str;

    /// What stands before the first row. Once.
    fn begin(&mut self, _out: &mut Vec<u8>) {}

    /// Rows of the result.
    ///
    /// # Errors
    /// Where a value cannot be written in this format.
    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()>;

    /// A writer of blocks for another thread: it writes of each what this one would, were there rows before it. `None` where that depends on
    /// more.
    fn fork(&self) -> Option<Box<dyn OutputFormat>> {
        None
    }

    /// Between blocks and, where it `is_end`, before the end: writes rows that [`OutputFormat::block`] has kept, with the help of workers. For formats
    /// without forks; others keep none.
    fn write_kept<'a>(&'a mut self, _is_end: bool, _workers: &'a dyn Workers, _out: &'a mut Vec<u8>) -> Pending<'a> {
        Box::pin(ready(Ok(())))
    }

    /// Takes a block of so many rows, at least one, as a fork wrote it: in place of [`OutputFormat::block`].
    fn append(&mut self, _rows: u64, written: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(written);
    }

    /// The row of `WITH TOTALS`; formats that have no place for it leave it out.
    ///
    /// # Errors
    /// As [`OutputFormat::block`].
    fn totals(&mut self, _block: &Block, _out: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    /// Two rows: the minima and the maxima of all columns; formats that have no place for them leave them out.
    ///
    /// # Errors
    /// As [`OutputFormat::block`].
    fn extremes(&mut self, _block: &Block, _out: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    /// What stands after the last row. Once.
    ///
    /// # Errors
    /// As [`OutputFormat::block`].
    fn end(&mut self, statistics: &Statistics, out: &mut Vec<u8>) -> Result<()>;

    /// The query failed after output had begun: formats that can say so within their syntax do, others end with the message on a line of
    /// its own. Instead of [`OutputFormat::end`].
    fn exception(&mut self, message: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(message.as_bytes());
        out.push(b'\n');
    }
}

/// Appends rows that a fork wrote, without what stands `between` rows where these are the first.
pub(crate) fn append_after(before: &mut u64, rows: u64, between: &[u8], written: &[u8], out: &mut Vec<u8>) {
    let has_before = std::mem::replace(before, *before + rows) > 0;
    let from = if has_before { 0 } else { between.len() };
    out.extend_from_slice(written.get(from..).unwrap_or_default());
}
