//! Keys of a part of a large set, which are put down first and told apart later, many at a time: then the part's table comes into the cache
//! once for all of them, where in one large table each key would wait for memory.
//!
//! What is known to differ is kept as a table where many keys come again, for they find themselves there; and as a list where most are new:
//! a list takes their own bytes and no more.

use squall_types::{Result, checkpoint};

use super::hash_set::{HashSet, SetKey};
use super::parted::Part;

/// Keys of a chunk that wait. Each part of a set has one that is open.
const CHUNK_KEYS: usize = 256;

/// Keys are told apart when so many wait for each that is known.
const WAITING_MAX: usize = 2;

/// The same of bags that were put together: their keys waited before, and most are looked through once more anyway.
const MERGED_WAITING_MAX: usize = 12;

/// Keys, some of them more than once.
#[derive(Clone, Debug)]
pub(in crate::aggregate) struct KeyBag<K> {
    /// The chunk that keys are appended to.
    open: Vec<K>,
    /// What waits besides.
    chunks: Vec<Vec<K>>,
    /// The keys in these.
    waiting: usize,
    known: Known<K>,
}

/// Keys that differ.
#[derive(Clone, Debug)]
enum Known<K> {
    List(Vec<K>),
    Table(HashSet<K>),
}

impl<K: SetKey> Known<K> {
    fn len(&self) -> usize {
        match self {
            Self::List(keys) => keys.len(),
            Self::Table(table) => table.len(),
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Self::List(keys) => keys.capacity() * size_of::<K>(),
            Self::Table(table) => table.memory_bytes(),
        }
    }
}

impl<K> Default for KeyBag<K> {
    fn default() -> Self {
        Self { open: Vec::new(), chunks: Vec::new(), waiting: 0, known: Known::List(Vec::new()) }
    }
}

impl<K: SetKey> KeyBag<K> {
    /// A chunk, and its place in the list.
    const CHUNK_BYTES: usize = CHUNK_KEYS * size_of::<K>() + size_of::<Vec<K>>();

    /// The most bytes that so many bags grow by with so many keys more.
    pub fn room_for(keys: usize, bags: usize) -> usize {
        let chunks = keys.div_ceil(CHUNK_KEYS) + keys.min(bags);
        chunks.saturating_mul(Self::CHUNK_BYTES)
    }

    /// Keys that differ.
    pub fn of_distinct(keys: Vec<K>) -> Self {
        Self { known: Known::List(keys), ..Self::default() }
    }

    /// Adds a key, or one more copy of it.
    #[inline]
    pub fn push(&mut self, key: K) {
        if self.open.len() == self.open.capacity() {
            self.make_place();
        }
        self.open.push(key);
    }

    #[cold]
    fn make_place(&mut self) {
        self.close();
        if self.waiting > WAITING_MAX * self.known.len().max(CHUNK_KEYS) {
            self.settle();
        }
        self.open = Vec::with_capacity(CHUNK_KEYS);
    }

    /// What is in the open chunk waits with the others.
    fn close(&mut self) {
        let full = std::mem::take(&mut self.open);
        if !full.is_empty() {
            self.waiting += full.len();
            self.chunks.push(full);
        }
    }

    /// Tells apart what waits.
    fn settle(&mut self) {
        let waiting = self.waiting;
        let known = self.known.len();
        let table = self.take_table();
        // Where most keys come for the first time, most of those to come will.
        self.known = match (table.len() - known) * 2 > waiting {
            true => Known::List(table.keys()),
            false => Known::Table(table),
        };
    }

    /// Takes all keys out, as a table.
    fn take_table(&mut self) -> HashSet<K> {
        self.close();
        let mut table = match std::mem::replace(&mut self.known, Known::List(Vec::new())) {
            Known::Table(table) => {
                table.bring_all_near();
                table
            }
            Known::List(keys) => {
                let mut table = HashSet::default();
                // They were mostly new before, if there was a before.
                let expected = if keys.is_empty() { self.waiting / 2 } else { self.waiting };
                table.reserve(keys.len() + expected);
                table.extend(&keys);
                table
            }
        };
        for chunk in std::mem::take(&mut self.chunks) {
            table.extend(&chunk);
        }
        self.waiting = 0;
        table
    }

    /// Each key once.
    pub fn into_table(mut self) -> HashSet<K> {
        self.take_table()
    }
}

impl<K: SetKey> Part for KeyBag<K> {
    /// The number of keys, copies among them.
    fn len(&self) -> usize {
        self.known.len() + self.waiting + self.open.len()
    }

    fn merge(&mut self, mut other: Self) -> Result<()> {
        if other.known.len() > self.known.len() {
            std::mem::swap(self, &mut other);
        }
        self.close();
        other.close();
        self.chunks.append(&mut other.chunks);
        self.waiting += other.waiting;
        let keys = match other.known {
            Known::List(keys) => keys,
            Known::Table(table) => table.keys(),
        };
        if !keys.is_empty() {
            self.waiting += keys.len();
            self.chunks.push(keys);
        }
        if self.waiting > MERGED_WAITING_MAX * self.known.len().max(CHUNK_KEYS) {
            checkpoint(8 * self.len())?;
            self.settle();
        }
        Ok(())
    }

    fn memory_bytes(&self) -> usize {
        let waiting = self.open.capacity() + self.waiting;
        waiting * size_of::<K>() + self.chunks.capacity() * size_of::<Vec<K>>() + self.known.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn distinct(bag: KeyBag<u64>) -> BTreeSet<u64> {
        let table = bag.into_table();
        let found: BTreeSet<u64> = table.keys().into_iter().collect();
        assert_eq!((found.len(), found.len()), (table.len(), table.keys().len()));
        found
    }

    #[test]
    fn copies_go_and_keys_stay() {
        // The zero key is like any other.
        for different in [1, 5, 256, 257, 3_000, 100_000] {
            let mut bag = KeyBag::default();
            for row in 0..100_000_u64 {
                bag.push(row * 7_919 % different);
                let most = (WAITING_MAX + 1) * (different as usize).max(CHUNK_KEYS) + CHUNK_KEYS;
                assert!(bag.len() <= most, "{different}: {}", bag.len());
            }
            let is_table = matches!(bag.known, Known::Table(_));
            assert_eq!(is_table, different < 100_000, "{different}");
            assert_eq!(distinct(bag), (0..different).collect());
        }
    }

    #[test]
    fn merged_bags_have_the_keys_of_both() {
        let bag = |keys: std::ops::Range<u64>| {
            let mut bag = KeyBag::default();
            keys.clone().chain(keys).for_each(|key| bag.push(key));
            bag
        };
        for (left, right) in [(0..0, 0..1), (0..1000, 500..600), (0..256, 256..512), (0..700, 3..50_000)] {
            let mut merged = bag(left.clone());
            merged.merge(bag(right.clone())).unwrap();
            assert_eq!(distinct(merged), left.clone().chain(right.clone()).collect());
            let mut merged = KeyBag::of_distinct(right.clone().collect());
            merged.merge(KeyBag::of_distinct(left.clone().collect())).unwrap();
            assert_eq!(distinct(merged), left.chain(right).collect());
        }
        let mut many = KeyBag::default();
        (0..200).for_each(|_| many.merge(bag(0..300)).unwrap());
        assert!(many.len() <= (MERGED_WAITING_MAX + 3) * 300, "{}", many.len());
        assert_eq!(distinct(many).len(), 300);
    }
}
