//! The column cache: decoded column chunks (one column of one row group of one part), bounded in bytes. A part holds a
//! [`ChunkSlot`] per chunk, so a scan resolves its chunks once, when it begins, and reads rows without looking anything up.
//! What a chunk's bytes mean and where they lie is `merge_tree`'s business.

mod load;
mod s3_fifo;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use squall_runtime::memory::{Cache, add_cached};
use squall_runtime::profile_events::count;
use squall_runtime::{CurrentMetric, LocalThreadPool, ProfileEvent, ThreadPool, ThreadPoolLimits};
use squall_types::Rows;

pub(crate) use load::{ChunkLoad, DecodeChunk};
pub(crate) use s3_fifo::ChunkOrigin;
use s3_fifo::{Key, S3Fifo, Take};

/// Threads that wait for the disk at once: enough to keep its queue full.
const IO_THREADS_MAX: usize = 8;
/// The most uses of a chunk that are remembered.
const USES_MAX: u8 = 3;

/// The cache.
pub(crate) struct ColumnCache {
    capacity: usize,
    state: Mutex<State>,
    /// Threads that wait for the disk, so that no worker does.
    io: LocalThreadPool,
    hits: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicU64,
    next_key: AtomicU64,
    /// Whether jobs run where they are given, so that a history has one order.
    #[cfg(test)]
    is_inline: bool,
}

struct State {
    policy: S3Fifo,
    slots: HashMap<Key, Arc<ChunkSlot>>,
}

/// The place of one chunk in the cache.
#[derive(Debug)]
pub(crate) struct ChunkSlot {
    key: Key,
    rows: ArcSwapOption<Rows>,
    uses: AtomicU8,
    /// Whether a scan has read rows of the chunk past the cache.
    was_read: AtomicBool,
    /// The chunk on its way into memory, shared by all scans that wait for it.
    load: Mutex<Weak<ChunkLoad>>,
}

/// What the cache did and holds, for `system.asynchronous_metrics` and tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ColumnCacheStatistics {
    /// The bound in bytes.
    pub capacity_bytes: u64,
    /// Bytes of the chunks held.
    pub bytes: u64,
    /// Chunks held.
    pub chunks: u64,
    /// Chunks that scans found decoded.
    pub hits: u64,
    /// Chunks that scans had to read and decode.
    pub misses: u64,
    /// Chunks that were let go.
    pub evictions: u64,
}

/// Tells what the cache holds now that it held so many bytes before, under our names and ClickHouse's.
fn show(before: usize, policy: &S3Fifo) {
    let (bytes, chunks) = (policy.bytes() as i64, policy.len() as i64);
    add_cached(bytes - before as i64);
    for metric in [CurrentMetric::ColumnCacheBytes, CurrentMetric::UncompressedCacheBytes] {
        metric.set(bytes);
    }
    for metric in [CurrentMetric::ColumnCacheChunks, CurrentMetric::UncompressedCacheCells] {
        metric.set(chunks);
    }
}

impl ColumnCache {
    pub(crate) fn new(capacity: usize) -> Self {
        let limits = ThreadPoolLimits { threads_max: IO_THREADS_MAX, free_threads_max: 0, jobs_max: 1 << 20 };
        Self {
            capacity,
            state: Mutex::new(State { policy: S3Fifo::new(capacity), slots: HashMap::new() }),
            io: LocalThreadPool::new(ThreadPool::global(), limits),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
            next_key: AtomicU64::new(0),
            #[cfg(test)]
            is_inline: false,
        }
    }

    /// A cache without threads.
    #[cfg(test)]
    pub(crate) fn inline(capacity: usize) -> Self {
        let mut cache = Self::new(capacity);
        cache.is_inline = true;
        cache
    }

