//! The global allocator counts: every allocation on a thread is charged to the tracker that the thread works for at that moment, in
//! steps of [`UNTRACKED_MAX_BYTES`] so that most allocations touch no shared memory. Limits are checked between morsels
//! ([`MemoryTracker::check`]) and before anything that is sized by data or arguments ([`reserve`]), never inside the allocator: an
//! allocation cannot fail half-way.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::Arc;

use super::profiler::Charge;
use super::reclaim;
use super::tracker::{MemoryLevel, MemoryLimitExceeded, MemoryTracker, SERVER};
use crate::current_metrics::CurrentMetric;

/// A thread's allocations up to this many bytes may be missing from its tracker.
pub const UNTRACKED_MAX_BYTES: i64 = 256 * 1024;

/// A reservation up to this many bytes may pass a limit that several queries share: the next check between morsels makes the query
/// wait until one of them has been stopped, rather than fail in the middle of a step.
const SHARED_OVERRUN_MAX_BYTES: i64 = 4 << 20;

thread_local! {
    static CURRENT: Cell<*const MemoryTracker> = const { Cell::new(std::ptr::null()) };
    static UNTRACKED: Cell<i64> = const { Cell::new(0) };
    /// What the thread's tracker may not know of; [`UNTRACKED_MAX_BYTES`] or less.
    static UNTRACKED_MAX: Cell<i64> = const { Cell::new(UNTRACKED_MAX_BYTES) };
    /// Bytes that are charged already, for allocations to come.
    static RESERVED: Cell<i64> = const { Cell::new(0) };
    static OF_THREAD: Cell<ThreadBytes> = const { Cell::new(ThreadBytes { bytes: 0, peak_bytes: 0 }) };
}

/// What a thread allocated less what it freed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ThreadBytes {
    /// In the end.
    pub bytes: i64,
    /// At most.
    pub peak_bytes: i64,
}

/// The calling thread's bytes since it was asked before.
pub fn take_thread_bytes() -> ThreadBytes {
    flush();
    OF_THREAD.take()
}

/// Charges this thread's allocations to `tracker` until the guard is dropped.
#[must_use]
pub fn attach(tracker: Arc<MemoryTracker>) -> AttachGuard {
    flush();
    let untracked_max_before = UNTRACKED_MAX.replace(tracker.untracked_max_bytes());
    let before = CURRENT.replace(Arc::as_ptr(&tracker));
    AttachGuard { _tracker: Some(tracker), before, untracked_max_before }
}

/// Whom this thread's allocations are charged to, for threads that work on its behalf.
pub fn current() -> Option<Arc<MemoryTracker>> {
    let tracker = CURRENT.get();
    if tracker.is_null() {
        return None;
    }
    // SAFETY: the pointer is that of an `Arc`, which the guard of `attach` holds as long as the pointer stands here.
    unsafe {
        Arc::increment_strong_count(tracker);
        Some(Arc::from_raw(tracker))
    }
}

/// Charges this thread's allocations to the server alone until the guard is dropped: they are for something that queries share.
#[must_use]
pub fn detach() -> AttachGuard {
    flush();
    let untracked_max_before = UNTRACKED_MAX.replace(UNTRACKED_MAX_BYTES);
    AttachGuard { _tracker: None, before: CURRENT.replace(std::ptr::null()), untracked_max_before }
}

/// Ends [`attach`] or [`detach`] when dropped. Not `Send`: it belongs to its thread.
#[derive(Debug)]
pub struct AttachGuard {
    /// Keeps the tracker alive while the thread points to it.
    _tracker: Option<Arc<MemoryTracker>>,
    before: *const MemoryTracker,
    untracked_max_before: i64,
}

impl Drop for AttachGuard {
    fn drop(&mut self) {
        flush();
        CURRENT.set(self.before);
        UNTRACKED_MAX.set(self.untracked_max_before);
    }
}

/// Brings the tracker of this thread up to date; what was reserved and not used is given back.
pub fn flush() {
    charge(UNTRACKED.replace(0));
    transfer(-RESERVED.replace(0));
}

/// Takes `bytes` of what the thread's query, its user and the server may still have, for the allocations that follow. It holds until the
/// thread's next reservation or the end of its morsel. Cheap below [`UNTRACKED_MAX_BYTES`]: nothing is reserved.
///
/// # Errors
/// Where a limit does not allow it; nothing is reserved then.
pub fn reserve(bytes: usize) -> Result<(), MemoryLimitExceeded> {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX / 2);
    if bytes < UNTRACKED_MAX_BYTES {
        return Ok(());
    }
    flush();
    transfer(bytes);
    let tracker = CURRENT.get();
    // SAFETY: the pointer is set by `attach`, whose guard holds an `Arc` of the tracker and restores the pointer before it lets go.
    let checked = if tracker.is_null() { SERVER.check() } else { unsafe { (*tracker).check() } };
    match checked {
        Err(exceeded) if exceeded.level == MemoryLevel::Query || bytes > SHARED_OVERRUN_MAX_BYTES => {
            transfer(-bytes);
            Err(exceeded)
        }
        _ => {
            RESERVED.set(bytes);
            Ok(())
        }
    }
}

