//! Entries that wait to be written. A thread adds to a shard that is mostly its own, in chunks whose memory is used again; when as many
//! wait as may, further ones are dropped and counted. Nobody ever waits for the writer.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use squall_runtime::cpu::logical_cpus;

/// Entries of a chunk.
const CHUNK_ENTRIES: usize = 1024;
/// Empty chunks that a shard keeps to fill again.
const SPARE_CHUNKS_MAX: usize = 64;

/// A bounded queue of many adders and one taker.
#[derive(Debug)]
pub(super) struct Queue<E> {
    shards: Box<[Mutex<Shard<E>>]>,
    chunks_max: usize,
    /// Chunks that are full, or taken and not given back.
    chunks: AtomicUsize,
}

#[derive(Debug)]
struct Shard<E> {
    full: Vec<Vec<E>>,
    open: Vec<E>,
    spare: Vec<Vec<E>>,
}

/// What became of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Added {
    /// It waits.
    Waits,
    /// It waits behind a chunk that has just become full.
    WaitsBehind,
    /// Too many wait.
    Dropped,
}

impl<E> Queue<E> {
    /// A queue of about this many entries, and a chunk for each thread.
    pub(super) fn new(entries_max: usize) -> Self {
        let shard = |_| Mutex::new(Shard { full: Vec::new(), open: Vec::new(), spare: Vec::new() });
        Self {
            shards: (0..logical_cpus().clamp(1, 64)).map(shard).collect(),
            chunks_max: entries_max.div_ceil(CHUNK_ENTRIES),
            chunks: AtomicUsize::new(0),
        }
    }

    /// Adds an entry, unless too many wait.
    pub(super) fn add(&self, entry: E) -> Added {
        let Some(shard) = self.shards.get(thread_number() % self.shards.len()) else { return Added::Dropped };
        let mut shard = shard.lock();
        if shard.open.len() < CHUNK_ENTRIES {
            shard.open.push(entry);
            return Added::Waits;
        }
        if self.is_full() {
            return Added::Dropped;
        }
        self.chunks.fetch_add(1, Ordering::Relaxed);
        let next = shard.spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK_ENTRIES));
        let full = std::mem::replace(&mut shard.open, next);
        shard.full.push(full);
        shard.open.push(entry);
        Added::WaitsBehind
    }

    /// Whether no further chunk may wait.
    pub(super) fn is_full(&self) -> bool {
        self.chunks.load(Ordering::Relaxed) >= self.chunks_max
    }

    /// About how many entries wait, whole chunks of them.
    pub(super) fn waiting(&self) -> usize {
        self.chunks.load(Ordering::Relaxed) * CHUNK_ENTRIES
    }

    /// Takes everything that waits, in chunks that are to be [given back](Self::recycle); each shard's entries are in order.
    pub(super) fn take(&self) -> Vec<Vec<E>> {
        let mut chunks = Vec::new();
        for shard in &self.shards {
            let mut shard = shard.lock();
            chunks.append(&mut shard.full);
            if !shard.open.is_empty() {
                self.chunks.fetch_add(1, Ordering::Relaxed);
                let next = shard.spare.pop().unwrap_or_default();
                chunks.push(std::mem::replace(&mut shard.open, next));
            }
        }
        chunks
    }

    /// Gives a chunk back: its entries are written, its memory can be filled again.
    pub(super) fn recycle(&self, mut chunk: Vec<E>) {
        chunk.clear();
        let chunks = self.chunks.fetch_sub(1, Ordering::Relaxed);
        if let Some(shard) = self.shards.get(chunks % self.shards.len())
            && chunk.capacity() >= CHUNK_ENTRIES
        {
            let mut shard = shard.lock();
            if shard.spare.len() < SPARE_CHUNKS_MAX {
                shard.spare.push(chunk);
            }
        }
    }
}

/// Numbers threads as they come, so that the first ones have shards of their own.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: Cell<Option<usize>> = const { Cell::new(None) };
    }
    NUMBER.with(|number| match number.get() {
        Some(number) => number,
        None => {
            let next = NEXT.fetch_add(1, Ordering::Relaxed);
            number.set(Some(next));
            next
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_out_in_order_and_beyond_the_limit_are_dropped() {
        let queue = Queue::new(CHUNK_ENTRIES);
        let added = (0..3 * CHUNK_ENTRIES).map(|entry| queue.add(entry));
        assert_eq!(added.filter(|added| *added != Added::Dropped).count(), 2 * CHUNK_ENTRIES);
        let chunks = queue.take();
        assert_eq!(chunks.concat(), (0..2 * CHUNK_ENTRIES).collect::<Vec<_>>());
        // What is taken waits until it is given back.
        assert_eq!((0..=CHUNK_ENTRIES).map(|entry| queue.add(entry)).last(), Some(Added::Dropped));
        chunks.into_iter().for_each(|chunk| queue.recycle(chunk));
        assert_eq!(queue.add(CHUNK_ENTRIES), Added::WaitsBehind);
        assert_eq!(queue.waiting(), CHUNK_ENTRIES);
        assert_eq!(queue.take().concat(), (0..=CHUNK_ENTRIES).collect::<Vec<_>>());
        assert!(queue.take().is_empty());
    }

    #[test]
    fn many_threads_lose_nothing() {
        let queue = Queue::new(1 << 20);
        let taken = std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000_u64).for_each(|entry| assert_ne!(queue.add(entry), Added::Dropped)));
            }
            (0..100).map(|_| queue.take().concat().len()).sum::<usize>()
        });
        assert_eq!(taken + queue.take().concat().len(), 40_000);
    }
}
