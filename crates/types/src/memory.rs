//! Memory that is reserved before it is allocated, and the error of those who may not have it. Who counts and who decides is
//! `squall_runtime::memory`.

use squall_runtime::memory::{MemoryLevel, MemoryLimitExceeded};

use crate::text::readable::readable_bytes;
use crate::{Error, ErrorCode, Result};

/// Reserves `bytes` for the allocations that follow, for the query that the thread works for. Everything whose size depends on data or on
/// arguments calls this before it allocates.
///
/// # Errors
/// `MEMORY_LIMIT_EXCEEDED`.
pub fn reserve(bytes: usize) -> Result<()> {
    squall_runtime::memory::reserve(bytes).map_err(|exceeded| memory_limit_exceeded(&exceeded, ""))
}

/// The error of a limit that is passed, with what else there is to say.
pub fn memory_limit_exceeded(exceeded: &MemoryLimitExceeded, detail: &str) -> Error {
    let whose = match exceeded.level {
        MemoryLevel::Query => "Query memory limit",
        MemoryLevel::User => "User memory limit",
        MemoryLevel::Server => "(total) memory limit",
    };
    let (bytes, limit) = (readable_bytes(exceeded.bytes), readable_bytes(exceeded.limit_bytes));
    let message = format!("{whose} exceeded: would use {bytes}, maximum: {limit}{detail}");
    Error::new(ErrorCode::MEMORY_LIMIT_EXCEEDED, message)
}
