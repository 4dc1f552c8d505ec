//! A limit on the rows and bytes that a step holds: what has come so far, and whether more is refused, or ignored where the limit's mode is
//! `break`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use squall_types::{Error, ErrorCode, Result};

/// A limit and what counts toward it, for all workers of a query.
#[derive(Debug)]
pub(crate) struct SizeLimit {
    /// What messages call it: `DISTINCT`.
    what: &'static str,
    code: ErrorCode,
    /// 0 is without a limit.
    rows_max: u64,
    bytes_max: u64,
    breaks: bool,
    rows: AtomicU64,
    bytes: AtomicU64,
    is_full: AtomicBool,
}

impl SizeLimit {
    /// A limit whose mode is a setting's: `throw`, or `break`.
    pub(crate) fn new(what: &'static str, code: ErrorCode, rows_max: u64, bytes_max: u64, mode: &str) -> Self {
        Self {
            what,
            code,
            rows_max,
            bytes_max,
            breaks: mode == "break",
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            is_full: AtomicBool::new(false),
        }
    }

    /// Whether the limit was passed and nothing more is taken.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Counts what has come.
    ///
    /// # Errors
    /// The limit's, where it is passed and the mode is `throw`.
    pub(crate) fn count(&self, rows: u64, bytes: u64) -> Result<()> {
        if self.rows_max == 0 && self.bytes_max == 0 {
            return Ok(());
        }
        let rows = self.rows.fetch_add(rows, Ordering::Relaxed) + rows;
        let bytes = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let message = if self.rows_max > 0 && rows > self.rows_max {
            format!("max rows: {}, current rows: {}", quantity(self.rows_max), quantity(rows))
        } else if self.bytes_max > 0 && bytes > self.bytes_max {
            format!("max bytes: {}, current bytes: {}", size(self.bytes_max), size(bytes))
        } else {
            return Ok(());
        };
        if self.breaks {
            self.is_full.store(true, Ordering::Relaxed);
            return Ok(());
        }
        Err(Error::new(self.code, format!("Limit for {} exceeded, {message}", self.what)))
    }
}

/// A number as ClickHouse's messages have it: `1.50 thousand`.
pub(crate) fn quantity(number: u64) -> String {
    let names = ["", " thousand", " million", " billion", " trillion", " quadrillion"];
    let mut value = number as f64;
    let mut name = 0;
    while value >= 1000.0 && name + 1 < names.len() {
        value /= 1000.0;
        name += 1;
    }
    format!("{value:.2}{}", names[name])
}

/// Bytes as ClickHouse's messages have them: `1.50 KiB`.
pub(crate) fn size(bytes: u64) -> String {
    let names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut name = 0;
    while value >= 1024.0 && name + 1 < names.len() {
        value /= 1024.0;
        name += 1;
    }
    format!("{value:.2} {}", names[name])
}
