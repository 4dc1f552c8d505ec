//! Microsoft's mimalloc as Rust's allocator. The crate `mimalloc` is the same, but for one thing: it asks for every allocation by its alignment,
//! which costs more than the allocation where blocks of that size are aligned as they are. A query makes some thirty of them.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{c_int, c_long, c_void};

use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc, mi_zalloc_aligned,
};
use squall_runtime::memory::Reclaim;

/// What every block is aligned to that is at least as large (`MI_MAX_ALIGN_SIZE`).
const ALIGNMENT: usize = 16;

/// Whether blocks of this layout's size are aligned as it asks.
fn is_aligned(size: usize, align: usize) -> bool {
    align <= ALIGNMENT && align <= size
}

/// `mi_option_purge_delay` of mimalloc's `mi_option_t`, which the crate does not name.
const PURGE_DELAY: c_int = 15;

/// So long, practically for ever, does mimalloc keep what is freed where [`Reclaim`] is in charge. Negative numbers would forget what is free.
const KEPT_FOR_MS: c_long = 1 << 40;

unsafe extern "C" {
    fn mi_option_set(option: c_int, value: c_long);
    fn mi_collect(force: bool);
}

/// The allocator.
#[derive(Debug)]
pub struct Mimalloc;

// SAFETY: all blocks are mimalloc's, which is told size and alignment, or has the alignment anyway.
unsafe impl GlobalAlloc for Mimalloc {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: any size and power of two will do.
        unsafe { if is_aligned(size, align) { mi_malloc(size) } else { mi_malloc_aligned(size, align) }.cast() }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: as above.
        unsafe { if is_aligned(size, align) { mi_zalloc(size) } else { mi_zalloc_aligned(size, align) }.cast() }
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, _: Layout) {
        // SAFETY: the block is mimalloc's.
        unsafe { mi_free(pointer.cast::<c_void>()) };
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (pointer, align) = (pointer.cast::<c_void>(), layout.align());
        // SAFETY: the block is mimalloc's.
        unsafe {
            if is_aligned(size, align) { mi_realloc(pointer, size) } else { mi_realloc_aligned(pointer, size, align) }
                .cast()
        }
    }
}

impl Reclaim for Mimalloc {
    fn keep(&self) {
        // SAFETY: any value of this option will do; it is read whenever memory is freed.
        unsafe { mi_option_set(PURGE_DELAY, KEPT_FOR_MS) };
    }

    fn reclaim(&self) {
        // SAFETY: may be called at any time, by any thread.
        unsafe { mi_collect(true) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_keep_their_bytes() {
        for align in [1, 2, 4, 8, 16, 32, 64, 4096] {
            for size in (1..300).chain([1 << 10, 5000, 1 << 16, (1 << 20) + 8, 40 << 20]) {
                let layout = Layout::from_size_align(size, align).unwrap();
                let larger = size + size / 2 + 1;
                // SAFETY: sizes are not zero; a block is used within its bounds and freed with its last layout.
                unsafe {
                    let zeroed = Mimalloc.alloc_zeroed(layout);
                    assert!(zeroed.addr().is_multiple_of(align) && *zeroed == 0 && *zeroed.add(size - 1) == 0);
                    let block = Mimalloc.alloc(layout);
                    assert!(block.addr().is_multiple_of(align), "{size} {align}");
                    block.write(1);
                    block.add(size - 1).write(2);
                    let block = Mimalloc.realloc(block, layout, larger);
                    assert!(block.addr().is_multiple_of(align), "{larger} {align}");
                    assert!(*block == if size == 1 { 2 } else { 1 } && *block.add(size - 1) == 2);
                    Mimalloc.dealloc(block, Layout::from_size_align(larger, align).unwrap());
                    Mimalloc.dealloc(zeroed, layout);
                }
            }
        }
    }
}
