//! Freed memory that the allocator keeps. What is kept is used again without a page fault, which costs a query that frees a gigabyte
//! a tenth of a second; what is kept without measure is missing elsewhere. So a thread of its own gives it back to the system: where the
//! process holds much more than what is charged, and where nothing was freed for some seconds. Workers never do.

use std::fmt::Debug;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use std::{io, mem};

use super::tracker::SERVER;
use crate::profile_events::{GLOBAL, ProfileEvent};

/// An allocator that keeps what is freed until it is told otherwise.
pub trait Reclaim: Debug + Sync {
    /// From now on freed memory is kept until [`Self::reclaim`].
    fn keep(&self);

    /// Gives what is free back to the system.
    fn reclaim(&self);
}

/// The thread looks again after so many bytes that were freed or allocated.
const STEP_BYTES: u64 = 16 << 20;

/// What has been free for so long is given back: a person's next query comes within it. ClickHouse's allocator waits as long.
const KEPT_FOR: Duration = Duration::from_secs(5);

/// Bytes that were freed since the process began.
static FREED_BYTES: AtomicU64 = AtomicU64::new(0);

/// Bytes that were allocated since the process began.
static ALLOCATED_BYTES: AtomicU64 = AtomicU64::new(0);

/// The most of the server's memory that may be kept, as the bits of a ratio.
static KEPT_RATIO_MAX: AtomicU64 = AtomicU64::new(0);

static WORKER: OnceLock<Thread> = OnceLock::new();

/// Notes what was allocated, or freed where it is negative; wakes the thread now and then. Allocates nothing.
pub(super) fn note(bytes: i64) {
    let counter = if bytes < 0 { &FREED_BYTES } else { &ALLOCATED_BYTES };
    let bytes = bytes.unsigned_abs();
    let before = counter.fetch_add(bytes, Ordering::Relaxed);
    if before / STEP_BYTES != (before + bytes) / STEP_BYTES
        && let Some(worker) = WORKER.get()
    {
        worker.unpark();
    }
}

/// Sets how much freed memory the process may keep, as a share of the server's limit.
pub fn set_kept_ratio_max(ratio: f64) {
    KEPT_RATIO_MAX.store(ratio.to_bits(), Ordering::Relaxed);
}

/// Starts the thread that gives freed memory back, once for the process.
///
/// # Errors
/// Where the thread cannot be started, or the system does not tell how much memory the process holds. The allocator goes on by itself then.
pub fn start_reclaiming(allocator: &'static dyn Reclaim) -> io::Result<()> {
    if WORKER.get().is_some() {
        return Ok(());
    }
    let statm = File::open("/proc/self/statm")?;
    anonymous_bytes(&statm)?;
    let handle = thread::Builder::new().name("MemoryWorker".to_owned()).spawn(move || work(allocator, &statm))?;
    if WORKER.set(handle.thread().clone()).is_ok() {
        allocator.keep();
    }
    Ok(())
}

fn work(allocator: &'static dyn Reclaim, statm: &File) {
    let mut kept = Kept::default();
    let mut step_before = 0;
    loop {
        let began = Instant::now();
        if kept.is_any {
            thread::park_timeout(KEPT_FOR);
        } else {
            thread::park();
        }
        let step = FREED_BYTES.load(Ordering::Relaxed) / STEP_BYTES;
        let has_freed = mem::replace(&mut step_before, step) != step;
        kept.is_any |= has_freed;
        let looked_at = Instant::now();
        let is_quiet = !has_freed && looked_at - began >= KEPT_FOR;
        if kept.must_go(excess_bytes(statm), kept_bytes_max(), is_quiet) {
            allocator.reclaim();
            kept.went(excess_bytes(statm), is_quiet);
            GLOBAL.add(ProfileEvent::MemoryAllocatorPurge, 1);
            let elapsed_us = u64::try_from(looked_at.elapsed().as_micros()).unwrap_or(u64::MAX);
            GLOBAL.add(ProfileEvent::MemoryAllocatorPurgeTimeMicroseconds, elapsed_us);
        }
    }
}

fn kept_bytes_max() -> u64 {
    let ratio = f64::from_bits(KEPT_RATIO_MAX.load(Ordering::Relaxed));
    match u64::try_from(SERVER.limit_bytes()) {
        Ok(limit_bytes) if limit_bytes > 0 => kept_of(limit_bytes, SERVER.bytes().unsigned_abs(), ratio),
        _ => u64::MAX,
    }
}

/// What may be kept of a limit while so much is charged: what is kept gives way before the process holds more than the limit.
fn kept_of(limit_bytes: u64, charged_bytes: u64, ratio: f64) -> u64 {
    /// Near the limit, so much that allocations do not fault again and again.
    const NEAR_LIMIT_SHARE: u64 = 20;
    let by_ratio = (limit_bytes as f64 * ratio) as u64;
    by_ratio.min(limit_bytes.saturating_sub(charged_bytes).max(limit_bytes / NEAR_LIMIT_SHARE))
}

