//! Memory that is reserved before it is allocated, and the error of those who may not have it. Who counts and who decides is
//! `squall_runtime::memory`.

use squall_runtime::memory::{MemoryLevel, MemoryLimitExceeded, UNTRACKED_MAX_BYTES};

use crate::text::readable::readable_bytes;
use crate::{Error, ErrorCode, Result, checkpoint, pieces};

/// Reserves `bytes` for the allocations that follow, for the query that the thread works for. Everything whose size depends on data or on
/// arguments calls this before it allocates.
///
/// # Errors
/// `MEMORY_LIMIT_EXCEEDED`.
#[inline]
pub fn reserve(bytes: usize) -> Result<()> {
    if bytes < UNTRACKED_MAX_BYTES as usize { Ok(()) } else { reserve_much(bytes) }
}

#[cold]
fn reserve_much(bytes: usize) -> Result<()> {
    checkpoint::weigh(bytes)?;
    pieces::fit(bytes)?;
    squall_runtime::memory::reserve(bytes).map_err(|exceeded| memory_limit_exceeded(&exceeded, ""))
}

pub(crate) fn as_i64(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Room in `values` for `additional` more, reserved where it is much. What is appended value by value grows in doublings.
///
/// # Errors
/// `MEMORY_LIMIT_EXCEEDED`.
#[inline]
pub fn grow<T>(values: &mut Vec<T>, additional: usize) -> Result<()> {
    if values.capacity() - values.len() >= additional { Ok(()) } else { grow_much(values, additional) }
}

#[cold]
fn grow_much<T>(values: &mut Vec<T>, additional: usize) -> Result<()> {
    let needed = values.len().saturating_add(additional);
    let doubled = needed.max(values.capacity().saturating_mul(2)).max(64);
    let bytes = |count: usize| count.saturating_mul(size_of::<T>());
    let count = match reserve(bytes(doubled)) {
        Ok(()) => doubled,
        // Half as much more is little enough copying, too.
        Err(_) => {
            let less = needed.max(values.capacity().saturating_add(values.capacity() / 8));
            reserve(bytes(less))?;
            less
        }
    };
    values.try_reserve_exact(count - values.len()).map_err(|_| {
        let message = format!("Cannot allocate {}", readable_bytes(as_i64(bytes(count))));
        Error::new(ErrorCode::MEMORY_LIMIT_EXCEEDED, message)
    })
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use squall_runtime::MemoryTracker;

    use super::*;

    #[test]
    fn vectors_grow_within_the_limit() {
        let tracker = Arc::new(MemoryTracker::query(8 << 20, None));
        let _attached = squall_runtime::memory::attach(tracker.clone());
        let mut values: Vec<u64> = Vec::new();
        grow(&mut values, 500_000).unwrap();
        assert!(values.capacity() >= 500_000);
        let refused = grow(&mut values, 2_000_000).unwrap_err();
        assert_eq!(refused.code, ErrorCode::MEMORY_LIMIT_EXCEEDED);
    }
}
