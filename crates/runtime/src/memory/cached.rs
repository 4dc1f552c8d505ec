//! Caches: memory that is held for speed alone. It gives way before a query is refused any.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::RwLock;

/// Bytes that all caches hold.
static CACHED_BYTES: AtomicI64 = AtomicI64::new(0);

static CACHES: RwLock<Vec<Weak<dyn Cache>>> = RwLock::new(Vec::new());

/// Who holds memory for speed alone.
pub trait Cache: Send + Sync {
    /// Lets go of about so many bytes, of those that nobody uses; may be called on any thread, in the middle of any work that reserves
    /// memory.
    fn give_way(&self, bytes: u64);
}

/// Has a cache give way from now on, until it is dropped.
pub fn add_cache(cache: &Arc<impl Cache + 'static>) {
    let mut caches = CACHES.write();
    caches.retain(|cache| cache.strong_count() > 0);
    let cache: Arc<dyn Cache> = cache.clone();
    caches.push(Arc::downgrade(&cache));
}

/// Notes that caches hold so many bytes more, or less.
pub fn add_cached(bytes: i64) {
    CACHED_BYTES.fetch_add(bytes, Ordering::Relaxed);
}

/// Bytes that all caches hold.
pub(super) fn cached_bytes() -> i64 {
    CACHED_BYTES.load(Ordering::Relaxed).max(0)
}

/// Has caches let go of about so many bytes. Whether there is a cache that may have.
#[cold]
pub(super) fn give_way(bytes: u64) -> bool {
    let caches: Vec<Arc<dyn Cache>> = CACHES.read().iter().filter_map(Weak::upgrade).collect();
    caches.iter().for_each(|cache| cache.give_way(bytes));
    !caches.is_empty()
}