    /// The bound in bytes.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// A place for a chunk that is not in the cache.
    pub(crate) fn slot(&self) -> Arc<ChunkSlot> {
        Arc::new(ChunkSlot {
            key: self.next_key.fetch_add(1, Ordering::Relaxed),
            rows: ArcSwapOption::empty(),
            uses: AtomicU8::new(0),
            was_read: AtomicBool::new(false),
            load: Mutex::new(Weak::new()),
        })
    }

    /// Counts how many chunks a scan found and did not find, once a scan.
    pub(crate) fn count(&self, hits: u64, misses: u64) {
        self.hits.fetch_add(hits, Ordering::Relaxed);
        self.misses.fetch_add(misses, Ordering::Relaxed);
        count(ProfileEvent::ColumnCacheHits, hits);
        count(ProfileEvent::UncompressedCacheHits, hits);
        count(ProfileEvent::ColumnCacheMisses, misses);
        count(ProfileEvent::UncompressedCacheMisses, misses);
    }

    /// Puts a chunk of `bytes` in memory in where the bound allows, and lets go of others for it.
    pub(crate) fn put(&self, slot: &Arc<ChunkSlot>, rows: &Rows, bytes: usize, origin: ChunkOrigin) {
        if bytes > self.capacity {
            return;
        }
        let mut state = self.state.lock();
        slot.rows.store(Some(Arc::new(rows.clone())));
        let State { policy, slots } = &mut *state;
        let before = policy.bytes();
        slots.insert(slot.key, slot.clone());
        let evicted = policy.insert(slot.key, bytes, origin, &mut |key, take| {
            slots.get(&key).map_or(0, |slot| match take {
                Take::All => slot.uses.swap(0, Ordering::Relaxed),
                Take::One => {
                    let uses = slot.uses.load(Ordering::Relaxed);
                    slot.uses.store(uses.saturating_sub(1), Ordering::Relaxed);
                    uses
                }
            })
        });
        for key in &evicted {
            if let Some(slot) = slots.remove(key) {
                slot.rows.store(None);
            }
        }
        show(before, policy);
        let evicted_bytes = (before + bytes).saturating_sub(policy.bytes());
        drop(state);
        if !evicted.is_empty() {
            self.count_evicted(evicted.len(), evicted_bytes);
        }
    }

    /// Lets go of the chunks of a part that is no more.
    pub(crate) fn forget<'a>(&self, slots: impl IntoIterator<Item = &'a Arc<ChunkSlot>>) {
        let mut state = self.state.lock();
        let before = state.policy.bytes();
        for slot in slots {
            if slot.rows.swap(None).is_some() {
                state.policy.remove(slot.key);
                state.slots.remove(&slot.key);
            }
        }
        show(before, &state.policy);
    }

    /// Counts chunks that were let go of for others, or for queries.
    fn count_evicted(&self, chunks: usize, bytes: usize) {
        let bytes = bytes as u64;
        self.evictions.fetch_add(chunks as u64, Ordering::Relaxed);
        count(ProfileEvent::ColumnCacheEvictedBytes, bytes);
        count(ProfileEvent::UncompressedCacheWeightLost, bytes);
    }

    /// Runs `job`, which waits for the disk, on a thread for such jobs. `false` where there is none to be had.
    pub(crate) fn on_io_thread(&self, job: impl FnOnce() + Send + 'static) -> bool {
        #[cfg(test)]
        if self.is_inline {
            job();
            return true;
        }
        self.io.schedule(job).is_ok()
    }

    pub(crate) fn statistics(&self) -> ColumnCacheStatistics {
        let state = self.state.lock();
        ColumnCacheStatistics {
            capacity_bytes: self.capacity as u64,
            bytes: state.policy.bytes() as u64,
            chunks: state.policy.len() as u64,
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            evictions: self.evictions.load(Ordering::Relaxed),
        }
    }

    /// Lets go of everything (`SYSTEM DROP … CACHE`).
    pub(crate) fn clear(&self) {
        let slots: Vec<Arc<ChunkSlot>> = self.state.lock().slots.values().cloned().collect();
        self.forget(&slots);
    }
}