/// Bytes that the process holds beyond what is charged.
fn excess_bytes(statm: &File) -> u64 {
    anonymous_bytes(statm).map_or(0, |bytes| bytes.saturating_sub(SERVER.bytes().unsigned_abs()))
}

/// What is known of the memory that the process holds beyond what is charged.
#[derive(Default, Debug)]
struct Kept {
    /// Whether much may have been freed since it was last given back.
    is_any: bool,
    /// What was left in excess the last time: stacks, tables of the allocator, pages of which a part is used.
    rest_bytes: u64,
}

impl Kept {
    /// Whether free memory is to be given back now: nothing was freed for a while, or there is too much. What could not be given back
    /// before does not count, or the thread would try again for ever.
    fn must_go(&mut self, excess_bytes: u64, kept_bytes_max: u64, is_quiet: bool) -> bool {
        if is_quiet {
            return self.is_any;
        }
        self.rest_bytes = self.rest_bytes.min(excess_bytes);
        excess_bytes > kept_bytes_max.max(self.rest_bytes + kept_bytes_max / 2)
    }

    fn went(&mut self, excess_bytes: u64, is_quiet: bool) {
        self.rest_bytes = excess_bytes;
        self.is_any = !is_quiet;
    }
}

/// The process's memory in bytes that no file is behind.
fn anonymous_bytes(statm: &File) -> io::Result<u64> {
    let mut buffer = [0; 128];
    let length = statm.read_at(&mut buffer, 0)?;
    let pages = buffer.get(..length).and_then(parse_statm);
    pages.map(|pages| pages * page_bytes()).ok_or_else(|| io::Error::other("/proc/self/statm is not understood"))
}

/// Resident pages less those of files.
fn parse_statm(text: &[u8]) -> Option<u64> {
    let mut numbers =
        str::from_utf8(text).ok()?.split_ascii_whitespace().skip(1).map(|number| number.parse::<u64>().ok());
    let (resident, of_files) = (numbers.next()??, numbers.next()??);
    Some(resident.saturating_sub(of_files))
}

fn page_bytes() -> u64 {
    // SAFETY: asks for a constant of the system.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn little_is_kept_until_it_is_quiet() {
        let mut kept = Kept::default();
        assert!(!kept.must_go(0, 64 * MIB, true), "nothing was freed");
        kept.is_any = true;
        assert!(!kept.must_go(60 * MIB, 64 * MIB, false));
        assert!(!kept.must_go(64 * MIB, 64 * MIB, false));
        assert!(kept.must_go(64 * MIB, 64 * MIB, true));
        kept.went(10 * MIB, true);
        assert!(!kept.must_go(10 * MIB, 64 * MIB, true), "it is gone");
    }

    #[test]
    fn much_goes_at_once_and_what_cannot_go_is_not_tried_again() {
        let mut kept = Kept::default();
        assert!(kept.must_go(65 * MIB, 64 * MIB, false));
        kept.went(60 * MIB, false);
        assert!(!kept.must_go(90 * MIB, 64 * MIB, false));
        assert!(kept.must_go(93 * MIB, 64 * MIB, false));
        kept.went(60 * MIB, false);
        // The rest was given back by others.
        assert!(!kept.must_go(10 * MIB, 64 * MIB, false));
        assert!(kept.must_go(65 * MIB, 64 * MIB, false));
        kept.went(5 * MIB, false);
        assert!(kept.must_go(5 * MIB, 64 * MIB, true), "what was freed meanwhile goes when it is quiet");
    }

    #[test]
    fn what_is_kept_gives_way_near_the_limit() {
        assert_eq!(kept_of(1000 * MIB, 100 * MIB, 0.2), 200 * MIB);
        assert_eq!(kept_of(1000 * MIB, 900 * MIB, 0.2), 100 * MIB);
        assert_eq!(kept_of(1000 * MIB, 2000 * MIB, 0.2), 50 * MIB);
        assert_eq!(kept_of(1000 * MIB, 2000 * MIB, 0.0), 0);
    }

    #[test]
    fn the_systems_text_is_read() {
        assert_eq!(parse_statm(b"765 435 406 5 0 123 0\n"), Some(29));
        assert_eq!(parse_statm(b"765 435"), None);
        assert_eq!(parse_statm(b""), None);
        let statm = File::open("/proc/self/statm").unwrap();
        let before = anonymous_bytes(&statm).unwrap();
        let block = vec![1_u8; 64 << 20];
        assert!(anonymous_bytes(&statm).unwrap() > before + (32 << 20), "{}", block.len());
    }
}