/// Charges what was allocated, as far as it was not reserved.
fn charge(bytes: i64) {
    if bytes == 0 {
        return;
    }
    reclaim::note(bytes);
    let _ = OF_THREAD.try_with(|of_thread| {
        let now = of_thread.get().bytes + bytes;
        of_thread.set(ThreadBytes { bytes: now, peak_bytes: of_thread.get().peak_bytes.max(now) });
    });
    let from_reserved = RESERVED.try_with(|reserved| {
        let used = bytes.clamp(0, reserved.get());
        reserved.set(reserved.get() - used);
        used
    });
    transfer(bytes - from_reserved.unwrap_or(0));
}

/// Adds bytes to the thread's tracker and to the server's, or takes them away.
fn transfer(bytes: i64) {
    if bytes == 0 {
        return;
    }
    CurrentMetric::MemoryTracking.add(bytes);
    SERVER.add(bytes);
    let tracker = CURRENT.get();
    if !tracker.is_null() {
        // SAFETY: the pointer is set by `attach`, whose guard holds an `Arc` of the tracker and restores the pointer before it
        // lets go.
        unsafe { (*tracker).add(bytes) };
    }
}

/// Counts an allocation, or a free as negative bytes.
fn count(bytes: i64, pointer: *const u8) {
    // `try_with`: the allocator also runs while a thread's storage is torn down.
    let _ = UNTRACKED.try_with(|untracked| {
        let sum = untracked.get() + bytes;
        if sum.abs() < UNTRACKED_MAX.get() {
            untracked.set(sum);
        } else {
            untracked.set(0);
            charge(sum);
            note(Charge { bytes: sum, allocation_bytes: bytes, pointer: pointer.addr() as u64 });
        }
    });
}

/// Lets the profiler of the thread's query look at what was charged.
#[cold]
fn note(charge: Charge) {
    let tracker = CURRENT.get();
    if !tracker.is_null() {
        // SAFETY: the pointer is set by `attach`, whose guard holds an `Arc` of the tracker and restores the pointer before it
        // lets go.
        unsafe { (*tracker).note(charge) };
    }
}

/// A global allocator that counts what it hands out.
#[derive(Debug, Default)]
pub struct TrackingAllocator<A>(
    /// The allocator that does the work.
    pub A,
);

// SAFETY: every call goes to the inner allocator unchanged; counting allocates nothing.
unsafe impl<A: GlobalAlloc> GlobalAlloc for TrackingAllocator<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are the inner allocator's.
        let pointer = unsafe { self.0.alloc(layout) };
        count(layout.size() as i64, pointer);
        pointer
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as i64), pointer);
        // SAFETY: as above.
        unsafe { self.0.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let pointer = unsafe { self.0.alloc_zeroed(layout) };
        count(layout.size() as i64, pointer);
        pointer
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as above.
        let moved = unsafe { self.0.realloc(pointer, layout, new_size) };
        count(new_size as i64 - layout.size() as i64, moved);
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_is_used_by_the_allocations_that_follow() {
        let user = Arc::new(MemoryTracker::user());
        user.set_limit(16 << 20);
        let tracker = Arc::new(MemoryTracker::query(10 << 20, Some(user.clone())));
        let guard = attach(tracker.clone());
        assert_eq!(reserve(11 << 20).unwrap_err().level, MemoryLevel::Query);
        assert_eq!(tracker.bytes(), 0);
        reserve(6 << 20).unwrap();
        assert_eq!(tracker.bytes(), 6 << 20);
        // What is allocated is charged once, and more than was reserved on top of it.
        count(5 << 20, std::ptr::null());
        assert_eq!(tracker.bytes(), 6 << 20);
        count(2 << 20, std::ptr::null());
        assert_eq!(tracker.bytes(), 7 << 20);
        // A second reservation is beside what is held, and gives the first one's rest back.
        reserve(3 << 20).unwrap();
        assert_eq!(tracker.bytes(), 10 << 20);
        assert!(reserve(4 << 20).is_err());
        assert_eq!(tracker.bytes(), 7 << 20);
        // A limit that is shared may be passed by a little.
        user.add(8 << 20);
        reserve(3 << 20).unwrap();
        tracker.set_limit(0);
        assert_eq!(reserve(5 << 20).unwrap_err().level, MemoryLevel::User);
        // What is shared is the server's.
        let shared = detach();
        reserve(5 << 20).unwrap();
        count(5 << 20, std::ptr::null());
        count(-(5 << 20), std::ptr::null());
        drop(shared);
        assert_eq!(tracker.bytes(), 7 << 20);
        count(-(7 << 20), std::ptr::null());
        drop(guard);
        assert_eq!((tracker.bytes(), user.bytes()), (0, 8 << 20));
    }

    #[test]
    fn allocations_are_charged_to_the_attached_tracker() {
        let tracker = Arc::new(MemoryTracker::query(1 << 20, None));
        let allocator = TrackingAllocator(std::alloc::System);
        let layout = Layout::from_size_align(2 << 20, 8).unwrap();
        let guard = attach(tracker.clone());
        take_thread_bytes();
        // SAFETY: the layout is not empty, and the memory is freed with the same one.
        let memory = unsafe { allocator.alloc(layout) };
        assert!(tracker.check().is_err());
        // SAFETY: as above.
        unsafe { allocator.dealloc(memory, layout) };
        drop(guard);
        assert_eq!(tracker.bytes(), 0);
        assert_eq!(take_thread_bytes(), ThreadBytes { bytes: 0, peak_bytes: 2 << 20 });
        assert_eq!(take_thread_bytes(), ThreadBytes::default());
        assert!(tracker.peak_bytes() >= 2 << 20);
        assert!(tracker.check().is_ok());
    }
}