/// Chunks that no scan reads give way to queries.
impl Cache for ColumnCache {
    fn give_way(&self, bytes: u64) {
        // Whoever changes the cache just now may be the one who needs memory.
        let Some(mut state) = self.state.try_lock() else { return };
        let State { policy, slots } = &mut *state;
        let before = policy.bytes();
        let is_free = |key: Key| slots.get(&key).is_some_and(|slot| !slot.is_in_use());
        let gone = policy.shrink(usize::try_from(bytes).unwrap_or(usize::MAX), &is_free);
        let rows: Vec<_> = gone.iter().filter_map(|key| slots.remove(key)?.rows.swap(None)).collect();
        show(before, policy);
        let evicted_bytes = before - policy.bytes();
        drop(state);
        drop(rows);
        self.count_evicted(gone.len(), evicted_bytes);
    }
}

impl Drop for ColumnCache {
    fn drop(&mut self) {
        add_cached(-(self.state.get_mut().policy.bytes() as i64));
    }
}

impl ChunkSlot {
    /// Whether a scan is known to hold the chunk: then its memory stays whatever the cache does. Of sparse and coded chunks, which are small,
    /// nobody knows.
    fn is_in_use(&self) -> bool {
        match self.rows.load().as_deref() {
            Some(Rows::Whole(array)) => Arc::strong_count(array) > 1,
            Some(_) | None => false,
        }
    }

    /// The chunk where it is decoded.
    pub(crate) fn get(&self) -> Option<Rows> {
        let rows = Rows::clone(self.rows.load().as_ref()?);
        let uses = self.uses.load(Ordering::Relaxed);
        if uses < USES_MAX {
            self.uses.store(uses + 1, Ordering::Relaxed);
        }
        Some(rows)
    }

    /// Whether the chunk is in the cache.
    pub(crate) fn is_decoded(&self) -> bool {
        self.rows.load().is_some()
    }

    /// Whether a scan has read rows of the chunk past the cache.
    pub(crate) fn was_read(&self) -> bool {
        self.was_read.load(Ordering::Relaxed)
    }

    /// Notes that a scan reads rows of the chunk past the cache.
    pub(crate) fn note_read(&self) {
        self.was_read.store(true, Ordering::Relaxed);
    }

    /// The load that is under way, or a new one, which the caller must start (`true`).
    pub(crate) fn load(&self) -> (Arc<ChunkLoad>, bool) {
        let mut current = self.load.lock();
        // A load that failed stays with the scans that saw it; the next scan tries anew.
        if let Some(load) = current.upgrade().filter(|load| !load.has_failed()) {
            return (load, false);
        }
        let load = Arc::new(ChunkLoad::default());
        *current = Arc::downgrade(&load);
        (load, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::UInt64Array;

    fn chunk(rows: u64) -> Rows {
        Rows::Whole(Arc::new(UInt64Array::from_iter_values(0..rows)))
    }

    #[test]
    fn the_bound_holds_and_is_reported() {
        let cache = ColumnCache::new(100_000);
        let slots: Vec<_> = (0..50).map(|_| cache.slot()).collect();
        for slot in &slots {
            assert!(slot.get().is_none());
            cache.count(0, 1);
            cache.put(slot, &chunk(1000), 8000, ChunkOrigin::Read);
        }
        let statistics = cache.statistics();
        assert!(statistics.bytes <= 100_000 && statistics.chunks >= 10, "{statistics:?}");
        assert_eq!(statistics.misses, 50);
        assert_eq!(statistics.evictions, 50 - statistics.chunks);
        assert_eq!(slots.iter().filter(|slot| slot.get().is_some()).count() as u64, statistics.chunks);
        cache.put(&cache.slot(), &chunk(100_000), 800_000, ChunkOrigin::Read);
        assert!(cache.statistics().bytes <= 100_000);
        cache.clear();
        assert_eq!((cache.statistics().bytes, cache.statistics().chunks), (0, 0));
    }
}
