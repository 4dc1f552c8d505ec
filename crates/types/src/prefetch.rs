//! Tells the processor what will be read soon, for loops that go through memory in an order that it cannot guess.

/// Has this element brought near; where the processor cannot be told, and past the slice's end, nothing happens.
#[inline]
pub fn prefetch<T>(slice: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is allowed and reads nothing; the pointer is computed without being read.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch(slice.as_ptr().wrapping_add(at).cast::<i8>(), _MM_HINT_T0);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, at);
}
